"""DP-SGD over a grid of its settings, and which of them are named: as it is, tuned, a little less than tuned.

Tuned is the setting of the highest score on the data, so it is not private; each single fit would be.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd

from dpgrs.linalg.linear_fit import LinearFit
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


def fit_grid(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    request_fields: dict,
    settings: dict,
    key: tuple,
    row_step: float,
    request_type: type[SgdRequest] = SgdRequest,
) -> Iterator[tuple[dict, LinearFit]]:
    """Yield each setting of a grid and its fit, the defaults first; rows are as in `private_sgd`."""
    grid = [AS_IT_IS, *product(*(settings[name] for name in SETTING))]
    for setting in dict.fromkeys(map(tuple, grid)):
        steps, clip, rate = setting
        sgd_fields = {"steps": steps, "sampling_rate": settings["sampling_rate"], "learning_rate": rate}
        largest = SgdRequest(**request_fields, **sgd_fields).row_norm_squared ** 0.5
        request = request_type(**request_fields, **sgd_fields, clip=clip * largest)
        noise = BenchmarkNoise(settings["seed"], *key, *setting)
        sample = poisson_sample_of(noise, request, n=len(X))
        sgd_fit = private_sgd(X, Y, request=request, noise=noise, sample=sample, row_step=row_step)
        yield dict(zip(SETTING, setting, strict=True)), sgd_fit.fit


def poisson_sample_of(noise: BenchmarkNoise, request: SgdRequest, *, n: int) -> Callable[[int], np.ndarray]:
    """Return the function that samples n rows in each step of `private_sgd`."""

    def sample(step: int) -> np.ndarray:
        return noise.poisson_sample(n, name=f"step {step}", probability=request.sampling_rate)

    return sample


def with_names(table: pd.DataFrame, by: str, score: str) -> pd.DataFrame:
    """Add the column `name`, and again the tuned settings of each group, which have the best scores."""
    table["name"] = ""
    table.loc[(table[SETTING] == list(AS_IT_IS)).all(axis=1), "name"] = DEFAULT
    named = []
    for _, group_rows in table.groupby(by, sort=False):
        ranked = group_rows.sort_values(score)
        rank = round(LESS_SHARE * (len(ranked) - 1))
        named += [ranked.iloc[[-1]].assign(name=TUNED), ranked.iloc[[rank]].assign(name=LESS)]
    return pd.concat([table, *named], ignore_index=True)


def in_words(setting: Mapping) -> str:
    """Say what a setting is, a str."""
    return f"{setting['steps']:g} steps, clip {setting['clip']:g}, rate {setting['learning_rate']:g}"


def draw_settings(table: pd.DataFrame, by: str, score: str, *, label: str, ylabel: str) -> dict[str, Drawing]:
    """Draw the score of all settings, the best first, a line a group; `label` formats its name."""
    figure, ((axis,),) = new_figure(460, 200, left=44, right=120, top=10, bottom=34)
    for index, (group, group_rows) in enumerate(table.groupby(by, sort=False)):
        ranked = group_rows[group_rows["name"].isin(["", DEFAULT])][score].sort_values(ascending=False)
        style, colour = "-" if index < len(PALETTE) else "--", PALETTE[index % len(PALETTE)]
        shares = np.linspace(0, 1, len(ranked))
        axis.plot(shares, ranked, style, color=colour, linewidth=1, label=label.format(group))
    axis.axvline(1 - LESS_SHARE, color=MUTED, linewidth=0.8)
    axis.set(ylim=(-1, 1.03), xlabel="share of the settings, the best first", ylabel=ylabel)
    figure.legend(*axis.get_legend_handles_labels(), loc="center right", fontsize=7)
    return {"settings": Drawing(figure, "R^2 of DP-SGD by setting; the line is where 90 % tuned stands.")}
