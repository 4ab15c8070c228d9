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
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import _sampler_twins as twins

# Decimal places to begin with; they are doubled until an interval decides.
FIRST_PLACES = 50
# Weights are bounded so much more closely than a uniform number, of which a digit has less than 10 places.
GUARD_PLACES, DIGIT_PLACES = 20, 10
ZERO, ONE = Decimal(0), Decimal(1)


class DepthRegions:
    """The points of every depth among models on a grid, counted.

    Parameters
    ----------
    models : (n_models, d) float64 of finite whole numbers: the grid without the limits of int64.

    Attributes
    ----------
    n_models : int
    low, high : lists of h lists of d ints, the ends of the box of depth p or more at index p - 1.
    volumes : list of h ints > 0, V_p at index p - 1.
    shells : list of h ints >= 0, B_p = V_p - V_(p+1) points of depth exactly p; V_(h+1) = 0.

    Raises
    ------
    UsageError
        For models that are not on the grid.
    """

    def __init__(self, models):
        # Private: not quoted.
        if models.ndim != 2 or not (np.isfinite(models) & (np.rint(models) == models)).all():
            raise UsageError("`models` must be rows of whole numbers. Round them to a public grid first.")
        values = np.sort(models, axis=0)
        self.n_models, half = len(values), len(values) // 2
        self.low, self.high = (_integers(ends[:half]) for ends in (values, values[::-1]))
        self.volumes = [math.prod(_sides(*ends)) for ends in zip(self.low, self.high, strict=True)]
        self.shells = [outer - inner for outer, inner in pairwise([*self.volumes, 0])]

    @property
    def least(self):
        """The smallest depth t = floor(n_models/4) of a point that is drawn, an int."""
        return self.n_models // 4

    @property
    def deepest(self):
        """The largest depth h = floor(n_models/2), an int."""
        return len(self.volumes)


class Interval(NamedTuple):
    """Ends between which a real number lies, Decimals >= 0."""

    low: Decimal
    high: Decimal


class Intervals:
    """Arithmetic on numbers >= 0, rounded to either side at so many places."""

    def __init__(self, places):
        terms = {"prec": places, "Emin": MIN_EMIN, "Emax": MAX_EMAX}
        self.places = places
        self._down, self._up = (Context(rounding=side, **terms) for side in (ROUND_FLOOR, ROUND_CEILING))

    def exact(self, value):
        """Return a Fraction or an int."""
        terms = Decimal(value.numerator), Decimal(value.denominator)
        return Interval(self._down.divide(*terms), self._up.divide(*terms))

    def decay(self, rate):
        """Return e^(-rate). Decimal's `exp` is rounded to the nearest, so the next number bounds it."""
        exponent = self.exact(rate)
        low = self._down.next_minus(self._down.exp(exponent.high.copy_negate()))
        high = self._up.next_plus(self._up.exp(exponent.low.copy_negate()))
        return Interval(max(low, ZERO), min(high, ONE))

    def times(self, one, other):
        """Return a product."""
        return Interval(self._down.multiply(one.low, other.low), self._up.multiply(one.high, other.high))

    def share(self, u, total):
        """Return u times a number, for a `Uniform` u."""
        low, high = self.exact(u.low), self.exact(u.high)
        return self.times(Interval(low.low, high.high), total)

    def plus_times(self, total, count, one):
        """Return total + count times a number, for a Decimal count."""
        return Interval(self._down.fma(count, one.low, total.low), self._up.fma(count, one.high, total.high))


class DepthWeights:
    """Sums of e^(-rate (h - q)) over the points of a depth p or more, q their depths, at so many places.

    Attributes
    ----------
    intervals : Intervals
    decays : list of h + 1 Intervals, of e^(-rate n) at index n.
    tails : list of h + 1 Intervals: of the n deepest shells at index n, the sum from p = h - n + 1 on.
    """

    def __init__(self, regions, rate, places):
        self.intervals = Intervals(places)
        decay = self.intervals.decay(rate)
        self.decays = [Interval(ONE, ONE)]
        for _ in regions.shells:
            self.decays.append(self.intervals.times(self.decays[-1], decay))
        self.tails = [Interval(ZERO, ZERO)]
        for shell, power in zip(reversed(regions.shells), self.decays, strict=False):
            self.tails.append(self.intervals.plus_times(self.tails[-1], Decimal(shell), power))


def weights_of_rising_precision(regions, rate):
    """Yield `DepthWeights`, each of twice the places of the one before."""
    places = FIRST_PLACES
    while True:
        yield DepthWeights(regions, rate, places)
        places *= 2


def certified_deep_point(stream, models, *, rate):
    """Draw a point of depth t = floor(n_models/4) or more with probability proportional to e^(rate depth).

    Parameters
    ----------
    stream : KeyStream
    models : (n_models, d) float64 of whole numbers, n_models >= 4.
    rate : Fraction > 0

    Returns
    -------
    list of d ints
    """
    regions, digits = DepthRegions(models), twins.Digits(stream)
    return draw_point(digits, regions, draw_depth(digits, regions, rate=rate))


def draw_depth(digits, regions, *, rate):
    """Draw a depth q >= t with probability proportional to B_q e^(rate q).

    A uniform u times the sum of all weights lies in the cell of one depth. Digits of u are drawn, and the
    weights are bounded more closely, until it lies in one beyond doubt.

    Parameters
    ----------
    digits : Digits
    regions : DepthRegions
    rate : Fraction > 0

    Returns
    -------
    int
    """
    u, n_digits = twins.Uniform(digits), 1
    every_weights = weights_of_rising_precision(regions, rate)
    n_shells = regions.deepest - regions.least + 1
    while True:
        weights = next(every_weights)
        tails = weights.tails[: n_shells + 1]
        ends = [tail.high for tail in tails]
        while n_digits * DIGIT_PLACES + GUARD_PLACES <= weights.intervals.places:
            place = weights.intervals.share(u, tails[-1])
            n = bisect_right(ends, place.low) - 1
            if place.high <= tails[n + 1].low:
                return regions.deepest - n
            u.extend()
            n_digits += 1


def draw_point(digits, regions, exact_depth):
    """Draw a point uniformly among those of a depth: one integer below their number names it.

    Of d disjoint pieces of that region, piece j has coordinate j as the first that is no deeper: coordinates
    before j are in the next smaller box, j at the two ends of its side, the others along theirs.

    Parameters
    ----------
    digits : Digits
    regions : DepthRegions
    exact_depth : int in [1, h], that some point has.

    Returns
    -------
    list of d ints
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


def _numbered(number, low, sides):
    """Return the point of that number in a box: the digits of the number, with the sides as their bases."""
    point = []
    for start, side in zip(low, sides, strict=True):
        number, place = divmod(number, side)
        point.append(start + place)
    return point


def _integers(values):
    return [[int(value) for value in row] for row in values.tolist()]


def _sides(low, high):
    return [end - start + 1 for start, end in zip(low, high, strict=True)]
