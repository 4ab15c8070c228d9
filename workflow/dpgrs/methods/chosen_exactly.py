"""Fits on variants that were chosen for each outcome, without privacy."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.linalg.linear_fit import LinearFit

if TYPE_CHECKING:
    from dpgrs.selection.screening_data import ScreeningData


def fit_chosen_exactly(
    data: "ScreeningData",
    chosen: np.ndarray,  # (n_outcomes, n_choices) int64
) -> LinearFit:
    """Fit each outcome by least squares on its own variants, without privacy.

    The fit has the form of the result of `dpgrs.methods.chosen.fit_chosen`.
    """
    weights, at_means = np.zeros((len(chosen), len(data.genotypes))), np.empty(len(chosen))
    for number, variants in enumerate(chosen):
        is_known = ~np.isnan(data.Y[number])
        X = data.rows_of(variants, is_known)
        *weights[number, variants], at_means[number] = least_squares(
            with_intercept(X), data.Y[number, is_known]
        )
    return LinearFit(weights, np.zeros(len(data.genotypes)), at_means, chosen=np.sort(chosen, axis=1))


def with_intercept(X: np.ndarray) -> np.ndarray:
    """Return rows with a last column of ones: (n_rows, d + 1) float64."""
    return np.column_stack([X, np.ones(len(X))])


def least_squares(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the (d,) weights of least squares, of minimum norm in columns of largest value 1."""
    # Without the scale, lstsq would take columns of very different units for dependent ones.
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.linalg.lstsq(X / scale, y, rcond=None)[0] / scale
