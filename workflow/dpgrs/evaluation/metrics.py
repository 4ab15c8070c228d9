"""How well an outcome is predicted on held-out rows. Missing values (NaN) are left out one by one."""

import numpy as np

# Columns of the tables of metrics: the terms of a fit, and all of a table by outcome.
TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
METRICS = ["trial", "outcome", *TERMS, "n_rows", "n_variants", "n_outcomes"]
METRICS += ["r2", "mse", "mse_nonprivate", "seconds", "status"]


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
    return _mean_of_observed((Y - prediction) ** 2)


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


def r_squared_by_group(Y, prediction, groups):
    """Return R^2 of each outcome within groups of rows, about each group's own mean.

    A difference between the groups' means is not credited to the prediction: R^2 tells how well people of one
    group are told apart.

    Parameters
    ----------
    Y : (n_outcomes, n_rows) float64, NaN where missing.
    prediction : (n_outcomes, n_rows) float64
    groups : (n_rows,) labels, for example populations.

    Returns
    -------
    labels : (n_groups,) sorted.
    n_rows : (n_groups,) int64
    r2 : (n_groups, n_outcomes) float64, see `r_squared`.
    """
    labels, membership, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    r2 = []
    for group in range(len(labels)):
        members, predicted = Y[:, membership == group], prediction[:, membership == group]
        r2.append(r_squared(members, predicted, training_mean=_mean_of_observed(members)))
    return labels, sizes, np.array(r2)


def _mean_of_observed(values):
    """Return the mean of each row over what is not NaN; NaN where nothing is left."""
    n_observed = np.isfinite(values).sum(axis=1)
    total = np.nansum(values, axis=1)
    return np.divide(total, n_observed, where=n_observed > 0, out=np.full(len(values), np.nan))


def _squares(deviations):
    """Sum the squares of each outcome's deviations, NaN counting as nothing."""
    return np.nansum(deviations**2, axis=1)
