"""Accuracy of all fits: tidy metrics as arrays, and the tables and points that pages show."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from dpgrs.reporting.fits import Fit, label_fits

QUARTILES = (25, 50, 75)


@dataclass(frozen=True)
class Accuracy:
    """R^2 and error of every fit at the largest variant set and number of outcomes.

    Arrays are (n_fits, n_outcomes, n_replicates) float64, NaN where there is no value.
    """

    fits: list[Fit]
    r2: np.ndarray
    mse: np.ndarray
    mse_nonprivate: np.ndarray

    @classmethod
    def of(cls, metrics: pd.DataFrame, *, outcomes: Sequence[str], replicates: int) -> Self:
        """Take the rows of the largest design from the study's metrics."""
        fits, codes = label_fits(metrics)
        table = largest_design(metrics.assign(fit=codes))
        axes = {"fit": range(len(fits)), "outcome": outcomes, "replicate": range(1, replicates + 1)}
        return cls(fits, *(to_array(table, name, axes) for name in ("r2", "mse", "mse_nonprivate")))


def largest_design(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the largest variant set and the largest number of outcomes."""
    columns = ["n_variants", "n_outcomes"]
    return table[(table[columns] == table[columns].max()).all(axis=1)]


def to_array(table: pd.DataFrame, column: str, axes: Mapping[str, Collection[Any]]) -> np.ndarray:
    """Spread a column of a tidy table over axes: float64, NaN where the table has no row.

    `axes` are names of columns with the labels along each axis.
    """
    indices = [pd.Index(list(labels)).get_indexer(table[name]) for name, labels in axes.items()]
    is_known = np.all([index >= 0 for index in indices], axis=0)
    array = np.full([len(labels) for labels in axes.values()], np.nan)
    array[tuple(index[is_known] for index in indices)] = table[column].to_numpy(dtype=float)[is_known]
    return array


def mean(values: np.ndarray, axis: int | tuple[int, ...] | None = None) -> Any:
    """Return the mean of the values that are there; NaN, without a warning, if there are none."""
    present = np.isfinite(values)
    count = present.sum(axis=axis)
    total = np.where(present, values, 0.0).sum(axis=axis)
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)[()]


def replicate_means(metrics: pd.DataFrame) -> tuple[list[Fit], pd.DataFrame]:
    """Return fits, and the mean R^2 over the outcomes of every replicate.

    The table has n_variants, n_outcomes, fit (index into the fits), replicate and r2.
    """
    fits, codes = label_fits(metrics)
    keys = ["n_variants", "n_outcomes", "fit", "replicate"]
    return fits, metrics.assign(fit=codes).groupby(keys, as_index=False)["r2"].mean()


def summary(metrics: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row per number of variants, of outcomes and fit, means over replicates; largest design first.

    A row has n_variants, n_outcomes, fit, delta, mean, q1, median, q3 of R^2, mse_ratio (to the best fit
    without privacy on the same rows and variants), missing (outcomes and replicates without a value) and
    no_model (those in which a check of the mechanism kept the model back).
    """
    fits, codes = label_fits(metrics)
    metrics = metrics.assign(fit=codes).reset_index(drop=True)
    metrics["mse_best"] = _best_errors(metrics, fits)
    groups = metrics.groupby(["n_variants", "n_outcomes", "fit"])
    rows = [
        {"n_variants": n_variants, "n_outcomes": n_outcomes, "fit": fits[fit]} | _summary_of(rows)
        for (n_variants, n_outcomes, fit), rows in groups
    ]
    return sorted(rows, key=lambda row: (-row["n_variants"], -row["n_outcomes"]))


def _best_errors(metrics: pd.DataFrame, fits: Sequence[Fit]) -> pd.Series:
    """Return, per row, the error of the design's best fit without privacy on its outcome and replicate.

    GBLUP is among them, even if a study does not have it among its methods.
    """
    cell, best = ["outcome", "replicate"], pd.Series(np.nan, metrics.index)
    for _, rows in metrics.groupby(["n_variants", "n_outcomes"]):
        gblup = rows.drop_duplicates(cell).assign(fit=-1, mse=lambda cells: cells["mse_nonprivate"])
        free = rows[[not fits[code].is_private for code in rows["fit"]]]
        errors = pd.concat([gblup, free]).pivot(index=cell, columns="fit", values="mse")
        means = mean(errors.to_numpy(dtype=float), axis=0)
        best_column = np.argmin(np.where(np.isfinite(means), means, np.inf))
        best_of_rows = errors.iloc[:, best_column].reindex(pd.MultiIndex.from_frame(rows[cell]))
        best.loc[rows.index] = best_of_rows.to_numpy()
    return best


def _summary_of(rows: pd.DataFrame) -> dict[str, Any]:
    r2 = rows["r2"].dropna().to_numpy(dtype=float)
    q1, median, q3 = np.percentile(r2, QUARTILES) if len(r2) else [np.nan] * 3
    both = rows[["mse", "mse_best"]].dropna().to_numpy(dtype=float)
    return {
        "mean": mean(r2),
        "q1": q1,
        "median": median,
        "q3": q3,
        "mse_ratio": mean(both[:, 0]) / mean(both[:, 1]),
        "missing": len(rows) - len(r2),
        "no_model": int(np.count_nonzero(rows["status"] != "ok")),
    }
