"""Public scores that are subtracted from outcomes: weights, scores of people, and what is added again."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpgrs.errors import UsageError
from dpgrs.io import people_slabs
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.linalg import genome_sums
from dpgrs.linalg.attenuation import clip_moments, clip_slopes
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, score_rows
from dpgrs.linalg.genome_prior import genome_map, residual_deviation, steered_noise
from dpgrs.linalg.genome_sums import ROW_STEP, chromosome_scores, less_scores, require_exact_scores
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries, variant_weights
from dpgrs.methods.genome_mechanism import genome_slopes, genome_weights
from dpgrs.methods.genome_public import shown_entries
from dpgrs.methods.genome_sums import ROW_NORM, GenomeRequest, map_terms
from dpgrs.methods.planning import expected_genome_fit
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.methods.public_scores import (
    MOST_EXPLAINED,
    NOISE_SHARES,
    SCALES,
    public_scores,
    with_public_scores,
)
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.study.genome_maps import stored_map, stored_maps
from dpgrs.study.genome_people import contig_sums, measured_people
from dpgrs.study.public_files import effects_to_subtract, files_named, save_effects
from dpgrs.study.public_panel import spectrum_item, stored_residuals
from genome_maps import CALLS, MISSING, dosage_slab_of, random_chromosome, slab_of
from genome_simulation import H2, MU, N_PEOPLE, N_VARIANTS, Simulation
from genome_studies import CONTIGS, FREQUENCY, D, N, items_of_map, map_of_variants, people_of, request_of
from refused import refused

SCORED = ("b",)


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    return Simulation(tmp_path_factory.mktemp("map") / "ld.npz", seed=3, is_equal=False)


def scored_map(weights, *, scored=SCORED, residual=0.75, **options):
    """Return a map of two chromosomes with weights of scores, (n_scores, n_variants) in steps."""
    options = {"clip": 1.25, "contigs": CONTIGS, "n_axes": 1} | options
    genome = map_of_variants(FREQUENCY, **options)
    parts = np.split(np.asarray(weights, dtype=np.int64), 2, axis=1)
    chromosomes = tuple(
        replace(chromosome, score_weights=part)
        for chromosome, part in zip(genome.chromosomes, parts, strict=True)
    )
    residuals = (residual,) * len(scored)
    return replace(genome, chromosomes=chromosomes, scored=scored, residual_variances=residuals)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(5).integers(-(2**23), 2**23, (1, D))


@pytest.fixture
def stored(tmp_path, weights):
    terms = map_terms(request_of())
    items = items_of_map(scored_map(weights), terms, planned_rows=60, n_summed=2)
    save_labelled(tmp_path / "map.npz", items)
    return stored_map(tmp_path / "map.npz", terms)


@pytest.fixture(scope="module")
def alleles():
    return np.random.default_rng(3).integers(0, 2, (D, 2 * N)).astype(np.uint8)


@pytest.mark.parametrize("has_dosages", [False, True])
@pytest.mark.parametrize(("n_together", "n_threads"), [(2, 1), (64, 2), (512, 1)])
def test_chromosome_scores__are_python_integers_in_any_tiles(monkeypatch, has_dosages, n_together, n_threads):
    monkeypatch.setattr(genome_sums, "TILE_PEOPLE", max(n_together, 64))
    rng = np.random.default_rng(1)
    chromosome = random_chromosome(rng, sizes=(7, 5))
    weights = rng.integers(-(2**26), 2**26, (2, 12))
    chromosome = replace(chromosome, score_weights=weights)
    choices = [MISSING, *range(0, 8193, 1024)] if has_dosages else [MISSING, 0, 1, 2]
    people = [[choices[i] for i in rng.integers(len(choices), size=12)] for _ in range(130)]
    slab = (lambda rows: dosage_slab_of(rows, chromosome)) if has_dosages else slab_of
    slabs = [slab(people[first : first + n_together]) for first in range(0, len(people), n_together)]
    scores = chromosome_scores(slabs, chromosome, n_people=len(people), n_threads=n_threads)
    exact = [
        [
            sum(
                int(w) * ((call if has_dosages else CALLS[call]) - int(a))
                for w, call, a in zip(row, person, chromosome.centre, strict=True)
                if call is not MISSING
            )
            for person in people
        ]
        for row in weights
    ]
    assert scores.tolist() == exact


def test_people_scores__are_of_all_chromosomes_and_any_slabs(monkeypatch, alleles, stored, weights):
    scores = measured_people(people_of(alleles), stored)["scores"]
    steps = 4096 * (alleles[:, ::2] + alleles[:, 1::2]).astype(np.int64)
    centre = np.concatenate([stored.chromosome(contig).centre for contig in CONTIGS])
    np.testing.assert_array_equal(scores, weights @ (steps - centre[:, np.newaxis]))
    monkeypatch.setattr(people_slabs, "CHUNK_PEOPLE", 64)
    other = measured_people(people_of(alleles), stored, n_threads=2)["scores"]
    np.testing.assert_array_equal(other, scores)


def test_people_scores__of_weights_too_large_over_all_chromosomes_are_refused(alleles, tmp_path):
    """Those of each chromosome would be exact."""
    weights = np.zeros((1, D), dtype=np.int64)
    weights[0, [0, D // 2]] = 6 * 10**10
    items = items_of_map(scored_map(weights), map_terms(request_of()), planned_rows=60, n_summed=2)
    save_labelled(tmp_path / "map.npz", items)
    with refused("score-weights-too-large", error=UsageError):
        measured_people(people_of(alleles), stored_maps(tmp_path / "map.npz")[0])


@pytest.fixture
def outcomes():
    values = np.random.default_rng(4).standard_normal((2, N))
    values[1, ::5] = np.nan
    return Outcomes(("a", "b"), {D: values}, {}, np.arange(N) % 7 > 0, "people")


def test_contig_sums__are_of_outcomes_less_their_score(alleles, outcomes, stored):
    people, options = people_of(alleles), {"outcome_bound": 3.0}
    measured = measured_people(people, stored)
    values = outcomes.values[D].copy()
    values[1] -= measured["scores"][0] * ROW_STEP
    residual = replace(outcomes, values={D: values})
    none = {"axes": measured["axes"], "scores": np.zeros_like(measured["scores"])}
    for contig in CONTIGS:
        sums = contig_sums(people, outcomes, stored, contig, measured=measured, **options)
        expected = contig_sums(people, residual, stored, contig, measured=none, **options)
        np.testing.assert_array_equal(sums.variants, expected.variants)
        np.testing.assert_array_equal(sums.axes, expected.axes)
        plain = contig_sums(people, outcomes, stored, contig, measured=none, **options)
        assert (sums.variants != plain.variants).any()
    residuals = less_scores(outcomes.values[D], measured["scores"], [-1, 0])
    np.testing.assert_array_equal(residuals[0], outcomes.values[D][0])
    np.testing.assert_array_equal(np.isnan(residuals[1]), np.arange(N) % 5 == 0)


@pytest.mark.parametrize(
    "changed", [{"names": ("a", "c")}, {"prevalence": np.array([np.nan, 0.1])}], ids=["absent", "0/1"]
)
def test_contig_sums__of_outcomes_without_the_score_are_refused(alleles, outcomes, stored, changed):
    people, other = people_of(alleles), replace(outcomes, **changed)
    options = {"measured": measured_people(people, stored), "outcome_bound": 3.0}
    with refused("subtracted-outcomes", "got b"):
        contig_sums(people, other, stored, "1", **options)


@pytest.mark.parametrize("n_people", [1, N - 1])
def test_contig_sums__of_scores_of_other_people_are_refused_without_a_number(
    alleles, outcomes, stored, n_people
):
    people = people_of(alleles)
    measured = measured_people(people, stored)
    measured["scores"] = measured["scores"][:, :n_people]
    with refused("people-of-scores-differ", error=UsageError) as caught:
        contig_sums(people, outcomes, stored, "1", measured=measured, outcome_bound=3.0)
    assert not any(character.isdigit() for character in str(caught.value))


def test_contig_sums__of_one_person_are_what_the_person_adds_to_others(alleles, outcomes, stored):
    """Nobody's score or residual depends on who else is there."""

    def sums(is_chosen):
        people = people_of(alleles[:, np.repeat(is_chosen, 2)])
        values = {D: outcomes.values[D][:, is_chosen]}
        chosen = replace(outcomes, values=values, is_training=outcomes.is_training[is_chosen])
        measured = measured_people(people, stored)
        return [
            contig_sums(people, chosen, stored, contig, measured=measured, outcome_bound=3.0)
            for contig in CONTIGS
        ]

    whole = sums(np.ones(N, dtype=bool))
    for person in (0, 6, 7, 31, N - 1):
        is_person = np.arange(N) == person
        for total, others, alone in zip(whole, sums(~is_person), sums(is_person), strict=True):
            np.testing.assert_array_equal(total.variants - others.variants, alone.variants)
            np.testing.assert_array_equal(total.axes - others.axes, alone.axes)


