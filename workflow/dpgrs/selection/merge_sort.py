"""Concordant less discordant pairs of rows, for features without a public range (Knight 1966).

With the rows in the order of y, the discordant pairs of x and y are those in which the larger x comes first.
A merge sort counts them: whenever it takes an entry from the second half, all that is left of the first half
is larger. Tied pairs are taken off. Scores are integers, so the number of threads cannot change them.
"""

import numba
import numpy as np

from dpgrs.selection.kendall import tied_runs
from dpgrs.threads import map_in_threads

SHORTEST_BLOCK = 8  # entries; from 8 to 15 of them are sorted by insertion, then blocks are merged
LARGEST_KEY = np.int64(2**63 - 1)

_compiled = numba.njit(nogil=True, cache=True)


def sign_scores(features: np.ndarray, against: np.ndarray, *, n_threads: int = 1) -> np.ndarray:
    """Compare features with an outcome, or with another feature, kernel `sign`: (n_features,) int64.

    Features, (n_features, n_rows), are numbers that float64 holds; a row with NaN is in no pair of that
    feature. `against` is (n_rows,) float64, NaN if missing, or if a row is not to take part.

    Examples
    --------
    >>> sign_scores(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]]), np.array([0.1, 0.2, 0.2])).tolist()
    [2, -2]
    """
    against = np.asarray(against, dtype=np.float64)
    runs = tied_runs(against)

    def score(feature: np.ndarray) -> int:
        feature = np.asarray(feature, dtype=np.float64)
        is_missing = np.isnan(feature)
        order, starts = tied_runs(np.where(is_missing, np.nan, against)) if is_missing.any() else runs
        is_tied = np.diff(starts) > 1
        return _score(_sort_keys(feature[order]), starts[:-1][is_tied], starts[1:][is_tied])

    return np.array(map_in_threads(score, features, n_threads=n_threads), dtype=np.int64)


def _sort_keys(values: np.ndarray) -> np.ndarray:
    """Turn float64 values without NaN, in place, into integers of the same order: these compare faster."""
    values += 0.0  # -0.0 becomes 0.0, its equal
    keys = values.view(np.int64)
    keys ^= keys >> 63 & LARGEST_KEY
    return keys


@_compiled
def _score(keys: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> int:
    """Count concordant less discordant pairs of a feature's keys, rows in ascending order of y.

    Keys, (n_rows,) int64, are overwritten; starts and ends are of the runs of two and more rows with equal y.
    """
    n_tied_against = n_tied_in_both = 0
    for r in range(len(starts)):
        run = keys[starts[r] : ends[r]]
        # In ascending order, so that no pair of equal y counts as discordant.
        if len(run) < 2 * SHORTEST_BLOCK:
            _insert(run)
        else:
            run[:] = _sorted(run)[0]
        n_tied_against += _pair_count(len(run))
        n_tied_in_both += _tied_pairs(run)
    ordered, n_discordant = _sorted(keys)
    n_untied = _pair_count(len(keys)) - n_tied_against - _tied_pairs(ordered) + n_tied_in_both
    return n_untied - 2 * n_discordant


@_compiled
def _pair_count(n: int) -> int:
    return n * (n - 1) // 2


@_compiled
def _tied_pairs(ordered: np.ndarray) -> int:
    """Count the pairs of equal values in ascending order."""
    n_pairs = first = 0
    for i in range(1, len(ordered)):
        if ordered[i] != ordered[first]:
            first = i
        n_pairs += i - first
    return n_pairs


@_compiled
def _sorted(keys: np.ndarray) -> tuple[np.ndarray, int]:
    """Return keys in ascending order, and how many pairs were not."""
    n_blocks = 1
    while len(keys) >= 2 * SHORTEST_BLOCK * n_blocks:
        n_blocks *= 2
    width = max(-(-len(keys) // n_blocks), 1)
    # Halves of equal length need no check for their ends; the largest key at the end is in no such pair.
    ordered = np.full(n_blocks * width, LARGEST_KEY)
    ordered[: len(keys)] = keys
    scratch = np.empty_like(ordered)
    n_inverted = 0
    for first in range(0, len(ordered), width):
        n_inverted += _insert(ordered[first : first + width])
    while width < len(ordered):
        for first in range(0, len(ordered), 2 * width):
            n_inverted += _merge(ordered[first : first + 2 * width], scratch[first : first + 2 * width])
        ordered, scratch = scratch, ordered
        width *= 2
    return ordered[: len(keys)], n_inverted


@_compiled
def _insert(block: np.ndarray) -> int:
    """Sort a short block by insertion; return how far all entries moved to the left."""
    n_inverted = 0
    for i in range(1, len(block)):
        entry, position = block[i], i
        while position > 0 and block[position - 1] > entry:
            block[position] = block[position - 1]
            position -= 1
        block[position] = entry
        n_inverted += i - position
    return n_inverted


@_compiled
def _merge(halves: np.ndarray, merged: np.ndarray) -> np.int64:
    """Merge two ascending halves of equal length; return how many pairs have the larger entry first.

    From both ends at once, which are two chains of steps that do not wait for each other, without branches
    that depend on the data. Indices are unsigned because a negative one would be checked for.
    """
    step = np.uint64(1)
    half = np.uint64(len(halves) // 2)
    left, right = np.uint64(0), half  # the next from the front
    left_end, right_end = half, half + half  # one after the next from the back
    n_inverted = np.uint64(0)
    for front in range(half):
        low, high = halves[left], halves[right]
        takes_right = np.uint64(high < low)
        merged[front] = high if high < low else low
        n_inverted += takes_right * (half - left)
        right += takes_right
        left += step - takes_right

        low, high = halves[left_end - step], halves[right_end - step]
        takes_left = np.uint64(high < low)
        merged[half + half - step - np.uint64(front)] = low if high < low else high
        n_inverted += (step - takes_left) * (half - left_end)
        left_end -= takes_left
        right_end -= step - takes_left
    return np.int64(n_inverted)
