"""Settings that contradict drawing components of outcomes instead of outcomes."""

from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.outcomes import simulated_names
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.study.table_settings import require_exact_components
from dpgrs.types import Bounds, Metrics, Missing, Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

KEY = "outcomes.loadings"
# Key to the requirement of its value in words, its test, and how to mend the value.
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


def term_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a setting under which components are not drawn."""
    domain, is_met, fix = TERMS[key]
    setting, path = inspection[key], inspection[KEY]
    if path is None or is_met(setting):
        return []
    got = ", ".join(map(str, setting)) if isinstance(setting, list) else setting
    return [must(key, f"{domain} with `{KEY}`", got, fix)]


def method_problems(inspection: "Inspection") -> list[str]:
    """Refuse methods that are fitted to outcomes one by one."""
    taking, path = methods_that("takes_loadings"), inspection[KEY]
    refused = [name for name in inspection["methods"] if not METHODS[name].takes_loadings]
    if path is None or not refused:
        return []
    domain = f"be among {', '.join(taking)} with `{KEY}`"
    return [must("methods", domain, ", ".join(refused), "Leave out the one or the other.")]


def table_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table of loadings."""
    path, counts = inspection[KEY], inspection["outcomes.count"]
    if path is None:
        return []
    names = outcomes_of(inspection, counts and max(counts))
    try:
        loadings = read_outcome_loadings(path)
        if names is not None:
            loadings.of(names)
        require_exact_components(loadings, bound=inspection["outcomes.bound"])
    except DpgrsError as error:
        return [f"`{KEY}`: {error}"]
    return []


def outcomes_of(inspection: "Inspection", count: int | None) -> list[str] | None:
    """Return the names of the outcomes; None where other checks report why they are unknown."""
    if inspection["outcomes.source"] == "simulate":
        return count and simulated_names(count)
    path = inspection["outcomes.file"]
    try:
        return path and inspection.names(path)[:count]
    except DpgrsError:
        return None
