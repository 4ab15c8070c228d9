"""Least squares of minimum norm: which singular values count, whatever the units of the features."""

import numpy as np
import pytest

from dpgrs_papers.methods.tukey_models import LARGEST_ENTRY, fit_models

RNG = np.random.default_rng(1)
GROUPS = RNG.integers(0, 30, size=150)
A, B = RNG.integers(-1, 2, (150, 5)).astype(float), RNG.standard_normal(150)


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
def test_fit_models__of_features_in_other_units_are_the_same(scale):
    """Columns depend on each other in many groups."""
    assert min(np.linalg.matrix_rank(A[group == GROUPS]) for group in range(30)) < 4
    models = fit_models(A, B, GROUPS, n_models=30)
    np.testing.assert_allclose(fit_models(A * scale, B, GROUPS, n_models=30) * scale, models, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2])
def test_fit_models__of_features_that_are_zero_are_zero(d):
    models = fit_models(np.zeros((6, d)), np.ones(6), np.arange(6) % 2, n_models=2)
    assert models.tolist() == [[0.0] * d] * 2


def test_fit_models__entries_are_cut_at_the_largest():
    X, y, groups = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([1.0, 2.0]), np.zeros(2, dtype=int)
    for array, entry in ((X, (0, 1)), (y, 0)):
        models = []
        for factor in (1, 1e20):
            array[entry] = factor * LARGEST_ENTRY
            models.append(fit_models(X, y, groups, n_models=1))
        array[entry] = 1.0
        np.testing.assert_array_equal(*models)


def test_fit_models__one_row_is_a_group():
    models = fit_models(np.array([[3.0, 4.0]]), np.array([5.0]), np.array([1]), n_models=3)
    np.testing.assert_allclose(models, [[0, 0], [0.6, 0.8], [0, 0]], atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-30])
def test_fit_models__a_row_without_an_outcome_adds_nothing_to_small_ones(scale):
    y = np.append(np.nan, B[1:6] * scale)
    models = fit_models(A[:6], y, np.zeros(6, dtype=int), n_models=1)
    expected = fit_models(A[1:6], y[1:], np.zeros(5, dtype=int), n_models=1)
    np.testing.assert_allclose(models, expected, atol=1e-10 * scale)
