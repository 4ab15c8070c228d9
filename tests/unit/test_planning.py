from dataclasses import replace
from statistics import stdev

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.clipped_statistics import clipped_statistics
from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP, column_moments, grid_frequency
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.methods import planning
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.planning import (
    ExpectedFit,
    expected_fit,
    expected_noise_sd,
    expected_r2,
    expected_ridge,
    neutral_frequencies,
)
from dpgrs.methods.registry import is_ridge
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov, private_statistics
from dpgrs.methods.synthetic_cohort import noisy_statistics, synthetic_cohort
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from refused import refused

PENALTY, HERITABILITY = 0.2, 0.5
N_SIMULATED = 10  # outcomes; each so many as a request says share a budget
FIT = {"penalty": PENALTY, "heritability": HERITABILITY}


def request_of(n_variants=30, *, rows="haplotypes", epsilon=5.0, n_outcomes=10, **terms):
    unit = "haplotype" if rows == "haplotypes" else "person"
    fixed = {"outcome_bound": 3.0, "delta": 1e-6, "unit": unit, "neighbours": "add-remove"}
    return PrivacyRequest(
        rows=rows, n_variants=n_variants, n_outcomes=n_outcomes, epsilon=epsilon, **fixed | terms
    )


def simulate(request, frequency, n_rows, *, repeat):
    """Draw rows of independent variants and their outcomes, as alleles and not by moments."""
    stream = generator(1, "planning", repeat)
    n_alleles = 1 if request.rows == "haplotypes" else 2
    X = stream.binomial(n_alleles, frequency, (n_rows, len(frequency))) - n_alleles / 2
    mean, variance = column_moments(frequency, rows=request.rows)
    effects = stream.standard_normal((N_SIMULATED, len(frequency)))
    effects *= np.sqrt(HERITABILITY / variance.sum())
    residual = stream.standard_normal((N_SIMULATED, n_rows)) * np.sqrt(1 - HERITABILITY)
    return X, effects, np.clip(effects @ (X - mean).T + residual, -3, 3)


def simulated_fit(request, frequency, n_rows, *, repeat):
    """Run the mechanism and the fit; return squared weights, squared noise of weights, and both R^2."""
    X, effects, Y = simulate(request, frequency, n_rows, repeat=repeat)
    X1 = np.hstack([X, np.full((n_rows, 1), 0.5)])
    gram = np.rint(X1.T @ X1 / GRAM_STEP).astype(np.int64)
    cross = np.rint(Y @ X1 / CROSS_STEP).astype(np.int64)
    noise = BenchmarkNoise(1, "test", repeat)
    exact = NoisyStatistics(gram * GRAM_STEP, cross[:, :-1] * CROSS_STEP, n_rows, ())
    options = {"request": request, "noise": noise, "observed": np.full(len(Y), n_rows)}
    noisy = private_statistics(gram, cross, n_rows, **options)
    fits = [fit_reusecov(statistics, penalty=PENALTY) for statistics in (noisy, exact)]
    mean, variance = column_moments(frequency, rows=request.rows)
    # Of all new people, whose moments are known.
    accuracies = [
        HERITABILITY - (fit.weights - effects) ** 2 @ variance - (fit.weights @ (fit.means - mean)) ** 2
        for fit in fits
    ]
    noisy, plain = (fit.weights for fit in fits)
    return np.array([*map(np.mean, (plain**2, (noisy - plain) ** 2, *accuracies))])


@pytest.mark.parametrize(
    ("n_rows", "terms"),
    [
        pytest.param(1500, {"epsilon": 50.0}, id="little noise"),
        pytest.param(1500, {"epsilon": 0.7, "n_outcomes": 1}, id="noise above all eigenvalues"),
        pytest.param(1500, {"epsilon": 1.5, "n_outcomes": 1, "gram_share": 0.02}, id="noisy means"),
        pytest.param(150, {"epsilon": 50.0}, id="few rows"),
        # The counts are off by a sixth of the rows, on average.
        pytest.param(1500, {"epsilon": 10.0, "counts_outcomes": True, "count_share": 5e-5}, id="counts"),
        pytest.param(1500, {"epsilon": 4.0, "rows": "people"}, id="people"),
        pytest.param(1500, {"epsilon": 4.0, "neighbours": "replace-one"}, id="public count"),
        pytest.param(1500, {"epsilon": 4.0, "unit": "person", "gram_share": 0.9}, id="person of two rows"),
    ],
)
def test_expected_ridge__agrees_with_simulation(n_rows, terms):
    request, frequency = request_of(**terms), neutral_frequencies(30, rarest=0.05)
    expected = expected_ridge(request, n_rows=n_rows, frequency=frequency, **FIT)
    runs = [simulated_fit(request, frequency, n_rows, repeat=repeat) for repeat in range(20)]
    weight_square, noise_square, r2, r2_without_noise = np.mean(runs, axis=0)
    error = np.std(runs, axis=0)[2] / np.sqrt(len(runs))
    assert expected.weight_sd == pytest.approx(np.sqrt(weight_square), rel=0.03)
    assert expected.noise_sd == pytest.approx(np.sqrt(noise_square), rel=0.06)
    assert expected.r2 == pytest.approx(r2, abs=max(0.02, 3 * error))
    assert expected.r2_without_noise == pytest.approx(r2_without_noise, abs=0.01)


