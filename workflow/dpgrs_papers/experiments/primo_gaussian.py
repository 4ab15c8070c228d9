"""PRIMO paper, section 7.8, figures 3 and 4: normal data, outcomes of a model or of a network, large n."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import row_names
from dpgrs.io.variant_set import VariantSet
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.types import Rows
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import summarise
from dpgrs_papers.experiments.primo_tables import (
    Columns,
    draw_lines,
    draw_ratios,
    judge_order,
    judge_ratios,
    paper_ratios,
    run_table,
    wide,
    without_fixed,
)

# Public: in standard deviations, what lies beyond is clipped.
LARGEST = 4.0
NETWORK, LARGE = "network", "large"
KEYS = {"part": "data", "n_variants": "d", "n_outcomes": "l"}


def run_replicate(part_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Measure all methods on rows of independent normal columns; part `network` has outcomes of networks."""
    key, seed = ("primo_gaussian", part_name, replicate), settings["seed"]
    sizes, counts = settings["sizes"], settings["counts"][part_name]
    X = generator(seed, *key).standard_normal((settings["rows"][part_name], max(sizes)))
    bound = np.full(max(sizes), LARGEST)

    def make_outcomes(panel: VariantSet, size: int) -> np.ndarray:
        options = {"row_id": row_names(panel.sample_id, rows=Rows.PEOPLE), "seed": seed, "key": key}
        options["width"] = settings["width"] if part_name == NETWORK else None
        return simulate_outcomes(
            joined_rows(panel, size, rows=Rows.PEOPLE),
            variant_rank=panel.variant_rank[panel.of_size(size)],
            n_outcomes=max(counts),
            heritability=settings["heritability"],
            public_moments=(np.zeros(size), np.full(size, LARGEST**-2)),
            **options,
        )[0]

    columns = Columns(X, -bound, bound, 0 * bound)
    return run_table(columns, make_outcomes, sizes=sizes, counts=counts, settings=settings, key=key)


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2, and the log MSE ratio of large n, by data, d and l; the paper's numbers are lost."""
    is_large = table["part"] == LARGE
    measures = [("R^2", "r2", table[~is_large]), ("log MSE ratio", "log_ratio", table[is_large])]
    wide_tables = [
        wide(measure_rows, KEYS, value=column).assign(shown=shown)
        for shown, column, measure_rows in measures
        if len(measure_rows)
    ]
    numbers = pd.concat(wide_tables, ignore_index=True)
    numbers.insert(3, "shown", numbers.pop("shown"))
    return numbers.assign(d=numbers["d"].astype(str), l=numbers["l"].astype(str))


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 against l, and for large n the log MSE ratio against l and against d."""
    drawings = {}
    for part_name, part_rows in table.groupby("part", sort=False):
        by_size = {
            f"d = {size}": size_rows for size, size_rows in without_fixed(part_rows).groupby("n_variants")
        }
        axes = {"x": "n_outcomes", "xlabel": "outcomes l"}
        if part_name != LARGE:
            figure = draw_lines(by_size, y="r2", ylabel="R²", limits=(-0.05, 0.6), **axes)
            drawings[part_name] = Drawing(
                figure, f"R^2 against the number of outcomes, {part_name} outcomes (section 7.8)."
            )
            continue
        drawings |= draw_ratios(part_rows, LARGE)
    return drawings


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that networks keep the order of Gauss and projection, and that at large n Gauss is ahead."""
    gauss, projected = paper_ratios(table)
    part_names, judged = set(table["part"]), []
    if {"linear", NETWORK} <= part_names:
        judged.append(judge_order(gauss, projected, ("linear", NETWORK)))
    if LARGE in part_names:
        ratios_in_words, is_told = judge_ratios(gauss[LARGE], projected[LARGE])
        judged.append((f"at n = {settings['rows'][LARGE]:,} {ratios_in_words}", is_told))
    reasons, is_as_told = zip(*judged, strict=True)
    reason = "By the paper's terms, each at its best lambda: " + "; ".join(reasons) + "."
    return (Verdict.REPRODUCED if all(is_as_told) else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Normal data of section 7.8, and figures 3 and 4 at large n",
    summarise=summarise,
    choices=(
        "The paper does not state n, d, l or epsilon of its normal data in our copy. Here columns are "
        "independent and standard, four fifths of the rows are trained on, half of the variance is "
        "explained, epsilon is 5, delta 10<sup>-6</sup>, and a network has 16 hidden units, as in figure 5 "
        "here.",
        "Values are taken to lie between -4 and 4, publicly, and rows are clipped at 1.13 times their root "
        "mean square: PRIMO's rows of norm at most 1, on another scale.",
        "Figures 3 and 4 have samples of a generative network trained on dbGaP, up to a million, which we "
        "have not: `large` is normal data. The symbol of an axis is lost, so both d and l are shown.",
        "The best lambda is found on the test rows: peeked, so not private.",
    ),
)
