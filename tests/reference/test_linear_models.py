"""Least squares and ridge against numpy and scikit-learn, from the same clipped and gridded outcomes."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.ols import fit_ridge
from random_cohorts import random_bits

N_HAPLOTYPES = 1200


@pytest.fixture(params=["haplotypes", "people"])
def study(request):
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": request.param}
    bits = random_bits(25, N_HAPLOTYPES, seed=6)
    X = coded_rows(bits, **options)
    rng = np.random.default_rng(7)
    Y = grid_outcomes(
        0.4 + rng.standard_normal((4, 25)) @ X.T / 5 + rng.standard_normal((4, len(X))), bound=3.0
    )
    return X, Y * OUTCOME_STEP, (gram(bits, **options), cross_product(bits, Y, **options), len(X))


def test_fit_ridge__without_a_penalty_equals_numpy_lstsq(study):
    X, Y, statistics = study
    fit = fit_ridge(*statistics, penalty=0.0)
    centred = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centred, (Y - Y.mean(axis=1, keepdims=True)).T, rcond=None)[0].T
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-8)


def test_fit_ridge__without_a_penalty_equals_scikit_learn(study):
    X, Y, statistics = study
    model, fit = LinearRegression().fit(X, Y.T), fit_ridge(*statistics, penalty=0.0)
    np.testing.assert_allclose(fit.weights, model.coef_, rtol=1e-8)
    np.testing.assert_allclose(fit.predict(X), model.predict(X).T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_fit_ridge__equals_scikit_learn(study, penalty):
    X, Y, statistics = study
    model, fit = Ridge(alpha=penalty * len(X)).fit(X, Y.T), fit_ridge(*statistics, penalty=penalty)
    np.testing.assert_allclose(fit.weights, model.coef_, rtol=1e-8)
    np.testing.assert_allclose(fit.predict(X), model.predict(X).T, rtol=1e-8, atol=1e-10)
