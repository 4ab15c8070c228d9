"""Outcomes less their covariates' part: by effects that a ledger has, or by exact ones in benchmarks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.io.outcomes import CHUNK, Outcomes
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.covariate_regression import (
    exact_effects,
    explained_part,
    intercept_units,
    with_intercept,
)
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.covariates import Covariates


def adjusted_parts(
    outcomes: Outcomes, covariates: "Covariates", effects: np.ndarray
) -> Iterator[dict[int, np.ndarray]]:
    """Yield outcomes of some rows at a time less their covariates' part, each row by itself.

    `effects`, (n_outcomes, n_covariates + 1) float64, are on their grid.
    """
    for start in range(0, len(outcomes.is_training), CHUNK[1]):
        rows = slice(start, start + CHUNK[1])
        units = covariates.of_rows(rows).units
        explained = explained_part(
            with_intercept(units, bound=covariates.bound, rows=covariates.rows), effects
        )
        adjusted = {id(values): values[:, rows] - explained for values in outcomes.values.values()}
        yield {size: adjusted[id(values)] for size, values in outcomes.values.items()}


def effects_without_privacy(outcomes: Outcomes, covariates: "Covariates") -> np.ndarray:
    """Regress outcomes of the training rows on covariates by least squares, as a reference for benchmarks."""
    units = with_intercept(covariates.units, bound=covariates.bound, rows=covariates.rows)
    values = np.asarray(outcomes.values[next(iter(outcomes.values))])
    return exact_effects(units[:, outcomes.is_training], values[:, outcomes.is_training])


def effects_of_fit(effects: np.ndarray, covariates: "Covariates") -> np.ndarray:
    """Return effects whose first column is a row's constant, of which a person of two rows has the sum."""
    first = intercept_units(bound=covariates.bound, rows=covariates.rows) * GENOTYPE_STEP
    constant = effects[:, :1] * first / (2 if covariates.rows == Rows.HAPLOTYPES else 1)
    return np.hstack([constant, effects[:, 1:]])
