"""Tukey paper, section 7.7: histograms of the coefficients of least squares on many parts of the rows."""

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm

from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import INK, PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.tukey_data import read_part
from dpgrs_papers.methods.tukey_models import fit_models

MOST_MODELS, N_BINS = 2000, 50
# Half the width of a normal distribution's middle half, and how far the histograms reach, in such widths.
QUARTILE, REACH = 0.6745, 8
SHOWN = "synthetic", "california", "diamonds-ranked"


def run_replicate(part, replicate, settings, files):
    """Fit models on equal parts of the rows, and describe and count each coefficient."""
    rng = generator(settings["seed"], "tukey histograms", part, replicate)
    X, y = read_part(part, files, rng)
    n_models = min(MOST_MODELS, len(y) // X.shape[1])
    size = len(y) // n_models
    order = rng.permutation(len(y))[: size * n_models]
    models = fit_models(X[order], y[order], np.arange(len(order)) // size, n_models=n_models)
    rows = []
    for number, values in enumerate(models.T, start=1):
        keys = {"coefficient": number, "models": n_models, "rows_per_coefficient": size / X.shape[1]}
        # A level of a label that is in few parts is 0 in the others.
        keys["zeros"] = np.mean(np.abs(values) < 1e-9)
        rows += [keys | row for row in describe(values)]
    return rows


def describe(values):
    """Return how far values are from normal, and the counts of a histogram, as rows of a bin each.

    Parameters
    ----------
    values : (n_models,) float64, not all equal.
    """
    middle, (low, high) = np.median(values), np.quantile(values, (0.25, 0.75))
    width = (high - low) / (2 * QUARTILE) or values.std()
    told = {
        "widths_of_sd": values.std() / width,
        "distance": distance_to_normal((values - values.mean()) / values.std()),
        "robust_distance": distance_to_normal((values - middle) / width),
        "skew": (values.mean() - middle) / values.std(),
    }
    ends = np.linspace(-REACH, REACH, N_BINS + 1)
    counts, _ = np.histogram((values - middle) / width, ends)
    return [told | {"left": left, "count": count} for left, count in zip(ends, counts, strict=False)]


def distance_to_normal(values):
    """Return the largest gap between the distribution of values and the standard normal one, in [0, 1]."""
    expected, n = ndtr(np.sort(values)), len(values)
    steps = np.arange(n)
    return max((expected - steps / n).max(), ((steps + 1) / n - expected).max())


def summarise(rows, settings):
    """Return the rows as they are."""
    return rows


def compare(table, settings):
    """Return, for each set, means over its coefficients; the paper prints no number."""
    rows = []
    for part, own in table.drop_duplicates(["part", "replicate", "coefficient"]).groupby("part", sort=False):
        row = {"set": part, "models": str(own["models"].iloc[0])}
        row["rows for each coefficient"] = own["rows_per_coefficient"].iloc[0]
        row["distance to the normal of the same mean and sd"] = own["distance"].median()
        row["of the same median and quartiles"] = own["robust_distance"].median()
        row["sd over that of the middle half"] = own["widths_of_sd"].median()
        row["(mean - median)/sd, largest"] = own["skew"].abs().max()
        rows.append(row | {"models with a coefficient of 0, largest": own["zeros"].max()})
    return pd.DataFrame(rows)


def draw(table, settings):
    """Draw the histograms of the paper's sets, each with the normal curve of its median and quartiles."""
    return {
        part: _draw_part(table[(table["part"] == part) & (table["replicate"] == 1)])
        for part in SHOWN
        if (table["part"] == part).any()
    }


def _draw_part(own):
    numbers = list(dict.fromkeys(own["coefficient"]))
    n_rows = -(-len(numbers) // 6)
    figure, axes = new_figure(
        540, 70 * n_rows + 30, left=10, right=10, top=20, bottom=30, nrows=n_rows, ncols=6
    )
    figure.subplots_adjust(hspace=0.6)
    x = np.linspace(-REACH, REACH, 81)
    for axis, number in zip(axes.flat, numbers, strict=False):
        one = own[own["coefficient"] == number]
        step = 2 * REACH / N_BINS
        axis.stairs(one["count"], [*one["left"], REACH], color=PALETTE[0], fill=True)
        axis.plot(x, one["models"].iloc[0] * step * norm.pdf(x), color=INK, linewidth=0.8)
        axis.set(title="intercept" if number == numbers[-1] else f"coefficient {number}", yticks=[])
    for axis in axes.flat[len(numbers) :]:
        axis.set_visible(False)
    words = (
        "Coefficients of the models, in normal standard deviations from their median, and the normal curve."
    )
    return Drawing(figure, f"{own['part'].iloc[0]}. {words}")


def judge(table, settings):
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
