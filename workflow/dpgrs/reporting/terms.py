"""Privacy terms of a fit as numbers that a reader can weigh, and numbers as text."""

import math
import re
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from markupsafe import Markup, escape

from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.accountant import gdp_mu, right_share_of_terms
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.types import Accounting, Neighbours, Protection, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.reporting.fits import Fit

MISSING = "–"
GREEK = {"epsilon": "ε", "delta": "δ", "mu": "μ", "Phi": "Φ"}
CHANGES = {
    Neighbours.ADD_REMOVE: "one {} is added or removed",
    Neighbours.REPLACE_ONE: "one {} is replaced by another",
}
ACCOUNTING_NAMES = {Accounting.GDP: "exact accounting", Accounting.PAPER: "paper’s accounting"}
ACCOUNTINGS = {
    Accounting.GDP: "exact Gaussian accounting (μ-GDP) of all noisy statistics together",
    Accounting.PAPER: "a part of ε and δ for each statistic, as in the paper; more noise for the same terms",
}


class Terms(NamedTuple):
    """Privacy terms that one or more private fits keep."""

    epsilon: float
    delta: float
    unit: str  # whose data one unit of privacy covers
    protected: str  # the protected data, in words
    neighbours: str
    changes: str  # how neighbours differ, in words
    right_guesses: int  # at most, of 100 guesses between neighbours at even odds (docs/proofs/odds.md)
    person_epsilon: float  # for a person with all rows, as are the next two
    person_delta: float
    person_right_guesses: int

    @classmethod
    def of(
        cls, fit: "Fit", record: Any, *, rows: str, has_covariates: bool, features: str = "genotypes"
    ) -> Self:
        """Compute the terms of a private fit, with unit, neighbours and delta from its row of the metrics.

        `rows` says what a row of the genotypes is, `has_covariates` whether it holds more than genotypes and
        outcomes, and `features` what it holds instead of genotypes. A person with two units is covered by
        group privacy: (2 epsilon, (1 + e^epsilon) delta).
        """
        is_group = rows == Rows.HAPLOTYPES and record.unit == Unit.HAPLOTYPE
        person_epsilon = 2 * fit.epsilon if is_group else fit.epsilon
        person_delta = min(1.0, (1 + _exp(fit.epsilon)) * record.delta) if is_group else record.delta
        return cls(
            fit.epsilon,
            float(record.delta),
            str(record.unit),
            protected_in_words(fit.protection, has_covariates=has_covariates, features=features),
            str(record.neighbours),
            CHANGES[record.neighbours].format(record.unit),
            _right_guesses(fit, record.delta),
            person_epsilon,
            person_delta,
            _right_guesses(fit, record.delta, is_group=is_group),
        )


def _right_guesses(fit: "Fit", delta: float, *, is_group: bool = False) -> int:
    """Bound right guesses in 100: by the normal noise of a fit if this is its only loss, else by its terms.

    Normal noise that is (epsilon, delta)-DP is mu-GDP with mu at most `gdp_mu`, by any accounting.
    """
    method = METHODS.get(fit.method)
    if method is not None and method.may_be_released and not method.is_screened:
        mu = Fraction(gdp_mu(fit.epsilon, delta))
        return Cost(mu**2).for_group(2 if is_group else 1).right_guesses
    epsilon = 2 * fit.epsilon if is_group else fit.epsilon
    delta = min(1.0, (1 + _exp(fit.epsilon)) * delta) if is_group else delta
    return math.ceil(100 * right_share_of_terms(epsilon, delta))


def protected_in_brief(protection: str, features: str = "genotypes") -> str:
    """Return the protected data in words, without the other columns that a row may hold.

    >>> protected_in_brief("full")
    'full: genotypes and outcomes protected'
    """
    words = Protection(protection).of_unit(has_covariates=False, features=features)
    return f"{protection}: {words} protected"


def protected_in_words(protection: str, *, has_covariates: bool, features: str = "genotypes") -> str:
    """Return the protected data, and the data that count as public, in words.

    >>> protected_in_words("label", has_covariates=False)
    'outcomes; genotypes count as public'
    """
    options = {"has_covariates": has_covariates, "features": features}
    words = Protection(protection).of_unit(**options)
    if protection == Protection.FULL:
        return words
    other = Protection.FEATURE if protection == Protection.LABEL else Protection.LABEL
    return f"{words}; {other.of_unit(**options)} count as public"


def promise(
    protection: str, neighbours: str, unit: str, *, has_covariates: bool, features: str = "genotypes"
) -> str:
    """Return what might have been otherwise in the data, after "the weights would be nearly as likely"."""
    if neighbours == Neighbours.ADD_REMOVE:
        return f"had any one {unit} been left out of the data, or one more been in them"
    words = Protection(protection).of_unit(has_covariates=has_covariates, features=features)
    return f"had the {words} of any one {unit} been replaced by others"


def plural(noun: str, number: float) -> str:
    """Return the noun in the form that fits a number of things."""
    return noun if number == 1 else f"{noun}s"


def format_r2(value: float, digits: int = 3) -> str:
    """Write an R^2 or another number of its size; a true minus sign, a dash where there is no value."""
    if not math.isfinite(value):
        return MISSING
    if abs(value) >= 1000:
        return ("−" if value < 0 else "") + format_scientific(abs(value))
    text = f"{value:.{digits}f}"
    # A rounded zero has no sign.
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def format_count(value: int) -> str:
    """Write a count with thousands separators."""
    return f"{value:,}"


def format_scientific(value: float) -> str:
    """Write a small or a large positive number as a power of ten, others plainly with three digits."""
    if not math.isfinite(value):
        return "∞"
    if value == 0 or 1e-3 <= value < 1e6:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if float(mantissa) == 1 else f"{mantissa.rstrip('0').rstrip('.')} × {power}"


def format_signed(value: float) -> str:
    """Write a number of either sign, small or large, with three digits and a true minus sign."""
    return ("−" if value < 0 else "") + format_scientific(abs(value))


def format_bound(value: float) -> str:
    """Write a positive upper bound with three digits; rounded up, since rounded down it would not hold."""
    if math.isfinite(value):
        exact = Decimal(value)
        last_digit = Decimal(1).scaleb(exact.adjusted() - 2)
        value = float(exact.quantize(last_digit, rounding=ROUND_CEILING))
    return format_scientific(value)


def typeset(text: str) -> Markup:
    """Set a sentence of a privacy statement, plain ASCII, with Greek letters, powers and minus signs.

    >>> print(typeset("delta is at most e^epsilon < mu^2"))
    δ is at most e<sup>ε</sup> &lt; μ<sup>2</sup>
    """
    text = re.sub(rf"\b({'|'.join(GREEK)})\b", lambda name: GREEK[name[0]], text)
    text = re.sub(r"(?<![\w)])-(?=[\w ])", "−", text)
    return Markup(re.sub(r"\^(\d+(\.\d+)?|\w+)", r"<sup>\1</sup>", str(escape(text))))


def _exp(epsilon: float) -> float:
    try:
        return math.exp(epsilon)
    except OverflowError:
        return math.inf
