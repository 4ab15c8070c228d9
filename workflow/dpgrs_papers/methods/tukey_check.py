"""How far models are from others among which drawing a deep point is unsafe (docs/proofs/tukey.md)."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dpgrs.privacy.noise.depth_sampler import ZERO, Interval, weights_of_rising_precision
from dpgrs_papers.types import DepthCheck

if TYPE_CHECKING:
    from dpgrs.privacy.noise.depth_sampler import DepthRegions

# Decimal places of the threshold.
PLACES = 40


def safety_terms(epsilon: float, delta: float) -> tuple[Fraction, Fraction]:
    """Return the exact rate and limit for the check's comparison of volumes.

    A point is likelier by the rate, a = epsilon/2 of the draw's epsilon, for every step of depth. It
    is not epsilon: a record replaces one model, so that depths move up and down. The limit is delta/8 = d0
    e^(2a).
    """
    return Fraction(epsilon) / 2, Fraction(delta) / 8


def smallest_passing(epsilon: float, delta: float) -> float:
    """Return what the noisy safe step must exceed: ln(1/delta)/epsilon of the check's epsilon, rounded up."""
    down, up = (Context(prec=PLACES, rounding=side) for side in (ROUND_FLOOR, ROUND_CEILING))
    # Decimal's `ln` is rounded to the nearest, so the next number bounds it.
    log_inverse = down.next_minus(down.ln(Decimal(delta))).copy_negate()
    return math.nextafter(float(up.divide(log_inverse, Decimal(epsilon))), math.inf)


def largest_safe_step(
    regions: "DepthRegions", *, rate: Fraction, limit: Fraction, check: DepthCheck = DepthCheck.TIGHT
) -> int:
    """Bound from below how many models must change until drawing a point of depth t or more is unsafe.

    With t = floor(n_models/4) and d0 = limit e^(-2a), a = rate, this is the largest k in 0 .. t - 2 such that

    V_(t-k-1) e^(a (t+k+1)) <= d0 w(t+k-1), w(p) = sum of B_q e^(a q) over q >= p,

    or -1. The original check has the largest V_q e^(a q), q >= t + k + 2, in the place of w: no more, so that
    it passes less often. Either holds for all smaller k if it holds for one. Intervals decide, of as many
    places as it takes. Rate and limit are from `safety_terms`: with a limit below 1 no two sides are equal,
    which no number of places would decide.
    """
    t = regions.least
    if t < 2:
        return -1
    sides = _Sides(regions, rate, limit, DepthCheck(check))
    # `low` is -1 or was tested and is safe; `high` is not.
    low, high = -1, t - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sides.is_safe(middle) else (low, middle)
    return low


class _Sides:
    """Both sides of the check's inequality divided by e^(a h), so that all powers are of e^(-a)."""

    def __init__(self, regions: "DepthRegions", rate: Fraction, limit: Fraction, check: DepthCheck) -> None:
        self._regions, self._limit, self._check = regions, limit, check
        self._every_weights = weights_of_rising_precision(regions, rate)
        self._refine()

    def is_safe(self, k: int) -> bool:
        """Return whether the inequality holds for k."""
        while True:
            outside, inside = self._outside(k), self._inside(k)
            if outside.high <= inside.low:
                return True
            if outside.low > inside.high:
                return False
            self._refine()

    def _refine(self) -> None:
        self._weights = next(self._every_weights)
        calculate = self._weights.intervals
        d0 = calculate.times(calculate.exact(self._limit), self._weights.decays[2])
        is_tight = self._check == DepthCheck.TIGHT
        deep = self._weights.tails if is_tight else self._peaks()
        self._insides = [calculate.times(d0, deep_weight) for deep_weight in deep]

    def _peaks(self) -> list[Interval]:
        """Return the largest V_q e^(-a (h - q)) of the n deepest regions at index n, as Intervals."""
        peaks, calculate = [Interval(ZERO, ZERO)], self._weights.intervals
        for volume, decay in zip(reversed(self._regions.volumes), self._weights.decays, strict=False):
            weight = calculate.times(calculate.exact(volume), decay)
            peaks.append(Interval(max(peaks[-1].low, weight.low), max(peaks[-1].high, weight.high)))
        return peaks

    def _outside(self, k: int) -> Interval:
        regions, calculate = self._regions, self._weights.intervals
        volume = calculate.exact(regions.volumes[regions.least - k - 2])
        return calculate.times(volume, self._weights.decays[regions.deepest - regions.least - k - 1])

    def _inside(self, k: int) -> Interval:
        first = self._regions.least + k + (-1 if self._check == DepthCheck.TIGHT else 2)
        return self._insides[self._regions.deepest - first + 1]
