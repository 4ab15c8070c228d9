"""Exact noise against OpenDP's integer Gaussian, timed by `pytest --benchmark-enable`.

Both sides use one thread and take turns, so that a busy machine slows both. The spreads are always compared;
the ratio is asserted only when benchmarks are enabled.
"""

import time

import numpy as np
import opendp.prelude as dp
import pytest

from dpgrs.privacy.noise import samplers
from dpgrs.privacy.noise.stream import KeyStream

AIM = 40
N_ROUNDS = 5

dp.enable_features("contrib")


def seconds_per_draw(draw, size):
    start = time.perf_counter()
    draw(size)
    return (time.perf_counter() - start) / size


@pytest.mark.parametrize("sigma", [1, 2**10, 2**20, 2**30, 2**40, 2**48])
def test_rounded_normal__faster_than_opendp(sigma, request, capsys):
    stream = KeyStream(bytes(32), b"speed")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(sigma))

    def exact(size):
        return samplers.rounded_normal(stream, size, sigma)

    def opendp(size):
        return np.array(gaussian([0] * size))

    # Over 4,000 draws the ratio of two spreads has a standard deviation of 1.6 %.
    assert np.std(exact(4000)) == pytest.approx(np.std(opendp(4000)), rel=0.15)
    if not request.config.getoption("--benchmark-enable"):
        return
    timings = [(seconds_per_draw(opendp, 10_000), seconds_per_draw(exact, 400_000)) for _ in range(N_ROUNDS)]
    theirs, ours = np.array(timings).min(axis=0)
    with capsys.disabled():
        print(f"\nrounded_normal, {sigma}: {theirs:.2e} s / {ours:.2e} s = {theirs / ours:.0f}")
    assert theirs / ours >= AIM
