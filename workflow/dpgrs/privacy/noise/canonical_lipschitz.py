"""Choice of k of n entries at once by the canonical Lipschitz mechanism [1]_ [2]_.

With ordered scores x_[1] >= x_[2] >= ..., a set S of k entries has the utility

    u(S) = c (gamma min_(i in S) x_i - (1 - gamma) max(x_[k], max_(j not in S) x_j)),

c = epsilon/(2 sensitivity), and the set of the largest u(S) plus exponential noise is chosen. Sets fall into
classes (h, t) of equal utility: the best h entries are inside, the next is not, and the t-th is the worst
inside. A class has m = C(t - h - 2, k - h - 1) sets, and -log(1 - U^(1/m)) is the largest of their noise. The
class of the k best entries is the top one. The second paper prints C(t - h - 1, k - h - 1), which counts some
sets in several classes.

`certified_set` decides by intervals of proven ends, `seeded_set` by float64, for benchmarks. Proofs are in
docs/proofs/canonical_lipschitz.md.

References
----------
.. [1] Shekelyan, M. & Loukides, G. (2022). Differentially private top-k selection via canonical Lipschitz
   mechanism. arXiv 2201.13376.
.. [2] Swope, R. et al. (2024). Feature selection from differentially private correlations. AISec.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator

from dpgrs.privacy.accounting.exact_numbers import float_below
from dpgrs.privacy.noise import _sampler_twins as twins

# Upper bounds of log(2), and of log2(x) - (e + 2 f - 2) for x = f 2^e with 1/2 <= f < 1, at most 0.0861. Both
# are so much too large that they make up for all roundings of float64 in `_values_above`, and the next is so
# much too small that it does for the losses.
LOG_2_ABOVE = 0.6931472
BEND_ABOVE = 0.09375
BELOW_ONE = 1 - 2.0**-40
# Products with larger rates would overflow; a smaller loss is still a bound.
LARGEST_RATE = 2**900
# Decimal places beyond the digits of a class size and its uniform number.
GUARD_PLACES = 8
# From here on -log(1 - e^-x) is -log(x), to float64.
SMALLEST_LOG = -30.0
NORMAL: dict[str, Any] = {"Emin": MIN_EMIN, "Emax": MAX_EMAX}
Class = tuple[int, int]  # (h, t)


class SetClasses:
    """The classes of sets of equal utility."""

    order: np.ndarray  # (n,) int64, the entries from the highest score on
    tail_gaps: np.ndarray  # (n - k,) uint64, x_[k] - x_[t] for t = k + 1, ..., n
    head_gaps: np.ndarray  # (k,) uint64, x_[h + 1] - x_[k] for h = 0, ..., k - 1

    def __init__(
        self,
        scores: np.ndarray,  # (n,) int64
        n_choices: int,  # in [1, n], k
    ) -> None:
        self.n_choices = n_choices
        # ~x = -x - 1 has no overflow; of equal scores the first entry comes first.
        self.order = np.argsort(~scores, kind="stable")
        # Differences of int64 fit into uint64, modulo 2^64.
        ordered = scores[self.order].astype(np.int64).view(np.uint64)
        kth = ordered[n_choices - 1]
        self.tail_gaps = kth - ordered[n_choices:]
        self.head_gaps = ordered[:n_choices] - kth

    @property
    def top(self) -> Class:
        """The class of only the k best entries: h = k - 1, t = k."""
        return self.n_choices - 1, self.n_choices

    def sizes(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield every h from k - 1 down to 0, with C(t - h - 2, k - h - 1) for t = k + 1, ..., n.

        As (n - k,) mantissas and binary exponents; the mantissas have a relative error of at most 2 k float64
        roundings.
        """
        k = self.n_choices
        tails = np.arange(k + 1, len(self.order) + 1)
        mantissas, exponents = np.ones(len(tails)), np.zeros(len(tails), dtype=np.int64)
        for head in range(k - 1, -1, -1):
            if head < k - 1:
                mantissas, more = np.frexp(mantissas * (tails - head - 2) / (k - head - 1))
                exponents = exponents + more
            yield head, mantissas, exponents

    def size(self, head: int, tail: int) -> int:
        """Return how many sets a class has, exactly."""
        return math.comb(max(tail - head - 2, 0), self.n_choices - head - 1)

    def gaps(self, head: int, tail: int) -> tuple[int, int]:
        """Return how far the class lies below the top one, in grid steps inside and outside."""
        below = int(self.tail_gaps[tail - self.n_choices - 1]) if tail > self.n_choices else 0
        return below, int(self.head_gaps[head])

    def members(self, head: int, tail: int, subset: Callable[[int, int], Iterable[int]]) -> np.ndarray:
        """Return one set of a class, ascending; subset(n, r) chooses r of range(n)."""
        middle = subset(max(tail - head - 2, 0), self.n_choices - head - 1)
        positions = [*range(head), *(head + 1 + offset for offset in middle), tail - 1]
        return np.sort(self.order[positions])


