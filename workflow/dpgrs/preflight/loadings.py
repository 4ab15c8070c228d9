"""Settings that contradict drawing components of outcomes instead of outcomes."""

from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.outcomes import simulated_names
from dpgrs.io.replicates import summed_outcomes
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.methods.registry import METHODS
from dpgrs.preflight.rules import Each, is_given, rules
from dpgrs.study.table_settings import require_exact_components
from dpgrs.types import Bounds, Metrics, Missing, Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

KEY = "outcomes.loadings"
LOADED = is_given(KEY)
RULES = rules(
    {
        f"`methods` must be among {{loading_methods}} with `{KEY}`, got {{got}}. Leave out the one or the "
        "other.": (Each(lambda name: METHODS[name].takes_loadings), LOADED),
        f"`privacy.bounds` must be tight with `{KEY}`, got {{got}}. Say `privacy: {{bounds: tight}}`: a "
        "shorter row is what components gain by.": (Bounds.TIGHT, LOADED),
        f"`privacy.outcome_budget` must be joint with `{KEY}`, got {{got}}. Leave it out: every component "
        "is of all outcomes.": ("joint", LOADED),
        f"`privacy.protection` must be without feature with `{KEY}`, got {{got}}. Outcomes are public "
        "there: leave out the one or the other.": (
            lambda protections: Protection.FEATURE not in protections,
            LOADED,
        ),
        f"`outcomes.missing` must be none with `{KEY}`, got {{got}}. Leave it out: a missing outcome is "
        "filled in by the others of its row.": (Missing.NONE, LOADED),
        f"`outcomes.count` must be one number or null with `{KEY}`, got {{got}}. Say how many outcomes the "
        "table has.": (lambda counts: counts is None or len(counts) == 1, LOADED),
        f"`evaluation.metrics` must not be charged with `{KEY}`, got {{got}}. Withhold them, or measure on "
        "public people.": (lambda metrics: metrics != Metrics.CHARGED, LOADED),
    }
)


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
    path, sums = inspection["outcomes.file"], inspection["cohort.sums"]
    try:
        if sums is not None:
            return summed_outcomes(sums)[:count]
        return path and inspection.names(path)[:count]
    except DpgrsError:
        return None
