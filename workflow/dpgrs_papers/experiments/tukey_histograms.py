"""Tukey paper, section 7.7: histograms of the coefficients of least squares on many parts of the rows."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm

from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK, PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.tukey_data import read_dataset
from dpgrs_papers.methods.tukey_models import fit_models

MOST_MODELS, N_BINS = 2000, 50
# Half the width of a normal distribution's middle half, and how far the histograms reach, in such widths.
QUARTILE, REACH = 0.6745, 8
SHOWN = "synthetic", "california", "diamonds-ranked"


def run_replicate(dataset: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Fit models on equal parts of the rows, and describe and count each coefficient."""
    rng = generator(settings["seed"], "tukey histograms", dataset, replicate)
    X, y = read_dataset(dataset, files, rng)
    n_models = min(MOST_MODELS, len(y) // X.shape[1])
    size = len(y) // n_models
    order = rng.permutation(len(y))[: size * n_models]
    models = fit_models(X[order], y[order], np.arange(len(order)) // size, n_models=n_models)
    rows = []
    for number, coefficients in enumerate(models.T, start=1):
        keys = {"coefficient": number, "models": n_models, "rows_per_coefficient": size / X.shape[1]}
        # A level of a label that is in few parts is 0 in the others.
        keys["zeros"] = np.mean(np.abs(coefficients) < 1e-9)
        rows += [keys | row for row in describe(coefficients)]
    return rows


def describe(coefficients: np.ndarray) -> list[dict]:
    """Return how far coefficients, not all equal, are from normal, and a row for each bin's count."""
    middle, (low, high) = np.median(coefficients), np.quantile(coefficients, (0.25, 0.75))
    width = (high - low) / (2 * QUARTILE) or coefficients.std()
    description = {
        "widths_of_sd": coefficients.std() / width,
        "distance": distance_to_normal((coefficients - coefficients.mean()) / coefficients.std()),
        "robust_distance": distance_to_normal((coefficients - middle) / width),
        "skew": (coefficients.mean() - middle) / coefficients.std(),
    }
    ends = np.linspace(-REACH, REACH, N_BINS + 1)
    counts, _ = np.histogram((coefficients - middle) / width, ends)
    return [description | {"left": left, "count": count} for left, count in zip(ends, counts, strict=False)]


def distance_to_normal(values: np.ndarray) -> float:
    """Return the largest gap between the distribution of values and the standard normal one, in [0, 1]."""
    expected, n = ndtr(np.sort(values)), len(values)
    steps = np.arange(n)
    return max((expected - steps / n).max(), ((steps + 1) / n - expected).max())


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the rows as they are."""
    return rows


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return, for each set, means over its coefficients; the paper prints no number."""
    rows = []
    for dataset, dataset_rows in table.drop_duplicates(["part", "replicate", "coefficient"]).groupby(
        "part", sort=False
    ):
        row = {"set": dataset, "models": str(dataset_rows["models"].iloc[0])}
        row["rows for each coefficient"] = dataset_rows["rows_per_coefficient"].iloc[0]
        row["distance to the normal of the same mean and sd"] = dataset_rows["distance"].median()
        row["of the same median and quartiles"] = dataset_rows["robust_distance"].median()
        row["sd over that of the middle half"] = dataset_rows["widths_of_sd"].median()
        row["(mean - median)/sd, largest"] = dataset_rows["skew"].abs().max()
        rows.append(row | {"models with a coefficient of 0, largest": dataset_rows["zeros"].max()})
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw the histograms of the paper's sets, each with the normal curve of its median and quartiles."""
    return {
        dataset: _draw_part(table[(table["part"] == dataset) & (table["replicate"] == 1)])
        for dataset in SHOWN
        if (table["part"] == dataset).any()
    }


def _draw_part(dataset_rows: pd.DataFrame) -> Drawing:
    numbers = list(dict.fromkeys(dataset_rows["coefficient"]))
    n_rows = -(-len(numbers) // 6)
    figure, axes = new_figure(
        540, 70 * n_rows + 30, left=10, right=10, top=20, bottom=30, nrows=n_rows, ncols=6
    )
    figure.subplots_adjust(hspace=0.6)
    x = np.linspace(-REACH, REACH, 81)
    for axis, number in zip(axes.flat, numbers, strict=False):
        coefficient_rows = dataset_rows[dataset_rows["coefficient"] == number]
        step = 2 * REACH / N_BINS
        axis.stairs(
            coefficient_rows["count"], [*coefficient_rows["left"], REACH], color=PALETTE[0], fill=True
        )
        axis.plot(x, coefficient_rows["models"].iloc[0] * step * norm.pdf(x), color=INK, linewidth=0.8)
        axis.set(title="intercept" if number == numbers[-1] else f"coefficient {number}", yticks=[])
    for axis in axes.flat[len(numbers) :]:
        axis.set_visible(False)
    words = (
        "Coefficients of the models, in normal standard deviations from their median, and the normal curve."
    )
    return Drawing(figure, f"{dataset_rows['part'].iloc[0]}. {words}")


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that models are concentrated and symmetric, and say how far from normal their tails are."""
    numbers = compare(table, settings)
    fit, tails = numbers["of the same median and quartiles"], numbers["sd over that of the middle half"]
    reason = (
        "The middle of the distributions is near normal: the distance to the normal of the same quartiles is "
        f"{fit.min():.3f} to {fit.max():.3f} (medians over the coefficients of a set). The tails are "
        f"heavier: standard deviations are {tails.min():.2g} to {tails.max():.2g} times those of the middle "
        f"half."
    )
    return (Verdict.REPRODUCED if tails.max() < 1.5 else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="Tukey (arXiv 2208.07353)",
    shows="Section 7.7, histograms of the models",
    choices=(
        "2,000 models on equal parts of all rows, as in the paper, or as many as leave a row for each "
        "coefficient.",
        "The paper's curve has the mean and standard deviation of the values. Ours has their median and "
        "quartiles, since few parts whose rows hardly determine a model make the standard deviation what it "
        "is; both distances are in the table. A distance is that of Kolmogorov and Smirnov.",
    ),
)