def first_order_noise(request, n, frequency):
    """The noise sd from X'X and from X'Y by docs/explanation/plan.md, first order, for haplotypes."""
    m, s = column_moments(frequency, rows=request.rows)
    outer, identity = np.outer(m, m), np.eye(len(s))
    inverse = np.diag(1 / (s + PENALTY))
    C = np.diag(HERITABILITY / s.sum() * s**2) + (1 - HERITABILITY) / n * (np.diag(s) + outer)
    W = inverse @ C @ inverse
    events = private_statistics(
        np.zeros((len(s) + 1,) * 2, dtype=np.int64),
        np.zeros((request.n_outcomes, len(s) + 1), dtype=np.int64),
        n,
        request=request,
        noise=BenchmarkNoise(0),
    ).events
    _, gram, cross = (event.sigma / n for event in events)
    straight = np.trace(W) * identity + W - 2 * np.diag(np.diag(W))
    centring = outer * np.trace(W) + (m @ W @ m) * identity + outer @ W + W @ outer
    from_gram = gram**2 * np.trace(inverse @ (straight + 4 * centring) @ inverse)
    from_cross = cross**2 * np.trace(inverse @ inverse)
    return np.sqrt(np.array([from_gram, from_cross]) / len(s))


def test_expected_ridge__equals_first_order_where_noise_is_little():
    request, frequency = request_of(epsilon=20.0), neutral_frequencies(30, rarest=0.05)
    expected = expected_ridge(request, n_rows=50_000, frequency=frequency, **FIT)
    from_gram, from_cross = first_order_noise(request, 50_000, frequency)
    assert expected.noise_sd_gram == pytest.approx(from_gram, rel=0.1)
    assert expected.noise_sd_cross == pytest.approx(from_cross, rel=0.01)


def test_expected_ridge__first_order_fails_where_noise_exceeds_eigenvalues():
    """Why draws are needed: clipped eigenvalues keep the real fit from what first order fears."""
    request, frequency = request_of(epsilon=0.3), neutral_frequencies(30, rarest=0.05)
    expected = expected_ridge(request, n_rows=1000, frequency=frequency, **FIT)
    assert first_order_noise(request, 1000, frequency)[0] > 3 * expected.noise_sd_gram


def test_expected_ridge__without_noise_is_least_squares():
    """R^2 = h2 - (1 - h2) d/(n - d - 2) of least squares on n normal rows of known mean, about."""
    request, frequency = request_of(60, epsilon=1e4), np.full(60, 0.5)
    expected = expected_ridge(request, n_rows=300, frequency=frequency, penalty=0.0, heritability=0.5)
    assert expected.r2_without_noise == pytest.approx(0.5 - 0.5 * 60 / 238, abs=0.02)
    assert expected.r2 == pytest.approx(expected.r2_without_noise, abs=0.01)


def test_expected_ridge__joint_outcomes_share_the_noise_of_the_cross_product():
    frequency = neutral_frequencies(30, rarest=0.01)
    one, nine = (
        expected_ridge(request_of(n_outcomes=count, gram_share=0.5), n_rows=3000, frequency=frequency, **FIT)
        for count in (1, 9)
    )
    assert nine.noise_sd_cross == pytest.approx(3 * one.noise_sd_cross)
    assert nine.noise_sd_gram == one.noise_sd_gram
    assert nine.noise_sd == pytest.approx(np.hypot(nine.noise_sd_gram, nine.noise_sd_cross))


