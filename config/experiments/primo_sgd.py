"""DP-SGD over a grid of its settings, on the outcomes of a study: as it is, tuned, and 90 % tuned.

As in the Tukey paper (arXiv 2208.07353), tuned is the setting of highest R^2 of the grid, and 90 % tuned that
at the 90th percentile. Both are found by a look at test rows, which is not private; each fit alone would be.
"""

import argparse
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np

from dpgrs.experiments.primo_fits import rows_to_test_on
from dpgrs.io.panel import Panel
from dpgrs.methods.benchmark_mechanisms import SgdFits
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.study.training_data import TrainingData

# Clips are in units of the gradient of a row of largest norm and a residual of 1. The first are the defaults.
STEPS, RATES, CLIPS, LENGTHS = (100, 25, 400), (0.1,), (1.0, 0.25, 0.5, 2.0), (1.0, 0.25, 0.5, 2.0)
TUNED = 0.9


def measure(folder, *, epsilon, delta, size, count, seed=1, grid=(STEPS, RATES, CLIPS, LENGTHS)):
    """Measure the grid on the first trial of a study.

    Parameters
    ----------
    folder : results of a benchmark.
    epsilon, delta : float
    size, count : int, variants and outcomes.
    seed : int
    grid : values of steps, sampling rate, relative clip and learning rate.

    Returns
    -------
    list of (settings, mean R^2) in the order of the grid, the defaults first.
    """
    trial, panel = folder / "private" / "trial1", folder / "private" / "panel.zarr"
    data = TrainingData(trial / "outcomes.npz", panel=panel)
    test = rows_to_test_on(Panel.open(panel), size, data.outcomes)
    request = PrivacyRequest(
        rows=data.outcomes.rows,
        unit="haplotype" if data.outcomes.rows == "haplotypes" else "person",
        n_variants=size,
        n_outcomes=count,
        outcome_bound=3.0,
        epsilon=epsilon,
        delta=delta,
    )
    largest = np.sqrt(size / 4 + 1 / 4) if data.outcomes.rows == "haplotypes" else np.sqrt(size + 1 / 4)
    found = []
    for steps, rate, clip, length in product(*grid):
        descent = {
            "steps": steps,
            "sampling_rate": rate,
            "clip": float(clip * largest),
            "learning_rate": length,
        }
        noise = BenchmarkNoise(seed, "tuned", steps, rate, clip, length)
        names = list(data.outcomes.names[:count])
        terms = {"request": request, "noise": noise, "outcome_names": names, "descent": descent}
        fit = SgdFits().draw(data.rows(size), **terms).fit
        found.append((descent, float(test.errors(fit)[0].mean())))
    return found


def tuned(found, share):
    """Return the setting and R^2 of a grid at a quantile of R^2: 1 is the best."""
    ranked = sorted(found, key=lambda one: one[1])
    return ranked[round(share * (len(ranked) - 1))]


def main(arguments=None):
    """Print a table: a line a number of outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="results of a benchmark")
    parser.add_argument("--epsilon", type=float, default=5.0)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--count", type=int, nargs="+", default=[1, 10, 100])
    given = parser.parse_args(arguments)
    delta = json.loads((given.folder / "settings.json").read_text())["privacy"]["delta"]
    print("| outcomes | default | tuned (peeked) | 90 % tuned (peeked) | settings of the best |")
    print("| --- | --- | --- | --- | --- |")
    for count in given.count:
        terms = {"epsilon": given.epsilon, "delta": delta, "size": given.size, "count": count}
        found = measure(given.folder, **terms)
        best, best_r2 = tuned(found, 1.0)
        words = ", ".join(f"{name} {value:.3g}" for name, value in best.items())
        print(
            f"| {count} | {found[0][1]:.3f} | {best_r2:.3f} | {tuned(found, TUNED)[1]:.3f} | {words} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
