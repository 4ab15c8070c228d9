"""Accuracy as a mechanism: integer sums against exact fractions, and what is made of them after the noise."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.metrics import mse, r_squared
from dpgrs.evaluation.private_metrics import (
    LARGEST_PREDICTION,
    SMALLEST_DENOMINATOR,
    SQUARE_STEP,
    WEIGHT_STEP,
    AccuracyRequest,
    accuracy_sums,
    grid_weights,
    measure,
    private_accuracy,
)
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.outcome_grid import LARGEST_BOUND
from dpgrs.linalg.statistics import LARGEST_ROWS
from dpgrs.privacy.accounting.accountant import gdp_mu, paper_noise_multiplier
from dpgrs.privacy.noise.sources import BenchmarkNoise
from refused import refused

N_ROWS, N_VARIANTS, N_OUTCOMES = 400, 12, 3
BOUNDS = {"outcome_bound": 3.0, "residual_bound": 3.0}
REQUEST = AccuracyRequest(rows="people", n_outcomes=N_OUTCOMES, epsilon=1.0, delta=1e-6, **BOUNDS)


@pytest.fixture(scope="module")
def study():
    """Genotypes of people, outcomes of which half is explained and some are missing, and a fit."""
    rng = np.random.default_rng(5)
    X = rng.integers(-1, 2, size=(N_ROWS, N_VARIANTS)).astype(float)
    fit = LinearFit(
        rng.normal(0, 0.25, (N_OUTCOMES, N_VARIANTS)), rng.normal(0, 0.1, N_VARIANTS), np.zeros(N_OUTCOMES)
    )
    Y = fit.predict(X) + rng.normal(0, 0.7, (N_OUTCOMES, N_ROWS))
    Y[1, ::7] = np.nan
    return SimpleNamespace(X=X, Y=Y, fit=fit, weights=grid_weights(fit))


def exact_sums(Y, X, weights, *, outcome_bound, residual_bound):
    """Sum the slow and plain way, without any rounding but the grids'."""
    grid = Fraction(1, 2**16)
    B, C = Fraction(outcome_bound), Fraction(residual_bound)
    sums = [[Fraction(0)] * 3 for _ in Y]
    for row, sample in zip(X, Y.T, strict=True):
        for total, y, w in zip(sums, sample, weights.tolist(), strict=True):
            if math.isnan(y):
                continue
            predicted = sum(
                (a * Fraction(x) for a, x in zip(w, [*row.tolist(), 1], strict=True)), Fraction(0)
            )
            z = truncated(max(-B, min(B, Fraction(y))), grid)
            residual = z - truncated(predicted * Fraction(WEIGHT_STEP), grid)
            C_on_grid = truncated(C, grid)
            residual = max(-C_on_grid, min(C_on_grid, residual))
            entries = truncated(residual**2, grid), truncated(z**2, grid), truncated(B, grid)
            for place, entry in enumerate(entries):
                total[place] += entry
    return [[int(total[place] / grid) for total in sums] for place in range(3)]


def truncated(value, grid):
    return int(value / grid) * grid


@pytest.mark.parametrize("bounds", [(3.0, 3.0), (1.3, 0.7), (0.01, 1000.0), (1000.0, 5.0)], ids=str)
def test_accuracy_sums__are_exact(study, bounds):
    bounds = dict(zip(BOUNDS, bounds, strict=True))
    part = slice(0, 60)
    sums = accuracy_sums(study.Y[:, part], study.X[part], study.weights, **bounds)
    assert sums.dtype == np.int64
    assert sums.tolist() == exact_sums(study.Y[:, part], study.X[part], study.weights, **bounds)


def test_accuracy_sums__haplotypes_are_exact(study):
    X = np.where(study.X[:60] > 0, 0.5, -0.5)
    weights = study.weights + 1  # odd ones, so that predictions fall between grid points
    sums = accuracy_sums(study.Y[:, :60], X, weights, **BOUNDS)
    assert sums.tolist() == exact_sums(study.Y[:, :60], X, weights, **BOUNDS)


