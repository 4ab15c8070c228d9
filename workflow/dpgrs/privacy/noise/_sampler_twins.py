"""The exact samplers in plain Python: fractions, and uniform numbers of as many digits as it takes.

Each function draws what its namesake in `_sampler_kernels` draws from the same words, and goes on where the
kernel's one digit leaves a comparison open. docs/proofs/exact_noise.md has the proofs.
"""

import math
from fractions import Fraction

DIGIT_BITS = 31
# Of normal and Laplace noise: here about one draw in 1,600 needs its slow twin, and twice as many for each
# further factor of 2.
LARGEST_SCALE = 2**48

HALVED = Fraction(1, 2)


class Digits:
    """Digits of 31 bits from a key stream; `bits` and `draw` are all that samplers use."""

    bits = DIGIT_BITS

    def __init__(self, stream):
        self._stream = stream

    def draw(self):
        """Return the next digit, an int."""
        return int(self._stream.take(1)[0]) >> 1


class Uniform:
    """A uniform number of [0, 1), known by the digits drawn so far to lie in [low, high]."""

    def __init__(self, digits, first=None):
        self._digits = digits
        self._numerator = digits.draw() if first is None else first  # a digit that was drawn before
        self._bits = digits.bits

    def extend(self):
        """Draw one more digit."""
        self._numerator = self._numerator << self._digits.bits | self._digits.draw()
        self._bits += self._digits.bits

    def extend_to(self, n_digits):
        """Draw digits until there are at least so many."""
        while self._bits < n_digits * self._digits.bits:
            self.extend()

    @property
    def low(self):
        """The lower end, exact."""
        return Fraction(self._numerator, 1 << self._bits)

    @property
    def high(self):
        """The upper end, exact."""
        return Fraction(self._numerator + 1, 1 << self._bits)


class Known:
    """A rational number, with the interface of `Uniform`."""

    def __init__(self, value):
        self.low = self.high = Fraction(value)

    def extend(self):
        """Nothing is left to be known."""


class HalfSquare:
    """x^2/2 of a `Uniform` or `Known` x, with their interface."""

    def __init__(self, x):
        self._x = x
        self.extend = x.extend

    @property
    def low(self):
        """The lower end, exact."""
        return self._x.low**2 * HALVED

    @property
    def high(self):
        """The upper end, exact."""
        return self._x.high**2 * HALVED


HALF = Known(HALVED)
ONE = Known(1)


def exp_trial(digits, exponent):
    """Succeed with probability exp(-exponent): a falling run exponent > u1 > u2 > ... of even length.

    Parameters
    ----------
    digits : Digits
    exponent : Uniform, Known or HalfSquare, in [0, 1].

    Returns
    -------
    bool
    """
    succeeds, bound = True, exponent
    while True:
        u = Uniform(digits)
        if not _is_below(u, bound):
            return succeeds
        succeeds, bound = not succeeds, u


def bernoulli_exp(digits, exponent):
    """Succeed with probability exp(-exponent), a Fraction >= 0."""
    whole, remainder = divmod(exponent, 1)
    return _all_succeed(digits, whole, ONE) and exp_trial(digits, Known(remainder))


def index_below(digits, bound):
    """Draw an integer of 0, ..., bound - 1."""
    return _settled_floor(Uniform(digits), lambda u: bound * u)


def flip_next(digits, order, done, exponent_of):
    """Visit one more candidate of permute-and-flip.

    Parameters
    ----------
    digits : Digits
    order : (n,) int64, from `done` on the candidates that are left. Changed in place.
    done : int
    exponent_of : callable, the exponent of a candidate as a Fraction.

    Returns
    -------
    int, the candidate, or -1 if its coin shows tails.
    """
    here = done + index_below(digits, len(order) - done)
    candidate = order[here]
    order[here] = order[done]
    return candidate if bernoulli_exp(digits, exponent_of(candidate)) else -1


def rounded_normal(digits, sigma):
    """Draw round(sigma z), z normal, sigma a Fraction."""
    while True:
        whole = _successes(digits, HALF)
        if not _all_succeed(digits, whole * (whole - 1), HALF):
            continue
        x = Uniform(digits)
        if _bell_trial(digits, whole, x):
            magnitude = _scaled_floor(x, sigma, whole=whole, offset=HALVED)
            return -magnitude if digits.draw() & 1 else magnitude


def discrete_laplace(digits, scale):
    """Draw y with probability proportional to exp(-|y|/scale), scale a Fraction."""
    while True:
        whole = _successes(digits, ONE)
        x = Uniform(digits)
        while not exp_trial(digits, x):
            x = Uniform(digits)
        magnitude = _scaled_floor(x, scale, whole=whole, offset=0)
        is_negative = digits.draw() & 1
        if magnitude or not is_negative:
            return -magnitude if is_negative else magnitude


def _is_below(u, bound):
    while True:
        if u.high <= bound.low:
            return True
        if u.low >= bound.high:
            return False
        u.extend()
        bound.extend()


def _all_succeed(digits, count, exponent):
    return all(exp_trial(digits, exponent) for _ in range(count))


def _successes(digits, exponent):
    count = 0
    while exp_trial(digits, exponent):
        count += 1
    return count


def _bell_trial(digits, whole, x):
    """Succeed with probability exp(-x (2 whole + x)/2)."""
    return _all_succeed(digits, whole, x) and exp_trial(digits, HalfSquare(x))


def _scaled_floor(x, scale, *, whole, offset):
    x.extend_to(2)
    return _settled_floor(x, lambda value: scale * (whole + value) + offset)


def _settled_floor(x, rising):
    """Draw digits of x until both ends of its interval have the same floor under a rising function."""
    while math.floor(rising(x.low)) != math.floor(rising(x.high)):
        x.extend()
    return math.floor(rising(x.low))
