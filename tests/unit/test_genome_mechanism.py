"""The mechanism of a whole genome: what it draws, stores, restores and gives each part, and its fit."""

import json
from dataclasses import asdict, fields, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.genome_map import ScoreVariances
from dpgrs.linalg.genome_moments import (
    SQUARE_WEIGHT,
    ChromosomeMoments,
    moment_norm,
    moment_weights,
    n_moments,
)
from dpgrs.linalg.genome_sums import ChromosomeSums
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.genome_mechanism import GenomeStatistics, genome_slopes, genome_weights
from dpgrs.methods.genome_moments import joint_moment_norm
from dpgrs.methods.genome_sums import (
    LARGEST_JOINT_NORM,
    ROW_NORM,
    GenomeRequest,
    genome_request,
    map_terms,
    public_digest,
    sensitivity_factor,
)
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from dpgrs.study.identity import identify_part
from genome_studies import map_of_variants, with_scores
from refused import refused

MECHANISM = GenomeStatistics()
FREQUENCY = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
D, N = len(FREQUENCY), 1000


def plain_request(**changed):
    terms = {"rows": "people", "n_variants": D, "n_outcomes": 2, "outcome_bound": 4.0}
    return PrivacyRequest(**terms | {"epsilon": 2.0, "delta": 1e-6} | changed)


def released_request(genome, **changed):
    asked = genome_request(plain_request(**changed))
    return replace(asked, outcome_norm=genome.clip, n_directions=genome.n_directions)


@pytest.fixture(scope="module")
def genome():
    return map_of_variants(FREQUENCY, clip=1.5, contigs=("1", "2"), n_axes=1)


@pytest.fixture(scope="module")
def exact(genome):
    """What is drawn from, as keywords."""
    rng, made_with = np.random.default_rng(1), public_digest(genome.digest, n=N)
    sums = [
        ChromosomeSums(
            chromosome.contig,
            rng.integers(-(2**40), 2**40, (2, D)),
            rng.integers(-(2**40), 2**40, (2, 1)),
            made_with,
        )
        for chromosome in genome.chromosomes
    ]
    known = {"genome": genome, "sums": sums, "made_with": made_with, "n_rows": N}
    return known | {"observed": np.array([N, N - 100]), "slopes": np.array([0.7, 0.9])}


def test_terms_of_a_map__are_what_noise_and_neighbours_are():
    one, other = map_terms(plain_request()), map_terms(plain_request(epsilon=3.0))
    assert one["mu"] == genome_request(plain_request()).budget["cross"] < other["mu"]
    assert json.loads(json.dumps(one)) == one
    assert map_terms(plain_request(neighbours="replace-one"))["neighbours"] == "replace-one"
    assert [sensitivity_factor(neighbours) for neighbours in ("add-remove", "replace-one")] == [1, 2]
    # It stays the same when the map has been made.
    assert map_terms(released_request(map_of_variants(FREQUENCY, clip=0.75))) == one


def test_request__takes_all_that_counts_leave():
    """No part is kept for X'X, and the norm of rows is the same for all maps."""
    request = genome_request(plain_request(counts_outcomes=True))
    assert isinstance(request, GenomeRequest)
    assert request.budget["gram"] == 0
    assert (request.row_norm, request.outcome_norm) == (ROW_NORM, np.sqrt(2))
    squares = [request.budget[name] ** 2 for name in ("count", "observed", "cross")]
    assert squares[0] == pytest.approx(squares[1]) == pytest.approx(0.01 * sum(squares))
    assert MECHANISM.request(json.loads(json.dumps(asdict(request)))) == request
    assert MECHANISM.terms(plain_request(counts_outcomes=True)) == request
    assert MECHANISM.key("blup-genome") == ("genome-statistics",)


