"""DPKendall, Theorem 3.4 and Lemma 4.1: how long private choices take against rows and features."""

import time
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.methods.registry import METHODS
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.tabular.compositions import TableRequest, choose_columns

SELECTORS = {"DPKendall": METHODS["k-tukey"], "SubLasso": METHODS["l-tukey"]}
# What the paper states: n ln n for DPKendall, n for SubLasso; d k and d^2.
STATED = {"DPKendall": (1.0, 1.0), "SubLasso": (1.0, 2.0)}


def run_replicate(part_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Time the choice of k features for every number of rows and of features, in processor seconds."""
    request, rows = TableRequest(epsilon=1.0, delta=1e-5, k=settings["k"]), []
    rng = generator(settings["seed"], "kendall_time", replicate)
    # The first choice of a process loads libraries and compiles, and is not counted.
    for n_rows in (settings["rows"][0], *settings["rows"]):
        for d in settings["features"]:
            X = rng.standard_normal((n_rows, d))
            y = X[:, : settings["k"]].sum(axis=1) + rng.standard_normal(n_rows)
            for name, method in SELECTORS.items():
                noise = BenchmarkNoise(settings["seed"], "kendall_time", replicate)
                started = time.process_time()
                choose_columns(X, y, method=method, n_low=n_rows, epsilon=1.0, request=request, noise=noise)
                seconds = time.process_time() - started
                rows.append({"selector": name, "rows": n_rows, "features": d, "seconds": seconds})
    return rows[len(SELECTORS) * len(settings["features"]) :]


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the least time of all replicates: what others did meanwhile only adds to it."""
    return rows.groupby(["selector", "rows", "features"], sort=False)["seconds"].min().reset_index()


def exponents(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Fit seconds = c rows^a features^b by least squares of logarithms: a dict of selector to (a, b)."""
    fitted = {}
    for name, times in table.groupby("selector", sort=False):
        logs = np.log(times[["rows", "features", "seconds"]].to_numpy(dtype=float))
        design = np.column_stack([logs[:, :2], np.ones(len(logs))])
        fitted[name] = tuple(np.linalg.lstsq(design, logs[:, 2], rcond=None)[0][:2].tolist())
    return fitted


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return seconds, and the exponents beside what the paper states."""
    largest = table.groupby("selector", sort=False).last()["seconds"]
    n_rows, d = table["rows"].max(), table["features"].max()
    rows = []
    for name, (of_rows, of_features) in exponents(table).items():
        stated = STATED[name]
        rows.append(
            {
                "selector": name,
                f"seconds at {n_rows} rows, {d} features": f"{largest[name]:.3g}",
                "exponent of rows": f"{of_rows:.2f} (paper {stated[0]:g})",
                "exponent of features": f"{of_features:.2f} (paper {stated[1]:g})",
            }
        )
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw time against rows and against features."""
    figure, (axes,) = new_figure(480, 190, left=44, right=10, top=20, bottom=58, ncols=2, sharey=True)
    for axis, name, other in zip(axes, ("rows", "features"), ("features", "rows"), strict=True):
        most = table[other].max()
        for colour, selector in zip(PALETTE, SELECTORS, strict=False):
            selector_times = table[(table["selector"] == selector) & (table[other] == most)]
            axis.plot(
                selector_times[name],
                selector_times["seconds"],
                color=colour,
                marker="o",
                markersize=3,
                label=selector,
            )
        axis.set(xscale="log", yscale="log", xlabel=name, title=f"{most} {other}")
    axes[0].set_ylabel("processor seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=2)
    return {"time": Drawing(figure, f"Time of a choice of {settings['k']} features.")}


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Hold that DPKendall takes less time than SubLasso throughout, and how either grows."""
    fitted = exponents(table)
    wide = table.pivot(index=["rows", "features"], columns="selector", values="seconds")
    ratio = wide["SubLasso"] / wide["DPKendall"]
    times_in_words = (
        f"SubLasso takes {ratio.min():.1f} to {ratio.max():.1f} times as long as DPKendall, which grows as "
        f"features^{fitted['DPKendall'][1]:.2f}"
    )
    if ratio.min() < 1:
        return Verdict.WITH_DIFFERENCE, f"{times_in_words}."
    if fitted["SubLasso"][1] < 1.5:
        return Verdict.WITH_DIFFERENCE, (
            f"{times_in_words}; SubLasso as features^{fitted['SubLasso'][1]:.2f}, not ^2: the time of a "
            "Lasso of five rows hardly hangs on its features."
        )
    return Verdict.REPRODUCED, f"{times_in_words}."


EXPERIMENT = Experiment(
    paper="DPKendall (NeurIPS 2023)",
    shows="Theorem 3.4 and Lemma 4.1, running time",
    choices=("Normal features, five of which count; the least time of all replicates, one thread.",),
)
