"""How far models are from others among which drawing a deep point is unsafe (docs/proofs/tukey.md)."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate

from dpgrs.privacy.noise.depth_sampler import Interval, weights_of_rising_precision

# Decimal places of the threshold.
PLACES = 40


class Check(StrEnum):
    """How the volumes say that a point of depth t may be drawn."""

    TIGHT = "tight"  # weighs all that is inside against the volume outside
    ORIGINAL = "original"  # compares two volumes


def safety_terms(epsilon, delta):
    """Return what the check compares volumes by, exactly.

    Parameters
    ----------
    epsilon : float, of the draw alone.
    delta : float

    Returns
    -------
    rate : Fraction, a = epsilon/2, by which a point is likelier for every step of depth. Not epsilon: a
        record replaces one model, so that depths move up and down.
    limit : Fraction, delta/8 = d0 e^(2a).
    """
    return Fraction(epsilon) / 2, Fraction(delta) / 8


def smallest_passing(epsilon, delta):
    """Return what the noisy safe step must exceed: ln(1/delta)/epsilon, rounded up.

    Parameters
    ----------
    epsilon : float, of the check alone.
    delta : float

    Returns
    -------
    float
    """
    down, up = (Context(prec=PLACES, rounding=side) for side in (ROUND_FLOOR, ROUND_CEILING))
    # Decimal's `ln` is rounded to the nearest, so the next number bounds it.
    log_inverse = down.next_minus(down.ln(Decimal(delta))).copy_negate()
    return math.nextafter(float(up.divide(log_inverse, Decimal(epsilon))), math.inf)


def largest_safe_step(regions, *, rate, limit, check=Check.TIGHT):
    """Bound from below how many models must change until drawing a point of depth t or more is unsafe.

    With t = floor(n_models/4) and d0 = limit e^(-2a), a = rate, this is the largest k in 0 .. t - 2 such that

    - tight: V_(t-k-1) e^(a (t+k+1)) <= d0 w(t+k-1), w(p) = sum of B_q e^(a q) over q >= p;
    - original: V_(t-k-1) <= d0 e^(a g) V_(t+k+g+1) for some g > 0,

    or -1. Both hold for all smaller k if they hold for one. Intervals decide, of as many places as it takes.

    Parameters
    ----------
    regions : DepthRegions
    rate, limit : Fraction > 0, from `safety_terms`. With a limit below 1, as there, no two sides are equal,
        which no number of places would decide.
    check : Check

    Returns
    -------
    int in [-1, t - 2]
    """
    t = regions.least
    if t < 2:
        return -1
    sides = _Sides(regions, rate, limit, check)
    # `low` is -1 or was tested and is safe; `high` is not.
    low, high = -1, t - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sides.is_safe(middle) else (low, middle)
    return low


class _Sides:
    """Both sides of the check's inequality divided by e^(a h), so that all powers are of e^(-a)."""

    def __init__(self, regions, rate, limit, check):
        self._regions, self._limit, self._check = regions, limit, Check(check)
        self._every_weights = weights_of_rising_precision(regions, rate)
        self._refine()

    def is_safe(self, k):
        """Say whether the inequality holds for k."""
        while True:
            outside, inside = self._outside(k), self._inside(k)
            if outside.high <= inside.low:
                return True
            if outside.low > inside.high:
                return False
            self._refine()

    def _refine(self):
        self._weights = next(self._every_weights)
        calculate, decays = self._weights.intervals, self._weights.decays
        insides = self._weights.tails
        if self._check == Check.ORIGINAL:
            # The largest V_p e^(-a (h - p)) from some p on stands for all g.
            volumes = map(calculate.exact, reversed(self._regions.volumes))
            weighted = [calculate.times(*pair) for pair in zip(volumes, decays, strict=False)]
            insides = list(accumulate([insides[0], *weighted], _larger))
        d0 = calculate.times(calculate.exact(self._limit), decays[2])
        self._insides = [calculate.times(d0, inside) for inside in insides]

    def _outside(self, k):
        regions, calculate = self._regions, self._weights.intervals
        volume = calculate.exact(regions.volumes[regions.least - k - 2])
        return calculate.times(volume, self._weights.decays[regions.deepest - regions.least - k - 1])

    def _inside(self, k):
        first = self._regions.least + k + (-1 if self._check == Check.TIGHT else 2)
        return self._insides[self._regions.deepest - first + 1]


def _larger(one, other):
    return Interval(max(one.low, other.low), max(one.high, other.high))
