"""The exact samplers in plain Python: fractions, and uniform numbers of as many digits as it takes.

Each function draws what its namesake in `_sampler_kernels` draws from the same words, and goes on where the
kernel's one digit leaves a comparison open. docs/proofs/exact_noise.md has the proofs.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np

DIGIT_BITS = 31

HALVED = Fraction(1, 2)


class WordStream(Protocol):
    """Words that are read once, as of `dpgrs.privacy.noise.stream.KeyStream`."""

    def peek(self, n_words: int) -> np.ndarray:  # (n_words,) uint32, read-only
        """Return the next words without using them up."""

    def skip(self, n_words: int) -> None:
        """Use up the next words."""

    def take(self, n_words: int) -> np.ndarray:  # (n_words,) uint32
        """Return the next words and use them up."""


class Real(Protocol):
    """A real number, known to lie in [low, high]."""

    @property
    def low(self) -> Fraction:
        """The lower end, exact."""

    @property
    def high(self) -> Fraction:
        """The upper end, exact."""

    def extend(self) -> None:
        """Bring the ends closer together."""


class Digits:
    """Digits of 31 bits from a key stream; `bits` and `draw` are all that samplers use."""

    bits = DIGIT_BITS

    def __init__(self, stream: WordStream) -> None:
        self._stream = stream

    def draw(self) -> int:
        """Return the next digit."""
        return int(self._stream.take(1)[0]) >> 1


class Uniform:
    """A uniform number of [0, 1), known by the digits drawn so far to lie in [low, high]."""

    def __init__(
        self,
        digits: Digits,
        first: int | None = None,  # a digit that was drawn before
    ) -> None:
        self._digits = digits
        self._numerator = digits.draw() if first is None else first
        self._bits = digits.bits

    def extend(self) -> None:
        """Draw one more digit."""
        self._numerator = self._numerator << self._digits.bits | self._digits.draw()
        self._bits += self._digits.bits

    def extend_to(self, n_digits: int) -> None:
        """Draw digits until there are at least so many."""
        while self._bits < n_digits * self._digits.bits:
            self.extend()

    @property
    def low(self) -> Fraction:
        """The lower end, exact."""
        return Fraction(self._numerator, 1 << self._bits)

    @property
    def high(self) -> Fraction:
        """The upper end, exact."""
        return Fraction(self._numerator + 1, 1 << self._bits)


class Exact:
    """A rational number, with the interface of `Uniform`."""

    def __init__(self, value: int | Fraction) -> None:
        self.low = self.high = Fraction(value)

    def extend(self) -> None:
        """Do nothing: the number is exact."""


class HalfSquare:
    """Half the square of a `Uniform` or `Exact` x, with their interface."""

    def __init__(self, x: Real) -> None:
        self._x = x
        self.extend = x.extend

    @property
    def low(self) -> Fraction:
        """The lower end, exact."""
        return self._x.low**2 * HALVED

    @property
    def high(self) -> Fraction:
        """The upper end, exact."""
        return self._x.high**2 * HALVED


HALF = Exact(HALVED)
ONE = Exact(1)


def exp_trial(
    digits: Digits,
    exponent: Real,  # in [0, 1]
) -> bool:
    """Succeed with probability exp(-exponent): a falling run exponent > u1 > u2 > ... of even length."""
    succeeds, bound = True, exponent
    while True:
        u = Uniform(digits)
        if not _is_below(u, bound):
            return succeeds
        succeeds, bound = not succeeds, u


def bernoulli_exp(digits: Digits, exponent: Fraction) -> bool:
    """Succeed with probability exp(-exponent), for an exponent >= 0."""
    n_ones, remainder = divmod(exponent, 1)
    return _all_succeed(digits, n_ones, ONE) and exp_trial(digits, Exact(remainder))


def index_below(digits: Digits, bound: int) -> int:
    """Draw an integer of 0, ..., bound - 1."""
    return _settled_floor(Uniform(digits), lambda u: bound * u)


def flip_next(
    digits: Digits,
    order: np.ndarray,  # (n,) int64, from `done` on the candidates that are left; changed in place
    done: int,
    exponent_of: Callable[[int], Fraction],  # of a candidate
) -> int:
    """Visit one more candidate of permute-and-flip; return it, or -1 if its coin shows tails."""
    here = done + index_below(digits, len(order) - done)
    candidate = order[here]
    order[here] = order[done]
    return candidate if bernoulli_exp(digits, exponent_of(candidate)) else -1


def rounded_normal(digits: Digits, sigma: Fraction) -> int:
    """Draw round(sigma z), z normal."""
    while True:
        integer_part = _successes(digits, HALF)
        if not _all_succeed(digits, integer_part * (integer_part - 1), HALF):
            continue
        x = Uniform(digits)
        if _bell_trial(digits, integer_part, x):
            magnitude = _scaled_floor(x, sigma, integer_part=integer_part, offset=HALVED)
            return -magnitude if digits.draw() & 1 else magnitude


def discrete_laplace(digits: Digits, scale: Fraction) -> int:
    """Draw y with probability proportional to exp(-|y|/scale)."""
    while True:
        integer_part = _successes(digits, ONE)
        x = Uniform(digits)
        while not exp_trial(digits, x):
            x = Uniform(digits)
        magnitude = _scaled_floor(x, scale, integer_part=integer_part, offset=0)
        is_negative = digits.draw() & 1
        if magnitude or not is_negative:
            return -magnitude if is_negative else magnitude


def _is_below(u: Uniform, bound: Real) -> bool:
    while True:
        if u.high <= bound.low:
            return True
        if u.low >= bound.high:
            return False
        u.extend()
        bound.extend()


def _all_succeed(digits: Digits, count: int, exponent: Real) -> bool:
    return all(exp_trial(digits, exponent) for _ in range(count))


def _successes(digits: Digits, exponent: Real) -> int:
    count = 0
    while exp_trial(digits, exponent):
        count += 1
    return count


def _bell_trial(digits: Digits, integer_part: int, x: Uniform) -> bool:
    """Succeed with probability exp(-x (2 integer_part + x)/2)."""
    return _all_succeed(digits, integer_part, x) and exp_trial(digits, HalfSquare(x))


def _scaled_floor(x: Uniform, scale: Fraction, *, integer_part: int, offset: int | Fraction) -> int:
    x.extend_to(2)
    return _settled_floor(x, lambda value: scale * (integer_part + value) + offset)


def _settled_floor(x: Uniform, rising: Callable[[Fraction], Fraction]) -> int:
    """Draw digits of x until both ends of its interval have the same floor under a rising function."""
    while math.floor(rising(x.low)) != math.floor(rising(x.high)):
        x.extend()
    return math.floor(rising(x.low))
