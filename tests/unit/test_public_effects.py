"""Fits from public effects: the model, what is found of it, and what it costs where nothing is told."""

import numpy as np
import pytest

from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.methods import public_effects
from dpgrs.methods.blup import OutcomesSeen, fit_blup
from dpgrs.methods.blup_ld import fit_blup_ld
from dpgrs.methods.blup_model import beta_priors, prior_moments
from dpgrs.methods.public_effects import (
    CORRELATIONS,
    NONE,
    PublicEffects,
    correlation_laws,
)
from dpgrs.statement.findings import MOST_NAMED, correlations_in_words
from dpgrs.statement.post_processing import post_processing

N, D = 500, 12


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def cohort(rng, *, n_outcomes, correlation, n=N, d=D, h2=0.5, n_files=None):
    """Return rows, outcomes, and public effects of each or, with `n_files`, of the first of so many files."""
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.8 * X[:, :-1]
    P = rng.standard_normal((n_files or n_outcomes, d))
    own = P if n_files is None else P[:1]
    effects = correlation * own + np.sqrt(1 - correlation**2) * rng.standard_normal((n_outcomes, d))
    genetic = effects @ X.T
    genetic /= genetic.std(axis=1, keepdims=True)
    return X, np.sqrt(h2) * genetic + np.sqrt(1 - h2) * rng.standard_normal(genetic.shape), P


def told(P, is_for, *, is_marginal=False):
    return PublicEffects(P, np.full(len(P), is_marginal), np.asarray(is_for, dtype=bool))


def noisy(rng, X, Y, *, gram_sd, cross_sd):
    upper = np.triu(rng.standard_normal((X.shape[1],) * 2)) * gram_sd
    gram = X.T @ X + upper + np.triu(upper, 1).T
    cross = Y @ X + cross_sd * rng.standard_normal((len(Y), X.shape[1]))
    return gram, cross, float(len(X))


def densely(gram, cross, n, p, *, cross_sd, means=None):
    """Return the weights of one outcome from one file by plain algebra with an exact Gram matrix."""
    d, grid = len(gram), OutcomesSeen(noisy_spectrum(gram, gram_sd=0), cross, n, cross_sd).grid
    p = p / np.sqrt(p @ gram @ p / n)
    logs, weights = np.empty((len(grid), len(CORRELATIONS))), {}
    for i, h2 in enumerate(grid):
        for j, r in enumerate(CORRELATIONS):
            t2, mean = h2 * n / np.trace(gram), r * np.sqrt(h2) * p
            rest = (1 - r**2) * t2
            covariance = rest * gram @ gram + (1 - h2) * gram + cross_sd**2 * np.eye(d)
            if means is not None:
                covariance += n * np.outer(means, means)
            misfit = cross - gram @ mean
            solved = np.linalg.solve(covariance, misfit)
            logs[i, j] = -0.5 * (np.linalg.slogdet(covariance)[1] + misfit @ solved)
            weights[i, j] = mean + rest * gram @ solved
    laws, before = correlation_laws()
    joint = np.einsum("ij,ih,lj->lhij", np.exp(logs - logs.max()), beta_priors(tuple(grid)), laws)
    posterior = np.einsum("l,lhij->ij", before, joint)
    posterior /= posterior.sum()
    found = sum(posterior[place] * one for place, one in weights.items())
    return found, posterior.sum(axis=1) @ grid, posterior.sum(axis=0) @ CORRELATIONS


@pytest.mark.parametrize("has_means", [False, True])
def test_fit_blup__from_public_effects_is_the_plain_formula(rng, has_means):
    X, Y, P = cohort(rng, n_outcomes=1, correlation=0.7)
    gram, cross, n = noisy(rng, X, Y, gram_sd=0.0, cross_sd=60.0)
    means = rng.standard_normal(D) / 10 if has_means else None
    known = {"gram_sd": 0.0, "cross_sd": 60.0, "means": means}
    found = fit_blup(gram, cross, n, **known, effects=told(3 * P, [[True]]))
    weights, h2, r = densely(gram, cross[0], n, P[0], cross_sd=60.0, means=means)
    np.testing.assert_allclose(found.weights[0], weights, rtol=1e-6)
    np.testing.assert_allclose([found.heritability[0], found.correlations[0]], [h2, r], rtol=1e-6)
    assert found.standard_errors is None


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.7])
def test_fit_blup__recovers_the_correlation_of_many_outcomes(rng, correlation):
    X, Y, P = cohort(rng, n_outcomes=60, correlation=correlation, n=2000, d=40)
    data = noisy(rng, X, Y, gram_sd=40.0, cross_sd=40.0)
    found = fit_blup(*data, gram_sd=40.0, cross_sd=40.0, effects=told(P, np.eye(60)))
    assert abs(np.median(found.correlations) - correlation) < 0.1


