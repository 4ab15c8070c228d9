"""Replicates of a method on a plain table: a random split, a fit of the one side, R^2 on both."""

import math
from dataclasses import dataclass

import numpy as np

from dpgrs.evaluation.metrics import r_squared
from dpgrs.public_random import generator
from dpgrs_papers.tabular.compositions import TableFit, fit_method


@dataclass(frozen=True)
class TableReplicate:
    """What a replicate gives.

    Attributes
    ----------
    fit : TableFit
    r2, training_r2 : float, on the rows left out and on those that were fitted; None without a model, or
        where its predictions leave float64.
    """

    fit: TableFit
    r2: float | None
    training_r2: float | None


def random_split(n_rows, n_test, *, seed, key):
    """Return the rows to test on and those to train on, by a public seed: two int64 arrays."""
    order = generator(seed, *key).permutation(n_rows)
    return order[:n_test], order[n_test:]


def fit_split(X, y, split, *, method, request, noise):
    """Fit a method on one side of a split, and measure it on both.

    Parameters
    ----------
    X : (n_rows, n_features) finite float64
    y : (n_rows,) finite float64
    split : rows to test on and to train on.
    method, request, noise : as in `dpgrs_papers.tabular.compositions.fit_method`.

    Returns
    -------
    TableReplicate
    """
    test, training = split
    fit = fit_method(X[training], y[training], method=method, request=request, noise=noise)
    mean = y[training].mean()
    return TableReplicate(
        fit, *(_finite_r2(y[rows], fit.predict(X[rows]), mean) for rows in (test, training))
    )


def median_r2(r2):
    """Return the median, no model (None) counting as minus infinity; None where that is the median.

    Parameters
    ----------
    r2 : list of float or None
    """
    median = float(np.median([-math.inf if value is None else value for value in r2]))
    return median if math.isfinite(median) else None


def _finite_r2(y, prediction, training_mean):
    if prediction is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        (r2,) = r_squared(y[np.newaxis], prediction[np.newaxis], training_mean=np.array([training_mean]))
    return float(r2) if np.isfinite(r2) else None
