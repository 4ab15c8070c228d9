import os
import subprocess
import sys

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.linalg import _bit_counts, _kernels
from dpgrs.linalg._bit_counts import add_products_of_calls, chosen_bits, counts_within, row_weights
from dpgrs.linalg._kernels import (
    LARGEST_ENTRY,
    add_joint_products,
    add_squares,
    scale_rows,
    table_sums,
)
from random_cohorts import random_alleles, random_bits


def calls_of_groups(n_variants, n_rows, *, rows, seed=8):
    """Return what `add_products_of_calls` takes, with a constant of 2048, and the rows that it is of.

    Parameters
    ----------
    n_variants : int
    n_rows : list of int, of each group.
    rows : "haplotypes" or "people"

    Returns
    -------
    arguments : tuple, without the sums.
    T : (sum n_rows, n_variants + 1) int64
    """
    rng, n_alleles = np.random.default_rng(seed), 1 if rows == "haplotypes" else 2
    words, group, T = [], [], []
    base, step = rng.integers(-8192, 8193, size=(2, len(n_rows), n_variants))
    for number, n_own in enumerate(n_rows):
        alleles = rng.integers(0, 2, size=(n_variants, n_own * n_alleles), dtype=np.uint8)
        words.append(pack(alleles))
        group += [number] * words[-1].shape[1]
        a = alleles.reshape(n_variants, n_own, n_alleles).sum(axis=2, dtype=np.int64).T
        T.append(np.column_stack([base[number] + step[number] * a, np.full(n_own, 2048)]))
    arguments = (np.hstack(words), np.array(group), base, step, np.array(n_rows), 2048)
    return arguments, np.vstack(T)


def products_of_calls(arguments, **options):
    size = len(arguments[0]) + 1
    sums = np.arange(size**2).reshape(size, size)
    add_products_of_calls(*arguments, sums, **options)
    sums -= np.arange(size**2).reshape(size, size)
    _kernels.mirror(sums)
    return sums


WORDS_OF_TILE = 64 * _bit_counts.TILE_WORDS


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize(
    ("n_variants", "n_rows"),
    [
        (1, [1]),
        (7, [64]),
        (8, [65, 3]),
        (63, [5, 200, 64]),
        (64, [1030]),
        (65, [33]),
        (130, [700, 1, 1]),
        (3, [WORDS_OF_TILE - 64, WORDS_OF_TILE + 65, 2]),
    ],
)
def test_products_of_calls__equal_sums_over_rows(n_variants, n_rows, rows):
    arguments, T = calls_of_groups(n_variants, n_rows, rows=rows)
    np.testing.assert_array_equal(products_of_calls(arguments, rows=rows), T.T @ T)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_products_of_calls__threads_and_order_in_memory_do_not_matter(rows):
    (words, *others), T = calls_of_groups(200, [700, 90], rows=rows)
    for given in (words, np.asfortranarray(words)):
        found = products_of_calls((given, *others), rows=rows, n_threads=3)
        np.testing.assert_array_equal(found, T.T @ T)


def test_products_of_calls__extreme_words():
    words = np.array([[0, 2**64 - 1], [2**63, 1], [2**64 - 1, 2**64 - 1]], dtype=np.uint64)
    alone = np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.int64)
    found = products_of_calls((words, np.array([0, 0]), *alone, np.array([128]), 1), rows="haplotypes")
    np.testing.assert_array_equal(found[:3, :3], [[64, 1, 64], [1, 2, 2], [64, 2, 128]])
    np.testing.assert_array_equal(found[3], [64, 2, 128, 128])


def test_products_of_calls__leave_what_stands_below_the_diagonal():
    (words, *others), _ = calls_of_groups(9, [70], rows="haplotypes")
    sums = np.arange(100).reshape(10, 10)
    add_products_of_calls(words, *others, sums, rows="haplotypes")
    np.testing.assert_array_equal(np.tril(sums, -1), np.tril(np.arange(100).reshape(10, 10), -1))


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_products_of_calls__unjitted(monkeypatch, rows):
    monkeypatch.setattr(_bit_counts, "_add_tiles", _bit_counts._add_tiles.py_func)
    arguments, T = calls_of_groups(66, [100, 3], rows=rows)
    np.testing.assert_array_equal(products_of_calls(arguments, rows=rows), T.T @ T)


@pytest.mark.parametrize("weigh", [row_weights, row_weights.py_func])
def test_row_weights__equal_sums_over_variants(weigh):
    alleles, weights = random_alleles(5, 64 * 66 + 3), np.array([3, -8192, 2**26, 0, 1])
    found = weigh(pack(alleles), weights)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found[: alleles.shape[1]], weights @ alleles)
    np.testing.assert_array_equal(found[alleles.shape[1] :], 0)


