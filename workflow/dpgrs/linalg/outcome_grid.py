"""Outcomes on their public grid, and rows that are shrunk to a norm exactly."""

from fractions import Fraction

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.norms import budget_groups

# Sums of outcomes stay exact in int64 and in float64 whatever the data: 2 * 2^26 * 2^25 steps are below 2^53.
LARGEST_BOUND = 1000.0
LARGEST_OUTCOME = 2**26  # in grid steps, above LARGEST_BOUND
# The bits of the lower half of a square in `clip_norms`.
HALF_BITS = 31
HALF_MASK = 2**HALF_BITS - 1
# More than makes up for the float64 roundings of a scale, so that no product is above the true one.
BELOW_ONE = 1 - 2.0**-48
# More than float64 loses in a sum of 10^6 squares and its root.
ABOVE_ROUNDING = 1 + 2.0**-30


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
            "outcome-bound-out-of-range",
            f"`outcomes.bound` must be above 0 and at most {LARGEST_BOUND:g}, got {bound}. "
            "Use the default, 3.",
        )
    gridded = np.trunc(np.nan_to_num(np.clip(Y, -bound, bound)) / OUTCOME_STEP).astype(np.int64)
    if row_norm is not None:
        clip_norms(gridded, norm=row_norm, step=OUTCOME_STEP)
    return gridded


def clipped_outcomes(
    values: np.ndarray,  # (n_outcomes, n_rows) float64, NaN where missing
    *,
    bound: float,  # of every outcome
    norm: float,  # of a row of the outcomes of one budget
    n_shared: int,  # outcomes that share a budget
) -> np.ndarray:
    """Clip outcomes and round them to their grid, those of each budget by themselves.

    The result is (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    """
    groups = budget_groups(len(values), n_shared=n_shared)
    return np.vstack([grid_outcomes(values[group], bound=bound, row_norm=norm) for group in groups])


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
        raise UsageError(
            "row-norm-not-positive",
            f"`row_norm` must be a finite number above 0, got {norm}. Give a public bound.",
        )
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
