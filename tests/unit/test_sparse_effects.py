"""Few strong effects: against the exact posterior, and where they are not believed in."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.methods import blup_ld, sparse_effects
from dpgrs.methods.blup import OutcomesSeen
from dpgrs.methods.blup_ld import fit_blup_ld
from dpgrs.methods.sparse_effects import posterior_of_sparse, spike_and_slab

N = 1000


def correlated(rng, d, *, strength=0.7):
    """Return rows whose columns go together with their neighbours."""
    X = rng.standard_normal((N, d))
    for column in range(1, d):
        X[:, column] = strength * X[:, column - 1] + np.sqrt(1 - strength**2) * X[:, column]
    return X


def statistics(seed, d, *, n_causal, n_outcomes, cross_sd=30.0, of_panel=1.0):
    """Return the linkage disequilibrium of a panel, X'Y of outcomes of h2 = 1/2, their effects, and X.

    Columns of the panel are `of_panel` times as long, in turns.
    """
    rng = np.random.default_rng((seed, 5))
    X, public = (correlated(rng, d) for _ in range(2))
    public[:, ::3] *= of_panel
    places = {"contig": np.full(d, "1"), "position": np.arange(d)}
    ranks = rng.random((n_outcomes, d)).argsort(axis=1)
    theta = rng.standard_normal((n_outcomes, d)) * (ranks < n_causal)
    theta /= np.sqrt(2) * (theta @ X.T).std(axis=1, keepdims=True)
    Y = theta @ X.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, N))
    cross = Y @ X + cross_sd * rng.standard_normal((n_outcomes, d))
    return public_ld(public, **places, rows_per_person=1), cross, theta, X


def with_and_without(monkeypatch, ld, cross, **known):
    """Return the weights of a fit, and of one that knows normal effects alone."""
    found, _ = fit_blup_ld(ld, cross, N, **known)
    with monkeypatch.context() as patched:
        nothing = np.zeros_like(cross), np.zeros(len(cross)), 0.0
        patched.setattr(sparse_effects, "sparse_effects", lambda *_, **__: nothing)
        return found.weights, fit_blup_ld(ld, cross, N, **known)[0].weights


def loss(weights, theta, X):
    return (((weights - theta) @ X.T) ** 2).mean()


def exactly(seen, causal, scales):
    """Return posterior means and Bayes factors by summing over all sets of variants, p and s."""
    U, a, b, trace = (getattr(seen.spectrum, name) for name in ("vectors", "first", "second", "trace"))
    d, means, factors = len(a), [], []
    for c, h2 in zip(seen.entries, seen.posterior @ seen.grid, strict=True):
        h2 = seen.grid[np.abs(seen.grid - h2).argmin()]
        t2 = h2 * seen.n / trace
        rest = np.diag(t2 * (b - a**2) + (1 - h2) * a + seen.cross_sd**2)
        A = a[:, np.newaxis] * U.T
        evidence, effects = [], []
        for is_causal, p, s in product(product([0, 1], repeat=d), causal, scales):
            prior = np.diag(np.array(is_causal) * s * t2 / p)
            covariance = A @ prior @ A.T + rest
            n_causal = sum(is_causal)
            log_prior = n_causal * np.log(p) + (d - n_causal) * np.log(1 - p) - np.log(len(causal))
            evidence.append(log_prior + multivariate_normal.logpdf(c, cov=covariance))
            effects.append(prior @ A.T @ np.linalg.solve(covariance, c))
        shares = np.exp(evidence - logsumexp(evidence))
        means.append(shares @ np.array(effects))
        normal = [multivariate_normal.logpdf(c, cov=s * t2 * A @ A.T + rest) for s in scales]
        factors.append(logsumexp(evidence) - logsumexp(normal))
    return np.array(means), np.array(factors)


def test_spike_and_slab__is_the_exact_posterior(monkeypatch):
    d = 6
    _, cross, _, X = statistics(1, d, n_causal=2, n_outcomes=4)
    spectrum = noisy_spectrum(X.T @ X, gram_sd=5.0)
    seen = OutcomesSeen.of(cross, spectrum, N, cross_sd=20.0)
    monkeypatch.setattr(sparse_effects, "MOST_CAUSAL", 0.5)
    monkeypatch.setattr(sparse_effects, "N_CAUSAL", 3)
    monkeypatch.setattr(sparse_effects, "POWERS", np.linspace(0.02, 1, 50) ** 2)
    monkeypatch.setattr(sparse_effects, "SWEEPS", 4000)
    weights, log_factors = spike_and_slab(seen, last_sweeps=100_000)
    wanted, factors = exactly(seen, np.geomspace(1 / d, 0.5, 3), sparse_effects.SCALES)
    np.testing.assert_allclose(weights, wanted, atol=0.01 * np.abs(wanted).max())
    np.testing.assert_allclose(log_factors, factors, atol=0.05)
    assert np.ptp(factors) > 1


def test_spike_and_slab__of_directions_that_were_not_released_nothing_is_known(monkeypatch):
    d, n_released, precisions = 12, 5, []
    _, cross, _, X = statistics(2, d, n_causal=2, n_outcomes=3)
    spectrum = noisy_spectrum(X.T @ X, gram_sd=0.0)
    cross_sd = np.where(np.arange(d) < d - n_released, np.inf, 30.0)
    seen = OutcomesSeen(spectrum, cross @ spectrum.vectors * np.isfinite(cross_sd), N, cross_sd)
    sample = sparse_effects._sample
    monkeypatch.setattr(
        sparse_effects, "_sample", lambda first, *more: precisions.append(first) or sample(first, *more)
    )
    assert np.isfinite(spike_and_slab(seen, last_sweeps=40)[0]).all()
    U = spectrum.vectors
    for precision in precisions:
        informed = np.diag(U.T @ precision @ U)
        np.testing.assert_allclose((U * informed) @ U.T, precision, atol=1e-12 * informed.max())
        assert ((informed > 1e-9 * informed.max()) == np.isfinite(cross_sd)).all()
    assert len(precisions) == 3


def test_sample__unjitted(monkeypatch):
    _, cross, _, X = statistics(2, 12, n_causal=2, n_outcomes=2)
    seen = OutcomesSeen.of(cross, noisy_spectrum(X.T @ X, gram_sd=0.0), N, cross_sd=30.0)
    compiled = spike_and_slab(seen, last_sweeps=40)
    monkeypatch.setattr(sparse_effects, "_sample", sparse_effects._sample.py_func)
    for found, plain in zip(compiled, spike_and_slab(seen, last_sweeps=40), strict=True):
        np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-9)


def test_fit_blup_ld__finds_few_strong_effects(monkeypatch):
    ld, cross, theta, X = statistics(3, 100, n_causal=3, n_outcomes=5)
    found, normal = with_and_without(monkeypatch, ld, cross, cross_sd=30.0)
    assert loss(found, theta, X) < 0.6 * loss(normal, theta, X)


@pytest.mark.parametrize("fits", [0.0, 0.9])
def test_fit_blup_ld__few_strong_effects_are_no_mismatch(monkeypatch, fits):
    ld, cross, _, _ = statistics(7, 40, n_causal=40, n_outcomes=5, of_panel=0.3)
    found = np.zeros_like(cross), np.zeros(len(cross)), fits
    monkeypatch.setattr(sparse_effects, "sparse_effects", lambda *_, **__: found)
    # On a panel so wrong all outcomes seem to share causes, which are fitted then.
    monkeypatch.setattr(blup_ld, "shared_fit", lambda _: None)
    _, mismatch = fit_blup_ld(ld, cross, N, cross_sd=30.0)
    assert (mismatch.chance == 0) == (fits > 0)


def test_sparse_effects__that_would_explain_more_than_there_is_are_not_believed():
    ld, cross, _, _ = statistics(8, 40, n_causal=2, n_outcomes=3)
    for scale in (1, 2):
        seen = OutcomesSeen.of(scale * cross, ld.spectrum(N), N, cross_sd=30.0)
        _, shares, fits = sparse_effects.sparse_effects(seen, seen, log_rivals=-np.inf)
        assert (shares > 0).all() == (fits > 0) == (scale == 1)


def test_fit_blup_ld__of_many_small_effects_is_as_with_normal_ones(monkeypatch):
    ld, cross, _, _ = statistics(4, 60, n_causal=60, n_outcomes=40)
    found, normal = with_and_without(monkeypatch, ld, cross, cross_sd=30.0)
    np.testing.assert_allclose(found, normal, atol=1e-5)
    assert (found == normal).all(axis=1).mean() > 0.9


def test_fit_blup_ld__does_not_believe_in_few_effects_where_public_genotypes_differ(monkeypatch):
    """Of columns that are far shorter in the panel, effects look large."""
    ld, cross, theta, X = statistics(5, 60, n_causal=60, n_outcomes=10, of_panel=0.3)
    found, normal = with_and_without(monkeypatch, ld, cross, cross_sd=30.0)
    assert loss(found, theta, X) < 1.01 * loss(normal, theta, X)
    seen = OutcomesSeen.of(cross, ld.spectrum(N), N, cross_sd=30.0)
    assert loss(spike_and_slab(seen, last_sweeps=40)[0], theta, X) > 1.5 * loss(normal, theta, X)


def test_fit_blup_ld__is_the_same_again_and_in_any_order():
    ld, cross, _, _ = statistics(6, 40, n_causal=2, n_outcomes=4)
    slopes = np.array([1.0, 0.9, 1.0, 0.8])
    order = np.array([2, 0, 3, 1])
    found, again = (fit_blup_ld(ld, cross, N, cross_sd=30.0, slopes=slopes)[0].weights for _ in range(2))
    np.testing.assert_array_equal(found, again)
    moved, _ = fit_blup_ld(ld, cross[order], N, cross_sd=30.0, slopes=slopes[order])
    np.testing.assert_allclose(moved.weights, found[order], rtol=1e-6, atol=1e-9)


def test_posterior_of_sparse__averages_over_the_share_of_outcomes():
    log_factors = np.array([-3.0, 0.5, 4.0])
    factors, share = np.exp(log_factors), np.linspace(0, 1, 11)[:, np.newaxis]
    joint = (share * factors + 1 - share).prod(axis=1)
    wanted = joint / joint.sum() @ (share * factors / (share * factors + 1 - share))
    found, log_pooled = posterior_of_sparse(log_factors)
    np.testing.assert_allclose(found, wanted)
    assert log_pooled == pytest.approx(np.log(joint.mean()))


def test_posterior_of_sparse__learns_from_other_outcomes():
    alone, _ = posterior_of_sparse(np.array([0.0]))
    among, _ = posterior_of_sparse(np.array([0.0, -9.0, -9.0, -9.0]))
    assert among[0] < alone[0] == pytest.approx(0.5)
    huge, _ = posterior_of_sparse(np.array([5000.0, -5000.0]))
    np.testing.assert_allclose(huge, [1, 0], atol=1e-9)
