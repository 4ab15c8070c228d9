"""The Tukey mechanism at the size of a study, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. Results are always compared; the
ratio is asserted only when benchmarks are enabled.
"""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods.tukey import TukeyRequest, private_tukey
from dpgrs_papers.methods.tukey_models import RANK_TOLERANCE, fit_models

N_ROUNDS = 3
D = 6
REQUEST = TukeyRequest(epsilon=np.log(3), delta=1e-5, rows_per_coefficient=1.0)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def one_by_one(X, y, groups, *, n_models):
    models = np.zeros((n_models, X.shape[1]))
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=n_models))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        models[i] = np.linalg.lstsq(X[rows], y[rows], rcond=RANK_TOLERANCE)[0]
    return models


def test_fit_models__all_at_once_beat_a_loop(request, capsys):
    is_timed = request.config.getoption("--benchmark-enable")
    n_rows, n_models = (50_000, 5000) if is_timed else (500, 50)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, D))
    y = X @ np.arange(D) + rng.standard_normal(n_rows)
    groups = rng.integers(n_models, size=n_rows)
    options = {"n_models": n_models}
    expected = one_by_one(X, y, groups, **options)
    np.testing.assert_allclose(fit_models(X, y, groups, **options), expected, rtol=1e-6, atol=1e-6)
    if not is_timed:
        return
    timings = [
        (
            seconds(lambda: one_by_one(X, y, groups, **options)),
            seconds(lambda: fit_models(X, y, groups, **options)),
            seconds(lambda: private_tukey(X, y, request=REQUEST, noise=BenchmarkNoise(1))),
        )
        for _ in range(N_ROUNDS)
    ]
    slow, fast, whole = np.array(timings).min(axis=0)
    with capsys.disabled():
        print(f"\n5000 models of 6: {slow:.3f} s / {fast:.3f} s = {slow / fast:.1f}; all of it {whole:.3f} s")
    assert slow / fast >= 1.5
