"""PRIMO paper, figures 3 and 4, on real haplotypes and on copies: log MSE ratio against d, l and people."""

import pandas as pd

from dpgrs.reporting.rendering import Drawing
from dpgrs_papers.experiments import primo_haplotypes
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import NON_PRIVATE, best_of_path
from dpgrs_papers.experiments.primo_haplotypes import GENERATED, PEOPLE, n_copies
from dpgrs_papers.experiments.primo_tables import (
    by_line,
    draw_lines,
    draw_ratios,
    judge_ratios,
    paper_ratios,
    without_fixed,
)

SIZE = ["n_variants", "n_outcomes"]


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the log MSE ratio of each method, at the best penalty, the fixed one and by the evidence."""
    table = best_of_path(rows, keeps_fixed=True)
    return table.assign(people=[n_copies(part_name, settings) or PEOPLE for part_name in table["part"]])


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the log MSE ratio by people, d and l; the paper's numbers are lost."""
    keys = {"people": "n = {:,}", "n_variants": "d = {}", "n_outcomes": "l = {:,}"}
    return by_line(table, keys, value="log_ratio")


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the log MSE ratio against l and d for each number of people, and against this number."""
    drawings = {}
    for part_name, part_rows in table.groupby("part", sort=False):
        drawings |= draw_ratios(part_rows, "ratio" if n_copies(part_name, settings) is None else part_name)
    table = table[~table["part"].str.startswith(GENERATED)]
    if table["people"].nunique() > 1:
        private = without_fixed(table[table["method"] != NON_PRIVATE])
        most = private[private["n_variants"] == private["n_variants"].max()]
        panels = {"d = {}, l = {:,}".format(*cell): cell_rows for cell, cell_rows in most.groupby(SIZE)}
        axes = {"x": "people", "xlabel": "people", "y": "log_ratio", "ylabel": "log MSE ratio"}
        figure = draw_lines(panels, **axes, limits=None)
        drawings["people"] = Drawing(
            figure, f"Log MSE ratio against the number of people; above {PEOPLE:,} they are copies."
        )
    return drawings


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that Gauss is ahead of projection and its ratio grows, as the paper says of large n."""
    gauss, projected = paper_ratios(table)
    comparisons, is_told = [], []
    for people, part_name in sorted({*table[["people", "part"]].itertuples(index=False, name=None)}):
        words, is_so = judge_ratios(gauss[part_name], projected[part_name])
        origin = "people of a generator" if part_name.startswith(GENERATED) else "copies of people"
        where = "the real n" if n_copies(part_name, settings) is None else f"{people:,} {origin}"
        comparisons.append(f"at {where} {words}")
        is_told.append(is_so)
    reason = f"By the paper's terms, each at its best lambda: {'; '.join(comparisons)}."
    return (Verdict.REPRODUCED if is_told[-1] else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Figures 3 and 4 on haplotypes: log MSE ratio against d and l",
    run_replicate=primo_haplotypes.run_replicate,
    choices=(
        *primo_haplotypes.CHOICES,
        *primo_haplotypes.BEST,
        "The paper has up to a million samples of a generative network that we have not. `generated` are "
        "those of a network of ours, trained on all people without their populations; it needs the extra "
        "`gan`. `copies` are "
        "mosaics of the real haplotypes by the copying model of Li and Stephens, those that are predicted, "
        "too: they show what so many rows do to noise, not how scores carry over to so many people. Copies "
        "of the same few people are no public panel for each other, so none have one. The same on many "
        "rows of normal data is `primo_gaussian`.",
        "The symbol of an axis is lost, so both d and l are shown. The ratio is to ridge regression without "
        "privacy at its own best lambda.",
    ),
)