@pytest.mark.parametrize("ld_share", [None, 0.1])
def test_exact__is_along_the_map_with_the_effects_of_covariates(genome, ld_share):
    """Its slopes are those of outcomes as they are clipped: one is less a public score."""
    request, effects = plain_request(ld_share=ld_share), np.ones((2, 3))
    stored = SimpleNamespace(genome=with_scores(genome, ("b",)), digest="of the map", planned_rows=N)
    made_with = public_digest(stored.digest, n=N, covariate_effects=effects)

    def stored_map(terms):
        assert terms == map_terms(request)
        return stored

    prevalence, entries = np.array([0.2, np.nan, np.nan]), np.arange(6).reshape(3, 2)
    records = {
        ChromosomeSums: ChromosomeSums("21", entries, entries, made_with),
        ChromosomeMoments: ChromosomeMoments("21", np.arange(3), made_with, 1.0),
    }
    data = SimpleNamespace(
        genome=stored_map,
        chromosomes=lambda made_with, kind: [records[kind]],
        observed=lambda *options: ("observed", *options),
        n_training=N,
        outcomes=SimpleNamespace(covariate_effects=effects, prevalence=prevalence),
    )
    exact = MECHANISM.exact(request, data=data, names=("a", "b"), settings=None)
    (sums,) = exact.pop("sums")
    np.testing.assert_array_equal(sums.variants, entries[:2])
    np.testing.assert_array_equal(sums.axes, entries[:2])
    slopes = genome_slopes(request, prevalence[:2], deviations=np.array([1.0, np.sqrt(0.75)]))
    np.testing.assert_array_equal(exact.pop("slopes"), slopes)
    assert slopes[1] > genome_slopes(request, prevalence[:2])[1]
    assert exact == {
        "genome": stored.genome,
        "moments": None if ld_share is None else [records[ChromosomeMoments]],
        "made_with": made_with,
        "n_rows": N,
        "observed": ("observed", D, 2),
        "request": request,
        "outcome_names": ("a", "b"),
    }


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("is_counted", [False, True])
def test_zeros__draw_what_sums_draw(genome, exact, neighbours, is_counted):
    request = released_request(genome, neighbours=neighbours, counts_outcomes=is_counted)
    drawn = []
    for known in (exact, MECHANISM.zeros(request, 2)):
        noise = Rehearsal()
        MECHANISM.draw(**known, request=request, noise=noise)
        drawn.append({part: [event for event, _ in draws] for part, draws in noise.draws.items()})
    assert drawn[0] == drawn[1]
    names = [event.statistic for events in drawn[0].values() for event in events]
    assert names == ["count"] * (neighbours == "add-remove") + ["outcome counts"] * is_counted + [
        "genome sums"
    ]


@pytest.fixture(scope="module")
def exact_moments(genome):
    """The second moments of both chromosomes, of people with the same entries."""
    made_with, rng = public_digest(genome.digest, n=N), np.random.default_rng(3)
    return [
        ChromosomeMoments(
            chromosome.contig,
            rng.integers(0, 2**30, n_moments(replace(genome, chromosomes=(chromosome,)))),
            made_with,
            moment_norm(chromosome),
        )
        for chromosome in genome.chromosomes
    ]


def request_of_moments(genome, **changed):
    asked = released_request(genome, ld_share=0.25, **changed)
    return replace(asked, moment_norm=joint_moment_norm(genome))


