import json
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.privacy.sensitivity import Sensitivity

SENSITIVITY = Sensitivity(2.0, "l2", "add-remove", "person", "docs/proofs/gram.md")
OPTIONS = {"name": "gram", "step": 0.25, "sensitivity": SENSITIVITY, "mu": 0.5}


def draw(*key, statistic=None, **options):
    statistic = np.zeros(1000, dtype=np.int64) if statistic is None else statistic
    return BenchmarkNoise(*key).gaussian(statistic, **OPTIONS | options)[0]


def test_gaussian__same_key_same_bytes():
    assert draw(1, "trial", 0).tobytes() == draw(1, "trial", 0).tobytes()


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ((2, "trial", 0), {}),
        ((1, "trial", 1), {}),
        ((1, "trial", 0), {"name": "cross product"}),
        ((1, "trial", 0), {"mu": 0.5000001}),
        ((1, "trial", 0), {"step": 0.125}),
    ],
)
def test_gaussian__other_requests_share_no_noise(key, options):
    assert (draw(*key, **options) != draw(1, "trial", 0)).mean() > 0.8


def test_gaussian__has_the_scale_that_the_event_claims():
    noisy, event = BenchmarkNoise(1).gaussian(np.full(100_000, 7), **OPTIONS)
    assert noisy.dtype == np.int64
    assert event.sigma == pytest.approx(4.0)
    # 100,000 draws: both limits are more than 5 standard errors wide.
    assert (noisy - 7).mean() * event.step == pytest.approx(0, abs=0.07)
    assert (noisy - 7).std() * event.step == pytest.approx(event.sigma, rel=0.012)


def test_gaussian__sigma_is_rounded_up():
    event = BenchmarkNoise(1).gaussian(np.zeros(1, dtype=int), **OPTIONS | {"mu": 0.3})[1]
    assert event.sensitivity.value / event.sigma < 0.3


def test_gaussian__shape_and_scalars():
    assert draw(1, statistic=np.zeros((3, 4), dtype=np.int64)).shape == (3, 4)
    assert draw(1, statistic=5).shape == ()


def test_gaussian__event_is_serialisable_and_frozen():
    event = BenchmarkNoise(1).gaussian(np.zeros((3, 4), dtype=int), **OPTIONS)[1]
    assert json.loads(json.dumps(asdict(event))) == {
        "statistic": "gram",
        "sensitivity": asdict(SENSITIVITY),
        "mu": 0.5,
        "sigma": event.sigma,
        "step": 0.25,
        "entries": 12,
        "source": "benchmark",
        "version": 1,
    }
    with pytest.raises(FrozenInstanceError):
        event.mu = 1.0


@pytest.mark.parametrize("mu", [0.0, -1.0, np.nan, np.inf])
def test_gaussian__raise_on_budget(mu):
    with pytest.raises(UsageError, match="budget of the gram must be a finite number above 0"):
        draw(1, mu=mu)


def test_gaussian__raise_on_noise_beyond_the_grid():
    with pytest.raises(UsageError, match="at most 3e\\+14 grid steps"):
        draw(1, mu=1e-20)
