"""Second moments of a genome: Python's integers, the claim by brute force, planted faults, and the draw."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.linalg import genome_moments as moments_of_chromosome
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP
from dpgrs.linalg.genome_moments import (
    ENTRY_STEP,
    MOMENT_STEP,
    PRODUCT_WEIGHT,
    SQUARE_WEIGHT,
    MomentSums,
    chromosome_moments,
    moment_norm,
    moment_weights,
    n_moments,
    shrunk_rows,
)
from dpgrs.linalg.genome_sums import FACTOR_BELOW_ONE, chromosome_sums
from dpgrs.methods.audits.genome import moment_cases
from dpgrs.methods.genome_moments import joint_moment_norm, moment_statistic, private_genome_moments
from dpgrs.methods.genome_sums import GenomeRequest
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import genome_moments_sensitivity
from genome_maps import MISSING, dosage_slab_of, exact_row, genome_of, random_chromosome, slab_of
from refused import refused

RELATIONS = ["add-remove", "replace-one"]
MADE_WITH = "terms"
WEIGHTS = {"square_weight": SQUARE_WEIGHT, "product_weight": PRODUCT_WEIGHT}


def with_norm(chromosome, norm):
    """Return the map with shares from which D_c follows."""
    factor = norm / moment_norm(chromosome)
    blocks = tuple(replace(block, shares=factor * block.shares) for block in chromosome.blocks)
    return replace(chromosome, blocks=blocks)


def moments(slabs, chromosome, f, *, counted=None, n_threads=1):
    n_people = sum(slab.n_people for slab in slabs)
    is_counted = np.ones(n_people, dtype=bool) if counted is None else counted
    options = {"axes": np.reshape(f, (-1, n_people)).astype(np.int64), "is_counted": is_counted}
    return chromosome_moments(slabs, chromosome, **options, made_with=MADE_WITH, n_threads=n_threads).entries


def contribution(slab, chromosome, f=()):
    """Return what one person adds to the weighted moments, float64 in units of 1."""
    weights = moment_weights(genome_of([chromosome]))
    return moments([slab], chromosome, f) * weights * MOMENT_STEP


def exact_moments(people, chromosome):
    """Return the moments of people, (steps, f) each, by Python's integers and fractions."""
    n_axes, totals = len(chromosome.axis_gains), []
    digits = 10**40
    for steps, f in people:
        z, blocks = exact_row(steps, f, chromosome)[n_axes:], []
        for block in chromosome.blocks:
            blocks.append(
                [Fraction(entry) * Fraction(MAP_STEP * DOSAGE_STEP) for entry in z[: len(block.matrix)]]
            )
            z = z[len(block.matrix) :]
        fourth = sum(sum(entry**2 for entry in block) ** 2 for block in blocks)
        ratio = Fraction(moment_norm(chromosome)) ** 2 / fourth if fourth else Fraction(1)
        factor = Fraction(1)
        if ratio < 1:
            factor = Fraction(math.isqrt(math.isqrt(int(ratio * digits**4))), digits)
        scale = factor * Fraction(FACTOR_BELOW_ONE) / Fraction(ENTRY_STEP)
        row = []
        for block in blocks:
            u = [int(abs(entry) * scale) * (1 if entry >= 0 else -1) for entry in block]
            row += [u[k] * u[m] for k in range(len(u)) for m in range(k, len(u))]
        totals.append(row)
    return [sum(column) for column in zip(*totals, strict=True)]


@pytest.mark.parametrize("has_dosages", [False, True])
@pytest.mark.parametrize("norm", [0.01, 2.0])
def test_moments__are_those_of_python_integers(has_dosages, norm):
    rng = np.random.default_rng(1)
    chromosome = with_norm(random_chromosome(rng), norm)
    calls = [
        [MISSING if rng.random() < 0.1 else int(rng.integers(0, 3)) for _ in range(12)] for _ in range(70)
    ]
    f = rng.integers(-9000, 9000, (2, 70))
    steps = [[call if call is MISSING else STEPS_PER_ALLELE * call for call in row] for row in calls]
    slab = dosage_slab_of(steps, chromosome) if has_dosages else slab_of(calls)
    expected = exact_moments(list(zip(steps, f.T, strict=True)), chromosome)
    np.testing.assert_array_equal(moments([slab], chromosome, f), expected)


