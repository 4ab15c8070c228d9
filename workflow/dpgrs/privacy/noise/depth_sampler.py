"""Exact draws of a point that lies deep among models on a grid: integers and intervals of proven ends decide.

The depth of a point of the grid is the smallest number of models on either side of it in any coordinate, the
point itself counted on both sides, but no more than h = floor(m/2) of m models [1]_. With s_(j,1) <= ... <=
s_(j,m) the sorted values of coordinate j, the points of depth p or more are the box of all integers of
[s_(j,p), s_(j,m-p+1)], p = 1 .. h. No box is empty. docs/proofs/tukey.md has the proofs.

References
----------
.. [1] Amin, Joseph, Ribero, Vassilvitskii (2023). Easy differentially private linear regression. ICLR.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import _sampler_twins as twins

# Decimal places to begin with; they are doubled until an interval decides.
FIRST_PLACES = 50
# Weights are bounded so much more closely than a uniform number, of which a digit has less than 10 places.
GUARD_PLACES, DIGIT_PLACES = 20, 10
ZERO, ONE = Decimal(0), Decimal(1)


class DepthRegions:
    """The points of every depth among models on a grid, counted. Models off the grid are refused."""

    n_models: int
    # h lists of d ints, the ends of the box of depth p or more at index p - 1.
    low: list[list[int]]
    high: list[list[int]]
    volumes: list[int]  # h of them, > 0, V_p at index p - 1
    shells: list[int]  # h of them, >= 0, B_p = V_p - V_(p+1) points of depth exactly p; V_(h+1) = 0

    def __init__(
        self,
        # (n_models, d) float64 of finite whole numbers: the grid without the limits of int64.
        models: np.ndarray,
    ) -> None:
        # Private: not quoted.
        if models.ndim != 2 or not (np.isfinite(models) & (np.rint(models) == models)).all():
            raise UsageError(
                "models-not-integers",
                "`models` must be rows of whole numbers. Round them to a public grid first.",
            )
        values = np.sort(models, axis=0)
        self.n_models, half = len(values), len(values) // 2
        self.low, self.high = (_integers(ends[:half]) for ends in (values, values[::-1]))
        self.volumes = [math.prod(_sides(*ends)) for ends in zip(self.low, self.high, strict=True)]
        self.shells = [outer - inner for outer, inner in pairwise([*self.volumes, 0])]

    @property
    def least(self) -> int:
        """The smallest depth t = floor(n_models/4) of a point that is drawn."""
        return self.n_models // 4

    @property
    def deepest(self) -> int:
        """The largest depth h = floor(n_models/2)."""
        return len(self.volumes)


class Interval(NamedTuple):
    """Ends between which a real number lies, Decimals >= 0."""

    low: Decimal
    high: Decimal


class Intervals:
    """Arithmetic on numbers >= 0, rounded to either side at so many places."""

    def __init__(self, n_places: int) -> None:
        limits: dict[str, Any] = {"prec": n_places, "Emin": MIN_EMIN, "Emax": MAX_EMAX}
        self.n_places = n_places
        self._down, self._up = (Context(rounding=side, **limits) for side in (ROUND_FLOOR, ROUND_CEILING))

    def exact(self, value: int | Fraction) -> Interval:
        """Return the interval of an exact number."""
        ratio = Decimal(value.numerator), Decimal(value.denominator)
        return Interval(self._down.divide(*ratio), self._up.divide(*ratio))

    def decay(self, rate: Fraction) -> Interval:
        """Return e^(-rate). Decimal's `exp` is rounded to the nearest, so the next number bounds it."""
        exponent = self.exact(rate)
        low = self._down.next_minus(self._down.exp(exponent.high.copy_negate()))
        high = self._up.next_plus(self._up.exp(exponent.low.copy_negate()))
        return Interval(max(low, ZERO), min(high, ONE))

    def times(self, x: Interval, y: Interval) -> Interval:
        """Return a product."""
        return Interval(self._down.multiply(x.low, y.low), self._up.multiply(x.high, y.high))

    def share(self, u: twins.Uniform, total: Interval) -> Interval:
        """Return u times a number."""
        low, high = self.exact(u.low), self.exact(u.high)
        return self.times(Interval(low.low, high.high), total)

    def plus_times(self, total: Interval, count: Decimal, x: Interval) -> Interval:
        """Return total + count times a number."""
        return Interval(self._down.fma(count, x.low, total.low), self._up.fma(count, x.high, total.high))


