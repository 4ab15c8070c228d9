"""Exact sufficient statistics: sums over rows in integers, so that chunks of rows add up in any order.

Genotypes are bits, or fractional dosages of people: int16 in `half` coding, dosage - 1, in whole steps.

Coding `half`, half units: a haplotype row holds t = 2 x = 2 a - 1 (alleles a = 0 or 1), a person's row
t = 2 x = 2 (a1 + a2) - 2. The intercept column is the constant x = 1/2, t = 1, appended last.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import WORD_BITS, pack, unpack, word_count
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.types import Rows

GRAM_STEP = 1 / 4  # one unit of the integer Gram matrix
OUTCOME_STEP = 2.0**-16  # one unit of an outcome on its grid
CROSS_STEP = OUTCOME_STEP / 2  # one unit of the integer X'Y
CALL_STEP = 1 / 2  # of rows of calls and their intercept, in `half` coding; of others `DOSAGE_STEP`

# Sums of outcomes stay exact in int64 and in float64 whatever the data: 2 * 2^26 * 2^25 steps are below 2^53.
LARGEST_BOUND = 1000.0
LARGEST_OUTCOME = 2**26  # in grid steps, above LARGEST_BOUND
LARGEST_ROWS = 2**25
VARIANT_BLOCK = 256  # variants unpacked at a time
# Of outcomes of all rows at a time: so many values, but whole tables of sums.
PART_ENTRIES, LEAST_OUTCOMES = 2**22, 16
# The bits of the lower half of a square in `clip_norms`.
HALF_BITS = 31
HALF_MASK = 2**HALF_BITS - 1
# More than makes up for the float64 roundings of a scale, so that no product is above the true one.
BELOW_ONE = 1 - 2.0**-48
# More than float64 loses in a sum of 10^6 squares and its root.
ABOVE_ROUNDING = 1 + 2.0**-30


def gram(
    bits: np.ndarray,  # (n_variants, n_words) uint64
    *,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,  # (n_rows,) bool, the rows to sum over; None takes all
    n_threads: int = 1,  # at least 1; the result does not depend on it
) -> np.ndarray | None:
    """Sum t t' over the selected rows.

    The result is (n_variants + 1, n_variants + 1) int64 symmetric, in units of `GRAM_STEP`, the intercept
    last.
    """
    from dpgrs.linalg._bit_counts import add_products_of_calls  # brings numba, which takes 0.3 s
    from dpgrs.linalg._kernels import mirror

    selected = pack(selected_haplotypes(is_selected, n_haplotypes=n_haplotypes, rows=rows))
    n_alleles = 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    n_selected = np.bitwise_count(selected).sum(keepdims=True, dtype=np.int64) // n_alleles
    G = np.zeros((len(bits) + 1,) * 2, dtype=np.int64)
    group, ones = np.zeros(len(selected), dtype=np.int64), np.ones((1, len(bits)), dtype=np.int64)
    options = {"rows": rows, "n_threads": n_threads}
    add_products_of_calls(bits & selected, group, -n_alleles * ones, 2 * ones, n_selected, 1, G, **options)
    mirror(G)
    return G


def grid_outcomes(
    Y: np.ndarray,  # (n_outcomes, n_rows) float64, publicly standardised; NaN where missing
    *,
    bound: float,  # public. Clipping is by row, so it costs no privacy.
    # > 0, public: a row (one column of Y) that is longer, after the clip at `bound`, is shrunk to this norm
    # over all outcomes given, which are those of one budget. None shrinks nothing.
    row_norm: float | None = None,
) -> np.ndarray | None:
    """Clip outcomes and round them towards zero onto the public grid.

    The result is (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, of absolute value at most ``bound /
    OUTCOME_STEP``; 0 where missing. No row is longer than ``row_norm / OUTCOME_STEP``. It raises UsageError
    if the bound is not positive, or above `LARGEST_BOUND`, or the norm is not a finite number above 0.
    """
    if not 0 < bound <= LARGEST_BOUND:
        raise UsageError(
            f"`outcomes.bound` must be above 0 and at most {LARGEST_BOUND:g}, got {bound}. "
            "Use the default, 3."
        )
    gridded = np.trunc(np.nan_to_num(np.clip(Y, -bound, bound)) / OUTCOME_STEP).astype(np.int64)
    if row_norm is not None:
        clip_norms(gridded, norm=row_norm, step=OUTCOME_STEP)
    return gridded


def clip_norms(
    # (n_entries, n_rows) int16, int32 or int64 in units of `step`, below 2^31; a row is a column.
    entries: np.ndarray,
    *,
    norm: float,  # > 0, public, in the units of `step`
    step: float,  # a power of 2
    factor_bits: int | None = None,  # as in `shrinking`
) -> None:
    """Shrink rows that are longer than a norm, in place and rounding towards zero.

    The shrunken row depends only on the row itself (docs/proofs/clipped_gram.md, "What is computed").

    It raises UsageError if the norm is not a finite number above 0.
    """
    if not 0 < norm < np.inf:
        raise UsageError(f"`row_norm` must be a finite number above 0, got {norm}. Give a public bound.")
    is_long, length = long_rows(entries, norm=norm, step=step)
    if len(length):
        from dpgrs.linalg._kernels import scale_rows

        shrunk = np.empty((len(entries), len(length)), dtype=entries.dtype)
        factors = shrinking(length, norm=norm, step=step, factor_bits=factor_bits)
        scale_rows(entries, np.flatnonzero(is_long), factors, shrunk)
        entries[:, is_long] = shrunk


def shrinking(
    length: np.ndarray,  # (n_long,) float64, as from `long_rows`
    *,
    norm: float,
    step: float,
    # Significant bits down to which a factor is rounded, so that many rows have the same; None rounds none.
    factor_bits: int | None = None,
) -> np.ndarray:
    """Return the factors of long rows: norm over length.

    `norm` and `step`: as in `clip_norms`. The result is (n_long,) float64, between 0 and 1.
    """
    factors = norm / step / length * BELOW_ONE
    if factor_bits is None:
        return factors
    digits, exponent = np.frexp(factors)
    return np.ldexp(np.floor(np.ldexp(digits, factor_bits)), exponent - factor_bits)


def long_rows(entries: np.ndarray, *, norm: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Tell which rows are longer than a norm, exactly.

    `entries`, `norm` and `step`: as in `clip_norms`. The results are `is_long`, (n_rows,) bool; `length`,
    (n_long,) float64, of the long rows, in units of `step`.
    """
    from dpgrs.linalg._kernels import add_squares  # brings numba, which takes 0.3 s

    # Squares below 2^62 in two halves: their sums are exact, hence the same in every order.
    high, low = np.zeros((2, entries.shape[1]), dtype=np.int64)
    add_squares(entries, high, low, HALF_BITS)
    return longer(high + (low >> HALF_BITS), low & HALF_MASK, norm=norm, step=step)


def longer(
    high: np.ndarray,  # (n_rows,) int64: a square is high 2^HALF_BITS + low, low below 2^HALF_BITS
    low: np.ndarray,  # (n_rows,) int64: a square is high 2^HALF_BITS + low, low below 2^HALF_BITS
    *,
    norm: float,
    step: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Tell which rows are longer than a norm by their squares.

    `norm` and `step`: as in `clip_norms`. The result is `is_long`, `length`, as `long_rows` gives.
    """
    largest_high, largest_low = divmod(int((Fraction(norm) / Fraction(step)) ** 2), 2**HALF_BITS)
    is_long = (high > largest_high) | ((high == largest_high) & (low > largest_low))
    return is_long, np.sqrt(high[is_long] * 2.0**HALF_BITS + low[is_long])


def count_known(
    Y: np.ndarray,  # (n_outcomes, n_rows) float64, NaN where missing
) -> np.ndarray:
    """Count on how many rows each outcome is known.

    The result is (n_outcomes,) int64.
    """
    return np.isfinite(Y).sum(axis=1)


def count_cases(
    # (n_outcomes, n_rows) float64, NaN where missing; standardised by a prevalence, or 0 and 1.
    Y: np.ndarray,
) -> np.ndarray:
    """Count on how many rows each 0/1 outcome is 1.

    The result is (n_outcomes,) int64.
    """
    return np.greater(Y, 0).sum(axis=1)


def largest_row_norm(
    Y: np.ndarray,  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, as `grid_outcomes` gives
    *,
    n_shared: int,  # outcomes that share a budget; they divide the outcomes
) -> float:
    """Bound the norm of a row over the outcomes of one budget, by the rows themselves: for public outcomes.

    The result is in the units of the outcomes, rounded up; 0 without rows.
    """
    budgets = (len(Y) // n_shared, n_shared, Y.shape[1])
    squares = np.square(Y, dtype=np.float64).reshape(budgets).sum(axis=1)
    return float(np.sqrt(squares.max(initial=0.0))) * OUTCOME_STEP * ABOVE_ROUNDING


def cross_product(
    bits: np.ndarray,  # (n_variants, n_words) uint64
    Y: np.ndarray,  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, as `grid_outcomes` gives
    *,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,  # (n_rows,) bool, the rows to sum over; None takes all
) -> np.ndarray | None:
    """Sum y t' over the selected rows.

    The result is (n_outcomes, n_variants + 1) int64 in units of `CROSS_STEP`, the intercept last. It raises
    UsageError with more than `LARGEST_ROWS` rows, or an outcome beyond `LARGEST_OUTCOME`.
    """
    if Y.shape[1] > LARGEST_ROWS or np.abs(Y).max(initial=0) > LARGEST_OUTCOME:
        raise UsageError(
            f"Sums are exact for at most {LARGEST_ROWS} rows of outcomes of at most {LARGEST_OUTCOME} grid "
            "steps. Put outcomes onto the grid, and split the rows."
        )
    from dpgrs.linalg._kernels import table_sums

    if is_selected is not None:
        Y = Y * is_selected
    totals, n_alleles = Y.sum(axis=1), 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    # Both haplotypes of a person have the outcome: sum y (a1 + a2) is a sum over haplotypes.
    of_alleles = table_sums(bits, Y if n_alleles == 1 else np.repeat(Y, 2, axis=1))
    return np.column_stack([2 * of_alleles - n_alleles * totals[:, np.newaxis], totals])


def is_fractional(genotypes: np.ndarray) -> bool:
    """Tell dosages from bits."""
    return genotypes.dtype == np.int16


def coded_rows(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages
    *,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,  # (n_rows,) bool, the rows to return; None returns all
) -> np.ndarray:
    """Return the genotype matrix in `half` coding, without the intercept.

    The result is (n_selected, n_variants) float64: -1/2 and 1/2 for haplotypes, -1, 0 and 1 for people,
    between -1 and 1 for dosages.
    """
    if is_fractional(genotypes):
        return genotypes[:, slice(None) if is_selected is None else is_selected].T * DOSAGE_STEP
    return half_units(genotypes, n_haplotypes=n_haplotypes, rows=rows, is_selected=is_selected).T / 2


class CodedRows:
    """The rows that `coded_rows` returns, each made when it is asked for by its index.

    `genotypes`, `n_haplotypes`, `rows`: as in `coded_rows`. `shape`, `ndim`: as of the array of all.
    """

    ndim = 2

    def __init__(
        self,
        genotypes: np.ndarray,
        *,
        n_haplotypes: int,
        rows: Rows,
        is_selected: np.ndarray,  # (n_rows,) bool
    ) -> None:
        self._genotypes, self._rows, self._places = genotypes, Rows(rows), np.flatnonzero(is_selected)
        self.shape = len(self._places), len(genotypes)
        assert len(is_selected) == (n_haplotypes if self._rows == Rows.HAPLOTYPES else n_haplotypes // 2)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, chosen: np.ndarray) -> np.ndarray:
        row_indices = self._places[chosen]
        if is_fractional(self._genotypes):
            return coded_rows(self._genotypes[:, row_indices], n_haplotypes=0, rows=self._rows)
        from dpgrs.linalg._bit_counts import chosen_bits  # brings numba, which takes 0.3 s

        is_haplotype = self._rows == Rows.HAPLOTYPES
        haplotypes = (
            row_indices if is_haplotype else np.column_stack([2 * row_indices, 2 * row_indices + 1]).ravel()
        )
        order = np.full(WORD_BITS * word_count(len(haplotypes)), -1, dtype=np.int64)
        order[: len(haplotypes)] = haplotypes
        bits = chosen_bits(self._genotypes, order)
        return coded_rows(bits, n_haplotypes=len(haplotypes), rows=self._rows)


def half_units(
    bits: np.ndarray,  # (n_variants, n_words) uint64
    *,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,  # (n_rows,) bool, the rows to return; None returns all
) -> np.ndarray:
    """Return the genotype matrix in `half` coding and half units, variants first.

    The result is (n_variants, n_selected) int8: t, as at the top of this page.
    """
    alleles = unpack(bits, n_haplotypes).view(np.int8)
    if is_selected is not None:
        chosen = np.flatnonzero(selected_haplotypes(is_selected, n_haplotypes=n_haplotypes, rows=rows))
        alleles = alleles.take(chosen, axis=1)  # a fifth of the time of an index
    if Rows(rows) == Rows.HAPLOTYPES:
        return 2 * alleles - 1
    return 2 * (alleles[:, 0::2] + alleles[:, 1::2]) - 2


def column_moments(
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies
    *,
    rows: Rows,  # the two alleles of a person are taken as independent
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the columns in `half` coding, from frequencies only.

    The result is `means`, `variances`, (n_variants,) float64.
    """
    n_alleles = 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    return n_alleles * (frequency - 0.5), n_alleles * frequency * (1 - frequency)


def outcome_parts(n_outcomes: int, *, n_haplotypes: int) -> Iterator[slice]:
    """Yield slices of outcomes whose products with all rows are summed at a time.

    Of no outcomes there is one slice.
    """
    step = max(PART_ENTRIES // max(n_haplotypes, 1), LEAST_OUTCOMES)
    for first in range(0, max(n_outcomes, 1), step):
        yield slice(first, first + step)


def selected_haplotypes(is_selected: np.ndarray, *, n_haplotypes: int, rows: Rows) -> np.ndarray:
    """Return (n_haplotypes,) bool, the haplotypes of the selected rows: (n_rows,) bool, or None for all."""
    if is_selected is None:
        return np.ones(n_haplotypes, dtype=bool)
    return is_selected if Rows(rows) == Rows.HAPLOTYPES else np.repeat(is_selected, 2)
