import numpy as np
import pytest
import scipy.linalg

from dpgrs.linalg.linear_fit import LinearFit, Spectrum, centred_gram, ridge_weights
from random_cohorts import half_coded, random_alleles


def test_predict__is_linear_about_the_means():
    fit = LinearFit(np.array([[1.0, -2.0], [0.0, 3.0]]), np.array([0.5, -0.25]), np.array([10.0, 20.0]))
    X = np.array([[0.5, -0.25], [1.5, 0.75], [0.0, 0.0]])
    expected = [[10.0, 9.0, 9.0], [20.0, 23.0, 20.75]]
    np.testing.assert_allclose(fit.predict(X), expected)


def test_in_half_coding__predicts_the_same_of_other_zeros():
    origin, X = np.array([0.25, -0.5]), np.array([[0.5, -0.25], [1.5, 0.75]])
    fit = LinearFit(np.array([[1.0, -2.0]]), np.array([0.5, -0.25]), np.array([10.0]))
    np.testing.assert_allclose(fit.in_half_coding(origin).predict(X), fit.predict(X - origin))
    assert fit.in_half_coding(None) is fit


def test_arrays__hand_on_what_was_chosen():
    chosen = np.array([[1, 2], [0, 2]])
    weights = np.array([[0.0, 2.0, -1.0], [3.0, 0.0, 0.5]])
    fit = LinearFit(weights, np.zeros(3), np.zeros(2), chosen=chosen)
    kept = fit.arrays()
    np.testing.assert_array_equal(kept["weights"], [[2.0, -1.0], [3.0, 0.5]])
    again = LinearFit.of(kept)
    np.testing.assert_array_equal(again.weights, weights)
    assert again.chosen is chosen
    assert again.standard_errors is None


def test_predict__chosen_variants_alone():
    weights, X = np.array([[0.0, 2.0, -1.0], [3.0, 0.0, 0.5]]), np.random.default_rng(0).normal(size=(5, 3))
    terms = np.array([0.5, -0.5, 0.25]), np.array([1.0, 2.0])
    fit = LinearFit(weights, *terms, chosen=np.array([[1, 2], [0, 2]]))
    np.testing.assert_allclose(fit.predict(X), LinearFit(weights, *terms).predict(X))


def test_centred_gram__equals_centring_the_rows():
    X = half_coded(random_alleles(6, 200), rows="people")
    G_c, means = centred_gram(X.T @ X, len(X))
    X = X[:, :-1]
    np.testing.assert_allclose(means, X.mean(axis=0))
    np.testing.assert_allclose(G_c, (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)), atol=1e-12)


def test_spectrum__of_the_same_matrix_is_decomposed_once(monkeypatch):
    calls, decompose = [], scipy.linalg.eigh
    monkeypatch.setattr(scipy.linalg, "eigh", lambda A: calls.append(1) or decompose(A))
    A = np.random.default_rng(0).standard_normal((20, 5))
    G = A.T @ A
    first = Spectrum.of(G, 20)
    assert Spectrum.of(G.copy(), 20) is first
    assert len(calls) == 1
    # Another number of rows, and another matrix in the same place.
    assert not np.allclose(Spectrum.of(G, 10).eigenvalues, first.eigenvalues)
    G[0, 0] += 1
    np.testing.assert_allclose(Spectrum.of(G, 10).eigenvalues, decompose(G / 10)[0])
    assert len(calls) == 3


def test_ridge_weights__solve_each_outcome():
    rng = np.random.default_rng(0)
    A, V = rng.standard_normal((20, 5)), rng.standard_normal((3, 5))
    W = ridge_weights(A.T @ A, V, 20, penalty=0.1)
    np.testing.assert_allclose(W, np.linalg.solve(A.T @ A / 20 + 0.1 * np.eye(5), V.T / 20).T)


def test_ridge_weights__negative_eigenvalues_count_as_zero():
    V = np.array([[4.0, 4.0]])
    for eigenvalue in (0.0, -1.0, -2.0):
        G = np.diag([4.0, eigenvalue])
        np.testing.assert_allclose(ridge_weights(G, V, 2, penalty=0.5), [[0.8, 4.0]])


def test_ridge_weights__negative_eigenvalues_stay_where_they_are_kept():
    V, G = np.array([[4.0, 4.0]]), np.diag([4.0, -2.0])
    found = ridge_weights(G, V, 2, penalty=0.5, keeps_negative=True)
    np.testing.assert_allclose(found, [[0.8, -4.0]])


def test_ridge_weights__nothing_along_a_singular_direction():
    G, V = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[2.0, 2.0], [1.0, -1.0]])
    np.testing.assert_allclose(ridge_weights(G, V, 1, penalty=0.0), [[1.0, 1.0], [0.0, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(ridge_weights(-np.eye(2), V, 1, penalty=0.0), np.zeros((2, 2)))
    np.testing.assert_array_equal(ridge_weights(np.zeros((2, 2)), V, 1, penalty=0.0), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("eigenvalues", "is_left"),
    [
        # Below entries of 1, rounding is that of 1.
        pytest.param(np.full(50, 8e-15), False, id="of nothing but rounding"),
        pytest.param(np.full(50, 1.3e-14), True, id="small and above rounding"),
        pytest.param(np.array([1e6, 4e-10]), [True, False], id="rounding of a large one"),
        pytest.param(np.array([-1e6, 4e-10]), False, id="rounding of a large one below 0"),
    ],
)
def test_ridge_weights__rounding_is_no_variance(eigenvalues, is_left):
    V = np.ones((1, len(eigenvalues)))
    expected = np.where(is_left, 1 / eigenvalues, 0.0)
    np.testing.assert_allclose(ridge_weights(np.diag(eigenvalues), V, 1, penalty=0.0), [expected], rtol=1e-9)


def test_ridge_weights__without_variants_are_none():
    assert ridge_weights(np.zeros((0, 0)), np.zeros((2, 0)), 3, penalty=0.0).shape == (2, 0)