def test_moments__have_a_share_of_what_sums_would_have():
    """Hence the map is steered by the rest."""
    plain, with_moments = plain_request(), plain_request(ld_share=0.25)
    budgets = [genome_request(request).budget for request in (plain, with_moments)]
    assert budgets[0]["moments"] == 0
    assert budgets[1]["moments"] ** 2 == pytest.approx(0.25 * budgets[0]["cross"] ** 2)
    squares = [sum(Fraction(mu) ** 2 for mu in budget.values()) for budget in budgets]
    assert squares[1] <= squares[0]
    assert map_terms(with_moments)["mu"] == budgets[1]["cross"]
    assert genome_request(with_moments).moment_norm == LARGEST_JOINT_NORM


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_moments__are_drawn_once_for_all_budgets_beside_the_count(genome, exact, exact_moments, neighbours):
    request = request_of_moments(genome, neighbours=neighbours, n_outcomes=1)
    noise = Rehearsal()
    MECHANISM.draw(**exact, moments=exact_moments, request=request, noise=noise)
    of_genotypes = [event for event, _ in noise.draws["genotypes",]]
    assert [event.statistic for event in of_genotypes] == ["count"] * (neighbours == "add-remove") + [
        "genome moments"
    ]
    assert [part for part in noise.draws if part != ("genotypes",)] == [("outcomes", "0"), ("outcomes", "1")]
    assert of_genotypes[-1].mu == request.budget["moments"]
    assert of_genotypes[-1].sensitivity == request.moment_claim
    drawn = MECHANISM.draw(**exact, moments=exact_moments, request=request, noise=BenchmarkNoise(1))
    outputs = MECHANISM.outputs(drawn, ("a", "b"), request)
    n, moments = outputs["genotypes",]
    assert n == drawn.n
    np.testing.assert_array_equal(moments, drawn.moments)
    restored = MECHANISM.restore({"n": drawn.n}, MECHANISM.arrays(drawn))
    np.testing.assert_array_equal(restored.moments, drawn.moments)
    plain = released_request(genome, neighbours=neighbours)
    assert MECHANISM.draw(**exact, request=plain, noise=BenchmarkNoise(1)).moments is None


def test_zeros__draw_moments_of_one_block():
    """As a plan has them, which knows no map."""
    genome = map_of_variants(FREQUENCY, clip=1.5, size=D)
    request = replace(request_of_moments(genome), moment_norm=LARGEST_JOINT_NORM)
    noise = Rehearsal()
    MECHANISM.draw(**MECHANISM.zeros(request, 2), request=request, noise=noise)
    _, (event, _) = noise.draws["genotypes",]
    assert event.identity_terms["entries"] == n_moments(genome) == D * (D + 1) // 2


def test_identity__of_genotypes_names_the_map_of_second_moments_only():
    identity = {"dataset": {}, "genotypes": {}, "outcomes": {}, "ld": "d" * 64}
    of_parts = [
        identify_part(identity, "s", plain_request(ld_share=share), ("genotypes",), mechanism="m")
        for share in (None, 0.25)
    ]
    assert of_parts[1] == of_parts[0] | {"ld": "d" * 64}


def test_fit__with_moments_takes_the_ld_of_the_cohort_and_no_variances_of_the_panel(genome, exact):
    request = request_of_moments(genome, epsilon=20.0)
    plain = released_request(genome, epsilon=20.0)
    drawn = MECHANISM.draw(**exact, request=plain, noise=BenchmarkNoise(1))
    slopes, n = genome_slopes(request, np.full(2, np.nan)), 10**6
    cross = np.random.default_rng(2).normal(scale=0.1, size=drawn.cross.shape) * n
    drawn = replace(drawn, cross=cross, n=n, slopes=slopes)
    stated = FitTerms(0.0, heritability=0.5, genome=lambda asked: genome, same_ancestry=True)

    def weights_along(moments):
        noisy = replace(drawn, moments=moments)
        return genome_weights(noisy, request=request, terms=stated).weights

    pairs = [
        np.outer(block.shares, block.shares)[np.triu_indices(block.n_directions)]
        for chromosome in genome.chromosomes
        for block in chromosome.blocks
    ]
    is_square = moment_weights(genome) == SQUARE_WEIGHT
    like_panel = n * np.sqrt(np.concatenate(pairs)) * is_square
    unscaled = replace(stated, same_ancestry=False)
    expected = genome_weights(drawn, request=request, terms=unscaled).weights
    np.testing.assert_allclose(weights_along(like_panel), expected, rtol=0.02, atol=1e-3)
    other = n * np.sqrt(np.concatenate(pairs)) * np.where(is_square, 1.0, 0.6)
    assert np.abs(weights_along(other) - expected).max() > 0.05 * np.abs(expected).max()
    with refused("ld-share-with-public-effects", "`privacy.ld_share`", "`public.effects`", error=UsageError):
        genome_weights(
            replace(drawn, moments=other), request=request, terms=replace(stated, effects=object())
        )


