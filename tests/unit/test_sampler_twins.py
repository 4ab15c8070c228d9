"""The exact twins, followed over every bit string up to a length, with digits of one bit.

What the strings decide must lie below the closed-form probability of each outcome, and what they leave open
must reach up to it: bounds that hold with certainty, not statistics.
"""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.privacy.noise import _sampler_twins as twins

ROUNDING = 1e-12


class OutOfBits(Exception):
    pass


class Bits:
    bits = 1

    def __init__(self, string):
        self._left = iter(string)

    def draw(self):
        for bit in self._left:
            return bit
        raise OutOfBits


def decided(draw, *, depth):
    """Return the probability of each outcome that `depth` bits decide, and that of all others together."""
    masses, undecided, strings = Counter(), Fraction(0), [()]
    while strings:
        string = strings.pop()
        try:
            masses[draw(Bits(string))] += Fraction(1, 2 ** len(string))
        except OutOfBits:
            if len(string) < depth:
                strings += [(*string, 0), (*string, 1)]
            else:
                undecided += Fraction(1, 2**depth)
    return masses, undecided


def assert_brackets(draw, probabilities, *, depth, left_open):
    masses, undecided = decided(draw, depth=depth)
    assert undecided < left_open
    assert masses.keys() <= probabilities.keys()
    for outcome, probability in probabilities.items():
        assert float(masses[outcome]) - ROUNDING <= probability
        assert probability <= float(masses[outcome] + undecided) + ROUNDING


def coin(heads):
    return {True: heads, False: 1 - heads}


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)], ids=str)
def test_exp_trial__all_bit_strings(exponent):
    def draw(bits):
        return twins.exp_trial(bits, twins.Exact(exponent))

    assert_brackets(draw, coin(math.exp(-exponent)), depth=16, left_open=0.1)


def test_exp_trial__half_square_of_known_number():
    def draw(bits):
        return twins.exp_trial(bits, twins.HalfSquare(twins.Exact(Fraction(2, 3))))

    assert_brackets(draw, coin(math.exp(-2 / 9)), depth=16, left_open=0.1)


def test_exp_trial__half_square_of_uniform():
    # The mean of exp(-u^2/2) is the integral of the normal density from 0 to 1, without its factor.
    def draw(bits):
        return twins.exp_trial(bits, twins.HalfSquare(twins.Uniform(bits)))

    heads = math.sqrt(math.pi / 2) * math.erf(math.sqrt(1 / 2))
    assert_brackets(draw, coin(heads), depth=16, left_open=0.1)


def test_bernoulli_exp__all_bit_strings():
    def draw(bits):
        return twins.bernoulli_exp(bits, Fraction(7, 5))

    assert_brackets(draw, coin(math.exp(-1.4)), depth=16, left_open=0.1)


@pytest.mark.parametrize("bound", [1, 2, 3, 5])
def test_index_below__all_bit_strings(bound):
    def draw(bits):
        return twins.index_below(bits, bound)

    assert_brackets(draw, dict.fromkeys(range(bound), 1 / bound), depth=16, left_open=0.1)


def test_flip_next__all_bit_strings():
    # Two candidates of exponents 0 and 1: the second is chosen if it comes first and its coin shows heads.
    def draw(bits):
        order = np.arange(2)
        first = twins.flip_next(bits, order, 0, lambda candidate: Fraction(int(candidate)))
        return int(first if first >= 0 else twins.flip_next(bits, order, 1, lambda _: Fraction(0)))

    second = math.exp(-1) / 2
    assert_brackets(draw, {0: 1 - second, 1: second}, depth=16, left_open=0.1)
