"""Scores beside those of a reference: closed forms, the equations of the likelihood, and what is refused."""

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.scoring.ancestry import adjust_scores, fit_mean_and_variance
from refused import refused

N, N_COMPONENTS = 400, 3


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def made(rng, n=N):
    """Return components, and a score whose mean and variance hang on them."""
    components = rng.standard_normal((N_COMPONENTS, n)) * np.array([[5.0], [1.0], [0.2]]) + 3
    Z = (components - 3) / np.array([[5.0], [1.0], [0.2]])
    score = 7 + 2 * Z[0] - Z[1] + np.exp(0.5 * Z[0]) * rng.standard_normal(n)
    return components, score


def test_fit_mean_and_variance__solves_the_equations_of_the_likelihood(rng):
    components, y = made(rng)
    X = np.vstack([np.ones(N), (components - 3) / np.array([[5.0], [1.0], [0.2]])])
    beta, gamma = fit_mean_and_variance(y, X)
    variance, residuals = np.exp(gamma @ X), y - beta @ X
    np.testing.assert_allclose(X @ (residuals / variance), 0, atol=1e-6)
    np.testing.assert_allclose(X @ (residuals**2 / variance - 1), 0, atol=1e-6)
    np.testing.assert_allclose(beta, [7, 2, -1, 0], atol=0.3)
    np.testing.assert_allclose(gamma, [0, 1, 0, 0], atol=0.3)


def test_adjust_scores__of_the_reference_itself(rng):
    components, score = made(rng)
    scores = np.stack([score, -3 * score + 5])
    there = {"reference_scores": scores, "reference_components": components}
    found = adjust_scores(scores, components, **there)
    np.testing.assert_allclose(found.raw[0], (score - score.mean()) / score.std())
    X = np.vstack([np.ones(N), components])
    residuals = score - np.linalg.lstsq(X.T, score, rcond=None)[0] @ X
    np.testing.assert_allclose(found.mean[0], residuals / residuals.std(), atol=1e-9)
    for one in found:
        np.testing.assert_allclose(one[1], -one[0], atol=1e-7)
    low, high = (found.variance[0][part] for part in (components[0] < 0, components[0] > 6))
    assert abs(low.std() - 1) < 0.25
    assert abs(high.std() - 1) < 0.25
    assert found.mean[0][components[0] < 0].std() < 0.7


def test_adjust_scores__takes_people_one_by_one(rng):
    components, score = made(rng)
    there = {"reference_scores": score[np.newaxis], "reference_components": components}
    others, own = made(rng, n=7)
    whole = adjust_scores(own[np.newaxis], others, **there)
    alone = adjust_scores(own[np.newaxis, 2:3], others[:, 2:3], **there)
    for one, part in zip(whole, alone, strict=True):
        np.testing.assert_allclose(one[:, 2:3], part)


def test_adjust_scores__of_what_does_not_vary_is_nothing(rng):
    components, score = made(rng)
    scores = np.stack([score, np.full(N, 2.0)])
    there = {"reference_scores": scores, "reference_components": components}
    found = adjust_scores(scores, components, **there)
    for one in found:
        assert np.isfinite(one[0]).all()
        assert np.isnan(one[1]).all()


def test_adjust_scores__raise_on_few_people(rng):
    components, score = made(rng, n=40)
    there = {"reference_scores": score[np.newaxis], "reference_components": components}
    with refused("too-few-reference-people", "got 40", error=UsageError):
        adjust_scores(score[np.newaxis], components, **there)