def test_moments__are_the_same_for_any_slabs_tiles_and_threads(monkeypatch):
    rng = np.random.default_rng(2)
    chromosome = with_norm(random_chromosome(rng, sizes=(40, 30)), 0.2)
    calls, f = rng.integers(0, 3, (600, 70)), rng.integers(-9000, 9000, (2, 600))
    counted = rng.random(600) < 0.7
    whole = moments([slab_of(calls)], chromosome, f, counted=counted)
    parts = [slab_of(calls[:320]), slab_of(calls[320:])]
    np.testing.assert_array_equal(moments(parts, chromosome, f, counted=counted, n_threads=2), whole)
    monkeypatch.setattr(moments_of_chromosome, "TILE_PEOPLE", 32)
    np.testing.assert_array_equal(moments(parts, chromosome, f, counted=counted), whole)
    only = moments([slab_of(calls[counted])], chromosome, f[:, counted])
    np.testing.assert_array_equal(only, whole)


def test_moments__in_the_pass_of_sums_are_the_same(chromosomes):
    """Genotypes are read once, and people who are not counted add nothing."""
    rng, chromosome = np.random.default_rng(10), chromosomes[0]
    calls, f = rng.integers(0, 3, (600, 4)), rng.integers(-(2**20), 2**20, (1, 600))
    counted = rng.random(600) < 0.7
    added = MomentSums(chromosome, is_counted=counted, made_with=MADE_WITH, n_threads=2)
    Y = np.zeros((1, 600), dtype=np.int64)
    options = {"axes": f, "outcome_norm": 1.0, "n_shared": 1, "made_with": MADE_WITH}
    slabs = iter([slab_of(calls[:320]), slab_of(calls[320:])])
    chromosome_sums(slabs, chromosome, Y, **options, add_people=added.add)
    found = added.moments()
    expected = moments([slab_of(calls[counted])], chromosome, f[:, counted])
    np.testing.assert_array_equal(found.entries, expected)
    assert (found.contig, found.made_with) == (chromosome.contig, MADE_WITH)
    assert found.norm == moment_norm(chromosome)


def test_moments__of_a_map_or_so_many_people_that_they_would_not_be_exact_are_refused():
    chromosome, slab = random_chromosome(np.random.default_rng(3)), slab_of([[0] * 12])
    with refused("genome-map-not-exact", error=UsageError):
        moments([slab], replace(chromosome, blocks=chromosome.blocks[:1]), [0, 0])
    with refused("moment-norm-too-large", error=UsageError):
        moments([slab], with_norm(chromosome, 17.0), [0, 0])
    with refused("moment-norm-too-large", error=UsageError):
        chromosome_moments(
            iter(()),
            with_norm(chromosome, 16.0),
            axes=np.zeros((2, 2**20 + 1), np.int64),
            is_counted=np.ones(2**20 + 1, bool),
            made_with="",
        )


@pytest.fixture(scope="module")
def chromosomes():
    rng = np.random.default_rng(4)
    first = random_chromosome(rng, sizes=(2, 2), n_directions=2, n_axes=1, row_norm=8.0)
    second = random_chromosome(rng, sizes=(2,), n_directions=2, n_axes=1, row_norm=4.0, carries=False)
    return with_norm(first, 0.75), with_norm(second, 0.5)


def claim_of(chromosomes, neighbours="add-remove"):
    return genome_moments_sensitivity(
        rows="people",
        neighbours=neighbours,
        unit="person",
        moment_norm=joint_moment_norm(genome_of(chromosomes)),
        **WEIGHTS,
    ).value


def test_brute_force__no_person_and_no_pair_exceeds_the_claim(chromosomes):
    """Of all calls, two axes, and on the other chromosome all calls."""
    first, second = (
        {
            (calls, f): contribution(slab_of([calls]), chromosome, [f])
            for calls in itertools.product([0, 1, 2, MISSING], repeat=chromosome.n_variants)
            for f in (-9000, 9000)
        }
        for chromosome in chromosomes
    )
    everybody = np.array(
        [np.concatenate([a, b]) for (_, f), a in first.items() for (_, g), b in second.items() if f == g]
    )
    lengths = np.linalg.norm(everybody, axis=1)
    bound = claim_of(chromosomes)
    assert 0.98 * bound < lengths.max() <= bound
    some = everybody[np.argsort(-lengths)[:1500]]
    squares = (some**2).sum(axis=1)
    distances = np.sqrt((squares[:, np.newaxis] + squares - 2 * some @ some.T).max())
    pair = claim_of(chromosomes, "replace-one")
    assert lengths.max() < distances <= pair
    assert pair == pytest.approx(math.sqrt(2) * bound)


