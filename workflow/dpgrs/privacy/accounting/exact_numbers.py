"""Exact numbers as text, and roundings to a stated side: a ledger never meets a number it has to guess."""

import math
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpgrs.errors import UsageError, shown

# Longer than any float64 written out in full.
LONGEST = 2500
_EXACT = re.compile(r"[0-9]+(\.[0-9]+)?(e-?[0-9]{1,3})?|[0-9]+/[0-9]*[1-9][0-9]*")


def exact(text: str, *, name: str) -> Fraction:
    """Return the number >= 0 that a text holds exactly: a decimal as ``0.25`` or ``1e-6``, or as ``1/3``.

    Anything else, such as a float, which would be a rounded number, is refused; `name` is for the error.
    """
    if not isinstance(text, str) or len(text) > LONGEST or not _EXACT.fullmatch(text):
        raise UsageError(
            "number-not-exact",
            f"`{name}` must be an exact number >= 0 as text, such as 0.25 or 1/3, got {shown(repr(text))}. "
            "Write it out; `exact_text` does that for a float.",
        )
    return Fraction(text)


def exact_positive(text: str, *, name: str) -> Fraction:
    """Return the number above 0 that a text holds exactly."""
    value = exact(text, name=name)
    if value == 0:
        raise UsageError(
            "cost-not-positive", f"`{name}` must be above 0, got {text}. Raise it: a release costs something."
        )
    return value


@lru_cache(maxsize=1024)
def exact_text(number: float | Decimal | Fraction) -> str:
    """Return a number >= 0 as text, without rounding: a decimal if there is one, else a fraction.

    Examples
    --------
    >>> exact_text(0.5), exact_text(Fraction(1, 3)), exact_text(0.1)[:22]
    ('0.5', '1/3', '0.10000000000000000555')
    """
    try:
        value = Fraction(number)
    except (ValueError, OverflowError):
        value = Fraction(-1)  # NaN and infinity are refused with the negative numbers
    if value < 0:
        raise UsageError("cost-not-finite", f"A cost must be a finite number >= 0, got {number}. Correct it.")
    n_places = max(_power_of(2, value.denominator), _power_of(5, value.denominator))
    if 10**n_places % value.denominator:
        return str(value)
    digits = str(int(value * 10**n_places)).zfill(n_places + 1)
    return f"{digits[:-n_places]}.{digits[-n_places:]}" if n_places else digits


def text_above(value: Fraction, *, digits: int) -> str:
    """Return the smallest decimal of so many significant digits that is not below a fraction."""
    return _rounded(value, Context(prec=digits, rounding=ROUND_CEILING))


def shown_above(value: Fraction, *, digits: int) -> str:
    """Return `text_above` for readers, without what conversions between mu and epsilon add by themselves."""
    return text_above(value * (1 - Fraction(1, 10**12)), digits=digits)


def text_below(value: Fraction, *, digits: int) -> str:
    """Return the largest decimal of so many significant digits that is not above a fraction."""
    return _rounded(value, Context(prec=digits, rounding=ROUND_FLOOR))


def float_below(value: Fraction) -> float:
    """Return a float that is not above a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def root_above(square: Fraction) -> float:
    """Return a float that is not below the root of a fraction; 0 for 0."""
    # Below the smallest normal float, floats thin out: the search would go on step by step for ever.
    root = math.sqrt(max(float(square), sys.float_info.min) if square else 0)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def _power_of(prime: int, number: int) -> int:
    power = 0
    while number % prime == 0:
        number //= prime
        power += 1
    return power


def _rounded(value: Fraction, context: Context) -> str:
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)):f}"


def exact_values(value: Any) -> Any:
    """Write floats as exact text, in dicts and lists."""
    match value:
        case dict():
            return {name: exact_values(inner) for name, inner in value.items()}
        case list() | tuple():
            return [exact_values(inner) for inner in value]
        case float():
            return exact_text(value)
    return value
