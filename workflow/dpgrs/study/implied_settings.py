"""Defaults that follow from other settings: of a release, of real data, of tables of outcomes and of rows."""

from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.methods.registry import METHODS, takes_adjusted
from dpgrs.study.method_choice import outcome_counts_ahead
from dpgrs.study.people_terms import planned_people, training_rows
from dpgrs.study.settings_files import deep_merge
from dpgrs.study.table_cohort import TABLE, is_table, read_cohort_table, takes_columns
from dpgrs.study.variant_terms import filters_of
from dpgrs.types import Missing

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Defaults of a release; the schema has the defaults of a benchmark.
RELEASE_DEFAULTS = {
    "methods": ["blup"],
    "replicates": 1,
    "cohort": {"keep_filtered": True},
    "variants": {"classes": ["snp"], "missing": 1},
    "outcomes": {"test_share": 0},
    "privacy": {"protection": ["full"], "bounds": "tight"},
}
# Defaults for the user's genotypes, outcomes or table. The demo study shows more, which takes time.
REAL_DATA_DEFAULTS = {
    "methods": ["ols", "gblup", "reusecov-gauss", "blup"],
    "privacy": {"protection": ["full"]},
}
# A table of real numbers and measured phenotypes have one row a person.
PEOPLE_DEFAULTS = {"cohort": {"rows": "people"}, "privacy": {"bounds": "tight"}}
# Defaults for outcomes that are columns of such a table; null becomes their number.
COLUMN_DEFAULTS = {"outcomes": {"count": None, "missing": Missing.NONE.value}}
# Defaults for a table of outcomes, unless their components are summed: no component is missing.
FILE_DEFAULTS = PEOPLE_DEFAULTS | {"outcomes": {"count": None, "missing": Missing.COUNTED.value}}
# The defaults of version 0.1.0 for the keys of PEOPLE_DEFAULTS.
EARLIER_DEFAULTS = {"cohort": {"rows": "haplotypes"}, "privacy": {"bounds": "worst-case"}}


def with_implied(raw: dict[str, Any]) -> dict[str, Any]:
    """Add the defaults that follow from other settings, merged by Snakemake."""
    if raw.get("mode") == "release":
        raw = deep_merge(RELEASE_DEFAULTS, raw)
    if _source(raw, "cohort") not in (None, "simulate") or _source(raw, "outcomes") == "file":
        raw = deep_merge(REAL_DATA_DEFAULTS, raw)
    if _source(raw, "cohort") == TABLE:
        raw = deep_merge(PEOPLE_DEFAULTS, raw)
    if _source(raw, "outcomes") == TABLE:
        return deep_merge(COLUMN_DEFAULTS, raw)
    if _source(raw, "outcomes") != "file":
        return raw
    is_of_components = raw["outcomes"].get("loadings")
    return deep_merge(PEOPLE_DEFAULTS | COLUMN_DEFAULTS if is_of_components else FILE_DEFAULTS, raw)


def implied_in_words(raw: dict[str, Any]) -> list[str]:
    """Say, in a line at most, which rows and bounds follow from a file of outcomes if version 0.1.0 used
    others."""
    if _source(raw, "outcomes") != "file" or _source(raw, "cohort") == TABLE:
        return []
    stated = deep_merge(RELEASE_DEFAULTS, raw) if raw.get("mode") == "release" else raw
    new, earlier = [], []
    for section, defaults in PEOPLE_DEFAULTS.items():
        for name, value in defaults.items():
            if name not in (stated.get(section) or {}):
                new.append(f"`{section}: {{{name}: {value}}}`")
                earlier.append(f"`{section}: {{{name}: {EARLIER_DEFAULTS[section][name]}}}`")
    if not new:
        return []
    return [
        f"Defaults with `outcomes.source: file`: {', '.join(new)}. To repeat a study of version 0.1.0, state "
        f"{', '.join(earlier)}."
    ]


def with_table_sizes(config: "StudyConfig", raw: dict[str, Any]) -> "StudyConfig":
    """Give a study of a table all of its columns unless the settings as given, `raw`, state a number.

    A table that cannot be read has the schema's sizes: preflight names the fault.
    """
    variants = raw["variants"] if isinstance(raw.get("variants"), dict) else {}
    needs_count = takes_columns(config) and config.outcomes.count is None
    is_stated = "size" in variants and not needs_count
    if not is_table(config) or config.cohort.table is None or is_stated:
        return config
    try:
        features, outcome_columns = read_cohort_table(config, config.cohort.table)
    except DpgrsError:
        return config
    return config.changed(
        variants={} if "size" in variants else {"size": [len(features.names)]},
        outcomes={"count": [len(outcome_columns.names)]} if needs_count else {},
    )


def with_site_sizes(config: "StudyConfig", raw: dict[str, Any]) -> "StudyConfig":
    """Give a study with `public.sites` all sites that pass its filters unless the settings as given state a
    number.

    A table that cannot be read, or without such a site, has the schema's size: preflight names the fault.
    """
    variants = raw.get("variants")
    is_stated = isinstance(variants, dict) and "size" in variants
    if config.mode != "release" or config.public.sites is None or is_stated:
        return config
    from dpgrs.io.sites import read_sites, usable_sites  # brings pandas, which takes 0.3 s
    from dpgrs.io.variant_filters import USABLE

    try:
        sites = read_sites(config.public.sites, frequencies=config.public.frequencies)
        _, reasons = usable_sites(sites, config.cohort.chromosomes, **filters_of(config.variants))
    except DpgrsError:
        return config
    n_usable = int((reasons == USABLE).sum())
    return config.changed(variants={"size": [n_usable]}) if n_usable else config


def with_adjustment(config: "StudyConfig") -> "StudyConfig":
    """Decide whether outcomes are adjusted first, and with what share, if the settings do not say."""
    covariates, first = config.covariates, config.covariates.first
    if first is None:
        first = covariates.has_any and not all(METHODS[name].takes_covariates for name in config.methods)
        first = first and all(takes_adjusted(name, config.mode) for name in config.methods)
    config = config.changed(covariates={"first": first})
    if config.covariates.adjusts_first and covariates.share is None:
        return config.changed(covariates={"share": _default_share(config)})
    return config


def _default_share(config: "StudyConfig") -> float:
    # scipy and pandas, for studies that ask
    from dpgrs.methods.covariate_regression import default_share
    from dpgrs.privacy.accounting.accountant import gdp_mu
    from dpgrs.study.table_settings import covariate_terms

    privacy, people = config.privacy, planned_people(config)
    n_shared = max(outcome_counts_ahead(config)) if privacy.outcome_budget == "joint" else 1
    n_covariates = covariate_terms(config.covariates).get("n_covariates", 0)
    n_rows = None if people is None else training_rows(config, people)
    mu = gdp_mu(min(privacy.epsilon), privacy.delta)
    return default_share(n_covariates + 1, n_shared, mu=mu, n_rows=n_rows)


def _source(raw: dict[str, Any], section: str) -> Any:
    return raw[section].get("source") if isinstance(raw.get(section), dict) else None


# By the setting that they follow from, for the manual.
IMPLIED = {
    "mode: release": RELEASE_DEFAULTS,
    **dict.fromkeys(
        ("cohort.source: vcf", "cohort.source: plink", "cohort.source: bgen"), REAL_DATA_DEFAULTS
    ),
    "cohort.source: table": deep_merge(REAL_DATA_DEFAULTS, PEOPLE_DEFAULTS),
    "outcomes.source: table": COLUMN_DEFAULTS,
    "outcomes.source: file": deep_merge(REAL_DATA_DEFAULTS, FILE_DEFAULTS),
}