def test_fit_blup__useless_effects_cost_next_to_nothing(rng):
    lost = []
    for _ in range(40):
        X, Y, _ = cohort(rng, n_outcomes=3, correlation=0.0, n=1200, d=60)
        data = noisy(rng, X[:1000], Y[:, :1000], gram_sd=100.0, cross_sd=100.0)
        useless = told(rng.standard_normal((2, 60)), np.ones((3, 2)))
        r2 = []
        for effects in (None, useless):
            fit = fit_blup(*data, gram_sd=100.0, cross_sd=100.0, effects=effects)
            rest = Y[:, 1000:] - fit.weights @ X[1000:].T
            r2.append(1 - (rest**2).mean() / (Y[:, 1000:] ** 2).mean())
        lost.append(r2[0] - r2[1])
    assert np.mean(lost) < 0.002


def test_fit_blup__useful_effects_help(rng):
    X, Y, P = cohort(rng, n_outcomes=4, correlation=0.9, n=1200, d=60)
    data = noisy(rng, X[:1000], Y[:, :1000], gram_sd=200.0, cross_sd=200.0)
    errors = []
    for effects in (None, told(P, np.eye(4))):
        fit = fit_blup(*data, gram_sd=200.0, cross_sd=200.0, effects=effects)
        errors.append(((Y[:, 1000:] - fit.weights @ X[1000:].T) ** 2).mean())
    assert errors[1] < errors[0] - 0.1


def test_fit_blup__outcomes_without_a_file_are_as_without_effects(rng):
    """One by one, as otherwise all outcomes tell of h2 together."""
    X, Y, P = cohort(rng, n_outcomes=1, correlation=0.7)
    data = noisy(rng, X, Y, gram_sd=30.0, cross_sd=60.0)
    plain = fit_blup(*data, gram_sd=30.0, cross_sd=60.0)
    for effects in (told(P, [[False]]), told(0 * P, [[True]])):
        found = fit_blup(*data, gram_sd=30.0, cross_sd=60.0, effects=effects)
        np.testing.assert_allclose(found.weights, plain.weights, rtol=1e-9)
        np.testing.assert_allclose(found.heritability, plain.heritability, rtol=1e-9)
        assert found.correlations.tolist() == [0.0]


def test_fit_blup__follows_the_right_one_of_several_files(rng):
    X, Y, P = cohort(rng, n_outcomes=3, correlation=0.9, n=2000, d=40, n_files=4)
    data = noisy(rng, X, Y, gram_sd=20.0, cross_sd=20.0)
    alone, several = (
        fit_blup(*data, gram_sd=20.0, cross_sd=20.0, effects=told(files, np.ones((3, len(files)))))
        for files in (P[:1], P)
    )
    np.testing.assert_allclose(several.weights, alone.weights, atol=0.02 * np.abs(alone.weights).max())
    assert several.correlations.min() > 0.75


def test_fit_blup__public_effects_beyond_doubt_are_followed(rng):
    """The likelihood of no correlation is 0 in float64."""
    X, Y, P = cohort(rng, n_outcomes=2, correlation=0.97, n=40_000, h2=0.9)
    data = noisy(rng, X, Y, gram_sd=0.0, cross_sd=1.0)
    found = fit_blup(*data, gram_sd=0.0, cross_sd=1.0, effects=told(P, np.eye(2)))
    assert np.isfinite(found.weights).all()
    assert found.correlations.min() > 0.8


def test_fit_blup__blocks_of_outcomes_change_nothing(rng, monkeypatch):
    X, Y, P = cohort(rng, n_outcomes=7, correlation=0.5)
    data, terms = noisy(rng, X, Y, gram_sd=30.0, cross_sd=60.0), {"gram_sd": 30.0, "cross_sd": 60.0}
    whole = fit_blup(*data, **terms, effects=told(P, np.eye(7)))
    monkeypatch.setattr(public_effects, "BLOCK", 3)
    np.testing.assert_allclose(fit_blup(*data, **terms, effects=told(P, np.eye(7))).weights, whole.weights)


def test_fit_blup__covariates_are_told_nothing_of(rng):
    X, Y, P = cohort(rng, n_outcomes=2, correlation=0.7)
    data, terms = noisy(rng, X, Y, gram_sd=30.0, cross_sd=60.0), {"gram_sd": 30.0, "cross_sd": 60.0}
    padded = np.pad(P[:, :-2], [(0, 0), (0, 2)])
    one, other = (fit_blup(*data, **terms, effects=told(values, np.eye(2))) for values in (P[:, :-2], padded))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("is_marginal", [False, True])
