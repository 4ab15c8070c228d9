"""The Gram matrix by AND and popcount against numpy's float32 product, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. Results are always compared; the
ratio is asserted only when benchmarks are enabled and the processor counts bits in vectors.
"""

import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.statistics import gram

CPU_INFO = Path("/proc/cpuinfo")
HAS_VECTOR_POPCOUNT = CPU_INFO.is_file() and "avx512_vpopcntdq" in CPU_INFO.read_text()
N_VARIANTS = 2000
N_ROUNDS = 5


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


@pytest.mark.parametrize(("n_haplotypes", "aim"), [(5008, 5), (65_536, 10)])
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
