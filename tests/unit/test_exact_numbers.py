import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import (
    exact,
    exact_positive,
    exact_text,
    float_below,
    root_above,
    shown_above,
    text_above,
    text_below,
)
from refused import refused

positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("0.25", Fraction(1, 4)), ("1/3", Fraction(1, 3)), ("1e-6", Fraction(1, 10**6)), ("12", 12)],
)
def test_exact__reads(text, value):
    assert exact(text, name="sigma") == value


@pytest.mark.parametrize(
    "text",
    [0.25, 1, None, "", "-1", "+1", "1/0", "nan", "inf", "1_0", " 1", "1\n", "1e9999", "½", ".5", "9" * 3000],
)
def test_exact__raise_on_anything_else(text):
    with refused("number-not-exact", "`sigma`", error=UsageError) as raised:
        exact(text, name="sigma")
    assert len(str(raised.value)) < 250


def test_exact_positive__raise_on_zero():
    with refused("cost-not-positive", error=UsageError):
        exact_positive("0/7", name="sigma")


@given(st.floats(min_value=0, allow_infinity=False))
def test_exact_text__loses_nothing_of_a_float(number):
    assert exact(exact_text(number), name="number") == Fraction(number)
    assert "/" not in exact_text(number)


@given(positive)
def test_exact_text__loses_nothing_of_a_fraction(number):
    assert exact(exact_text(number), name="number") == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (12, "12"),
        (0.5, "0.5"),
        (Decimal("0.10"), "0.1"),
        (Fraction(1, 30), "1/30"),
        (Fraction(1, 5), "0.2"),
    ],
)
def test_exact_text__shortest(number, text):
    assert exact_text(number) == text


@pytest.mark.parametrize("number", [-1, math.nan, math.inf, Fraction(-1, 2)])
def test_exact_text__raise_on_negative_or_not_finite(number):
    with refused("cost-not-finite", error=UsageError):
        exact_text(number)


@given(positive, st.integers(1, 20))
def test_roundings__enclose(value, digits):
    below, above = (Fraction(rounded(value, digits=digits)) for rounded in (text_below, text_above))
    assert below <= value <= above
    assert above - below <= value / 10 ** (digits - 1)
    assert Fraction(float_below(value)) <= value < Fraction(math.nextafter(float_below(value), math.inf))
    assert Fraction(math.nextafter(root_above(value), 0)) ** 2 < value <= Fraction(root_above(value)) ** 2


def test_shown_above__forgives_what_a_conversion_adds():
    assert shown_above(1 + Fraction(1, 10**14), digits=4) == "1.000"
    assert text_above(1 + Fraction(1, 10**14), digits=4) == "1.001"
    assert shown_above(Fraction(12345, 1000), digits=4) == "12.35"


def test_root_above__of_nothing_and_of_almost_nothing():
    assert root_above(Fraction(0)) == 0
    assert 0 < root_above(Fraction(1, 10**600)) < 1e-150