@pytest.mark.parametrize(
    ("n_variants", "n_haplotypes", "n_masks"),
    [(1, 1, 3), (3, 65, 3), (130, 5008, 3), (2, WORDS_OF_TILE + 65, _bit_counts.TILE + 2)],
)
def test_counts_within__equals_numpy(n_variants, n_haplotypes, n_masks):
    A, masks = random_bits(n_variants, n_haplotypes), random_bits(n_masks, n_haplotypes, seed=1)
    expected = [np.bitwise_count(words & A).sum(axis=1, dtype=np.int64) for words in masks]
    np.testing.assert_array_equal(counts_within(A, masks), expected)
    np.testing.assert_array_equal(counts_within.py_func(A, masks), expected)


@pytest.mark.parametrize("chosen", [chosen_bits, chosen_bits.py_func])
def test_chosen_bits__equals_indexing(chosen):
    alleles = random_alleles(3, 150)
    order = np.random.default_rng(4).integers(-2, 150, size=192)
    expected = np.where(order < 0, 0, alleles[:, order])
    np.testing.assert_array_equal(chosen(pack(alleles), order), pack(expected))


def unjitted(monkeypatch, *names):
    for name in names:
        monkeypatch.setattr(_kernels, name, getattr(_kernels, name).py_func)


def random_entries(n_variants, n_rows, largest=LARGEST_ENTRY):
    rng = np.random.default_rng(5)
    return rng.integers(-largest, largest + 1, size=(n_variants, n_rows)).astype(np.int16)


def joint_products(T, **options):
    sums = np.zeros((len(T),) * 2, dtype=np.int64)
    add_joint_products(T, sums, **options)
    _kernels.mirror(sums)
    return sums


def joint_products_plain(T):
    """Sum products in whole numbers of any size."""
    return np.array([[sum(x * y for x, y in zip(a, b, strict=True)) for b in T.tolist()] for a in T.tolist()])


@pytest.mark.parametrize("largest", [1, 4096, LARGEST_ENTRY])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (15, 31), (17, 240), (18, 481), (66, 100)])
def test_joint_products__equals_plain_sums(shape, largest):
    T = random_entries(*shape, largest=largest)
    found = joint_products(T)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, joint_products_plain(T))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_joint_products__of_nothing(shape):
    np.testing.assert_array_equal(joint_products(random_entries(*shape)), np.zeros((shape[0],) * 2))


@pytest.mark.parametrize("n_rows", [29, 30, 31, 32, 33, 1001])
def test_joint_products__largest_entries_leave_no_int32(n_rows):
    T = np.full((3, n_rows), LARGEST_ENTRY, dtype=np.int16)
    T[1] *= -1
    T[2, ::2] *= -1
    square = LARGEST_ENTRY**2 * n_rows
    mixed = -(LARGEST_ENTRY**2) * (n_rows % 2)
    expected = [[square, -square, mixed], [-square, square, -mixed], [mixed, -mixed, square]]
    np.testing.assert_array_equal(joint_products(T), expected)


def test_joint_products__one_late_column_of_large_entries():
    """Sums are cut short by the longest of all, wherever it stands."""
    T = random_entries(40, 960, largest=100)
    T[39, 900:] = -LARGEST_ENTRY
    np.testing.assert_array_equal(joint_products(T), T.astype(np.int64) @ T.T.astype(np.int64))


def test_joint_products__threads_and_order_in_memory_do_not_matter():
    T = random_entries(200, 300)
    expected = T.astype(np.int64) @ T.T.astype(np.int64)
    np.testing.assert_array_equal(joint_products(T, n_threads=3), expected)
    np.testing.assert_array_equal(joint_products(np.asfortranarray(T)), expected)
    np.testing.assert_array_equal(joint_products(T[:, ::2]), joint_products(T[:, ::2].copy()))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_joint_products__take_wider_integers(dtype):
    T = random_entries(5, 33).astype(dtype)
    np.testing.assert_array_equal(joint_products(T), T.astype(np.int64) @ T.T.astype(np.int64))


def test_add_joint_products__adds_to_what_is_there_and_leaves_the_rest():
    T, sums = random_entries(5, 9), np.full((7, 7), 3)
    add_joint_products(T, sums)
    expected = np.full((7, 7), 3)
    expected[:5, :5] += np.triu(T.astype(np.int64) @ T.T.astype(np.int64))
    np.testing.assert_array_equal(np.triu(sums), np.triu(expected))