def test_digest__is_another_with_other_weights_or_names(stored, weights, tmp_path):
    plain = replace(scored_map(weights), scored=(), residual_variances=())
    plain = replace(plain, chromosomes=tuple(replace(part, score_weights=None) for part in plain.chromosomes))
    assert plain.digest == map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS, n_axes=1).digest
    other = weights.copy()
    other[0, -1] += 1
    maps = [plain, stored.genome, scored_map(other), scored_map(weights, scored=("a",))]
    assert len({one.digest for one in maps}) == 4
    terms = map_terms(request_of())
    items = list(items_of_map(scored_map(weights), terms, planned_rows=60, n_summed=2))
    items[1][1]["score_weights"][0, 0] += 1
    save_labelled(tmp_path / "changed.npz", items)
    with refused("genome-map-changed"):
        _ = stored_maps(tmp_path / "changed.npz")[0].genome


def test_require_exact_scores__by_the_sum_of_weights():
    most = 2**52 // (2**15 + 8192)
    # Each score by itself.
    require_exact_scores([np.array([[most, 0], [0, -most]]), np.array([[0], [0]])])
    with refused("score-weights-too-large", error=UsageError):
        require_exact_scores([np.array([[most - 1, 1]]), np.array([[-1]])])


def test_public_scores__explain_what_a_posterior_mean_does(simulation):
    """The variance that is left is that of other people's phenotypes, whose slope is about 1."""
    gwas = simulation.gwas(4000, seed=1)
    names = tuple(map(str, range(len(gwas))))
    scores = public_scores(simulation.prior, simulation.reference, dict(zip(names, gwas, strict=True)))
    assert scores.names == names
    weights = np.hstack(scores.weights) * MAP_STEP
    of_test = weights @ (simulation.test - simulation.test.mean(axis=0)).T
    genetic = simulation.genetic * np.sqrt(H2) / simulation.genetic.std(axis=1, keepdims=True)
    slopes = [np.polyfit(s, g, 1)[0] for s, g in zip(of_test, genetic, strict=True)]
    assert 0.93 < np.mean(slopes) < 1.07
    explained = 1 - np.array(scores.residual_variances)
    r2 = [H2 * np.corrcoef(s, g)[0, 1] ** 2 for s, g in zip(of_test, genetic, strict=True)]
    assert np.mean(r2) > 0.25
    assert np.mean(explained) == pytest.approx(np.mean(r2), abs=0.04)
    assert residual_deviation(scores.residual_variances, len(names)) == pytest.approx(
        np.sqrt(1 - explained.mean())
    )
    assert residual_deviation(scores.residual_variances, 2 * len(names)) == pytest.approx(
        np.sqrt(1 - explained.mean() / 2)
    )


