"""Tukey paper, figure 1, its last two columns: DP-SGD as it is, tuned, and a little less than tuned."""

from itertools import product

import numpy as np
import pandas as pd

from dpgrs.evaluation.metrics import r_squared
from dpgrs.experiments.frame import Experiment, Verdict
from dpgrs.experiments.tukey_data import DELTA, EPSILON, TEST_SHARE, read_part
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.statistics import grid_outcomes
from dpgrs.methods.dp_sgd import SgdRequest, private_sgd
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import MUTED, PALETTE, new_figure
from dpgrs.types import Rows, Unit

# Steps, share of the largest gradient of a row with a residual of 1, and learning rate.
SETTING = ["steps", "clip", "learning_rate"]
DEFAULT, TUNED, LESS = "default", "tuned", "90 % tuned"
AS_IT_IS = (100, 1.0, 1.0)
LESS_SHARE = 0.9
# Medians of R^2 on the training rows: tuned, 90 % tuned. Bold cells are lost in our copy.
PAPER = {"diamonds-ranked": (np.nan, 0.371)}


def run_trial(part, trial, settings, files):
    """Fit every setting of the grid on nine tenths of the rows; measure on these, and on the others."""
    key = ("tukey sgd", part, trial)
    rng = generator(settings["seed"], *key)
    X, y = read_part(part, files, rng)
    order = rng.permutation(len(y))
    n_test = round(TEST_SHARE * len(y))
    test, training = order[:n_test], order[n_test:]
    # By the largest of the data, which is not private. The intercept is the mechanism's own.
    X = np.trunc(X[:, :-1] / np.abs(X[:, :-1]).max(axis=0) / DOSAGE_STEP) * DOSAGE_STEP
    y = y / np.abs(y).max()
    Y, rows = grid_outcomes(y[np.newaxis, training], bound=1.0), []
    grid = [AS_IT_IS, *product(*(settings[name] for name in SETTING))]
    for steps, clip, rate in dict.fromkeys(map(tuple, grid)):
        own = {"steps": steps, "sampling_rate": settings["sampling_rate"], "learning_rate": rate}
        request = _request(X.shape[1], **own)
        request = _request(X.shape[1], **own, clip=clip * request.row_norm_squared**0.5)
        noise = BenchmarkNoise(settings["seed"], *key, steps, clip, rate)
        fit = private_sgd(
            X[training],
            Y,
            request=request,
            noise=noise,
            sample=_sample(noise, request, n=len(training)),
            row_step=DOSAGE_STEP,
        ).fit
        row = {"n": len(y), "d": X.shape[1] + 1, "steps": steps, "clip": clip, "learning_rate": rate}
        for name, seen in (("r2_training", training), ("r2_test", test)):
            mean = y[training].mean(keepdims=True)
            row[name] = float(r_squared(y[np.newaxis, seen], fit.predict(X[seen]), training_mean=mean)[0])
        rows.append(row)
    return rows


def _request(n_columns, **terms):
    public = {"rows": Rows.PEOPLE, "unit": Unit.PERSON, "n_outcomes": 1, "outcome_bound": 1.0}
    return SgdRequest(epsilon=EPSILON, delta=DELTA, n_variants=n_columns, **public, **terms)


def _sample(noise, request, *, n):
    def sample(step):
        return noise.poisson_sample(n, name=f"step {step}", probability=request.sampling_rate)

    return sample


def summarise(rows, settings):
    """Return medians over trials of every setting, and which of them are named."""
    by = rows.groupby(["part", "n", "d", *SETTING], sort=False)[["r2_training", "r2_test"]]
    table = by.median().reset_index()
    table["name"] = ""
    table.loc[(table[SETTING] == list(AS_IT_IS)).all(axis=1), "name"] = DEFAULT
    named = []
    for _, own in table.groupby("part", sort=False):
        ranked = own.sort_values("r2_training")
        place = round(LESS_SHARE * (len(ranked) - 1))
        named += [ranked.iloc[[-1]].assign(name=TUNED), ranked.iloc[[place]].assign(name=LESS)]
    return pd.concat([table, *named], ignore_index=True)


def compare(table, settings):
    """Return R^2 of the named settings beside the paper's, a row a set."""
    rows = []
    for part, own in table.groupby("part", sort=False):
        row = {"set": part, "n x d": f"{own['n'].iloc[0]:,} x {own['d'].iloc[0]}"}
        by = own[own["name"] != ""].set_index("name")
        for place, name in enumerate((TUNED, LESS, DEFAULT)):
            if name != DEFAULT:
                row[f"{name}, paper"] = PAPER.get(part, (np.nan, np.nan))[place]
            row |= {
                f"{name}, training": by.loc[name, "r2_training"],
                f"{name}, test": by.loc[name, "r2_test"],
            }
        best = by.loc[TUNED]
        row["tuned to"] = f"{best['steps']:g} steps, clip {best['clip']:g}, rate {best['learning_rate']:g}"
        rows.append(row)
    return pd.DataFrame(rows)


def draw(table, settings):
    """Draw R^2 of all settings, the best first, a line a set."""
    figure, ((axis,),) = new_figure(460, 200, left=44, right=120, top=10, bottom=34)
    for place, (part, own) in enumerate(table.groupby("part", sort=False)):
        ranked = own[own["name"].isin(["", DEFAULT])]["r2_training"].sort_values(ascending=False)
        style = "-" if place < len(PALETTE) else "--"
        colour = PALETTE[place % len(PALETTE)]
        axis.plot(np.linspace(0, 1, len(ranked)), ranked, style, color=colour, linewidth=1, label=part)
    axis.axvline(1 - LESS_SHARE, color=MUTED, linewidth=0.8)
    axis.set(ylim=(-1, 1.03), xlabel="share of the settings, the best first", ylabel="R^2, training rows")
    figure.legend(*axis.get_legend_handles_labels(), loc="center right", fontsize=7)
    return {"settings": Drawing(figure, "R^2 of DP-SGD by setting; the line is where 90 % tuned stands.")}


def judge(table, settings):
    """Hold that a mildly worse setting costs much, as the paper says."""
    numbers = compare(table, settings).set_index("set")
    tuned, less = (numbers[f"{name}, training"] for name in (TUNED, LESS))
    n_lower = int((less < tuned - 0.05).sum())
    said = (
        f"the setting at the 90th percentile is more than 0.05 below the best on {n_lower} of {len(numbers)} "
        f"sets (by {np.median(tuned - less):.2f} in the median)"
    )
    is_same = n_lower > len(numbers) / 2
    return (Verdict.REPRODUCED if is_same else Verdict.WITH_DIFFERENCE), f"{said}; the default is not tuned."


EXPERIMENT = Experiment(
    paper="Tukey (arXiv 2208.07353)",
    shows="Figure 1, DP-SGD tuned and 90 % tuned",
    choices=(
        "(ln 3, 1e-5), add-remove, exact accounting. Tuned is the setting of the highest median R^2 on the "
        "training rows, 90 % tuned the one at the 90th percentile: **peeked, so not private**, in the paper "
        "as here.",
        "Columns and outcome are divided by their largest value in the data, which is not private either.",
        "The paper's grid, 2,184 settings of learning rate, clip, microbatches and epochs with 100 trials "
        "each, is lost in our copy. Here: steps, clip (a share of the largest gradient of a residual of 1) "
        "and learning rate (over the largest squared norm), a tenth of the rows in a step.",
        "Bold cells of the paper's figure are lost: of its sets at hand only one number is left.",
    ),
)