def test_joint_products__unjitted(monkeypatch):
    unjitted(monkeypatch, "add_tile_row", "mirror", "_rows_together")
    T = random_entries(19, 61)
    np.testing.assert_array_equal(joint_products(T), T.astype(np.int64) @ T.T.astype(np.int64))


GENERIC = """
import numpy as np
from dpgrs.linalg._bit_counts import _add_tiles
from dpgrs.linalg._kernels import add_joint_products, add_tile_row
from dpgrs.linalg.statistics import gram
T = np.random.default_rng(5).integers(-8192, 8193, size=(20, 77)).astype(np.int16)
T[0] = -8192
sums = np.zeros((20, 20), dtype=np.int64)
add_joint_products(T, sums)
assert (np.triu(sums) == np.triu(T.astype(np.int64) @ T.T.astype(np.int64))).all()
assert "pmaddwd" not in next(iter(add_tile_row.inspect_asm().values()))
bits = np.random.default_rng(6).integers(0, 2**63, size=(20, 3)).astype(np.uint64)
alleles = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little").astype(np.int64)
t = np.vstack([2 * alleles - 1, np.ones((1, 192), dtype=np.int64)])
assert (gram(bits, n_haplotypes=192, rows="haplotypes") == t @ t.T).all()
assert "vpopcntq" not in next(iter(_add_tiles.inspect_asm().values()))
"""


def test_kernels__on_a_processor_without_avx2(tmp_path):
    own = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", GENERIC], env=os.environ | own, check=True)


def table_sums_plain(alleles, Y):
    return [[sum(y for y, a in zip(row, own, strict=True) if a) for own in alleles] for row in Y.tolist()]


@pytest.mark.parametrize(
    ("n_variants", "n_haplotypes", "n_outcomes"),
    [(1, 1, 1), (3, 63, 2), (2, 64, 7), (5, 65, 8), (4, 130, 9), (2, 64 * 65 + 3, 17)],
)
def test_table_sums__equals_plain_sums(n_variants, n_haplotypes, n_outcomes):
    alleles = random_alleles(n_variants, n_haplotypes)
    Y = np.random.default_rng(6).integers(-(2**26), 2**26 + 1, size=(n_outcomes, n_haplotypes))
    found = table_sums(pack(alleles), Y)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, table_sums_plain(alleles, Y))


@pytest.mark.parametrize(("n_variants", "n_outcomes"), [(0, 3), (3, 0)])
def test_table_sums__of_nothing(n_variants, n_outcomes):
    bits, Y = random_bits(3, 70)[:n_variants], np.ones((n_outcomes, 70), dtype=np.int64)
    assert table_sums(bits, Y).shape == (n_outcomes, n_variants)


def test_table_sums__largest_outcomes():
    bits = np.full((2, 3), 2**64 - 1, dtype=np.uint64)
    Y = np.full((2, 192), 2**51)
    Y[1] *= -1
    np.testing.assert_array_equal(table_sums(bits, Y), [[192 * 2**51] * 2, [-192 * 2**51] * 2])


def test_table_sums__unjitted(monkeypatch):
    unjitted(monkeypatch, "add_table_sums")
    alleles, Y = random_alleles(3, 70), np.arange(-70, 70).reshape(2, 70)
    np.testing.assert_array_equal(table_sums(pack(alleles), Y), Y @ alleles.T)


@pytest.mark.parametrize("kernel", [add_squares, add_squares.py_func])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_add_squares__equals_whole_numbers(kernel, dtype):
    largest = min(2**31 - 1, np.iinfo(dtype).max)
    entries = np.array([[largest, -largest, 3], [largest, 1 - largest, 0]], dtype=dtype)
    high, low = np.zeros((2, 3), dtype=np.int64)
    kernel(entries, high, low, 31)
    found = [int(upper) * 2**31 + int(lower) for upper, lower in zip(high, low, strict=True)]
    assert found == [sum(int(x) ** 2 for x in column) for column in entries.T]


@pytest.mark.parametrize("kernel", [scale_rows, scale_rows.py_func])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_scale_rows__rounds_towards_zero(kernel, dtype):
    entries = np.array([[7, -7, 1, 0, -(2**15)], [-1, 9, 5, 3, 2**15 - 1]], dtype=dtype)
    chosen, scale = np.array([4, 0, 1]), np.array([1.0, 0.5, 0.99])
    out = np.empty((2, 3), dtype=dtype)
    kernel(entries, chosen, scale, out)
    np.testing.assert_array_equal(out, np.trunc(entries[:, chosen] * scale))
