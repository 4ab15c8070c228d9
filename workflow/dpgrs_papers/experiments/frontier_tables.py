"""Table and figure of the frontier: cases beside each other, and beside what the PRIMO paper does."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.svg import INK
from dpgrs_papers.experiments.plots import new_figure, styled
from dpgrs_papers.experiments.primo_fits import CELL, EVIDENCE, FIXED, PEEKED, best_of_path
from dpgrs_papers.experiments.primo_tables import by_line

LAST_VERSION = "last-version"
# A line of the figure: group and method.
LINES = {
    "no privacy: ridge": ("matched", "ridge"),
    "blup-ld: public LD, known ancestry": ("matched", "blup-ld"),
    "blup-hedged: public LD, any ancestry": ("matched", "blup-hedged"),
    "blup-steered: no panel": ("matched", "blup-steered"),
    "blup: no panel, the default of a release": ("matched", "blup"),
}
# Likewise of the paper's terms: method, protection and how it got its penalty.
LINES_OF_PAPER = {
    "PRIMO: Gauss, best lambda (peeked)": ("reusecov-gauss", "full", PEEKED),
    "PRIMO: Gauss, lambda 0.1": ("reusecov-gauss", "full", FIXED),
    "PRIMO: projection, X alone private, best lambda (peeked)": ("reusecov-proj", "feature", PEEKED),
}
LOWEST, HIGHEST = -0.06, 0.55  # of the figure; lower values stand at its edge
BELOW, GREY = -0.045, "#999999"


def mean_r2(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Return R^2 of cases, means over outcomes and replicates."""
    keys = ["group", "case", "method", *CELL]
    if not tables:
        return pd.DataFrame(columns=[*keys, "r2"])
    means = [table.groupby(keys, dropna=False, sort=False)["r2"].mean().reset_index() for table in tables]
    return pd.concat(means, ignore_index=True)


def lines_of_paper(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Return what the paper does at the best penalty and at the fixed one, over all cases."""
    if not tables:
        return pd.DataFrame()
    table = best_of_path(pd.concat(tables, ignore_index=True).assign(part="paper"), keeps_fixed=True)
    return table[table["which"] != EVIDENCE]


def in_markdown(table: pd.DataFrame, reference: pd.DataFrame) -> Iterator[str]:
    """Yield lines: a cell of the grid each, means over the cases of a group ± their standard error."""
    methods = list(dict.fromkeys(table["method"]))
    reference_r2 = reference.set_index(["group", *CELL])["r2"]
    yield f"| case | epsilon, variants, outcomes | {' | '.join(methods)} | reference |"
    yield "| --- " * (len(methods) + 3) + "|"
    # A method without privacy has the same accuracy at every epsilon.
    private = table[table["epsilon"].notna()]
    for key, _ in private.groupby(["group", *CELL], sort=False):
        group, epsilon, n_variants, n_outcomes = key
        is_cell = (table["group"] == group) & (table["epsilon"].isna() | (table["epsilon"] == epsilon))
        is_cell &= (table["n_variants"] == n_variants) & (table["n_outcomes"] == n_outcomes)
        figures = [_figure(table.loc[is_cell & (table["method"] == method), "r2"]) for method in methods]
        cell = f"{epsilon:g}, {n_variants}, {n_outcomes}"
        yield f"| {group} | {cell} | {' | '.join(figures)} | {reference_r2.get(key, '')} |"


def paper_in_markdown(paper: pd.DataFrame) -> Iterator[str]:
    """Yield lines of a table: a line of `lines_of_paper` each, and a column a cell."""
    keys = {"epsilon": "{:g}", "n_variants": "{}", "n_outcomes": "{}"}
    lines = by_line(paper, keys)
    yield f"| {' | '.join(['by the paper', *lines.columns[1:]])} |"
    yield "| --- " * len(lines.columns) + "|"
    for line in lines.itertuples(index=False):
        yield f"| {line[0]} | {' | '.join(map(_short, line[1:]))} |"


def draw(table: pd.DataFrame, paper: pd.DataFrame, path: Path | str, *, n_variants: int = 400) -> Figure:
    """Draw R^2 against the number of outcomes, a panel for each epsilon, and write it as PNG."""
    shown = table[table["n_variants"] == n_variants]
    counts = sorted(shown.loc[shown["group"] == "matched", "n_outcomes"].unique())
    epsilons = sorted(shown["epsilon"].dropna().unique())
    with styled():
        figure, (axes,) = new_figure(
            640, 300, left=40, right=12, top=24, bottom=104, ncols=max(len(epsilons), 1), sharey=True
        )
        for axis, epsilon in zip(axes, epsilons, strict=False):
            for name, (group, method) in LINES.items():
                means = _means(shown, group, method, epsilon)
                colour = INK if method == "ridge" else METHODS[method].look[0]
                _draw_line(axis, means, name, "--" if method == "ridge" else "-", colour)
            for name, paper_line in LINES_OF_PAPER.items():
                means = _means_of_paper(paper, paper_line, epsilon, n_variants)
                _draw_line(axis, means, name, ":", _colour(paper_line))
            axis.set(xscale="log", title=f"epsilon {epsilon:g}", xlabel="outcomes", ylim=(LOWEST, HIGHEST))
            axis.axhline(0, color=INK, linewidth=0.5)
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xticks(counts, map(str, counts))
        axes[0].set_ylabel("R² in other people")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=2, fontsize=7)
        figure.savefig(path, dpi=200)
    return figure


def _colour(paper_line: tuple[str, str, str]) -> str:
    method, _, which = paper_line
    return METHODS[method].look[0] if which == PEEKED else GREY


def _means(table: pd.DataFrame, group: str, method: str, epsilon: float) -> pd.Series:
    method_rows = table[(table["group"] == group) & (table["method"] == method)]
    method_rows = method_rows[method_rows["epsilon"].isna() | (method_rows["epsilon"] == epsilon)]
    return method_rows.groupby("n_outcomes")["r2"].mean()


def _means_of_paper(
    paper: pd.DataFrame, paper_line: tuple[str, str, str], epsilon: float, n_variants: int
) -> pd.Series:
    if paper.empty:
        return pd.Series(dtype=float)
    cell = (paper["epsilon"] == epsilon) & (paper["n_variants"] == n_variants) & (paper["terms"] == "paper")
    for column, value in zip(("method", "protection", "which"), paper_line, strict=True):
        cell &= paper[column] == value
    return paper[cell].groupby("n_outcomes")["r2"].mean()


def _draw_line(axis: Axes, means: pd.Series, name: str, style: str, colour: str) -> None:
    """Draw a line; what lies below the figure stands at its lower edge as a triangle with its value."""
    within = means.where(means >= LOWEST)
    axis.plot(within.index, within, style, color=colour, marker="o", markersize=3.5, label=name)
    for x, value in means[means < LOWEST].items():
        axis.plot([x], [BELOW], marker="v", markersize=4, color=colour)
        words = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "fontsize": 6}
        axis.annotate(_short(value), (x, BELOW), color=colour, **words)


def _figure(values: pd.Series) -> str:
    if values.empty:
        return ""
    spread = f" ± {values.sem():.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def _short(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.3f}" if abs(value) < 1 else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