def certified_set(
    stream: twins.WordStream,
    scores: np.ndarray,  # (n,) int64
    *,
    epsilon: Fraction,  # > 0, of the whole set
    sensitivity: Fraction,  # > 0, largest change of a score between neighbours, in grid steps
    n_choices: int,  # in [1, n]
    gamma: Fraction,  # in [0, 1)
) -> np.ndarray:
    """Choose a set by the exact law, (n_choices,) int64, ascending.

    Intervals of proven ends decide, and bits are drawn until they do.
    """
    classes = SetClasses(scores, n_choices)
    if n_choices == len(scores):
        return np.arange(n_choices)
    rates = _rates(epsilon, sensitivity, gamma)
    digits = twins.Digits(stream)

    def value(head: int, tail: int, digit: int | None) -> _ClassValue:
        loss = sum(rate * gap for rate, gap in zip(rates, classes.gaps(head, tail), strict=True))
        return _ClassValue((head, tail), classes.size(head, tail), loss, twins.Uniform(digits, digit))

    top = value(*classes.top, None)
    floor, possible = _float_floor(top), []
    tail_losses, head_losses = _float_losses(classes, rates)
    for head, mantissas, exponents in classes.sizes():
        first_digits = stream.take(len(mantissas)) >> 1
        above = _values_above(mantissas, exponents, first_digits, tail_losses + head_losses[head])
        best = int(np.argmax(above))
        if above[best] >= floor:
            floor = max(floor, _float_floor(value(head, n_choices + 1 + best, int(first_digits[best]))))
            near = np.flatnonzero(above >= floor).tolist()
            possible += [(above[i], head, n_choices + 1 + i, int(first_digits[i])) for i in near]
    winner = _largest([top] + [value(*name) for bound, *name in possible if bound >= floor])
    return classes.members(*winner, lambda n, r: _subset(digits, n, r))


def seeded_set(
    generator: Generator,
    scores: np.ndarray,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    n_choices: int,
    gamma: Fraction,
) -> np.ndarray:
    """Choose a set by the same law in float64, which protects nobody; arguments as in `certified_set`."""
    classes = SetClasses(scores, n_choices)
    if n_choices == len(scores):
        return np.arange(n_choices)
    tail_losses, head_losses = _float_losses(classes, _rates(epsilon, sensitivity, gamma))
    largest, winner = generator.exponential(), classes.top
    for head, mantissas, exponents in classes.sizes():
        # U^(1/m) = exp(-W/m) with W exponential.
        log_shares = np.log(generator.exponential(size=len(mantissas)) / mantissas) - exponents * math.log(2)
        exact = -np.log(-np.expm1(-np.exp(np.maximum(log_shares, SMALLEST_LOG))))
        noise = np.where(log_shares < SMALLEST_LOG, -log_shares, exact)
        values = noise - tail_losses - head_losses[head]
        best = int(np.argmax(values))
        if values[best] > largest:
            largest, winner = values[best], (head, n_choices + 1 + best)
    return classes.members(*winner, lambda n, r: generator.choice(n, r, replace=False))


