"""Compiled counts of joint bits.

Kernels return integers, so neither blocking nor the number of threads can change a result.
"""

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from dpgrs.threads import map_in_threads

BLOCK = 4  # 4 x 4 counts fit into the 32 vector registers of AVX-512
VECTOR_WORDS = 8  # whole 512-bit vectors leave no scalar remainder loop
TILE_VARIANTS = 64  # two tiles of 64 variants by 256 words, 256 KiB, stay in the L2 cache
TILE_WORDS = 256


def joint_counts(A, B=None, *, n_threads=1):
    """Count the bits that two sets of variants share.

    Parameters
    ----------
    A, B : (n_variants, n_words) uint64 with symmetric counts: ``A[i] & B[j]`` and ``A[j] & B[i]`` hold
        equally many 1 bits. Only the upper triangle is counted. B is A by default.
    n_threads : int, at least 1.

    Returns
    -------
    (n_variants, n_variants) int64, entry (i, j) the number of 1 bits of ``A[i] & B[j]``.
    """
    n_variants = len(A)
    A = _padded(A)
    B = A if B is None else _padded(B)
    counts = np.zeros((len(A), len(B)), dtype=np.int64)
    tiles = range(0, len(A), TILE_VARIANTS)
    map_in_threads(lambda first: _count_tiles(A, B, first, counts), tiles, n_threads=n_threads)
    return counts[:n_variants, :n_variants]


@numba.njit(nogil=True, cache=True)
def centre_counts(counts):
    """Turn sums of a a' into sums of t t', in place, where t = 2 a - a_last and the last a is a constant.

    Parameters
    ----------
    counts : (n, n) int64 symmetric.
    """
    totals, n_last = 2 * counts[-1], counts[-1, -1]
    for i in range(len(counts)):
        for j in range(len(counts)):
            counts[i, j] = 4 * counts[i, j] - totals[i] - totals[j] + n_last


def _padded(words):
    """Append zeros up to whole blocks of variants and whole vectors of words."""
    n_variants, n_words = words.shape
    return np.pad(words, [(0, -n_variants % BLOCK), (0, -n_words % VECTOR_WORDS)])


@intrinsic
def _ctpop(typing_context, word):
    """Emit LLVM's population count, which loops turn into VPOPCNTDQ where the processor has it."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _popcount(word):
    return int(word).bit_count()


@overload(_popcount)
def _popcount_compiled(word):
    return lambda word: _ctpop(word)


@register_jitable
def _counted(counts, a, b):
    """Add the bits that one word shares with each of four."""
    return (
        counts[0] + _popcount(a & b[0]),
        counts[1] + _popcount(a & b[1]),
        counts[2] + _popcount(a & b[2]),
        counts[3] + _popcount(a & b[3]),
    )


@numba.njit(nogil=True, cache=True)
def counts_within(genotypes, masks):
    """Count the bits that each variant has in each of a few masks, with one look at the genotypes.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64
    masks : (n_masks, n_words) uint64

    Returns
    -------
    (n_masks, n_variants) int64
    """
    n_variants, n_words = genotypes.shape
    counts = np.zeros((len(masks), n_variants), dtype=np.int64)
    for i in range(n_variants):
        for k in range(len(masks)):
            found = 0
            for w in range(n_words):
                found += _popcount(genotypes[i, w] & masks[k, w])
            counts[k, i] = found
    return counts


@numba.njit(nogil=True, cache=True)
def chosen_bits(genotypes, order):
    """Return some of the bits of every variant.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64
    order : (n_chosen,) int64, haplotypes, a multiple of 64; below 0 for a 0.

    Returns
    -------
    (n_variants, n_chosen / 64) uint64
    """
    chosen = np.zeros((len(genotypes), len(order) // 64), dtype=np.uint64)
    for variant in range(len(genotypes)):
        own = genotypes[variant]
        for word in range(chosen.shape[1]):
            bits = np.uint64(0)
            for place in range(64):
                haplotype = order[64 * word + place]
                if haplotype >= 0:
                    bit = own[haplotype >> 6] >> np.uint64(haplotype & 63) & np.uint64(1)
                    bits |= bit << np.uint64(place)
            chosen[variant, word] = bits
    return chosen


@numba.njit(nogil=True, cache=True)
def _count_tiles(A, B, first, counts):
    """Fill in the counts of a tile of variants of A, from `first` on, against B's, and mirror them."""
    n_variants, n_words = A.shape
    for tile in range(first, n_variants, TILE_VARIANTS):
        for start in range(0, n_words, TILE_WORDS):
            words = slice(start, min(start + TILE_WORDS, n_words))
            for i in range(first, min(first + TILE_VARIANTS, n_variants), BLOCK):
                a0, a1, a2, a3 = A[i, words], A[i + 1, words], A[i + 2, words], A[i + 3, words]
                for j in range(max(tile, i), min(tile + TILE_VARIANTS, n_variants), BLOCK):
                    b0, b1, b2, b3 = B[j, words], B[j + 1, words], B[j + 2, words], B[j + 3, words]
                    # Sixteen counts for eight loads: the registers, not the cache, feed the inner loop.
                    c0 = c1 = c2 = c3 = (0, 0, 0, 0)
                    for w in range(len(a0)):
                        b = (b0[w], b1[w], b2[w], b3[w])
                        c0 = _counted(c0, a0[w], b)
                        c1 = _counted(c1, a1[w], b)
                        c2 = _counted(c2, a2[w], b)
                        c3 = _counted(c3, a3[w], b)
                    for k in range(BLOCK):
                        counts[i, j + k] += c0[k]
                        counts[i + 1, j + k] += c1[k]
                        counts[i + 2, j + k] += c2[k]
                        counts[i + 3, j + k] += c3[k]
        for i in range(first, min(first + TILE_VARIANTS, n_variants)):
            for j in range(max(tile, i + 1), min(tile + TILE_VARIANTS, n_variants)):
                counts[j, i] = counts[i, j]
