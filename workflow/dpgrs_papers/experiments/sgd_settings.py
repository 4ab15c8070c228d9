"""DP-SGD over a grid of its settings, and which of them are named: as it is, tuned, a little less than tuned.

Tuned is the setting of the highest score on the data, so it is not private; each fit alone would be.
"""

from itertools import product

import numpy as np
import pandas as pd

from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import MUTED, PALETTE
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.methods.dp_sgd import SgdRequest, private_sgd

# Steps, share of the largest gradient of a row with a residual of 1, and learning rate.
SETTING = ["steps", "clip", "learning_rate"]
DEFAULT, TUNED, LESS = "default", "tuned", "90 % tuned"
AS_IT_IS = (100, 1.0, 1.0)
LESS_SHARE = 0.9


def fit_grid(X, Y, *, terms, settings, key, row_step, request_type=SgdRequest):
    """Fit each setting of a grid, the defaults first.

    Parameters
    ----------
    X, Y, row_step : as in `private_sgd`.
    terms : dict of the terms of a `PrivacyRequest`.
    settings : dict, with `seed`, `sampling_rate` and a list for each of `SETTING`.
    key : tuple of str and int, tells noise apart.
    request_type : class of the request, `SgdRequest` or one of its kind.

    Yields
    ------
    dict of `SETTING`, and the LinearFit.
    """
    grid = [AS_IT_IS, *product(*(settings[name] for name in SETTING))]
    for setting in dict.fromkeys(map(tuple, grid)):
        steps, clip, rate = setting
        own = {"steps": steps, "sampling_rate": settings["sampling_rate"], "learning_rate": rate}
        largest = SgdRequest(**terms, **own).row_norm_squared ** 0.5
        request = request_type(**terms, **own, clip=clip * largest)
        noise = BenchmarkNoise(settings["seed"], *key, *setting)
        sample = poisson_sample_of(noise, request, n=len(X))
        found = private_sgd(X, Y, request=request, noise=noise, sample=sample, row_step=row_step)
        yield dict(zip(SETTING, setting, strict=True)), found.fit


def poisson_sample_of(noise, request, *, n):
    """Return the function by which `private_sgd` samples n rows in each step."""

    def sample(step):
        return noise.poisson_sample(n, name=f"step {step}", probability=request.sampling_rate)

    return sample


def with_names(table, by, score):
    """Add the column `name`, and the tuned settings again with theirs.

    Parameters
    ----------
    table : DataFrame, a row a setting of each group.
    by : str, a column that tells groups apart.
    score : str, the column by which settings are tuned.
    """
    table["name"] = ""
    table.loc[(table[SETTING] == list(AS_IT_IS)).all(axis=1), "name"] = DEFAULT
    named = []
    for _, own in table.groupby(by, sort=False):
        ranked = own.sort_values(score)
        place = round(LESS_SHARE * (len(ranked) - 1))
        named += [ranked.iloc[[-1]].assign(name=TUNED), ranked.iloc[[place]].assign(name=LESS)]
    return pd.concat([table, *named], ignore_index=True)


def in_words(setting):
    """Say what a setting is, a str."""
    return f"{setting['steps']:g} steps, clip {setting['clip']:g}, rate {setting['learning_rate']:g}"


def draw_settings(table, by, score, *, label, ylabel):
    """Draw the score of all settings, the best first, a line a group.

    Parameters
    ----------
    table, by, score : as `with_names` returns and takes.
    label : str, a format of a group's name.
    ylabel : str
    """
    figure, ((axis,),) = new_figure(460, 200, left=44, right=120, top=10, bottom=34)
    for place, (group, own) in enumerate(table.groupby(by, sort=False)):
        ranked = own[own["name"].isin(["", DEFAULT])][score].sort_values(ascending=False)
        style, colour = "-" if place < len(PALETTE) else "--", PALETTE[place % len(PALETTE)]
        shares = np.linspace(0, 1, len(ranked))
        axis.plot(shares, ranked, style, color=colour, linewidth=1, label=label.format(group))
    axis.axvline(1 - LESS_SHARE, color=MUTED, linewidth=0.8)
    axis.set(ylim=(-1, 1.03), xlabel="share of the settings, the best first", ylabel=ylabel)
    figure.legend(*axis.get_legend_handles_labels(), loc="center right", fontsize=7)
    return {"settings": Drawing(figure, "R^2 of DP-SGD by setting; the line is where 90 % tuned stands.")}
