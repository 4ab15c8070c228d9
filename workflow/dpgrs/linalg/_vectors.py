"""Inner loops of `_kernels` as vector instructions, which LLVM does not find by itself.

Each is written as a plain function, too, which kernels use where they are not compiled. Their callers
stand in this file: numba compiles a function anew when its own file changes.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES = 16  # variants side by side, as pairs of rows: a vector of AVX-512, two of AVX2
HEIGHT = 4  # variants against each panel
# Of these at a time, so that the sums stay within the 16 registers of AVX2.
AT_ONCE = 4
TILE_PANELS = 4  # of the first variants, which stay in the L2 cache
NIBBLES = 16  # of four haplotypes in a word
TABLE_LANES = 8  # outcomes in a row of a table: 16 tables of 16 rows, 16 KiB, stay in the L1 cache
INDEX = ir.IntType(32)
WIDE = ir.IntType(64)


@numba.njit(nogil=True, cache=True)
def add_tile_row(
    panels,  # (n_panels, n_pairs, LANES) int32, pairs of int16
    first,  # int, the first panel of the tile
    segment,  # int, pairs at a time, whose sums must be below 2^31
    n_variants,
    sums,  # (at least n_variants,) * 2 int64, in place
):
    """Add the products of a tile of panels, from `first` on, with all that follow, to the upper triangle."""
    n_panels, n_pairs, _ = panels.shape
    last = min(first + TILE_PANELS, n_panels)
    block = np.empty((HEIGHT, LANES), dtype=np.int64)
    for start in range(0, n_pairs, segment):
        stop = min(start + segment, n_pairs)
        for right in range(first, n_panels):
            b, n_lanes = panels[right, start:stop], min(LANES, n_variants - right * LANES)
            for left in range(first, min(last, right + 1)):
                for lane in range(0, min(LANES, n_variants - left * LANES), HEIGHT):
                    block_sums(panels[left, start:stop, lane:], b, block)
                    top = left * LANES + lane
                    for k in range(min(HEIGHT, n_variants - top)):
                        for j in range(n_lanes):
                            sums[top + k, right * LANES + j] += block[k, j]


@numba.njit(nogil=True, cache=True)
def add_table_sums(
    words,  # (n_words, n_variants) uint64
    y,  # (64 n_words, TABLE_LANES) int64
    sums,  # (n_variants, TABLE_LANES) int64, in place
):
    """Add, for every variant, the sums of y over the 1 bits of its words.

    A table holds the sums over all subsets of four haplotypes.
    """
    tables = np.zeros((NIBBLES, 16, TABLE_LANES), dtype=np.int64)
    for w in range(len(words)):
        for nibble in range(NIBBLES):
            for bit in range(4):
                for subset in range(1 << bit):
                    for k in range(TABLE_LANES):
                        outcome = y[64 * w + 4 * nibble + bit, k]
                        tables[nibble, subset + (1 << bit), k] = tables[nibble, subset, k] + outcome
        for j in range(words.shape[1]):
            add_rows(tables, words[w, j], sums[j])


def block_sums(
    a,  # (n_pairs, at least HEIGHT) int32 of the first variants, rows LANES entries apart in memory
    b,  # (n_pairs, LANES) int32 of a panel, contiguous
    sums,  # (HEIGHT, LANES) int64, filled in
):
    """Sum the products of a few variants with a panel of others."""
    for k in range(HEIGHT):
        products = (x * y for x, y in zip(_halves(a[:, k : k + 1]), _halves(b), strict=True))
        sums[k] = sum(products).sum(axis=0)


def _halves(pairs):
    """Return the two int16 of int32 pairs, each as int64."""
    wide = pairs.astype(np.int64)
    return (wide + 2**15) % 2**16 - 2**15, wide >> 16


@overload(block_sums)
def _block_sums_compiled(a, b, sums):
    return lambda a, b, sums: _multiply_pairs(a, b, len(b), sums)


@intrinsic
def _multiply_pairs(typing_context, a, b, n_pairs, sums):
    """Multiply and add pairs: VPMADDWD where there is AVX2."""

    def add(context, builder, total, x, y):
        if "+avx2" in context.codegen().magic_tuple()[2]:
            return builder.add(total, _paired_products(builder, x, y))
        # The first of a pair is its lower half on the processors that numba knows.
        shift = ir.Constant(total.type, [16] * LANES)
        for half in ("first", "second"):
            u, v = (builder.shl(z, shift) if half == "first" else z for z in (x, y))
            total = builder.add(total, builder.mul(builder.ashr(u, shift), builder.ashr(v, shift)))
        return total

    return types.none(a, b, n_pairs, sums), _loops(add)


def add_rows(
    tables,  # (NIBBLES, 16, TABLE_LANES) int64, contiguous
    word,  # uint64, whose nibbles are the indices, the lowest of the first table
    sums,  # (TABLE_LANES,) int64, contiguous, in place
):
    """Add the rows that a word chooses, one of each table."""
    for number, table in enumerate(tables):
        sums += table[int(word) >> 4 * number & 15]


@overload(add_rows)
def _add_rows_compiled(tables, word, sums):
    return lambda tables, word, sums: _add_rows(tables, word, sums)


@intrinsic
def _add_rows(typing_context, tables, word, sums):
    """Add rows as vectors that stay in registers."""
    vector = ir.VectorType(WIDE, TABLE_LANES)

    def generate(context, builder, signature, arguments):
        rows, out = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2)
        )
        at_sums = builder.bitcast(out, vector.as_pointer())
        total = builder.load(at_sums, align=8)
        for number in range(NIBBLES):
            nibble = builder.and_(builder.lshr(arguments[1], WIDE(4 * number)), WIDE(15))
            offset = builder.mul(builder.add(nibble, WIDE(16 * number)), WIDE(TABLE_LANES))
            at_row = builder.bitcast(builder.gep(rows, [offset]), vector.as_pointer())
            total = builder.add(total, builder.load(at_row, align=8))
        builder.store(total, at_sums, align=8)
        return context.get_dummy_value()

    return types.none(tables, word, sums), generate


def _paired_products(builder, x, y):
    """Emit the sums of products of pairs, (LANES,) int32, in two instructions of eight."""
    pairs, sums = ir.VectorType(ir.IntType(16), LANES), ir.VectorType(INDEX, LANES // 2)
    half_sums = []
    for first in (0, LANES // 2):
        chosen = ir.Constant(sums, list(range(first, first + LANES // 2)))
        operands = [builder.bitcast(builder.shuffle_vector(z, z, chosen), pairs) for z in (x, y)]
        half_sums.append(_call(builder, "llvm.x86.avx2.pmadd.wd", sums, *operands))
    return builder.shuffle_vector(*half_sums, ir.Constant(x.type, list(range(LANES))))


def _loops(add):
    """Return what emits loops over pairs that add, for each of HEIGHT variants, to a vector of sums."""
    vector, wide = ir.VectorType(INDEX, LANES), ir.VectorType(WIDE, LANES)

    def generate(context, builder, signature, arguments):
        a, b, sums = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 1, 3)
        )
        for first in range(0, HEIGHT, AT_ONCE):
            totals = [cgutils.alloca_once(builder, vector) for _ in range(AT_ONCE)]
            for total in totals:
                builder.store(ir.Constant(vector, None), total)
            with cgutils.for_range(builder, arguments[2]) as pairs:
                offset = builder.mul(pairs.index, WIDE(LANES))
                at_b = builder.bitcast(builder.gep(b, [offset]), vector.as_pointer())
                y = builder.load(at_b, align=4)
                for k, total in enumerate(totals):
                    single = builder.load(builder.gep(a, [builder.add(offset, WIDE(first + k))]))
                    x = builder.insert_element(ir.Constant(vector, ir.Undefined), single, INDEX(0))
                    x = builder.shuffle_vector(x, x, ir.Constant(ir.VectorType(INDEX, LANES), [0] * LANES))
                    builder.store(add(context, builder, builder.load(total), x, y), total)
            for k, total in enumerate(totals):
                widened = builder.sext(builder.load(total), wide)
                at_sums = builder.gep(sums, [WIDE((first + k) * LANES)])
                builder.store(widened, builder.bitcast(at_sums, wide.as_pointer()), align=8)
        return context.get_dummy_value()

    return generate


def _call(builder, name, returned, *arguments):
    kind = ir.FunctionType(returned, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)
