"""Compiled kernels on small integers, and on sums over bits.

Kernels return integers, so neither blocking nor the number of threads can change a result.
"""

import numba
import numpy as np

from dpgrs.linalg._vectors import LANES, TABLE_LANES, TILE_PANELS, add_table_sums, add_tile_row
from dpgrs.threads import map_in_threads

# Variants lie in panels, (n_panels, n_pairs, LANES): a vector holds a pair of rows of each variant.
MIRRORED = 64
SEGMENT_ROWS = 240  # two panels are 15 KiB; also even when halved three times
LARGEST_SUM = 2**31 - 1  # of products in a vector
LARGEST_ENTRY = 2**13  # 30 squares are below 2^31
WORDS_TURNED = 64  # words of all variants whose table sums are taken together


def add_joint_products(
    T,  # (n_variants, n_rows) integers of absolute value at most `LARGEST_ENTRY`
    sums,  # (at least n_variants,) * 2 int64, in place and in its upper triangle only (`mirror`)
    *,
    n_threads=1,  # int, at least 1
):
    """Add the products of every two variants, summed over rows: T T'."""
    T = np.ascontiguousarray(np.pad(T, [(0, 0), (0, T.shape[1] % 2)]), dtype=np.int16)
    panels, n_pairs = _panels(T.view(np.int32)), _rows_together(T) // 2
    map_in_threads(
        lambda first: add_tile_row(panels, first, n_pairs, len(T), sums),
        range(0, len(panels), TILE_PANELS),
        n_threads=n_threads,
    )


def table_sums(
    bits,  # (n_variants, n_words) uint64
    Y,  # (n_outcomes, n_haplotypes) int64, haplotypes at most 64 n_words; 0 where one does not count
):
    """Sum, for every variant, outcomes over the haplotypes that have its allele.

    The result is (n_outcomes, n_variants) int64.
    """
    (n_variants, n_words), n_outcomes = bits.shape, len(Y)
    V = np.zeros((-(-n_outcomes // TABLE_LANES), n_variants, TABLE_LANES), dtype=np.int64)
    for start in range(0, n_words, WORDS_TURNED):
        turned = np.ascontiguousarray(bits[:, start : start + WORDS_TURNED].T)
        for group, sums in enumerate(V):
            outcomes = Y[
                group * TABLE_LANES : (group + 1) * TABLE_LANES, 64 * start : 64 * (start + len(turned))
            ]
            y = np.zeros((64 * len(turned), TABLE_LANES), dtype=np.int64)
            y[: outcomes.shape[1], : len(outcomes)] = outcomes.T
            add_table_sums(turned, y, sums)
    return V.transpose(0, 2, 1).reshape(len(V) * TABLE_LANES, n_variants)[:n_outcomes]


@numba.njit(nogil=True, cache=True)
def mirror(
    sums,  # (n, n) int64, in place
):
    """Copy the upper triangle to the lower one, a square at a time, since one of both is read across rows."""
    n = len(sums)
    for top in range(0, n, MIRRORED):
        for left in range(top, n, MIRRORED):
            for j in range(left, min(left + MIRRORED, n)):
                for i in range(top, min(top + MIRRORED, j)):
                    sums[j, i] = sums[i, j]


@numba.njit(nogil=True, cache=True)
def add_squares(
    entries,  # (n_entries, n_rows) int16, int32 or int64 below 2^31; a row is a column
    high,  # (n_rows,) int64, in place: the square is high 2^n_bits + low
    low,  # likewise
    n_bits,
):
    """Add the squares of every row's entries, in two halves."""
    mask = (1 << n_bits) - 1
    for entry in entries:
        for row in range(len(entry)):
            square = np.int64(entry[row]) * np.int64(entry[row])
            high[row] += square >> n_bits
            low[row] += square & mask


@numba.njit(nogil=True, cache=True)
def scale_rows(
    entries,  # (n_entries, n_rows) int16, int32 or int64 below 2^31; a row is a column
    chosen,  # (n_chosen,) int64, indices of rows
    scale,  # (n_chosen,) float64, at most 1
    out,  # (n_entries, n_chosen) of the type of the entries, filled in
):
    """Multiply rows, and round their entries towards zero."""
    for number in range(len(entries)):
        for k in range(len(chosen)):
            out[number, k] = np.int64(entries[number, chosen[k]] * scale[k])


def _panels(pairs):
    """Return (n_panels, n_pairs, LANES), with zeros up to whole panels."""
    n_variants, n_pairs = pairs.shape
    padded = np.pad(pairs, [(0, -n_variants % LANES), (0, 0)])
    return np.ascontiguousarray(padded.reshape(len(padded) // LANES, LANES, n_pairs).transpose(0, 2, 1))


@numba.njit(nogil=True, cache=True)
def _rows_together(T):
    """Return of how many rows, an even number, no sum of products leaves int32: by Cauchy and Schwarz."""
    n_variants, n_rows = T.shape
    n_together = SEGMENT_ROWS
    for variant in range(n_variants):
        start = 0
        while start < n_rows:
            square = np.int64(0)
            for row in range(start, min(start + n_together, n_rows)):
                square += np.int64(np.int32(T[variant, row]) * np.int32(T[variant, row]))
            start += n_together
            if square > LARGEST_SUM:
                # Whole segments are halves of longer ones: what is within bounds so far remains so.
                n_together //= 2
                start = 0
    return n_together