def test_accuracy_sums__order_and_parts_of_rows_do_not_matter(study):
    whole = accuracy_sums(study.Y, study.X, study.weights, **BOUNDS)
    order = np.random.default_rng(1).permutation(N_ROWS)
    parts = [
        accuracy_sums(study.Y[:, rows], study.X[rows], study.weights, **BOUNDS)
        for rows in np.split(order, [7, 100])
    ]
    np.testing.assert_array_equal(sum(parts), whole)


def test_accuracy_sums__nobody_held_out(study):
    sums = accuracy_sums(study.Y[:, :0], study.X[:0], study.weights, **BOUNDS)
    assert sums.tolist() == [[0] * N_OUTCOMES] * 3


@pytest.mark.parametrize("sign", [-1, 1])
def test_accuracy_sums__hold_at_the_largest_numbers(sign):
    n_rows, d = 50, 999
    fit = LinearFit(np.full((1, d), sign * 1e300), np.zeros(d), np.zeros(1))
    weights = grid_weights(fit)
    Y, X = np.full((1, n_rows), -sign * np.inf), np.ones((n_rows, d))
    bounds = dict.fromkeys(BOUNDS, LARGEST_BOUND)
    square = int(LARGEST_BOUND**2 / SQUARE_STEP)
    assert accuracy_sums(Y, X, weights, **bounds)[:2].tolist() == [[n_rows * square]] * 2
    assert square * LARGEST_ROWS < 2**61


def test_accuracy_sums__raise_on_bad_bound(study):
    for bound in (0.0, 1001.0):
        with refused("residual-bound-out-of-range", "`evaluation.residual_bound`", "1000", error=UsageError):
            accuracy_sums(study.Y, study.X, study.weights, outcome_bound=3.0, residual_bound=bound)


def test_accuracy_sums__raise_on_too_many_rows(study):
    X = np.broadcast_to(np.zeros(1), (LARGEST_ROWS + 1, N_VARIANTS))
    with refused("too-many-rows", "33554432", error=UsageError):
        accuracy_sums(study.Y, X, study.weights, **BOUNDS)


def test_grid_weights__predict_as_the_fit_does(study):
    X = np.column_stack([study.X, np.ones(N_ROWS)])
    predicted = study.weights * WEIGHT_STEP @ X.T
    np.testing.assert_allclose(predicted, study.fit.predict(study.X), atol=N_VARIANTS * WEIGHT_STEP)


def test_grid_weights__sums_stay_exact():
    fit = LinearFit(np.array([[1e300, -1e300, 2.0]]), np.zeros(3), np.zeros(1))
    weights = grid_weights(fit)
    assert np.abs(weights).sum() <= LARGEST_PREDICTION
    assert weights[0, 2:].tolist() == [2**25, 0]


def test_grid_weights__last_digits_do_not_matter(study):
    fit = LinearFit(study.fit.weights * (1 + 1e-13), study.fit.means, study.fit.intercept)
    np.testing.assert_array_equal(grid_weights(fit), study.weights)


def test_grid_weights__raise_on_weights_that_are_not_finite():
    with refused("weights-not-finite"):
        grid_weights(LinearFit(np.array([[np.inf]]), np.zeros(1), np.zeros(1)))


def test_request__budget():
    assert REQUEST.mu == gdp_mu(1.0, 1e-6)
    by_paper = replace(REQUEST, accounting="paper")
    assert by_paper.mu == pytest.approx(1 / paper_noise_multiplier(1.0, 1e-6))


def test_private_accuracy__budgets_of_their_own_do_not_hang_on_other_outcomes(study):
    sums = accuracy_sums(study.Y, study.X, study.weights, **BOUNDS)
    request, noise = replace(REQUEST, n_outcomes=1), BenchmarkNoise(3)
    three, events = private_accuracy(sums, request=request, noise=noise, outcome_names=("a", "b", "c"))
    one, _ = private_accuracy(sums[:, 1:2], request=request, noise=noise, outcome_names=("b",))
    assert len(events) == 3
    np.testing.assert_array_equal(three[:, 1:2], one)
    assert len(np.unique(three - sums)) == sums.size


