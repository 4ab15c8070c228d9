"""The sensitivity of sums of a genome: brute force, climbing, and faults that must break the claim."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg import _genome_kernels
from dpgrs.linalg import genome_sums as pass_of_chromosome
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.genome_sums import (
    SUM_STEP,
    RowNorms,
    chromosome_scores,
    chromosome_sums,
    exact_sums,
    joint_factors,
    less_scores,
    row_squares,
)
from dpgrs.linalg.outcome_grid import clip_norms, clipped_outcomes
from dpgrs.privacy.sensitivity import genome_sensitivity
from genome_maps import (
    CALLS,
    MISSING,
    chromosome_of_blocks,
    dosage_slab_of,
    genome_of,
    random_chromosome,
    slab_of,
)
from refused import refused

RELATIONS = ["add-remove", "replace-one"]
EXACT_UNIT = 2.0**-54


def claimed(chromosomes, n_outcomes, *, neighbours="add-remove", outcome_norm=1.0, step=SUM_STEP):
    squares = sum(Fraction(chromosome.row_norm) ** 2 for chromosome in chromosomes)
    n_directions = sum(chromosome.n_directions for chromosome in chromosomes)
    return genome_sensitivity(
        n_directions,
        n_outcomes,
        rows="people",
        neighbours=neighbours,
        unit="person",
        row_norm=float(math.sqrt(squares)) * (1 + 2.0**-52),
        outcome_norm=outcome_norm,
        step=step,
    ).value


def contribution(slab, chromosome, y, f, *, outcome_norm=1.0, factors=None):
    """Return what one person adds to the exact S, (n_outcomes, n_directions) float64: far finer than 1e-9."""
    Y, axes = np.reshape(y, (-1, 1)), np.reshape(f, (-1, 1)).astype(np.int64)
    options = {"outcome_norm": outcome_norm, "n_shared": len(Y), "made_with": "", "factors": factors}
    high, low = exact_sums(chromosome_sums([slab], chromosome, Y, axes=axes, **options), chromosome)
    return (high * 2.0**24 + low) * EXACT_UNIT


def clipped(*values, norm=1.0):
    y = np.reshape(values, (-1, 1)).astype(np.int64)
    clip_norms(y, norm=norm, step=OUTCOME_STEP)
    return y[:, 0]


@pytest.fixture(scope="module")
def chromosomes():
    rng = np.random.default_rng(3)
    first = random_chromosome(rng, sizes=(1, 1), n_directions=2, n_axes=1, row_norm=0.375)
    second = random_chromosome(rng, sizes=(2,), n_directions=1, n_axes=1, row_norm=0.5, carries=False)
    return first, second


@pytest.fixture(scope="module")
def everybody(chromosomes):
    """Return what each possible person adds to S over both chromosomes: (n_people, n_entries)."""
    one = int(1 / OUTCOME_STEP)
    outcomes = [clipped(a, b) for a, b in itertools.product([one, 0, -one], [one, 0])]
    axes = [-9000, 0, 9000]
    parts = []
    for chromosome in chromosomes:
        people = {
            (calls, f): [contribution(slab_of([calls]), chromosome, y, [f]) for y in outcomes]
            for calls in itertools.product([0, 1, 2, MISSING], repeat=2)
            for f in axes
        }
        parts.append(people)
    first, second = parts
    return np.array(
        [
            np.concatenate([a, b], axis=1).ravel()
            for f in axes
            for (calls, g), rows in first.items()
            if g == f
            for other in itertools.product([0, 2, MISSING], repeat=2)
            for a, b in zip(rows, second[other, f], strict=True)
        ]
    )


def test_brute_force__no_person_and_no_pair_exceeds_the_claim(chromosomes, everybody):
    lengths = np.linalg.norm(everybody, axis=1)
    exact = claimed(chromosomes, 2, step=1e-300)
    assert 0.999 * exact < lengths.max() <= exact
    longest = everybody[np.argsort(-lengths)[:300]]
    squares = (longest**2).sum(axis=1)
    distances = np.sqrt((squares[:, np.newaxis] + squares - 2 * longest @ longest.T).max())
    pair = claimed(chromosomes, 2, neighbours="replace-one", step=1e-300)
    assert 0.999 * pair < distances <= pair


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_brute_force__of_sums_that_are_rounded_down(neighbours):
    """At norms below a step, where rounding moves most, beside sums of others just below and at a step."""
    rng = np.random.default_rng(1)
    chromosome = chromosome_of_blocks([[[3]], [[5]]], centre=[0, 0], row_norm=2.0**-20)
    norm = 2.0**-14
    y = clipped(2, 3, norm=norm)
    slabs = [slab_of([calls]) for calls in itertools.product([0, 1, 2], repeat=2)]
    people = [
        exact_sums(
            chromosome_sums(
                [slab],
                chromosome,
                np.reshape(sign * y, (-1, 1)),
                axes=np.zeros((0, 1), dtype=np.int64),
                outcome_norm=norm,
                n_shared=2,
                made_with="",
            ),
            chromosome,
        )
        for slab in slabs
        for sign in (-1, 1)
    ]
    people = [high * 2**24 + low for high, low in people]
    moved = []
    for _ in range(4000):
        others = (rng.integers(0, 2**20, people[0].shape) << 24) - rng.integers(0, 2, people[0].shape)
        a, b = (people[i] for i in rng.integers(len(people), size=2))
        with_one = (others + a) >> 24
        without = (others + (b if neighbours == "replace-one" else 0)) >> 24
        moved.append(np.linalg.norm((with_one - without) * SUM_STEP))
    bound = claimed([chromosome], 2, neighbours=neighbours, outcome_norm=norm)
    assert max(moved) <= bound
    # Without the rounding the claim would be exceeded.
    assert (
        max(moved)
        == 2 * SUM_STEP
        > 1.5 * claimed([chromosome], 2, neighbours=neighbours, outcome_norm=norm, step=1e-300)
    )


def climb(rng, chromosome, *, outcome_norm=1.0, n_outcomes=2, n_rounds=2, unit=None):
    """Return the largest share of R C that coordinate ascent finds."""
    n_variants, n_axes = chromosome.axis_effects.shape
    steps = [MISSING if rng.random() < 0.2 else int(rng.integers(0, 8193)) for _ in range(n_variants)]
    f = rng.integers(-20_000, 20_000, n_axes)
    largest = int(outcome_norm / OUTCOME_STEP) if unit is None else unit
    y = rng.integers(-largest, largest + 1, n_outcomes)

    def share(steps, f, y):
        row = clipped(*y, norm=outcome_norm)
        moved = contribution(
            dosage_slab_of([steps], chromosome), chromosome, row, f, outcome_norm=outcome_norm
        )
        return np.linalg.norm(moved) / (chromosome.row_norm * outcome_norm)

    best = share(steps, f, y)
    for _ in range(n_rounds):
        for j in range(n_variants + n_axes + n_outcomes):
            for _ in range(3):
                new = list(steps), f.copy(), y.copy()
                if j < n_variants:
                    new[0][j] = rng.choice([MISSING, 0, 4096, 8192, int(rng.integers(0, 8193))])
                elif j < n_variants + n_axes:
                    new[1][j - n_variants] = rng.integers(-20_000, 20_000)
                else:
                    new[2][j - n_variants - n_axes] = rng.integers(-largest, largest + 1)
                found = share(*new)
                if found > best:
                    best, (steps, f, y) = found, new
    return best


def test_climbing__reaches_the_claim_and_never_more():
    rng = np.random.default_rng(8)
    best = 0.0
    for _ in range(4):
        chromosome = random_chromosome(rng, sizes=(3, 2), n_directions=3)
        best = max(best, climb(rng, chromosome))
        best = max(best, climb(rng, chromosome, outcome_norm=1000.0, n_outcomes=1))
        assert best <= 1
    assert best > 0.9999


@pytest.fixture
def long_map():
    """A chromosome along whose directions rows are long, and a person whose genotypes are all missing."""
    rng = np.random.default_rng(2)
    chromosome = random_chromosome(rng, sizes=(20,), n_directions=4, n_axes=0)
    chromosome = replace(
        chromosome, blocks=tuple(replace(block, matrix=64 * block.matrix) for block in chromosome.blocks)
    )
    calls = [MISSING] * 20
    return chromosome, calls


def test_fault__a_centre_that_is_subtracted_for_missing_genotypes_is_found(long_map, monkeypatch):
    chromosome, calls = long_map
    y = clipped(int(1 / OUTCOME_STEP), 0)

    def share():
        return np.linalg.norm(contribution(slab_of([calls]), chromosome, y, [])) / chromosome.row_norm

    assert share() == 0
    right = _genome_kernels.drop_missing

    def only_in_norms(words, missing, centre, values, by_person, sums):
        if by_person:
            right(words, missing, centre, values, by_person, sums)

    monkeypatch.setattr(_genome_kernels, "drop_missing", only_in_norms)
    assert share() > 10


def test_fault__rounding_weights_to_nearest_is_found(monkeypatch):
    """Of many outcomes of a step each: every one is rounded up."""
    rng = np.random.default_rng(4)
    chromosome = random_chromosome(rng, sizes=(5,), n_directions=3, n_axes=0, row_norm=0.25)
    y = np.ones(64, dtype=np.int64)
    norm = 8 * OUTCOME_STEP

    def largest():
        rows = itertools.product([0, 1, 2], repeat=5)
        shares = [
            np.linalg.norm(contribution(slab_of([row]), chromosome, y, [], outcome_norm=norm)) for row in rows
        ]
        return max(shares) / (chromosome.row_norm * norm)

    assert 0.7 < largest() <= 1

    def rint(Y, factors):
        return np.rint(Y * 4.0 * factors).astype(np.int64)

    monkeypatch.setattr(pass_of_chromosome, "outcome_weights", rint)
    assert largest() > 1.05


def test_fault__norms_in_float32_are_found(monkeypatch):
    """Where weights are fine: an outcome of 1000 has 28 bits."""
    rng = np.random.default_rng(6)
    chromosome = random_chromosome(rng, sizes=(40,), n_directions=6, n_axes=1, row_norm=0.25)
    calls = rng.integers(0, 3, (200, 40))
    f = rng.integers(-9000, 9000, (1, 200))
    y = [int(1000 / OUTCOME_STEP)]

    def largest():
        shares = [
            np.linalg.norm(contribution(slab_of([row]), chromosome, y, [f], outcome_norm=1000.0))
            for row, f in zip(calls, f[0], strict=True)
        ]
        return max(shares) / (chromosome.row_norm * 1000)

    assert 1 - 1e-8 < largest() <= 1
    right = RowNorms.squares

    def single(self, *slab, **options):
        return right(self, *slab, **options).astype(np.float32)

    monkeypatch.setattr(RowNorms, "squares", single)
    assert largest() > 1 + 1e-9


@pytest.fixture(scope="module")
def people_with_scores(chromosomes):
    """Possible people of two chromosomes with public scores: slabs, outcomes, and these less the score."""
    weights = [np.array([[2**23, -(2**22)]]), np.array([[-(2**24), 2**23]])]
    scored = [
        replace(chromosome, score_weights=w) for chromosome, w in zip(chromosomes, weights, strict=True)
    ]
    people = []
    for calls in itertools.product([0, 1, 2, MISSING], repeat=4):
        slabs = slab_of([calls[:2]]), slab_of([calls[2:]])
        parts = zip(slabs, scored, strict=True)
        score = sum(chromosome_scores([slab], of_scores, n_people=1) for slab, of_scores in parts)
        for y in itertools.product([-1.0, np.nan], [-1.0, 0.25, np.nan]):
            values = np.reshape(y, (2, 1))
            people.append((slabs, values, less_scores(values, score, [-1, 0])))
    return people


def largest_share(chromosomes, people, clip):
    """Return the largest share of R C that a person adds over both chromosomes, with outcomes by `clip`."""
    lengths = []
    for slabs, values, residuals in people:
        Y = clip(values, residuals)
        parts = [
            contribution(slab, chromosome, Y, [9000])
            for slab, chromosome in zip(slabs, chromosomes, strict=True)
        ]
        lengths.append(np.linalg.norm(np.concatenate(parts, axis=1)))
    return max(lengths) / claimed(chromosomes, 2, step=1e-300)


def test_brute_force__outcomes_less_public_scores_stay_within_the_claim(chromosomes, people_with_scores):
    def clip(values, residuals):
        return clipped_outcomes(residuals, bound=3.0, norm=1.0, n_shared=2)

    scores = [(values - residuals)[1, 0] for _, values, residuals in people_with_scores]
    assert np.nanmax(np.abs(scores)) > 1.5
    for _, values, residuals in people_with_scores:
        np.testing.assert_array_equal(np.isnan(residuals), np.isnan(values))
    assert 0.99 < largest_share(chromosomes, people_with_scores, clip) <= 1


def test_fault__subtracting_a_public_score_after_the_clip_is_found(
    chromosomes, people_with_scores, monkeypatch
):
    def clip(values, residuals):
        Y = clipped_outcomes(values, bound=3.0, norm=1.0, n_shared=2)
        return Y - np.trunc(np.nan_to_num((values - residuals) / OUTCOME_STEP)).astype(np.int64)

    with refused("genome-sums-not-exact", error=UsageError):
        largest_share(chromosomes, people_with_scores, clip)
    monkeypatch.setattr(pass_of_chromosome, "long_rows", lambda Y, **options: (np.zeros(1, dtype=bool),))
    assert largest_share(chromosomes, people_with_scores, clip) > 1.5


def test_absence__on_a_chromosome_is_no_refusal_and_adds_nothing(chromosomes):
    """Who is in one file and not in another has outcomes of 0 there."""
    y = clipped(int(1 / OUTCOME_STEP), 0)
    with_person = contribution(slab_of([[2, 2]]), chromosomes[0], y, [900])
    absent = contribution(slab_of([[MISSING, MISSING]]), chromosomes[1], 0 * y, [900])
    assert not absent.any()
    assert 0 < np.linalg.norm(with_person) <= claimed(chromosomes[:1], 2)


def test_norms__beside_outcomes_of_one_budget_are_joint(chromosomes):
    one = int(1 / OUTCOME_STEP)
    with refused("genome-sums-not-exact", error=UsageError):
        contribution(slab_of([[2, 2]]), chromosomes[0], [one, one], [900])


def test_dosages__of_any_sixteen_bits_stay_within_the_claim(chromosomes):
    """A store has none beyond 2; a damaged one does not break the claim."""
    y = clipped(int(1 / OUTCOME_STEP), 0)
    for dosages in ([[-(2**15)], [2**15 - 1]], [[2**15 - 1], [-1]]):
        slab = GenotypeSlab(np.array(dosages, dtype=np.int16), 1)
        moved = contribution(slab, chromosomes[0], y, [0])
        assert np.linalg.norm(moved) <= chromosomes[0].row_norm
        # Norms and sums have one sign of them, also where a store has unsigned ones.
        unsigned = replace(slab, genotypes=slab.genotypes.view(np.uint16))
        np.testing.assert_array_equal(contribution(unsigned, chromosomes[0], y, [0]), moved)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_claim__is_the_formula_rounded_up(neighbours):
    norms = {"row_norm": 0.7, "outcome_norm": 1.3, "step": 2.0**-30}
    relation = {"rows": "people", "neighbours": neighbours, "unit": "person"}
    claim = genome_sensitivity(70_000, 11, **norms, **relation)
    times = 2 if neighbours == "replace-one" else 1
    moved = times * Fraction(0.7) * Fraction(1.3)
    # The root of 770,000 is irrational.
    assert (Fraction(claim.value) - moved) ** 2 > 770_000 * Fraction(2.0**-60)
    assert claim.value == pytest.approx(times * 0.91 + 2.0**-30 * 770_000**0.5, rel=1e-15)
    assert (claim.law, claim.norm, claim.proof) == ("genome/1", "l2", "docs/proofs/genome.md")
    assert (claim.neighbours, claim.unit) == (neighbours, "person")


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"rows": "haplotypes"}, ("genome-rows", "`cohort.rows`")),
        ({"unit": "haplotype"}, ("unit-not-person", "`privacy.unit`")),
        ({"row_norm": 0.0}, ("not-positive", "`row_norm`")),
        ({"outcome_norm": math.inf}, ("not-positive", "`outcome_norm`")),
        ({"step": 0.0}, ("not-positive", "`step`")),
    ],
)
def test_claim__is_refused(changed, fault):
    good = {"rows": "people", "neighbours": "add-remove", "unit": "person", "row_norm": 1.0}
    good |= {"outcome_norm": 1.0, "step": SUM_STEP}
    with refused(*fault, error=UsageError):
        genome_sensitivity(3, 1, **good | changed)


def test_missing__calls_are_their_centre_in_norm_and_sum():
    """As a dosage at the centre is."""
    rng = np.random.default_rng(9)
    chromosome = random_chromosome(rng, sizes=(4,), n_directions=3, n_axes=1)
    at_centre = GenotypeSlab(np.array([[CALLS[2]], *chromosome.centre[1:, np.newaxis]], dtype=np.int16), 1)
    y = clipped(STEPS_PER_ALLELE, 77)
    missing = contribution(slab_of([[2, MISSING, MISSING, MISSING]]), chromosome, y, [500])
    np.testing.assert_array_equal(contribution(at_centre, chromosome, y, [500]), missing)
    moved = replace(chromosome, centre=np.where(np.arange(4) == 0, chromosome.centre, 4096))
    np.testing.assert_array_equal(
        contribution(slab_of([[2, MISSING, MISSING, MISSING]]), moved, y, [500]), missing
    )


def test_joint_clip__no_person_exceeds_the_claim_on_all_chromosomes(chromosomes):
    genome, y = genome_of(chromosomes, is_clipped_jointly=True), clipped(int(1 / OUTCOME_STEP), 0)
    bound = claimed(chromosomes, 2, step=1e-300)
    moved = []
    for calls in itertools.product([0, 1, 2, MISSING], repeat=2):
        slabs, f = [slab_of([calls]), slab_of([calls[::-1]])], np.array([[9000]])
        pairs = list(zip(slabs, chromosomes, strict=True))
        factors = joint_factors([row_squares([slab], part, axes=f) for slab, part in pairs], genome)
        parts = [contribution(slab, part, y, f, factors=factors) for slab, part in pairs]
        moved.append([np.linalg.norm(part) for part in parts])
    lengths = np.linalg.norm(moved, axis=1)
    assert 0.9999 * bound < lengths.max() <= bound
    # On one of both alone a row may be longer than that chromosome's norm.
    assert np.max(moved, axis=0)[0] > chromosomes[0].row_norm
