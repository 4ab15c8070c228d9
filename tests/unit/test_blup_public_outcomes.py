"""BLUP of public outcomes: what the evidence decides, and the overlaps that its prior rests on."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal

from dpgrs.errors import UsageError
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.methods.blup import (
    fit_blup,
    fit_blup_public_outcomes,
    sample_overlaps,
    stieltjes_transform,
)
from dpgrs.methods.blup_model import HERITABILITIES
from dpgrs.methods.penalties import evidence_penalty

EXACT = {"gram_sd": 0.0, "cross_sd": 0.0, "heritability": 0.5}


def cohort(*, n=60, d=20, n_outcomes=40):
    """Return columns of mean 0 and very different variances, and outcomes that are half heritable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d)) * np.geomspace(0.3, 3, d)
    X -= X.mean(axis=0)
    theta = rng.standard_normal((n_outcomes, d)) * np.sqrt(0.5 * n / (X**2).sum())
    return X, theta @ X.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, n))


@pytest.mark.parametrize("trust", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_fit_blup_public_outcomes__evidence_finds_how_far_outcomes_tell(trust):
    """X'Y of just the size that one prior says: the fit is that of this prior alone."""
    X, Y = cohort()
    Y *= 0.1
    n, h2, sd = len(X), 0.4, 0.5
    a, U = np.linalg.eigh(X.T @ X)
    squares, Q = np.linalg.eigh(Y @ Y.T)
    t2, s2, sample = h2 * n / a.sum(), 1 - h2, squares / len(Y)
    overlap = sample_overlaps(sample, t2 * a + s2, noise=s2, n=n, transform=stieltjes_transform(sample, n=n))
    trusting = squares[:, np.newaxis] * overlap * a
    prior = (t2 * a**2 + s2 * a) ** (1 - trust) * trusting**trust
    C = np.random.default_rng(2).choice([-1, 1], prior.shape) * np.sqrt(prior + sd**2)
    fit = fit_blup_public_outcomes(
        X.T @ X, Q @ C @ U.T, n, outcomes=Y, gram_sd=0.0, cross_sd=sd, heritability=h2
    )
    expected = Q @ (t2 / (t2 * a + s2) * prior / (prior + sd**2) * C) @ U.T
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(fit.heritability, h2)


def test_fit_blup_public_outcomes__of_outcomes_that_tell_nothing_averages_over_the_heritability():
    """All outcomes share one, under a flat prior. Outcomes as small as this are no help."""
    X, Y = cohort(d=3, n_outcomes=2)
    n, sd, gram = len(X), 3.0, X.T @ X
    cross = Y @ X + sd * np.random.default_rng(3).standard_normal((2, 3))
    t2 = HERITABILITIES * n / np.trace(gram)
    of_cross = [
        t * gram @ gram + (1 - h) * gram + sd**2 * np.eye(3) for t, h in zip(t2, HERITABILITIES, strict=True)
    ]
    share = softmax([multivariate_normal(np.zeros(3), C).logpdf(cross).sum() for C in of_cross])
    gains = [t * gram @ np.linalg.inv(C) for t, C in zip(t2, of_cross, strict=True)]
    fit = fit_blup_public_outcomes(gram, cross, n, outcomes=1e-9 * Y, gram_sd=0.0, cross_sd=sd)
    assert 0.1 < share @ HERITABILITIES < 0.9
    np.testing.assert_allclose(fit.heritability, share @ HERITABILITIES, rtol=1e-5)
    np.testing.assert_allclose(fit.weights, cross @ np.einsum("h,hij->ij", share, gains).T, rtol=1e-4)


def more_than_rows():
    return cohort(n=3, d=4, n_outcomes=5)


def many_times_the_same():
    X, Y = cohort(d=4, n_outcomes=1)
    return X, np.repeat(Y, 12, axis=0)


def known_of_nobody():
    X, Y = cohort(d=4, n_outcomes=2)
    return X, Y * [[1], [0]]


@pytest.mark.parametrize("odd_cohort", [more_than_rows, many_times_the_same, known_of_nobody])
def test_fit_blup_public_outcomes__dependent_outcomes_are_ridge_without_noise(odd_cohort):
    X, Y = odd_cohort()
    public = fit_blup_public_outcomes(X.T @ X, Y @ X, len(X), outcomes=Y, **EXACT)
    plain = fit_blup(X.T @ X, Y @ X, len(X), **EXACT)
    assert np.abs(plain.weights).max() > 0.01
    np.testing.assert_allclose(public.weights, plain.weights, atol=1e-9)


@pytest.mark.parametrize(("heritability", "reported"), [(None, 0.0), (0.3, 0.3)])
def test_fit_blup__where_noise_leaves_nothing_there_is_no_heritability_but_a_stated_one(
    heritability, reported
):
    terms = {"gram_sd": 1.0, "cross_sd": 1.0, "heritability": heritability}
    for public in ({}, {"outcomes": np.eye(3)}):
        method = fit_blup_public_outcomes if public else fit_blup
        fit = method(-np.eye(4), np.ones((3, 4)), 10, **terms, **public)
        assert not fit.weights.any()
        assert fit.standard_errors is None
        np.testing.assert_array_equal(fit.heritability, np.full(3, reported))


def test_fit_blup__little_variance_is_some():
    gram, cross, terms = np.eye(4) / 10, np.ones((3, 4)), {"gram_sd": 0.0, "cross_sd": 1.0}
    assert fit_blup(gram, cross, 10, **terms).weights.all()
    assert fit_blup_public_outcomes(gram, cross, 10, outcomes=np.eye(3), **terms).weights.all()
    assert np.isfinite(evidence_penalty(gram, cross, 10, **terms))


@pytest.mark.parametrize("n_outcomes", [4, 6, 9])
def test_stieltjes_transform__is_the_mean_over_all_eigenvalues(n_outcomes):
    n = 6
    Y = np.random.default_rng(4).standard_normal((n, n_outcomes))
    own = np.maximum(np.linalg.eigvalsh(Y.T @ Y / n_outcomes), 0)
    every = np.linalg.eigvalsh(Y @ Y.T / n_outcomes)
    z = own - 1j * np.maximum(own, own.max() / 1000) / np.sqrt(n)
    expected = (1 / (z[:, np.newaxis] - every)).mean(axis=1)
    np.testing.assert_allclose(stieltjes_transform(own, n=n), expected, rtol=1e-6)


@pytest.mark.parametrize("n", [4, 6, 9])
def test_sample_overlaps__add_up_to_1_over_all_directions(n):
    sample, population = np.array([0.0, 0.5, 4.0]), np.array([0.7, 1.0, 2.0, 9.0])
    options = {"noise": 0.3, "n": n, "transform": stieltjes_transform(sample, n=n)}
    outside = np.full(n - len(population), 0.3)
    every = sample_overlaps(sample, np.append(population, outside), **options)
    np.testing.assert_allclose(every.sum(axis=1), [0, 1, 1])
    np.testing.assert_allclose(sample_overlaps(sample, population, **options), every[:, :4])


def test_sample_overlaps__of_more_variants_than_rows_add_up_to_1():
    sample = np.array([0.5, 4.0])
    transform = stieltjes_transform(sample, n=3)
    overlap = sample_overlaps(sample, np.linspace(0.3, 5, 7), noise=0.3, n=3, transform=transform)
    np.testing.assert_allclose(overlap.sum(axis=1), 1)


@pytest.mark.parametrize("size", [2.0**-40, 2.0**40])
@pytest.mark.parametrize(
    ("odd_cohort", "sd"),
    [(cohort, 0.0), (cohort, 0.5), (many_times_the_same, 0.5)],
    ids=["exact", "", "same"],
)
def test_fits__do_not_hang_on_the_unit_of_the_variants(size, odd_cohort, sd):
    X, Y = odd_cohort()
    gram, cross, n = X.T @ X, Y @ X, len(X)
    larger = {"gram": gram * size**2, "cross": cross * size, "n": n, "gram_sd": 0.0, "cross_sd": sd * size}
    terms = {"gram": gram, "cross": cross, "n": n, "gram_sd": 0.0, "cross_sd": sd}
    for fit, public in ((fit_blup, {}), (fit_blup_public_outcomes, {"outcomes": Y})):
        one, other = fit(**terms, **public), fit(**larger, **public)
        np.testing.assert_allclose(other.weights * size, one.weights, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(other.heritability, one.heritability, rtol=1e-6)
    penalty = evidence_penalty(**terms)
    assert evidence_penalty(**larger) / size**2 == pytest.approx(penalty, rel=1e-6)


def test_fit_blup_public_outcomes__is_0_along_directions_without_variance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40)) * np.geomspace(0.01, 1, 40)
    upper = np.triu(rng.standard_normal((40, 40))) * 5
    gram = X.T @ X + upper + np.triu(upper, 1).T
    spectrum, Y = noisy_spectrum(gram, gram_sd=5.0), rng.standard_normal((3, 60))
    fit = fit_blup_public_outcomes(gram, Y @ X, 60, outcomes=Y, gram_sd=5.0, cross_sd=1.0)
    along = np.abs(fit.weights @ spectrum.vectors).max(axis=0)
    is_lost = spectrum.first == 0
    assert is_lost.any()
    assert along[is_lost].max() < 1e-12 * along.max()


