"""What keeps components of outcomes from being drawn in their place."""

from dpgrs.errors import DpgrsError, must
from dpgrs.io.outcomes import simulated_names
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.study.table_settings import require_exact_components
from dpgrs.types import Bounds, Metrics, Missing, Protection

KEY = "outcomes.loadings"
# Key to what its value must be, whether it is, and how to mend it.
TERMS = {
    "privacy.bounds": (
        "be tight",
        lambda bounds: bounds == Bounds.TIGHT,
        "Say `privacy: {bounds: tight}`: a shorter row is what components gain by.",
    ),
    "privacy.outcome_budget": (
        "be joint",
        lambda budget: budget == "joint",
        "Leave it out: every component is of all outcomes.",
    ),
    "privacy.protection": (
        "be without feature",
        lambda protections: Protection.FEATURE not in protections,
        "Outcomes are public there: leave out the one or the other.",
    ),
    "outcomes.missing": (
        "be none",
        lambda missing: missing == Missing.NONE,
        "Leave it out: a missing outcome is filled in by the others of its row.",
    ),
    "outcomes.count": (
        "be one number or null",
        lambda counts: counts is None or len(counts) == 1,
        "Say how many outcomes the table has.",
    ),
    "evaluation.metrics": (
        "not be charged",
        lambda metrics: metrics != Metrics.CHARGED,
        "Withhold them, or measure on public people.",
    ),
}


def term_problems(inspection, key):
    """Refuse a setting under which components are not drawn."""
    wanted, is_met, fix = TERMS[key]
    value, path = inspection[key], inspection[KEY]
    if path is None or is_met(value):
        return []
    got = ", ".join(map(str, value)) if isinstance(value, list) else value
    return [must(key, f"{wanted} with `{KEY}`", got, fix)]


def method_problems(inspection):
    """Refuse methods that are fitted to outcomes one by one."""
    taking, path = methods_that("takes_loadings"), inspection[KEY]
    others = [name for name in inspection["methods"] if not METHODS[name].takes_loadings]
    if path is None or not others:
        return []
    wanted = f"be among {', '.join(taking)} with `{KEY}`"
    return [must("methods", wanted, ", ".join(others), "Leave out the one or the other.")]


def table_problems(inspection):
    """List what is wrong with the table of loadings."""
    path, counts = inspection[KEY], inspection["outcomes.count"]
    if path is None:
        return []
    names = outcomes_of(inspection, counts and max(counts))
    try:
        found = read_outcome_loadings(path)
        if names is not None:
            found.of(names)
        require_exact_components(found, bound=inspection["outcomes.bound"])
    except DpgrsError as error:
        return [f"`{KEY}`: {error}"]
    return []


def outcomes_of(inspection, count):
    """Return the names of the outcomes; None where other checks say why there are none."""
    if inspection["outcomes.source"] == "simulate":
        return count and simulated_names(count)
    path = inspection["outcomes.file"]
    try:
        return path and inspection.names(path)[:count]
    except DpgrsError:
        return None
