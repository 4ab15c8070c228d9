"""Compiled counts of joint bits.

Kernels return integers, so neither blocking nor the number of threads can change a result.
"""

from itertools import product

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dpgrs.threads import map_in_threads

BLOCK = 4  # 4 x 4 counts fit into the 32 vector registers of AVX-512
VECTOR_WORDS = 8  # of 512 bits; without AVX-512 half as many are counted at a time
TILE_VARIANTS = 64  # two tiles of 64 variants by 512 words, 512 KiB, stay in the L2 cache
TILE_WORDS = 512
WORD = ir.IntType(64)
INDEX = ir.IntType(32)


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
    """Append zeros up to whole blocks of variants and vectors of words; words of a variant lie together."""
    n_variants, n_words = words.shape
    padding = [(0, -n_variants % BLOCK), (0, -n_words % VECTOR_WORDS)]
    return np.ascontiguousarray(np.pad(words, padding))


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
                for j in range(max(tile, i), min(tile + TILE_VARIANTS, n_variants), BLOCK):
                    block = counts[i : i + BLOCK, j : j + BLOCK]
                    _add_shared(A[i : i + BLOCK, words], B[j : j + BLOCK, words], block)
        for i in range(first, min(first + TILE_VARIANTS, n_variants)):
            for j in range(max(tile, i + 1), min(tile + TILE_VARIANTS, n_variants)):
                counts[j, i] = counts[i, j]


def _add_shared(a, b, counts):
    """Add the bits that each of a few variants shares with each of a few others.

    Parameters
    ----------
    a, b : (BLOCK, n_words) uint64, n_words a multiple of VECTOR_WORDS, words of a variant side by side.
    counts : (BLOCK, BLOCK) int64, counts of a row side by side, in place.
    """
    for i in range(BLOCK):
        for j in range(BLOCK):
            for word in a[i] & b[j]:
                counts[i, j] += _popcount(word)


@overload(_add_shared)
def _add_shared_compiled(a, b, counts):
    return lambda a, b, counts: _add_shared_vectors(a, b, a.shape[1], counts)


@intrinsic
def _add_shared_vectors(typing_context, a, b, n_words, counts):
    """Count in vectors of 512 bits, of which LLVM by itself takes halves."""

    def generate(context, builder, signature, arguments):
        is_wide = "+avx512vpopcntdq" in context.codegen().magic_tuple()[2]
        vector = ir.VectorType(WORD, VECTOR_WORDS if is_wide else VECTOR_WORDS // 2)
        ctpop = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{vector.count}i64"
        )
        own, other, out = (_rows(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 3))
        # Sixteen counts for eight loads: the registers, not the cache, feed the loop.
        totals = {pair: cgutils.alloca_once(builder, vector) for pair in product(range(BLOCK), repeat=2)}
        for total in totals.values():
            builder.store(ir.Constant(vector, None), total)
        with cgutils.for_range(builder, builder.udiv(arguments[2], WORD(vector.count))) as vectors:
            place = builder.mul(vectors.index, WORD(vector.count))
            x, y = (
                [
                    builder.load(builder.bitcast(builder.gep(row, [place]), vector.as_pointer()), align=8)
                    for row in rows
                ]
                for rows in (own, other)
            )
            for (i, j), total in totals.items():
                found = builder.call(ctpop, [builder.and_(x[i], y[j])])
                builder.store(builder.add(builder.load(total), found), total)
        for (i, j), total in totals.items():
            at_count = builder.gep(out[i], [WORD(j)])
            found = _added_lanes(builder, builder.load(total))
            builder.store(builder.add(builder.load(at_count), found), at_count)
        return context.get_dummy_value()

    return types.none(a, b, n_words, counts), generate


def _rows(context, builder, kind, array):
    """Return where each of the BLOCK rows of an array begins."""
    array = context.make_array(kind)(context, builder, array)
    stride = builder.udiv(builder.extract_value(array.strides, 0), WORD(8))
    return [builder.gep(array.data, [builder.mul(stride, WORD(k))]) for k in range(BLOCK)]


def _added_lanes(builder, vector):
    """Emit the sum of a vector's entries, half against half."""
    n_lanes = vector.type.count
    while n_lanes > 1:
        n_lanes //= 2
        halves = [
            ir.Constant(ir.VectorType(INDEX, n_lanes), list(range(first, first + n_lanes)))
            for first in (0, n_lanes)
        ]
        vector = builder.add(*(builder.shuffle_vector(vector, vector, half) for half in halves))
    return builder.extract_element(vector, INDEX(0))
