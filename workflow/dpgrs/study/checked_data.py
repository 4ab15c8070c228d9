"""Which checks of private data a release has, as its settings say: public inputs of its statement."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpgrs.statement.conditions import (
    CHECKED_FILES,
    CHECKS,
    DOSAGES_INPUT,
    FIXED_SITES_INPUT,
    LEAST_SHARE,
    NO_CHECKS,
    NO_FILES,
    CheckedFile,
    conditions,
)
from dpgrs.statement.content import PublicInput
from dpgrs.study.people_terms import terms_of
from dpgrs.types import TableCheck

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

CHOSEN = "chosen in the configuration"


def check_inputs(settings: "StudyConfig") -> Iterator[PublicInput]:
    """Yield the public inputs that name the checks of private data of a release, and their threshold."""
    cohort, outcomes = settings.cohort, settings.outcomes
    is_simulated, is_of_centres = cohort.source == "simulate", cohort.sums is not None
    people = terms_of(settings)
    there = {
        CheckedFile.GENOTYPES: not is_simulated,
        CheckedFile.OUTCOMES: outcomes.source == "file",
        CheckedFile.COVARIATES: settings.covariates.file is not None,
        CheckedFile.PEOPLE: bool(people.public),
        CheckedFile.REFERENCE: settings.public.reference is not None and not is_of_centres,
        CheckedFile.CENTRES: is_of_centres,
    }
    files = [kind for kind, is_there in there.items() if is_there]
    yield PublicInput(CHECKED_FILES, ", ".join(files) or NO_FILES, CHOSEN)
    if not (there[CheckedFile.OUTCOMES] or there[CheckedFile.COVARIATES]):
        return
    checks = [check for check in TableCheck if check in outcomes.checks]
    yield PublicInput(CHECKS, ", ".join(checks) or NO_CHECKS, CHOSEN)
    if {TableCheck.PEOPLE, TableCheck.VALUES} & {*checks}:
        share = repr(float(outcomes.least_share)).removesuffix(".0")
        yield PublicInput(LEAST_SHARE, share, CHOSEN)


def conditions_ahead(settings: "StudyConfig") -> list[str]:
    """Return the facts that the existence of a release will reveal, before anything private is read."""
    inputs = {check_input.name: check_input.value for check_input in check_inputs(settings)}
    if settings.cohort.field == "DS":
        inputs |= dict([DOSAGES_INPUT])
    if settings.cohort.fixed_sites:
        inputs |= dict([FIXED_SITES_INPUT])
    privacy_options = {"protection": settings.privacy.protection[0], "rows": settings.cohort.rows}
    return list(conditions(inputs, **privacy_options).values())
