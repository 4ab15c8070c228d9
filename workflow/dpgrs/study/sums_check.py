"""Check that the file of a centre could hold exact sums over rows of people, before anybody adds it.

Whatever passes, nobody else's privacy depends on it (docs/explanation/centres.md).
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.clipped_statistics import HALF
from dpgrs.linalg.coding import CLIPPED_GRAM_STEP, OUTCOME_STEP
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.replicates import Statistics

SIZE = "[1-9][0-9]{0,8}"
# Arrays of statistics that leave a centre; the others are names and terms.
STATISTICS = re.compile(
    rf"gram|n_rows|n_observed|rows|outcome_bound|steps|(cross|columns|origin)/{SIZE}"
    rf"|clipped/{SIZE}/{SIZE}/(gram|cross|norms)"
)
# Outcomes whose entries are compared with their bounds at a time.
BLOCK = 256
# Floats within this margin decide by themselves; nearer values are decided in whole numbers.
_CLEAR = 1 - 1e-9


def is_possible(statistics: "Statistics", *, has_components: bool) -> bool:
    """Return whether integers could be sums over rows.

    Of every X'X the diagonal is at least 0, bounds the rest, by Cauchy and Schwarz, and sums to no more than
    rows within their norm have; the entry of the intercept is their number. The error of the smallest
    eigenvalue (docs/proofs/smallest_eigenvalue.md) rests on these, and on no more. Entries of X'Y are bounded
    likewise, by that diagonal and the bounds of outcomes. With components, X'Y is of components of outcomes,
    which are known for every row.
    """
    n_rows, observed = statistics.n_rows, statistics.n_observed
    grams, cross = all_sums(statistics)
    if (
        not cross
        or any(array.dtype != np.int64 for array in (*grams, *cross, observed))
        or observed.ndim != 1
    ):
        return False
    if n_rows < 0 or observed.min(initial=0) < 0 or observed.max(initial=0) > n_rows:
        return False
    norms = [
        norm for clipped in statistics.clipped.values() for norm in (clipped.row_norm, clipped.outcome_norm)
    ]
    if not all(0 < norm < math.inf for norm in (statistics.outcome_bound, *norms)):
        return False
    # In half coding the square of a value is at most 1/4, or 1 if rows are people.
    square = 1.0 if statistics.rows == Rows.PEOPLE else 0.25
    gram_bounds = (
        [] if statistics.gram is None else [(statistics.gram_step, square * (len(statistics.gram) - 1))]
    )
    gram_bounds += [
        (CLIPPED_GRAM_STEP, clipped.row_norm**2)
        for clipped in statistics.clipped.values()
        if clipped.gram is not None
    ]
    if not all(
        _is_gram(gram, n_rows, *gram_bound) for gram, gram_bound in zip(grams, gram_bounds, strict=True)
    ):
        return False
    observed_counts = None if has_components else observed.tolist()
    return all(
        _is_cross(*product, observed_counts or [n_rows] * len(product[0]))
        for product in _products(statistics)
    )


def all_sums(statistics: "Statistics") -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the lists of every X'X and of every X'Y."""
    clipped_sums = statistics.clipped.values()
    grams = [
        gram for gram in (statistics.gram, *(clipped.gram for clipped in clipped_sums)) if gram is not None
    ]
    return grams, [*statistics.cross.values(), *(clipped.cross for clipped in clipped_sums)]


def largest(statistics: "Statistics") -> int:
    """Return the largest magnitude of an entry; Python's integers do not wrap around."""
    grams, cross = all_sums(statistics)
    return max(max(-int(array.min(initial=0)), int(array.max(initial=0))) for array in (*grams, *cross))


def _is_gram(gram: np.ndarray, n_rows: int, step: float, square: float) -> bool:
    """Tell whether a matrix could be X'X of rows within a squared norm, intercept last."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.array_equal(gram, gram.T):
        return False
    # Python's integers: entries of a file may be anything.
    *column_squares, intercept = (int(entry) for entry in gram.diagonal())
    is_bounded = (
        min(column_squares) >= 0
        and sum(column_squares) * step <= n_rows * square
        and intercept * step * 4 == n_rows
    )
    return is_bounded and _are_within(gram, gram.diagonal(), gram.diagonal())


def _products(statistics: "Statistics") -> Iterator[tuple[np.ndarray, Any, int]]:
    """Yield every X'Y with the diagonal of its X'X, or a bound on it, and the largest outcome in steps."""
    for size, cross in statistics.cross.items():
        diagonal = statistics.gram_of_size(size).diagonal()
        yield cross, diagonal, math.floor(statistics.outcome_bound / OUTCOME_STEP)
    for clipped in statistics.clipped.values():
        if clipped.gram is None:
            square = math.floor(clipped.row_norm**2 / CLIPPED_GRAM_STEP) * statistics.n_rows
            diagonal = [*[square] * (clipped.cross.shape[1] - 1), HALF**2 * statistics.n_rows]
        else:
            diagonal = clipped.gram.diagonal()
        bound = min(statistics.outcome_bound, clipped.outcome_norm)
        yield clipped.cross, diagonal, math.floor(bound / OUTCOME_STEP)


def _is_cross(cross: np.ndarray, diagonal: Any, largest_outcome: int, observed_counts: Sequence[int]) -> bool:
    """Tell whether a matrix could be X'Y of outcomes within a bound; both are in the units of X'X."""
    if cross.ndim != 2 or cross.shape[1] != len(diagonal) or len(cross) > len(observed_counts):
        return False
    squares = [n * largest_outcome**2 for n in observed_counts]
    return _are_within(cross, squares, diagonal)


def _are_within(entries: np.ndarray, rows: Any, columns: Any) -> bool:
    """Tell whether the square of every entry is at most the product of a number of its row and its column."""
    lengths = np.sqrt(np.asarray(columns, dtype=np.float64))
    for first in range(0, len(entries), BLOCK):
        block = entries[first : first + BLOCK]
        limits = np.outer(np.sqrt(np.array(rows[first : first + BLOCK], dtype=np.float64)), lengths)
        # As floats, since the smallest int64 has no magnitude of its type.
        near = np.abs(block.astype(np.float64)) > limits * _CLEAR
        for i, j in np.argwhere(near):
            if int(block[i, j]) ** 2 > int(rows[first + i]) * int(columns[j]):
                return False
    return True