def test_expected_ridge__noise_of_the_cross_product_is_multiplied_by_noisy_counts():
    """Each drawn count makes a fit of its own; noise in one entry of X'Y after the other goes through it."""
    request = request_of(6, epsilon=2.0, counts_outcomes=True, count_share=2e-4)
    # So few rows that counts are off by a sixth of them.
    n_rows = round(6 * request.noise_sd["observed"])
    model, squares = {"n_rows": n_rows, "frequency": neutral_frequencies(6, rarest=0.05)}, []
    for number in range(planning.MOST_DRAWS):
        cohort = synthetic_cohort(request, number=number, **model)
        noisy = noisy_statistics(request, cohort, n_outcomes=planning.COUNTS_DRAWN, key=("plan", number))
        cross = request.noise_sd["cross"] * np.eye(6)
        plain = fit_reusecov(replace(noisy, cross=cross, observed=None), penalty=PENALTY)
        counted = noisy.inflation[:, np.newaxis, np.newaxis] * plain.weights
        assert noisy.inflation.std() > 0.1
        squares.append((counted**2).sum(axis=(1, 2)).mean() / 6)
    expected = expected_ridge(request, **model, **FIT)
    assert expected.noise_sd_cross == pytest.approx(np.sqrt(np.mean(squares)))


def results_of(monkeypatch, name):
    """Keep what a part of the plan returns, call by call."""
    results, part = [], getattr(planning, name)
    monkeypatch.setattr(
        planning, name, lambda *terms, **options: results.append(part(*terms, **options)) or results[-1]
    )
    return results


def test_expected_fit__r2_sd_is_that_of_draws(monkeypatch):
    frequency = np.full(6, 0.3)
    draws = results_of(monkeypatch, "_ridge_of_cohort")
    expected = expected_ridge(request_of(6), n_rows=200, frequency=frequency, **FIT)
    assert expected.r2_sd == pytest.approx(stdev(draw[3] for draw in draws))
    calls = results_of(monkeypatch, "_drawn_fits")
    model = {"n_rows": 200, "frequency": frequency, "heritability": HERITABILITY, "n_outcomes": 1}
    expected = expected_fit("blup", request_of(6, n_outcomes=1), terms=FitTerms(PENALTY), **model)
    _, r2 = calls[0]
    assert expected.r2_sd == pytest.approx(stdev(r2.mean(axis=1)))
    # No outcome is drawn twice.
    assert len(np.unique(r2)) == r2.size >= planning.OUTCOMES_DRAWN


def test_is_ridge__needs_a_stated_lambda_and_no_projection():
    fits = [("reusecov-gauss", "fixed"), ("reusecov-gauss", "evidence"), ("reusecov-ellipsoid", "fixed")]
    assert [is_ridge(method, rule) for method, rule in fits] == [True, False, False]


@pytest.mark.parametrize("method", ["reusecov-gauss", "blup"])
def test_expected_fit__panels_too_large_for_many_draws_have_a_few(monkeypatch, method):
    monkeypatch.setattr(planning, "DRAWS_TIMES_VARIANTS", 1)
    monkeypatch.setattr(planning, "FITS_TIMES_VARIANTS", 1)
    model = {"n_rows": 200, "frequency": np.full(6, 0.3), "heritability": HERITABILITY, "n_outcomes": 1}
    expected = expected_fit(method, request_of(6, n_outcomes=1), terms=FitTerms(PENALTY), **model)
    assert expected.r2 < HERITABILITY
    assert expected.r2_sd > 0


def tight_request(frequency, *, rows="haplotypes", n_outcomes=10, **terms):
    norms = {"row_norm": tight_row_norm(frequency, rows=rows, factor=1.0)}
    norms |= {"outcome_norm": 1.05 * np.sqrt(n_outcomes)}
    return request_of(len(frequency), rows=rows, n_outcomes=n_outcomes, coding="frequency", **norms, **terms)


def summed(request, X, Y, frequency):
    """Sum rows as `compute_statistics` does, in either coding; return X'X, X'Y and the zero of the coding."""
    if request.coding == "half":
        X1 = np.hstack([X, np.full((len(X), 1), 0.5)])
        gram, cross = X1.T @ X1 / GRAM_STEP, Y @ X1 / CROSS_STEP
        return np.rint(gram).astype(np.int64), np.rint(cross).astype(np.int64), None
    assert request.rows == "haplotypes"
    options = {"row_norm": request.row_norm, "n_haplotypes": len(X), "rows": request.rows}
    gridded = grid_outcomes(Y, bound=request.outcome_bound, row_norm=request.outcome_norm)
    sums = clipped_statistics(pack(X.T > 0), frequency, gridded, **options)
    return *sums, column_moments(grid_frequency(frequency), rows=request.rows)[0]


