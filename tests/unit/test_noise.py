import json
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.noise import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.privacy.study_key import StudyKey

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
        "request": "",
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


@pytest.mark.parametrize("step", [0.3, 0.0, -0.25])
def test_gaussian__raise_on_a_grid_that_floats_do_not_hold(step):
    with pytest.raises(UsageError, match="must be a power of 2 wide"):
        draw(1, step=step)


def test_benchmark_noise__parts_share_no_noise():
    statistic, noise = np.zeros(1000, dtype=int), BenchmarkNoise(1)
    draws = [
        source.gaussian(statistic, **OPTIONS)[0]
        for source in (noise, noise.of("outcomes", "a"), noise.of("outcomes", "b"))
    ]
    assert all((draws[i] != draws[j]).mean() > 0.8 for i, j in [(0, 1), (0, 2), (1, 2)])


# Release noise

KEY, OTHER_KEY = StudyKey(bytes(range(32))), StudyKey(bytes(32))
EXACT = np.arange(1000)


def rehearsed(*statistics, part=("genotypes",)):
    rehearsal = Rehearsal()
    for statistic in statistics:
        noisy, _ = rehearsal.of(*part).gaussian(statistic, **OPTIONS)
        assert not noisy.any()
    return rehearsal.draws


def secret(statistic=EXACT, *, key=KEY, request="r1", part=("genotypes",)):
    noise = ReleaseNoise(key, draws=rehearsed(statistic, part=part), requests={part: request})
    return noise.of(*part).gaussian(statistic, **OPTIONS)


def test_release_noise__replay_gives_the_same_bytes_and_event():
    (first, event), (again, same) = secret(), secret()
    assert first.tobytes() == again.tobytes()
    assert event == same
    assert (event.source, event.request) == ("release", "r1")


@pytest.mark.parametrize(
    "change", [{"key": OTHER_KEY}, {"request": "r2"}, {"part": ("outcomes", "a")}, {"statistic": EXACT[::-1]}]
)
def test_release_noise__anything_else_draws_anew(change):
    statistic = change.get("statistic", EXACT)
    assert (secret(**change)[0] - statistic != secret()[0] - EXACT).mean() > 0.8


def test_release_noise__draws_of_one_part_are_independent():
    noise = ReleaseNoise(KEY, draws=rehearsed(EXACT, EXACT), requests={("genotypes",): "r1"})
    first, second = (noise.of("genotypes").gaussian(EXACT, **OPTIONS)[0] for _ in range(2))
    assert (first != second).mean() > 0.8


def test_release_noise__has_the_scale_that_the_event_claims():
    statistic = np.full(100_000, 7)
    noisy, event = secret(statistic)
    # Within 5 standard errors; the key is fixed.
    assert (noisy - 7).mean() * event.step == pytest.approx(0, abs=0.07)
    assert (noisy - 7).std() * event.step == pytest.approx(event.sigma, rel=0.012)


@pytest.mark.parametrize(
    ("part", "statistic", "options"),
    [
        (("genotypes",), EXACT + 1, {}),
        (("genotypes",), EXACT, {"mu": 0.6}),
        (("genotypes",), EXACT, {"name": "other"}),
        (("outcomes", "a"), EXACT, {}),
    ],
)
def test_release_noise__raise_on_what_was_not_reserved(part, statistic, options):
    noise = ReleaseNoise(KEY, draws=rehearsed(EXACT), requests={("genotypes",): "r1"})
    with pytest.raises(DpgrsError, match="was not reserved"):
        noise.of(*part).gaussian(statistic, **OPTIONS | options)


def test_release_noise__a_reserved_draw_is_drawn_once():
    noise = ReleaseNoise(KEY, draws=rehearsed(EXACT), requests={("genotypes",): "r1"})
    noise.of("genotypes").gaussian(EXACT, **OPTIONS)
    with pytest.raises(DpgrsError, match="was not reserved"):
        noise.of("genotypes").gaussian(EXACT, **OPTIONS)