def test_asked__so_many_moments_are_refused_before_any_draw(genome, monkeypatch):
    monkeypatch.setattr("dpgrs.methods.genome_mechanism.MOST_ENTRIES", n_moments(genome) - 1)
    data = SimpleNamespace(genome=lambda terms: SimpleNamespace(genome=genome))
    options = {"method": "blup-genome", "data": data, "n_outcomes": 2, "settings": None}
    asked = MECHANISM.asked(plain_request(), **options)
    assert asked == replace(genome_request(plain_request()), outcome_norm=1.5, n_directions=2 * D + 1)
    assert asked.moment_norm is None
    with refused("too-many-moments", error=UsageError):
        MECHANISM.asked(plain_request(ld_share=0.1), **options)
    monkeypatch.setattr("dpgrs.methods.genome_mechanism.MOST_ENTRIES", n_moments(genome))
    asked = MECHANISM.asked(plain_request(ld_share=0.1), **options)
    assert asked.moment_norm == joint_moment_norm(genome)
    assert MECHANISM.request(json.loads(json.dumps(asdict(asked)))) == asked


def test_zeros__of_many_variants_are_small():
    zeros = MECHANISM.zeros(plain_request(n_variants=10**5), 1)
    assert zeros["genome"].n_directions == 10**5
    assert zeros["genome"].chromosomes[0].blocks[0].matrix.size == 10**5


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [1, 2])
def test_outputs__are_all_numbers_of_a_part(genome, exact, neighbours, n_outcomes):
    """With a public n, on which weights depend."""
    terms = {"neighbours": neighbours, "n_outcomes": n_outcomes, "counts_outcomes": True}
    request = released_request(genome, **terms)
    drawn = MECHANISM.draw(**exact, request=request, noise=BenchmarkNoise(1))
    outputs = MECHANISM.outputs(drawn, ("a", "b"), request)
    assert (("genotypes",) in outputs) == (neighbours == "add-remove")
    groups = {2: {("a", "b"): [0, 1]}, 1: {("a",): [0], ("b",): [1]}}[n_outcomes]
    for names, group in groups.items():
        n, observed, cross = outputs["outcomes", *names]
        assert n == drawn.n
        np.testing.assert_array_equal(observed, drawn.observed[group])
        np.testing.assert_array_equal(cross, drawn.cross[group])
        assert cross.shape == (len(group), genome.n_directions)


def test_restore__is_what_was_drawn_but_for_the_events(genome, exact):
    request = released_request(genome, counts_outcomes=True)
    drawn = MECHANISM.draw(**exact, request=request, noise=BenchmarkNoise(1))
    np.testing.assert_array_equal(drawn.slopes, exact["slopes"])
    restored = MECHANISM.restore({"n": drawn.n}, MECHANISM.arrays(drawn))
    for field in fields(drawn):
        if field.name != "events":
            np.testing.assert_array_equal(getattr(restored, field.name), getattr(drawn, field.name))


def test_draw__refuses_sums_of_other_outcomes_or_another_map(genome, exact):
    options = {"request": released_request(genome, n_outcomes=3), "noise": BenchmarkNoise(1)}
    with refused("genome-sums-shape", error=UsageError):
        MECHANISM.draw(**exact, **options)
    options["request"] = released_request(genome)
    with refused("sums-of-another-map", error=UsageError):
        MECHANISM.draw(**exact | {"made_with": "another"}, **options)
    options["request"] = released_request(genome, counts_outcomes=True)
    for observed in (None, exact["observed"][:1]):
        with refused("counts-shape", "`observed`", error=UsageError):
            MECHANISM.draw(**exact | {"observed": observed}, **options)


