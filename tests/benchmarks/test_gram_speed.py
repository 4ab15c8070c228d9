"""Exact sums against products of floats by numpy, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. Results are always compared; the
ratio is asserted only when benchmarks are enabled and the processor counts bits in vectors.
"""

import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import HALF, ROW_BLOCK, clipped_statistics, frequency_rows
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product, gram

CPU_INFO = Path("/proc/cpuinfo")
HAS_VECTOR_POPCOUNT = CPU_INFO.is_file() and "avx512_vpopcntdq" in CPU_INFO.read_text()
N_VARIANTS = 2000
N_ROUNDS = 5


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compared(request, capsys, name, slow, fast):
    """Return how many times as fast the second is by medians, or None where nothing is timed."""
    if not request.config.getoption("--benchmark-enable"):
        return None
    timings = np.array([(seconds(slow), seconds(fast)) for _ in range(N_ROUNDS)])
    other, own = np.median(timings, axis=0)
    with capsys.disabled():
        print(f"\n{name}: {other:.4f} s / {own:.4f} s = {other / own:.2f}")
    return other / own


def random_variant_set(request, n_haplotypes):
    n_variants = N_VARIANTS if request.config.getoption("--benchmark-enable") else 100
    rng = np.random.default_rng(0)
    frequency = rng.beta(0.5, 1.5, n_variants)
    return frequency, (rng.random((n_variants, n_haplotypes)) < frequency[:, np.newaxis]).astype(np.uint8)


@pytest.mark.parametrize(("n_haplotypes", "aim"), [(5008, 2), (65_536, 5)])
def test_tight_gram__faster_than_float64_product(n_haplotypes, aim, request, capsys):
    """With half of the rows shrunk: against coding them all and multiplying them as floats."""
    frequency, alleles = random_variant_set(request, n_haplotypes)
    bits, no_outcomes = pack(alleles), np.empty((0, n_haplotypes), dtype=np.int64)
    terms = {"n_haplotypes": n_haplotypes, "rows": "haplotypes"}
    terms["row_norm"] = tight_row_norm(frequency, rows="haplotypes", factor=1.0)

    def by_product():
        X = frequency_rows(bits, frequency, **terms)
        G = np.zeros((X.shape[1] + 1,) * 2, dtype=np.int64)
        for start in range(0, len(X), ROW_BLOCK):
            block = X[start : start + ROW_BLOCK].astype(np.float64)
            block = np.column_stack([block, np.full(len(block), float(HALF))])
            G += (block.T @ block).astype(np.int64)
        return G

    def by_integers():
        return clipped_statistics(bits, frequency, no_outcomes, **terms)[0]

    with threadpool_limits(1, user_api="blas"):
        np.testing.assert_array_equal(by_integers(), by_product())
        ratio = compared(request, capsys, f"tight Gram of {n_haplotypes}", by_product, by_integers)
    assert ratio is None or ratio >= aim


def test_cross_product__at_most_half_as_slow_again_as_float32(request, capsys):
    n_haplotypes = 5008
    _, alleles = random_variant_set(request, n_haplotypes)
    bits, X = pack(alleles), np.ascontiguousarray(alleles.T, dtype=np.float32)
    Y = grid_outcomes(np.random.default_rng(1).standard_normal((20, n_haplotypes)), bound=3.0)
    floats = Y.astype(np.float32)

    def by_tables():
        return cross_product(bits, Y, n_haplotypes=n_haplotypes, rows="haplotypes")

    with threadpool_limits(1, user_api="blas"):
        expected = Y.astype(np.float64) @ (2 * X.astype(np.float64) - 1)
        np.testing.assert_array_equal(by_tables()[:, :-1], expected)
        ratio = compared(request, capsys, "X'Y", lambda: floats @ X, by_tables)
    assert ratio is None or ratio >= 1 / 1.5


@pytest.mark.parametrize(("n_haplotypes", "aim"), [(5008, 4), (65_536, 10)])
def test_gram__faster_than_float32_product(n_haplotypes, aim, request, capsys):
    is_timed = request.config.getoption("--benchmark-enable")
    n_variants = N_VARIANTS if is_timed else 100
    shape = (n_variants, n_haplotypes)
    alleles = np.random.default_rng(0).integers(0, 2, size=shape, dtype=np.uint8)
    bits = pack(alleles)
    X = np.ascontiguousarray(alleles.T, dtype=np.float32)

    def by_popcount():
        return gram(bits, n_haplotypes=n_haplotypes, rows="haplotypes")

    def by_product():
        return X.T @ X

    with threadpool_limits(1, user_api="blas"):
        # sum t t' with t = 2 a - 1, from sums of a a' that float32 holds exactly below 2^24.
        counts = by_product().astype(np.int64)
        totals = 2 * np.diag(counts)
        expected = 4 * counts - totals - totals[:, np.newaxis] + n_haplotypes
        np.testing.assert_array_equal(by_popcount()[:-1, :-1], expected)
        if not is_timed:
            return
        timings = np.array([(seconds(by_product), seconds(by_popcount)) for _ in range(N_ROUNDS)])
    product, popcount = timings.min(axis=0)
    ratio = product / popcount
    with capsys.disabled():
        print(f"\n{n_haplotypes} x {n_variants}: {product:.4f} s / {popcount:.4f} s = {ratio:.1f}")
    assert ratio >= aim or not HAS_VECTOR_POPCOUNT
