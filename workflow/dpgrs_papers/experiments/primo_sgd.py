"""DP-SGD on the haplotypes of PRIMO's figure 2: as it is, tuned, and a little less than tuned."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from dpgrs.evaluation.rows import joined_rows
from dpgrs.linalg.coding import CALL_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.reporting.rendering import Drawing
from dpgrs.types import Accounting, Rows, Unit
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import rows_to_test_on
from dpgrs_papers.experiments.primo_haplotypes import COHORT, make_cohort
from dpgrs_papers.experiments.sgd_settings import (
    DEFAULT,
    LESS,
    SETTING,
    TUNED,
    draw_settings,
    fit_grid,
    in_words,
    with_names,
)
from dpgrs_papers.methods.dp_sgd import SgdRequest

PUBLIC = {"rows": Rows.HAPLOTYPES, "unit": Unit.HAPLOTYPE, "outcome_bound": 3.0, "delta": 1e-6}


def run_replicate(
    part_name: str,
    replicate: int,
    settings: dict,
    files: list[Path],
    *,
    accounting: Accounting = Accounting.GDP,
    request_type: type[SgdRequest] = SgdRequest,
) -> list[dict]:
    """Fit every setting of the grid for each number of outcomes, and measure on the test rows."""
    ((size,), (epsilon,)), rows = (settings["sizes"], settings["epsilons"]), []
    with TemporaryDirectory() as folder:
        variant_set, outcomes = make_cohort(part_name, replicate, settings, files, folder)
        test = rows_to_test_on(variant_set, size, outcomes)
        X = joined_rows(variant_set, size, rows=Rows.HAPLOTYPES, is_selected=outcomes.is_training)
        Y = grid_outcomes(outcomes.values[size][:, outcomes.is_training], bound=PUBLIC["outcome_bound"])
    for count in settings["counts"]:
        request_fields = PUBLIC | {"n_variants": size, "n_outcomes": count, "epsilon": epsilon}
        request_fields |= {"accounting": accounting}
        grid_options = {
            "request_fields": request_fields,
            "settings": settings,
            "key": ("primo_sgd", part_name, replicate, count),
        }
        grid_options |= {"request_type": request_type}
        for setting, fit in fit_grid(X, Y[:count], **grid_options, row_step=CALL_STEP):
            rows.append({"n_outcomes": count} | setting | {"r2": test.errors(fit)[0].mean()})
    return rows


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return means over replicates of every setting, and which of them are named."""
    table = rows.groupby(["n_outcomes", *SETTING], sort=False)["r2"].mean().reset_index()
    return with_names(table, "n_outcomes", "r2")


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 of the named settings, and which edges of the grid the best touches; the paper has none."""
    rows = []
    for count, count_rows in table.groupby("n_outcomes", sort=False):
        by = count_rows[count_rows["name"] != ""].set_index("name")
        best = by.loc[TUNED]
        edges = [name for name in SETTING if best[name] in (min(settings[name]), max(settings[name]))]
        row = {"l": str(count)} | {name: by.loc[name, "r2"] for name in (DEFAULT, TUNED, LESS)}
        rows.append(row | {"tuned to": in_words(best), "at an edge": ", ".join(edges).replace("_", " ")})
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 of all settings, a line a number of outcomes."""
    return draw_settings(table, "n_outcomes", "r2", label="l = {}", ylabel="R^2, test rows")


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Say what tuning would gain."""
    scores_in_words = [
        f"{row[DEFAULT]:.3f}, {row[TUNED]:.3f} and {row[LESS]:.3f} at l = {row['l']}"
        for row in compare(table, settings).to_dict("records")
    ]
    return Verdict.BEYOND, f"R^2 by default, tuned and 90 % tuned: {'; '.join(scores_in_words)}."


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="DP-SGD of figure 2, tuned as in figure 1 of the Tukey paper",
    choices=(
        *COHORT,
        "Tuned is the setting of the highest mean R^2 on the test rows, 90 % tuned the one at the 90th "
        "percentile: **peeked, so not private**. A tenth of the rows are in a step; clip is a share of the "
        "largest gradient of a residual of 1, the learning rate is over the largest squared norm.",
    ),
)