def test_fit_blup__standard_errors_of_outcomes_far_beyond_the_model_are_numbers():
    X, Y = cohort(d=1)
    terms = {"gram_sd": 0.0, "cross_sd": 1.0, "heritability": 0.5}
    errors = [fit_blup(X.T @ X, size * Y @ X, len(X), **terms).standard_errors for size in (1, 1e12)]
    assert (errors[1] >= errors[0] * (1 - 1e-9)).all()


@pytest.mark.parametrize("wrong", [{"n": 0}, {"gram_sd": -1.0}, {"cross_sd": -1.0}, {"heritability": 1.0}])
def test_fit_blup_public_outcomes__raise_on_numbers_out_of_their_domain(wrong):
    (name,) = wrong
    terms = {"n": 10, "gram_sd": 1.0, "cross_sd": 1.0} | wrong
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        fit_blup_public_outcomes(np.eye(2), np.ones((1, 2)), outcomes=np.ones((1, 10)), **terms)


def test_fit_blup__standard_errors_of_a_heritability_next_to_1_are_numbers():
    """Rounding may leave an effect no variance, or less."""
    terms = {"gram_sd": 0.0, "cross_sd": 0.0, "heritability": 1 - 1e-15}
    for size in np.geomspace(1e-3, 1e9, 40):
        errors = fit_blup(np.array([[size]]), np.array([[1.0]]), 1e6, **terms).standard_errors
        assert 0 <= errors[0, 0] < 1e-3 * np.sqrt(1e6 / size)
