"""Check that a privacy statement lists every draw."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dpgrs.statement.draws import (
    ACCURACY,
    CASES,
    COUNT,
    GRAM,
    KNOWN,
    MOMENTS,
    WITH_EIGENVALUE,
    Draws,
    Scope,
)
from dpgrs.statement.methods import METHODS, PROVED, stated_method
from dpgrs.statement.words import NOISE
from dpgrs.types import Missing, Protection

# As in `dpgrs.privacy.accounting.events`; a test compares the two.
MECHANISM_VERSION = 3
# A public input where second moments of rows are drawn.
MOMENT_NORM = "norm of second moments of a row"
FREE = "none"  # how the cost of an accuracy begins that was measured on public people


def has_statistics(method: str, protection: Protection | str) -> bool:
    """Return whether the bundle of a method holds statistics: of all variants, for all outcomes at once.

    It holds none if outcomes are public: fits take these, which no bundle holds. Nor if rows were turned or
    variants chosen, of which the check knows too little.
    """
    row = stated_method(method) if method in PROVED else None
    is_known = row is not None and not row.is_steered and protection != Protection.FEATURE
    return is_known and {*row.draws} <= {*WITH_EIGENVALUE}


def draw_problems(statement: dict[str, Any], *, earlier_draws: Sequence[Draws] = ()) -> list[str]:
    """Find draws that a statement leaves out, and those that its method does not make: two lines at most.

    `earlier_draws` are draws that come before the draws of the method.
    """
    method = statement["method"]
    if (row := stated_method(method)) is None:
        released = ", ".join(name for name, row in METHODS.items() if row.may_be_released)
        return [f"method must be one of {released}, got {method}"]
    expected_draws = [draws for draws in row.draws if _is_drawn(draws.statistic, statement)]
    expected_draws += earlier_draws
    if _has_charged_accuracy(statement):
        expected_draws.append(ACCURACY)
    expected = {(draws.statistic, draws.family) for draws in expected_draws}
    stated = dict.fromkeys(
        (mechanism["statistic"], mechanism["mechanism"]) for mechanism in statement["mechanisms"]
    )
    unknown = [f"{name} ({family})" for name, family in stated if (name, family) not in expected]
    names_by_message = {
        f"no draws but those of {method}, got ": ", ".join(unknown),
        f"just what {method} draws, but have fewer or more of ": "; ".join(
            _lacking(statement, expected_draws)
        ),
    }
    return [f"the mechanisms must hold {line}{names}" for line, names in names_by_message.items() if names]


def form_problems(statement: dict[str, Any]) -> list[str]:
    """Find draws that are not described as draws of their family are."""
    problems = []
    for draw in statement["mechanisms"]:
        name, words = draw["statistic"], NOISE[draw["mechanism"]]
        if draw["noise"] != words:
            problems.append(f"the noise of {name} must be `{words}`, got {draw['noise']}")
        if draw["version"] != MECHANISM_VERSION:
            line = (
                f"the version of the mechanism of {name} must be {MECHANISM_VERSION}, got {draw['version']}"
            )
            problems.append(f"{line}: take the dpgrs that the statement names")
    return problems


def _lacking(statement: dict[str, Any], expected_draws: Sequence[Draws]) -> list[str]:
    return [
        f"{draw.statistic} for {whom}"
        for draw in expected_draws
        for whom in _outcomes_lacking(draw, statement["mechanisms"], statement["data_domain"]["outcomes"])[:1]
    ]


def _is_drawn(statistic: str, statement: dict[str, Any]) -> bool:
    """Return whether a statistic has noise: not if it depends on nothing that is protected."""
    guarantee = statement["guarantee"]
    return {
        KNOWN: statement["data_domain"].get("missing_outcomes") == Missing.COUNTED
        and guarantee["protection"] != "feature",
        CASES: "case_counts" in statement,
        COUNT.statistic: guarantee["neighbours"] == "add-remove",
        GRAM.statistic: guarantee["protection"] != "label",
        MOMENTS: has_moments(statement),
    }.get(statistic, True)


def has_moments(statement: dict[str, Any]) -> bool:
    """Return whether second moments of rows are among the draws, by the public norm of a row's."""
    return any(public["name"] == MOMENT_NORM for public in statement["public_inputs"])


def _has_charged_accuracy(statement: dict[str, Any]) -> bool:
    measured = statement["accuracy"]
    return isinstance(measured, list) and any(not accuracy["cost"].startswith(FREE) for accuracy in measured)


def _outcomes_lacking(expected: Draws, mechanisms: list[dict[str, Any]], outcomes: list[str]) -> list[str]:
    """Return the outcomes with too few or too many draws of a statistic."""
    draws_by_outcome, names = defaultdict(list), [expected.statistic]
    for mechanism in mechanisms:
        if (mechanism["statistic"], mechanism["mechanism"]) == (expected.statistic, expected.family):
            draws_by_outcome[mechanism["outcome"]].append(mechanism["statistic"])
    of_all = draws_by_outcome.pop(None, [])
    if expected.scope == Scope.ALL:
        # What serves all outcomes is in no outcome's own part.
        return [] if of_all == names and not draws_by_outcome else [Scope.ALL]
    if expected.scope == Scope.EACH and len(outcomes) > 1 and of_all:
        return outcomes
    return [name for name in outcomes if draws_by_outcome[name] + of_all != names]
