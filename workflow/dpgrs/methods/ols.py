"""Least squares and ridge regression without privacy: the references."""

import numpy as np

from dpgrs.linalg.linear_fit import LinearFit, centred_gram, ridge_weights
from dpgrs.linalg.statistics import CROSS_STEP, GRAM_STEP


def fit_ols(gram, cross, n_rows, **known):
    """Minimise ||y - intercept - (X - means) w||^2; of several minima take the one of smallest norm.

    Parameters and result are those of `fit_ridge`, without a penalty.
    """
    return fit_ridge(gram, cross, n_rows, penalty=0.0, **known)


def fit_ridge(gram, cross, n_rows, *, penalty, n_observed=None, gram_step=GRAM_STEP, cross_step=CROSS_STEP):
    """Minimise ||y - intercept - (X - means) w||^2 / n + penalty ||w||^2.

    Parameters
    ----------
    gram : (n_variants + 1, n_variants + 1) int64 in units of `gram_step`, intercept last.
    cross : (n_outcomes, n_variants + 1) int64 in units of `cross_step`, intercept last.
    n_rows : int, rows that were summed.
    penalty : float >= 0, per row: ``alpha / n`` of scikit-learn.
    n_observed : (n_outcomes,) int, rows on which an outcome is known; None means all. X'y is a sum over those
        rows alone and is scaled up by ``n_rows / n_observed``.
    gram_step, cross_step : float, units of the statistics; those with covariates have finer ones.

    Returns
    -------
    LinearFit, whose intercept is the outcome's mean.
    """
    n_observed = np.maximum(n_rows if n_observed is None else n_observed, 1)
    G_c, means = centred_gram(gram * gram_step, n_rows)
    V = cross * cross_step
    totals = 2 * V[:, -1]
    V_c = V[:, :-1] - np.outer(totals, means)
    scale = np.broadcast_to(n_rows / n_observed, totals.shape)
    weights = ridge_weights(G_c, V_c * scale[:, np.newaxis], n_rows, penalty=penalty)
    return LinearFit(weights, means, totals / n_observed)


def fit_sums(statistics, size, *, penalty):
    """Fit all outcomes on a panel size from exact Statistics; `penalty` and result as of `fit_ridge`."""
    steps = {"gram_step": statistics.gram_step, "cross_step": statistics.cross_step}
    sums = (statistics.gram_of_size(size), statistics.cross[size], statistics.n_rows)
    return fit_ridge(*sums, penalty=penalty, n_observed=statistics.n_observed, **steps)
