"""R^2 of fits along a map of the genome, as planned from an LD spectrum, against fits of simulated people."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.linalg.genome_map import mapped_rows
from dpgrs.linalg.genome_prior import (
    HERITABILITY,
    ReferenceChromosome,
    Spectrum,
    best_shares,
    equal_shares,
    expected_r2,
    genome_map,
    genome_prior,
    steered_noise,
)
from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries
from dpgrs.methods.genome_sums import map_terms
from dpgrs.methods.planning import expected_genome_fit
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.planning.ld_spectrum import assumed_spectrum

TERMS = {"outcome_bound": 3.0, "delta": 1e-6}
# Effects of one phenotype after the other have to be known to .01 on average.
N_PHENOTYPES = 200


def request_of(n_variants, *, n_outcomes=1, epsilon=3.0, **terms):
    return PrivacyRequest("people", n_variants, n_outcomes, epsilon=epsilon, **TERMS | terms)


def people_with_ld(rng, n, frequencies, *, neighbours):
    """Return counts of alleles of people, of which neighbours go together in blocks of 30 variants."""
    counts = 0
    for _ in range(2):
        latent = rng.standard_normal((n, len(frequencies)))
        for variant in range(len(frequencies)):
            if variant % 30:
                kept = np.sqrt(1 - neighbours**2)
                latent[:, variant] = neighbours * latent[:, variant - 1] + kept * latent[:, variant]
        limits = np.quantile(rng.standard_normal(10**5), frequencies)
        counts = counts + (latent < limits).astype(np.int8)
    return counts


@pytest.mark.parametrize(
    ("n", "epsilon", "neighbours"), [(2000, 3.0, 0.9), (2000, 1.0, 0.9), (500, 10.0, 0.5)]
)
def test_expected_genome_fit__is_what_fits_of_simulated_people_explain(n, epsilon, neighbours):
    rng, n_variants = np.random.default_rng(1), 240
    p = rng.uniform(0.1, 0.5, size=n_variants)
    panel, train, test = (people_with_ld(rng, size, p, neighbours=neighbours) for size in (1000, n, 4000))
    of_panel = panel.mean(axis=0) / 2
    bounds, none = np.arange(0, n_variants + 1, 30), np.empty(0, dtype=np.int64)
    reference = [ReferenceChromosome("1", panel, of_panel, bounds, none)]
    prior, request = genome_prior(reference, n_axes=0), request_of(n_variants, epsilon=epsilon)
    planned = expected_genome_fit(
        request, prior.population_spectrum.binned(), n_rows=n, heritability=HERITABILITY
    )

    mu = map_terms(request)["mu"]
    noise = steered_noise(prior.spectrum, n, mu=mu)
    genome = genome_map(prior, noise, reference)
    (chromosome,), no_axes = genome.chromosomes, np.zeros((n, 0), dtype=np.int64)
    z = mapped_rows(chromosome, train.astype(np.int64) * 2**12 - reference[0].centre, no_axes)
    z *= np.minimum(1, 1 / np.linalg.norm(z, axis=1, keepdims=True))
    effects = rng.standard_normal((N_PHENOTYPES, n_variants)) * reference[0].deviations ** -0.25
    genetic = effects @ (test - 2 * p).T
    effects *= np.sqrt(HERITABILITY) / genetic.std(axis=1, keepdims=True)
    genetic = effects @ (test - 2 * p).T
    y = effects @ (train - 2 * p).T + np.sqrt(1 - HERITABILITY) * rng.standard_normal((N_PHENOTYPES, n))
    S = np.clip(y, -noise.clip, noise.clip) @ z
    S += noise.clip / mu * rng.standard_normal(S.shape)
    seen = genome_entries(
        genome, [S], n, noise_sd=noise.clip / mu, slope=noise.slope, residual=noise.residual
    )
    standardised = np.concatenate(blup_effects(seen, fit_variances(seen)).of_blocks, axis=1)
    scores = standardised / reference[0].deviations @ (test - 2 * of_panel).T
    r2 = [HERITABILITY * np.corrcoef(*pair)[0, 1] ** 2 for pair in zip(scores, genetic, strict=True)]
    assert planned.r2 == pytest.approx(np.mean(r2), abs=0.02)
    assert planned.r2 < planned.r2_without_noise < HERITABILITY


@pytest.mark.parametrize("tau", [0.001, 0.05])
def test_best_shares__of_counts_are_those_of_as_many_directions(tau):
    p, rest, counts = np.array([0.2, 0.01, 0.05]), np.array([0.02, 0.01, 0.03]), np.array([1, 5, 2])
    shares, level = best_shares(p, p + rest, tau, counts)
    each = [np.repeat(terms, counts) for terms in (p, p + rest)]
    of_each, level_of_each = best_shares(*each, tau)
    np.testing.assert_allclose(np.repeat(shares, counts), of_each)
    equal, _ = equal_shares(p, p + rest, tau, counts)
    assert counts @ equal == pytest.approx(1)
    assert level == pytest.approx(level_of_each)
    assert expected_r2(p, p + rest, shares, tau, counts) == pytest.approx(expected_r2(*each, of_each, tau))


def test_binned__plans_as_the_whole_spectrum():
    p = np.random.default_rng(2).gamma(0.3, size=5000) ** 2
    p[:10] = 0
    whole = Spectrum(p * HERITABILITY / p.sum(), np.full(5000, 1e-6))
    binned = whole.binned()
    assert len(binned.variances) <= 401
    assert binned.counts.sum() == 5000
    assert binned.counts @ binned.variances == pytest.approx(HERITABILITY)
    for n, is_equal in ((300, False), (10_000, False), (300, True), (10_000, True)):
        options = {"mu": 0.6, "n_phenotypes": 2, "is_equal": is_equal}
        fits = (steered_noise(spectrum, n, **options).expected_r2 for spectrum in (whole, binned))
        assert next(fits) == pytest.approx(next(fits), abs=1e-3 if is_equal else 2e-4)


@pytest.mark.parametrize("n_variants", [500, 8625, 50_000, 345 * 2875, 500 * 2875])
def test_assumed_spectrum__has_all_variants_and_the_heritability(n_variants):
    spectrum = assumed_spectrum(n_variants, megabases=2875, n_panel=500)
    assert spectrum.counts.sum() == pytest.approx(n_variants, rel=1e-3)
    assert spectrum.counts @ spectrum.variances == pytest.approx(HERITABILITY, rel=1e-3)


def r2_of(n_variants, n, *, megabases=2875.0, n_panel=2000, **terms):
    spectrum = assumed_spectrum(n_variants, megabases=megabases, n_panel=n_panel)
    request = request_of(n_variants, **terms)
    return expected_genome_fit(request, spectrum, n_rows=n, heritability=HERITABILITY).r2


def test_assumed_spectrum__a_part_of_a_genome_and_of_its_people_stands_for_the_whole():
    whole = r2_of(1_000_000, 400_000, epsilon=1.0)
    assert r2_of(50_000, 20_000, megabases=2875 / 20, epsilon=1.0) == pytest.approx(whole, abs=1e-3)
    assert r2_of(3_000_000, 400_000, epsilon=1.0) == r2_of(10_000_000, 400_000, epsilon=1.0)
    assert (
        r2_of(1_000_000, 400_000, epsilon=1.0, n_panel=500) < whole < r2_of(1_000_000, 800_000, epsilon=1.0)
    )
    assert r2_of(1_000_000, 400_000, epsilon=1.0, n_outcomes=10) < whole
    assert r2_of(1_000_000, 400_000, epsilon=1.0, neighbours="replace-one") < whole


def test_assumed_spectrum__goes_on_from_density_to_density():
    r2 = [r2_of(round(density * 2875), 200_000) for density in np.geomspace(1, 1000, 61)]
    assert max(np.abs(np.diff(r2))) < 0.015
    # More variants of the same heritability have smaller effects each.
    assert r2[0] > r2[30] > r2[-1]


# Of docs/measurements/plan.md: BLUP on 150 megabases and 20,000 people, the mean of 1 %, 10 % and all causal.
@pytest.mark.parametrize(("epsilon", "measured"), [(1.0, 0.201), (3.0, 0.271), (10.0, 0.306)])
def test_assumed_spectrum__plans_what_was_measured(epsilon, measured):
    spectrum = assumed_spectrum(51_750, megabases=150, n_panel=2000)
    # All of the budget, as in that experiment.
    request = request_of(51_750, epsilon=epsilon, count_share=1e-6)
    planned = expected_genome_fit(request, spectrum, n_rows=20_000, heritability=HERITABILITY)
    assert planned.r2 == pytest.approx(measured, abs=0.01)


def test_expected_genome_fit__of_another_heritability_has_the_map_of_the_usual_one():
    spectrum, request = assumed_spectrum(10**5, megabases=2875, n_panel=500), request_of(10**5)
    r2 = [
        expected_genome_fit(request, spectrum, n_rows=10**5, heritability=h2).r2
        for h2 in (0.0, 0.2, 0.5, 0.9)
    ]
    assert r2 == sorted(r2)
    assert r2[0] == 0
    # Shares for the heritability itself would be better.
    terms = map_terms(request)
    better = steered_noise(replace(spectrum.scaled(0.4)), 10**5, mu=terms["mu"]).expected_r2
    assert 0.9 * better < r2[1] <= better