@pytest.mark.parametrize("times", [1, 1.5])
def test_public_scores__are_the_average_over_heritabilities_and_noise(simulation, times):
    """Of the half of the directions with the largest variances; the others have no part.

    Effects of 1.5 times their size would also be likely if they explained all of the phenotype, or more.
    """
    effects, prior = times * simulation.gwas(4000, seed=5)[0], simulation.prior
    effects[::7] = 0  # not in the file
    (weights,) = np.hstack(public_scores(prior, simulation.reference, {"height": effects}).weights) * MAP_STEP
    scores, entries, shown = [], [], []
    cuts = np.cumsum([len(block.deviations) for block in prior.blocks])[:-1]
    for block, w, of_block in zip(
        prior.blocks, np.split(weights, cuts), np.split(effects, cuts), strict=True
    ):
        root, V = block.matrices().astype(float)
        scores.append(V.T @ root @ (w * block.deviations))
        of_entries, of_shown = shown_entries(root, V, of_block * block.deviations)
        entries.append(of_entries)
        shown.append(of_shown)
    scores, entries, shown = map(np.concatenate, (scores, entries, shown))
    p, chances = prior.spectrum.variances, prior.spectrum.chances
    is_used = (p >= np.median(p)) & (shown > 0)
    assert 0.4 < is_used.mean() < 0.6
    np.testing.assert_allclose(scores[~is_used], 0, atol=1e-6)
    scores, entries, shown, p, chances = (of_all[is_used] for of_all in (scores, entries, shown, p, chances))
    mean_square = np.mean(shown * entries**2)
    pairs = [(2 * h, share * mean_square) for h in SCALES for share in NOISE_SHARES if h < 1]
    log_likelihoods = np.array(
        [norm.logpdf(entries * np.sqrt(shown), scale=np.sqrt(A * p + w)).sum() for A, w in pairs]
    )
    probabilities = np.exp(log_likelihoods - log_likelihoods.max())
    shares = sum(
        probability * A * p / (A * (p + chances) + w)
        for probability, (A, w) in zip(probabilities / probabilities.sum(), pairs, strict=True)
    )
    np.testing.assert_allclose(scores, shares * shown * entries, rtol=1e-4, atol=1e-6)


