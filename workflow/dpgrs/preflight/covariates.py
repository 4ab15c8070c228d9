"""What can be seen to be wrong with the covariates of a study before any job runs."""

import pandas as pd

from dpgrs.errors import DpgrsError, must
from dpgrs.io.loadings import component_names
from dpgrs.io.tables.phenotypes import constants_of, outcome_names, read_scales, standardise
from dpgrs.methods.registry import methods_that
from dpgrs.preflight.tables import count_reference_table, count_table, encrypted_line, is_encrypted, noting
from dpgrs.study.table_settings import has_covariates, table_columns
from dpgrs.types import Bounds, Metrics

# What is judged here.
COVARIATE_KEYS = (
    "covariates",
    "methods",
    "privacy.bounds",
    "panel.size",
    "evaluation",
    "mode",
    "cohort.source",
    "outcomes.least_share",
)


def covariate_problems(config, people, *, shows_ids, reference_people=None, tell=None):
    """List the problems of covariates.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.
    people : sequence of str, the ids of the genotypes; None where they are not known.
    shows_ids : bool, whether messages may quote ids and judge values: of open data alone.
    reference_people : sequence of str, the ids of the public reference; None where they are not known.
    tell : as in `dpgrs.preflight.tables.count_table`.

    Returns
    -------
    list of str, one line a problem.
    """
    covariates = config["covariates"]
    lines = _unused_problems(config)
    if not has_covariates(covariates):
        return lines
    if config["privacy"]["bounds"] != Bounds.TIGHT:
        fix = "Say `privacy: {bounds: tight}`."
        got = config["privacy"]["bounds"]
        lines.append(must("privacy.bounds", "be tight with `covariates`, whose rows are clipped", got, fix))
    taking = methods_that("takes_covariates")
    others = [name for name in config["methods"] if name not in taking]
    if others:
        wanted = f"be among {', '.join(taking)} with `covariates`"
        lines.append(must("methods", wanted, ", ".join(others), "Leave out the one or the other."))
    lines += _component_problems(config)
    if covariates["file"] is not None:
        options = {"least_share": config["outcomes"]["least_share"], "tell": tell}
        lines += _table_problems(covariates, people, shows_ids=shows_ids, **options)
    if _measures_on_table(config) and config["evaluation"]["covariates"] is not None:
        lines += _reference_table_problems(config, reference_people, tell=tell)
    return lines


def _unused_problems(config):
    """Find keys that are given for nothing, and a table for the reference that is given or missing."""
    covariates, evaluation = config["covariates"], config["evaluation"]
    lines = [
        must(f"covariates.{key}", "come with `covariates.file`", "it alone", "Give the table.")
        for key in ("columns", "scales")
        if covariates[key] is not None and covariates["file"] is None
    ]
    is_needed = _measures_on_table(config)
    path = evaluation["covariates"]
    if is_needed and path is None:
        wanted = f"be given for `evaluation.metrics: {Metrics.PUBLIC}` with covariates from a file"
        fix = "Give those of the reference people, or withhold the metrics."
        lines.append(must("evaluation.covariates", wanted, "null", fix))
    if path is not None and not is_needed and config["mode"] == "release":
        wanted = f"come with `metrics: {Metrics.PUBLIC}` and `covariates.file`"
        lines.append(must("evaluation.covariates", wanted, f"{path} alone", "Leave it out."))
    return lines


def _measures_on_table(config):
    """Tell whether accuracy is measured on people of the reference, with covariates from a table."""
    return config["evaluation"]["metrics"] == Metrics.PUBLIC and config["covariates"]["file"] is not None


def _component_problems(config):
    n_components, largest = config["covariates"]["pcs"], max(config["panel"]["size"])
    if n_components == 0:
        return []
    lines = []
    if n_components > largest:
        fix = "Lower it."
        lines.append(must("covariates.pcs", f"be at most `panel.size`, {largest}", n_components, fix))
    is_real_release = config["mode"] == "release" and config["cohort"]["source"] != "simulate"
    if is_real_release and config["public"]["reference"] is None:
        fix = "Name the genotypes of public people, or leave `covariates.pcs` out."
        lines.append(must("public.reference", "be given for `covariates.pcs` in a release", "null", fix))
    return lines


