"""How well an outcome is predicted on held-out rows. Missing values (NaN) are left out one by one."""

import numpy as np


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
    n_observed = np.isfinite(Y).sum(axis=1)
    return np.divide(_squares(Y - prediction), n_observed, where=n_observed > 0, out=np.full(len(Y), np.nan))


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
    residual, total = _squares(Y - prediction), _squares(Y - np.asarray(training_mean)[:, np.newaxis])
    unexplained = np.divide(residual, total, where=total > 0, out=np.sign(residual))
    return np.where(np.isfinite(Y).any(axis=1), 1 - unexplained, np.nan)


def r_squared_by_group(Y, prediction, groups, *, training_mean):
    """Return R^2 of each outcome within groups of rows, about the training mean of all rows.

    Parameters
    ----------
    Y : (n_outcomes, n_rows) float64, NaN where missing.
    prediction : (n_outcomes, n_rows) float64
    groups : (n_rows,) labels, for example populations.
    training_mean : (n_outcomes,) float64

    Returns
    -------
    labels : (n_groups,) sorted.
    n_rows : (n_groups,) int64
    r2 : (n_groups, n_outcomes) float64, see `r_squared`.
    """
    labels, membership, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    members = [membership == group for group in range(len(labels))]
    r2 = [r_squared(Y[:, rows], prediction[:, rows], training_mean=training_mean) for rows in members]
    return labels, sizes, np.array(r2)


def _squares(deviations):
    """Sum the squares of each outcome's deviations, NaN counting as nothing."""
    return np.nansum(deviations**2, axis=1)
