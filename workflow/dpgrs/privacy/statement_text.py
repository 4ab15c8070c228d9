"""A privacy statement in plain language, for people who do not read JSON."""

import math
import textwrap
from fractions import Fraction

from dpgrs.privacy.exact_numbers import text_above
from dpgrs.privacy.ledger_entries import Cost
from dpgrs.privacy.statement_content import decimal_text
from dpgrs.types import Metrics

DIGITS = 3

_UNBROKEN = {"break_long_words": False, "break_on_hyphens": False}


def plain_language(statement):
    """Tell a statement to people who do not read JSON.

    Parameters
    ----------
    statement : dict, from `dpgrs.privacy.statement.build_statement`.

    Returns
    -------
    str, lines of at most 100 characters unless a word is longer.
    """
    curation, guarantee = statement["curation"], statement["guarantee"]
    sections = {
        "What this is": [
            f"{curation['title']}, by {curation['curator']}. Intended use: {curation['intended_use']}",
            f"Terms of use: {curation['data_use_terms']}. License: {curation['license']}.",
        ],
        "What is promised": [guarantee["plain_language"], guarantee["definition"], guarantee["contribution"]],
        "What is not protected": statement["not_protected"],
        "Who is trusted, and with what": [statement["trust_model"], statement["randomness"]],
        "What was taken as public": [
            f"{public['name']}: {public['value']} ({public['origin']})"
            for public in statement["public_inputs"]
        ],
        "What saw private data before the noise": statement["preprocessing"] or ["Nothing."],
        "What was done after the noise": statement["post_processing"] or ["Nothing."],
        "Accuracy": [*_accuracy(statement["accuracy"]), statement["subgroups"]],
        "Audit": _audit(statement["audit"]),
        "Budget": [budget_in_words(statement), _counters(statement["ledger"])],
    }
    parts = [_heading("Privacy statement", "=")]
    for title, lines in sections.items():
        parts += [_heading(title, "-"), *(textwrap.fill(line, 100, **_UNBROKEN) for line in lines)]
    return "\n\n".join(parts) + "\n"


def budget_in_words(statement):
    """Say what a release spent of its data set's budget, what all releases spent, and what is left.

    Percentages are of mu^2, which adds up from release to release; what is spent is rounded up.

    Parameters
    ----------
    statement : dict, from `dpgrs.privacy.statement.build_statement`.

    Returns
    -------
    str, sentences to be read aloud.
    """
    ledger, guarantee = statement["ledger"], statement["guarantee"]
    spent, left = _cost(ledger["spent"]), _cost(ledger["remaining"])
    limit = spent + left
    by_this = _percent(Fraction(guarantee["mu"]) ** 2, limit.mu_squared)
    by_all = _percent(spent.mu_squared, limit.mu_squared)
    words = (
        f"All releases from this data set together may cost one {guarantee['unit']} an epsilon of at most "
        f"{_rounded(limit.epsilon(Fraction(ledger['delta'])))}, at a delta of {ledger['delta']}. "
        f"This release spent {by_this} percent of that budget. Together with all releases before it, "
        f"{by_all} percent is spent, which is an epsilon of {_above(Fraction(ledger['spent']['epsilon']))}, "
        f"and {100 - by_all} percent is left. What is spent never comes back. Later releases are not counted "
        "here."
    )
    if not limit.pure_epsilon:
        return words
    return words + (
        " Mechanisms without a delta have a budget of their own: an epsilon of "
        f"{_above(spent.pure_epsilon)} is spent, of at most {_rounded(limit.pure_epsilon)}."
    )


def _cost(counters):
    return Cost(Fraction(counters["mu_squared"]), Fraction(counters["pure_epsilon"]))


def _percent(part, whole):
    return min(100, math.ceil(100 * part / whole)) if whole else 100


def _above(number):
    return decimal_text(text_above(number, digits=DIGITS))


def _rounded(number):
    """Write a limit, which the ledger's accounting has rounded in its last digits already."""
    return decimal_text(f"{float(number):.6g}")


def _counters(ledger):
    spent, left = ledger["spent"], ledger["remaining"]
    return (
        "Percentages are of mu^2, which adds up from release to release, unlike epsilon. Account "
        f"{ledger['account']}: mu^2 {spent['mu_squared']} spent and {left['mu_squared']} left, pure epsilon "
        f"{spent['pure_epsilon']} spent and {left['pure_epsilon']} left."
    )


def _accuracy(accuracy):
    """Tell the accuracy of each outcome, and what all of it cost once if that is the same."""
    if accuracy == Metrics.WITHHELD:
        return ["Withheld: measuring it on private people would cost privacy, and none was spent on it."]
    costs = {item["cost"] for item in accuracy}
    if len(costs) > 1:
        return [f"{item['name']} {item['value']} (cost: {item['cost']})." for item in accuracy]
    return [*(f"{item['name']} {item['value']}." for item in accuracy), f"Cost: {costs.pop()}."]


def _audit(audit):
    if audit is None:
        return ["The mechanisms were not audited for this release."]
    listed = [
        f"{one['mechanism']}: {one['loss']} claimed {one['claimed']}, observed at least {one['observed']}, "
        f"the closest of {one['cases']} {'case' if one['cases'] == 1 else 'cases'}."
        for one in audit["mechanisms"]
    ]
    return [
        f"Every mechanism was run {audit['draws']} times on each of two made-up neighbouring inputs, with "
        "noise of throwaway keys and at budgets where an audit sees most, not those of this release. What an "
        "attacker could tell stayed within the claim in every case. An audit finds noise that is too small; "
        "it proves no claim.",
        *listed,
    ]


def _heading(title, line):
    return f"{title}\n{line * len(title)}"
