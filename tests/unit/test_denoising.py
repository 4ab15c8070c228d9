"""What noisy eigenvectors see: against simulated truth, and without noise."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from dpgrs.linalg.denoising import BULK_EDGE, denoised_means, denoised_moments, noisy_spectrum


def test_denoised_moments__tell_what_the_noisy_eigenvectors_see():
    rng = np.random.default_rng(7)
    d, sd = 300, 1.0
    spectrum = np.r_[np.zeros(250), np.linspace(1, 20, 40), np.linspace(40, 200, 10)]
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    G = (basis * spectrum) @ basis.T
    E = rng.standard_normal((d, d)) * sd
    eigenvalues, U = np.linalg.eigh(G + np.triu(E) + np.triu(E, 1).T)
    first, second = denoised_moments(eigenvalues, noise_sd=sd)
    true_first, true_second = ((U * (G @ U)).sum(axis=0), ((G @ U) ** 2).sum(axis=0))
    np.testing.assert_allclose(first[-5:], true_first[-5:], rtol=0.03)
    np.testing.assert_allclose(second[-5:], true_second[-5:], rtol=0.06)
    # Eigenvalues that stand alone: smoothing over the bulk there would take 5 % off.
    assert abs((first / true_first)[-10:].mean() - 1) < 0.02
    bulk = slice(0, 250)
    assert abs(first[bulk].mean() - true_first[bulk].mean()) < 0.25 * true_first[bulk].mean()
    assert abs(second[bulk].mean() - true_second[bulk].mean()) < 0.4 * true_second[bulk].mean()
    # Cutting negative eigenvalues off at 0 leaves far more in the bulk than there is.
    assert np.maximum(eigenvalues, 0)[bulk].mean() > 2 * true_first[bulk].mean()


def test_denoised_moments__without_noise_are_the_eigenvalues():
    first, second = denoised_moments(np.array([-1.0, 0.0, 2.0, 3.0]), noise_sd=0.0)
    np.testing.assert_array_equal(first, [0, 0, 2, 3])
    np.testing.assert_array_equal(second, [0, 0, 4, 9])


def test_denoised_means__are_closer_than_the_noisy_column():
    rng = np.random.default_rng(8)
    n, d, sd = 1000, 50, 40.0
    means = rng.uniform(-0.5, 0.5, d)
    rows = np.where(rng.random((n, d)) < means + 0.5, 0.5, -0.5)
    X = np.c_[rows, np.full(n, 0.5)]
    noise = np.triu(rng.standard_normal((d + 1, d + 1))) * sd
    gram = X.T @ X + noise + np.triu(noise, 1).T
    plain = 2 * gram[:-1, -1] / n
    error = np.abs(denoised_means(gram, n, gram_sd=sd) - rows.mean(axis=0)).mean()
    assert error < 0.7 * np.abs(plain - rows.mean(axis=0)).mean()
    np.testing.assert_allclose(denoised_means(X.T @ X, n, gram_sd=0.0), rows.mean(axis=0))


def test_noisy_spectrum__decomposes_what_it_was_given():
    noisy = np.diag([4.0, 2.0, 1.0])
    spectrum = noisy_spectrum(noisy, gram_sd=0.3)
    U = spectrum.vectors
    np.testing.assert_allclose((U * spectrum.eigenvalues) @ U.T, noisy, atol=1e-12)
    assert spectrum.trace == 7.0
    assert (spectrum.first**2 <= spectrum.second).all()


def test_noisy_spectrum__has_no_trace_where_noise_leaves_nothing():
    assert noisy_spectrum(-np.eye(3), gram_sd=0.0).trace == 0
    rng = np.random.default_rng(1)
    noise = np.triu(rng.standard_normal((40, 40)))
    np.fill_diagonal(noise, -5.0)
    assert noisy_spectrum(noise + np.triu(noise, 1).T, gram_sd=1.0).trace == 0


def test_noisy_spectrum__has_no_trace_where_no_direction_keeps_variance():
    # The trace is just above 0, but noise of this size makes eigenvalues like these without any G.
    noisy = np.diag([-4.52, -1.64, -1.15, 0.39, 0.67, 6.32])
    spectrum = noisy_spectrum(noisy, gram_sd=3.0)
    assert np.trace(noisy) > 0
    assert not spectrum.first.any()
    assert spectrum.trace == 0


def test_noisy_spectrum__a_constant_column_has_exactly_no_variance():
    X = np.random.default_rng(2).standard_normal((50, 4)) * [1, 1, 0, 1]
    spectrum = noisy_spectrum(X.T @ X, gram_sd=0.0)
    assert spectrum.first[0] == spectrum.second[0] == 0
    assert (spectrum.first[1:] > 0).all()


def semicircle(d):
    """Return the quantiles of the eigenvalues of noise of standard deviation 1/sqrt(d)."""
    angles = np.linspace(0, np.pi, 100_001)
    share = 1 - (angles - np.sin(2 * angles) / 2) / np.pi
    return 2 * np.cos(np.interp(1 - (np.arange(d) + 0.5) / d, share[::-1], angles[::-1]))[::-1]


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_denoised_moments__of_one_direction_above_the_noise(scale):
    """An eigenvalue t of G is seen at t + 1/t, by an eigenvector that has 1 - 1/t^2 of its square."""
    d, t = 400, 3.0
    seen = np.append(semicircle(d - 1), t + 1 / t)
    first, second = denoised_moments(scale * seen, noise_sd=scale / np.sqrt(d))
    overlap = 1 - 1 / t**2
    np.testing.assert_allclose(first[-1], scale * t * overlap, rtol=0.01)
    np.testing.assert_allclose(second[-1], (scale * t) ** 2 * overlap, rtol=0.01)


def test_denoised_moments__of_a_multiple_of_the_identity():
    d, t = 400, 0.1
    first, second = denoised_moments(t + semicircle(d), noise_sd=1 / np.sqrt(d))
    np.testing.assert_allclose(first, t, rtol=0.05)
    np.testing.assert_allclose(second, t**2, rtol=0.05)


def test_denoised_moments__are_never_below_0():
    first, second = denoised_moments(semicircle(100) - 0.5, noise_sd=0.1)
    np.testing.assert_array_equal(first, 0)
    assert (second >= 0).all()


def test_denoised_moments__follow_the_scale():
    eigenvalues = np.linspace(-3, 9, 20)
    first, second = denoised_moments(eigenvalues, noise_sd=0.5)
    scaled = denoised_moments(1e5 * eigenvalues, noise_sd=5e4)
    np.testing.assert_allclose(scaled, [1e5 * first, 1e10 * second], rtol=1e-9)


def test_noisy_spectrum__repeated_columns_have_exactly_no_variance():
    X = np.repeat(np.random.default_rng(3).standard_normal((50, 10)), 4, axis=1)
    spectrum = noisy_spectrum(X.T @ X, gram_sd=0.0)
    is_zero = np.arange(40) < 30
    np.testing.assert_array_equal(spectrum.first == 0, is_zero)
    np.testing.assert_array_equal(spectrum.second == 0, is_zero)


def test_noisy_spectrum__noisy_directions_without_a_first_moment_keep_the_second():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40)) * np.geomspace(0.01, 1, 40)
    upper = np.triu(rng.standard_normal((40, 40))) * 5
    spectrum = noisy_spectrum(X.T @ X + upper + np.triu(upper, 1).T, gram_sd=5.0)
    assert (spectrum.first == 0).any()
    assert (spectrum.second > 0).all()


def test_noisy_spectrum__small_variance_is_not_rounding():
    spectrum = noisy_spectrum(np.diag([1e-12, 1.0]), gram_sd=0.0)
    np.testing.assert_allclose(spectrum.first, [1e-12, 1.0])


@pytest.mark.parametrize(("diagonal", "trace"), [([-9.0, 1.0], 0.0), ([0.25, 0.25], 0.5)])
def test_noisy_spectrum__trace_is_never_below_0(diagonal, trace):
    assert noisy_spectrum(np.diag(diagonal), gram_sd=0.0).trace == trace


def test_noisy_spectrum__of_nothing_is_nothing():
    spectrum = noisy_spectrum(np.zeros((0, 0)), gram_sd=1.0)
    assert (spectrum.first.size, spectrum.trace) == (0, 0)


def test_denoised_moments__in_the_bulk_are_the_formula_1_over_the_root_of_d_off_the_axis():
    x = np.linspace(-1.9, 2.05, 16)
    assert x.max() < BULK_EDGE
    z = x - 1j / 4
    g = np.array([np.mean([1 / (at - own) for own in x]) for at in z])
    Z = z - g
    expected = np.maximum(isotonic_regression((Z * g).imag / g.imag).x, 0)
    np.testing.assert_allclose(denoised_moments(x, noise_sd=1 / 4)[0], expected, atol=1e-12)