def r2_of_runs(method, request, frequency, n_rows, terms, *, n_runs):
    """Run the mechanism and the fit on simulated rows; return mean R^2 in all new people."""
    mean, variance = column_moments(frequency, rows=request.rows)
    accuracies = []
    for repeat in range(n_runs):
        X, effects, Y = simulate(request, frequency, n_rows, repeat=repeat)
        # As many outcomes of just the heritability as the request has.
        effects, Y = effects[: request.n_outcomes], Y[: request.n_outcomes]
        gram, cross, origin = summed(request, X, Y, frequency)
        noise = BenchmarkNoise(1, "test", repeat)
        noisy = private_statistics(gram, cross, n_rows, request=request, noise=noise)
        slopes = clip_slopes(
            np.full(len(Y), np.nan),
            bound=request.outcome_bound,
            norm=request.outcome_norm,
            n_shared=request.n_outcomes,
        )
        noisy = replace(noisy, origin=origin, slopes=slopes if request.outcome_norm else None)
        fit = fit_released(method, noisy, request=request, terms=terms)
        missed = (fit.weights - effects) ** 2 @ variance + (fit.weights @ (fit.means - mean)) ** 2
        accuracies.append(effects**2 @ variance - missed)
    return np.mean(accuracies)


@pytest.mark.parametrize(
    ("method", "epsilon", "terms"),
    [
        pytest.param("reusecov-gauss", 1.0, FitTerms(PENALTY), id="ridge"),
        pytest.param("reusecov-gauss", 3.0, FitTerms(PENALTY, "evidence"), id="lambda from the evidence"),
        pytest.param("blup", 1.0, FitTerms(PENALTY), id="blup"),
        pytest.param("blup", 10.0, FitTerms(PENALTY), id="blup, little noise"),
        pytest.param("reusecov-ellipsoid", 3.0, FitTerms(PENALTY), id="ellipsoid"),
    ],
)
@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_expected_fit__agrees_with_simulated_runs(method, epsilon, terms, bounds):
    frequency = neutral_frequencies(30, rarest=0.05)
    make = request_of if bounds == "worst-case" else tight_request
    request = make(frequency if bounds == "tight" else 30, epsilon=epsilon)
    model = {"n_rows": 1500, "frequency": frequency, "heritability": HERITABILITY}
    expected = expected_fit(method, request, terms=terms, n_outcomes=10, **model)
    found = r2_of_runs(method, request, frequency, 1500, terms, n_runs=12)
    assert expected.r2 == pytest.approx(found, abs=0.03)
    # Two means over draws: noise may cost next to nothing.
    assert expected.r2 - 0.005 < expected.r2_without_noise < HERITABILITY


def test_expected_ridge__norms_that_no_row_reaches_clip_nothing():
    """Only the mean of an outcome, which `half` coding leaves in X'Y, makes a difference."""
    frequency = neutral_frequencies(30, rarest=0.05)
    wide = request_of(coding="frequency", row_norm=100.0, outcome_norm=1e4)
    model = {"n_rows": 1500, "frequency": grid_frequency(frequency), **FIT}
    unclipped, half = (expected_ridge(request, **model) for request in (wide, request_of()))
    assert 0 < unclipped.r2_without_noise - half.r2_without_noise < 0.004
    assert unclipped.weight_sd == pytest.approx(half.weight_sd, rel=0.02)


@pytest.mark.parametrize("method", ["reusecov-gauss", "blup"])
def test_expected_fit__public_genotypes_leave_noise_on_the_cross_product_alone(method):
    frequency = neutral_frequencies(30, rarest=0.05)
    model = {"n_rows": 1500, "frequency": frequency, "heritability": HERITABILITY, "n_outcomes": 10}
    full, label = (
        expected_fit(method, request, terms=FitTerms(PENALTY), **model)
        for request in (
            request_of(neighbours="replace-one", epsilon=2.0),
            request_of(neighbours="replace-one", epsilon=2.0, protection="label"),
        )
    )
    assert label.r2 > full.r2
    # What is left are the steps of the integers.
    assert label.noise_sd_gram is None or label.noise_sd_gram < 1e-3


