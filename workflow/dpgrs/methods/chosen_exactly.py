"""Fits on variants that were chosen for each outcome, without privacy."""

import numpy as np

from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.row_fits import least_squares, with_intercept


def fit_chosen_exactly(data, chosen):
    """Fit each outcome by least squares on its own variants, without privacy.

    Parameters
    ----------
    data : ScreeningData
    chosen : (n_outcomes, n_choices) int64

    Returns
    -------
    LinearFit, as from `fit_chosen`.
    """
    weights, at_means = np.zeros((len(chosen), len(data.genotypes))), np.empty(len(chosen))
    for number, own in enumerate(chosen):
        is_known = ~np.isnan(data.Y[number])
        X = data.rows_of(own, is_known)
        *weights[number, own], at_means[number] = least_squares(with_intercept(X), data.Y[number, is_known])
    return LinearFit(weights, np.zeros(len(data.genotypes)), at_means, chosen=np.sort(chosen, axis=1))
