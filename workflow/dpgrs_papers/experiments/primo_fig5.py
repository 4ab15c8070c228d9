"""PRIMO paper, figure 5: outcomes of a two-layer network beside outcomes of a linear model."""

import pandas as pd

from dpgrs.reporting.rendering import Drawing
from dpgrs_papers.experiments import primo_haplotypes
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import summarise
from dpgrs_papers.experiments.primo_haplotypes import NETWORK
from dpgrs_papers.experiments.primo_tables import (
    by_line,
    draw_lines,
    judge_order,
    paper_ratios,
    without_fixed,
)


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 by outcomes and l; the paper's numbers are lost."""
    return by_line(table, {"part": "{}", "n_outcomes": "l = {:,}"})


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 against l, a panel for each kind of outcomes."""
    panels = {
        f"{part_name} outcomes": part_rows
        for part_name, part_rows in without_fixed(table).groupby("part", sort=False)
    }
    axes = {"x": "n_outcomes", "y": "r2", "xlabel": "outcomes l", "ylabel": "R²", "limits": (-0.05, 0.55)}
    return {"r2": Drawing(draw_lines(panels, **axes), "R^2 against the number of outcomes (figure 5).")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that networks keep the order of Gauss and projection."""
    order_in_words, is_told = judge_order(*paper_ratios(table), ("linear", NETWORK))
    compared = "Of Gauss (full) and feature projection by the paper's terms, each at its best lambda"
    reason = f"{compared}, {order_in_words}."
    return (Verdict.REPRODUCED if is_told else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Figure 5: outcomes of a two-layer network",
    summarise=summarise,
    run_replicate=primo_haplotypes.run_replicate,
    choices=(
        *primo_haplotypes.CHOICES,
        *primo_haplotypes.BEST,
        "Width and noise of the paper's network are lost in our copy: here 16 hidden units, rectified, a "
        "network for each outcome; a linear score of all of it would have about 0.73 of h2.",
    ),
)
