"""The draw of a genome's sums: one vector, one event, whatever the order of chromosomes."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg import genome_sums as pass_of_chromosome
from dpgrs.linalg.genome_sums import SUM_STEP, ChromosomeSums, chromosome_sums
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.methods.audits.genome import genome_cases
from dpgrs.methods.genome_sums import GenomeRequest, genome_statistic, private_genome_sums, public_digest
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from genome_maps import exact_sums_of, genome_of, random_chromosome, rounded_down, slab_of
from refused import refused

N_PEOPLE = 40
CONTIGS = ("2", "10", "1")
MADE_WITH = "map and people"


@pytest.fixture(scope="module")
def genome():
    rng = np.random.default_rng(0)
    return genome_of(
        [
            random_chromosome(rng, sizes=(4, 3), row_norm=0.5, carries=contig == "10", contig=contig)
            for contig in CONTIGS
        ]
    )


@pytest.fixture(scope="module")
def cohort(genome):
    """Return what people have, by chromosome, and the sums of all chromosomes."""
    rng = np.random.default_rng(1)
    calls = {contig: rng.integers(0, 3, (N_PEOPLE, 7)) for contig in CONTIGS}
    axes = rng.integers(-9000, 9000, (2, N_PEOPLE))
    Y = grid_outcomes(rng.standard_normal((2, N_PEOPLE)), bound=3.0, row_norm=1.25)
    options = {"axes": axes, "outcome_norm": 1.25, "n_shared": 2, "made_with": MADE_WITH}
    sums = [
        chromosome_sums([slab_of(calls[chromosome.contig])], chromosome, Y, **options)
        for chromosome in genome.chromosomes
    ]
    return calls, axes, Y, sums


def request_of(genome, **changed):
    terms = {"rows": "people", "coding": "frequency", "row_norm": 0.875, "outcome_norm": 1.25}
    terms |= {"n_variants": genome.n_variants, "n_directions": genome.n_directions, "n_outcomes": 2}
    terms |= {"outcome_bound": 3.0, "epsilon": 1.0, "delta": 1e-6}
    return GenomeRequest(**terms | changed)


def test_statistic__is_that_of_python_integers_in_the_order_of_the_map(genome, cohort):
    calls, axes, Y, sums = cohort
    expected = [
        rounded_down(
            exact_sums_of(list(zip(4096 * calls[chromosome.contig], axes.T, Y.T, strict=True)), chromosome)
        )
        for chromosome in genome.chromosomes
    ]
    S = genome_statistic(sums, genome, made_with=MADE_WITH)
    assert S.dtype == np.int64
    np.testing.assert_array_equal(S, np.concatenate(expected, axis=1))
    np.testing.assert_array_equal(genome_statistic(sums[::-1], genome, made_with=MADE_WITH), S)


def test_draw__is_one_event_of_all_chromosomes_and_outcomes(genome, cohort):
    request, noise = request_of(genome), Silence()
    released, event = private_genome_sums(
        cohort[-1], genome, request=request, noise=noise, made_with=MADE_WITH
    )
    assert noise.events == [event]
    S = genome_statistic(cohort[-1], genome, made_with=MADE_WITH)
    np.testing.assert_array_equal(released, S * SUM_STEP)
    assert event.mu == request.budget["cross"]
    assert request.budget["gram"] == 0
    assert event.sigma == math.nextafter(request.cross_claim.value / event.mu, math.inf)
    moved = 0.875 * 1.25 + SUM_STEP * math.sqrt(2 * genome.n_directions)
    assert request.cross_claim.value == pytest.approx(moved, rel=1e-15)
    assert request.noise_sd["cross"] == pytest.approx(event.sigma)
    # Frozen (docs/development.md).
    frozen = {"family", "statistic", "law", "sensitivity", "norm", "neighbours", "unit", "step", "entries"}
    assert set(event.identity_terms) == frozen | {"sigma"}
    assert (event.identity_terms["statistic"], event.identity_terms["law"]) == ("genome sums", "genome/1")
    assert event.identity_terms["entries"] == 2 * genome.n_directions
    assert float(event.identity_terms["step"]) == SUM_STEP


def test_draw__same_bytes_for_any_order_of_chromosomes(genome, cohort):
    sums, request = cohort[-1], request_of(genome)
    options = {"request": request, "made_with": MADE_WITH}
    first, _ = private_genome_sums(sums, genome, noise=BenchmarkNoise(1), **options)
    again, _ = private_genome_sums(sums[::-1], genome, noise=BenchmarkNoise(1), **options)
    other, _ = private_genome_sums(sums, genome, noise=BenchmarkNoise(2), **options)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert (first / SUM_STEP % 1 == 0).all()


def test_draw__of_a_release_is_that_of_its_rehearsal(genome, cohort):
    request, rehearsal = request_of(genome), Rehearsal()
    options = {"request": request, "made_with": MADE_WITH}
    private_genome_sums(cohort[-1], genome, noise=rehearsal.of("outcomes", "a", "b"), **options)
    requests = dict.fromkeys(rehearsal.draws, ("1", "identity"))

    def release(sums):
        noise = ReleaseNoise(StudyKey(bytes(32)), draws=rehearsal.draws, requests=requests)
        return private_genome_sums(sums, genome, noise=noise.of("outcomes", "a", "b"), **options)

    noisy, event = release(cohort[-1])
    np.testing.assert_array_equal(release(cohort[-1])[0], noisy)
    assert event.request == "1"
    assert (noisy / SUM_STEP % 1 == 0).all()
    changed = [replace(cohort[-1][0], axes=cohort[-1][0].axes + 2**40), *cohort[-1][1:]]
    with refused("noise-not-reserved"):
        release(changed)


def test_fault__a_grid_finer_than_that_of_the_noise_is_found(genome, cohort, monkeypatch):
    """Digits of S below the grid of the noise would be published exactly: nobody is to see them."""
    sums, request = cohort[-1], request_of(genome)
    chromosome = genome.chromosomes[0]
    high, low = pass_of_chromosome.exact_sums(sums[0], chromosome)
    assert low.any()

    def published(finer):
        # What is below the grid differs, as that of another cohort.
        with monkeypatch.context() as patch:
            patch.setattr(pass_of_chromosome, "exact_sums", lambda *_: (high, finer))
            options = {"request": request_of(genome_of([chromosome]), n_directions=high.shape[1])}
            alone = genome_of([chromosome])
            noise = BenchmarkNoise(1)
            return private_genome_sums(sums[:1], alone, noise=noise, made_with=MADE_WITH, **options)[0]

    np.testing.assert_array_equal(published(low), published(low ^ 5))

    def exact(self, chromosome):
        high, low = pass_of_chromosome.exact_sums(self, chromosome)
        return high + low / 2.0**24

    monkeypatch.setattr(ChromosomeSums, "direction_sums", exact)
    with refused("statistic-off-grid", error=UsageError):
        private_genome_sums(sums, genome, request=request, noise=BenchmarkNoise(1), made_with=MADE_WITH)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda sums: sums[1:], "must be of the chromosomes 2, 10, 1, each once, got those of 10, 1"),
        (lambda sums: [*sums, sums[0]], "each once, got those of 2, 10, 1, 2"),
        (lambda sums: [sums[0], sums[0], sums[2]], "each once, got those of 2, 2, 1"),
        (lambda sums: [*sums[:2], replace(sums[2], made_with="")], "must be made with the map"),
        (lambda sums: [replace(part, made_with="") for part in sums], "must be made with the map"),
        (lambda sums: [*sums[:2], replace(sums[2], is_clipped_jointly=True)], "with the map, its clip"),
    ],
)
def test_sums__of_other_chromosomes_or_another_release_are_refused(genome, cohort, change, message):
    with pytest.raises(UsageError, match=message):
        genome_statistic(change(cohort[-1]), genome, made_with=MADE_WITH)


@pytest.mark.parametrize(
    "changed", [{"n_outcomes": 1}, {"n_directions": 19}, {"row_norm": 0.866}, {"row_norm": math.sqrt(0.74)}]
)
def test_draw__a_map_beyond_what_the_claim_is_about_is_refused(genome, cohort, changed):
    noise = Silence()
    with refused("genome-sums-shape", error=UsageError):
        private_genome_sums(
            cohort[-1], genome, request=request_of(genome, **changed), noise=noise, made_with=MADE_WITH
        )
    assert noise.events == []


def zeros_of_norms(*norms):
    """Return a genome of chromosomes with these norms, and their sums of nobody."""
    chromosomes = [
        replace(random_chromosome(np.random.default_rng(1), contig=str(number), carries=False), row_norm=norm)
        for number, norm in enumerate(norms)
    ]
    sums = [
        ChromosomeSums(
            chromosome.contig,
            np.zeros((2, chromosome.n_variants), dtype=np.int64),
            np.zeros((2, 2), dtype=np.int64),
            MADE_WITH,
        )
        for chromosome in chromosomes
    ]
    return genome_of(chromosomes), sums


def test_draw__norms_of_chromosomes_may_be_all_of_the_norm():
    genome, sums = zeros_of_norms(0.375, 0.5)
    request = request_of(genome, row_norm=0.625)
    released, _ = private_genome_sums(sums, genome, request=request, noise=Silence(), made_with=MADE_WITH)
    assert not released.any()


@pytest.mark.parametrize("norms", [(0.01, 0.11), (0.27, 0.55)])
def test_draw__norms_of_chromosomes_beyond_the_norm_by_the_last_bit_are_refused(norms):
    """In float64, either side of the comparison would be rounded: it would pass."""
    genome, sums = zeros_of_norms(*norms)
    request = request_of(genome, row_norm=math.sqrt(norms[0] ** 2 + norms[1] ** 2))
    with refused("genome-sums-shape", error=UsageError):
        private_genome_sums(sums, genome, request=request, noise=Silence(), made_with=MADE_WITH)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"protection": "label", "neighbours": "replace-one"}, ("genome-protection", "`privacy.protection`")),
        ({"outcome_norm": None}, ("outcome-norm-missing", "`outcome_norm`")),
        ({"n_directions": 10**8}, ("too-many-genome-sums", "100000000")),
        ({"row_norm": None}, ("row-norm-with-other-coding", "`row_norm`")),
    ],
)
def test_request__is_refused(genome, changed, fault):
    assert request_of(genome, n_directions=5 * 10**7).n_directions == 5 * 10**7
    with refused(*fault, error=UsageError):
        request_of(genome, **changed)


def test_request__rows_are_people(genome):
    with refused("genome-rows", "`cohort.rows`", error=UsageError):
        _ = request_of(genome, rows="haplotypes").cross_claim


def test_request__a_file_gives_it_again(genome):
    request = request_of(genome)
    terms = json.loads(json.dumps(vars(request) | {}, default=str))
    assert request.key == GenomeRequest(**{name: terms[name] for name in request.__dataclass_fields__}).key
    assert request.key != request_of(genome, n_directions=genome.n_directions + 1).key


def test_public_digest__is_of_the_map_people_and_covariates(genome):
    effects = np.zeros((3, 2))
    digests = {
        public_digest(genome.digest, n=400_000, covariate_effects=effects),
        public_digest(genome.digest, n=400_000),
        public_digest(genome.digest, n=400_001, covariate_effects=effects),
        public_digest(genome.digest, n=400_000, covariate_effects=effects + 1e-9),
        public_digest(genome_of(genome.chromosomes, clip=2.0).digest, n=400_000, covariate_effects=effects),
        public_digest(
            genome_of(genome.chromosomes, is_clipped_jointly=True).digest,
            n=400_000,
            covariate_effects=effects,
        ),
        public_digest(genome_of(genome.chromosomes[:2]).digest, n=400_000, covariate_effects=effects),
    }
    assert len(digests) == 7
    assert public_digest(genome.digest, n=400_000.0, covariate_effects=effects) in digests
    assert all(len(digest) == 64 for digest in digests)


def test_audit__the_person_is_beyond_the_norm_of_each_chromosome():
    """Else the pair would not attain the claim, and an audit show too little."""
    for case in genome_cases()[:4]:
        released = [case.run(exact, Silence())[0] for exact in case.pair]
        moved = np.linalg.norm(released[1] - released[0])
        assert moved / case.parts[0].sd == pytest.approx(case.claim.value, rel=2e-5)
        assert moved / case.parts[0].sd < case.claim.value


def test_audit__a_row_that_nothing_shrinks_is_caught(monkeypatch):
    """Its norm is nearly twice that of its chromosomes."""
    monkeypatch.setattr(
        pass_of_chromosome.RowNorms, "factors", lambda self, slab, axes, **_: np.ones(slab.n_people)
    )
    case = genome_cases()[0]
    released = [case.run(exact, Silence())[0] for exact in case.pair]
    assert np.linalg.norm(released[1] - released[0]) / case.parts[0].sd > 1.8 * case.claim.value