def test_fit_blup_ld__takes_effects_of_both_kinds(rng, is_marginal):
    X, Y, P = cohort(rng, n_outcomes=20, correlation=0.9, n=4000, d=40)
    places = {"contig": np.full(40, "1"), "position": np.arange(40)}
    ld = public_ld(X[2000:], **places, rows_per_person=1)
    _, cross, n = noisy(rng, X[:1000], Y[:, :1000], gram_sd=0.0, cross_sd=150.0)
    if is_marginal:
        P = P @ (X.T @ X) / (X**2).sum(axis=0)
    effects = told(P, np.eye(20), is_marginal=is_marginal)
    errors = []
    for one in (None, effects):
        fit, _ = fit_blup_ld(ld, cross, n, cross_sd=150.0, effects=one)
        errors.append(((Y[:, 1000:2000] - fit.weights @ X[1000:2000].T) ** 2).mean())
    assert np.median(fit.correlations) > 0.7
    assert errors[1] < errors[0] - 0.1


def test_fit_blup__clips_and_missing_rows_are_undone_first(rng):
    X, Y, P = cohort(rng, n_outcomes=3, correlation=0.7)
    gram, cross, n = noisy(rng, X, Y, gram_sd=30.0, cross_sd=60.0)
    terms = {"gram_sd": 30.0, "cross_sd": 60.0, "effects": told(P, np.eye(3))}
    each = {"inflation": np.array([1.0, 1.5, 1.5]), "slopes": np.array([1.0, 0.8, 1.0])}
    whole = fit_blup(gram, cross, n, **terms, **each)
    order = [2, 0, 1]
    terms["effects"] = told(P, np.eye(3)[order])
    each = {name: values[order] for name, values in each.items()}
    turned = fit_blup(gram, cross[order], n, **terms, **each)
    np.testing.assert_allclose(turned.weights, whole.weights[order], rtol=1e-9)
    plain = fit_blup(gram, cross, n, **terms | {"effects": told(P, np.eye(3))})
    assert not np.allclose(plain.weights[1:], whole.weights[1:])


def test_correlation_laws__are_laws_and_mostly_none():
    laws, before = correlation_laws()
    np.testing.assert_allclose(laws.sum(axis=1), 1)
    np.testing.assert_allclose(before.sum(), 1)
    assert laws.min() >= 0
    # So that outcomes without files keep the rest from nothing.
    assert laws[:, CORRELATIONS == 0].min() > 0
    assert before[0] == NONE
    np.testing.assert_allclose(before @ laws @ CORRELATIONS, 0, atol=1e-12)


def test_correlations_in_words__names_few():
    words = correlations_in_words(["a", "b"], np.array([0.713, -0.002]))
    assert words.endswith("released numbers tell: a 0.71, b 0.00.")
    many = MOST_NAMED + 1
    words = correlations_in_words(list("abc") * many, np.linspace(0, 1, 3 * many))
    assert words.endswith(f"from 0.00 to 1.00 of {3 * many} outcomes, median 0.50.")


def test_prior_moments__where_nothing_is_foretold_are_as_without_public_effects(rng):
    X, _, _ = cohort(rng, n_outcomes=1, correlation=0.0)
    spectrum, h2 = noisy_spectrum(X.T @ X, gram_sd=20.0), 0.3
    found = prior_moments(spectrum, N, cross_sd=2.0, heritabilities=np.array([h2]))
    t2 = np.array([h2]) * N / spectrum.trace
    variance = t2 * spectrum.second[:, np.newaxis] + (1 - h2) * spectrum.first[:, np.newaxis] + 4.0
    np.testing.assert_array_equal(found.variance, variance)
    np.testing.assert_array_equal(found.signal, t2 * spectrum.first[:, np.newaxis])
    np.testing.assert_array_equal(found.effect, t2)


def test_blup_ld__with_public_effects_says_what_was_not_done():
    """`OverMismatches.fit` returns before it looks for shared causes and few strong effects."""
    terms = {"protection": "full", "missing_outcomes": "none"}
    said, other = (post_processing("blup-ld", fit, **terms) for fit in ({}, {"effects": ["0" * 64]}))
    new = [one for one in other if one not in said]
    assert len(new) == 2
    assert "share no factors" in new[0]
    assert "not looked for" in new[1]
    dropped = [line for line in said if line not in other]
    assert len(dropped) == 2
    assert "Effects of outcomes share factors, by" in dropped[0]
    assert "Gibbs sampling" in dropped[1]
