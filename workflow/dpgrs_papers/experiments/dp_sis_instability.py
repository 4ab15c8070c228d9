"""DP-SIS, section 3: how often SIS and two-stage, not private, take the features that make the outcome."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator

from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK, MUTED, PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.selection.dp_sis import paper_sis_scores, table_sis_scores
from dpgrs_papers.selection.lasso import PENALTY, lasso_coefficients
from dpgrs_papers.selection.sublasso import assign_groups
from dpgrs_papers.selection.top_k import top_k

N_ROWS, N_FEATURES, N_BLOCKS, K = 100, 100, 10, 5
DESIGNS = {"W1": "W1", "W1-W2": "W1/W2"}
STATED, *READINGS = "noise of variance 0.1", "noise of sd 0.1", "y not scaled", "groups by hash"
METHODS = "SIS, correlation", "SIS, scaled by the largest", "two-stage, support", "two-stage, 5 largest"
GROUPS = {"1 to 5": slice(0, 5), "6 to 95": slice(5, 95), "96 to 100": slice(95, 100)}


def run_replicate(design: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Count in how many data sets each feature is taken, by reading of the paper and method."""
    rows = []
    for reading in (STATED, *READINGS):
        repeats = settings["repeats" if reading == STATED else "repeats_of_readings"]
        counts = np.zeros((len(METHODS), N_FEATURES), dtype=np.int64)
        for repeat in range(repeats):
            X, y, order = _data(generator(settings["seed"], design, replicate, repeat), design, reading)
            groups = np.arange(N_ROWS) // N_BLOCKS
            if reading == "groups by hash":
                groups = assign_groups([str(row) for row in range(N_ROWS)], n_groups=N_BLOCKS, seed=repeat)
            voted = votes(X, y, groups, is_raw=reading == "y not scaled")
            scored = [correlations(X, y), paper_sis_scores(X, y), *voted]
            counts += [np.isin(order, top_k(scores, K)) for scores in scored]
        for method, times_taken in zip(METHODS, counts, strict=True):
            labels = {"reading": reading, "method": method, "repeats": repeats}
            rows += [
                labels | {"feature": number, "taken": n} for number, n in enumerate(times_taken, start=1)
            ]
    return rows


def _data(rng: Generator, design: str, reading: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the columns of features 1 to 100, in no fixed order: equal votes go to the first."""
    X, order = rng.standard_normal((N_ROWS, N_FEATURES)), rng.permutation(N_FEATURES)
    is_outlier = (design == "W1-W2") & (np.arange(N_ROWS) % N_BLOCKS == N_BLOCKS - 1)
    y = np.where(is_outlier, X[:, order[-5:]].sum(axis=1), X[:, order[:5]].sum(axis=1))
    y += (0.1 if reading == "noise of sd 0.1" else 0.1**0.5) * rng.standard_normal(N_ROWS)
    return X, y, order


def correlations(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Score features by SIS without privacy: no standardised entry is above sqrt(n), so none is clipped."""
    Z, z = ((columns - columns.mean(axis=0)) / columns.std(axis=0) for columns in (X, y))
    bound = len(y) ** 0.5
    return table_sis_scores(Z, z[np.newaxis], column_bounds=bound, outcome_bound=bound).values[0]


def votes(X: np.ndarray, y: np.ndarray, groups: np.ndarray, *, is_raw: bool) -> tuple[np.ndarray, np.ndarray]:
    """Count in how many groups of rows each feature is in the support, and among the five largest.

    Both are (n_features,) int64. With `is_raw` the penalty is for y as it is, not standardised in its group.
    """
    supports, largest = np.zeros((2, X.shape[1]), dtype=np.int64)
    for group in np.unique(groups):
        group_outcomes = y[groups == group]
        penalty = min(PENALTY / group_outcomes.std(), 0.99) if is_raw else PENALTY
        coefficients = np.abs(lasso_coefficients(X[groups == group], group_outcomes, penalty=penalty))
        supports += coefficients > 0
        largest[top_k(coefficients, K)] += 1
    return supports, largest


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the share of data sets in which each feature is taken."""
    keys = ["part", "reading", "method", "feature"]
    table = rows.groupby(keys, sort=False)[["taken", "repeats"]].sum().reset_index()
    table["share"] = table["taken"] / table["repeats"]
    return table


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return means over features 1 to 5, 6 to 95 and 96 to 100; the paper prints no number."""
    rows = []
    for (design, reading, method), design_rows in table.groupby(["part", "reading", "method"], sort=False):
        means = {
            f"features {name}": design_rows["share"].to_numpy()[where].mean()
            for name, where in GROUPS.items()
        }
        n_sets = str(design_rows["repeats"].iloc[0])
        rows.append(
            {"design": DESIGNS[design], "reading": reading, "method": method, "data sets": n_sets} | means
        )
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the paper's figure 1: how often each feature is taken."""
    stated = table[table["reading"] == STATED]
    designs = list(dict.fromkeys(stated["part"]))
    figure, (axes,) = new_figure(
        520, 210, left=44, right=10, top=22, bottom=58, ncols=len(designs), sharey=True
    )
    looks = (INK, "-"), (MUTED, "--"), (PALETTE[1], "-"), (PALETTE[4], "--")
    for axis, design in zip(axes, designs, strict=True):
        for method, (colour, line) in zip(METHODS, looks, strict=True):
            method_rows = stated[(stated["part"] == design) & (stated["method"] == method)]
            axis.plot(
                method_rows["feature"], method_rows["taken"], line, color=colour, linewidth=1, label=method
            )
        axis.set(title=DESIGNS[design], xlabel="feature", ylim=(0, method_rows["repeats"].max()))
    axes[0].set_ylabel("times taken")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=4)
    return {"occurrences": Drawing(figure, "How often SIS and two-stage take each feature (figure 1).")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that SIS takes features 1 to 5 more often than two-stage, in every reading."""
    numbers = compare(table, settings)
    is_sis = numbers["method"].str.startswith("SIS")
    by = ["design", "reading"]
    least = numbers[is_sis].groupby(by)["features 1 to 5"].min()
    most = numbers[~is_sis].groupby(by)["features 1 to 5"].max()
    ratio = (least / most).loc[:, STATED]
    if (least > most).all():
        ratios = " and ".join(f"{times:.2f} times as often in {design}" for design, times in ratio.items())
        return Verdict.REPRODUCED, (
            "SIS takes the right features more often than two-stage in both designs and every reading, "
            f"at least {ratios}. The paper prints no numbers."
        )
    return Verdict.WITH_DIFFERENCE, "SIS does not take the right features more often in every reading."


EXPERIMENT = Experiment(
    paper="DP-SIS (arXiv 2408.10862)",
    shows="Figure 1, experiments W1 and W1/W2",
    choices=(
        "N(0, 0.1) is a variance; also read as a standard deviation.",
        "The Lasso's penalty is 0.1, which the paper gives for its other experiments, on blocks standardised "
        "by their own rows; also on y as it is.",
        "The ten blocks hold ten rows each and, in W1/W2, one outlier each; also ten groups by hash, of "
        "random size.",
        "Equal votes go to a random feature.",
    ),
)
