"""Sums of people's rows along a public map of a chromosome: exact, and the same however people are split."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg import genome_sums as pass_of_chromosome
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.genome_map import short_rows
from dpgrs.linalg.genome_sums import (
    LARGEST_AXIS,
    LARGEST_ENTRY,
    LARGEST_NORM,
    LARGEST_TOTAL,
    MOST_BLOCK_VARIANTS,
    ChromosomeSums,
    RowNorms,
    chromosome_scores,
    chromosome_sums,
    exact_sums,
    joint_factors,
    outcome_weights,
    require_exact,
    row_squares,
)
from dpgrs.linalg.outcome_grid import grid_outcomes
from genome_maps import (
    CALLS,
    MISSING,
    chromosome_of_blocks,
    dosage_slab_of,
    exact_row,
    exact_sums_of,
    genome_of,
    random_chromosome,
    rounded_down,
    slab_of,
)
from refused import refused

N_VARIANTS = 12


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def random_people(rng, n_people, *, n_outcomes=2, n_axes=2, missing=0.1):
    calls = rng.integers(0, 3, (n_people, N_VARIANTS)).astype(object)
    calls[rng.random(calls.shape) < missing] = MISSING
    axes = rng.integers(-12_000, 12_000, (n_axes, n_people))
    Y = grid_outcomes(rng.standard_normal((n_outcomes, n_people)), bound=3.0, row_norm=1.0)
    return calls, axes, Y


def steps_of(calls):
    return [[MISSING if call is MISSING else CALLS[call] for call in row] for row in calls]


def sum_up(slabs, chromosome, Y, axes, **options):
    options = {"outcome_norm": 1.0, "n_shared": len(Y), "made_with": "map"} | options
    return chromosome_sums(slabs, chromosome, Y, axes=axes, **options)


def whole(sums, chromosome):
    """Return S in units of 2^-54 as lists of Python integers."""
    return [
        [int(a) * 2**24 + int(b) for a, b in zip(*row, strict=True)]
        for row in zip(*exact_sums(sums, chromosome), strict=True)
    ]


def rounded_map(chromosome):
    blocks = tuple(replace(block, matrix=short_rows(block.matrix)) for block in chromosome.blocks)
    return replace(chromosome, blocks=blocks)


def finer_map(chromosome):
    """Return a map with entries too large for float32."""
    blocks = tuple(replace(block, matrix=block.matrix * 64 + 1) for block in chromosome.blocks)
    return replace(chromosome, blocks=blocks)


@pytest.mark.parametrize("change", [lambda chromosome: chromosome, rounded_map, finer_map])
@pytest.mark.parametrize("carries", [False, True])
def test_sums__are_those_of_python_integers(rng, change, carries):
    chromosome = change(random_chromosome(rng, carries=carries))
    calls, axes, Y = random_people(rng, 70)
    people = list(zip(steps_of(calls), axes.T, Y.T, strict=True))
    expected = exact_sums_of(people, chromosome)
    for slab in (slab_of(calls), dosage_slab_of(steps_of(calls), chromosome)):
        sums = sum_up([slab], chromosome, Y, axes)
        assert whole(sums, chromosome) == expected
        np.testing.assert_array_equal(sums.direction_sums(chromosome), rounded_down(expected))


def test_sums__of_dosages_are_those_of_python_integers(rng):
    chromosome = random_chromosome(rng, n_axes=1)
    _, axes, Y = random_people(rng, 50, n_outcomes=6, n_axes=1)
    steps = rng.integers(0, 2 * STEPS_PER_ALLELE + 1, (50, N_VARIANTS)).astype(object)
    steps[rng.random(steps.shape) < 0.2] = MISSING
    slab = dosage_slab_of(steps, chromosome)
    sums = sum_up([slab], chromosome, Y, axes)
    assert whole(sums, chromosome) == exact_sums_of(list(zip(steps, axes.T, Y.T, strict=True)), chromosome)
    # As the store has them.
    stored = GenotypeSlab(slab.genotypes.astype(np.uint16), 50)
    np.testing.assert_equal(vars(sum_up([stored], chromosome, Y, axes)), vars(sums))


def test_products__of_small_numbers_of_alleles_are_single(rng):
    """Both kinds of products are met by the test of exactness."""
    kinds = []
    for chromosome in (rounded_map(random_chromosome(rng)), finer_map(random_chromosome(rng))):
        norms = RowNorms(chromosome)
        norms.factors(slab_of([[0] * N_VARIANTS]), np.zeros((2, 1), dtype=np.int64))
        kinds += [part.matrix.dtype for rows in norms._rows.values() for part in rows]
    assert kinds == [np.float32, np.float32, np.float64, np.float64]


@settings(max_examples=15, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 3), max_size=3),
    n_threads=st.integers(1, 3),
    tile=st.sampled_from([32, 64]),
    variants=st.sampled_from([1, 5, 2048]),
)
def test_sums__do_not_depend_on_slabs_tiles_or_threads(cuts, n_threads, tile, variants):
    rng = np.random.default_rng(0)
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 110)
    expected = sum_up([slab_of(calls)], chromosome, Y, axes)
    bounds = [0, *itertools.accumulate(32 * cut for cut in cuts), len(calls)]
    parts = [calls[a:b] for a, b in itertools.pairwise(bounds) if a < min(b, len(calls))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pass_of_chromosome, "TILE_PEOPLE", tile)
        patch.setattr(pass_of_chromosome, "VARIANTS_AT_ONCE", variants)
        found = [
            sum_up([make(part) for part in parts], chromosome, Y, axes, n_threads=n_threads)
            for make in (slab_of, lambda part: dosage_slab_of(steps_of(part), chromosome))
            if bounds[-2] <= len(calls)
        ]
    for sums in found:
        np.testing.assert_equal(vars(sums), vars(expected))


def test_factors__of_a_person_depend_on_that_person_alone(rng):
    chromosome = random_chromosome(rng)
    calls, axes, _ = random_people(rng, 40)
    norms = RowNorms(chromosome)
    together = norms.factors(slab_of(calls), axes)
    alone = [norms.factors(slab_of(calls[[i]]), axes[:, [i]])[0] for i in range(40)]
    np.testing.assert_array_equal(together, alone)
    for i, factor in enumerate(together):
        length = sum(z**2 for z in exact_row(steps_of(calls)[i], axes[:, i], chromosome)) ** 0.5 * 2.0**-36
        assert factor == pytest.approx(min(1, chromosome.row_norm / length), rel=2e-9)
        assert factor * length <= chromosome.row_norm * (1 - 0.9e-9)
    assert 5 < (together < 0.99).sum() < 35


def test_factors__nobody_at_the_centre_is_divided_by_0(rng):
    chromosome = random_chromosome(rng)
    nowhere = [[MISSING] * N_VARIANTS]
    factors = RowNorms(chromosome).factors(slab_of(nowhere), np.zeros((2, 1), dtype=np.int64))
    assert factors.tolist() == [1 - 1e-9]


def test_sums__what_bits_say_of_missing_genotypes_changes_nothing(rng):
    """Of either allele that is missing: stores fill the other in."""
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 33, missing=0.3)
    slab = slab_of(calls)
    expected = vars(sum_up([slab], chromosome, Y, axes))
    filled = replace(slab, genotypes=slab.genotypes | slab.missing)
    np.testing.assert_equal(vars(sum_up([filled], chromosome, Y, axes)), expected)
    one_allele = slab.missing & np.uint64(0x5555555555555555)
    for missing in (one_allele, one_allele << np.uint64(1)):
        half = replace(filled, missing=missing)
        np.testing.assert_equal(vars(sum_up([half], chromosome, Y, axes)), expected)
    # Nor does what the last words say of nobody: of 33 people, one is in the second.
    nobody = np.array([0, 2**64 - 4], dtype=np.uint64)
    full = replace(slab, genotypes=slab.genotypes | nobody, missing=slab.missing | nobody)
    np.testing.assert_equal(vars(sum_up([full], chromosome, Y, axes)), expected)


def test_sums__axes_are_clipped_at_a_public_bound(rng):
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 20)
    far, near = axes.copy(), axes.copy()
    far[0], near[0] = 10 * LARGEST_AXIS, LARGEST_AXIS
    expected = vars(sum_up([slab_of(calls)], chromosome, Y, near))
    np.testing.assert_equal(vars(sum_up([slab_of(calls)], chromosome, Y, far)), expected)
    # Their norms are those of the clipped axes, also where rows of all chromosomes are clipped jointly.
    squares = row_squares([slab_of(calls)], chromosome, axes=near)
    np.testing.assert_array_equal(row_squares([slab_of(calls)], chromosome, axes=far), squares)


def test_sums__along_a_map_with_which_they_are_not_exact_are_refused(rng):
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 20)
    with refused("genome-map-not-exact", error=UsageError):
        sum_up([slab_of(calls)], replace(chromosome, row_norm=np.nextafter(LARGEST_NORM, 17)), Y, axes)
    weights = np.ones((1, N_VARIANTS), dtype=np.int64)
    scored = replace(chromosome, centre=chromosome.centre - 2**14, score_weights=weights)
    with refused("genome-map-not-exact", error=UsageError):
        chromosome_scores([slab_of(calls)], scored, n_people=20)


def test_sums__who_has_no_outcomes_is_not_there(rng):
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 20)
    Y[:, 5:9] = 0
    others = np.delete(np.arange(20), range(5, 9))
    expected = vars(sum_up([slab_of(calls[others])], chromosome, Y[:, others], axes[:, others]))
    np.testing.assert_equal(vars(sum_up([slab_of(calls)], chromosome, Y, axes)), expected)


def test_sums__of_a_chromosome_without_directions_are_empty(rng):
    chromosome = chromosome_of_blocks([np.zeros((0, 12))], centre=[0] * 12, row_norm=0.0)
    calls, axes, Y = random_people(rng, 40, n_axes=0)
    sums = sum_up([slab_of(calls)], chromosome, Y, axes)
    assert sums.direction_sums(chromosome).shape == (len(Y), 0)
    assert (row_squares([slab_of(calls)], chromosome, axes=axes) == 0).all()


def test_sums__their_arrays_make_them_again(rng):
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 20)
    sums = sum_up([slab_of(calls)], chromosome, Y, axes)
    np.testing.assert_equal(vars(ChromosomeSums(**sums.arrays())), vars(sums))
    assert sums.made_with == "map"
    assert sums.contig == chromosome.contig


@pytest.mark.parametrize("size", [2**62, -(2**62), 2**40 + 1])
def test_exact_sums__largest_totals_and_entries(size):
    """Beyond float64, and of both signs: by Python's integers."""
    matrix = np.array([[2**35 - 1, -(2**33) - 12345], [1, -1]])
    chromosome = chromosome_of_blocks([matrix], centre=[0, 0], effects=[[4000], [-4000]], gains=[2**30])
    sums = ChromosomeSums("1", np.array([[size, -size // 2**20]]), np.array([[size // 3]]), "")
    (x, y), f = (int(entry) for entry in sums.variants[0]), int(sums.axes[0, 0])
    expected = [2**30 * f]
    for a, b in matrix.tolist():
        expected.append(a * x + b * y - (4000 * (a - b) + 2**11 >> 12) * f)
    high, low = exact_sums(sums, chromosome)
    for k, total in enumerate(expected):
        # The upper part is right modulo 2^64.
        assert (int(high[0, k]) - (total >> 24)) % 2**64 == 0
        assert int(low[0, k]) == total % 2**24


def test_outcome_weights__are_rounded_towards_zero():
    Y = np.array([[3, -3, 0, 2**26]])
    weights = outcome_weights(Y, np.array([0.99, 0.99, 0.5, 1 - 1e-9]))
    assert weights.tolist() == [[11, -11, 0, 2**28 - 1]]
    assert weights.dtype == np.int64


GOOD = {"matrices": [[[5, -3]], [[1]]], "centre": [0, 8192, 100], "effects": [[1], [2], [3]]}


@pytest.mark.parametrize(
    "changed",
    [
        {"centre": [0, 8193, 100]},
        {"centre": [-1, 0, 0]},
        {"centre": [0, 0]},
        {"matrices": [[[5, -3]]]},
        {"matrices": [[[2**52 // LARGEST_ENTRY + 1, 0]], [[1]]]},
        {"matrices": [[[2**32, 2**32]], [[1]]], "effects": [[2**14], [2**14], [0]]},
        {"matrices": [[[2**33, 0]], [[1]]], "effects": [[2**30], [0], [0]]},
        {
            "matrices": [np.ones((1, MOST_BLOCK_VARIANTS + 1)), [[1]]],
            "centre": np.zeros(MOST_BLOCK_VARIANTS + 2),
        },
        {"effects": np.zeros((3, 33))},
        {"gains": [1, 2]},
        {"gains": [2**53 // LARGEST_AXIS + 1]},
        {"row_norm": 0.0},
        {"row_norm": np.nan},
        {"row_norm": np.nextafter(LARGEST_NORM, 17)},
    ],
)
def test_map__with_which_sums_are_not_exact_is_refused(changed):
    require_exact(chromosome_of_blocks(**GOOD))
    given_map = GOOD | changed
    if (
        len(given_map["centre"]) != len(given_map["effects"])
        and "effects" not in changed
        and len(given_map["centre"]) > 3
    ):
        given_map["effects"] = np.zeros((len(given_map["centre"]), 1))
    with refused("genome-map-not-exact", "chromosome 1", error=UsageError):
        require_exact(chromosome_of_blocks(**given_map))


def test_map__blocks_with_a_gap_are_refused():
    chromosome = chromosome_of_blocks(**GOOD)
    first, second = chromosome.blocks
    for blocks in ((second, first), (first, replace(second, first=1)), (replace(first, stop=1), second)):
        with refused("genome-map-not-exact", "chromosome 1", error=UsageError):
            require_exact(replace(chromosome, blocks=blocks))


def test_map__too_many_directions_are_refused(monkeypatch):
    monkeypatch.setattr(pass_of_chromosome, "MOST_DIRECTIONS", 2)
    require_exact(chromosome_of_blocks(**GOOD))
    monkeypatch.setattr(pass_of_chromosome, "MOST_DIRECTIONS", 1)
    with refused("genome-map-not-exact", error=UsageError):
        require_exact(chromosome_of_blocks(**GOOD))


@pytest.mark.parametrize("change", ["fewer", "more", "axes", "variants", "number of axes"])
def test_sums__people_or_variants_of_another_size_are_refused_without_numbers(rng, change):
    chromosome = random_chromosome(rng)
    calls, axes, Y = random_people(rng, 40)
    slab = slab_of(calls)
    changed = {
        "fewer": ([slab_of(calls[:39])], axes),
        "more": ([slab, slab_of(calls[:1])], axes),
        "axes": ([slab], axes[:, :39]),
        "variants": ([replace(slab, genotypes=slab.genotypes[1:])], axes),
        "number of axes": ([slab], axes[:1]),
    }
    slabs, axes = changed[change]
    with refused("people-of-chromosome-differ", error=UsageError) as refusal:
        sum_up(slabs, chromosome, Y, axes)
    assert "39" not in str(refusal.value)
    assert "40" not in str(refusal.value)


def test_sums__outcomes_beyond_their_norm_or_grid_are_refused(rng):
    chromosome = random_chromosome(rng)
    calls, axes, _ = random_people(rng, 3)
    longest = int(1 / OUTCOME_STEP)
    Y = np.array([[longest, 0, 3], [0, 0, 4]])
    sum_up([slab_of(calls)], chromosome, Y, axes)
    # Each by itself, under budgets of their own.
    both = np.array([[longest, 0, 0], [longest, 0, 0]])
    sum_up([slab_of(calls)], chromosome, both, axes, n_shared=1)
    cases = [
        (Y + np.array([[1], [0]]), {}),
        (both, {}),
        (Y, {"outcome_norm": LARGEST_TOTAL / 3 * (1 + 1e-9)}),
        (Y * (2**10 + 1), {"outcome_norm": 2000.0}),
    ]
    for outcomes, options in cases:
        with refused("genome-sums-not-exact", error=UsageError):
            sum_up([slab_of(calls)], chromosome, outcomes, axes, **options)


def test_slab__dosages_with_a_plane_of_missing_are_refused():
    words = pack(np.zeros((1, 2)))
    with refused("missing-with-dosages", "`missing`", error=UsageError):
        GenotypeSlab(np.zeros((1, 1), dtype=np.int16), 1, words)
    assert not GenotypeSlab(words, 1, words).has_dosages


@pytest.fixture
def genome(rng):
    """Two chromosomes, and people of both."""
    parts = [
        random_chromosome(rng, carries=carries, contig=contig, row_norm=norm)
        for contig, carries, norm in (("1", True, 0.3), ("2", False, 0.7))
    ]
    return genome_of(parts, is_clipped_jointly=True), [random_people(rng, 70)[0] for _ in parts]


def test_joint_factors__are_of_the_norm_on_all_chromosomes(rng, genome):
    genome, calls = genome
    _, axes, Y = random_people(rng, 70)
    pairs = list(zip(calls, genome.chromosomes, strict=True))
    squares = [row_squares([slab_of(rows)], part, axes=axes, n_threads=2) for rows, part in pairs]
    for (rows, part), expected in zip(pairs, squares, strict=True):
        in_slabs = row_squares([slab_of(rows[:32]), slab_of(rows[32:])], part, axes=axes)
        np.testing.assert_array_equal(in_slabs, expected)
    factors = joint_factors(squares, genome)
    norm = math.sqrt(0.3**2 + 0.7**2)
    for i, factor in enumerate(factors):
        rows = [exact_row(steps_of(rows)[i], axes[:, i], part) for rows, part in pairs]
        length = sum(z**2 for row in rows for z in row) ** 0.5 * 2.0**-36
        assert factor == pytest.approx(min(1, norm / length), rel=2e-9)
        assert factor * length <= norm * (1 - 0.9e-9)
    for rows, part in pairs:
        sums = sum_up([slab_of(rows)], part, Y, axes, factors=factors)
        assert sums.is_clipped_jointly
        W = outcome_weights(Y, factors)
        np.testing.assert_array_equal(sums.axes, W @ axes.T)
        x = np.array(
            [
                [0 if call is MISSING else 4096 * call - a for call, a in zip(row, part.centre, strict=True)]
                for row in rows
            ]
        )
        np.testing.assert_array_equal(sums.variants, W @ x)
    assert not sum_up([slab_of(calls[0])], genome.chromosomes[0], Y, axes).is_clipped_jointly


def test_joint_factors__of_some_chromosomes_or_people_alone_are_refused(rng, genome, monkeypatch):
    genome, calls = genome
    _, axes, Y = random_people(rng, 70)
    squares = [np.ones(70)] * 2
    factors = joint_factors(squares, genome)
    with refused("people-of-chromosome-differ", error=UsageError):
        sum_up([slab_of(calls[0])], genome.chromosomes[0], Y, axes, factors=factors[1:])
    with refused("people-of-chromosome-differ", error=UsageError):
        row_squares([slab_of(calls[0][1:])], genome.chromosomes[0], axes=axes)
    with refused("genome-map-not-exact", error=UsageError):
        row_squares([slab_of(calls[0])], replace(genome.chromosomes[0], row_norm=0.0), axes=axes)
    with refused("genome-incomplete", error=UsageError):
        joint_factors(squares[1:], genome)
    monkeypatch.setattr(pass_of_chromosome, "MOST_DIRECTIONS", genome.n_directions)
    joint_factors(squares, genome)
    monkeypatch.setattr(pass_of_chromosome, "MOST_DIRECTIONS", genome.n_directions - 1)
    with refused("genome-incomplete", error=UsageError):
        joint_factors(squares, genome)


def test_joint_factors__their_norm_is_never_above_that_of_the_claim():
    """The root of a sum of squares is rounded down."""
    rng = np.random.default_rng(2)
    far = np.array([2.0**80])
    for _ in range(50):
        parts = [replace(random_chromosome(rng), row_norm=norm) for norm in rng.random(2)]
        (factor,) = joint_factors([far, far], genome_of(parts))
        square = sum(Fraction(part.row_norm) ** 2 for part in parts)
        assert Fraction(factor) ** 2 * 2**81 < square * 2**72
