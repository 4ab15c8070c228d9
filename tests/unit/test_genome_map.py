"""The public map of a genome: its digest, its places, and its arrays."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.linalg.genome_map import (
    EXACT_SINGLE,
    ChromosomeMap,
    GenomeMap,
    LdBlock,
    chromosome_arrays,
    chromosome_of,
    genome_axes,
    mapped_rows,
    short_rows,
)


def block(first, n_variants, n_directions, rng):
    """A block with numbers that single precision holds."""
    floats = rng.integers(1, 99, size=(n_variants, n_variants)) / 128
    matrix = rng.integers(-(2**30), 2**30, size=(n_directions, n_variants))
    shares = rng.random(n_directions)
    loadings, root = floats[:, :n_directions], floats + floats.T
    return LdBlock(first, first + n_variants, matrix, shares, shares / 2, loadings, root, floats[0], 0.25)


@pytest.fixture
def genome():
    rng = np.random.default_rng(1)
    effects = rng.integers(-9, 9, size=(5, 2))
    blocks = (block(0, 3, 2, rng), block(3, 2, 1, rng))
    carrier = ChromosomeMap(
        "1", effects[:, 0], blocks, effects, np.array([7, 0]), 0.75, np.array([0, 4]), effects[:2]
    )
    none = np.empty(0, np.int64)
    other = ChromosomeMap("2", effects[:, 1], blocks, effects, none, 0.5, none, effects[:0])
    return GenomeMap(
        (carrier, other), 500, 2.0, 0.75, np.array([0.1, 0.0]), np.array([0.2, 0.1]), False, np.ones(2)
    )


def test_genome_map__counts_and_places(genome):
    assert (genome.n_axes, genome.n_variants, genome.n_directions) == (2, 10, 8)
    assert list(genome.chromosomes[0].entries()) == [slice(2, 4), slice(4, 5)]
    assert list(genome.chromosomes[1].entries()) == [slice(0, 2), slice(2, 3)]


def test_mapped_rows__are_the_sums_of_the_definition(genome):
    rng = np.random.default_rng(2)
    x = rng.integers(-4096, 8192, size=(3, 5))
    pruned = [chromosome.pruned for chromosome in genome.chromosomes]
    loadings = [chromosome.axis_loadings * 2**20 for chromosome in genome.chromosomes]
    f = genome_axes(loadings, [x[:, columns] for columns in pruned])
    assert np.array_equal(f, np.rint(x[:, [0, 4]] @ (loadings[0] / 2**24)))
    for chromosome in genome.chromosomes:
        z = mapped_rows(chromosome, x, f)
        for person in range(3):
            effects = chromosome.axis_effects * 2.0**-12
            rest = x[person] * 2.0**-12 - effects @ (f[person] * 2.0**-12)
            blocks = [block.matrix * 2.0**-24 @ rest[block.columns] for block in chromosome.blocks]
            axes = (
                f[person] * 2.0**-12 * (chromosome.axis_gains * 2.0**-24)
                if len(chromosome.axis_gains)
                else []
            )
            np.testing.assert_allclose(z[person], np.concatenate([axes, *blocks]), rtol=1e-12)


def test_chromosome_arrays__keep_integers_of_any_size(genome):
    first = genome.chromosomes[0]
    large = replace(first, blocks=tuple(replace(b, matrix=abs(b.matrix) + 2**31) for b in first.blocks))
    large.blocks[0].matrix[:] = 2**31
    arrays = dict(chromosome_arrays(large, large.blocks))
    assert arrays["block0_matrix"].dtype == np.int64
    assert dict(chromosome_arrays(first, first.blocks))["block0_matrix"].dtype == np.int32
    np.testing.assert_array_equal(chromosome_of(arrays).blocks[0].matrix, large.blocks[0].matrix)


def test_chromosome_arrays__may_be_of_a_block_that_has_no_share(genome):
    first = genome.chromosomes[0]
    blocks = (block(0, 3, 0, np.random.default_rng(3)), first.blocks[1])
    again = chromosome_of(dict(chromosome_arrays(replace(first, blocks=blocks), blocks)))
    assert [part.matrix.shape for part in again.blocks] == [(0, 3), (1, 2)]
    assert [part.n_directions for part in again.blocks] == [0, 1]


@pytest.mark.parametrize("bits", [20, 36, 40])
def test_axes__are_those_of_python_integers(bits):
    """Of few and of many bits, which float64 would not hold."""
    rng = np.random.default_rng(bits)
    x, A = rng.integers(-(2**15), 2**15, size=(4, 9)), rng.integers(-(2**bits), 2**bits, size=(9, 2))
    x[0], A[0] = 2**15 - 1, 2**bits - 1
    exact = [[sum(int(a) * int(b) for a, b in zip(row, column, strict=True)) for column in A.T] for row in x]
    rounded = [[(total + 2**23) // 2**24 for total in row] for row in exact]
    assert genome_axes([A[:5], A[5:]], [x[:, :5], x[:, 5:]]).tolist() == rounded


def test_axes__are_integers_where_float64_would_round_a_sum_up():
    """Of loadings of 36 bits each, and a sum beyond 2^53 that lies next to half a step."""
    largest = 2**15 + 2**13 - 1
    loadings = [52 * 10**9] * 4 + [48 * 10**9]
    loadings[-1] += (2**23 - 1) * pow(largest, -1, 2**24) - sum(loadings) & 2**24 - 1
    exact = largest * sum(loadings)
    assert exact > 2**53
    assert float(exact) == exact + 1
    A, x = np.array(loadings)[:, np.newaxis], np.full((1, 5), largest)
    assert genome_axes([A], [x]).tolist() == [[(exact + 2**23) // 2**24]]


@pytest.mark.parametrize(
    "name",
    [
        *("centre", "axis_effects", "axis_gains", "pruned", "axis_loadings", "score_weights"),
        *("row_norm", "contig"),
    ],
)
def test_digest__changes_with_all_numbers_and_shapes_of_a_chromosome(genome, name):
    first, *chromosomes = genome.chromosomes
    first = replace(first, score_weights=np.arange(10).reshape(2, 5))

    def digest(**changed):
        return replace(genome, chromosomes=(replace(first, **changed), *chromosomes)).digest

    value = getattr(first, name)
    changes = [value + ("1" if name == "contig" else 1)]
    if isinstance(value, np.ndarray):
        changes += [value[..., np.newaxis], np.concatenate([value[1:], value[:1]])]
    assert len({digest(), *(digest(**{name: changed}) for changed in changes)}) == 1 + len(changes)


@pytest.mark.parametrize("name", ["matrix", "first", "stop"])
def test_digest__changes_with_what_the_private_pass_uses(genome, name):
    first, *rest = genome.chromosomes
    changed = replace(first.blocks[0], **{name: getattr(first.blocks[0], name) + 1})
    other = replace(genome, chromosomes=(replace(first, blocks=(changed, *first.blocks[1:])), *rest))
    assert other.digest != genome.digest
    assert replace(genome, clip=0.5).digest != genome.digest
    assert replace(genome, is_clipped_jointly=True).digest != genome.digest
    assert replace(genome, axis_shares=np.zeros(3)).digest != genome.digest
    short = replace(first.blocks[0], matrix=first.blocks[0].matrix.astype(np.int32))
    same = replace(genome, chromosomes=(replace(first, blocks=(short, *first.blocks[1:])), *rest))
    assert same.digest == genome.digest
    assert replace(genome, scored=("a",)).digest != genome.digest
    assert replace(genome, n_panel=400).digest == genome.digest


def test_chromosome_arrays__make_the_chromosome_again(genome):
    again = tuple(
        chromosome_of(dict(chromosome_arrays(chromosome, chromosome.blocks)))
        for chromosome in genome.chromosomes
    )
    assert replace(genome, chromosomes=again).digest == genome.digest
    for name in ("shares", "variances", "loadings", "root", "deviations", "heritability"):
        stored, made = (getattr(c[0].blocks[1], name) for c in (genome.chromosomes, again))
        assert np.array_equal(stored, made)


def test_short_rows__are_near_and_exact_in_single_precision():
    rng = np.random.default_rng(5)
    matrix = np.rint(rng.standard_normal((5, 300)) * [[2.0**30], [2.0**24], [100], [1], [0]]).astype(np.int64)
    before = matrix.copy()
    short = short_rows(matrix)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_array_equal(short[2:], matrix[2:])
    for row, exact in zip(short, matrix, strict=True):
        power = int(np.bitwise_or.reduce(row)) & -int(np.bitwise_or.reduce(row)) or 1
        assert 2 * np.abs(row // power).sum() < EXACT_SINGLE
        assert np.abs(row - exact).max() <= power / 2
    # No finer one would do.
    assert 4 * np.abs(matrix[0]).sum() // (
        int(np.bitwise_or.reduce(short[0]) & -np.bitwise_or.reduce(short[0]))
    ) > (EXACT_SINGLE - 600)
    np.testing.assert_array_equal(short_rows(short), short)
    # A row that is short enough only once it is rounded.
    row = np.array([[(2**23 - 1) << 4, 7, 7, 7]])
    np.testing.assert_array_equal(short_rows(row), [[row[0, 0], 0, 0, 0]])
    # A sum of 2^23 is not below it.
    np.testing.assert_array_equal(short_rows(np.array([[2**23 - 1, 1]])), [[2**23, 2]])