def entry_map(n_variants=2, *, norm=0.25):
    """Return a map of a block whose directions are its variants, with long rows."""
    chromosome = random_chromosome(
        np.random.default_rng(5), sizes=(n_variants,), n_directions=n_variants, n_axes=0
    )
    (block,) = chromosome.blocks
    matrix = np.eye(n_variants, dtype=np.int64) << 24
    blocks = (replace(block, matrix=matrix),)
    return with_norm(replace(chromosome, blocks=blocks, centre=np.zeros(n_variants, np.int64)), norm)


def test_claim__is_attained_by_people_with_one_entry_each():
    chromosome = entry_map()
    a, b = (contribution(slab_of([calls]), chromosome) for calls in ([2, 0], [0, 2]))
    bounds = [claim_of([chromosome], neighbours) for neighbours in RELATIONS]
    for moved, bound in zip((a, a - b), bounds, strict=True):
        assert 0.9999 * bound < np.linalg.norm(moved) <= bound


def climb(rng, chromosome):
    """Return the largest share of the claim that coordinate ascent over dosages finds."""
    steps = rng.integers(0, 8193, chromosome.n_variants)
    f = rng.integers(-9000, 9000, chromosome.axis_effects.shape[1])
    bound = claim_of([chromosome])

    def share(steps):
        return (
            np.linalg.norm(contribution(dosage_slab_of([steps.tolist()], chromosome), chromosome, f)) / bound
        )

    best = share(steps)
    for _ in range(2):
        for j in range(len(steps)):
            for value in (0, 4096, 8192, int(rng.integers(0, 8193))):
                new = steps.copy()
                new[j] = value
                if (reached := share(new)) > best:
                    best, steps = reached, new
    return best


def test_climbing__never_exceeds_the_claim():
    rng = np.random.default_rng(6)
    best = max(climb(rng, with_norm(random_chromosome(rng, sizes=(4, 3)), 0.01)) for _ in range(4))
    assert 0.98 < best <= 1


def long_share(chromosome, rows):
    lengths = [np.linalg.norm(contribution(slab_of([row]), chromosome)) for row in rows]
    return max(lengths) / claim_of([chromosome])


def test_shrunk_rows__are_a_step_shorter_before_they_could_be_too_long():
    """A norm that lies below a whole number of steps by less than its last digits."""
    steps = 2**17
    norm = ((steps - 1e-5) * ENTRY_STEP) ** 2
    entry = np.array([[2.0**40]])
    (u,) = shrunk_rows([(entry, entry[0] ** 2)], norm=norm)
    assert Fraction(norm) < Fraction(steps * ENTRY_STEP) ** 2
    assert u.tolist() == [[steps - 1]]


def test_fault__rounding_to_nearest_is_found(monkeypatch):
    """Of many entries of about a step and a half."""
    chromosome = entry_map(16, norm=(6.4 * ENTRY_STEP) ** 2)
    rows = [[1] * 16, [2] * 16]
    assert long_share(chromosome, rows) < 1
    monkeypatch.setattr(moments_of_chromosome.np, "trunc", np.rint)
    assert long_share(chromosome, rows) > 1.2


def test_fault__blocks_that_are_shrunk_one_by_one_are_found(monkeypatch):
    """Each within the norm of the chromosome."""
    chromosome = with_norm(
        random_chromosome(np.random.default_rng(9), sizes=(2, 2), n_axes=0, row_norm=8.0), 0.5
    )
    rows = [[2, 2, 2, 2], [0, 0, 0, 0]]
    assert long_share(chromosome, rows) <= 1
    right = moments_of_chromosome.shrunk_rows

    def one_by_one(blocks, *, norm):
        return [right([block], norm=norm)[0] for block in blocks]

    monkeypatch.setattr(moments_of_chromosome, "shrunk_rows", one_by_one)
    assert long_share(chromosome, rows) > 1.3


