"""BLUP of outcomes that share causes: planted factors, and BLUP itself where there are none."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from dpgrs.errors import UsageError
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.linalg.steering import steer
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.blup_shared import (
    DRAWS,
    factorise,
    fit_blup_shared,
    see,
    seen_anew,
    shows_factors,
)

N = 400


def statistics(
    seed, *, rank, n_outcomes=60, d=30, gram_sd=0.0, cross_sd=60.0, missing=(0.0,), slopes=None, shift=0.0
):
    """Return noisy sums of outcomes of h2 = 1/2, what fits know of them, effects, and X.

    Effects have a rank; with none they are independent.
    """
    rng = np.random.default_rng((seed, 3))
    X = rng.standard_normal((N, d)) @ rng.standard_normal((d, d)) / np.sqrt(d)
    X -= X.mean(axis=0)
    theta = rng.standard_normal((n_outcomes, d))
    if rank:
        theta = rng.standard_normal((n_outcomes, rank)) @ rng.standard_normal((rank, d)) / np.sqrt(rank)
    theta *= np.sqrt(0.5 * N / (X**2).sum())
    Y = theta @ X.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, N))
    is_known = rng.random(Y.shape) >= np.resize(missing, n_outcomes)[:, np.newaxis]
    means = shift * rng.standard_normal(d)
    cross = (Y * is_known) @ (X + means) * (1.0 if slopes is None else slopes[:, np.newaxis])
    cross += cross_sd * rng.standard_normal(cross.shape)
    upper = np.triu(rng.standard_normal((d, d))) * gram_sd
    terms = {"gram_sd": gram_sd, "cross_sd": cross_sd, "means": means if shift else None, "slopes": slopes}
    terms["inflation"] = N / is_known.sum(axis=1) if any(missing) else None
    return (X.T @ X + upper + np.triu(upper, 1).T, cross, N), terms, theta, X


def r2(weights, theta, X):
    """Return the share of the genetic variance that is predicted, the mean over outcomes."""
    genetic = theta @ X.T
    return 1 - (((weights - theta) @ X.T) ** 2).sum() / (genetic**2).sum()


MISSING = (0.0, 0.5)
SLOPES = np.resize([1.0, 0.8], 60)
VARIETIES = {
    "exact gram": {},
    "noisy gram": {"gram_sd": 10.0},
    "missing": {"missing": MISSING, "gram_sd": 5.0},
    "clipped": {"slopes": SLOPES, "gram_sd": 5.0},
    "not centred": {"shift": 0.5},
    "all": {"missing": MISSING, "slopes": SLOPES, "shift": 0.5, "gram_sd": 5.0},
}
every_variety = pytest.mark.parametrize("variety", VARIETIES.values(), ids=VARIETIES)


def test_fit_blup_shared__comes_close_to_conditioning_on_the_true_covariance_of_outcomes():
    (gram, cross, n), terms, theta, X = statistics(0, rank=3, n_outcomes=150, cross_sd=40.0)
    found, plain = fit_blup_shared(gram, cross, n, **terms), fit_blup(gram, cross, n, **terms)
    # Effects of covariance Sigma over outcomes and I over variants: both sides have an eigenbasis.
    variances, Q = np.linalg.eigh(theta @ theta.T / theta.shape[1])
    w, U = np.linalg.eigh(gram)
    signal = np.outer(np.maximum(variances, 0), w)
    oracle = Q @ (signal / (signal * w + 0.5 * w + terms["cross_sd"] ** 2) * (Q.T @ cross @ U)) @ U.T
    best, own, of_blup = (r2(weights, theta, X) for weights in (oracle, found.weights, plain.weights))
    assert best - own < 0.25 * (best - of_blup)
    assert own - of_blup > 0.1
    assert found.standard_errors is None


@every_variety
def test_fit_blup_shared__predicts_more_of_outcomes_that_share_causes(variety):
    released, terms, theta, X = statistics(1, rank=2, **variety)
    shared, plain = (r2(fit(*released, **terms).weights, theta, X) for fit in (fit_blup_shared, fit_blup))
    assert shared - plain > 0.05


@every_variety
def test_fit_blup_shared__is_blup_where_outcomes_share_nothing(variety):
    for seed in range(3):
        released, terms, *_ = statistics(seed, rank=0, **variety)
        found, plain = (fit(*released, **terms) for fit in (fit_blup_shared, fit_blup))
        np.testing.assert_array_equal(found.weights, plain.weights)
        np.testing.assert_array_equal(found.heritability, plain.heritability)
        assert found.standard_errors is None


@pytest.mark.parametrize("terms", [{}, {"heritability": 0.4}], ids=["estimated", "stated"])
@pytest.mark.parametrize(("n_outcomes", "d"), [(1, 30), (20, 1), (1, 1)])
def test_fit_blup_shared__one_outcome_or_variant_shares_nothing(n_outcomes, d, terms):
    released, known, *_ = statistics(2, rank=1, n_outcomes=n_outcomes, d=d, cross_sd=5.0)
    found, plain = (fit(*released, **known, **terms) for fit in (fit_blup_shared, fit_blup))
    np.testing.assert_array_equal(found.weights, plain.weights)


def test_fit_blup_shared__where_noise_leaves_nothing_or_might_it_is_blup():
    terms = {"gram_sd": 50.0, "cross_sd": 1.0}
    assert not fit_blup_shared(-np.eye(4), np.ones((3, 4)), N, **terms).weights.any()
    # What is seen here is luck: some draws see nothing.
    gram, cross = np.diag([1.0, 1.0, 1.0, 20.0]), 1e4 * np.ones((3, 4))
    assert see(gram, cross, N, **terms) is not None
    assert not shows(see(gram, cross, N, **terms), **terms)


def shows(seen, **terms):
    return shows_factors(seen, partial(seen_anew, seen, n=N, **terms))


@every_variety
def test_see__expects_the_spread_that_there_is(variety):
    many = variety | ({"slopes": np.resize(SLOPES, 3000)} if "slopes" in variety else {})
    released, terms, *_ = statistics(7, rank=0, n_outcomes=3000, **many)
    seen = see(*released, heritability=0.5, **terms)
    squares = (seen.residual**2 / (seen.signal + seen.rest)).mean(axis=0)
    assert squares.mean() == pytest.approx(1, abs=0.06)
    if not terms["gram_sd"]:
        # Means over 3,000: 0.026 is a standard deviation.
        assert np.abs(squares - 1).max() < 0.2


@every_variety
def test_fit_blup_shared__does_not_hang_on_the_order_of_outcomes(variety):
    (gram, cross, n), terms, *_ = statistics(3, rank=2, **variety)
    order = np.random.default_rng(5).permutation(len(cross))
    moved = {name: terms[name][order] for name in ("inflation", "slopes") if terms[name] is not None}
    fit, other = (
        fit_blup_shared(gram, cross, n, **terms),
        fit_blup_shared(gram, cross[order], n, **terms | moved),
    )
    np.testing.assert_allclose(other.weights, fit.weights[order], rtol=1e-3, atol=1e-6)
    again = fit_blup_shared(gram, cross, n, **terms)
    np.testing.assert_array_equal(again.weights, fit.weights)


def steered(seed, *, rank, cross_sd, gram_sd=20.0, **design):
    """Return what `statistics` does, X'Y of rows that were steered by the noisy Gram matrix."""
    (gram, cross, n), terms, theta, X = statistics(seed, rank=rank, gram_sd=gram_sd, cross_sd=0.0, **design)
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    norm = {"row_norm": np.sqrt(spectrum.trace / n), "noise_sd": cross_sd}
    steering = steer(spectrum, n, rows="haplotypes", **norm)
    S, n_used = np.zeros_like(cross), len(steering.places)
    S[:, :n_used] = cross @ steering.matrix.T
    S += cross_sd * np.random.default_rng((seed, 4)).standard_normal(S.shape)
    return (gram, S, n), terms | {"cross_sd": cross_sd, "steering": steering}, theta, X


