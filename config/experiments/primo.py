"""ReuseCov along a path of penalties, from what a study has drawn, in the axes of the PRIMO paper's figures.

A fit is post-processing, so the path costs no privacy. Its best point is found by a look at test rows, which
is not private: it is named as peeked.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator

from dpgrs.experiments.primo_fits import (
    CELL,
    MOVES,
    NON_PRIVATE,
    PENALTIES,
    released_path,
    ridge_path,
    rows_to_test_on,
)
from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, Statistics, load_labelled
from dpgrs.methods.mechanisms import mechanism_of_file, request_of
from dpgrs.methods.registry import METHODS
from dpgrs.reporting.svg import INK, new_figure, styled
from dpgrs.study.training_data import public_outcomes


def path_of_trial(trial, settings, *, panel, penalties=PENALTIES):
    """Fit all that a trial has drawn along the path.

    Parameters
    ----------
    trial : folder of the trial.
    settings : dict, of the study.
    panel : Panel
    penalties : sequence of float

    Returns
    -------
    list of dict: method, protection, `CELL`, penalty, and means over outcomes of r2 and mse.
    """
    outcomes, statistics = Outcomes.load(trial / "outcomes.npz"), Statistics.load(trial / "statistics.npz")
    test = {size: rows_to_test_on(panel, size, outcomes) for size in outcomes.values}
    rows = list(ridge_path(statistics, test, counts=settings["outcomes"]["count"], penalties=penalties))
    for label, arrays in load_labelled(trial / "drawn" / "reusecov-statistics.npz"):
        request, count = request_of(label), label["n_outcomes"]
        noisy = mechanism_of_file(label).restore(label, arrays)
        known = {"request": request, "outcomes": public_outcomes(outcomes, request, count=count)}
        known |= {"regression": settings["regression"], "penalties": penalties}
        for method in MOVES:
            if method in settings["methods"] and request.protection in METHODS[method].protections:
                rows += released_path(noisy, test, method=method, **known)
    return rows


def path_of_study(folder):
    """Return the path of all trials of a study, and write it; beside it what other methods have."""
    settings = json.loads((folder / "settings.json").read_text())
    panel = Panel.open(folder / "private" / "panel.zarr")
    trials = range(1, settings["trials"] + 1)
    rows = [
        {"trial": trial} | row
        for trial in trials
        for row in path_of_trial(folder / "private" / f"trial{trial}", settings, panel=panel)
    ]
    keys = ["method", "protection", *CELL]
    path = pd.DataFrame(rows).groupby([*keys, "penalty"], dropna=False)[["r2", "mse"]].mean().reset_index()
    path.to_csv(folder / "path.tsv", sep="\t", index=False)
    metrics = pd.read_csv(folder / "metrics.tsv", sep="\t")
    others = metrics[~metrics["method"].isin([*MOVES, NON_PRIVATE])]
    others = others.groupby(keys, dropna=False)[["r2", "mse"]].mean().reset_index()
    return path, others, settings


def lines(path, others, *, fixed):
    """Return a table: a line of a figure and a cell each, with R^2, log MSE ratio and penalty.

    The ratio is to ridge regression without privacy, at its own best penalty.
    """
    private = path[path["method"] != NON_PRIVATE]
    keys = ["method", "protection", *CELL]
    best = path.loc[path.groupby(keys, dropna=False)["r2"].idxmax()].assign(which="peeked")
    near = np.abs(np.log(private["penalty"] / fixed)) if fixed > 0 else private["penalty"]
    at_fixed = private[near == near.min()].assign(which="fixed")
    found = pd.concat([best, at_fixed, others.assign(which="as it is", penalty=math.nan)], ignore_index=True)
    own = best[best["method"] == NON_PRIVATE].set_index(["n_variants", "n_outcomes"])["mse"]
    optimal = own.reindex(pd.MultiIndex.from_frame(found[["n_variants", "n_outcomes"]])).to_numpy()
    return found.assign(log_ratio=np.log(found["mse"] / optimal))


def in_markdown(table):
    """Yield lines: R^2 at the fixed penalty, and in brackets the best with its penalty."""
    names = table[["method", "protection"]].drop_duplicates().itertuples(index=False)
    names = [tuple(name) for name in names]
    cells = table.dropna(subset="epsilon")[CELL].drop_duplicates().sort_values(CELL)
    yield f"| {', '.join(CELL)} | {' | '.join(' '.join(name) for name in names)} |"
    yield "| --- " * (len(names) + 1) + "|"
    for cell in cells.itertuples(index=False):
        is_cell = (table["n_variants"] == cell.n_variants) & (table["n_outcomes"] == cell.n_outcomes)
        is_cell &= table["epsilon"].isna() | (table["epsilon"] == cell.epsilon)
        found = []
        for method, protection in names:
            own = table[is_cell & (table["method"] == method) & (table["protection"] == protection)]
            found.append(_cell(own.set_index("which")))
        yield f"| {cell.epsilon:g}, {cell.n_variants}, {cell.n_outcomes} | {' | '.join(found)} |"


def _cell(own):
    parts = [f"{own.loc[name, 'r2']:.3g}" for name in ("fixed", "as it is") if name in own.index]
    if "peeked" in own.index:
        parts.append(f"({own.loc['peeked', 'r2']:.3f} at {own.loc['peeked', 'penalty']:.2g})")
    return " ".join(parts)


COLOURS = {"full": "", "feature": ", X private", "label": ", Y private", "none": ""}
STYLES = {"peeked": "-", "fixed": ":", "as it is": "--"}


def draw(table, path, *, y="r2", x="n_outcomes", zoom=(-0.05, 0.55)):
    """Draw a column against an axis twice, whole and within a range, and write it as PNG."""
    table = table.sort_values(x)
    with styled():
        figure, (axes,) = new_figure(560, 250, left=62, right=12, top=20, bottom=92, ncols=2)
        for axis, limits in zip(axes, (None, zoom), strict=True):
            for (method, protection, which), own in table.groupby(["method", "protection", "which"]):
                look = METHODS[method].look
                axis.plot(
                    own[x],
                    own[y],
                    STYLES[which],
                    color=look[0] if look else INK,
                    marker={"full": "o", "feature": "s", "label": "^"}.get(protection),
                    markersize=3,
                    linewidth=1,
                    label=f"{METHODS[method].label}{COLOURS[protection]}, {which}",
                )
            axis.set(xscale="log", xlabel="outcomes" if x == "n_outcomes" else "variants")
            if limits is None:
                axis.set_yscale("symlog", linthresh=1)
                axis.set_yticks([-1e4, -100, -1, 0, 1])
            else:
                axis.set_ylim(*limits)
            for ruler in (axis.xaxis, axis.yaxis):
                ruler.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
                ruler.set_minor_locator(NullLocator())
        axes[0].set_ylabel("R² in other people" if y == "r2" else "log MSE ratio")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=5)
        figure.savefig(path, dpi=150)


def main(arguments=None):
    """Print the table of a study, and draw its figure; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="results of a study with reusecov- methods")
    parser.add_argument("--figure", type=Path, help="PNG to write")
    parser.add_argument("--x", choices=["n_outcomes", "n_variants"], default="n_outcomes")
    parser.add_argument("--y", choices=["r2", "log_ratio"], default="r2")
    parser.add_argument(
        "--zoom", type=float, nargs=2, default=(-0.05, 0.55), help="range of the second panel"
    )
    parser.add_argument("--at", type=int, help="the one value of the other axis to draw")
    given = parser.parse_args(arguments)
    path, others, settings = path_of_study(given.folder)
    table = lines(path, others, fixed=settings["regression"]["lambda"])
    table.to_csv(given.folder / "lines.tsv", sep="\t", index=False)
    print(*in_markdown(table), sep="\n")
    if given.figure:
        other = "n_variants" if given.x == "n_outcomes" else "n_outcomes"
        shown = table if given.at is None else table[table[other] == given.at]
        draw(shown, given.figure, x=given.x, y=given.y, zoom=given.zoom)
    return 0


if __name__ == "__main__":
    sys.exit(main())