def test_fault__another_weight_of_products_is_found(monkeypatch):
    """Were products weighted by 8, rows of equal entries would exceed the claim."""
    chromosome = entry_map(8)
    assert 0.98 < long_share(chromosome, [[2] * 8]) <= 1
    monkeypatch.setattr(moments_of_chromosome, "PRODUCT_WEIGHT", 8)
    assert long_share(chromosome, [[2] * 8]) > 1.05


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_claim__is_the_formula_rounded_up(neighbours):
    relation = {"rows": "people", "neighbours": neighbours, "unit": "person"}
    claim = genome_moments_sensitivity(moment_norm=0.7, **WEIGHTS, **relation)
    times = 2 if neighbours == "replace-one" else 1
    assert Fraction(claim.value) ** 2 >= times * (5 * Fraction(0.7)) ** 2
    assert claim.value == pytest.approx(3.5 * math.sqrt(times), rel=1e-15)
    assert (claim.law, claim.norm) == ("genome_moments/1", "l2")
    assert claim.proof == "docs/proofs/genome_moments.md"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"rows": "haplotypes"}, ("genome-rows", "`cohort.rows`")),
        ({"unit": "haplotype"}, ("unit-not-person", "`privacy.unit`")),
        ({"moment_norm": 0.0}, ("not-positive", "`moment_norm`")),
        ({"product_weight": 8}, ("moment-weights", "got 5")),
    ],
)
def test_claim__is_refused(changed, fault):
    good = {"rows": "people", "neighbours": "add-remove", "unit": "person", "moment_norm": 1.0} | WEIGHTS
    with refused(*fault, error=UsageError):
        genome_moments_sensitivity(**good | changed)


def test_norm__is_near_the_expectation_for_normal_rows(chromosomes):
    """Of rows whose entries have the shares as mean squares."""
    chromosome, rng = chromosomes[0], np.random.default_rng(7)
    fourths = [
        (rng.standard_normal((20_000, block.n_directions)) ** 2 @ block.shares) ** 2
        for block in chromosome.blocks
    ]
    expected = 1.5 * math.sqrt(np.sum(fourths, axis=0).mean())
    assert moment_norm(chromosome) == pytest.approx(expected, rel=0.05)


def test_norm__of_all_chromosomes_is_never_below_the_root_of_the_exact_sum(chromosomes):
    for norms in np.random.default_rng(11).random((50, 2)):
        scaled = list(map(with_norm, chromosomes, norms))
        square = sum(Fraction(moment_norm(chromosome)) ** 2 for chromosome in scaled)
        assert 0 <= Fraction(joint_moment_norm(genome_of(scaled))) ** 2 - square < square / 2**50


@pytest.fixture
def genome(chromosomes):
    return genome_of([replace(part, contig=str(number)) for number, part in enumerate(chromosomes, 1)])


@pytest.fixture
def exact(genome):
    rng = np.random.default_rng(8)
    f = rng.integers(-9000, 9000, (1, 40))
    return [
        chromosome_moments(
            [slab_of(rng.integers(0, 3, (40, chromosome.n_variants)))],
            chromosome,
            axes=f,
            is_counted=np.ones(40, bool),
            made_with=MADE_WITH,
        )
        for chromosome in genome.chromosomes
    ]


def request_of(genome, **changed):
    terms = {
        "rows": "people",
        "n_variants": genome.n_variants,
        "n_directions": genome.n_directions,
        "n_outcomes": 2,
        "outcome_bound": 3.0,
        "outcome_norm": 1.25,
        "epsilon": 1.0,
        "delta": 1e-6,
        "coding": "frequency",
        "row_norm": 10.0,
        "ld_share": 0.1,
        "moment_norm": joint_moment_norm(genome),
    }
    return GenomeRequest(**terms | changed)


def test_budget__of_sums_and_moments_is_that_of_sums_alone(genome):
    request = request_of(genome)
    plain = request_of(genome, ld_share=None, moment_norm=None)
    both = request.budget["cross"] ** 2 + request.budget["moments"] ** 2
    assert both == pytest.approx(plain.budget["cross"] ** 2)
    assert both <= plain.budget["cross"] ** 2
    assert request.budget["moments"] ** 2 == pytest.approx(0.1 * both)
    assert plain.budget["moments"] == 0
    # Named by the share and the norm, which requests without moments do not have.
    assert [term for term in request.key if term not in ("0.1", str(request.moment_norm))] == [*plain.key]