class _ClassValue:
    """The largest value in a class, utility and noise, known to lie in [low, high].

    The noise is -log(1 - (1 - r)^(1/m)) with r uniform, of which ever more digits are drawn.
    """

    def __init__(self, name: Class, size: int, loss: int | Fraction, uniform: twins.Uniform) -> None:
        self.name, self._size, self._loss, self._uniform = name, size, loss, uniform
        self._bound()

    def extend(self) -> None:
        """Draw one more digit."""
        self._uniform.extend()
        self._bound()

    def _bound(self) -> None:
        # The noise falls as r rises.
        low, high = self._uniform.low, self._uniform.high
        bits = self._size.bit_length() + (high - low).denominator.bit_length()
        n_places = GUARD_PLACES + bits * 4 // 13  # more than log10(2) of them
        self.low = _value_bound(self._size, self._loss, high, n_places, is_upper=False)
        self.high = _value_bound(self._size, self._loss, low, n_places, is_upper=True)


def _value_bound(size: int, loss: int | Fraction, r: Fraction, n_places: int, *, is_upper: bool) -> Decimal:
    """Bound -log(1 - (1 - r)^(1/size)) - loss from one side: every step is rounded to that side.

    Decimal's `ln` and `exp` are correctly rounded to the nearest, so the next number bounds them.
    """
    up, down = (Context(prec=n_places, rounding=side, **NORMAL) for side in (ROUND_CEILING, ROUND_FLOOR))
    out, back = (up, down) if is_upper else (down, up)
    end = Decimal("Infinity") if is_upper else Decimal("-Infinity")
    complement = out.divide(Decimal(r.denominator - r.numerator), Decimal(r.denominator))
    power = out.divide(out.next_toward(out.ln(complement), end), Decimal(size))
    root = min(out.next_toward(out.exp(power), end), Decimal(1))
    missing = back.subtract(Decimal(1), root)
    noise = back.next_toward(back.ln(missing), end.copy_negate()).copy_negate()
    return out.subtract(noise, back.divide(Decimal(loss.numerator), Decimal(loss.denominator)))


def _largest(values: Sequence[_ClassValue]) -> Class:
    """Draw digits of those that can still be the largest until one is, and return its name."""
    while True:
        floor = max(value.low for value in values)
        values = [value for value in values if value.high >= floor]
        if len(values) == 1:
            return values[0].name
        for value in values:
            value.extend()


def _values_above(
    # Mantissas and exponents of the class sizes m, from `SetClasses.sizes`.
    mantissas: np.ndarray,
    exponents: np.ndarray,
    digits: np.ndarray,  # (n_classes,) int, first digits of r; 0 leaves no bound
    losses: np.ndarray,  # (n_classes,) float64, not above the true ones
) -> np.ndarray:
    """Bound values of classes from above: -log(1 - (1 - r)^(1/m)) <= log(m/r), by Bernoulli's inequality."""
    with np.errstate(divide="ignore"):
        shares, more = np.frexp(mantissas / (digits * 2.0**-twins.DIGIT_BITS))
    return (exponents + more + 2 * shares - 2 + BEND_ABOVE) * LOG_2_ABOVE - losses


def _rates(epsilon: Fraction, sensitivity: Fraction, gamma: Fraction) -> tuple[Fraction, Fraction]:
    """Return the costs of a grid step inside the set and outside."""
    rate = epsilon / (2 * sensitivity)
    return gamma * rate, (1 - gamma) * rate


def _float_losses(classes: SetClasses, rates: tuple[Fraction, Fraction]) -> list[np.ndarray]:
    """Return the losses by gaps inside and outside, float64 and not above the true ones."""
    floats = [float_below(min(rate, Fraction(LARGEST_RATE))) * BELOW_ONE for rate in rates]
    gaps = classes.tail_gaps, classes.head_gaps
    return [rate * gap.astype(np.float64) for rate, gap in zip(floats, gaps, strict=True)]


def _float_floor(value: _ClassValue) -> float:
    return float_below(Fraction(value.low))


def _subset(digits: twins.Digits, n: int, r: int) -> set[int]:
    """Choose r of range(n), all subsets equally likely (Floyd)."""
    chosen = set()
    for last in range(n - r, n):
        index = twins.index_below(digits, last + 1)
        chosen.add(last if index in chosen else index)
    return chosen
