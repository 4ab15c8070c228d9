"""How well an outcome is predicted on held-out rows. Missing values (NaN) are left out one by one."""

from typing import Self

import numpy as np

# Columns of the tables of metrics: the terms of a fit, and all of a table by outcome.
TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
METRICS = ["replicate", "outcome", *TERMS, "n_rows", "n_variants", "n_outcomes"]
METRICS += ["r2", "mse", "mse_nonprivate", "seconds", "status"]
# Columns of a release: how long a fit took is no function of the released numbers.
RELEASED_METRICS = [name for name in METRICS if name != "seconds"]
# Columns of the table of measures with intervals, a line a measure.
MEASURES = ["replicate", "outcome", *TERMS, "n_variants", "n_outcomes"]
MEASURES += ["measure", "value", "low", "high", "expected", "note"]


def mse(Y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return the mean squared error of each outcome, (n_outcomes,) float64; NaN without any observed row.

    Y and predictions are (n_outcomes, n_rows) float64, NaN in Y where missing.
    """
    return SquaredErrors(np.zeros(len(Y))).add(Y, prediction).mse


def r_squared(Y: np.ndarray, prediction: np.ndarray, *, training_mean: np.ndarray) -> np.ndarray:
    """Return R^2 = 1 - RSS/TSS of each outcome, the total sum of squares taken about the training mean.

    Y and predictions are (n_outcomes, n_rows) float64, NaN in Y where missing; the training mean is
    (n_outcomes,) float64, the prediction without genotypes. If TSS is 0, R^2 is 1 for an exact prediction and
    0 for any other, as in scikit-learn; it is NaN for an outcome without any observed row.
    """
    return SquaredErrors(training_mean).add(Y, prediction).r2


class SquaredErrors:
    """Squared errors of predictions of all outcomes, over rows that are added block by block.

    `centre`, (n_outcomes,) float64, is the value about which total sums of squares are taken.
    """

    def __init__(self, centre: np.ndarray) -> None:
        self._centre = np.asarray(centre)[:, np.newaxis]
        self._residual, self._total = np.zeros((2, len(self._centre)))
        self._n_observed = np.zeros(len(self._centre), dtype=np.int64)

    def add(self, Y: np.ndarray, prediction: np.ndarray) -> Self:
        """Add rows: (n_outcomes, n_rows) float64 each, NaN in Y where missing; returns itself."""
        self._residual += _squares(Y - prediction)
        self._total += _squares(Y - self._centre)
        self._n_observed += np.isfinite(Y).sum(axis=1)
        return self

    @property
    def mse(self) -> np.ndarray:
        """As `mse`."""
        return _ratio(self._residual, self._n_observed)

    @property
    def r2(self) -> np.ndarray:
        """As `r_squared`."""
        residual, total = self._residual, self._total
        unexplained = np.divide(residual, total, where=total > 0, out=np.sign(residual))
        return np.where(self._n_observed > 0, 1 - unexplained, np.nan)


class Means:
    """Means of outcomes over rows that are added block by block."""

    def __init__(self, n_outcomes: int) -> None:
        self._total, self._n_observed = np.zeros(n_outcomes), np.zeros(n_outcomes, dtype=np.int64)
        self.n_rows = 0

    def add(self, Y: np.ndarray) -> None:
        """Add rows: (n_outcomes, n_rows) float64, NaN where missing."""
        self._total += np.nansum(Y, axis=1)
        self._n_observed += np.isfinite(Y).sum(axis=1)
        self.n_rows += Y.shape[1]

    @property
    def values(self) -> np.ndarray:
        """The (n_outcomes,) float64 means, NaN for an outcome without any observed row."""
        return _ratio(self._total, self._n_observed)


def _ratio(total: np.ndarray, n_observed: np.ndarray) -> np.ndarray:
    return np.divide(total, n_observed, where=n_observed > 0, out=np.full(len(total), np.nan))


def _squares(deviations: np.ndarray) -> np.ndarray:
    """Sum the squares of each outcome's deviations; NaN adds 0."""
    return np.nansum(deviations**2, axis=1)
