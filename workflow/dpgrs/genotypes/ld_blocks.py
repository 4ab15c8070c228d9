"""Bounds of LD blocks of a chromosome: where linkage disequilibrium across is least, by dynamic programming.

The loss of a bound is the sum of r^2 over pairs of variants on both sides of it, less what chance adds. The
loss of a block rises with the distance of its length from `BLOCK_LENGTH`. The sum of all losses is minimal.
"""

from collections.abc import Sequence

import numba
import numpy as np

# Base pairs.
BLOCK_LENGTH = 2_000_000
FEWEST_VARIANTS, MOST_VARIANTS = 150, 1_500
# Variants; pairs farther apart are not compared.
WINDOW, COMPARED_TOGETHER = 500, 500
# Of variants of which axes of ancestry are made.
LARGEST_R2 = 0.1
# Losses of a block of length 0 or 4 Mb, in units of the median loss of a bound.
LENGTH_LOSS = 4.0
# Regions of LD over many megabases, by genome build: chromosome, first and last base. The MHC is the first.
LONG_RANGE_LD = {
    "GRCh37": (("6", 25_000_000, 34_000_000), ("8", 7_000_000, 13_000_000), ("17", 43_500_000, 45_000_000)),
    "GRCh38": (("6", 25_000_000, 34_000_000), ("8", 7_000_000, 13_000_000), ("17", 45_400_000, 46_900_000)),
}


def ld_block_bounds(
    # (n_people, n_variants) dosages of public people, in genome order; a constant variant has r^2 0.
    dosages: np.ndarray,
    position: np.ndarray,  # (n_variants,) base pairs, ascending
    *,
    whole_regions: Sequence[tuple[int, int]] = (),  # first and last base of regions that stay one block each
    length: float = BLOCK_LENGTH,
    fewest: int = FEWEST_VARIANTS,
    most: int = MOST_VARIANTS,
) -> np.ndarray:
    """Return the bounds of the LD blocks of a chromosome, (n_blocks + 1,) int64, from 0 to n_variants.

    Blocks have `fewest` to `most` variants, except where a stretch of the chromosome, between its ends and
    regions that stay whole, has fewer, and except these regions.
    """
    n_variants = len(position)
    loss = crossing_r2(dosages)
    stretches: list[tuple[int, int, bool]] = []
    start = 0
    for first, last in sorted(whole_regions):
        begin = int(np.searchsorted(position, first))
        end = int(np.searchsorted(position, last, side="right"))
        if begin < end:
            stretches += [(start, begin, False), (begin, end, True)]
            start = end
    stretches.append((start, n_variants, False))
    bounds = [0]
    for start, stop, is_whole in stretches:
        if start == stop:
            continue
        if is_whole or stop - start < 2 * fewest:
            bounds.append(stop)
            continue
        of_stretch = loss[start : stop + 1]
        scale = LENGTH_LOSS * max(float(np.median(of_stretch)), 1e-3)
        ends = np.asarray(position[start:stop], dtype=np.float64) / length
        bounds += [start + bound for bound in _best_bounds(of_stretch, ends, scale, fewest, most)]
    return np.array(bounds, dtype=np.int64)


def crossing_r2(dosages: np.ndarray) -> np.ndarray:
    """Return the sum of r^2 over pairs across each bound, less what chance adds: (n_variants + 1,) float64.

    `dosages` as in `ld_block_bounds`. Pairs are those of variants at most `WINDOW` places apart.
    """
    n_people, n_variants = dosages.shape
    # Of the variants on its right, and on its left.
    right, left = np.zeros((2, n_variants))
    for start in range(0, n_variants, COMPARED_TOGETHER):
        stop = min(start + COMPARED_TOGETHER, n_variants)
        end = min(stop + WINDOW, n_variants)
        X = _standardised(dosages[:, start:end])
        r2 = np.square(X[:, : stop - start].T @ X) - np.float32(1 / n_people)
        distance = np.arange(end - start) - np.arange(stop - start)[:, np.newaxis]
        r2[(distance <= 0) | (distance > WINDOW)] = 0
        right[start:stop] += r2.sum(axis=1, dtype=np.float64)
        left[start:end] += r2.sum(axis=0, dtype=np.float64)
    loss = np.concatenate([[0.0], np.cumsum(right - left)])
    return np.maximum(loss, 0)


def pruned_variants(
    dosages: np.ndarray,
    position: np.ndarray,
    *,
    r2: float = LARGEST_R2,  # the most of any two variants that are kept, of those within `WINDOW` places
    left_out: Sequence[tuple[int, int]] = (),  # first and last base of regions of which none is kept
) -> np.ndarray:
    """Return variants that are hardly in LD, (n_pruned,) int64 ascending; `dosages` as in `ld_block_bounds`.

    Each is kept unless it exceeds the limit with one kept before it.
    """
    is_kept = np.ones(len(position), dtype=bool)
    for first, last in left_out:
        is_kept[np.searchsorted(position, first) : np.searchsorted(position, last, side="right")] = False
    for start in range(0, len(position), COMPARED_TOGETHER):
        stop = min(start + COMPARED_TOGETHER, len(position))
        end = min(stop + WINDOW, len(position))
        X = _standardised(dosages[:, start:end])
        is_linked = np.square(X[:, : stop - start].T @ X) > r2
        for i in range(stop - start):
            if is_kept[start + i]:
                near = slice(start + i + 1, min(start + i + 1 + WINDOW, end))
                is_kept[near] &= ~is_linked[i, i + 1 : i + 1 + WINDOW]
    return np.flatnonzero(is_kept)


def _standardised(dosages: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and length 1 as float32, and columns of zeros as they are."""
    X = dosages.astype(np.float32)
    X -= X.mean(axis=0)
    lengths = np.linalg.norm(X, axis=0)
    return np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 1e-6)


@numba.njit(nogil=True, cache=True)
def _best_bounds(
    loss: np.ndarray,  # (n + 1,) float64, of each bound
    ends: np.ndarray,  # (n,) float64, positions over the length that blocks are to have
    scale: float,  # loss of a block that is twice as long, or of length 0
    fewest: int,
    most: int,
) -> list[int]:
    """Return the ends of the blocks of n variants, of which there is a solution: the last is n."""
    n = len(ends)
    total, previous = np.full(n + 1, np.inf), np.full(n + 1, -1)
    total[0] = 0.0
    for stop in range(fewest, n + 1):
        for start in range(max(0, stop - most), stop - fewest + 1):
            length = ends[stop - 1] - ends[start] - 1
            candidate = total[start] + loss[start] + scale * length * length
            if candidate < total[stop]:
                total[stop], previous[stop] = candidate, start
    bounds, stop = [n], previous[n]
    while stop > 0:
        bounds.append(stop)
        stop = previous[stop]
    return bounds[::-1]
