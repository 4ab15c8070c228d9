"""Noise-aware BLUP: dense Gaussian conditioning, limits, coverage, degenerate inputs."""

import numpy as np
import pytest
from scipy.stats import beta, binom, multivariate_normal, norm

from dpgrs.errors import UsageError
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.methods.blup import (
    fit_blup,
    fit_blup_public_outcomes,
    sample_overlaps,
    stieltjes_transform,
)
from dpgrs.methods.blup_model import (
    CONCENTRATIONS,
    HERITABILITIES,
    beta_priors,
    effect_moments,
    heritability_posterior,
    interval_scale,
    prior_moments,
)
from refused import refused


def _cohort(seed, *, n=200, d=12, n_outcomes=3):
    """Return correlated centred columns (n, d), outcomes and effects of the model with h2 = 1/2."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / np.sqrt(d)
    X -= X.mean(axis=0)
    theta = rng.standard_normal((n_outcomes, d)) * np.sqrt(0.5 * n / (X**2).sum())
    return X, theta @ X.T + np.sqrt(0.5) * rng.standard_normal((n_outcomes, n)), theta


def _noisy(seed, X, Y, *, gram_sd, cross_sd):
    rng = np.random.default_rng((seed, 1))
    upper = np.triu(rng.standard_normal((X.shape[1],) * 2)) * gram_sd
    gram = X.T @ X + upper + np.triu(upper, 1).T
    return gram, Y @ X + cross_sd * rng.standard_normal((len(Y), X.shape[1]))


@pytest.mark.parametrize("has_means", [False, True], ids=["centred", "not centred"])
@pytest.mark.parametrize(("cross_sd", "h2"), [(0.0, 0.5), (7.0, 0.1), (7.0, 0.9)])
def test_fit_blup__equals_dense_conditioning_where_the_gram_matrix_is_exact(cross_sd, h2, has_means):
    X, Y, _ = _cohort(0)
    n, d = X.shape
    gram, cross = _noisy(0, X, Y, gram_sd=0.0, cross_sd=cross_sd)
    means = np.linspace(-0.4, 0.5, d) if has_means else np.zeros(d)
    cross += np.outer(Y.sum(axis=1), means)
    terms = {"gram_sd": 0.0, "cross_sd": cross_sd, "heritability": h2}
    fit = fit_blup(gram, cross, n, means=means if has_means else None, **terms)
    # (theta, X'y + noise) is jointly normal: condition the one on the other, without an eigenbasis.
    t2 = h2 * n / np.trace(gram)
    of_cross = t2 * gram @ gram + (1 - h2) * gram + n * np.outer(means, means) + cross_sd**2 * np.eye(d)
    gain = t2 * gram @ np.linalg.inv(of_cross)
    np.testing.assert_allclose(fit.weights, cross @ gain.T, rtol=1e-6)
    deviation = np.sqrt(np.diag(t2 * np.eye(d) - gain @ gram * t2))
    np.testing.assert_allclose(fit.standard_errors, np.tile(deviation, (len(Y), 1)), rtol=1e-6)


@pytest.mark.parametrize("h2", [0.2, 0.7])
def test_log_likelihood__is_that_of_normal_sums(h2):
    X, Y, _ = _cohort(12)
    gram, cross = _noisy(12, X, Y, gram_sd=0.0, cross_sd=5.0)
    n, d, means = *X.shape, np.linspace(-0.3, 0.6, X.shape[1])
    spectrum = noisy_spectrum(gram, gram_sd=0.0)
    grid = np.array([0.5, h2])
    prior = prior_moments(spectrum, n, cross_sd=5.0, means=means, heritabilities=grid)
    found = prior.log_likelihood(cross @ spectrum.vectors)
    t2 = grid * n / np.trace(gram)
    of_cross = [
        t * gram @ gram + (1 - h) * gram + n * np.outer(means, means) + 25 * np.eye(d)
        for t, h in zip(t2, grid, strict=True)
    ]
    dense = np.array([multivariate_normal(np.zeros(d), C).logpdf(cross) for C in of_cross]).T
    np.testing.assert_allclose(found[:, 1] - found[:, 0], dense[:, 1] - dense[:, 0], rtol=1e-6)


def test_heritability_posterior__averages_over_beta_priors():
    grid, ends = np.array([0.1, 0.4, 0.7]), np.array([0.0, 0.25, 0.55, 1.0])
    likelihood = np.array([[1.0, 0.5, 0.1], [0.3, 1.0, 0.6]])
    # One prior after the other, by Bayes' rule.
    posteriors, evidences = [], []
    for c in CONCENTRATIONS:
        for m in grid:
            joint = likelihood * np.diff(beta.cdf(ends, m * c, (1 - m) * c))
            evidences.append(joint.sum(axis=1).prod())
            posteriors.append(joint / joint.sum(axis=1, keepdims=True))
    expected = np.average(posteriors, axis=0, weights=evidences)
    # The likelihood of an outcome is known up to a factor, which may be beyond all bounds.
    factors = np.array([[-1e5], [1e5]])
    found = heritability_posterior(np.log(likelihood) + factors, beta_priors(tuple(grid)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_heritability_posterior__of_outcomes_that_contradict_every_prior_is_finite():
    log_likelihood = np.where(np.arange(40) < 20, 0.0, -1e4) * np.ones((1000, 1))
    log_likelihood[:500] = log_likelihood[:500, ::-1]
    posterior = heritability_posterior(log_likelihood, beta_priors(tuple(np.linspace(0.01, 0.99, 40))))
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert posterior[:500, 20:].sum(axis=1).min() > 0.999


@pytest.mark.parametrize(("small", "tells"), [(1e-12, True), (1e-13, False)])
def test_prior_moments__a_direction_tells_something_where_its_residuals_are_above_rounding(small, tells):
    """Those of the smallest heritability, beside the largest variance of all, which is 1000."""
    prior = prior_moments(noisy_spectrum(np.diag([small, 1.0]), gram_sd=0.0), 1000, cross_sd=0.0)
    assert prior.is_informative.tolist() == [tells, True]


def test_interval_scale__makes_the_intervals_of_a_mixture_cover():
    posterior = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0], [0.98, 0.0, 0.02]])
    given, between = np.array([0.05, 0.8, 0.4]), np.array([0.0, 0.1, 0.2, 0.0])
    total = posterior @ given + between
    half_width = norm.ppf(0.975) * interval_scale(posterior, given, total) * np.sqrt(total)
    outside = 2 * norm.sf(half_width[:, np.newaxis] / np.sqrt(given + between[:, np.newaxis]))
    covered = 1 - (posterior * outside).sum(axis=1)
    np.testing.assert_allclose(covered[:3], 0.95, rtol=1e-6)
    # The normal is wide enough here, and is kept.
    assert covered[3] > 0.95
    np.testing.assert_allclose(half_width[3], norm.ppf(0.975) * np.sqrt(total[3]))


def test_mean_variance__is_that_of_the_effects():
    X, Y, _ = _cohort(17)
    gram, cross = _noisy(17, X, Y, gram_sd=0.0, cross_sd=9.0)
    terms = {"cross_sd": 9.0, "means": np.linspace(-0.4, 0.5, X.shape[1])}
    fit = fit_blup(gram, cross, len(X), gram_sd=0.0, heritability=0.4, **terms)
    prior = prior_moments(noisy_spectrum(gram, gram_sd=0.0), len(X), heritabilities=np.array([0.4]), **terms)
    np.testing.assert_allclose((fit.standard_errors**2).mean(axis=1), prior.mean_variance[0], rtol=1e-9)


def test_effect_moments__are_those_of_a_mixture_over_heritabilities():
    X, Y, _ = _cohort(15)
    gram, cross = _noisy(15, X, Y, gram_sd=8.0, cross_sd=20.0)
    spectrum = noisy_spectrum(gram, gram_sd=8.0)
    means = np.linspace(-0.5, 0.4, X.shape[1])
    grid = np.array([0.05, 0.4, 0.9])
    prior = prior_moments(spectrum, len(X), cross_sd=20.0, means=means, heritabilities=grid)
    posterior = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    C = cross @ spectrum.vectors
    found, variances = effect_moments(C, prior, posterior)
    z = prior.outcome_means(C)
    # (n_outcomes, n_grid, n_variants)
    mean = prior.slope.T * (C[:, np.newaxis] - z[:, :, np.newaxis] * prior.loading)
    variance = prior.effect[:, np.newaxis] - (prior.slope * prior.signal).T
    expected = np.einsum("lg,lgk->lk", posterior, mean)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    spread = np.einsum("lg,lgk->lk", posterior, variance + (mean - expected[:, np.newaxis]) ** 2)
    np.testing.assert_allclose(variances, spread, rtol=1e-9)


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "primo.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


@pytest.mark.realdata
def test_fit_blup__equals_reference_answers(answers):
    terms = {"gram_sd": 0.0, "cross_sd": float(answers["blup_noise_sd"])}
    gram, cross, n = answers["blup_gram"], answers["blup_xty"].T, int(answers["blup_n"])
    fit = fit_blup(gram, cross, n, heritability=float(answers["blup_h2"]), **terms)
    np.testing.assert_allclose(fit.weights, answers["blup_weights"].T, rtol=1e-9, atol=1e-12)


@pytest.mark.realdata
def test_log_likelihood__peaks_where_reference_answers_say(answers):
    spectrum = noisy_spectrum(answers["blup_gram"], gram_sd=0.0)
    terms = {"cross_sd": float(answers["blup_noise_sd"]), "heritabilities": answers["blup_h2_grid"]}
    prior = prior_moments(spectrum, int(answers["blup_n"]), **terms)
    pooled = prior.log_likelihood(answers["blup_xty"].T @ spectrum.vectors).sum(axis=0)
    assert answers["blup_h2_grid"][pooled.argmax()] == answers["blup_h2"]


def test_fit_blup__an_outcome_off_its_public_mean_does_little_harm():
    X, Y, theta = _cohort(14, n=400, d=30, n_outcomes=20)
    means = np.full(X.shape[1], 0.5)
    cross = Y @ X + np.outer(Y.sum(axis=1) + 0.05 * len(X), means)
    terms = {"gram_sd": 0.0, "cross_sd": 1.0}

    def error(**options):
        return (((fit_blup(X.T @ X, cross, len(X), **terms, **options).weights - theta) @ X.T) ** 2).mean()

    centred = fit_blup(X.T @ X, Y @ X, len(X), **terms).weights
    assert error(means=means) < 1.2 * (((centred - theta) @ X.T) ** 2).mean()
    assert error(means=means) < 0.7 * error()


def test_fit_blup__does_not_hang_on_the_order_of_outcomes_or_variants():
    X, Y, _ = _cohort(2, n_outcomes=5)
    gram, cross = _noisy(2, X, Y, gram_sd=9.0, cross_sd=5.0)
    fit = fit_blup(gram, cross, len(X), gram_sd=9.0, cross_sd=5.0)
    mirrored = fit_blup(gram[::-1, ::-1], cross[::-1, ::-1], len(X), gram_sd=9.0, cross_sd=5.0)
    np.testing.assert_allclose(mirrored.weights, fit.weights[::-1, ::-1], atol=1e-10)


def test_fit_blup__estimates_heritability_for_each_outcome():
    rng = np.random.default_rng(3)
    X, _, theta = _cohort(3, n=2000, d=60, n_outcomes=40)
    genetic = theta @ X.T
    genetic /= genetic.std(axis=1, keepdims=True)
    h2 = np.repeat([[0.1], [0.8]], 20, axis=0)
    Y = np.sqrt(h2) * genetic + np.sqrt(1 - h2) * rng.standard_normal(genetic.shape)
    fit = fit_blup(X.T @ X, Y @ X, len(X), gram_sd=0.0, cross_sd=10.0)
    assert abs(fit.heritability[:20].mean() - 0.1) < 0.05
    assert abs(fit.heritability[20:].mean() - 0.8) < 0.1


@pytest.mark.parametrize(("gram_sd", "heritability"), [(0.0, None), (0.0, 0.5), (20.0, 0.5)])
def test_fit_blup__intervals_cover(gram_sd, heritability):
    """95 % intervals, one for each of 10 outcomes of 100 cohorts, taken as 500 independent ones.

    Outcomes of a cohort share its genotypes and the noise of its Gram matrix; half their number allows for
    that. A true coverage in [0.93, 0.97] then fails with probability below 1e-6.
    """
    n_cohorts, n_outcomes, n_covered = 100, 10, 0
    for seed in range(n_cohorts):
        X, Y, theta = _cohort(seed, n=150, d=30, n_outcomes=n_outcomes)
        gram, cross = _noisy(seed, X, Y, gram_sd=gram_sd, cross_sd=10.0)
        fit = fit_blup(gram, cross, len(X), gram_sd=gram_sd, cross_sd=10.0, heritability=heritability)
        is_covered = np.abs(fit.weights - theta) < 1.96 * fit.standard_errors
        n_covered += is_covered.diagonal().sum()
    share, n = n_covered / (n_cohorts * n_outcomes), 500
    assert binom.ppf(5e-7, n, 0.93) / n <= share <= binom.ppf(1 - 5e-7, n, 0.97) / n


def test_fit_blup__interval_of_one_variant_is_that_of_a_mixture_over_heritabilities():
    gram, cross = np.array([[80.0]]), np.array([[1.0], [12.0], [25.0], [60.0]])
    fit = fit_blup(gram, cross, 100, gram_sd=0.0, cross_sd=4.0)
    prior = prior_moments(noisy_spectrum(gram, gram_sd=0.0), 100, cross_sd=4.0)
    share = heritability_posterior(prior.log_likelihood(cross), beta_priors(tuple(HERITABILITIES)))
    effect = prior.slope[0] * cross
    mean = (share * effect).sum(axis=1, keepdims=True)
    given, between = (
        prior.effect - prior.slope[0] * prior.signal[0],
        (share * (effect - mean) ** 2).sum(axis=1),
    )
    np.testing.assert_allclose(fit.weights, mean)
    np.testing.assert_allclose(fit.heritability, share @ HERITABILITIES)
    half_width = norm.ppf(0.975) * fit.standard_errors
    outside = (share * 2 * norm.sf(half_width / np.sqrt(given + between[:, np.newaxis]))).sum(axis=1)
    sd = np.sqrt(share @ given + between)
    is_wider = fit.standard_errors[:, 0] > sd * (1 + 1e-9)
    assert is_wider.any()
    np.testing.assert_allclose(outside[is_wider], 0.05, rtol=1e-6)
    np.testing.assert_allclose(fit.standard_errors[~is_wider, 0], sd[~is_wider])
    assert (outside < 0.05 + 1e-7).all()


def test_fit_blup__withholds_standard_errors_that_would_not_be_calibrated():
    X, Y, _ = _cohort(4)
    gram, cross = _noisy(4, X, Y, gram_sd=5.0, cross_sd=5.0)
    assert fit_blup(gram, cross, len(X), gram_sd=5.0, cross_sd=5.0).standard_errors is None
    stated = fit_blup(gram, cross, len(X), gram_sd=5.0, cross_sd=5.0, heritability=0.5)
    assert (stated.standard_errors > 0).all()


def _hard_cases():
    X, Y, _ = _cohort(5)
    wide, Y_wide, _ = _cohort(5, n=8, d=20)
    constant = X * (np.arange(X.shape[1]) > 3)
    repeated = np.repeat(X[:, :3], 4, axis=1)
    one = X[:, :1]
    cases = {"plain": X, "constant": constant, "repeated": repeated, "all constant": 0 * X, "one": one}
    return [(A, Y) for A in cases.values()] + [(wide, Y_wide), (X, 0 * Y), (X, Y[:1])]


@pytest.mark.parametrize("gram_sd", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("cross_sd", [0.0, 1.0, 1e9])
def test_fit_blup__always_finite_and_small_where_noise_is_huge(gram_sd, cross_sd):
    for X, Y in _hard_cases():
        gram, cross = _noisy(6, X, Y, gram_sd=gram_sd, cross_sd=cross_sd)
        means = np.linspace(-0.5, 0.5, X.shape[1])
        for heritability, m in ((None, None), (None, means), (0.5, means)):
            terms = {"gram_sd": gram_sd, "cross_sd": cross_sd, "heritability": heritability, "means": m}
            for fit in (
                fit_blup(gram, cross, len(X), **terms),
                fit_blup_public_outcomes(gram, cross, len(X), outcomes=Y, **terms),
            ):
                assert np.isfinite(fit.weights).all()
                assert np.isfinite(fit.heritability).all()
                assert fit.standard_errors is None or np.isfinite(fit.standard_errors).all()
                if cross_sd == 1e9:
                    assert np.abs(X @ fit.weights.T).max(initial=0) < 1e-3


def test_sample_overlaps__are_those_of_simulated_outcomes():
    rng = np.random.default_rng(11)
    n, n_outcomes, noise = 300, 200, 0.5
    population = np.linspace(4, 30, 20)
    scale = np.sqrt(np.r_[population, np.full(n - len(population), noise)])
    expected, seen = [], []
    for _ in range(5):
        Y = scale[:, np.newaxis] * rng.standard_normal((n, n_outcomes))
        P, singular, _ = np.linalg.svd(Y, full_matrices=False)
        sample = singular**2 / n_outcomes
        transform = stieltjes_transform(sample, n=n)
        expected.append(sample_overlaps(sample, population, noise=noise, n=n, transform=transform))
        seen.append(P[: len(population)].T ** 2)
    expected, seen = np.mean(expected, axis=0), np.mean(seen, axis=0)
    # How much of an axis of the sample is signal, along the spikes and far from them.
    np.testing.assert_allclose(expected[:15].sum(axis=1).mean(), seen[:15].sum(axis=1).mean(), rtol=0.1)
    np.testing.assert_allclose(expected[40:].sum(axis=1).mean(), seen[40:].sum(axis=1).mean(), rtol=0.3)
    assert abs((expected[:5] @ population).mean() / (seen[:5] @ population).mean() - 1) < 0.1


def test_fit_blup_public_outcomes__predicts_more_of_many_outcomes():
    X, Y, theta = _cohort(9, n=400, d=30, n_outcomes=300)
    gram, cross = _noisy(9, X, Y, gram_sd=20.0, cross_sd=80.0)
    plain = fit_blup(gram, cross, len(X), gram_sd=20.0, cross_sd=80.0)
    public = fit_blup_public_outcomes(gram, cross, len(X), outcomes=Y, gram_sd=20.0, cross_sd=80.0)

    def error(fit):
        return ((X @ (fit.weights - theta).T) ** 2).mean()

    assert error(public) < 0.9 * error(plain)


def test_fit_blup_public_outcomes__is_ridge_without_noise():
    X, Y, _ = _cohort(10)
    gram = X.T @ X
    fit = fit_blup_public_outcomes(
        gram, Y @ X, len(X), outcomes=Y, gram_sd=0.0, cross_sd=0.0, heritability=0.5
    )
    ridge = fit_blup(gram, Y @ X, len(X), gram_sd=0.0, cross_sd=0.0, heritability=0.5)
    np.testing.assert_allclose(fit.weights, ridge.weights, rtol=1e-9, atol=1e-12)


def test_fit_blup_public_outcomes__centres_the_cross_product_exactly():
    X, Y, _ = _cohort(16)
    gram, cross = _noisy(16, X, Y, gram_sd=5.0, cross_sd=10.0)
    means = np.linspace(-0.5, 0.5, X.shape[1])
    terms = {"outcomes": Y, "gram_sd": 5.0, "cross_sd": 10.0}
    centred = fit_blup_public_outcomes(gram, cross, len(X), **terms)
    uncentred = cross + np.outer(Y.sum(axis=1), means)
    fit = fit_blup_public_outcomes(gram, uncentred, len(X), means=means, **terms)
    np.testing.assert_allclose(fit.weights, centred.weights, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gram_sd": -1.0},
        {"cross_sd": np.inf},
        {"cross_sd": np.nan},
        {"heritability": 1.0},
        {"heritability": 0.0},
    ],
)
def test_fit_blup__raise_on_numbers_out_of_their_domain(wrong):
    terms = {"gram_sd": 1.0, "cross_sd": 1.0, "heritability": None} | wrong
    (name,) = wrong
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        fit_blup(np.eye(2), np.ones((1, 2)), 10, **terms)
    for n in (0, np.inf):
        with refused("n-not-positive", "`n`", error=UsageError):
            fit_blup(np.eye(2), np.ones((1, 2)), n, gram_sd=1.0, cross_sd=1.0)
