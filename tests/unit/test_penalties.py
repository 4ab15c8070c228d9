"""Penalties without tuning: against BLUP, dense searches, published formulas and the best fixed penalty."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from dpgrs.errors import UsageError
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.linalg.linear_fit import ridge_weights
from dpgrs.methods.adassp import AdasspStatistics
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.blup_model import prior_moments
from dpgrs.methods.penalties import adassp_penalty, evidence_penalty
from dpgrs.privacy.accounting.events import GaussianEvent
from dpgrs.privacy.sensitivity import Sensitivity
from refused import refused

N, D, L = 1500, 40, 8


def _cohort(seed, h2=0.5):
    """Return correlated columns (n, d) and outcomes (l, n) of the model, for training and for testing."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((D, D)) * 0.7 ** np.arange(D)[:, np.newaxis]
    X = rng.standard_normal((2 * N, D)) @ mixing
    X /= X.std() * math.sqrt(D)
    X -= X[:N].mean(axis=0)
    theta = rng.standard_normal((L, D)) * math.sqrt(h2 * N / (X[:N] ** 2).sum())
    Y = theta @ X.T + math.sqrt(1 - h2) * rng.standard_normal((L, 2 * N))
    return (X[:N], Y[:, :N]), (X[N:], Y[:, N:])


def _noisy(seed, X, Y, *, gram_sd, cross_sd):
    rng = np.random.default_rng((seed, 1))
    upper = np.triu(rng.standard_normal((D, D))) * gram_sd
    return X.T @ X + upper + np.triu(upper, 1).T, Y @ X + cross_sd * rng.standard_normal((L, D))


def _r2(weights, X, Y):
    return 1 - ((Y - weights @ X.T) ** 2).sum(axis=1) / (Y**2).sum(axis=1)


def test_evidence_penalty__makes_ridge_the_blup_where_statistics_are_exact():
    (X, Y), _ = _cohort(0)
    gram, cross = X.T @ X, Y @ X
    penalty = evidence_penalty(gram, cross, N, gram_sd=0.0, cross_sd=0.0)
    # n penalty = s2/t2: the heritability that it stands for lies where the truth is.
    h2 = 1 / (1 + penalty * N * N / np.trace(gram))
    assert abs(h2 - 0.5) < 0.1
    blup = fit_blup(gram, cross, N, gram_sd=0.0, cross_sd=0.0, heritability=h2)
    np.testing.assert_allclose(
        ridge_weights(gram, cross, N, penalty=penalty), blup.weights, rtol=1e-6, atol=1e-5
    )


@pytest.mark.parametrize("inflation", [None, np.repeat([1.0, 3.0], [3, L - 3])], ids=["known", "missing"])
@pytest.mark.parametrize(("gram_sd", "cross_sd"), [(0.0, 40.0), (10.0, 20.0), (30.0, 100.0)])
def test_evidence_penalty__is_the_least_of_the_expected_error(gram_sd, cross_sd, inflation):
    (X, Y), _ = _cohort(1)
    gram, cross = _noisy(1, X, Y, gram_sd=gram_sd, cross_sd=cross_sd)
    means = np.linspace(-0.1, 0.1, D)
    factors = np.ones(L) if inflation is None else inflation
    terms = {"gram_sd": gram_sd, "cross_sd": cross_sd, "means": means}
    penalty = evidence_penalty(gram, cross / factors[:, np.newaxis], N, inflation=inflation, **terms)
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    priors = [prior_moments(spectrum, N, cross_sd=cross_sd, means=means, inflation=r) for r in factors]
    likelihoods = [
        prior.log_likelihood(own[np.newaxis] @ spectrum.vectors)
        for prior, own in zip(priors, cross, strict=True)
    ]
    share = softmax(np.sum(likelihoods, axis=0)[0])
    square = np.mean([one.variance @ share + one.loading**2 for one in priors], axis=0)
    signal = priors[0].signal @ share

    def expected_error(penalty):
        """Sum a_k E(f_k c_k - u_k'theta)^2 directly, without the square completed."""
        f = 1 / (np.maximum(spectrum.eigenvalues, 0) + N * penalty)
        return float(spectrum.first @ (f**2 * square - 2 * f * signal + priors[0].effect @ share))

    searched = penalty * np.geomspace(1e-3, 1e3, 2001)
    assert expected_error(penalty) <= min(map(expected_error, searched)) * (1 + 1e-9)


