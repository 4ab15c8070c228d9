"""Parts that PRIMO's figures share: lines, figures, verdicts, and the rows of a table."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from dpgrs.errors import UsageError
from dpgrs.evaluation.split import split_rows
from dpgrs.io.outcomes import Outcomes, simulated_names
from dpgrs.io.tables.real_tables import RealTable
from dpgrs.methods.registry import METHODS
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK
from dpgrs.study.in_process import variants_of_table
from dpgrs.study.table_cohort import ranged_methods
from dpgrs.types import Rows
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.primo_fits import (
    EVIDENCE,
    FIXED,
    FIXED_PENALTY,
    LINE,
    NON_PRIVATE,
    OWN,
    PEEKED,
    PUBLIC,
    TERMS,
    TIGHT,
    configuration,
    measure,
)

TEST_SHARE = 0.2
WIDE, MANY = 3, 12  # panels that leave room for two columns of a legend, and lines that need them
FEW = 5  # values of an axis that are all written there
PROTECTIONS = {"full": "", "feature": ", X private", "label": ", Y private", "none": ""}
RULES = {
    PEEKED: "best lambda (peeked)",
    FIXED: f"lambda {FIXED_PENALTY:g}",
    EVIDENCE: "lambda by evidence",
    OWN: "",
}
WORDS = {"paper": "the paper's terms", TIGHT: "tight bounds", PUBLIC: "half of the people"}
STYLES = {"paper": ":", "ours": "-", TIGHT: "-", PUBLIC: (0, (5, 1)), "none": "--"}
LINE_WIDTHS = {TIGHT: 1.8, PUBLIC: 1.8}
STYLES_OF_RULES = {EVIDENCE: "-.", FIXED: (0, (6, 2))}
KEPT = 0.8  # of cells, to count as the same order
NAMES = [*LINE, "which"]
CELLS = {"epsilon": "epsilon {:g}", "n_variants": "d = {}", "n_outcomes": "l = {:,}"}
MARKS = {"full": "o", "feature": "s", "label": "^", "none": None}


class Columns(NamedTuple):
    """Columns of a table and their public ranges."""

    values: np.ndarray  # (n_rows, n_columns) float64
    low: np.ndarray  # (n_columns,) float64, public
    high: np.ndarray  # (n_columns,) float64, public
    centre: np.ndarray  # (n_columns,) float64, a public guess of the means


def run_table(
    columns: Columns,
    make_outcomes: Callable,
    *,
    sizes: list[int],
    counts: list[int],
    settings: dict,
    key: tuple,
    is_training: np.ndarray | None = None,
    terms_by_name: dict[str, dict] = TERMS,
) -> list[dict]:
    """Measure all methods of a plan on one table."""
    for method in chain.from_iterable(settings["methods"].values()):
        if method not in ranged_methods():
            raise UsageError(
                "method-not-for-tables", f"`methods` must be of those for tables, got {method}. Leave it out."
            )
    seed, names = settings["seed"], [f"x{j}" for j in range(1, columns.values.shape[1] + 1)]
    table = RealTable.numbered("replicate", names, columns.values)
    if is_training is None:
        is_training = split_rows(table.row_id, rows=Rows.PEOPLE, test_share=TEST_SHARE, seed=seed, key=key)
    study_size = {"source": "table", "sizes": sizes, "counts": counts, "epsilons": settings["epsilons"]}
    study_size |= {name: settings[name] for name in ("genotype_clip", "delta") if name in settings}
    configs = {
        name: configuration(terms_by_name[name], methods=method_names, **study_size)
        for name, method_names in settings["methods"].items()
    }
    with variants_of_table(table, columns[1:], size=max(sizes), seed=seed) as panel:
        outcomes_by_size = {size: make_outcomes(panel, size) for size in sizes}
        names = tuple(simulated_names(max(counts)))
        outcomes = Outcomes(names, outcomes_by_size, {}, is_training, Rows.PEOPLE)
        return measure(panel, outcomes, configs=configs, seed=seed, key=key)


def label(terms_name: str, method: str, protection: str, which: str) -> str:
    """Name a line of a figure, a str."""
    words = [METHODS[method].label + PROTECTIONS[protection], RULES[which]]
    if method == NON_PRIVATE:
        words.append("not private")
    else:
        words.append(WORDS.get(terms_name, ""))
    return ", ".join(filter(None, words))


def with_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column `line`, the name of each row's line."""
    return table.assign(line=[label(*row) for row in table[NAMES].itertuples(index=False)])


def wide(table: pd.DataFrame, keys: dict[str, str], *, value: str = "r2") -> pd.DataFrame:
    """Return a column a line, a row for each value of keys; ridge without privacy is at each epsilon."""
    table = at_each_epsilon(with_lines(table))
    wide_table = table.pivot_table(index=list(keys), columns="line", values=value, sort=False).reset_index()
    return wide_table.rename(columns=keys).rename_axis(columns=None)


def by_line(table: pd.DataFrame, keys: dict[str, str], *, value: str = "r2") -> pd.DataFrame:
    """Return a row a line, and a column a cell; parameters as in `by_cell`."""
    return by_cell(with_lines(table), keys, ["line"], value=value)


def by_cell(
    table: pd.DataFrame, keys: dict[str, str], names: list[str], *, value: str = "r2"
) -> pd.DataFrame:
    """Return a column for each cell."""
    table = at_each_epsilon(table).sort_values(list(keys), kind="stable")
    cells = [table[key].map(name.format) for key, name in keys.items()]
    table = table.assign(cell=cells[0].str.cat(cells[1:], sep=", "))
    wide_table = table.pivot_table(index=names, columns="cell", values=value, sort=False)
    return wide_table.reset_index().rename_axis(columns=None)


