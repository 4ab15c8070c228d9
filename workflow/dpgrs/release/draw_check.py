"""Check that a privacy statement lists every draw that its method needs."""

from collections import Counter
from enum import StrEnum
from importlib.metadata import entry_points
from typing import NamedTuple

from dpgrs.privacy.statement.boosting_rounds import without_round
from dpgrs.types import Missing

GAUSSIAN, CHOICE, SUBSET = "gaussian", "choice", "subset"


class Serves(StrEnum):
    """Whom a draw serves; of a single outcome a statement tells nothing apart."""

    ALL = "all outcomes"
    EACH = "each outcome by itself"
    BUDGET = "all outcomes or each"  # as they share a budget or not


class Draws(NamedTuple):
    """Draws of a statistic that a release needs.

    Attributes
    ----------
    statistic : str
    serves : Serves
    family : str, of the noise.
    times : int, for whom they serve.
    """

    statistic: str
    serves: Serves
    family: str = GAUSSIAN
    times: int = 1


COUNT, GRAM = Draws("count", Serves.ALL), Draws("gram", Serves.ALL)
KNOWN = "outcome counts"
REUSECOV = (COUNT, GRAM, Draws(KNOWN, Serves.BUDGET), Draws("cross product", Serves.BUDGET))
SEPARATE = (COUNT, *(Draws(statistic, Serves.EACH) for statistic in (KNOWN, "gram", "cross product")))
KENDALL = Draws("Kendall's correlations", Serves.EACH, CHOICE)
BOOSTED = (
    Draws("boosted smallest eigenvalue", Serves.EACH),
    Draws("boosted gram", Serves.EACH),
    Draws("boosted residuals", Serves.EACH, times=100),
)
# A line for each method that can be released.
BY_METHOD = {
    "reusecov-gauss": REUSECOV,
    "reusecov-ellipsoid": REUSECOV,
    "blup": REUSECOV,
    "adassp": (*REUSECOV, Draws("smallest eigenvalue", Serves.ALL)),
    "naive": SEPARATE,
    "bas": BOOSTED,
    "k-blup": (KENDALL, *SEPARATE),
    "k-bas": (KENDALL, *BOOSTED),
    "s-blup": (Draws("products with the outcome", Serves.EACH, SUBSET), *SEPARATE),
}
# Of methods of other packages, which say so themselves.
BY_METHOD |= {point.name: point.load() for point in entry_points(group="dpgrs.draws")}
ACCURACY = Draws("accuracy", Serves.BUDGET)
FREE = "none"  # how the cost of an accuracy begins that was measured on public people


def draw_problems(statement):
    """Find draws that a statement leaves out.

    Parameters
    ----------
    statement : dict that fits the schema.

    Returns
    -------
    list of str, what is wrong: one line at most.
    """
    method = statement["method"]
    if method not in BY_METHOD:
        return [f"method must be one of {', '.join(BY_METHOD)}, got {method}"]
    missing = _lacking(statement, BY_METHOD[method])
    if not missing:
        return []
    return [f"the mechanisms must hold all that {method} draws, but lack {'; '.join(missing)}"]


def _lacking(statement, draws):
    needed = [one for one in draws if _is_drawn(one.statistic, statement)]
    if _has_charged_accuracy(statement):
        needed.append(ACCURACY)
    return [
        f"{one.statistic} for {whom}"
        for one in needed
        for whom in _not_served(one, statement["mechanisms"], statement["data_domain"]["outcomes"])[:1]
    ]


def _is_drawn(statistic, statement):
    """Tell whether a statistic has noise: not where it hangs on nothing that is protected."""
    guarantee = statement["guarantee"]
    return {
        KNOWN: statement["data_domain"].get("missing_outcomes") == Missing.COUNTED
        and guarantee["protection"] != "feature",
        COUNT.statistic: guarantee["neighbours"] == "add-remove",
        GRAM.statistic: guarantee["protection"] != "label",
    }.get(statistic, True)


def _has_charged_accuracy(statement):
    measured = statement["accuracy"]
    return isinstance(measured, list) and any(not one["cost"].startswith(FREE) for one in measured)


def _not_served(wanted, mechanisms, outcomes):
    """Return for whom there are too few draws of a statistic, a list of words."""
    found = Counter(
        part["outcome"]
        for part in mechanisms
        if (without_round(part["statistic"]), part["mechanism"]) == (wanted.statistic, wanted.family)
    )
    of_all = found[None]
    if wanted.serves == Serves.ALL:
        return [] if of_all >= wanted.times else [Serves.ALL]
    if wanted.serves == Serves.EACH and len(outcomes) > 1:
        of_all = 0
    return [name for name in outcomes if found[name] + of_all < wanted.times]
