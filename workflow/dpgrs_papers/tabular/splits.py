"""Replicates of a method on a plain table: a random split, a fit of the one side, R^2 on both."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpgrs.evaluation.metrics import r_squared
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.public_random import generator
from dpgrs.statement.methods import Method
from dpgrs_papers.tabular.compositions import TableFit, TableRequest, fit_method

Split = tuple[np.ndarray, np.ndarray]  # rows to test on, and rows to train on


@dataclass(frozen=True)
class TableReplicate:
    """A replicate's fit, and R^2 on either side of its split; None without finite predictions."""

    fit: TableFit
    r2: float | None
    training_r2: float | None


def random_split(n_rows: int, n_test: int, *, seed: int, key: tuple) -> Split:
    """Return the rows to test on and those to train on, by a public seed: two int64 arrays."""
    order = generator(seed, *key).permutation(n_rows)
    return order[:n_test], order[n_test:]


def fit_split(
    X: np.ndarray, y: np.ndarray, split: Split, *, method: Method, request: TableRequest, noise: NoiseSource
) -> TableReplicate:
    """Fit a method on one side of a split, and measure it on both."""
    test, training = split
    fit = fit_method(X[training], y[training], method=method, request=request, noise=noise)
    mean = y[training].mean()
    return TableReplicate(
        fit, *(_finite_r2(y[rows], fit.predict(X[rows]), mean) for rows in (test, training))
    )


def median_r2(r2: Sequence[float | None]) -> float | None:
    """Return the median, no model (None) counting as minus infinity; None where that is the median."""
    median = float(np.median([-math.inf if score is None else score for score in r2]))
    return median if math.isfinite(median) else None


def _finite_r2(y: np.ndarray, prediction: np.ndarray | None, training_mean: float) -> float | None:
    if prediction is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        (r2,) = r_squared(y[np.newaxis], prediction[np.newaxis], training_mean=np.array([training_mean]))
    return float(r2) if np.isfinite(r2) else None