@pytest.mark.parametrize("shape", [(2, 3), (3, 4)])
def test_private_accuracy__raise_on_another_shape(shape):
    with refused("accuracy-sums-shape", error=UsageError):
        private_accuracy(np.zeros(shape, dtype=np.int64), request=REQUEST, noise=BenchmarkNoise(1))


def test_measure__without_noise_is_the_plain_accuracy(study):
    Y = np.clip(study.Y, -3, 3)
    sums = accuracy_sums(Y, study.X, study.weights, outcome_bound=3.0, residual_bound=10.0)
    found, predicted = measure(sums, request=replace(REQUEST, epsilon=1000.0)), study.fit.predict(study.X)
    expected = r_squared(Y, predicted, training_mean=np.zeros(N_OUTCOMES))
    np.testing.assert_allclose(found.r2, expected, atol=1e-4)
    np.testing.assert_allclose(found.mse, mse(Y, predicted), atol=1e-4)


def test_measure__counts_rows_cases_and_controls_with_their_noise(study):
    prevalence, rng = np.array([0.2, np.nan, 0.5]), np.random.default_rng(0)
    p = np.array([0.2, 0.3, 0.5])[:, np.newaxis]
    is_case = rng.random(study.Y.shape) < p
    Y = (is_case - p) / np.sqrt(p * (1 - p))
    exact = accuracy_sums(Y, study.X, study.weights, **BOUNDS)
    request = replace(REQUEST, epsilon=20.0)
    found = measure(exact, request=request, prevalence=prevalence)
    n, n_cases = Y.shape[1], np.count_nonzero(is_case[0])
    np.testing.assert_allclose(found.n, n)
    np.testing.assert_allclose([found.cases[0], found.controls[0]], [n_cases, n - n_cases], atol=0.1)
    # The two values of a prevalence of 1/2 have the same square, and an outcome without one is none of 0/1.
    assert np.isnan([found.cases[1:], found.controls_sd[1:]]).all()
    noise = rng.normal(0, request.noise_sd / SQUARE_STEP, (400, *exact.shape))
    noisy = exact + np.rint(noise).astype(np.int64)
    drawn = [measure(sums, request=request, prevalence=prevalence) for sums in noisy]
    for name in ("n", "cases", "controls"):
        sd = np.std([getattr(one, name)[0] for one in drawn])
        assert sd == pytest.approx(getattr(found, f"{name}_sd")[0], rel=0.2)


def test_measure__standard_deviations_are_those_of_the_noise(study):
    """Over 400 draws a standard deviation is known to 20 % but for a chance below 1e-7."""
    rows = np.tile(np.arange(N_ROWS), 60)
    sums = accuracy_sums(study.Y[:, rows], study.X[rows], study.weights, **BOUNDS)
    draws = [private_accuracy(sums, request=REQUEST, noise=BenchmarkNoise(1, draw))[0] for draw in range(400)]
    found = [measure(drawn, request=REQUEST) for drawn in draws]
    for name in ("r2", "mse"):
        values = np.array([getattr(one, name) for one in found])
        stated = np.mean([getattr(one, f"{name}_sd") for one in found], axis=0)
        np.testing.assert_allclose(values.std(axis=0), stated, rtol=0.2)


@pytest.mark.parametrize(
    ("total", "count", "is_clear"), [(5.1, 5.1, True), (4.9, 50, False), (50, 4.9, False)]
)
def test_measure__nothing_where_noise_drowns_a_denominator(total, count, is_clear):
    sums = np.array([[1.0], [total], [count]]) * REQUEST.noise_sd / SQUARE_STEP
    accuracy = measure(sums.astype(np.int64), request=REQUEST)
    values = [getattr(accuracy, name)[0] for name in ("r2", "mse", "r2_sd", "mse_sd")]
    assert np.isfinite(values).tolist() == [is_clear] * 4
    assert SMALLEST_DENOMINATOR == 5