def test_fit__without_noise_is_the_marginal_effect(genome, exact):
    """Of independent variants and many people, entries over gains, people and slopes are the effects."""
    request, genome = released_request(genome, epsilon=20.0), replace(genome, n_panel=10**6)
    terms = FitTerms(0.0, heritability=0.5, genome=lambda asked: genome)
    drawn = MECHANISM.draw(**exact, request=request, noise=BenchmarkNoise(1))
    effects = np.random.default_rng(2).normal(scale=0.2, size=(2, genome.n_directions))
    slopes, n = genome_slopes(request, np.full(2, np.nan)), 10**9
    shares = np.full(genome.n_directions, 1 / genome.n_directions)
    cross = effects * np.sqrt(shares) * n * 0.9 * slopes[:, np.newaxis]
    fit = genome_weights(replace(drawn, cross=cross, n=n, slopes=slopes), request=request, terms=terms)
    deviations = np.sqrt(2 * FREQUENCY * (1 - FREQUENCY))
    # The first entry is of the axis, which is on the first variant, and takes off what the axis explains.
    on_dosages = effects[:, 1:] / np.tile(deviations, 2)
    np.testing.assert_allclose(fit.weights[:, 1:], on_dosages[:, 1:], rtol=0.03)
    np.testing.assert_allclose(fit.means, np.tile(2 * FREQUENCY, 2) - 1, atol=2**-12)
    # An outcome that half of the people have tells as much with half the sum.
    halves = replace(drawn, cross=cross / 2, n=n, slopes=slopes, observed=np.full(2, n / 2))
    np.testing.assert_allclose(
        genome_weights(halves, request=request, terms=terms).weights, fit.weights, rtol=0.06, atol=1e-4
    )


def test_fit__is_scaled_by_a_panel_of_500_people_of_stated_ancestry(genome, exact):
    request = released_request(genome, epsilon=20.0)
    drawn = MECHANISM.draw(**exact, request=request, noise=BenchmarkNoise(1))
    effects = np.random.default_rng(2).normal(scale=0.2, size=(2, genome.n_directions))
    slopes, n = genome_slopes(request, np.full(2, np.nan)), 10**9
    drawn = replace(drawn, cross=effects * np.sqrt(1 / genome.n_directions) * n, n=n, slopes=slopes)
    seen = []

    def panel_variances(of_genome, weights):
        assert of_genome is given
        seen.append(np.hstack(weights))
        # Twice those of independent variants.
        of_chromosomes = 2 * sum(np.square(part) @ (2 * FREQUENCY * (1 - FREQUENCY)) for part in weights)
        return ScoreVariances(of_chromosomes, of_chromosomes, given.n_panel)

    plain = FitTerms(0.0, heritability=0.5, genome=lambda asked: given)
    given, stated = genome, replace(plain, same_ancestry=True, panel_variances=panel_variances)
    unscaled = genome_weights(drawn, request=request, terms=plain).weights
    scaled = genome_weights(drawn, request=request, terms=stated).weights
    assert [copies.shape for copies in seen] == [(8, 2 * D)]
    np.testing.assert_allclose(scaled, unscaled * (scaled[0, 0] / unscaled[0, 0]))
    assert scaled[0, 0] / unscaled[0, 0] == pytest.approx(0.5, rel=0.1)
    with refused("panel-missing"):
        genome_weights(drawn, request=request, terms=replace(stated, panel_variances=None))
    given = replace(genome, n_panel=499)
    small = genome_weights(drawn, request=request, terms=replace(stated, panel_variances=None))
    np.testing.assert_array_equal(small.weights, genome_weights(drawn, request=request, terms=plain).weights)


N_OUTCOMES = 8