def test_public_scores__of_effects_in_other_units_are_refused(simulation):
    gwas = simulation.gwas(4000, seed=2)[0]
    with refused("public-effects-too-large", error=UsageError):
        public_scores(simulation.prior, simulation.reference, {"height": 10 * gwas})
    # These are in the right unit, but explain .91.
    with refused("public-effects-too-large", error=UsageError):
        public_scores(
            simulation.prior, simulation.reference, {"height": 1.5 * simulation.gwas(20_000, seed=2)[0]}
        )
    assert MOST_EXPLAINED == 0.9
    nothing = public_scores(simulation.prior, simulation.reference, {"height": np.zeros(N_VARIANTS)})
    assert nothing.residual_variances == (1.0,)
    assert public_scores(simulation.prior, simulation.reference, {}) is None


def test_with_public_scores__of_nothing_else_are_the_entries_of_its_effects(weights):
    """Sums of outcomes that their score leaves nothing of become those of the score, with its axes."""
    genome = scored_map(weights)
    none = [np.zeros((2, chromosome.n_directions)) for chromosome in genome.chromosomes]
    seen = genome_entries(genome, none, 100, noise_sd=0.1, slope=0.9, residual=1.0)
    added = with_public_scores(seen, genome, ("a", "b"))
    of_axes = 0.0
    for chromosome in genome.chromosomes:
        w = chromosome.score_weights[0] * MAP_STEP
        of_axes += w @ (chromosome.axis_effects * DOSAGE_STEP)
    np.testing.assert_allclose(added.of_axes, [np.zeros(1), of_axes])
    blocks = [(c, block) for c in genome.chromosomes for block in c.blocks]
    for (chromosome, block), entries, before in zip(blocks, added.blocks, seen.blocks, strict=True):
        theta = chromosome.score_weights[0, block.columns] * MAP_STEP * block.deviations
        np.testing.assert_allclose(entries.entries[1], block.loadings.T @ theta)
        assert not entries.entries[0].any()
        assert entries.noise is before.noise
    model = fit_variances(added, heritability=0.5)
    fitted = np.hstack(variant_weights(genome, blup_effects(added, model)))
    assert not fitted[0].any()
    assert np.corrcoef(fitted[1], weights[0])[0, 1] > 0.9


