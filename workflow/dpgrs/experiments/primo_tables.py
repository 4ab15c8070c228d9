"""What PRIMO's figures on tables of real numbers share: panel and outcomes of a trial, lines and figure."""

from itertools import chain
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator

from dpgrs.errors import UsageError
from dpgrs.evaluation.split import split_rows
from dpgrs.experiments.primo_fits import EVIDENCE, NON_PRIVATE, OWN, PEEKED, configuration, measure
from dpgrs.io.panel import Panel
from dpgrs.io.table_panel import write_table_panel
from dpgrs.io.tables.real_tables import RealTable
from dpgrs.io.trials import Outcomes, simulated_names
from dpgrs.methods.registry import METHODS
from dpgrs.reporting.svg import INK, new_figure
from dpgrs.types import Rows

TEST_SHARE = 0.2
WIDE = 3  # panels that leave room for two columns of a legend
PROTECTIONS = {"full": "", "feature": ", X private", "label": ", Y private", "none": ""}
RULES = {PEEKED: "best lambda (peeked)", EVIDENCE: "lambda by evidence", OWN: ""}
STYLES = {"paper": ":", "ours": "-", "none": "--"}
MARKS = {"full": "o", "feature": "s", "label": "^", "none": None}


class Columns(NamedTuple):
    """Columns of a table and what is public of them.

    Attributes
    ----------
    values : (n_rows, n_columns) float64
    low, high, centre : (n_columns,) float64, public: between which values lie, and a guess of their mean.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    centre: np.ndarray


def run_table(columns, make_outcomes, *, sizes, counts, settings, key):
    """Measure all methods of a plan on one table.

    Parameters
    ----------
    columns : Columns
    make_outcomes : function of a Panel and a size that returns (n_outcomes, n_rows) float64, standardised.
    sizes, counts : list of int, columns and outcomes.
    settings : dict, with `seed`, `epsilons`, `genotype_clip` and `methods`, a dict of terms to methods.
    key : tuple of str and int, tells trials apart.

    Returns
    -------
    list of dict, as from `measure`.

    Raises
    ------
    UsageError
        For a method that takes alleles alone.
    """
    for method in chain.from_iterable(settings["methods"].values()):
        if not METHODS[method].takes_fractions("benchmark"):
            raise UsageError(f"`methods` must be of those for tables, got {method}. Leave it out.")
    n_rows, n_columns = columns.values.shape
    row_id, seed = np.arange(1, n_rows + 1).astype(str), settings["seed"]
    table = RealTable("trial", row_id, [f"x{j}" for j in range(1, n_columns + 1)], columns.values)
    is_training = split_rows(row_id, rows=Rows.PEOPLE, test_share=TEST_SHARE, seed=seed, key=key)
    terms = {"sizes": sizes, "counts": counts, "epsilons": settings["epsilons"]}
    terms["genotype_clip"] = settings["genotype_clip"]
    configs = {name: configuration(name, methods=own, **terms) for name, own in settings["methods"].items()}
    with TemporaryDirectory() as folder:
        path = f"{folder}/panel.zarr"
        write_table_panel(path, table, columns[1:], size=max(sizes), seed=seed)
        panel = Panel.open(path)
        values = {size: make_outcomes(panel, size) for size in sizes}
        names = tuple(simulated_names(max(counts)))
        outcomes = Outcomes(names, values, {}, is_training, Rows.PEOPLE)
        return measure(panel, outcomes, configs=configs, folder=folder, seed=seed, key=key)


def label(terms, method, protection, which):
    """Name a line of a figure, a str."""
    words = [METHODS[method].label + PROTECTIONS[protection], RULES[which]]
    if method == NON_PRIVATE:
        words.append("not private")
    elif terms == "paper":
        words.append("the paper's terms")
    return ", ".join(filter(None, words))


def with_lines(table):
    """Add the column `line`, the name of each row's line."""
    names = ["terms", "method", "protection", "which"]
    return table.assign(line=[label(*row) for row in table[names].itertuples(index=False)])


def wide(table, keys, *, value="r2"):
    """Return a column a line, and a row for each value of keys; ridge without privacy stands at each epsilon.

    Parameters
    ----------
    table : DataFrame, as from `dpgrs.experiments.primo_fits.best_of_path`.
    keys : dict of a column of it to its name.
    value : str, the column to show.
    """
    table = at_each_epsilon(with_lines(table))
    found = table.pivot_table(index=list(keys), columns="line", values=value, sort=False).reset_index()
    return found.rename(columns=keys).rename_axis(columns=None)


def at_each_epsilon(table):
    """Repeat what is not private for each epsilon."""
    is_private = table["epsilon"].notna()
    others = table[~is_private]
    epsilons = table.loc[is_private, "epsilon"].unique()
    return pd.concat([table[is_private], *(others.assign(epsilon=epsilon) for epsilon in epsilons)])


def draw_lines(panels, *, x, y, xlabel, ylabel, limits):
    """Draw the lines of several tables side by side, against a logarithmic axis.

    Gauss by the evidence under the paper's terms is left to the table: lines are many.

    Parameters
    ----------
    panels : dict of a title to a table, as from `best_of_path`.
    x, y : str, columns.
    xlabel, ylabel : str
    limits : pair of float, of y; what is beyond is not seen. None shows all.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = ["terms", "method", "protection", "which"]
    panels = {
        title: own[(own["terms"] != "paper") | (own["which"] != EVIDENCE)] for title, own in panels.items()
    }
    n_columns = 1 if len(panels) < WIDE else 2
    n_lines = max(len(own[names].drop_duplicates()) for own in panels.values())
    bottom = 44 + 9 * -(-n_lines // n_columns)
    layout = {"left": 46, "right": 8, "top": 18, "bottom": bottom, "ncols": len(panels), "sharey": True}
    figure, (axes,) = new_figure(60 + 180 * len(panels), 168 + bottom, **layout)
    lines = {}
    for axis, (title, table) in zip(axes, panels.items(), strict=True):
        for (terms, method, protection, which), own in table.groupby(names, sort=False):
            look, own = METHODS[method].look, own.sort_values(x)
            (lines[label(terms, method, protection, which)],) = axis.plot(
                own[x],
                own[y],
                "-." if which == EVIDENCE else STYLES[terms],
                color=look[0] if look else INK,
                marker=MARKS[protection],
                markersize=3,
                linewidth=1,
            )
        axis.set(xscale="log", title=title, xlabel=xlabel)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.xaxis.set_minor_locator(NullLocator())
    if limits is not None:
        axes[0].set_ylim(*limits)
    axes[0].set_ylabel(ylabel)
    figure.legend(lines.values(), lines, loc="lower center", ncols=n_columns, fontsize=6, labelspacing=0.3)
    return figure
