"""Compiled exact samplers: only integers decide a draw (docs/proofs/exact_noise.md).

A uniform number is known by its leading digits of 31 bits, as an interval; kernels decide only what the
interval decides. Where one digit leaves a comparison open, or the words run out, the position jumps beyond
the words and stays there: the draw is *abandoned*, and its exact twin in `_sampler_twins` repeats it from
its first word with as many digits as it takes. Therefore both read the same words and return the same draws.

All numbers are int64 and no operation can overflow: every product has two factors below 2^31 or is bounded
beside its line. In a mixture with uint64 the type would depend on the version of numba.
"""

from fractions import Fraction
from functools import lru_cache

import numba
import numpy as np

from dpgrs.privacy.noise._sampler_twins import DIGIT_BITS

ONE = 1 << DIGIT_BITS
HALF = ONE >> 1
# Integer parts from here on are left to the twins; a normal of 64 has a probability below exp(-2000).
LARGEST_WHOLE = 64
# Of `gap_parameters`.
RATE_BITS, LARGEST_GAP = 55, 2**62

ROUNDED_NORMAL, DISCRETE_LAPLACE = range(2)

_compiled = numba.njit(nogil=True, cache=True)


@_compiled
def fill(
    words: np.ndarray, values: np.ndarray, done: int, law: int, parameters: tuple[int, int, int, int, int]
) -> tuple[int, int]:
    """Draw values until all are drawn, the words run out or a draw needs its twin.

    Parameters
    ----------
    words : (n_words,) uint32
    values : (size,) int64, filled in from `done` on.
    done : values that are there already.
    law : one of the two constants above.
    parameters : the `scale_parameters`.

    Returns
    -------
    done : values that are there now.
    used : words that those drawn by this call took.
    """
    position = 0
    for i in range(done, len(values)):
        start = position
        if law == ROUNDED_NORMAL:
            value, position = _rounded_normal(words, start, parameters)
        else:
            value, position = _discrete_laplace(words, start, parameters)
        if position > len(words):
            return i, start
        values[i] = value
    return len(values), position


@_compiled
def permute_and_flip(
    words: np.ndarray, order: np.ndarray, done: int, wholes: np.ndarray, lows: np.ndarray, highs: np.ndarray
) -> tuple[int, int, int]:
    """Go through candidates in random order until one's coin shows heads.

    Parameters
    ----------
    words : (n_words,) uint32
    order : (n,) int64, from `done` on the candidates that are left. Changed in place.
    wholes, lows, highs : (n,) int64, `exponent_parameters` of the candidates.

    Returns
    -------
    done : candidates that are visited now.
    used : words that the visits of this call took.
    chosen : the candidate, or -1 if the words ran out or a visit needs its twin.
    """
    position = 0
    for i in range(done, len(order)):
        start = position
        offset, position = _index_below(words, start, len(order) - i)
        candidate = order[i + offset]
        succeeds, position = _bernoulli_exp(
            words, position, wholes[candidate], lows[candidate], highs[candidate]
        )
        if position > len(words):
            return i, start, -1
        order[i + offset] = order[i]
        if succeeds:
            return i + 1, position, candidate
    return len(order), position, -1


@lru_cache(typed=True)
def scale_parameters(
    scale: Fraction,  # in (0, 2^48]
) -> tuple[int, int, int, int, int]:
    """Write a scale c as C/2^shift <= c < (C + 1)/2^shift, with C < 2^62 and shift <= 56.

    Return floor(c), C mod 2^shift, both digits of C, shift.
    """
    shift = min(56, 62 - int(scale).bit_length())
    fixed = int(scale * (1 << shift))
    return fixed >> shift, fixed % (1 << shift), fixed >> DIGIT_BITS, fixed % ONE, shift


def exponent_parameters(
    exponent: Fraction,  # >= 0
) -> tuple[int, int, int]:
    """Write an exponent e as whole + low/2^31 <= e <= whole + high/2^31; 64 stands for any larger whole.

    Return whole, low, high.
    """
    integer_part, remainder = divmod(exponent.numerator, exponent.denominator)
    low, cut_off = divmod(remainder << DIGIT_BITS, exponent.denominator)
    return min(integer_part, LARGEST_WHOLE), low, low + (cut_off > 0)