@pytest.mark.parametrize("h2", [0.1, 0.5])
@pytest.mark.parametrize(
    ("gram_sd", "cross_sd", "tolerance"),
    [
        (0.0, 0.0, 0.01),
        (0.0, 30.0, 0.01),
        (3.0, 10.0, 0.02),
        (10.0, 30.0, 0.02),
        (40.0, 100.0, 0.05),
        (400.0, 1e3, 0.05),
    ],
)
def test_evidence_penalty__is_near_the_best_fixed_penalty_and_never_a_disaster(
    gram_sd, cross_sd, tolerance, h2
):
    """Mean R^2 of 8 cohorts of 8 outcomes on fresh rows; the best penalty is chosen on these very rows."""
    penalties, found, fixed = np.geomspace(1e-4, 1e3, 25), [], []
    for seed in range(8):
        (X, Y), test = _cohort((seed, 2), h2)
        gram, cross = _noisy(seed, X, Y, gram_sd=gram_sd, cross_sd=cross_sd)
        penalty = evidence_penalty(gram, cross, N, gram_sd=gram_sd, cross_sd=cross_sd)
        found.append(_r2(ridge_weights(gram, cross, N, penalty=penalty), *test).mean())
        fixed.append([_r2(ridge_weights(gram, cross, N, penalty=p), *test).mean() for p in penalties])
    assert min(found) > -0.05
    assert np.mean(found) > np.mean(fixed, axis=0).max() - tolerance


def test_evidence_penalty__of_one_variant_is_the_best_of_its_direction():
    gram, cross, means = np.array([[90.0]]), np.array([[30.0], [-50.0]]), np.array([0.2])
    penalty = evidence_penalty(gram, cross, 200, gram_sd=0.0, cross_sd=10.0, means=means)
    prior = prior_moments(noisy_spectrum(gram, gram_sd=0.0), 200, cross_sd=10.0, means=means)
    share = softmax(prior.log_likelihood(cross).sum(axis=0))
    slope = prior.signal @ share / (prior.variance @ share + prior.loading**2)
    np.testing.assert_allclose(ridge_weights(gram, cross, 200, penalty=penalty), cross * slope)


@pytest.mark.parametrize(
    ("small", "means", "cross_sd"),
    [(1e-8, np.zeros(2), 100.0), (1.0, np.array([30.0, 0.0]), 1.0)],
    ids=["least penalty", "largest"],
)
def test_evidence_penalty__is_the_best_of_a_direction_beside_which_others_are_small(small, means, cross_sd):
    gram, cross = np.diag([1e4, small]), np.array([[4e3, 5.0]])
    penalty = evidence_penalty(gram, cross, 200, gram_sd=0.0, cross_sd=cross_sd, means=means)
    spectrum = noisy_spectrum(gram, gram_sd=0.0)
    prior = prior_moments(spectrum, 200, cross_sd=cross_sd, means=means)
    share = softmax(prior.log_likelihood(cross @ spectrum.vectors).sum(axis=0))
    best = (prior.variance @ share + prior.loading**2) / (prior.signal @ share) - spectrum.eigenvalues
    other, own = best
    assert abs(math.log(other / own)) > 1
    assert 200 * penalty == pytest.approx(own, rel=1e-3)


def test_evidence_penalty__shrinks_everything_away_where_noise_leaves_nothing():
    cross = np.random.default_rng(3).standard_normal((L, D))
    penalty = evidence_penalty(-np.eye(D), cross, N, gram_sd=1.0, cross_sd=1.0)
    assert penalty == math.inf
    assert not ridge_weights(-np.eye(D), cross, N, penalty=penalty).any()