@pytest.fixture(scope="module")
def of_many():
    """A map of 60 blocks, and the release of eight outcomes of given effects along it."""
    frequency = np.tile(FREQUENCY, 18)
    genome = map_of_variants(frequency, clip=3.0, size=3, contigs=("1", "2"))
    p = 0.5 / genome.n_directions
    chromosomes = tuple(
        replace(
            chromosome,
            blocks=tuple(
                replace(block, variances=np.full(3, p), heritability=3 * p) for block in chromosome.blocks
            ),
        )
        for chromosome in genome.chromosomes
    )
    genome = replace(genome, chromosomes=chromosomes)
    request = replace(
        genome_request(plain_request(n_variants=genome.n_variants, n_outcomes=N_OUTCOMES)),
        outcome_norm=genome.clip,
        n_directions=genome.n_directions,
    )
    slopes, n = genome_slopes(request, np.full(N_OUTCOMES, np.nan)), 1500

    def released(effects, *, seed):
        exact = effects * np.sqrt(1 / genome.n_directions) * n * 0.9 * slopes[:, np.newaxis]
        noise = np.random.default_rng(seed).standard_normal(exact.shape)
        cross = exact + request.noise_sd["cross"] * noise
        return NoisyStatistics(None, cross, n, (), slopes=slopes)

    return genome, request, released


def effects_of(seed, *, n_directions, is_shared):
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((N_OUTCOMES, n_directions))
    shared = rng.standard_normal(n_directions) if is_shared else own
    return np.sqrt(0.5 / n_directions) * (np.sqrt(0.8) * shared + np.sqrt(0.2) * own)


def squared_correlations(weights, effects, genome):
    deviations = np.concatenate([block.deviations for c in genome.chromosomes for block in c.blocks])
    scores = weights * deviations
    return np.array([np.corrcoef(w, b)[0, 1] ** 2 for w, b in zip(scores, effects, strict=True)])


@pytest.mark.parametrize("heritability", [None, 0.5])
def test_fit__of_outcomes_that_share_causes_gains_by_it(of_many, monkeypatch, heritability):
    genome, request, released = of_many
    terms = FitTerms(0.0, heritability=heritability, genome=lambda asked: genome)
    effects = effects_of(1, n_directions=genome.n_directions, is_shared=True)
    drawn = released(effects, seed=2)
    fit = genome_weights(drawn, request=request, terms=terms)
    assert fit.n_factors >= 1
    monkeypatch.setattr("dpgrs.methods.genome_mechanism.shared_causes", lambda *args, **options: None)
    apart = genome_weights(drawn, request=request, terms=terms)
    assert apart.n_factors is None
    r2, r2_apart = (squared_correlations(one.weights, effects, genome).mean() for one in (fit, apart))
    assert r2 > 1.3 * r2_apart


def test_fit__of_outcomes_that_share_nothing_is_the_same_to_the_byte(of_many, monkeypatch):
    genome, request, released = of_many
    terms = FitTerms(0.0, genome=lambda asked: genome)
    drawn = released(effects_of(3, n_directions=genome.n_directions, is_shared=False), seed=4)
    fit = genome_weights(drawn, request=request, terms=terms)
    assert fit.n_factors is None
    monkeypatch.setattr("dpgrs.methods.genome_mechanism.shared_causes", lambda *args, **options: None)
    apart = genome_weights(drawn, request=request, terms=terms)
    assert fit.weights.tobytes() == apart.weights.tobytes()
    assert set(fit.arrays()) == {"weights", "means", "intercept"}


def test_fit__outcomes_with_public_effects_share_no_causes(of_many):
    """The others do, with each other."""
    genome, request, released = of_many
    effects = effects_of(1, n_directions=genome.n_directions, is_shared=True)
    drawn = released(effects, seed=2)
    is_for = np.zeros((N_OUTCOMES, 1), dtype=bool)
    is_for[2] = True
    public = PublicEffects(effects[:1], np.ones(1, dtype=bool), is_for)
    plain = FitTerms(0.0, genome=lambda asked: genome)
    fit = genome_weights(drawn, request=request, terms=replace(plain, effects=public))
    assert fit.n_factors >= 1
    assert fit.correlations[2] != 0
    assert not np.delete(fit.correlations, 2).any()
    # The weights of the others do not depend on what the public effects are.
    other = replace(public, values=-public.values)
    again = genome_weights(drawn, request=request, terms=replace(plain, effects=other))
    is_other = np.arange(N_OUTCOMES) != 2
    np.testing.assert_array_equal(fit.weights[is_other], again.weights[is_other])