class DepthWeights:
    """Sums of e^(-rate (h - q)) over the points of a depth p or more, q their depths, at so many places."""

    intervals: Intervals
    decays: list[Interval]  # h + 1 of them, of e^(-rate n) at index n
    tails: list[Interval]  # h + 1 of them: of the n deepest shells at index n, the sum from p = h - n + 1 on

    def __init__(self, regions: DepthRegions, rate: Fraction, n_places: int) -> None:
        self.intervals = Intervals(n_places)
        decay = self.intervals.decay(rate)
        self.decays = [Interval(ONE, ONE)]
        for _ in regions.shells:
            self.decays.append(self.intervals.times(self.decays[-1], decay))
        self.tails = [Interval(ZERO, ZERO)]
        for shell, power in zip(reversed(regions.shells), self.decays, strict=False):
            self.tails.append(self.intervals.plus_times(self.tails[-1], Decimal(shell), power))


def weights_of_rising_precision(regions: DepthRegions, rate: Fraction) -> Iterator[DepthWeights]:
    """Yield `DepthWeights`, each of twice the places of the one before."""
    n_places = FIRST_PLACES
    while True:
        yield DepthWeights(regions, rate, n_places)
        n_places *= 2


def certified_deep_point(
    stream: twins.WordStream,
    models: np.ndarray,  # (n_models, d) float64 of whole numbers, n_models >= 4
    *,
    rate: Fraction,  # > 0
) -> list[int]:
    """Draw a point of depth floor(n_models/4) or more, d ints, with a probability as e^(rate depth)."""
    regions, digits = DepthRegions(models), twins.Digits(stream)
    return draw_point(digits, regions, draw_depth(digits, regions, rate=rate))


def draw_depth(
    digits: twins.Digits,
    regions: DepthRegions,
    *,
    rate: Fraction,  # > 0
) -> int:
    """Draw a depth q >= t with probability proportional to B_q e^(rate q).

    A uniform u times the sum of all weights lies in the cell of one depth. Digits of u are drawn, and the
    weights are bounded more closely, until it lies in one beyond doubt.
    """
    u, n_digits = twins.Uniform(digits), 1
    every_weights = weights_of_rising_precision(regions, rate)
    n_shells = regions.deepest - regions.least + 1
    while True:
        weights = next(every_weights)
        tails = weights.tails[: n_shells + 1]
        ends = [tail.high for tail in tails]
        while n_digits * DIGIT_PLACES + GUARD_PLACES <= weights.intervals.n_places:
            position = weights.intervals.share(u, tails[-1])
            n = bisect_right(ends, position.low) - 1
            if position.high <= tails[n + 1].low:
                return regions.deepest - n
            u.extend()
            n_digits += 1


def draw_point(
    digits: twins.Digits,
    regions: DepthRegions,
    exact_depth: int,  # in [1, h], that some point has
) -> list[int]:
    """Draw a point, d ints, uniformly among all of a depth: one integer below their number names it.

    Of d disjoint pieces of that region, piece j has coordinate j as the first that is no deeper: coordinates
    before j are in the next smaller box, j at the two ends of its side, the others along theirs.
    """
    number = twins.index_below(digits, regions.shells[exact_depth - 1])
    low, high = regions.low[exact_depth - 1], regions.high[exact_depth - 1]
    if exact_depth == regions.deepest:
        return _numbered(number, low, _sides(low, high))
    inner_low, inner_high = regions.low[exact_depth], regions.high[exact_depth]
    outer, inner = _sides(low, high), _sides(inner_low, inner_high)
    for j in range(len(low)):
        sides = [*inner[:j], outer[j] - inner[j], *outer[j + 1 :]]
        piece = math.prod(sides)
        if number < piece:
            point = _numbered(number, [*inner_low[:j], *low[j:]], sides)
            # Beyond the lower end the smaller box is passed over.
            point[j] += inner[j] if point[j] >= inner_low[j] else 0
            return point
        number -= piece
    raise AssertionError("The pieces are all of the region.")


def _numbered(number: int, low: Sequence[int], sides: Sequence[int]) -> list[int]:
    """Return the point of that number in a box: the digits of the number, with the sides as their bases."""
    point = []
    for start, side in zip(low, sides, strict=True):
        number, digit = divmod(number, side)
        point.append(start + digit)
    return point


def _integers(values: np.ndarray) -> list[list[int]]:
    return [[int(value) for value in row] for row in values.tolist()]


def _sides(low: Sequence[int], high: Sequence[int]) -> list[int]:
    return [end - start + 1 for start, end in zip(low, high, strict=True)]
