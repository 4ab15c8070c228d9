"""Exact sufficient statistics: sums over rows in integers, so that chunks of rows add up in any order.

Genotypes are bits, or fractional dosages of people: int16 in `half` coding, dosage - 1, in whole steps.

Coding `half`, half units: a haplotype row holds t = 2 x = 2 a - 1 (alleles a = 0 or 1), a person's row
t = 2 x = 2 (a1 + a2) - 2. The intercept column is the constant x = 1/2, t = 1, appended last.
"""

from collections.abc import Iterator

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import WORD_BITS, pack, unpack, word_count
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.outcome_grid import LARGEST_OUTCOME
from dpgrs.types import Rows

LARGEST_ROWS = 2**25  # sums of outcomes up to `LARGEST_OUTCOME` stay exact
VARIANT_BLOCK = 256  # variants unpacked at a time
# Of outcomes of all rows at a time: so many values, but whole tables of sums.
PART_ENTRIES, LEAST_OUTCOMES = 2**22, 16


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
    group, all_ones = np.zeros(len(selected), dtype=np.int64), np.ones((1, len(bits)), dtype=np.int64)
    options = {"rows": rows, "n_threads": n_threads}
    add_products_of_calls(
        bits & selected, group, -n_alleles * all_ones, 2 * all_ones, n_selected, 1, G, **options
    )
    mirror(G)
    return G


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
            "sums-not-exact",
            f"Sums are exact for at most {LARGEST_ROWS} rows of outcomes of at most {LARGEST_OUTCOME} grid "
            "steps. Put outcomes onto the grid, and split the rows.",
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
