"""The closed forms of a plan against sums over columns, and how many fits of which outcomes it draws."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods import planning
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.planning import expected_fit, expected_r2, expected_ridge, neutral_frequencies
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.methods.sum_fits import Blup
from dpgrs.methods.synthetic_cohort import noisy_statistics, synthetic_cohort

D, PENALTY, HERITABILITY = 6, 0.2, 0.5
TERMS = FitTerms(PENALTY)
MODEL = {"n_rows": 200, "frequency": np.full(D, 0.3), "heritability": HERITABILITY}


def request_of(n_variants=D, **terms):
    fixed = {"outcome_bound": 3.0, "epsilon": 5.0, "delta": 1e-6, "unit": "haplotype"}
    return PrivacyRequest("haplotypes", n_variants, 1, **fixed | terms)


def results_of(monkeypatch, name, of=planning):
    """Keep what a part of the plan returns, call by call."""
    results, part = [], getattr(of, name)
    monkeypatch.setattr(
        of, name, lambda *terms, **options: results.append(part(*terms, **options)) or results[-1]
    )
    return results


def sums_of_ridge(request, cohort, noisy):
    """Square what each effect, residual and entry of the noise of X'Y adds, for each noisy count."""
    n, d = cohort.n, len(cohort.mean)
    drawn = replace(noisy, cross=n * np.eye(d), observed=None)
    exact = NoisyStatistics(cohort.gram * n, n * np.eye(d), n)
    fits = [fit_reusecov(statistics, penalty=PENALTY) for statistics in (drawn, exact)]
    effects = np.sqrt(HERITABILITY / cohort.variance.sum()) * np.eye(d)
    sources = np.hstack([cohort.slope @ effects, np.sqrt((1 - HERITABILITY) / n) * cohort.root])[:-1]
    noise = request.noise_sd["cross"] / n * np.eye(d)

    def r2(weights, means):
        missed = weights - np.hstack([effects, np.zeros((d, weights.shape[1] - d))])
        shift = means - cohort.coded_mean
        return HERITABILITY - cohort.variance @ (missed**2).sum(axis=1) - ((shift @ weights) ** 2).sum()

    plain = fits[1].weights.T @ sources
    by_count = []
    for factor in noisy.inflation:
        P = factor * fits[0].weights.T
        whole = r2(np.hstack([P @ sources, P @ noise]), fits[0].means)
        by_count.append([((P @ sources - plain) ** 2).sum() / d, ((P @ noise) ** 2).sum() / d, whole])
    return [(plain**2).sum() / d, *np.mean(by_count, axis=0), r2(plain, fits[1].means)]


def test_expected_ridge__is_the_mean_over_effects_residuals_noise_and_counts():
    request = request_of(epsilon=2.0, counts_outcomes=True, count_share=2e-4)
    # So few rows that counts are off by a sixth of them.
    n_rows = round(6 * request.noise_sd["observed"])
    model, draws = {"n_rows": n_rows, "frequency": neutral_frequencies(D, rarest=0.05)}, []
    for number in range(planning.MOST_DRAWS):
        cohort = synthetic_cohort(request, number=number, **model)
        noisy = noisy_statistics(request, cohort, n_outcomes=planning.COUNTS_DRAWN, key=("plan", number))
        draws.append(sums_of_ridge(request, cohort, noisy))
    *squares, r2, plain_r2 = np.mean(draws, axis=0)
    expected = expected_ridge(request, penalty=PENALTY, heritability=HERITABILITY, **model)
    found = [expected.weight_sd, expected.noise_sd_gram, expected.noise_sd_cross]
    np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-9)
    np.testing.assert_allclose([expected.r2, expected.r2_without_noise], [r2, plain_r2], rtol=1e-9)


def test_expected_ridge__square_that_rounding_leaves_below_zero_is_zero(monkeypatch):
    monkeypatch.setattr(planning, "_ridge_of_cohort", lambda *_, **__: (1.0, -1e-30, 0.0, 0.1, 0.2))
    assert expected_ridge(request_of(), penalty=PENALTY, **MODEL).noise_sd == 0.0


def test_outcomes__are_effects_and_chance_by_the_heritability():
    request = request_of(neighbours="replace-one")
    cohort = synthetic_cohort(request, n_rows=1000, frequency=MODEL["frequency"], number=0)
    of_effects, of_chance = (
        planning._outcomes(cohort, 2000, heritability=heritability, key=("x",)) for heritability in (1.0, 0.0)
    )
    effects, cross, noise = of_effects
    np.testing.assert_allclose(effects**2 @ cohort.variance, 1)
    np.testing.assert_allclose(cross, 1000 * effects @ cohort.slope.T, rtol=1e-9)
    assert noise.std() == pytest.approx(1, abs=0.05)
    effects, cross, _ = of_chance
    assert not effects.any()
    expected = 1000 * (cohort.root**2).sum(axis=1)
    np.testing.assert_allclose(cross.var(axis=0), expected, rtol=0.2)


def test_expected_fit__no_effect_is_drawn_twice(monkeypatch):
    drawn = results_of(monkeypatch, "_outcomes")
    expected_r2("blup", request_of(), terms=TERMS, n_outcomes=1, **MODEL)
    effects = np.array([effects for effects, *_ in drawn])
    assert len(np.unique(effects)) == effects.size


def test_expected_r2__of_weights_that_are_known(monkeypatch):
    weights, means = np.arange(1.0, D + 1), np.linspace(0, 0.5, D)
    known = LinearFit(weights[np.newaxis], means, np.zeros(1))
    monkeypatch.setattr(Blup, "fit", lambda *_, **__: known)
    mean, variance = column_moments(MODEL["frequency"], rows="haplotypes")
    # Without heritability all that is explained is error.
    found = expected_r2("blup", request_of(), terms=TERMS, n_outcomes=1, **MODEL | {"heritability": 0.0})
    assert found == pytest.approx(-(weights**2 @ variance) - (weights @ (means - mean)) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("limits", "n_outcomes", "n_fits", "n_together"),
    [
        ({"DRAWS": 20, "FITS": 60}, 1, 9, 1),
        ({"DRAWS": 20, "FITS": 1000}, 1, 33, 1),
        ({"DRAWS": 20, "FITS": 64}, 1, 9, 1),
        ({"DRAWS": 1, "FITS": 1}, 1, 2, 1),
        ({"DRAWS": 20, "FITS": 1000}, 9, 9, 4),
    ],
)
def test_expected_fit__fits_are_as_many_as_the_limits_allow(
    limits, n_outcomes, n_fits, n_together, monkeypatch
):
    for name, limit in limits.items():
        monkeypatch.setattr(planning, f"{name}_TIMES_VARIANTS", limit)
    monkeypatch.setattr(planning, "MOST_OUTCOMES", 4)
    fits = results_of(monkeypatch, "fit", of=Blup)
    expected_r2("blup", request_of(), terms=TERMS, n_outcomes=n_outcomes, **MODEL)
    assert [len(fit.weights) for fit in fits] == [n_together] * n_fits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frequency", np.full(D - 1, 0.5)),
        ("frequency", np.full(D, 1.5)),
        ("n_rows", 0),
        ("heritability", 1.1),
    ],
)
def test_expected_fit__raise_on_misuse(name, value):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        expected_fit("blup", request_of(), terms=TERMS, n_outcomes=1, **MODEL | {name: value})