@every_variety
def test_fit_blup_shared__of_steered_rows(variety):
    design = {"cross_sd": 60.0} | {name: variety[name] for name in variety if name in ("missing", "slopes")}
    released, terms, theta, X = steered(1, rank=2, **design)
    shared, plain = (r2(fit(*released, **terms).weights, theta, X) for fit in (fit_blup_shared, fit_blup))
    assert shared - plain > 0.05
    for heritability in (None, 0.5):
        released, terms, *_ = steered(2, rank=0, **design)
        found, plain = (
            fit(*released, heritability=heritability, **terms) for fit in (fit_blup_shared, fit_blup)
        )
        np.testing.assert_array_equal(found.weights, plain.weights)
        # Those of steered X'Y are calibrated where heritability is stated.
        assert (found.standard_errors is None) == (heritability is None)


def test_shows_factors__seldom_where_steered_outcomes_share_nothing():
    replicates, passed = 60, {0: 0, 2: 0}
    for rank in passed:
        for seed in range(replicates):
            released, terms, *_ = steered(seed, rank=rank, n_outcomes=15, d=15, cross_sd=20.0)
            passed[rank] += shows(see(*released, **terms), **terms)
    assert passed[0] <= binom.isf(1e-9, replicates, 1 / (DRAWS + 1))
    assert passed[2] > replicates / 2