def gap_parameters(
    scores: np.ndarray,  # (n,) int64
    rate: Fraction,  # > 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bound the exponents rate (highest score - score), each as in `exponent_parameters` or a little wider.

    A wider interval sends more draws to the twins and changes none. Return wholes, lows and highs, (n,)
    int64.
    """
    best = int(scores.max())
    # From here on all exponents have whole parts beyond the largest.
    rate = min(rate, Fraction(LARGEST_WHOLE + 1))
    largest = min(-(-(LARGEST_WHOLE + 1) * rate.denominator // rate.numerator), LARGEST_GAP)
    # Differences of two's complements never overflow.
    gaps = np.uint64(best % 2**64) - scores.view(np.uint64)
    is_open = gaps > LARGEST_GAP
    gaps = np.minimum(gaps, np.uint64(largest)).astype(np.int64)
    # The rate from below, in 2^-55: at most 65 gaps of 1/rate and one more, so below 2^63.
    below = gaps * (rate.numerator * 2**RATE_BITS // rate.denominator)
    above = below + gaps
    wholes, shift = below >> RATE_BITS, RATE_BITS - DIGIT_BITS
    lows = (below - (wholes << RATE_BITS)) >> shift
    highs = (above - (wholes << RATE_BITS) + (1 << shift) - 1) >> shift
    for index in np.flatnonzero(is_open | (highs > ONE)):
        exponent = rate * (best - int(scores[index]))
        wholes[index], lows[index], highs[index] = exponent_parameters(exponent)
    return np.minimum(wholes, LARGEST_WHOLE), lows, highs


@_compiled
def _digit(words: np.ndarray, position: int) -> tuple[int, int]:
    """Read the next digit, or abandon the draw at the end of the words."""
    if position >= len(words):
        return 0, len(words) + 1
    return np.int64(words[position]) >> 1, position + 1  # type: ignore[return-value]


@_compiled
def _exp_trial(words: np.ndarray, position: int, low: int, high: int) -> tuple[bool, int]:
    """Succeed with probability exp(-e), e in [low, high]/2^31; an abandoned draw fails.

    Von Neumann: the run e > u1 > u2 > ... has an even length with that probability.
    """
    succeeds = True
    while True:
        digit, position = _digit(words, position)
        if position > len(words):
            return False, position
        if digit >= high:
            return succeeds, position
        if digit >= low:
            return False, len(words) + 1
        low, high = digit, digit + 1
        succeeds = not succeeds


@_compiled
def _exp_trials(words: np.ndarray, position: int, count: int, low: int, high: int) -> tuple[bool, int]:
    """Succeed if so many trials all succeed; stop at the first that fails."""
    for _ in range(count):
        succeeds, position = _exp_trial(words, position, low, high)
        if not succeeds:
            return False, position
    return True, position


@_compiled
def _successes(words: np.ndarray, position: int, exponent: int) -> tuple[int, int]:
    """Count the trials that succeed before the first that fails."""
    for count in range(LARGEST_WHOLE):
        succeeds, position = _exp_trial(words, position, exponent, exponent)
        if not succeeds:
            return count, position
    return 0, len(words) + 1


@_compiled
def _bell_trial(words: np.ndarray, position: int, integer_part: int, low: int, high: int) -> tuple[bool, int]:
    """Succeed with probability exp(-x (2 integer_part + x)/2), x in [low, high]/2^31."""
    succeeds, position = _exp_trials(words, position, integer_part, low, high)
    if not succeeds:
        return False, position
    return _exp_trial(words, position, (low * low) >> 32, ((high * high) >> 32) + 1)


@_compiled
def _bernoulli_exp(
    words: np.ndarray, position: int, integer_part: int, low: int, high: int
) -> tuple[bool, int]:
    """Succeed with probability exp(-e), e in integer_part + [low, high]/2^31."""
    succeeds, position = _exp_trials(words, position, integer_part, ONE, ONE)
    if not succeeds:
        return False, position
    if integer_part == LARGEST_WHOLE:
        return False, len(words) + 1
    return _exp_trial(words, position, low, high)


@_compiled
def _index_below(words: np.ndarray, position: int, bound: int) -> tuple[int, int]:
    """Draw floor(bound u), u uniform: an integer of 0, ..., bound - 1. The bound is at most 2^31."""
    digit, position = _digit(words, position)
    index = (digit * bound) >> DIGIT_BITS
    if ((digit + 1) * bound) >> DIGIT_BITS != index:
        return 0, len(words) + 1
    return index, position


@_compiled
def _scaled_floor(
    words: np.ndarray,
    position: int,
    integer_part: int,
    first: int,
    scale: tuple[int, int, int, int, int],
    doubled_offset: int,
) -> tuple[int, int]:
    """Find floor(c (integer_part + x) + doubled_offset/2), x by its first digit and one that is drawn now."""
    units, fraction, upper, lower, shift = scale
    second, position = _digit(words, position)
    # c x 2^shift from below; the dropped bits are less than 2. The bracket is below 2 (2^31 - 1)^2 < 2^63.
    product = upper * first + ((upper * second + lower * first) >> DIGIT_BITS)
    # Below (2^62 - 2^56) + 2^62 + 2^55; the cut of c and x adds less than integer_part + 2.
    low = fraction * integer_part + product + ((doubled_offset << shift) >> 1)
    high = low + integer_part + 4
    if low >> shift != high >> shift:
        return 0, len(words) + 1
    return units * integer_part + (low >> shift), position


@_compiled
def _rounded_normal(
    words: np.ndarray, position: int, scale: tuple[int, int, int, int, int]
) -> tuple[int, int]:
    """Draw round(c z), z normal: Karney's algorithm N for |z| = integer_part + x, then a sign."""
    while position <= len(words):
        integer_part, position = _successes(words, position, HALF)
        succeeds, position = _exp_trials(words, position, integer_part * (integer_part - 1), HALF, HALF)
        if not succeeds:
            continue
        first, position = _digit(words, position)
        succeeds, position = _bell_trial(words, position, integer_part, first, first + 1)
        if succeeds:
            value, position = _scaled_floor(words, position, integer_part, first, scale, 1)
            sign, position = _digit(words, position)
            return (-value if sign & 1 else value), position
    return 0, position


@_compiled
def _discrete_laplace(
    words: np.ndarray, position: int, scale: tuple[int, int, int, int, int]
) -> tuple[int, int]:
    """Draw y with probability in proportion to exp(-|y|/c): floor(c (integer_part + x)), both exponential."""
    while position <= len(words):
        integer_part, position = _successes(words, position, ONE)
        first, position = _digit(words, position)
        succeeds, position = _exp_trial(words, position, first, first + 1)
        while not succeeds and position <= len(words):
            first, position = _digit(words, position)
            succeeds, position = _exp_trial(words, position, first, first + 1)
        value, position = _scaled_floor(words, position, integer_part, first, scale, 0)
        sign, position = _digit(words, position)
        # Zero would come twice, once with each sign.
        if value > 0 or sign & 1 == 0:
            return (-value if sign & 1 else value), position
    return 0, position