def test_subtraction__lets_the_clip_fall_and_adds_to_r2(simulation):
    """On the same people with the same noise, before any file is followed."""
    gwas, noise = simulation.gwas(4000, seed=3)[:8], simulation.noise
    scores = public_scores(
        simulation.prior, simulation.reference, {f"{i}": one for i, one in enumerate(gwas)}
    )
    less = steered_noise(
        simulation.prior.spectrum, N_PEOPLE, mu=MU, deviation=residual_deviation(scores.residual_variances, 1)
    )
    assert less.clip < noise.clip
    assert less.tau < noise.tau
    assert less.residual < noise.residual
    assert less.expected_r2 > noise.expected_r2
    genome = genome_map(simulation.prior, less, simulation.reference, scores)
    assert genome.scored == tuple(map(str, range(8)))
    assert genome.digest == replace(genome).digest


def test_clips__of_smaller_outcomes_are_those_of_a_larger_clip():
    unknown, sds = np.full(2, np.nan), np.array([0.5, 0.5])
    terms = {"bound": 3.0, "norm": 1.5, "n_shared": 2}
    larger = {"bound": 6.0, "norm": 3.0, "n_shared": 2}
    np.testing.assert_allclose(clip_slopes(unknown, **terms, deviations=sds), clip_slopes(unknown, **larger))
    slopes, squares = clip_moments(unknown, **terms, deviations=sds)
    expected = clip_moments(unknown, **larger)
    np.testing.assert_allclose([slopes, 4 * squares], expected, rtol=1e-9)
    rng = np.random.default_rng(1)
    y = rng.standard_normal((2, 400_000)) * [[0.5], [1.0]]
    clipped = np.clip(y, -1.2, 1.2)
    clipped *= np.minimum(1, 0.8 / np.linalg.norm(clipped, axis=0))
    empirical = (y * clipped).mean(axis=1) / np.square(y).mean(axis=1)
    terms = {"bound": 1.2, "norm": 0.8, "n_shared": 2, "deviations": np.array([0.5, 1.0])}
    np.testing.assert_allclose(clip_slopes(unknown, **terms), empirical, rtol=0.01)
    np.testing.assert_allclose(clip_moments(unknown, **terms)[1], np.square(clipped).mean(axis=1), rtol=0.01)


def test_score_rows__are_by_name():
    assert score_rows(("b", "a"), ("a", "c", "b")).tolist() == [1, -1, 0]
    genome = scored_map(np.zeros((2, D)), scored=("b", "a"), residual=0.25)
    np.testing.assert_array_equal(genome.deviations(("a", "c", "b")), [0.5, 1.0, 0.5])


