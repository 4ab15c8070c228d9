"""The pass over a chromosome against a bare float32 product, timed by `pytest --benchmark-enable`.

All take one thread and turns, in CPU seconds, so that a busy machine slows all. Sums are always compared;
ratios are asserted only when benchmarks are enabled.
"""

import time
import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg._kernels import table_sums
from dpgrs.linalg.genome_map import short_rows
from dpgrs.linalg.genome_sums import RowNorms, chromosome_sums, outcome_weights
from genome_maps import chromosome_of_blocks

N_ROUNDS = 4
BLOCK_VARIANTS, N_DIRECTIONS, SLAB_PEOPLE = 600, 55, 2**15
PRODUCT_PEOPLE = 2**11
WHOLE = 5e5 * 1e6  # people times variants of a biobank
TIMED = {"n_people": 100_000, "n_blocks": 7}
SMALL = {"n_people": 3000, "n_blocks": 2}


@pytest.fixture
def is_timed(request):
    return request.config.getoption("--benchmark-enable")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def fastest(functions):
    """Return the CPU seconds of each, by the fastest of some rounds in turns."""
    return np.array([[cpu_seconds(function) for function in functions] for _ in range(N_ROUNDS)]).min(axis=0)


class Chunk:
    """A map of blocks of 600 variants, and people for it."""

    def __init__(self, *, n_people, n_blocks, n_axes=8, has_dosages=False):
        rng = np.random.default_rng(0)
        self.n_people, self.n_variants = n_people, BLOCK_VARIANTS * n_blocks
        shape = (N_DIRECTIONS, BLOCK_VARIANTS)
        matrices = [short_rows(np.rint(rng.standard_normal(shape) * 2.0**16)) for _ in range(n_blocks)]
        self.chromosome = chromosome_of_blocks(
            matrices,
            centre=rng.integers(0, 8193, self.n_variants),
            effects=rng.integers(-300, 300, (self.n_variants, n_axes)),
            row_norm=0.07 * np.sqrt(N_DIRECTIONS * n_blocks),
        )
        self.axes = rng.integers(-9000, 9000, (n_axes, n_people))
        self.slabs = []
        for first in range(0, n_people, SLAB_PEOPLE):
            size = min(SLAB_PEOPLE, n_people - first)
            if has_dosages:
                genotypes = rng.integers(0, 8193, (self.n_variants, size), dtype=np.int16)
            else:
                n_words = -(-size // 32)
                genotypes = rng.integers(0, 2**64, (self.n_variants, n_words), dtype=np.uint64)
                genotypes[:, -1] &= np.uint64(2 ** (2 * (size - 32 * (n_words - 1))) - 1)
            self.slabs.append(GenotypeSlab(genotypes, size))
        self.cells = n_people * self.n_variants

    def outcomes(self, n_outcomes):
        return np.random.default_rng(1).integers(-20_000, 20_000, (n_outcomes, self.n_people))

    def sum_up(self, n_outcomes):
        options = {"outcome_norm": 3.0, "n_shared": n_outcomes, "made_with": ""}
        Y = self.outcomes(n_outcomes)
        return chromosome_sums(self.slabs, self.chromosome, Y, axes=self.axes, **options)

    def norms(self):
        norms = RowNorms(self.chromosome)
        bounds = np.cumsum([0, *(slab.n_people for slab in self.slabs)])
        return [
            norms.factors(slab, self.axes[:, first : first + slab.n_people])
            for slab, first in zip(self.slabs, bounds[:-1], strict=True)
        ]

    def product(self, dtype=np.float32):
        """Multiply as many numbers, of tiles that are unpacked already, one for each block."""
        matrix = np.ones((N_DIRECTIONS, BLOCK_VARIANTS), dtype)
        tiles = np.ones((len(self.chromosome.blocks), BLOCK_VARIANTS, PRODUCT_PEOPLE), dtype)
        for _ in range(round(self.n_people / PRODUCT_PEOPLE)):
            for tile in tiles:
                matrix @ tile

    def hours(self, seconds):
        return seconds / self.cells * WHOLE / 3600


def test_pass__little_beside_a_float32_product(is_timed, capsys):
    chunk = Chunk(**TIMED if is_timed else SMALL)
    sums, factors = chunk.sum_up(1), np.concatenate(chunk.norms())
    assert (factors < 0.99).mean() > 0
    W = outcome_weights(chunk.outcomes(1), factors)
    bits, first = chunk.slabs[0].genotypes[:50], chunk.slabs[0].n_people
    rest = sum(
        table_sums(slab.genotypes[:50], np.repeat(W[:, at : at + slab.n_people], 2, axis=1))
        for slab, at in zip(chunk.slabs[1:], range(first, chunk.n_people, SLAB_PEOPLE), strict=True)
    )
    alleles = table_sums(bits, np.repeat(W[:, :first], 2, axis=1)) + rest
    expected = 4096 * alleles - chunk.chromosome.centre[:50] * W.sum()
    np.testing.assert_array_equal(sums.variants[:, :50], expected)
    if not is_timed:
        return
    functions = [chunk.product, chunk.norms, lambda: chunk.sum_up(1), lambda: chunk.sum_up(10)]
    product, norms, single, ten = fastest(functions)
    with capsys.disabled():
        print(
            f"\n{chunk.n_people} x {chunk.n_variants}, core-hours of 5 x 10^11 calls: float32 product "
            f"{chunk.hours(product):.2f}, norms {chunk.hours(norms):.2f}, whole pass "
            f"{chunk.hours(single):.2f}, of ten outcomes {chunk.hours(ten):.2f}"
        )
    assert norms / product <= 1.5
    assert single / product <= 2.2
    assert ten / single <= 1.2


def test_pass__of_dosages_little_beside_their_product(is_timed, capsys):
    """In float64, as a dosage has 13 bits."""
    chunk = Chunk(**TIMED | {"n_people": 30_000} if is_timed else SMALL, has_dosages=True)
    sums = chunk.sum_up(2)
    W = outcome_weights(chunk.outcomes(2), np.concatenate(chunk.norms()))
    x = np.concatenate([slab.genotypes[:50] for slab in chunk.slabs], axis=1).astype(np.int64)
    np.testing.assert_array_equal(sums.variants[:, :50], W @ (x - chunk.chromosome.centre[:50, np.newaxis]).T)
    if not is_timed:
        return
    functions = [lambda: chunk.product(np.float64), lambda: chunk.sum_up(1), lambda: chunk.sum_up(10)]
    product, single, ten = fastest(functions)
    with capsys.disabled():
        print(
            f"\n{chunk.n_people} x {chunk.n_variants}, core-hours of 5 x 10^11 dosages: float64 product "
            f"{chunk.hours(product):.2f}, whole pass {chunk.hours(single):.2f}, of ten outcomes "
            f"{chunk.hours(ten):.2f}"
        )
    assert single / product <= 2.2


def test_pass__memory_hardly_grows_with_variants(is_timed, capsys):
    """Beside genotypes: a tile, sums, and the map in the form of the pass, which outweighs few people."""
    peaks = []
    for n_blocks in (1, 4):
        chunk = Chunk(n_people=(TIMED if is_timed else SMALL)["n_people"], n_blocks=n_blocks)
        chunk.sum_up(1)
        tracemalloc.start()
        chunk.sum_up(1)
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    if not is_timed:
        assert max(peaks) < 30
        return
    with capsys.disabled():
        print(f"\nbeside genotypes: {peaks[0]:.1f} MB, of four times the variants {peaks[1]:.1f} MB")
    assert peaks[1] <= 1.5 * peaks[0]
