"""All checks of a study before any job runs: the problems that each finds, and the keys that it reads."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from dpgrs.config.schema import keys
from dpgrs.config.study import AUTO, PATHS, PATTERN_KEYS, StudyConfig
from dpgrs.errors import UsageError
from dpgrs.fit_keys import regression_keys
from dpgrs.preflight import (
    controlled,
    copies,
    covariates,
    dosages,
    genome,
    genome_builds,
    genotypes,
    headers,
    ledger,
    loadings,
    people,
    public_effects,
    public_side,
    release,
    scoring,
    selection,
    settings,
    sites,
    sums,
    table_cohort,
    tables,
)
from dpgrs.preflight.inspection import Inspection
from dpgrs.preflight.rules import Check
from dpgrs.study.checked_data import conditions_ahead
from dpgrs.study.cohort_files import COHORT_KEYS
from dpgrs.study.fetched_files import fetch_problems
from dpgrs.study.implied_settings import implied_in_words
from dpgrs.study.method_choice import choice_in_words
from dpgrs.study.settings import examine
from dpgrs.study.settings_files import is_endless
from dpgrs.study.table_cohort import TABLE_KEYS

# The ledger is no input of a rule; genotypes are judged where they are read.
WITHOUT_BRACES = sorted({*PATHS} - {"privacy.ledger", *PATTERN_KEYS})
# What several checks read.
GENOTYPES = COHORT_KEYS
OUTCOMES = (
    *("outcomes.source", "outcomes.file", "outcomes.count"),
    *("outcomes.least_share", "outcomes.checks"),
)
COVARIATES = ("covariates.file", "covariates.pcs")
SCALED = ("covariates.file", "covariates.scales", "covariates.columns")
REFERENCE = ("cohort.source", "public.reference")
CONSENT = ("dataset.consent", "dataset.data_use", "people.consent.allow")
JOINING = (
    *(f"regression.{name}" for name, key in regression_keys().items() if key.joining),
    "public.effects",
)
SHARES = ("methods", "screening.share", "screening.count_share")


def each(
    find: Callable[..., list[str]], keys: Iterable[str], beside: tuple[str, ...] = ()
) -> Iterator[Check]:
    """Return a check for each of several keys: `find` takes the key, and reads those beside it, too."""
    return (Check(partial(find, key=key), (key, *beside)) for key in keys)


def only(mode: str, *checks: Check) -> tuple[Check, ...]:
    """Return checks as those of one mode."""
    return tuple(check._replace(mode=mode) for check in checks)


def of_data(find: Callable[[Inspection], list[str]], reads: tuple[str, ...]) -> Check:
    """Return a check that reads private files beyond their headers."""
    return Check(find, reads, needs_data=True)


# Without a problem of these, the cost of a release is known.
PRICE_TERMS = only(
    "release",
    *release.ONE_VALUE,
    Check(ledger.delta_problems, ("privacy.delta", "privacy.ledger", "cohort.part")),
    *release.ONE_FIT,
    Check(release.method_problems, ("methods",)),
    Check(release.size_problems, release.SIZES),
    *release.METRICS,
)


def _cap_problems(inspection: Inspection) -> list[str]:
    """Compare the cost of a release with the cap, if it is known."""
    is_priced = not any(check.lines(inspection) for check in PRICE_TERMS)
    return ledger.cap_problems(inspection) if is_priced else []


# Without a problem of these, the limits of the ledger are known.
TERMS = PRICE_TERMS + only(
    "release",
    Check(_cap_problems, tuple(keys())),
    *ledger.NAMES,
    Check(ledger.ledger_problems, ("privacy.ledger", "cohort.part")),
    *each(ledger.name_problems, ("dataset.accession", "dataset.consent"), ("privacy.ledger", "cohort.part")),
    Check(ledger.budget_problems, ledger.PRICED),
    Check(ledger.account_problems, ledger.ACCOUNT),
    *public_side.TERMS,
)


def _cost_problems(inspection: Inspection) -> list[str]:
    """Compare the cost with the ledger where the terms are right."""
    return [] if any(check.lines(inspection) for check in TERMS) else ledger.cost_problems(inspection)


# In the order in which problems are reported.
CHECKS = (
    Check(settings.mode_problems, ("mode", "study")),
    *each(settings.brace_problems, WITHOUT_BRACES),
    *only(
        "benchmark",
        *release.OF_BENCHMARK,
        *sites.LD_OF_BENCHMARK,
        *release.MEASURES_OF_BENCHMARK,
        *sums.OF_BENCHMARK,
    ),
    *TERMS,
    *only(
        "release",
        Check(_cost_problems, tuple(keys())),
        *sites.SIMULATED_FILES,
        Check(sites.source_problems, ("cohort.source", *sites.PUBLIC_FILES, "public.origin")),
        Check(sites.site_problems, sites.SITE_KEYS),
        *sites.FILTERS,
        *genotypes.FIXED,
        of_data(genotypes.provisional_problems, (*GENOTYPES, "cohort.fixed_sites")),
        Check(ledger.key_problems, ("cohort.part",)),
        *sums.OF_RELEASE,
        Check(sums.method_problems, ("methods", *sums.KEYS)),
        of_data(sums.file_problems, sums.TERMS),
        *release.WORDS_OF_CURATOR,
        *each(release.path_problems, release.TOLD),
        *each(release.table_path_problems, release.TABLES),
        *release.PREPROCESSING,
        Check(release.trait_problems, release.TRAITS),
        Check(release.statistics_problems, release.STATISTICS),
        Check(release.case_problems, release.CASES),
        *public_side.PEOPLE,
        Check(
            public_side.genotype_digest_problems,
            (*GENOTYPES, "privacy.protection", "public.genotypes.sha256"),
        ),
        of_data(
            public_side.outcome_digest_problems,
            ("privacy.protection", "outcomes.file", "public.outcomes.sha256"),
        ),
        Check(public_side.people_problems, ("privacy.protection", "outcomes.file")),
        Check(public_side.controlled_problems, public_side.CONTROLLED),
    ),
    Check(genotypes.reference_problems, ("mode", *GENOTYPES, "public.reference", "public.keep", "people")),
    Check(genotypes.phase_problems, (*REFERENCE, "cohort.chromosomes", "cohort.rows")),
    *sites.LD_REFERENCE,
    *only("release", *sites.LD_OF_RELEASE),
    *sites.LD_BOUNDS,
    *genome.RULES,
    *public_effects.RULES,
    Check(public_effects.subtract_problems, ("methods", public_effects.SUBTRACT, public_effects.KEY)),
    Check(public_effects.name_problems, (public_effects.SUBTRACT, *public_effects.NAMES)),
    Check(public_effects.file_problems, ("methods", "public.effects", "release.genome_build")),
    *each(controlled.encrypted_problems, controlled.ENCRYPTION_UNCHECKED),
    *only("benchmark", *each(controlled.open_problems, controlled.DATA_PATHS)),
    *only(
        "release",
        *each(controlled.path_problems, controlled.PRIVATE_PATHS, ("dataset.accession", "dataset.consent")),
        *each(controlled.public_path_problems, controlled.PUBLIC_PATHS),
        *controlled.APPROVAL,
        Check(controlled.consent_problems, (*CONSENT, *controlled.CONSENT_KEYS, *controlled.CONTROLLED_KEYS)),
    ),
    Check(controlled.ancestry_problems, (*CONSENT, *controlled.DATA_PATHS)),
    Check(lambda inspection: fetch_problems(inspection.config), settings.ADDRESSES),
    *table_cohort.MODE,
    *only("benchmark", *table_cohort.OF_BENCHMARK),
    *table_cohort.RULES,
    of_data(
        table_cohort.table_problems,
        ("cohort.source", *TABLE_KEYS, "outcomes.source", "outcomes.count", "variants.size"),
    ),
    *only("release", *copies.OF_RELEASE),
    *copies.RULES,
    Check(copies.map_problems, (copies.COPIES, copies.TERMS[-1], "cohort.chromosomes")),
    Check(headers.simulation_problems, (*GENOTYPES, "cohort.populations")),
    Check(headers.header_problems, headers.HEADER_KEYS),
    Check(genome_builds.build_problems, ("mode", "cohort.source", "release.genome_build")),
    Check(genome_builds.position_problems, ("mode", *GENOTYPES, "public.reference", "release.genome_build")),
    Check(lambda inspection: inspection.choice[1], people.PEOPLE_KEYS),
    Check(lambda inspection: inspection.reference_choice[1], ("public.keep",)),
    Check(tables.population_problems, ("cohort.source", "cohort.populations")),
    Check(
        tables.outcome_problems, (*OUTCOMES, "outcomes.scales", "cohort.source", "cohort.sums", *TABLE_KEYS)
    ),
    *tables.RULES,
    Check(loadings.table_problems, ("outcomes.loadings", "outcomes.bound", "cohort.sums", *OUTCOMES[:3])),
    *loadings.RULES,
    Check(
        tables.reference_problems,
        (*OUTCOMES, "outcomes.scales", "cohort.sums", "evaluation.outcomes", "evaluation.metrics"),
    ),
    *covariates.RULES,
    Check(covariates.method_problems, ("mode", "methods", "covariates.first", *COVARIATES)),
    Check(covariates.first_problems, covariates.FIRST),
    *covariates.COMPONENTS,
    Check(covariates.table_problems, ("covariates", "outcomes.least_share", "outcomes.checks")),
    Check(
        covariates.reference_problems,
        (*covariates.MEASURED, *SCALED, "outcomes.least_share", "outcomes.checks"),
    ),
    Check(dosages.dosage_problems, (*dosages.DOSAGE_KEYS, *GENOTYPES)),
    Check(
        settings.budget_problems,
        ("methods", "privacy.outcome_budget", "privacy.protection", *JOINING),
    ),
    *only("benchmark", *settings.BOUNDS_OF_BENCHMARK),
    Check(settings.method_problems, ("methods", "privacy.protection", "privacy.neighbours")),
    *only("benchmark", Check(settings.column_problems, ("methods", "variants.size", "covariates"))),
    *only("release", *settings.BOUNDS_OF_RELEASE, *settings.OF_RELEASE),
    Check(selection.choice_problems, ("methods", "screening.size", "variants.size")),
    Check(selection.column_problems, ("methods", "screening.size")),
    Check(selection.share_problems, SHARES),
    *only("release", *selection.OF_RELEASE),
    Check(selection.epsilon_problems, (*SHARES, *selection.EPSILON_KEYS)),
    *settings.UNIT,
    *scoring.UNUSED,
    Check(scoring.method_problems, scoring.OWN),
    *each(scoring.place_problems, controlled.SCORED_PATHS, ("study",)),
    Check(scoring.ancestry_problems, controlled.SCORED_PATHS),
    of_data(scoring.file_problems, scoring.KEYS),
    *settings.COUNT_SHARE,
    of_data(settings.memory_problems, tuple(keys())),
    of_data(settings.runtime_problems, tuple(keys())),
)


def check(
    raw: Mapping[str, Any],  # as Snakemake merged it
    *,
    tell: Callable[[str], None] | None = None,  # takes a line for the operator only
    **job_limits: int | None,  # memory_mb, unless the settings state another limit, and runtime_minutes
) -> StudyConfig:
    """Resolve a configuration; a UsageError lists all problems that can be seen before a job runs."""
    if is_endless(raw):
        raise UsageError(
            "settings-without-end",
            "Settings must have an end, got aliases that repeat without one. Write them out.",
        )
    config, setting_problems = examine(raw)
    lines = [problem.line for problem in setting_problems]
    doubtful = frozenset(problem.key for problem in setting_problems)
    if tell and config.mode == "release":
        tell(_revealed(config))
    lines += problems(config, doubtful=doubtful, tell=tell, **job_limits)
    if lines:
        raise UsageError("study-refused", "\n".join(lines))
    if tell:
        is_chosen = AUTO in (raw.get("methods") or ())
        for line in implied_in_words(raw) + (choice_in_words(config) if is_chosen else []):
            tell(line)
    return config


def _revealed(config: StudyConfig) -> str:
    """Tell the operator, before any count, what the existence of a release reveals."""
    return (
        f"{len(conditions_ahead(config))} checks read private data. That a release exists reveals that its "
        "data passed them. Set `outcomes.least_share` and `outcomes.checks` now, not by the counts below."
    )


def problems(
    config: StudyConfig,
    *,
    doubtful: Collection[str] = frozenset(),  # keys whose values are in doubt; their checks do not run
    tell: Callable[[str], None] | None = None,
    headers_only: bool = False,  # as in `Inspection`
    **job_limits: int | None,  # as in `check`
) -> list[str]:
    """List all problems that can be seen before a job runs: what, where, how to mend it."""
    options = {"tell": tell, "doubtful": doubtful, "headers_only": headers_only}
    inspection = Inspection(config, **options, **job_limits)
    return list(dict.fromkeys(line for check in CHECKS for line in check.lines(inspection)))
