"""Problems of the covariates of a study that can be seen before any job runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.loadings import component_names
from dpgrs.methods.registry import METHODS, methods_that, takes_adjusted
from dpgrs.preflight.controlled import encrypted_line, is_encrypted
from dpgrs.preflight.rules import FROM_FILES, GIVEN, PUBLIC_METRICS, When, each, has, is_given, rules, without
from dpgrs.preflight.tables import count_table, noting
from dpgrs.study.table_settings import covariate_constants, table_columns
from dpgrs.study.table_values import ClippedValues
from dpgrs.types import Bounds, Metrics, Protection

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.outcomes import Covariates
    from dpgrs.preflight.inspection import Inspection

MEASURED = ("evaluation.metrics", "evaluation.covariates")
OF_TABLE = is_given("covariates.file")
ADJUSTED = When(
    lambda inspection: inspection.config.covariates.has_any, ("covariates.file", "covariates.pcs")
)
RULES = rules(
    {
        **each(
            ("covariates.columns", "covariates.scales"),
            "must come with `covariates.file`, got it without. Give the table.",
            *(None, without(OF_TABLE)),
        ),
        "`evaluation.covariates` must be given for `evaluation.metrics: public` with covariates from a "
        "file, got null. Give a table of the reference people, or withhold the metrics.": (
            GIVEN,
            PUBLIC_METRICS,
            OF_TABLE,
        ),
        "`evaluation.covariates` must come with `metrics: public` and `covariates.file`, got {got} without. "
        "Leave it out.": (None, has("mode", "release"), without(PUBLIC_METRICS, OF_TABLE)),
        "`privacy.bounds` must be tight with `covariates`, whose rows are clipped, got {got}. Say `privacy: "
        "{bounds: tight}`.": (Bounds.TIGHT, ADJUSTED),
    }
)
COMPONENTS = rules(
    {
        "`covariates.pcs` must be at most `variants.size`, {largest_size}, got {got}. Lower it.": (
            0,
            When(
                lambda inspection: inspection["covariates.pcs"] > max(inspection["variants.size"]),
                ("variants.size",),
            ),
        ),
        "`public.reference` must be given for `covariates.pcs` in a release, got null. Name the genotypes "
        "of public people, or leave `covariates.pcs` out.": (
            GIVEN,
            has("mode", "release"),
            is_given("covariates.pcs"),
            FROM_FILES,
        ),
    }
)
LISTS = ("privacy.protection", "privacy.accounting", "privacy.epsilon", "variants.size", "outcomes.count")
FIRST = (
    *("covariates.file", "covariates.pcs", "covariates.first", "covariates.share"),
    *("outcomes.loadings", "cohort.part", "cohort.sums", *LISTS),
)


def method_problems(inspection: "Inspection") -> list[str]:
    """Find methods that take no covariates as the study adjusts for them."""
    if not inspection.config.covariates.has_any:
        return []
    is_first, mode = inspection.config.covariates.adjusts_first, inspection["mode"]
    taking = [name for name in METHODS if takes_adjusted(name, mode)] if is_first else None
    taking = taking or methods_that("takes_covariates")
    refused = [name for name in inspection["methods"] if name not in taking]
    if not refused:
        return []
    domain = f"be among {', '.join(taking)} with `covariates`"
    if not is_first and all(takes_adjusted(name, mode) for name in refused):
        return [must("methods", domain, ", ".join(refused), "Or say `covariates: {first: true}`.")]
    return [must("methods", domain, ", ".join(refused), "Leave out the one or the other.")]


def first_problems(inspection: "Inspection") -> list[str]:
    """Find what keeps outcomes from being adjusted by a regression on covariates before all else."""
    if not inspection.config.covariates.adjusts_first:
        key = "covariates.share"
        if inspection[key] is None:
            return []
        return [must(key, "come with a regression on covariates", inspection[key], "Say `first: true`.")]
    lines, privacy, key = [], inspection.config.privacy, "covariates.first"
    contradictions = {
        "feature protection, where outcomes are public": Protection.FEATURE in privacy.protection,
        "`outcomes.loadings`": inspection["outcomes.loadings"] is not None,
        "sums of several centres": inspection["cohort.part"] or inspection["cohort.sums"] is not None,
    }
    for reason, holds in contradictions.items():
        if holds:
            lines.append(must(key, f"be false with {reason}", "true", "Leave out the one or the other."))
    # Every request would need outcomes of its own, less another regression's part.
    for name in LISTS:
        choices = inspection[name] or ()
        if len(choices) > 1:
            got = ", ".join(map(str, choices))
            lines.append(must(name, f"have one value with `{key}`", got, "Run a study for each."))
    return lines


def table_problems(inspection: "Inspection") -> list[str]:
    """Judge the tables of covariates and constants by names and ids, and by values in a benchmark."""
    covariates, key = inspection.config.covariates, "covariates.file"
    path, scales = covariates.file, covariates.scales
    if path is None:
        return []
    if is_encrypted(path):
        return [encrypted_line(key, path)]
    if scales is None:
        fix = "Name a table of public centres and scales, for 0/1 of prevalences."
        return [must("covariates.scales", "be given with `covariates.file`", "null", fix)]
    try:
        names = inspection.names(path)
    except DpgrsError as error:
        return [f"`{key}`: {error}"]
    try:
        constants = covariate_constants(covariates)
    except DpgrsError as error:
        return [f"`covariates.scales`: {error}"]
    columns = list(constants.index)
    lines = _column_problems(covariates, columns, names)
    if lines:
        return lines
    clipped_values, faults, were_whole = ClippedValues(constants, bound=covariates.bound), [], []

    def judge(table: "pd.DataFrame", is_whole: bool) -> None:
        were_whole.append(is_whole)
        with noting(faults, key):
            clipped_values.add(table)

    options = {"columns": columns, "judge": judge if inspection.shows_ids else None}
    _, lines = count_table(inspection, key, kind="covariate", **options)
    return lines + (faults or clipped_values.problems(is_whole=all(were_whole)))


def reference_problems(inspection: "Inspection") -> list[str]:
    """Judge the table of the reference people by names, ids and how many have values."""
    key, is_told = "evaluation.covariates", True
    if not _measures_on_table(inspection) or inspection[key] is None:
        return []
    try:
        columns = table_columns(inspection.config.covariates)
    except DpgrsError:
        columns, is_told = slice(0), False  # reported of the study's table; ids can be judged without
    options = {"columns": columns, "is_told": is_told, "is_reference": True}
    return count_table(inspection, key, kind="covariate", **options)[1]


def _measures_on_table(inspection: "Inspection") -> bool:
    """Tell whether accuracy is measured on people of the reference, with covariates from a table."""
    is_public = inspection["evaluation.metrics"] == Metrics.PUBLIC
    return is_public and inspection["covariates.file"] is not None


def _column_problems(
    covariates: "Covariates",
    columns: Sequence[str],
    names: Sequence[str],  # of the table
) -> list[str]:
    """Find columns that are absent, that no setting mentions, or that have the name of a component."""
    available, is_used = set(names), set(columns)
    missing = [name for name in columns if name not in available]
    if missing:
        domain = f"name columns of {covariates.file}, which has {', '.join(names[:5])}"
        key = "covariates.columns" if covariates.columns else "covariates.scales"
        return [must(key, domain, ", ".join(missing[:5]), "Correct the name, or add the column.")]
    undecided = [name for name in names if name not in is_used]
    if covariates.columns is None and undecided:
        domain = f"have a line for every column of {covariates.file}"
        fix = "Add its centre and scale, or name the columns to use in `covariates.columns`."
        return [must("covariates.scales", domain, f"none for {undecided[0]}", fix)]
    reserved = sorted(set(component_names(covariates.pcs)) & set(columns))
    if reserved:
        domain = "not have the name of a principal component with `covariates.pcs`"
        return [must("covariates.columns", domain, reserved[0], "Rename the column, or say `pcs: 0`.")]
    return []
