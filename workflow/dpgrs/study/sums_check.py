"""Whether what a centre sent could be exact sums over rows of people, looked at before anybody adds it.

Whatever passes, nobody else's privacy depends on it (docs/explanation/centres.md).
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.clipped_statistics import CLIPPED_GRAM_STEP, HALF
from dpgrs.linalg.statistics import OUTCOME_STEP
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.replicates import Statistics

SIZE = "[1-9][0-9]{0,8}"
# Of statistics that leave a centre; the rest is names and terms.
STATISTICS = re.compile(
    rf"gram|n_rows|n_observed|rows|outcome_bound|steps|(cross|columns|origin)/{SIZE}"
    rf"|clipped/{SIZE}/{SIZE}/(gram|cross|norms)"
)
# Outcomes of which entries are held against their bounds at a time.
BLOCK = 256
# Floats within this margin decide by themselves; what is nearer is decided in whole numbers.
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
    if not cross or any(one.dtype != np.int64 for one in (*grams, *cross, observed)) or observed.ndim != 1:
        return False
    if n_rows < 0 or observed.min(initial=0) < 0 or observed.max(initial=0) > n_rows:
        return False
    norms = [norm for one in statistics.clipped.values() for norm in (one.row_norm, one.outcome_norm)]
    if not all(0 < norm < math.inf for norm in (statistics.outcome_bound, *norms)):
        return False
    # Of half coding the square of a value is at most 1/4, or 1 of people.
    square = 1.0 if statistics.rows == Rows.PEOPLE else 0.25
    terms = [] if statistics.gram is None else [(statistics.gram_step, square * (len(statistics.gram) - 1))]
    terms += [
        (CLIPPED_GRAM_STEP, one.row_norm**2) for one in statistics.clipped.values() if one.gram is not None
    ]
    if not all(_is_gram(one, n_rows, *term) for one, term in zip(grams, terms, strict=True)):
        return False
    known = None if has_components else observed.tolist()
    return all(_is_cross(*one, known or [n_rows] * len(one[0])) for one in _products(statistics))


def all_sums(statistics: "Statistics") -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the lists of every X'X and of every X'Y."""
    parts = statistics.clipped.values()
    grams = [one for one in (statistics.gram, *(part.gram for part in parts)) if one is not None]
    return grams, [*statistics.cross.values(), *(part.cross for part in parts)]


def largest(statistics: "Statistics") -> int:
    """Return the largest magnitude of an entry; Python's integers do not wrap around."""
    grams, cross = all_sums(statistics)
    return max(max(-int(one.min(initial=0)), int(one.max(initial=0))) for one in (*grams, *cross))


def _is_gram(gram: np.ndarray, n_rows: int, step: float, square: float) -> bool:
    """Tell whether a matrix could be X'X of rows within a squared norm, intercept last."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.array_equal(gram, gram.T):
        return False
    # Python's integers: entries of a file may be anything.
    *own, intercept = (int(entry) for entry in gram.diagonal())
    is_bounded = min(own) >= 0 and sum(own) * step <= n_rows * square and intercept * step * 4 == n_rows
    return is_bounded and _are_within(gram, gram.diagonal(), gram.diagonal())


def _products(statistics: "Statistics") -> Iterator[tuple[np.ndarray, Any, int]]:
    """Yield every X'Y with the diagonal of its X'X, or a bound on it, and the largest outcome in steps."""
    for size, cross in statistics.cross.items():
        diagonal = statistics.gram_of_size(size).diagonal()
        yield cross, diagonal, math.floor(statistics.outcome_bound / OUTCOME_STEP)
    for part in statistics.clipped.values():
        if part.gram is None:
            square = math.floor(part.row_norm**2 / CLIPPED_GRAM_STEP) * statistics.n_rows
            diagonal = [*[square] * (part.cross.shape[1] - 1), HALF**2 * statistics.n_rows]
        else:
            diagonal = part.gram.diagonal()
        bound = min(statistics.outcome_bound, part.outcome_norm)
        yield part.cross, diagonal, math.floor(bound / OUTCOME_STEP)


def _is_cross(cross: np.ndarray, diagonal: Any, largest_outcome: int, known: Sequence[int]) -> bool:
    """Tell whether a matrix could be X'Y of outcomes within a bound; units of both are those of X'X."""
    if cross.ndim != 2 or cross.shape[1] != len(diagonal) or len(cross) > len(known):
        return False
    squares = [n * largest_outcome**2 for n in known]
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
