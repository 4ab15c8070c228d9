"""PRIMO paper, figure 6: DP-SGD and ReuseCov on images of MNIST, as the number of outcomes grows."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import row_names
from dpgrs.io.variant_set import VariantSet
from dpgrs.methods.registry import METHODS
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.types import Rows
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.primo_fits import TERMS, summarise
from dpgrs_papers.experiments.primo_tables import (
    Columns,
    at_each_epsilon,
    draw_lines,
    run_table,
    wide,
    without_fixed,
)

LARGEST = 255.0
# A pixel is predicted if it is lit in at least this share of images; others say little.
LIT_SHARE = 0.05
PARTS = {"pixels": "pixels on pixels", "linear": "a noisy linear model of pixels"}
SGD = "dp-sgd"


def run_replicate(
    part_name: str,
    replicate: int,
    settings: dict,
    files: list[Path],
    *,
    terms_by_name: dict[str, dict] = TERMS,
) -> list[dict]:
    """Measure all methods on images of the replicate's own; public numbers come from the other images.

    Part `pixels` predicts pixels from others, `linear` what a noisy linear model makes of them.
    """
    key = ("primo_mnist", replicate)
    with np.load(files[0]) as arrays:
        images = arrays["x_train"].reshape(-1, 784)
    rng = generator(settings["seed"], *key)
    order, pixels = rng.permutation(len(images)), rng.permutation(images.shape[1])
    cohort_images, public_images = images[order[: settings["images"]]], images[order[settings["images"] :]]
    feature_pixels, other_pixels = np.split(pixels, [settings["pixels"]])
    targets = other_pixels[(public_images[:, other_pixels] > 0).mean(axis=0) >= LIT_SHARE]
    bound = np.full(len(feature_pixels), LARGEST)
    columns = Columns(
        cohort_images[:, feature_pixels].astype(float),
        0 * bound,
        bound,
        public_images[:, feature_pixels].mean(axis=0),
    )
    counts = settings["counts"]
    if part_name == "pixels":
        counts = [count for count in counts if count < len(targets)] + [len(targets)]

    def make_outcomes(panel: VariantSet, size: int) -> np.ndarray:
        if part_name == "pixels":
            public_targets = public_images[:, targets]
            return ((cohort_images[:, targets] - public_targets.mean(axis=0)) / public_targets.std(axis=0)).T
        X = joined_rows(panel, size, rows=Rows.PEOPLE)
        options = {"row_id": row_names(panel.sample_id, rows=Rows.PEOPLE), "variant_rank": panel.variant_rank}
        options |= {"n_outcomes": max(counts), "heritability": settings["heritability"]}
        return simulate_outcomes(X, **options, seed=settings["seed"], key=key)[0]

    sizes = {"sizes": [settings["pixels"]], "counts": counts}
    return run_table(
        columns, make_outcomes, **sizes, settings=settings, key=(*key, part_name), terms_by_name=terms_by_name
    )


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 by the number of outcomes; the paper's numbers are lost in our copy."""
    numbers = wide(table, {"part": "outcomes", "epsilon": "epsilon", "n_outcomes": "l"})
    return numbers.assign(l=numbers["l"].astype(str), outcomes=numbers["outcomes"].map(PARTS))


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw R^2 against the number of outcomes, a figure a part."""
    drawings = {}
    axes = {"x": "n_outcomes", "y": "r2", "xlabel": "outcomes l", "ylabel": "R²", "limits": (-0.05, 0.9)}
    for part_name, part_rows in table.groupby("part", sort=False):
        each = at_each_epsilon(without_fixed(part_rows)).groupby("epsilon")
        figure = draw_lines({f"epsilon {epsilon:g}": panel for epsilon, panel in each}, **axes)
        drawings[part_name] = Drawing(
            figure, f"R^2 against the number of outcomes (figure 6), {PARTS[part_name]}."
        )
    return drawings


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold DP-SGD to be ahead of ReuseCov at one outcome, by less as outcomes grow in number."""
    full = table[table["protection"] == "full"]
    comparisons, is_shown = [], []
    for (part_name, epsilon), cell_rows in full.groupby(["part", "epsilon"], sort=False):
        first, last = cell_rows["n_outcomes"].min(), cell_rows["n_outcomes"].max()
        at_ends = cell_rows.set_index("n_outcomes").groupby("method", sort=False)["r2"]
        best = {method: (r2[[first]].max(), r2[[last]].max()) for method, r2 in at_ends}
        accuracies = ", ".join(
            f"{METHODS[name].label} {r2[0]:.2f} and {r2[1]:.2f}" for name, r2 in best.items()
        )
        comparisons.append(f"{PARTS[part_name]}, epsilon {epsilon:g}, l = {first} and {last}: {accuracies}")
        if SGD in best:
            gaps = [sgd - gauss for sgd, gauss in zip(best[SGD], best["reusecov-gauss"], strict=True)]
            is_shown.append(gaps[0] > 0 and gaps[1] < gaps[0])
    reason = f"R^2 under full protection, each at its best. {'; '.join(comparisons)}."
    if not is_shown:
        return Verdict.NOT_HERE, f"DP-SGD is not among the methods, so its lead is not shown. {reason}"
    return (Verdict.REPRODUCED if all(is_shown) else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Figure 6: DP-SGD against ReuseCov on MNIST",
    summarise=summarise,
    choices=(
        "The paper's outcomes are a noisy linear model of pixels (`linear`); its numbers of images, pixels "
        "and outcomes, its epsilon and its noise are lost in our copy. Here half of the variance is "
        "explained. `pixels` predicts other pixels, those that are lit in at least 5 % of images.",
        "Centres and scales are those of the images that are not taken. Delta is 10<sup>-6</sup>. A fifth of "
        "the images is predicted.",
        "The paper's terms: one row replaced, epsilon and delta in two halves, one ball for all outcomes or "
        "pixels. The others: one row added or removed, exact accounting. Both clip rows at 1.4 times the "
        "root mean square that dosages of such frequencies would have.",
        "The best lambda is found on the test rows: peeked, so not private.",
    ),
)
