"""R^2 of the PRIMO paper's methods along the path of penalties, which its figures show the best point of."""

import pandas as pd

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK
from dpgrs_papers.experiments import primo_haplotypes
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.primo_fits import FIXED_PENALTY, NON_PRIVATE, PATH, along_path, best_of_path
from dpgrs_papers.experiments.primo_tables import (
    CELLS,
    MARKS,
    PROTECTIONS,
    at_each_epsilon,
    by_cell,
    with_plain_numbers,
)

LOW, HIGH = -0.5, 0.55
TICKS = (0.001, 0.1, 10, 1000)
KEYS = ["part", "method", "protection", *CELLS]


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 at each penalty, of Gauss under full protection, both projections and ridge."""
    table = along_path(rows[rows["which"] == PATH])
    is_projected, is_full = table["method"] == "reusecov-proj", table["protection"].isin(["full", "none"])
    table = table[is_projected | is_full]
    best = best_of_path(table.assign(replicate=1))
    is_best = table.merge(best[[*KEYS, "penalty"]].assign(is_best=True), "left")["is_best"]
    return table.assign(is_best=is_best.eq(True).to_numpy())


def name(method: str, protection: str) -> str:
    """Name a line, a str."""
    return METHODS[method].label + PROTECTIONS[protection]


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 by penalty; the paper has no path."""
    names = [name(*row) for row in table[["method", "protection"]].itertuples(index=False)]
    penalties = [f"{penalty:.3g}" for penalty in table["penalty"]]
    return by_cell(table.assign(line=names, **{"lambda": penalties}), CELLS, ["line", "lambda"])


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 against lambda, a panel a cell; a ring at the best point, and a line at the fixed one."""
    cells = at_each_epsilon(table).groupby([*CELLS])
    n_rows = table["epsilon"].nunique()
    n_columns = -(-len(cells) // n_rows)
    layout = {"left": 40, "right": 8, "top": 20, "bottom": 62, "sharex": True, "sharey": True}
    figure, axes = new_figure(
        60 + 125 * n_columns, 90 + 140 * n_rows, nrows=n_rows, ncols=n_columns, **layout
    )
    figure.subplots_adjust(hspace=0.3, wspace=0.12)
    lines = {}
    for axis, (cell, cell_rows) in zip(axes.flat, cells, strict=False):
        for (method, protection), line in cell_rows.groupby(["method", "protection"], sort=False):
            look = METHODS[method].look
            colour = look[0] if look else INK
            line, best = line.sort_values("penalty"), line[line["is_best"]]
            style = "--" if method == NON_PRIVATE else "-" if protection != "label" else ":"
            (drawn_line,) = axis.plot(line["penalty"], line["r2"], style, color=colour, linewidth=1)
            lines[name(method, protection)] = drawn_line
            axis.plot(
                best["penalty"],
                best["r2"],
                MARKS[protection] or "D",
                markeredgecolor=colour,
                markerfacecolor="none",
                markersize=4.5,
            )
        axis.axvline(FIXED_PENALTY, color=INK, linewidth=0.5, alpha=0.5)
        axis.set(xscale="log", ylim=(LOW, HIGH), title="ε = {:g}, d = {}, l = {:,}".format(*cell))
        axis.set_xticks(TICKS)
        with_plain_numbers(axis)
    for axis in axes[-1]:
        axis.set_xlabel("λ")
    for axis in axes[:, 0]:
        axis.set_ylabel("R²")
    figure.legend(lines.values(), lines, loc="lower center", ncols=2, fontsize=6)
    caption = (
        f"R^2 along the path, cut at {LOW:g}; marks are the best points (peeked), the line is the fixed one."
    )
    return {"r2": Drawing(figure, caption)}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Say what the fixed penalty costs."""
    private = table[table["method"] != NON_PRIVATE]
    sentences = []
    for (method, protection), line_rows in private.groupby(["method", "protection"], sort=False):
        best = line_rows[line_rows["is_best"]].set_index([*CELLS])
        fixed = line_rows[(line_rows["penalty"] / FIXED_PENALTY - 1).abs() < 1e-6].set_index([*CELLS])["r2"]
        is_lost = (fixed < 0) & (best["r2"] > 0)
        sentences.append(
            f"{name(method, protection)}: best at lambda from {best['penalty'].min():.3g} to "
            f"{best['penalty'].max():.3g}, and below 0 at {FIXED_PENALTY:g} in {is_lost.sum()} of "
            f"{len(best)} cells where the best is above"
        )
    return Verdict.BEYOND, "; ".join(sentences) + "."


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="R^2 along the path of penalties",
    run_replicate=primo_haplotypes.run_replicate,
    choices=(
        *primo_haplotypes.CHOICES,
        "Gauss is under full protection, projection under feature and under label protection, all by the "
        "paper's terms; its own penalty is lost in our copy.",
    ),
)
