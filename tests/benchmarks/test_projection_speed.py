"""Projections at the sizes of a large study, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. Results are always compared; the
ratios are asserted only when benchmarks are enabled.
"""

import time

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from dpgrs.linalg.projection import project_feature, project_label

N_ROUNDS = 3
SMALL = {"n_rows": 400, "n_variants": 20, "n_outcomes": 50}


@pytest.fixture
def is_timed(request):
    return request.config.getoption("--benchmark-enable")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fastest(*functions):
    return np.array([[seconds(function) for function in functions] for _ in range(N_ROUNDS)]).min(axis=0)


def study(*, n_rows, n_variants, n_outcomes):
    """Return X, Y and noisy X'Y."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n_rows, n_variants)) - 0.5
    Y = rng.standard_normal((n_outcomes, n_rows))
    return X, Y, Y @ X + rng.normal(0, 1000, (n_outcomes, n_variants))


def one_by_one(points, gram, radius):
    """Project the rows of `points` onto {v : v' gram^-1 v <= radius^2}, each by Brent's method."""
    w, U = eigh(gram)

    def excess(nu, c):
        return np.log(np.sum(w * (c / (w + nu)) ** 2) / radius**2)

    projected = np.empty_like(points)
    for i, v in enumerate(points):
        c = U.T @ v
        outer = np.sqrt(np.sum(w * c**2)) / radius
        nu = brentq(excess, 0, outer, args=(c,), rtol=1e-12) if excess(0, c) > 0 else 0.0
        projected[i] = U @ (w / (w + nu) * c)
    return projected


def test_project_label__all_outcomes_at_once_beat_a_loop(is_timed, capsys):
    sizes = {"n_rows": 5008, "n_variants": 400, "n_outcomes": 10_000} if is_timed else SMALL
    X, _, V = study(**sizes)
    gram, radius = X.T @ X, np.sqrt(len(X))
    expected = one_by_one(V[:50], gram, radius)
    np.testing.assert_allclose(project_label(V, gram, radius)[:50], expected, rtol=1e-6, atol=1e-8)
    if not is_timed:
        return
    slow, fast = fastest(lambda: one_by_one(V, gram, radius), lambda: project_label(V, gram, radius))
    with capsys.disabled():
        print(f"\nlabel, 400 x 10000: {slow:.2f} s / {fast:.2f} s = {slow / fast:.1f}")
    assert slow / fast >= 3


def test_project_feature__costs_little_beside_its_eigenvalues(is_timed, capsys):
    sizes = {"n_rows": 5008, "n_variants": 400, "n_outcomes": 2000} if is_timed else SMALL
    X, Y, V = study(**sizes)
    radius = np.sqrt(len(X)) / 2
    expected = one_by_one(V.T[:20], Y @ Y.T, radius)
    np.testing.assert_allclose(project_feature(V, Y, radius).T[:20], expected, rtol=1e-6, atol=1e-8)
    if not is_timed:
        return
    ours, eigenvalues = fastest(lambda: project_feature(V, Y, radius), lambda: eigh(Y @ Y.T))
    with capsys.disabled():
        print(f"\nfeature, 400 x 2000: {ours:.2f} s / {eigenvalues:.2f} s = {ours / eigenvalues:.2f}")
    assert ours / eigenvalues <= 1.5
