"""How well an outcome is predicted on held-out rows. Missing values (NaN) are left out one by one."""

import numpy as np

# Columns of the tables of metrics: the terms of a fit, and all of a table by outcome.
TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
METRICS = ["replicate", "outcome", *TERMS, "n_rows", "n_variants", "n_outcomes"]
METRICS += ["r2", "mse", "mse_nonprivate", "seconds", "status"]
# Of a release: how long a fit took is no function of the released numbers.
RELEASED_METRICS = [name for name in METRICS if name != "seconds"]
# Of the table of measures with intervals, a line a measure.
MEASURES = ["replicate", "outcome", *TERMS, "n_variants", "n_outcomes"]
MEASURES += ["measure", "value", "low", "high", "expected", "note"]


def mse(Y, prediction):
    """Return the mean squared error of each outcome.

    Parameters
    ----------
    Y : (n_outcomes, n_rows) float64, NaN where missing.
    prediction : (n_outcomes, n_rows) float64

    Returns
    -------
    (n_outcomes,) float64, NaN for an outcome without any observed row.
    """
    return SquaredErrors(np.zeros(len(Y))).add(Y, prediction).mse


def r_squared(Y, prediction, *, training_mean):
    """Return R^2 = 1 - RSS/TSS of each outcome, the total sum of squares taken about the training mean.

    Parameters
    ----------
    Y : (n_outcomes, n_rows) float64, NaN where missing.
    prediction : (n_outcomes, n_rows) float64
    training_mean : (n_outcomes,) float64, what a predictor that knows no genotypes says.

    Returns
    -------
    (n_outcomes,) float64. Where TSS is 0, so that nothing is left to explain, it is 1 for an exact prediction
    and 0 for any other, as in scikit-learn; NaN for an outcome without any observed row.
    """
    return SquaredErrors(training_mean).add(Y, prediction).r2


class SquaredErrors:
    """How far predictions of all outcomes are off, over rows that are added part by part.

    Parameters
    ----------
    centre : (n_outcomes,) float64, about which total sums of squares are taken.
    """

    def __init__(self, centre):
        self._centre = np.asarray(centre)[:, np.newaxis]
        self._residual, self._total = np.zeros((2, len(self._centre)))
        self._n_observed = np.zeros(len(self._centre), dtype=np.int64)

    def add(self, Y, prediction):
        """Add rows: (n_outcomes, n_rows) float64 each, NaN in Y where missing; returns itself."""
        self._residual += _squares(Y - prediction)
        self._total += _squares(Y - self._centre)
        self._n_observed += np.isfinite(Y).sum(axis=1)
        return self

    @property
    def mse(self):
        """As `mse`."""
        return _ratio(self._residual, self._n_observed)

    @property
    def r2(self):
        """As `r_squared`."""
        residual, total = self._residual, self._total
        unexplained = np.divide(residual, total, where=total > 0, out=np.sign(residual))
        return np.where(self._n_observed > 0, 1 - unexplained, np.nan)


class Means:
    """Means of outcomes over rows that are added part by part."""

    def __init__(self, n_outcomes):
        self._total, self._n_observed = np.zeros(n_outcomes), np.zeros(n_outcomes, dtype=np.int64)
        self.n_rows = 0

    def add(self, Y):
        """Add rows: (n_outcomes, n_rows) float64, NaN where missing."""
        self._total += np.nansum(Y, axis=1)
        self._n_observed += np.isfinite(Y).sum(axis=1)
        self.n_rows += Y.shape[1]

    @property
    def values(self):
        """(n_outcomes,) float64, NaN for an outcome without any observed row."""
        return _ratio(self._total, self._n_observed)


def _ratio(total, n_observed):
    return np.divide(total, n_observed, where=n_observed > 0, out=np.full(len(total), np.nan))


def _squares(deviations):
    """Sum the squares of each outcome's deviations, NaN counting as nothing."""
    return np.nansum(deviations**2, axis=1)
