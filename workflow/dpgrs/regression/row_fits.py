"""Fits that read rows, not sums, one outcome after the other: the Tukey mechanism and boosted AdaSSP.

Benchmarks only. Outcomes that share a budget have equal parts of epsilon and delta.
"""

from dataclasses import dataclass

import numpy as np

from dpgrs.regression.boosted_adassp import BoostedRequest, private_boosted_adassp
from dpgrs.regression.tukey import Status, TukeyRequest, private_tukey


@dataclass(frozen=True)
class RowFit:
    """A linear predictor of one outcome.

    Attributes
    ----------
    weights : (d,) float64; zeros if there is no model.
    intercept : float
    status : Status
    events : tuple of events
    """

    weights: np.ndarray
    intercept: float
    status: Status
    events: tuple


def fit_rows(method, X, y, *, request, noise, largest_norm, n_fits, count_share, rows_per_coefficient):
    """Fit one outcome by a method that reads rows.

    Parameters
    ----------
    method : ``tukey`` or ``bas``.
    X : (n_rows, d) float64 without intercept, rows of a unit one after the other.
    y : (n_rows,) float64, NaN where missing.
    request : PrivacyRequest, with the budget of `n_fits` outcomes together.
    noise : NoiseSource of a benchmark, of this outcome alone.
    largest_norm : float, public: boosted AdaSSP shortens longer rows of X.
    n_fits : int
    count_share, rows_per_coefficient : as in `TukeyRequest`.

    Returns
    -------
    RowFit

    Privacy
    -------
    As `private_tukey` (docs/proofs/tukey.md) and `private_boosted_adassp` (docs/proofs/boosted_adassp.md), at
    an n_fits-th of epsilon and delta.
    """
    terms = {
        "epsilon": request.epsilon / n_fits,
        "delta": request.delta / n_fits,
        "neighbours": request.neighbours,
        "unit": request.unit,
        "rows_per_unit": request.rows_per_unit,
    }
    if method == "tukey":
        of_count = {"count_share": count_share, "rows_per_coefficient": rows_per_coefficient}
        asked, rows = TukeyRequest(**terms, **of_count), np.column_stack([X, np.ones(len(X))])
        fit = private_tukey(rows, y, request=asked, noise=noise)
        found = np.zeros(X.shape[1] + 1) if fit.weights is None else fit.weights
        return RowFit(found[:-1], float(found[-1]), fit.status, fit.events)
    # Rows of norm 1 with an intercept as long as the rest.
    scale = np.sqrt(2) * np.append(np.full(X.shape[1], largest_norm), 1.0)
    rows = np.column_stack([X, np.ones(len(X))]) / scale
    asked = BoostedRequest(**terms, accounting=request.accounting)
    fit = private_boosted_adassp(rows, y, request=asked, noise=noise)
    found = fit.weights / scale
    return RowFit(found[:-1], float(found[-1]), Status.RELEASED, fit.events)