def test_draw__is_one_event_of_all_chromosomes(genome, exact):
    request, noise = request_of(genome), Silence()
    released, event = private_genome_moments(
        exact[::-1], genome, request=request, noise=noise, made_with=MADE_WITH
    )
    assert noise.events == [event]
    entries = np.concatenate([part.entries for part in exact])
    np.testing.assert_array_equal(released, entries * MOMENT_STEP)
    assert event.sigma == math.nextafter(request.moment_claim.value / request.budget["moments"], math.inf)
    assert request.moment_sd == pytest.approx(event.sigma / PRODUCT_WEIGHT)
    assert event.identity_terms["entries"] == len(entries) == n_moments(genome)
    terms = event.identity_terms
    assert (terms["statistic"], terms["law"]) == ("genome moments", "genome_moments/1")
    assert float(event.identity_terms["step"]) == MOMENT_STEP


def test_draw__has_more_noise_on_squares(genome, exact):
    request = request_of(genome)
    options = {"request": request, "made_with": MADE_WITH}
    silent, _ = private_genome_moments(exact, genome, noise=Silence(), **options)
    is_square = moment_weights(genome) == SQUARE_WEIGHT
    draws = [
        private_genome_moments(exact, genome, noise=BenchmarkNoise(seed), **options)[0] - silent
        for seed in range(400)
    ]
    sd = request.moment_norm / request.budget["moments"]
    assert np.std(np.array(draws)[:, is_square]) == pytest.approx(sd, rel=0.1)
    assert np.std(np.array(draws)[:, ~is_square]) == pytest.approx(5 / 7 * sd, rel=0.1)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"made_with": "others"}, "moments-of-another-map"),
        ({"contigs": ["1", "1"]}, "chromosomes-differ"),
        ({"moment_norm": 0.5}, "moment-norm-too-large"),
    ],
)
def test_draw__of_others_is_refused(genome, exact, changed, code):
    contigs = changed.pop("contigs", ["1", "2"])
    parts = [replace(part, contig=contig) for part, contig in zip(exact, contigs, strict=True)]
    made_with = changed.pop("made_with", MADE_WITH)
    with refused(code, error=UsageError):
        private_genome_moments(
            parts, genome, request=request_of(genome, **changed), noise=Silence(), made_with=made_with
        )


def test_statistic__of_rows_shrunk_by_another_norm_is_refused(genome, exact):
    """Two maps of one digest may differ in shares, and so in norms."""
    longer = [exact[0], replace(exact[1], norm=1.5 * exact[1].norm)]
    with refused("moments-of-another-map", error=UsageError):
        moment_statistic(longer, genome, made_with=MADE_WITH)


@pytest.mark.parametrize("n_moved", [1, -1])
def test_statistic__of_other_numbers_of_moments_is_refused(genome, exact, n_moved):
    """Even where all chromosomes together have as many: weights would be of other moments."""
    entries = np.concatenate([part.entries for part in exact])
    first = len(exact[0].entries) + n_moved
    parts = [replace(exact[0], entries=entries[:first]), replace(exact[1], entries=entries[first:])]
    for one in (parts, [exact[0], parts[1]]):
        with refused("moments-of-another-map", error=UsageError):
            moment_statistic(one, genome, made_with=MADE_WITH)


def test_statistic__is_weighted(genome, exact):
    statistic = moment_statistic(exact, genome, made_with=MADE_WITH)
    entries = np.concatenate([part.entries for part in exact])
    assert set((statistic / entries)[entries != 0]) == {SQUARE_WEIGHT, PRODUCT_WEIGHT}


def test_audit__the_person_is_beyond_the_norm_of_each_chromosome():
    """Else the pair would not attain the claim, and an audit show too little."""
    for case in moment_cases():
        released = [case.run(exact, Silence())[0] for exact in case.pair]
        moved = np.linalg.norm(released[1] - released[0])
        assert moved / case.parts[0].sd == pytest.approx(case.claim.value, rel=2e-5)
        assert moved / case.parts[0].sd < case.claim.value
