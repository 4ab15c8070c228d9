"""Settings that contradict other settings."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.config.schema import keys
from dpgrs.config.study import StudyConfig
from dpgrs.errors import must
from dpgrs.methods.registry import METHODS
from dpgrs.preflight.headers import BRACED
from dpgrs.preflight.rules import DEFAULT, When, has, rules, without_papers_bounds
from dpgrs.study.job_limits import jobs_above
from dpgrs.study.made_by import made_otherwise
from dpgrs.study.table_settings import covariate_terms
from dpgrs.study.variant_terms import most_variants
from dpgrs.types import Bounds, Protection, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

MINUTES_OF_DAY = 24 * 60
SAY_WORST_CASE = "got {got}. Say `privacy: {bounds: worst-case}`."
COUNTED = When(lambda inspection: inspection.config.outcomes.are_counted, ("outcomes.missing",))
BOUNDS_OF_BENCHMARK = rules(
    {
        f"`privacy.bounds` must be tight or worst-case for `methods: {{unbounded}}`, {SAY_WORST_CASE}": (
            lambda bounds: bounds != Bounds.PAPER,
            When(lambda inspection: bool(without_papers_bounds(inspection)), ("methods",)),
        ),
    }
)
BOUNDS_OF_RELEASE = rules(
    {
        f"`privacy.bounds` must be tight or worst-case in a release, {SAY_WORST_CASE}": (
            lambda bounds: bounds != Bounds.PAPER,
        ),
    }
)
# A release refuses values that are not private, even if no method of it reads them.
OF_RELEASE = rules(
    {
        **{
            f"`{key}` must be {keys()[key]['default']} in a release, got {{got}}. {reason}": (DEFAULT,)
            for (key, reason) in StudyConfig.marks("benchmarks_only").items()
        },
    }
)
UNIT = rules(
    {
        "`privacy.unit` must be person where `cohort.rows` is people, got {got}. Leave it out, or say "
        "`cohort: {rows: haplotypes}`.": (
            lambda unit: unit != Unit.HAPLOTYPE,
            has("cohort.rows", Rows.PEOPLE),
        ),
    }
)
COUNT_SHARE = rules(
    {
        "`privacy.count_share` must be below 0.5, as rows and known outcomes are both counted, got {got}. "
        "Lower it.": (lambda share: share < 1 / 2, has("privacy.neighbours", "add-remove"), COUNTED),
    }
)
ADDRESSES = ("mode", *(f"cohort.{name}" for name in ("source", "vcf", "populations", "chromosomes", "fetch")))


def mode_problems(inspection: "Inspection") -> list[str]:
    """Refuse to mix a benchmark and a release in one folder: its numbers could be taken for released."""
    folder, mode = Path("results") / inspection["study"], inspection["mode"]
    for record in (folder / "settings.json", folder / "private" / "settings.json"):
        # Half a record, from a run that was killed, is written again by the next one.
        record_mode = re.search(r'"mode": "(\w+)"', record.read_text()) if record.is_file() else None
        if record_mode and record_mode[1] != mode:
            return [
                must(
                    "study", f"be new for `mode: {mode}`", f"the name of a {record_mode[1]}", "Name another."
                )
            ]
    # A run with `--until` may leave no record.
    reasons = made_otherwise({"mode": json.dumps(mode)}, private=folder / "private")
    if mixed := [path for path, keys in reasons.items() if "mode" in keys]:
        got = f"the name of another mode, which made `{mixed[0]}`"
        return [must("study", f"be new for `mode: {mode}`", got, "Name another.")]
    return []


def brace_problems(inspection: "Inspection", key: str) -> list[str]:
    """Find a path that Snakemake would fill in as a pattern; it has no way to escape braces."""
    is_pattern = key in ("public.reference", "cohort.copies.map", "score.target", "score.reference")
    braced = [placeholder for path in inspection.paths(key) for placeholder in BRACED.findall(path)]
    stray = [placeholder for placeholder in braced if not (is_pattern and placeholder == "{chrom}")]
    domain = "have no placeholder but {chrom}" if is_pattern else "be a path without braces"
    return [must(key, domain, stray[0], "Rename the file or folder.")] if stray else []


def method_problems(inspection: "Inspection") -> list[str]:
    """Find methods that no protection of the study has, and samples that are not accounted for."""
    privacy, lines = inspection.config.privacy, []
    for name in inspection["methods"]:
        protections, neighbours = METHODS[name].protections, METHODS[name].neighbours
        if Protection.NONE not in protections and not set(protections) & set(privacy.protection):
            domain = f"have {' or '.join(protections)} for `methods: {name}`"
            got = ", ".join(privacy.protection)
            lines.append(must("privacy.protection", domain, got, "Add it, or leave the method out."))
        if neighbours not in (None, privacy.neighbours):
            domain, got = f"be {neighbours} for `methods: {name}`", privacy.neighbours
            lines.append(must("privacy.neighbours", domain, got, "Change it, or leave the method out."))
    return lines


def column_problems(inspection: "Inspection") -> list[str]:
    """Refuse more variants and covariates than a method can be fitted on, before hours of computing."""
    size = max(inspection["variants.size"])
    n_covariates = covariate_terms(inspection.config.covariates).get("n_covariates", 0)
    beside = f" with {n_covariates} covariates" if n_covariates else ""
    limits = {name: most_variants(name, n_covariates) for name in inspection["methods"]}
    return [
        f"`variants.size` must be at most {most} for `methods: {name}`{beside}, got {size}. Lower it."
        for name, most in limits.items()
        if size > most
    ]


def memory_problems(inspection: "Inspection") -> list[str]:
    """Name the jobs that would request more memory than the limit, or than their machine has."""
    key = "scale.memory_per_job"
    limit = inspection[key] or inspection.memory_mb
    above = jobs_above(inspection.config, limit) if limit else {}
    if not above:
        return []
    requests = ", ".join(f"`{verb}` {mb:,}" for verb, mb in above.items())
    if not inspection[key]:
        return [
            f"Jobs ask for more memory than the {limit:,} MB that they can have here: {requests}. Take fewer "
            f"variants, outcomes or people, leave out methods, or run the study where there is more. `{key}` "
            "states another limit: jobs ask for what they may need at most."
        ]
    fix = "Raise it where a machine has as much; else take fewer variants, outcomes or people."
    return [must(key, f"be {max(above.values()):,} or more, as jobs ask for: {requests}", f"{limit:,}", fix)]


def runtime_problems(inspection: "Inspection") -> list[str]:
    """Name the jobs that would request more run time than the limit."""
    limit = inspection.runtime_minutes
    above = jobs_above(inspection.config, limit, resource="runtime") if limit else {}
    if not above:
        return []
    requests = ", ".join(f"`{verb}` {_duration(minutes)}" for verb, minutes in above.items())
    return [
        f"Jobs ask for more run time than the {_duration(limit)} that they can have: {requests}. Take fewer "
        f"variants, outcomes or people, or leave out methods. `--resources runtime={max(above.values())}` "
        "states another limit, in minutes: jobs ask for what one slow core may need at most."
    ]


def _duration(minutes: int) -> str:
    return f"{minutes / MINUTES_OF_DAY:,.0f} days" if minutes > 2 * MINUTES_OF_DAY else f"{minutes:,} minutes"


def budget_problems(inspection: "Inspection") -> list[str]:
    """Refuse a budget for each outcome where its weights depend on draws for other outcomes."""
    regression, key = inspection.config.regression.as_dict(), "privacy.outcome_budget"
    protections, has_effects = inspection["privacy.protection"], bool(inspection["public.effects"])
    joining = [
        name
        for name in inspection["methods"]
        if any(
            METHODS[name].pools_outcomes(regression, protection=side, has_effects=has_effects)
            for side in protections
        )
    ]
    if inspection[key] == "joint" or not joining:
        return []
    domain = f"be joint for `methods: {', '.join(joining)}`, whose fits take all outcomes together"
    fix = (
        "Leave it out, or state `regression.heritability` and no `public.effects` for blup, "
        "`lambda_from: fixed` and no `joint_projection` for the others."
    )
    return [must(key, domain, inspection[key], fix)]