def _table_problems(covariates, people, *, shows_ids, **options):
    """Judge the table and that of its constants by names and ids, and values where these may be spoken of."""
    path, scales = covariates["file"], covariates["scales"]
    if is_encrypted(path):
        return [encrypted_line("covariates.file", path)]
    if scales is None:
        fix = "Name a table of public centres and scales, for 0/1 of prevalences."
        return [must("covariates.scales", "be given with `covariates.file`", "null", fix)]
    try:
        named = outcome_names(path)
    except DpgrsError as error:
        return [f"`covariates.file`: {error}"]
    try:
        constants = read_scales(scales, kind="covariate")
        columns = table_columns(covariates)
        constants = constants_of(columns, constants, path=scales, kind="covariate")
    except DpgrsError as error:
        return [f"`covariates.scales`: {error}"]
    lines = _column_problems(covariates, columns, named)
    if lines:
        return lines
    values, faults = _Clipped(constants, bound=covariates["bound"]), []

    def judge(table):
        with noting(faults, "covariates.file"):
            values.add(table)

    options |= {"kind": "covariate", "columns": columns, "judge": judge if shows_ids else None}
    lines = count_table("covariates.file", path, people, shows_ids=shows_ids, **options)[1]
    return lines + (faults or values.problems())


def _reference_table_problems(config, people, *, tell):
    """Judge the table of the reference people by names, ids and how many have values."""
    path = config["evaluation"]["covariates"]
    try:
        columns = table_columns(config["covariates"])
    except DpgrsError:
        columns, tell = slice(0), None  # said of the study's own table; ids can be judged without
    options = {"columns": columns, "least_share": config["outcomes"]["least_share"], "tell": tell}
    return count_reference_table("evaluation.covariates", path, people, kind="covariate", **options)[1]


def _column_problems(covariates, columns, named):
    """Find columns that are not there, that nobody decided on, or that have the name of a component."""
    has, is_used = set(named), set(columns)
    missing = [name for name in columns if name not in has]
    if missing:
        wanted = f"name columns of {covariates['file']}, which has {', '.join(named[:5])}"
        key = "covariates.columns" if covariates["columns"] else "covariates.scales"
        return [must(key, wanted, ", ".join(missing[:5]), "Correct the name, or add the column.")]
    left = [name for name in named if name not in is_used]
    if covariates["columns"] is None and left:
        wanted = f"have a line for every column of {covariates['file']}"
        fix = "Add its centre and scale, or name the columns to use in `covariates.columns`."
        return [must("covariates.scales", wanted, f"none for {left[0]}", fix)]
    taken = sorted(set(component_names(covariates["pcs"])) & set(columns))
    if taken:
        wanted = "not have the name of a principal component with `covariates.pcs`"
        return [must("covariates.columns", wanted, taken[0], "Rename the column, or say `pcs: 0`.")]
    return []


class _Clipped:
    """Finds covariates most of whose values the public bound would clip: their constants are wrong."""

    def __init__(self, constants, *, bound):
        self._constants, self._bound = constants, bound
        self._n_clipped = self._n_values = 0

    def add(self, table):
        size = standardise(table, self._constants).abs()
        self._n_clipped = self._n_clipped + (size > self._bound).sum()
        self._n_values = self._n_values + table.notna().sum()

    def problems(self):
        """Name the first, if there is any."""
        is_clipped = pd.Series(self._n_clipped > self._n_values / 2)
        wanted = f"bring most values within `covariates.bound`, {self._bound:g} standard deviations"
        return [
            must(
                "covariates.scales",
                wanted,
                f"most beyond it in column `{name}`",
                "Correct its centre and scale.",
            )
            for name in is_clipped.index[is_clipped][:1]
        ]