@pytest.mark.parametrize("gram_sd", [0.0, 20.0])
def test_shows_factors__seldom_where_outcomes_share_nothing(gram_sd):
    replicates, passed = 60, {0: 0, 2: 0}
    for rank in passed:
        for seed in range(replicates):
            released, terms, *_ = statistics(
                seed, rank=rank, n_outcomes=15, d=15, gram_sd=gram_sd, cross_sd=20.0
            )
            passed[rank] += shows(see(*released, **terms), **terms)
    # The largest of eleven alike is the last one with a chance of 1/11, without a margin.
    assert passed[0] <= binom.isf(1e-9, replicates, 1 / (DRAWS + 1))
    assert passed[2] > replicates / 2


def test_shows_factors__the_noise_of_the_gram_matrix_is_no_factor():
    """Given it, directions go together in the same way for all outcomes, which white noise does not show."""
    released, terms, *_ = statistics(4, rank=0, n_outcomes=1000, gram_sd=20.0, cross_sd=10.0)
    seen = see(*released, **terms)
    white = np.random.default_rng(8).standard_normal(seen.residual.shape) * np.sqrt(seen.signal + seen.rest)
    largest, of_white = (np.linalg.norm(one.standardised, 2) for one in (seen, replace(seen, residual=white)))
    assert largest > 1.2 * of_white
    assert not shows(seen, **terms)


def test_factorise__equals_plain_coordinate_ascent():
    """Coordinate ascent without the rotations that make it fast, and EM."""
    rng = np.random.default_rng(6)
    n_outcomes, d, R = 14, 18, 2
    noise = rng.uniform(0.3, 1.5, (n_outcomes, d))
    Y = rng.standard_normal((n_outcomes, R)) @ rng.standard_normal((R, d))
    Y += rng.standard_normal(Y.shape) * np.sqrt(0.1 + noise)
    start = np.linalg.svd(Y)[2][:R].T * np.sqrt(d)
    shared, psi = factorise(Y, noise, start)
    F, of_F, tau, own = start.copy(), np.zeros((d, R, R)), np.full(R, 0.4), 0.2
    for _ in range(4000):
        w = 1 / (own + noise)
        squares = np.einsum("kr,ks->krs", F, F) + of_F
        of_G = np.linalg.inv(np.diag(1 / tau) + np.einsum("jk,krs->jrs", w, squares))
        G = np.einsum("jrs,jk,jk,ks->jr", of_G, w, Y, F)
        seconds = np.einsum("jr,js->jrs", G, G) + of_G
        of_F = np.linalg.inv(np.eye(R) + np.einsum("jk,jrs->krs", w, seconds))
        F = np.einsum("krs,jk,jk,js->kr", of_F, w, Y, G)
        tau = np.einsum("jrr->r", seconds) / n_outcomes
        squares = np.einsum("kr,ks->krs", F, F) + of_F
        # EM for the variance of what outcomes have of their own.
        misfit = Y**2 - 2 * Y * (G @ F.T) + np.einsum("jrs,krs->jk", seconds, squares)
        own = np.mean(own * noise * w + (own * w) ** 2 * misfit)
    np.testing.assert_allclose(shared, G @ F.T, atol=0.02)
    assert psi == pytest.approx(own, abs=0.01)


@pytest.mark.parametrize("n_outcomes", [1, 3])
@pytest.mark.parametrize("wrong", [{"cross_sd": -1.0}, {"gram_sd": np.inf}, {"heritability": 1.0}], ids=str)
def test_fit_blup_shared__raise_on_numbers_out_of_their_domain(wrong, n_outcomes):
    terms = {"gram_sd": 1.0, "cross_sd": 1.0} | wrong
    with pytest.raises(UsageError, match=next(iter(wrong))):
        fit_blup_shared(np.eye(2), np.ones((n_outcomes, 2)), N, **terms)
