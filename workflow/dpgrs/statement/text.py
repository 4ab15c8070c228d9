"""A privacy statement in plain language, for people who do not read JSON."""

import math
import textwrap
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from mpmath import mp

from dpgrs.statement.words import decimal_text
from dpgrs.types import Metrics, Missing

DIGITS, LIMIT_DIGITS = 3, 6
HALVINGS = 120  # of an interval that holds an epsilon, of which six digits are shown
BEYOND_20 = "The curator's reason why a person may lose more than epsilon 20"


_UNBROKEN = {"break_long_words": False, "break_on_hyphens": False}


class Loss(NamedTuple):
    """The two counters of a ledger."""

    mu_squared: Fraction
    pure_epsilon: Fraction


def plain_language(statement: dict[str, Any]) -> str:
    """Tell a statement to people who do not read JSON, in lines of at most 100 characters."""
    curation, guarantee = statement["curation"], statement["guarantee"]
    sections = {
        "What this is": [
            f"{curation['title']}, by {curation['curator']}. Intended use: {curation['intended_use']}",
            f"Terms of use: {curation['data_use_terms']}. License: {curation['license']}.",
            *([acknowledged] if (acknowledged := curation.get("acknowledgement")) else []),
            *([chosen_in_words(statement)] if n_chosen(statement) else []),
            _made_by(statement["software"]),
        ],
        "What is promised": [
            guarantee["plain_language"],
            guarantee["definition"],
            guarantee["contribution"],
            *([f"{BEYOND_20}: {curation['beyond_20']}"] if "beyond_20" in curation else []),
        ],
        "What the existence of this release reveals": statement["conditions"],
        "What is not protected": statement["not_protected"],
        "Who is trusted, and with what": [statement["trust_model"], statement["randomness"]],
        "What the guarantee rests on": statement["assumptions"],
        "What was taken as public": [
            f"{public['name']}: {public['value']} ({public['origin']})"
            for public in statement["public_inputs"]
        ],
        "What saw private data before the noise": statement["preprocessing"] or ["Nothing."],
        "What was done after the noise": statement["post_processing"] or ["Nothing."],
        **_case_counts(statement),
        "Accuracy": [*_accuracy(statement["accuracy"]), statement["subgroups"]],
        "Audit": _audit(statement["audit"]),
        "Budget": [budget_in_words(statement), _counters(statement)],
    }
    paragraphs = [_heading("Privacy statement", "=")]
    for title, lines in sections.items():
        paragraphs += [_heading(title, "-"), *(textwrap.fill(line, 100, **_UNBROKEN) for line in lines)]
    return "\n\n".join(paragraphs) + "\n"


def _made_by(software: dict[str, Any]) -> str:
    """Say whose manual holds the pages that a statement names."""
    commit = f", commit {software['commit']}" if software["commit"] else ""
    return (
        f"Made by dpgrs {software['version']}{commit}. Pages of docs/ that this release names are those of "
        "that version's manual."
    )


def n_chosen(statement: dict[str, Any]) -> int | None:
    """Return how many variants were chosen in private for the score of every outcome; None if none were."""
    return next((score.get("n_variants") for score in statement["scores"]), None)


def chosen_in_words(statement: dict[str, Any]) -> str:
    """Say what every score holds where its variants were chosen in private."""
    number, n_sites = n_chosen(statement), statement["data_domain"]["n_variants"]
    size = "1 variant" if number == 1 else f"{number} variants"
    return (
        f"The score of every outcome holds {size}, chosen for it in private among {n_sites} public sites. "
        "Which were chosen tells something of the data, and is charged."
    )


def budget_in_words(statement: dict[str, Any]) -> str:
    """Say how much of the data set's budget a release and all releases spent, and how much remains.

    Percentages are of mu^2 and of pure epsilon, which add up from release to release; spent ones are
    rounded up.
    """
    ledger, guarantee = statement["ledger"], statement["guarantee"]
    spent, left = _loss(ledger["spent"]), _loss(ledger["remaining"])
    limit = Loss(spent.mu_squared + left.mu_squared, spent.pure_epsilon + left.pure_epsilon)
    mine = Loss(Fraction(guarantee["mu"]) ** 2, Fraction(guarantee.get("pure_epsilon", 0)))
    most = gaussian_epsilon(limit.mu_squared, Fraction(ledger["delta"])) + limit.pure_epsilon
    epsilon = _above(Fraction(ledger["spent"]["epsilon"]))
    words = (
        f"All releases from this data set together may cost one {guarantee['unit']} an epsilon of at most "
        f"{_rounded(most)}, at a delta of {ledger['delta']}. "
        f"{_spent(mine, spent, limit)}, which is an epsilon of {epsilon}, and {_left(mine, spent, limit)}. "
        "What is spent never comes back. Later releases are not counted here."
    )
    if mine.pure_epsilon or not limit.pure_epsilon:
        return words
    return words + (
        " Mechanisms without a delta have a budget of their own: an epsilon of "
        f"{_above(spent.pure_epsilon)} is spent, of at most {_rounded(limit.pure_epsilon)}."
    )


def _spent(mine: Loss, spent: Loss, limit: Loss) -> str:
    """Say what a release and all releases spent of mu^2, and of pure epsilon if the release has any."""
    (by_this, pure_by_this), (by_all, pure_by_all) = _percents(mine, limit), _percents(spent, limit)
    together = "Together with all releases before it"
    if not mine.pure_epsilon:
        return f"This release spent {by_this} percent of that budget. {together}, {by_all} percent is spent"
    return (
        f"This release spent {by_this} percent of that budget's part for noise with a delta, and "
        f"{pure_by_this} percent of its part for mechanisms without one, such as private choices. "
        f"{together}, {by_all} percent and {pure_by_all} percent are spent"
    )