def at_each_epsilon(table: pd.DataFrame) -> pd.DataFrame:
    """Repeat the rows without privacy for each epsilon."""
    is_private = table["epsilon"].notna()
    non_private = table[~is_private]
    epsilons = table.loc[is_private, "epsilon"].unique()
    return pd.concat([table[is_private], *(non_private.assign(epsilon=epsilon) for epsilon in epsilons)])


def draw_lines(
    panels: dict[str, pd.DataFrame],
    *,
    x: str,
    y: str,
    xlabel: str,
    ylabel: str,
    limits: tuple[float, float] | None,
    yscale: str = "linear",
) -> Figure:
    """Draw the lines of several tables side by side, against a logarithmic axis.

    Gauss by the evidence under the paper's terms is left to the table: lines are many.
    """
    panels = {
        title: panel_rows[(panel_rows["terms"] != "paper") | (panel_rows["which"] != EVIDENCE)]
        for title, panel_rows in panels.items()
    }
    n_columns = 1 if len(panels) < WIDE else 2
    n_lines = len(pd.concat(panels.values())[NAMES].drop_duplicates())
    if n_lines > MANY:
        n_columns = 2
    bottom = 44 + 9 * -(-n_lines // n_columns)
    left = 46 if yscale == "linear" else 66
    layout = {"left": left, "right": 8, "top": 18, "bottom": bottom, "ncols": len(panels), "sharey": True}
    figure, (axes,) = new_figure(left + 14 + 180 * len(panels), 168 + bottom, **layout)
    lines = {}
    for axis, (title, table) in zip(axes, panels.items(), strict=True):
        for (terms_name, method, protection, which), line_rows in table.groupby(NAMES, sort=False):
            look, line_rows = METHODS[method].look, line_rows.sort_values(x)
            (lines[label(terms_name, method, protection, which)],) = axis.plot(
                line_rows[x],
                line_rows[y],
                linestyle=STYLES_OF_RULES.get(which, STYLES[terms_name]),
                color=look[0] if look else INK,
                marker=MARKS[protection],
                markersize=3,
                linewidth=LINE_WIDTHS.get(terms_name, 1),
            )
        axis.set(xscale="log", yscale=yscale, title=title, xlabel=xlabel)
        if len(x_values := table[x].unique()) <= FEW:
            axis.set_xticks(x_values)
        with_plain_numbers(axis)
    if limits is not None:
        axes[0].set_ylim(*limits)
    axes[0].set_ylabel(ylabel)
    figure.legend(lines.values(), lines, loc="lower center", ncols=n_columns, fontsize=6, labelspacing=0.3)
    return figure


def with_plain_numbers(axis: Axes) -> None:
    """Write numbers at an axis as they are, not as powers, and none between the ticks."""
    for ruler in (axis.xaxis, axis.yaxis):
        ruler.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def without_fixed(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out the fixed penalty, which is far off the scale of the best."""
    return table[table["which"] != FIXED]


def draw_ratios(table: pd.DataFrame, name: str) -> dict[str, Drawing]:
    """Draw the log MSE ratio against l and against d, a dict of `Drawing` by the name and the axis.

    The fixed penalty is left to the table.
    """
    private = without_fixed(table[table["method"] != NON_PRIVATE])
    ratios = {"y": "log_ratio", "ylabel": "log MSE ratio", "limits": None}
    drawings = {}
    for x, xlabel, other, of_panel in (
        ("n_outcomes", "outcomes l", "n_variants", "d"),
        ("n_variants", "columns d", "n_outcomes", "l"),
    ):
        panels = {f"{of_panel} = {size}": panel_rows for size, panel_rows in private.groupby(other)}
        figure = draw_lines(panels, x=x, xlabel=xlabel, **ratios)
        drawings[f"{name}_{xlabel[-1]}"] = Drawing(figure, f"Log MSE ratio against {xlabel} (figure 4).")
    return drawings


def paper_ratios(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return the log MSE ratios by the paper's terms, each at its best penalty."""
    peeked = table[(table["terms"] == "paper") & (table["which"] == PEEKED)]
    lines = peeked.assign(line=peeked["method"] + " " + peeked["protection"])
    ratio = lines.pivot_table(index=["part", "n_variants", "n_outcomes"], columns="line", values="log_ratio")
    return ratio["reusecov-gauss full"], ratio["reusecov-proj feature"]


def judge_order(gauss: pd.Series, projected: pd.Series, part_names: Sequence[str]) -> tuple[str, bool]:
    """Hold that the same of Gauss and projection is ahead in both parts."""
    both = pd.DataFrame({part_name: (projected < gauss)[part_name] for part_name in part_names}).dropna()
    is_kept = both[part_names[0]] == both[part_names[1]]
    order_in_words = (
        f"outcomes of a network keep which of the two is ahead in {is_kept.sum()} of {len(both)} cells"
    )
    return order_in_words, bool(is_kept.mean() >= KEPT)


def judge_ratios(gauss: pd.Series, projected: pd.Series) -> tuple[str, bool]:
    """Hold that Gauss is not behind projection, and that its ratio grows with l."""
    is_ahead, grown = gauss <= projected, gauss.unstack("n_outcomes")
    is_growing = bool((np.diff(grown, axis=1) > 0).all())
    ratios_in_words = (
        f"Gauss under full protection is not behind feature projection in {is_ahead.sum()} of "
        f"{len(is_ahead)} cells, and its log MSE ratio {'grows' if is_growing else 'does not grow'} with l "
        f"at every d, to {grown.to_numpy().max():.3f}"
    )
    return ratios_in_words, bool(is_ahead.all()) and is_growing
