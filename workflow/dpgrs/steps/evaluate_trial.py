"""Metrics of a trial on its test rows."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.evaluation.metrics import METRICS, TERMS, mse, r_squared, r_squared_by_group
from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import read_table, write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.panel import Panel
from dpgrs.io.tables.populations import populations_of
from dpgrs.io.trials import load_labelled
from dpgrs.linalg.linear_fit import LinearFit

POPULATION_METRICS = ["trial", "outcome", *TERMS, "n_variants", "n_outcomes", "population", "n_rows", "r2"]


@dataclass(frozen=True)
class HeldOut:
    """What was held out of the training, for one panel.

    Attributes
    ----------
    X : (n_test, n_variants + n_covariates)
    Y : (n_outcomes, n_test)
    training_mean : (n_outcomes,), of the outcomes.
    n_training : int, training rows.
    groups : (n_test,) str, population of each row; None where unknown for all.
    """

    X: np.ndarray
    Y: np.ndarray
    training_mean: np.ndarray
    n_training: int
    groups: np.ndarray | None


READS = ("outcomes.count",)


def evaluate_trial(
    settings,
    panel: Path,
    outcomes: Path,
    weights: Path,
    seconds: Path,
    *,
    trial: int,
    populations: Path | None = None,
    covariates: Path | None = None,
    metrics: Path,
    population_metrics: Path,
):
    """Predict the test rows by every fit, and measure R^2 and error.

    A fit without privacy does not depend on the number of outcomes and stands for each.

    Parameters
    ----------
    settings : Settings
    panel : the panel.
    outcomes : outcomes and split of the trial.
    weights : of all methods.
    seconds : that each fit took.
    trial : number of the trial, from 1.
    populations : table of sample and population.
    covariates : those that fits have weights of.
    metrics : table by outcome, to write.
    population_metrics : table by population, of the largest panel and outcome count alone, to write.
    """
    outcomes, covariates = Outcomes.load(outcomes), Covariates.load(covariates)
    counts = settings.outcomes.count or [len(outcomes.names)]
    held_out = _held_out(Panel.open(panel), outcomes, populations, covariates)
    fitted = load_labelled(weights)
    elapsed = read_table(seconds, needed=["seconds"])["seconds"]
    # Without any statistics of the training rows there is none.
    reference = dict.fromkeys(held_out, np.full(len(outcomes.names), np.nan))
    for label, arrays in fitted.of(lambda label: label["method"] == "ridge"):
        data = held_out[label["n_variants"]]
        reference[label["n_variants"]] = mse(data.Y, LinearFit.of(arrays).predict(data.X))
    tables, population_tables = [], []
    for (label, arrays), fit_seconds in zip(fitted, elapsed, strict=True):
        if not label["reported"]:
            continue
        size = label["n_variants"]
        data, fit = held_out[size], LinearFit.of(arrays)
        predicted = fit.predict(data.X)
        is_of_all = label["protection"] == "none" and not label.get("is_of_count")
        for count in counts if is_of_all else [label["n_outcomes"]]:
            known = {
                "trial": trial,
                "outcome": outcomes.names[:count],
                "n_variants": size,
                "n_outcomes": count,
            }
            known |= {term: label[term] for term in TERMS}
            table = _metrics(known, data, predicted, count)
            # A check that a mechanism failed is an outcome of its own: there is no model, and weights are 0.
            table = table.assign(status=label.get("statuses") or table["status"])
            tables.append(table.assign(mse_nonprivate=reference[size][:count], seconds=fit_seconds))
            if data.groups is not None and (size, count) == (max(held_out), max(counts)):
                population_tables += _population_metrics(known, data, predicted, count)
    _write(metrics, tables, METRICS)
    _write(population_metrics, population_tables, POPULATION_METRICS)


def _held_out(panel, outcomes, populations, covariates):
    """Return the held-out data of every panel size."""
    is_test = ~outcomes.is_training
    groups = None
    if populations is not None:
        groups = per_row(populations_of(populations, panel.sample_id), rows=outcomes.rows)[is_test]
    held_out = {}
    for size, Y in outcomes.values.items():
        X = joined_rows(panel, size, rows=outcomes.rows, covariates=covariates, is_selected=is_test)
        training = Y[:, outcomes.is_training]
        n_observed = np.maximum(np.isfinite(training).sum(axis=1), 1)
        training_mean = np.nansum(training, axis=1) / n_observed
        held_out[size] = HeldOut(X, Y[:, is_test], training_mean, training.shape[1], groups)
    return held_out


def _metrics(known, data, predicted, count):
    predicted, Y = predicted[:count], data.Y[:count]
    r2 = r_squared(Y, predicted, training_mean=data.training_mean[:count])
    return pd.DataFrame(
        known | {"n_rows": data.n_training, "r2": r2, "mse": mse(Y, predicted), "status": "ok"}
    )


def _population_metrics(known, data, predicted, count):
    labels, n_rows, r2 = r_squared_by_group(data.Y[:count], predicted[:count], data.groups)
    return [
        pd.DataFrame(known | {"population": label, "n_rows": n, "r2": values})
        for label, n, values in zip(labels, n_rows, r2, strict=True)
    ]


def _write(path, tables, columns):
    write_table(path, pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns))