def _left(mine: Loss, spent: Loss, limit: Loss) -> str:
    """Say how much of both counters remains, or only of mu^2 if a release has no pure epsilon."""
    left, pure_left = (100 - percent for percent in _percents(spent, limit))
    if not mine.pure_epsilon:
        return f"{left} percent is left"
    return f"{left} percent and {pure_left} percent are left"


def _percents(spent: Loss, limit: Loss) -> tuple[int, int]:
    """Return the percentages of mu^2 and of pure epsilon, rounded up."""
    return _percent(spent.mu_squared, limit.mu_squared), _percent(spent.pure_epsilon, limit.pure_epsilon)


def _loss(counters: dict[str, str]) -> Loss:
    return Loss(Fraction(counters["mu_squared"]), Fraction(counters["pure_epsilon"]))


def _percent(spent: Fraction, limit: Fraction) -> int:
    return min(100, math.ceil(100 * spent / limit)) if limit else 100


def gaussian_epsilon(mu_squared: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon at which normal noise of this sum of mu^2 has a delta, to some 36 digits."""
    with mp.workdps(50):
        mu = mp.sqrt(mp.mpf(mu_squared.numerator) / mu_squared.denominator)
        delta = mp.mpf(delta.numerator) / delta.denominator

        def is_enough(epsilon: mp.mpf) -> bool:
            above = mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
            return mp.ncdf(mu / 2 - epsilon / mu) - above <= delta

        if not mu or is_enough(mp.mpf(0)):
            return Fraction(0)
        low, high = mp.mpf(0), mp.mpf(1)
        while not is_enough(high):
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return int(high.man) * Fraction(2) ** high.exp


def _above(number: Fraction) -> str:
    return _in_digits(number, DIGITS, ROUND_CEILING)


def _rounded(number: Fraction) -> str:
    """Write a limit, whose last digits the ledger's accounting has rounded."""
    return _in_digits(number, LIMIT_DIGITS, ROUND_HALF_EVEN)


def _in_digits(number: Fraction, n_digits: int, rounding: str) -> str:
    context = Context(prec=n_digits, rounding=rounding)
    return decimal_text(f"{context.divide(Decimal(number.numerator), Decimal(number.denominator)):f}")


def _counters(statement: dict[str, Any]) -> str:
    ledger = statement["ledger"]
    spent, left = ledger["spent"], ledger["remaining"]
    has_pure = "pure_epsilon" in statement["guarantee"]
    counters = "mu^2 and of pure epsilon, which add" if has_pure else "mu^2, which adds"
    return (
        f"Percentages are of {counters} up from release to release, unlike epsilon. Account "
        f"{ledger['account']}: mu^2 {spent['mu_squared']} spent and {left['mu_squared']} left, pure epsilon "
        f"{spent['pure_epsilon']} spent and {left['pure_epsilon']} left."
    )


def rows_of_cases(statement: dict[str, Any]) -> str:
    """Say of which rows cases and controls are: without a count of those with a value, of all."""
    rows = statement["guarantee"]["rows"]
    if statement["data_domain"].get("missing_outcomes") == Missing.COUNTED:
        return f"{rows} on which it is known"
    return f"{rows}, where all without a value are controls"


def _case_counts(statement: dict[str, Any]) -> dict[str, list[str]]:
    """Tell numbers of cases and controls as a section, if there are any."""
    rows = rows_of_cases(statement)
    lines = [
        f"{counts['outcome']}: about {counts['cases']} cases and {counts['controls']} controls "
        f"among {counts['known']} {rows}, with noise of standard deviation {counts['cases_sd']:g}, "
        f"{counts['controls_sd']:g} and {counts['known_sd']:g}."
        + (f" {counts['note']}" if "note" in counts else "")
        for counts in statement.get("case_counts", ())
    ]
    return {"Cases and controls": lines} if lines else {}


def _accuracy(accuracy: str | list[dict[str, str]]) -> list[str]:
    """Tell the accuracy of each outcome, and what all of it cost once if that is the same."""
    if accuracy == Metrics.WITHHELD:
        return ["Withheld: measuring it on private people would cost privacy, and none was spent on it."]
    costs = {item["cost"] for item in accuracy}
    if len(costs) > 1:
        return [f"{item['name']} {item['value']} (cost: {item['cost']})." for item in accuracy]
    return [*(f"{item['name']} {item['value']}." for item in accuracy), f"Cost: {costs.pop()}."]


def _audit(audit: dict[str, Any] | None) -> list[str]:
    if audit is None:
        return ["The mechanisms were not audited for this release."]
    listed = [
        f"{case['mechanism']}: {case['loss']} claimed {case['claimed']}, observed at least "
        f"{case['observed']}, the closest of {case['cases']} {'case' if case['cases'] == 1 else 'cases'}."
        for case in audit["mechanisms"]
    ]
    return [
        f"Every mechanism was run {audit['draws']} times on each of two synthetic neighbouring inputs, with "
        "noise of throwaway keys and at budgets where an audit sees most, not those of this release. The "
        "loss that was observed stayed within the claim in each of the cases. An audit may find noise that "
        "is too small; it proves no claim.",
        *listed,
    ]


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"