@pytest.mark.parametrize("gram_sd", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("cross_sd", [0.0, 1.0, 1e9])
def test_evidence_penalty__is_a_number_for_hard_inputs(gram_sd, cross_sd):
    (X, Y), _ = _cohort(4)
    for columns in (X, X * (np.arange(D) > 3), np.repeat(X[:, :10], 4, axis=1), 0 * X):
        gram, cross = _noisy(4, columns, Y, gram_sd=gram_sd, cross_sd=cross_sd)
        penalty = evidence_penalty(gram, cross, N, gram_sd=gram_sd, cross_sd=cross_sd)
        assert penalty >= 0
        assert np.isfinite(ridge_weights(gram, cross, N, penalty=penalty)).all()


def test_evidence_penalty__grows_with_the_noise():
    (X, Y), _ = _cohort(5)

    def penalty(scale):
        gram, cross = _noisy(5, X, Y, gram_sd=scale, cross_sd=3 * scale)
        return evidence_penalty(gram, cross, N, gram_sd=scale, cross_sd=3 * scale)

    assert penalty(1.0) < penalty(10.0) < penalty(100.0)


def test_adassp_penalty__is_that_of_adassp_with_a_smallest_eigenvalue_of_0():
    terms = {
        "sensitivity": Sensitivity(1.0, "l2", "add-remove", "person", "gram/1"),
        "step": 1.0,
        "entries": 1,
        "source": "benchmark",
        "mu": 1.0,
    }
    sigmas = {"gram": 17.0, "smallest eigenvalue": 3.0}
    events = tuple(GaussianEvent(statistic=name, sigma=sigma, **terms) for name, sigma in sigmas.items())
    sums = {"gram": np.zeros((D + 1, D + 1)), "cross": np.zeros((L, D)), "n": N}
    paid = AdasspStatistics(**sums, events=events, smallest_eigenvalue=0.0)
    assert adassp_penalty(D, gram_sd=17.0, n=N) == pytest.approx(paid.penalty / N)


def test_adassp_penalty__bounds_the_noise_of_the_gram_matrix():
    """The bound holds but for rho; 0 of 200 draws pass it, and 5 of 5 pass 1/8 of it."""
    rng = np.random.default_rng(6)
    bound = adassp_penalty(D, gram_sd=2.0, n=1.0)
    norms = []
    for _ in range(200):
        upper = np.triu(rng.standard_normal((D, D))) * 2.0
        norms.append(np.abs(np.linalg.eigvalsh(upper + np.triu(upper, 1).T)).max())
    assert max(norms) < bound
    assert min(norms[:5]) > bound / 8


def test_adassp_penalty__follows_its_terms():
    assert adassp_penalty(D, gram_sd=2.0, n=10) == pytest.approx(adassp_penalty(D, gram_sd=1.0, n=5))
    assert adassp_penalty(1, gram_sd=6.0, n=3) == pytest.approx(2.0 * math.sqrt(math.log(40)))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"gram_sd": -1.0}, "gram_sd"),
        ({"gram_sd": 0.0}, "gram_sd"),
        ({"n": 0}, "n"),
    ],
)
def test_adassp_penalty__raise_on_numbers_out_of_their_domain(wrong, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        adassp_penalty(D, **{"gram_sd": 1.0, "n": N} | wrong)
    with refused("n-variants-not-positive", "`n_variants`", "got 0", error=UsageError):
        adassp_penalty(0, gram_sd=1.0, n=N)


@pytest.mark.parametrize(
    ("wrong", "name"), [({"cross_sd": np.nan}, "cross_sd"), ({"gram_sd": -1.0}, "gram_sd")]
)
def test_evidence_penalty__raise_on_numbers_out_of_their_domain(wrong, name):
    with refused("model-term-negative", name, error=UsageError):
        evidence_penalty(np.eye(2), np.ones((1, 2)), 10, **{"gram_sd": 1.0, "cross_sd": 1.0} | wrong)
