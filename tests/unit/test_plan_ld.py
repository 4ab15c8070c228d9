"""Plans with the linkage disequilibrium of a public panel, against cohorts and panels of real rows."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.clipped_statistics import clipped_statistics, frequency_rows
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.linalg.steering import SteerableRows
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.planning import expected_fit, expected_r2
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.synthetic_cohort import noisy_statistics, synthetic_cohort, synthetic_panel
from dpgrs.methods.synthetic_steering import steered
from dpgrs.privacy.noise.sources import BenchmarkNoise

D, N_ROWS, N_PUBLIC, N_OUTCOMES, HERITABILITY = 24, 1200, 800, 10, 0.5
THRESHOLDS = np.linspace(-1.2, 0.6, D)
MEANS = np.full(N_OUTCOMES, np.nan)  # of normal outcomes
NEIGHBOURS = 0.9  # correlation of what makes alleles of neighbours
TERMS = FitTerms(0.2)


def haplotypes(stream, n_rows):
    """Return (n_rows, D) alleles of one chromosome: neighbours go together."""
    latent = stream.standard_normal((D, n_rows))
    for variant in range(1, D):
        latent[variant] = NEIGHBOURS * latent[variant - 1] + np.sqrt(1 - NEIGHBOURS**2) * latent[variant]
    return (latent < THRESHOLDS[:, np.newaxis]).T


@pytest.fixture(scope="module")
def population():
    """The frequencies and covariance of alleles."""
    X = haplotypes(np.random.default_rng(0), 100_000)
    return X.mean(axis=0), np.cov(X.T.astype(float))


def request_of(frequency, **terms):
    terms = {
        "epsilon": 3.0,
        "delta": 1e-6,
        "unit": "haplotype",
        "outcome_norm": 1.1 * N_OUTCOMES**0.5,
    } | terms
    row_norm = tight_row_norm(frequency, rows="haplotypes", factor=1)
    tight = {"coding": "frequency", "row_norm": row_norm}
    return PrivacyRequest("haplotypes", len(frequency), N_OUTCOMES, 3.0, **terms | tight)


def ld_of(X, frequency, request):
    options = {"row_norm": request.row_norm, "n_haplotypes": len(X), "rows": "haplotypes"}
    rows = frequency_rows(pack(X.T), frequency, **options) * GENOTYPE_STEP
    places = {"contig": np.full(D, "1"), "position": np.arange(D)}
    return public_ld(rows, **places, rows_per_person=2)


def drawn(method, request, X, Y, frequency, ld, noise):
    """Draw by the mechanism of a release from rows."""
    mechanism, bits = mechanism_of(method), pack(X.T)
    Y = grid_outcomes(Y, bound=request.outcome_bound, row_norm=request.outcome_norm)
    options = {"row_norm": request.row_norm, "n_haplotypes": len(X), "rows": "haplotypes"}
    gram, cross = clipped_statistics(bits, frequency, Y, **options)
    slopes = clip_slopes(MEANS, bound=request.outcome_bound, norm=request.outcome_norm, n_shared=N_OUTCOMES)
    known = {"slopes": slopes, "origin": frequency_origin(frequency), "request": request, "noise": noise}
    if method == "blup":
        return mechanism.draw(gram, cross, len(X), **known)
    everybody = np.ones(len(X), dtype=bool)
    bounds = (request.row_norm, request.outcome_bound, frequency)
    rows = SteerableRows(bits, Y, len(X), "haplotypes", everybody, *bounds)
    if method == "blup-ld":
        known, gram = known | {"ld": ld}, None
    return mechanism.draw(gram, rows, len(X), digest="", **known)


def frequency_origin(frequency):
    return np.rint(frequency / GENOTYPE_STEP) * GENOTYPE_STEP - 0.5


def r2_of_runs(method, request, population, *, n_runs):
    """Run mechanism and fit on new people and a new panel each time; return the mean R^2 in all others."""
    frequency, S = population
    accuracies = []
    for repeat in range(n_runs):
        stream = np.random.default_rng(100 + repeat)
        X, panel = haplotypes(stream, N_ROWS), haplotypes(stream, N_PUBLIC)
        effects = stream.standard_normal((N_OUTCOMES, D))
        effects *= np.sqrt(HERITABILITY / ((effects @ S) * effects).sum(axis=1))[:, np.newaxis]
        Y = effects @ (X - frequency).T
        Y += stream.standard_normal(Y.shape) * np.sqrt(1 - HERITABILITY)
        ld = ld_of(panel, frequency, request)
        noisy = drawn(method, request, X, Y, frequency, ld, BenchmarkNoise(1, "test", repeat))
        fit = fit_released(method, noisy, request=request, terms=replace(TERMS, ld={D: ld}))
        missed = fit.weights - effects
        shift = (fit.weights @ (fit.means + 0.5 - frequency)) ** 2
        accuracies.append(HERITABILITY - ((missed @ S) * missed).sum(axis=1) - shift)
    return np.mean(accuracies)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize("method", ["blup", "blup-steered", "blup-ld"])
def test_expected_r2__with_ld_of_a_panel_agrees_with_runs(method, epsilon, population):
    frequency, _ = population
    request = request_of(frequency, epsilon=epsilon)
    ld = ld_of(haplotypes(np.random.default_rng(7), N_PUBLIC), frequency, request)
    model = {"n_rows": N_ROWS, "frequency": frequency, "heritability": HERITABILITY}
    planned = expected_r2(method, request, terms=TERMS, n_outcomes=N_OUTCOMES, ld=ld, **model)
    assert planned == pytest.approx(r2_of_runs(method, request, population, n_runs=10), abs=0.03)


def independent_ld(frequency):
    variance = frequency * (1 - frequency)
    return PublicLd(np.array([0]), (np.diag(variance),), np.empty((0, len(frequency))), 10**6)


@pytest.mark.parametrize("method", ["blup", "reusecov-gauss", "blup-steered"])
def test_expected_fit__panel_of_independent_variants_is_as_independence(method, population):
    frequency, _ = population
    model = {"n_rows": N_ROWS, "frequency": frequency, "heritability": HERITABILITY, "terms": TERMS}
    model |= {"n_outcomes": N_OUTCOMES}
    request = request_of(frequency)
    alone, of_panel = (
        expected_fit(method, request, ld=ld, **model) for ld in (None, independent_ld(frequency))
    )
    assert of_panel.r2 == pytest.approx(alone.r2, abs=0.02)
    assert of_panel.r2_without_noise == pytest.approx(alone.r2_without_noise, abs=0.01)
    assert of_panel.noise_sd == pytest.approx(alone.noise_sd, rel=0.1)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_synthetic_cohort__sums_scatter_as_those_of_a_panels_population(rows, population):
    frequency, S = population
    width = 1 if rows == "haplotypes" else 2
    request = replace(request_of(frequency), rows=rows, coding="half", row_norm=None)
    sd = np.sqrt(np.diag(S))
    # Any scale of its columns: only correlations count.
    ld = PublicLd(np.array([0]), (7 * S,), np.empty((0, D)), 1)
    model = {"n_rows": 500, "frequency": frequency, "ld": ld}
    cohorts = [synthetic_cohort(request, number=number, **model) for number in range(150)]
    own = width * frequency * (1 - frequency)
    np.testing.assert_allclose(
        cohorts[0].covariance, S / np.outer(sd, sd) * np.sqrt(np.outer(own, own)), rtol=1e-6
    )
    means = np.array([2 * cohort.gram[-1, :-1] for cohort in cohorts])
    grams = np.array([cohort.gram[:-1, :-1] for cohort in cohorts])
    covariances = grams - means[:, :, np.newaxis] * means[:, np.newaxis]
    np.testing.assert_allclose(covariances.mean(axis=0), cohorts[0].covariance, atol=0.01 * width)
    of_means = np.cov(means.T) * 500
    assert np.corrcoef(of_means.ravel(), cohorts[0].covariance.ravel())[0, 1] > 0.93
    assert np.trace(of_means) == pytest.approx(own.sum(), rel=0.15)
    # Of normal columns a correlation r of n rows has the variance (1 - r^2)^2/n.
    r = S[0, 1] / (sd[0] * sd[1])
    seen = covariances[:, 0, 1] / np.sqrt(covariances[:, 0, 0] * covariances[:, 1, 1])
    assert seen.std() == pytest.approx((1 - r**2) / np.sqrt(500), rel=0.2)


def test_synthetic_cohort__variant_that_the_panel_has_not_goes_with_no_other(population):
    frequency, S = population
    S = S.copy()
    S[3] = S[:, 3] = 0
    ld = PublicLd(np.array([0]), (S,), np.empty((0, D)), 1)
    cohort = synthetic_cohort(request_of(frequency), n_rows=100, frequency=frequency, number=0, ld=ld)
    assert cohort.variance[3] == 0
    assert np.isfinite(cohort.gram).all()


def test_synthetic_cohort__what_does_not_vary_in_the_population_does_not_in_a_sample(population):
    """Otherwise cohorts would vary where their panel has it that none does, which no fit survives."""
    frequency, S = population
    direction = np.linspace(-1, 2, D)
    S = S - np.outer(S @ direction, S @ direction) / (direction @ S @ direction)
    ld = PublicLd(np.array([0]), (S,), np.empty((0, D)), 1)
    request = replace(request_of(frequency), coding="half", row_norm=None)
    cohort = synthetic_cohort(request, n_rows=100, frequency=frequency, number=0, ld=ld)
    values, vectors = np.linalg.eigh(cohort.covariance)
    assert values[0] < 1e-12 < 1e-4 < values[1]
    means = 2 * cohort.gram[-1, :-1]
    covariance = cohort.gram[:-1, :-1] - np.outer(means, means)
    assert vectors[:, 0] @ covariance @ vectors[:, 0] < 1e-12


def test_synthetic_panel__estimates_the_panels_population_from_other_people(population):
    frequency, S = population
    request = replace(request_of(frequency), row_norm=100.0)
    half = D // 2
    blocks = (S[:half, :half], S[half:, half:])
    axis = np.sqrt(np.diag(S))[np.newaxis] / 3
    ld = PublicLd(np.array([0, half]), blocks, axis, 2000)
    model = {"frequency": frequency, "number": 0}
    panel = synthetic_panel(request, ld, **model)
    assert (panel.n_rows, panel.components.shape, len(panel.blocks)) == (2000, (1, D), 2)
    np.testing.assert_allclose(panel.blocks[1], blocks[1], atol=0.03)
    cohort = synthetic_cohort(request, n_rows=2000, ld=ld, **model).gram[:-1, :-1]
    errors = [matrix[:half, :half] - blocks[0] for matrix in (panel.blocks[0], cohort)]
    # Of other people: errors of their own.
    assert np.linalg.norm(errors[0] - errors[1]) > np.linalg.norm(errors[0])
    # Their axis is the first one of all products.
    np.testing.assert_allclose(panel.components.T @ panel.components, rank_one(ld, S), atol=0.03)


def rank_one(ld, S):
    F = ld.correlation_root * np.sqrt(np.diag(S))[:, np.newaxis]
    values, axes = np.linalg.eigh(F @ F.T)
    return values[-1] * np.outer(axes[:, -1], axes[:, -1])


@pytest.mark.parametrize("coding", ["half", "frequency"])
def test_steered__rows_are_centred_and_turned(coding, population):
    frequency, S = population
    tight = request_of(frequency)
    request = tight if coding == "frequency" else replace(tight, coding="half", row_norm=None)
    request = mechanism_of("blup-steered").terms(replace(request, epsilon=1e4))
    ld = PublicLd(np.array([0]), (S,), np.empty((0, D)), 1)
    cohort = synthetic_cohort(request, n_rows=N_ROWS, frequency=frequency, number=0, ld=ld)
    noisy = noisy_statistics(request, cohort, n_outcomes=3, key=("x",))
    sums = np.random.default_rng(3).standard_normal((3, D + 1))
    found = steered(noisy, sums, cohort, request=request, ld=None, is_joint=True)
    n_used = len(found.steering.places)
    assert not found.cross[:, n_used:].any()
    centred = sums[:, :-1] - 2 * np.outer(sums[:, -1], found.steering.centre)
    left = found.cross[:, :n_used] / (centred @ found.steering.matrix.T)
    # What the clip leaves, of all outcomes alike.
    np.testing.assert_allclose(left[0], left[1])
    assert np.all((left[0] > 0.7) & (left[0] < 1))
    np.testing.assert_allclose(found.steering.centre, 2 * cohort.gram[-1, :-1], atol=0.02)
