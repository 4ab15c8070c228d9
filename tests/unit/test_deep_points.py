from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from depth_laws import depth, grid_points, law
from dpgrs.errors import UsageError
from dpgrs.privacy import _sampler_twins as twins
from dpgrs.privacy import deep_points
from dpgrs.privacy.deep_points import (
    DepthRegions,
    DepthWeights,
    Intervals,
    certified_deep_point,
    draw_depth,
    draw_point,
)
from dpgrs.privacy.stream import KeyStream

# A test by chi-square fails for one honest sampler in a million.
FAILURE = 1e-6
RNG = np.random.default_rng(3)
ODD = RNG.integers(-3, 4, (9, 2)).astype(float)
EVEN = RNG.integers(-2, 3, (8, 3)).astype(float)
EQUAL = np.full((8, 2), 5.0)
every_set = pytest.mark.parametrize("models", [ODD, EVEN, EQUAL], ids=["9 in 2", "8 in 3", "equal"])
small_models = arrays(
    float, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)
)


class Script:
    """Uniform digits that are known beforehand, then zeros."""

    bits = 31

    def __init__(self, value, *, n_digits):
        number = int(value * 2 ** (self.bits * n_digits))
        self._left = [number >> self.bits * (n_digits - i - 1) & 2**self.bits - 1 for i in range(n_digits)]
        self.n_drawn = 0

    def draw(self):
        self.n_drawn += 1
        return self._left.pop(0) if self._left else 0


def counts_by_definition(models):
    depths = depth(grid_points(models), models)
    return [int((depths == p).sum()) for p in range(1, len(models) // 2 + 1)]


@given(small_models)
def test_regions__count_the_points_of_every_depth(models):
    regions = DepthRegions(models)
    assert regions.shells == counts_by_definition(models)
    assert regions.volumes == [sum(regions.shells[p:]) for p in range(len(models) // 2)]
    # No box is empty, not even in the middle of an even number of models.
    assert all(volume > 0 for volume in regions.volumes)


def test_regions__count_what_floats_and_int64_cannot_hold():
    low, high = 2.0**200, 2.0**300
    regions = DepthRegions(np.array([[-high, low], [0.0, low], [1.0, 0.0], [high, low]]))
    side = 2**301 + 1
    assert regions.volumes == [side * (2**200 + 1), 2]
    assert regions.shells == [side * (2**200 + 1) - 2, 2]


@pytest.mark.parametrize("models", [ODD + 0.5, ODD * np.nan, ODD + np.inf, ODD[0]])
def test_regions__raise_on_what_is_not_on_the_grid(models):
    with pytest.raises(UsageError, match="`models` must be rows of whole numbers"):
        DepthRegions(models)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 10**30), Fraction(0.3), Fraction(10**6)])
@pytest.mark.parametrize("places", [15, 50])
def test_weights__lie_in_their_intervals(rate, places):
    weights = DepthWeights(DepthRegions(EVEN), rate, places)
    with mpmath.workdps(80):
        decay = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        deepest = reversed(counts_by_definition(EVEN))
        terms = [0, *(count * decay**n for n, count in enumerate(deepest))]
        for n, interval in enumerate(weights.tails):
            expected = mpmath.fsum(terms[: n + 1])
            low, high = mpmath.mpf(str(interval.low)), mpmath.mpf(str(interval.high))
            assert low <= expected <= high
            assert high - low <= expected * mpmath.mpf(10) ** (2 - places)


def test_intervals__round_to_either_side():
    third = Intervals(3).exact(Fraction(1, 3))
    assert [str(end) for end in third] == ["0.333", "0.334"]
    assert [str(end) for end in Intervals(3).times(third, third)] == ["0.110", "0.112"]


@every_set
def test_draw_point__every_point_of_a_depth_has_one_number(models, monkeypatch):
    regions, points = DepthRegions(models), grid_points(models)
    depths = depth(points, models)
    for exact_depth, n_points in enumerate(regions.shells, start=1):
        numbers = iter(range(n_points))
        monkeypatch.setattr(twins, "index_below", lambda digits, bound, numbers=numbers: next(numbers))
        drawn = [draw_point(None, regions, exact_depth) for _ in range(n_points)]
        assert sorted(drawn) == points[depths == exact_depth].tolist()


@pytest.mark.audits
@every_set
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(7, 10)])
def test_certified_deep_point__has_the_exact_law(models, rate):
    points = grid_points(models)
    expected = 20_000 * law(models, points, np.ones(len(points)), rate=float(rate))
    stream, place = KeyStream(bytes(32), b"law"), {tuple(point): i for i, point in enumerate(points.tolist())}
    counts = np.zeros(len(points))
    for _ in range(20_000):
        counts[place[tuple(certified_deep_point(stream, models, rate=rate))]] += 1
    is_possible = expected > 0
    assert counts[~is_possible].sum() == 0
    statistic = ((counts - expected)[is_possible] ** 2 / expected[is_possible]).sum()
    assert expected[is_possible].min() > 20
    assert statistic < chi2.isf(FAILURE, max(is_possible.sum() - 1, 1))


@pytest.mark.parametrize("n_digits", [1, 5, 40])
def test_draw_depth__digits_are_drawn_until_they_decide(n_digits):
    """A uniform just below or above the edge of two cells."""
    regions, rate = DepthRegions(np.arange(12.0)[:, np.newaxis] ** 2), Fraction(1, 7)
    with mpmath.workdps(500):
        weights = [
            regions.shells[q - 1] * mpmath.exp(mpmath.mpf(q) / 7) for q in range(regions.deepest, 2, -1)
        ]
        edge = mpmath.fsum(weights[:2]) / mpmath.fsum(weights)
        unit = mpmath.mpf(2) ** (-31 * n_digits)
        for shift, expected in ((-1, regions.deepest - 1), (1, regions.deepest - 2)):
            digits = Script(edge + shift * unit, n_digits=n_digits)
            assert draw_depth(digits, regions, rate=rate) == expected
            assert digits.n_drawn >= n_digits


def test_draw_depth__bounds_weights_more_closely_where_they_do_not_decide(monkeypatch):
    regions, seen = DepthRegions(ODD), []
    monkeypatch.setattr(
        deep_points,
        "DepthWeights",
        lambda regions, rate, places: seen.append(places) or DepthWeights(regions, rate, places),
    )
    edge = Fraction(regions.shells[3], sum(regions.shells[1:]))
    # With a rate of almost 0 the edge is almost rational, and the digits of that stay undecided for long.
    draw_depth(Script(edge, n_digits=20), regions, rate=Fraction(1, 10**60))
    assert seen == [50, 100]