def test_effects_to_subtract__are_of_the_one_file_named_after_an_outcome(tmp_path):
    names = ["height.txt.gz", "height.old.txt", "gwas.tsv"]
    files = [{"name": name, "digest": "", "is_marginal": True, "matched": ""} for name in names]
    values = np.arange(6.0).reshape(3, 2)
    save_effects(tmp_path / "effects.npz", files, {2: values})
    effects = effects_to_subtract(tmp_path / "effects.npz", {"height": "height"})
    np.testing.assert_array_equal(effects[2]["height"], values[0])
    assert files_named("gwas", [*names, "gwas.gz"]) == [2, 3]
    # One map of the same scores, and so one request, in whatever order settings name them.
    for stems in ({"height": "height", "bmi": "gwas"}, {"bmi": "gwas", "height": "height"}):
        assert list(effects_to_subtract(tmp_path / "effects.npz", stems)[2]) == ["bmi", "height"]
    with refused("public-effects-file-missing", "`public.subtract`", "got 0"):
        effects_to_subtract(tmp_path / "effects.npz", {"bmi": "bmi"})


@pytest.fixture(scope="module")
def joint(simulation):
    """A map with the scores of two phenotypes of three."""
    effects = dict(zip(("a", "c"), simulation.gwas(2000, seed=4)[[0, 2]], strict=True))
    scores = public_scores(simulation.prior, simulation.reference, effects)
    noise = steered_noise(
        simulation.prior.spectrum,
        N_PEOPLE,
        mu=MU,
        n_phenotypes=3,
        deviation=residual_deviation(scores.residual_variances, 3),
    )
    return genome_map(simulation.prior, noise, simulation.reference, scores)


def test_fit__adds_scores_by_the_names_of_outcomes(simulation, joint):
    """Without any sums the weights are those of the scores, as far as the map sees them; b has none."""
    request = GenomeRequest(
        **{"rows": "people", "n_variants": N_VARIANTS, "n_outcomes": 3, "outcome_bound": 3.0},
        **{"epsilon": 50.0, "delta": 1e-6, "coding": "frequency", "row_norm": ROW_NORM},
        outcome_norm=joint.clip,
        n_directions=joint.n_directions,
    )
    names = ("a", "b", "c")
    slopes = genome_slopes(request, np.full(3, np.nan), deviations=joint.deviations(names))
    assert slopes[1] < min(slopes[0], slopes[2])
    drawn = NoisyStatistics(None, np.zeros((3, joint.n_directions)), 10.0**7, (), slopes=slopes)
    is_for = np.zeros((3, 1), dtype=bool)
    no_file = PublicEffects(np.zeros((1, N_VARIANTS)), np.array([True]), is_for, names)
    terms = FitTerms(0.0, heritability=0.5, genome=lambda asked: joint, effects=no_file)
    weights = genome_weights(drawn, request=request, terms=terms).weights
    public = np.hstack([chromosome.score_weights for chromosome in joint.chromosomes]) * MAP_STEP
    assert np.abs(weights[1]).max() < 0.02 * np.abs(weights[0]).max()
    panel = np.hstack([part.dosages for part in simulation.reference])
    for row, score in ((0, public[0]), (2, public[1])):
        assert np.corrcoef(panel @ weights[row], panel @ score)[0, 1] > 0.9
    for effects in (None, replace(no_file, names=names[:2])):
        with refused("effects-of-other-outcomes", error=UsageError):
            genome_weights(drawn, request=request, terms=replace(terms, effects=effects))


def test_plan__takes_what_public_scores_leave_from_the_file_of_maps(simulation, tmp_path):
    spectrum = simulation.prior.population_spectrum
    residuals = {"residual_variances": [0.5]}
    for name, more in (("plain", {}), ("less", residuals)):
        save_labelled(tmp_path / f"{name}.npz", [spectrum_item(spectrum, D, n_panel=500, **more)])
    assert stored_residuals(tmp_path / "plain.npz") == {D: ()}
    assert stored_residuals(tmp_path / "less.npz") == {D: (0.5,)}
    request = request_of(n_outcomes=1)
    options = {"n_rows": 2000, "heritability": 0.5}
    plain, less = (expected_genome_fit(request, spectrum, **options, **more) for more in ({}, residuals))
    assert less.r2 > 1.05 * plain.r2
