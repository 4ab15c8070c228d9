"""Defaults that follow from other settings: of a release, of a table of outcomes, and of a table of rows."""

from dpgrs.errors import DpgrsError
from dpgrs.study.table_cohort import TABLE, is_table, look_at_cohort_table, takes_columns
from dpgrs.types import Missing

# What a release does unless told otherwise; the schema's defaults are those of a benchmark.
RELEASE_DEFAULTS = {
    "methods": ["blup"],
    "trials": 1,
    "cohort": {"keep_filtered": True},
    "panel": {"classes": ["snp"], "missing": 1},
    "outcomes": {"test_share": 0},
    "privacy": {"accounting": ["gdp"], "bounds": "tight"},
}
# Of a table of real numbers.
TABLE_DEFAULTS = {"cohort": {"rows": "people"}, "privacy": {"bounds": "tight"}}
# Of outcomes that are its columns; null becomes their number.
COLUMN_DEFAULTS = {"outcomes": {"count": None, "missing": Missing.NONE.value}}
# Of a table of outcomes, but of their components, of which there are none that are missing.
FILE_DEFAULTS = {"outcomes": {"count": None, "missing": Missing.COUNTED.value}}
IMPLIED = {
    "mode: release": RELEASE_DEFAULTS,
    "cohort.source: table": TABLE_DEFAULTS,
    "outcomes.source: table": COLUMN_DEFAULTS,
    "outcomes.source: file": FILE_DEFAULTS,
}


def with_implied(raw):
    """Add the defaults that follow from other settings.

    Parameters
    ----------
    raw : dict, as Snakemake merged it.

    Returns
    -------
    dict
    """
    if raw.get("mode") == "release":
        raw = _over(RELEASE_DEFAULTS, raw)
    if _source(raw, "cohort") == TABLE:
        raw = _over(TABLE_DEFAULTS, raw)
    if _source(raw, "outcomes") == TABLE:
        return _over(COLUMN_DEFAULTS, raw)
    if _source(raw, "outcomes") != "file":
        return raw
    return _over(COLUMN_DEFAULTS if raw["outcomes"].get("loadings") else FILE_DEFAULTS, raw)


def with_table_sizes(config, raw):
    """Let a study of a table have all of its columns unless told otherwise.

    Parameters
    ----------
    config : dict, complete.
    raw : dict, what was given.

    Returns
    -------
    dict. A table that cannot be read has the schema's sizes: preflight says what is wrong.
    """
    panel = raw["panel"] if isinstance(raw.get("panel"), dict) else {}
    needs_count = takes_columns(config) and config["outcomes"]["count"] is None
    is_stated = "size" in panel and not needs_count
    if not is_table(config) or config["cohort"]["table"] is None or is_stated:
        return config
    try:
        _, features, own, _ = look_at_cohort_table(config, config["cohort"]["table"])
    except DpgrsError:
        return config
    config = {**config, "panel": dict(config["panel"]), "outcomes": dict(config["outcomes"])}
    if "size" not in panel:
        config["panel"]["size"] = [len(features.names)]
    if needs_count:
        config["outcomes"]["count"] = [len(own.names)]
    return config


def _source(raw, section):
    return raw[section].get("source") if isinstance(raw.get(section), dict) else None


def _over(defaults, raw):
    """Lay settings over defaults, section by section."""
    merged = {**defaults, **raw}
    for name, section in defaults.items():
        if isinstance(section, dict) and isinstance(raw.get(name), dict):
            merged[name] = {**section, **raw[name]}
    return merged