@pytest.mark.parametrize("terms", [FitTerms(PENALTY), FitTerms(PENALTY, "adassp")])
def test_expected_r2__is_that_of_the_fit(terms):
    model = {"n_rows": 1500, "frequency": neutral_frequencies(30, rarest=0.05), "n_outcomes": 3}
    model |= {"terms": terms, "heritability": HERITABILITY}
    request = request_of(n_outcomes=3)
    expected = expected_fit("reusecov-gauss", request, **model)
    assert expected_r2("reusecov-gauss", request, **model) == expected.r2


def test_expected_fit__stated_lambda_is_planned_alike_with_and_without_drawn_outcomes():
    """Closed forms, and the fit of drawn outcomes in an ellipsoid that holds them all."""
    frequency = neutral_frequencies(30, rarest=0.05)
    model = {"n_rows": 5000, "frequency": frequency, "heritability": 0.2, "n_outcomes": 10}
    closed, drawn = (
        expected_fit(method, request_of(epsilon=30.0), terms=FitTerms(PENALTY), **model)
        for method in ("reusecov-gauss", "reusecov-ellipsoid")
    )
    assert drawn.r2 == pytest.approx(closed.r2, abs=0.01)
    assert drawn.weight_sd == pytest.approx(closed.weight_sd, rel=0.05)
    assert drawn.noise_sd == pytest.approx(closed.noise_sd, rel=0.05)


@pytest.mark.parametrize("n_rows", [1, 2, 20])
def test_expected_fit__drawn_outcomes_of_few_rows(n_rows):
    frequency = neutral_frequencies(30, rarest=0.01)
    model = {"n_rows": n_rows, "frequency": frequency, "heritability": 0.0, "n_outcomes": 1}
    expected = expected_fit("blup", tight_request(frequency, n_outcomes=1), terms=FitTerms(0.2), **model)
    assert np.isfinite(expected.noise_sd)
    assert expected.r2 <= 0


@pytest.mark.parametrize("n_rows", [1, 2, 20])
def test_expected_ridge__fewer_rows_than_variants(n_rows):
    expected = expected_ridge(
        request_of(), n_rows=n_rows, frequency=neutral_frequencies(30, rarest=0.01), **FIT
    )
    assert isinstance(expected, ExpectedFit)
    assert np.isfinite(expected.noise_sd)
    assert expected.r2 <= HERITABILITY


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_expected_ridge__monomorphic_site_is_no_error(bounds):
    frequency = np.append(neutral_frequencies(28, rarest=0.01), [0.0, 1.0])
    request = request_of() if bounds == "worst-case" else tight_request(frequency)
    assert np.isfinite(expected_ridge(request, n_rows=500, frequency=frequency, **FIT).r2)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"frequency": np.full(29, 0.5)}, ("frequency-array-invalid", "`frequency`", "got 29")),
        ({"frequency": np.full(30, 1.5)}, ("frequency-array-invalid", "got 30")),
        ({"n_rows": 0}, ("n-rows-not-positive", "`n_rows`", "got 0")),
        ({"heritability": 1.1}, ("heritability-out-of-range", "`heritability`", "got 1.1")),
    ],
)
def test_expected_ridge__raise_on_misuse(changed, fault):
    asked = {"n_rows": 100, "frequency": np.full(30, 0.5), **FIT} | changed
    with refused(*fault, error=UsageError):
        expected_ridge(request_of(), **asked)


def test_expected_noise_sd__is_that_of_the_fit_in_few_digits():
    terms = {"n_rows": 3000, "frequency": neutral_frequencies(30, rarest=0.01)}
    slopes, expected = np.array([0.5, 1.0]), expected_ridge(request_of(), **terms, **FIT)
    stated = expected_noise_sd(request_of(), penalty=PENALTY, slopes=slopes, **terms)
    noise_sd = np.hypot(expected.noise_sd_gram, expected.noise_sd_cross * np.sqrt((4 + 1) / 2))
    assert (stated, float(f"{stated:.3g}")) == (pytest.approx(noise_sd, rel=0.006), stated)


def test_neutral_frequencies__have_density_one_over_p():
    frequency = neutral_frequencies(2000, rarest=0.02)
    assert np.all((frequency > 0.02) & (frequency < 0.98))
    assert np.all(np.diff(frequency) > 0)
    share = np.mean(frequency < 0.1)
    assert share == pytest.approx(np.log(0.1 / 0.02) / np.log(0.98 / 0.02), abs=1e-3)
