from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from depth_laws import EVEN, ODD, SETS, depth, grid_points
from dpgrs.errors import UsageError
from dpgrs.privacy.noise import _sampler_twins as twins
from dpgrs.privacy.noise import depth_sampler
from dpgrs.privacy.noise.depth_sampler import (
    DepthRegions,
    DepthWeights,
    Interval,
    Intervals,
    draw_depth,
    draw_point,
)
from refused import refused

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
    with refused("models-not-integers", "`models`", error=UsageError):
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


def test_intervals__of_numbers_of_any_size():
    large, small = (Interval(Decimal(text), Decimal(text)) for text in ("1e999999", "1e-999999"))
    assert Intervals(50).times(large, large) == (Decimal("1e1999998"), Decimal("1e1999998"))
    assert Intervals(50).times(small, small) == (Decimal("1e-1999998"), Decimal("1e-1999998"))


def test_intervals__no_decay_is_below_0_or_above_1():
    assert 0 == Intervals(50).decay(Fraction(10**20)).low < Intervals(50).decay(Fraction(10**20)).high
    assert Intervals(50).decay(Fraction(1, 10**60)).low < Intervals(50).decay(Fraction(1, 10**60)).high == 1


@pytest.mark.parametrize("models", SETS.values(), ids=SETS)
def test_draw_point__every_point_of_a_depth_has_one_number(models, monkeypatch):
    regions, points = DepthRegions(models), grid_points(models)
    depths = depth(points, models)
    for exact_depth, n_points in enumerate(regions.shells, start=1):
        numbers, bounds = iter(range(n_points)), []
        monkeypatch.setattr(
            twins,
            "index_below",
            lambda digits, bound, numbers=numbers, bounds=bounds: bounds.append(bound) or next(numbers),
        )
        drawn = [draw_point(None, regions, exact_depth) for _ in range(n_points)]
        assert sorted(drawn) == points[depths == exact_depth].tolist()
        assert bounds == [n_points] * n_points


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
        depth_sampler,
        "DepthWeights",
        lambda regions, rate, places: seen.append(places) or DepthWeights(regions, rate, places),
    )
    edge = Fraction(regions.shells[3], sum(regions.shells[1:]))
    # With a rate of almost 0 the edge is almost rational, and the digits of that stay undecided for long.
    draw_depth(Script(edge, n_digits=20), regions, rate=Fraction(1, 10**60))
    assert seen == [50, 100]


@pytest.mark.parametrize(("edge", "expected"), [("0.45", 1), ("0.55", 2)])
def test_draw_depth__waits_for_weights_that_leave_no_doubt(edge, expected, monkeypatch):
    """A uniform of 1/2, and two cells whose edge is first known to lie somewhere around it."""
    every_weights = [
        SimpleNamespace(
            intervals=Intervals(places),
            tails=[Interval(*map(Decimal, ends)) for ends in ((0, 0), first_ends, (1, 1))],
        )
        for places, first_ends in [(50, ("0.4", "0.6")), (100, (edge, edge))]
    ]
    monkeypatch.setattr(depth_sampler, "weights_of_rising_precision", lambda *_: iter(every_weights))
    regions = SimpleNamespace(deepest=2, least=1)
    assert draw_depth(Script(Fraction(1, 2), n_digits=1), regions, rate=Fraction(1)) == expected
