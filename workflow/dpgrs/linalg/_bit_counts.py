"""Compiled counts of joint bits.

Kernels return integers, so neither blocking nor the number of threads can change a result.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dpgrs.genotypes.bits import phases_swapped
from dpgrs.threads import map_in_threads
from dpgrs.types import Rows

LANES = 8  # variants of a panel, side by side: a vector of AVX-512, two of AVX2
TILE = 64  # variants: two tiles of 512 words, 512 KiB, stay in the L2 cache
TILE_WORDS = 512
WORD = ir.IntType(64)
LANE = ir.IntType(32)
# Truth tables of three bits, the first the highest of the index: whether an odd number of them is 1; and what
# a kept bit carries over, which was the first, then the second with a bit more, then the third with another.
XOR, CARRY = LANE(0b10010110), LANE(0b01110100)


def add_products_of_calls(words, group, base, step, n_rows, intercept, sums, *, rows, n_threads=1):
    """Add the sums of t t' over rows of calls, t = b + s a, with a constant last; a are ALT alleles of a row.

    Parameters
    ----------
    words : (n_variants, n_words) uint64, haplotypes as bits; 0 where one does not count.
    group : (n_words,) int64, ascending from 0, the group of each word's rows.
    base, step : (n_groups, n_variants) int64, b and s of each group's rows; s s' is below 2^31.
    n_rows : (n_groups,) int64, the rows that count; so many b, or as many s as they have alleles, add up to
        less than 2^29.
    intercept : int, the constant.
    sums : (n_variants + 1, n_variants + 1) int64, in place and in its upper triangle only (`mirror`).
    rows : Rows
    n_threads : int, at least 1.
    """
    starts = np.searchsorted(group, np.arange(len(base)))
    alleles = np.add.reduceat(np.bitwise_count(words), starts, axis=1, dtype=np.int64).T
    size = -(-len(sums) // LANES) * LANES
    panels = _panels(words, size)
    compared_panels = panels[np.newaxis]
    if Rows(rows) == Rows.PEOPLE:
        # sum (a1 + a2)(b1 + b2): the two alleles of a person meet straight and crosswise.
        compared_panels = np.stack([panels, phases_swapped(panels)])
    # With signs e = 2 a - 1, of a person the sum of two, 2 t = c + s e. Products of signs are told by where
    # bits differ, which takes fewer instructions to count than where both are 1.
    n_signs = len(compared_panels) * n_rows
    coefficients = np.zeros((3, len(base), size), dtype=np.int32)
    total = 2 * alleles - n_signs[:, np.newaxis]
    coefficients[:, :, : len(words)] = 2 * base + len(compared_panels) * step, step, step * total
    # The constant is one more variant, without signs.
    coefficients[0, :, len(words)] = 2 * intercept
    cuts = np.unique([*starts, *range(0, len(group), TILE_WORDS), len(group)])
    groups = group[cuts[:-1]]
    segments = cuts, groups, np.where(np.diff(groups, prepend=-1) > 0, n_signs[groups], 0)
    map_in_threads(
        lambda top: _add_tiles(panels, compared_panels, top, *segments, *coefficients, n_rows, sums),
        range(0, len(sums), TILE),
        n_threads=n_threads,
    )


def _panels(words, size):
    """Return (size / LANES, n_words, LANES), with variants of zeros up to `size`."""
    n_variants, n_words = words.shape
    padded = np.zeros((size, n_words), dtype=np.uint64)
    padded[:n_variants] = words
    return np.ascontiguousarray(padded.reshape(-1, LANES, n_words).transpose(0, 2, 1))


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
def counts_within(
    genotypes,  # (n_variants, n_words) uint64
    masks,  # (n_masks, n_words) uint64
):
    """Count the bits that each variant has in each of some masks, with one look at the genotypes for many.

    The result is (n_masks, n_variants) int64.
    """
    n_variants, n_words = genotypes.shape
    counts = np.zeros((len(masks), n_variants), dtype=np.int64)
    for first in range(0, len(masks), TILE):
        for start in range(0, n_words, TILE_WORDS):
            for i in range(n_variants):
                variant_words = genotypes[i, start : start + TILE_WORDS]
                for k in range(first, min(first + TILE, len(masks))):
                    mask, count = masks[k, start : start + TILE_WORDS], 0
                    for w in range(len(variant_words)):
                        count += _popcount(variant_words[w] & mask[w])
                    counts[k, i] += count
    return counts


@numba.njit(nogil=True, cache=True)
def row_weights(
    genotypes,  # (n_variants, n_words) uint64
    weights,  # (n_variants,) int64
):
    """Sum the weights of the variants of which each haplotype has the allele.

    The result is (64 n_words,) int64.
    """
    n_variants, n_words = genotypes.shape
    sums = np.zeros(64 * n_words, dtype=np.int64)
    for first in range(0, n_words, TILE):
        for variant in range(n_variants):
            weight = weights[variant]
            for word in range(first, min(first + TILE, n_words)):
                bits, word_sums = genotypes[variant, word], sums[64 * word : 64 * word + 64]
                for position in range(64):
                    word_sums[position] += weight & -np.int64(bits >> np.uint64(position) & np.uint64(1))
    return sums


@numba.njit(nogil=True, cache=True)
def chosen_bits(
    genotypes,  # (n_variants, n_words) uint64
    order,  # (n_chosen,) int64, haplotypes, a multiple of 64; below 0 for a 0
):
    """Return some of the bits of every variant. The result is (n_variants, n_chosen / 64) uint64."""
    chosen = np.zeros((len(genotypes), len(order) // 64), dtype=np.uint64)
    for variant in range(len(genotypes)):
        variant_words = genotypes[variant]
        for word in range(chosen.shape[1]):
            bits = np.uint64(0)
            for position in range(64):
                haplotype = order[64 * word + position]
                if haplotype >= 0:
                    bit = variant_words[haplotype >> 6] >> np.uint64(haplotype & 63) & np.uint64(1)
                    bits |= bit << np.uint64(position)
            chosen[variant, word] = bits
    return chosen


@numba.njit(nogil=True, cache=True)
def _add_tiles(panels, compared_panels, top, cuts, groups, n_signs, centre, step, pull, n_rows, sums):
    """Add the sums of a tile of variants, from `top` on, with all that follow.

    Parameters
    ----------
    panels : (n_panels, n_words, LANES) uint64
    compared_panels : (1 or 2, n_panels, n_words, LANES) uint64, compared with the panels.
    top : int
    cuts : (n_segments + 1,) int64, words where segments begin, each of one group, and where the last ends.
    groups : (n_segments,) int64
    n_signs : (n_segments,) int64, of all rows of a group, at its first segment; 0 at others.
    centre, step, pull : (n_groups, n_panels * LANES) int32, c, s and the sum of s e over rows.
    n_rows, sums : as in `add_products_of_calls`.
    """
    n, size = len(sums), step.shape[1]
    tile = np.empty((TILE, TILE), dtype=np.int64)
    for left in range(top, size, TILE):
        tile[:] = 0
        width = min(TILE, size - left)
        for group in range(len(centre)):
            c, p = centre[group, left : left + width], pull[group, left : left + width]
            for i in range(top, min(top + TILE, n)):
                centre_i = centre[group, i]
                of_all = np.int32(n_rows[group] * centre_i + pull[group, i])
                for j in range(width):
                    tile[i - top, j] += np.int64(of_all) * np.int64(c[j]) + np.int64(centre_i) * np.int64(
                        p[j]
                    )
        for segment in range(len(groups)):
            steps, start, stop = step[groups[segment]], cuts[segment], cuts[segment + 1]
            for i in range(top, min(top + TILE, size), LANES):
                for j in range(max(left, i), left + width, LANES):
                    factors = steps[i : i + LANES], steps[j : j + LANES]
                    block = tile[i - top : i - top + LANES, j - left : j - left + LANES]
                    for other in compared_panels:
                        words = panels[i // LANES, start:stop], other[j // LANES, start:stop]
                        _add_signs(words[0], words[1], n_signs[segment], factors[0], factors[1], block)
        for i in range(top, min(top + TILE, n)):
            for j in range(max(left, i), min(left + TILE, n)):
                sums[i, j] += tile[i - top, j - left] >> 2


def _add_signs(
    a,  # (n_words, LANES) uint64, contiguous, 1 for a sign of 1, 0 for one of -1
    b,  # likewise
    n,  # int, how many signs count; bits of others are 0 in both
    left,  # (LANES,) int32, the factors, whose products are below 2^31
    right,  # likewise
    sums,  # (LANES, LANES) int64 in place, of a row side by side
):
    """Add factors times the sums of products of signs, of each variant of a panel with each of another."""
    differ = np.bitwise_count(a[:, :, np.newaxis] ^ b[:, np.newaxis]).sum(axis=0, dtype=np.int64)
    sums += (n - 2 * differ) * np.multiply.outer(left, right)


@overload(_add_signs, inline="always")
def _add_signs_compiled(a, b, n, left, right, sums):
    return lambda a, b, n, left, right, sums: _add_signs_vectors(a, b, len(a), n, left, right, sums)


@intrinsic
def _add_signs_vectors(typing_context, a, b, n_words, n, left, right, sums):
    """Count in vectors whose lanes are variants, so that no vector is ever summed up.

    Two words at a time are added to a bit that is kept of each place, and what is counted is carried over.
    """
    vector, narrow = ir.VectorType(WORD, LANES), ir.VectorType(LANE, LANES)

    def at_row(builder, array, offset, kind):
        return builder.bitcast(builder.gep(array, [offset]), kind.as_pointer())

    def everywhere(builder, single):
        chosen = builder.insert_element(
            ir.Constant(ir.VectorType(single.type, LANES), ir.Undefined), single, LANE(0)
        )
        return builder.shuffle_vector(chosen, chosen, ir.Constant(narrow, [0] * LANES))

    def generate(context, builder, signature, arguments):
        has_wide = "+avx512f" in context.codegen().magic_tuple()[2]
        at_once = LANES if has_wide else LANES // 2
        ctpop = _function(builder, f"llvm.ctpop.v{LANES}i64", vector, vector)
        a, b, left, right, sums = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4, 5, 6)
        )
        width = builder.udiv(builder.extract_value(sums.strides, 0), WORD(8))
        factors = builder.load(at_row(builder, right.data, WORD(0), narrow), align=4)
        is_odd = builder.and_(arguments[2], WORD(1))
        of_odd = everywhere(builder, builder.neg(is_odd))

        def of_three(table, *bits):
            kinds = vector, vector, vector, vector, LANE
            return builder.call(_function(builder, "llvm.x86.avx512.pternlog.q.512", *kinds), [*bits, table])

        def xor(bits, offset, k):
            y = builder.load(at_row(builder, b.data, offset, vector), align=8)
            x = everywhere(builder, builder.load(builder.gep(a.data, [builder.add(offset, WORD(k))])))
            if has_wide:
                return of_three(XOR, bits, y, x)
            return builder.xor(bits, builder.xor(x, y))

        def carry(before, between, after):
            if has_wide:
                return of_three(CARRY, before, between, after)
            return builder.xor(before, builder.and_(between, builder.not_(builder.xor(before, after))))

        for first in range(0, LANES, at_once):
            pending, carried = (
                [cgutils.alloca_once(builder, vector) for _ in range(at_once)] for _ in range(2)
            )
            for k in range(at_once):
                builder.store(ir.Constant(vector, None), carried[k])
                builder.store(
                    builder.and_(xor(ir.Constant(vector, None), WORD(0), first + k), of_odd), pending[k]
                )
            with cgutils.for_range(builder, builder.lshr(arguments[2], WORD(1))) as pairs:
                offset = builder.mul(builder.add(builder.shl(pairs.index, WORD(1)), is_odd), WORD(LANES))
                following = builder.add(offset, WORD(LANES))
                for k in range(at_once):
                    before = builder.load(pending[k])
                    between = xor(before, offset, first + k)
                    after = xor(between, following, first + k)
                    builder.store(after, pending[k])
                    counts = builder.call(ctpop, [carry(before, between, after)])
                    builder.store(builder.add(builder.load(carried[k]), counts), carried[k])
            for k in range(at_once):
                counts = builder.load(carried[k])
                differ = builder.add(
                    builder.add(counts, counts), builder.call(ctpop, [builder.load(pending[k])])
                )
                product = builder.sub(everywhere(builder, arguments[3]), builder.add(differ, differ))
                single = builder.load(builder.gep(left.data, [WORD(first + k)]))
                factor = builder.sext(builder.mul(everywhere(builder, single), factors), vector)
                # Both are below 2^31, which one instruction multiplies.
                product = builder.sext(builder.trunc(product, narrow), vector)
                at_sums = at_row(builder, sums.data, builder.mul(width, WORD(first + k)), vector)
                added = builder.add(builder.load(at_sums, align=8), builder.mul(product, factor))
                builder.store(added, at_sums, align=8)
        return context.get_dummy_value()

    return types.none(a, b, n_words, n, left, right, sums), generate


def _function(builder, name, returned, *arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(returned, arguments), name)
