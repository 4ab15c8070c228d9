"""Beyond the Tukey and DPKendall papers: the best of ours on their tables, by scales of an earlier study."""

import numpy as np
import pandas as pd

from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK, MARKERS, MUTED, PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.kendall_tables import PRINTED
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.tables_best_replicate import (
    EARLIER,
    OF_ROWS,
    OF_SUMS,
    OLS,
    RELATIONS,
    run_replicate,
)

PRIVATE = (*OF_SUMS, *OF_ROWS)
KEYS = ["part", "n", "d", "method", "relation"]
PAPER = "DPKendall paper's best"
LOWEST = -0.2  # R^2 that is drawn; lower values lie on the edge


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return medians and quartiles of R^2 over replicates; no model counts as worse than any other."""
    r2 = rows.fillna({"relation": ""}).groupby(KEYS, sort=False)["r2"]
    table = r2.quantile([0.25, 0.5, 0.75], interpolation="nearest").unstack()
    table = table.set_axis(["low", "median", "high"], axis=1).replace(-np.inf, np.nan)
    return table.assign(replicates=r2.size()).reset_index()


def paper_best(dataset: str) -> float:
    """Return the largest of the DPKendall paper's private medians of a set; NaN where it has none."""
    printed = [medians[1:] for sets in PRINTED.values() for name, medians in sets.items() if name == dataset]
    return max(map(max, printed), default=np.nan)


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return a row a set: no privacy, the paper's best, and ours by either relation."""
    rows = []
    for dataset, dataset_rows in table.groupby("part", sort=False):
        median = dataset_rows.set_index(["method", "relation"])["median"]
        row = {
            "set": dataset,
            "n x d": f"{dataset_rows['n'].iloc[0]:,} x {dataset_rows['d'].iloc[0]}",
            OLS: median[OLS, ""],
        }
        row |= {EARLIER: median[EARLIER, ""], PAPER: paper_best(dataset)}
        for method in PRIVATE:
            row |= {f"{method}, {relation}": median[method, relation] for relation in RELATIONS.values()}
        rows.append(row)
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the medians of each set: no privacy, the paper's best, and ours with a row added or removed."""
    numbers = compare(table, settings).set_index("set")
    figure, ((axis,),) = new_figure(520, 250, left=40, right=8, top=10, bottom=110)
    at = np.arange(len(numbers))
    shown = {OLS: (INK, "_"), PAPER: (MUTED, "x"), EARLIER: (MUTED, "+")}
    looks = zip(PRIVATE, PALETTE, MARKERS, strict=False)
    shown |= {f"{name}, {RELATIONS['ours']}": look for name, *look in looks}
    for index, (name, (colour, marker)) in enumerate(shown.items()):
        size = 60 if name == OLS else 18
        nudge = 0.0 if name == OLS else 0.1 * (index - 3.5)
        axis.scatter(at + nudge, numbers[name].clip(lower=LOWEST), size, colour, marker=marker, label=name)
    axis.set(ylabel="R²", ylim=(LOWEST - 0.03, 1.03))
    axis.set_xticks(at, numbers.index, rotation=30, ha="right")
    figure.legend(*axis.get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=7)
    caption = f"Median R² on the rows left out; below {LOWEST} at the edge."
    return {"r2": Drawing(figure, caption)}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Say how far the best of ours, BLUP and the paper's best are from no privacy."""
    numbers = compare(table, settings).set_index("set")
    added, has_paper = RELATIONS["ours"], numbers[PAPER].notna()
    ours = numbers[[f"{name}, {added}" for name in PRIVATE]].set_axis(PRIVATE, axis=1)
    first = ours.fillna(-np.inf).idxmax(axis=1).value_counts()
    counted = ", ".join(f"{name} on {count}" for name, count in first.items())

    def gap(r2: pd.Series) -> str:
        return f"{(r2 - numbers[OLS]).median():+.3f}"

    reason = (
        f"With a row added or removed the best of ours is {counted} of {len(numbers)} sets. Beside least "
        f"squares without privacy it has {gap(ours.max(axis=1))} in the median of sets, BLUP "
        f"{gap(ours['blup'])}"
    )
    if has_paper.any():
        is_above = ours.max(axis=1)[has_paper] > numbers[PAPER][has_paper]
        reason += (
            f"; the DPKendall paper's best, which needs no public scales, {gap(numbers[PAPER])}. Ours is "
            f"above it on {is_above.sum()} of {has_paper.sum()} sets"
        )
    return Verdict.BEYOND, f"{reason}."


EXPERIMENT = Experiment(
    paper="Tukey and DPKendall",
    shows="the best of ours on their tables, by public scales",
    run_replicate=run_replicate,
    choices=(
        "(ln 3, 1e-5) for all parts together, full protection. Add-remove is the relation of the DPKendall "
        "paper; replace-one that of the Tukey paper, whose number of rows is public.",
        "Public: the mean and the standard deviation of each column in 100 rows of an earlier study, and the "
        "root mean square of their norms. These rows are in no fit, but in that of the control `earlier "
        "study alone`, least squares on nothing else, as if they were public themselves.",
        "BLUP and AdaSSP are those of a study of a table: values beyond four standard deviations, outcomes "
        "beyond three, and rows longer than `row_clip` times the root mean square are clipped. Boosted "
        "AdaSSP and K-Tukey (k = 5) take the scaled values as they are, as `dpgrs tabular --scale` does.",
        "The paper's best is its largest median of any private method, at k = 5 or 10: a choice after the "
        "fact. Of the Tukey paper the best numbers are lost.",
    ),
)
