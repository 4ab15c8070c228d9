"""Fits that read rows, not sums, one outcome after the other: the Tukey mechanism and boosted AdaSSP.

Outcomes that share a budget have equal parts of it: boosted AdaSSP of mu^2, the Tukey mechanism, which is for
benchmarks alone, of epsilon and delta.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpgrs.methods.boosted_adassp import BoostedRequest, private_boosted_adassp
from dpgrs.methods.tukey import Status, TukeyRequest, private_tukey


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

    @property
    def ending(self):
        """How it ended, in a word of `metrics.tsv`: ``ok``, or why there is no model."""
        return "ok" if self.status == Status.RELEASED else str(self.status)


def fit_rows(
    method, X, y, *, request, noise, largest_norm, n_fits, count_share=None, rows_per_coefficient=None
):
    """Fit one outcome by a method that reads rows.

    Parameters
    ----------
    method : ``tukey`` or ``bas``.
    X : (n_rows, d) float64 without intercept, rows of a unit one after the other.
    y : (n_rows,) float64, NaN where missing.
    request : PrivacyRequest, with the budget of `n_fits` outcomes together.
    noise : NoiseSource of this outcome alone, in a release that of `NoiseSource.on` all its data.
    largest_norm : float, public: boosted AdaSSP shortens longer rows of X.
    n_fits : int
    count_share, rows_per_coefficient : as in `TukeyRequest`, which alone needs them.

    Returns
    -------
    RowFit

    Privacy
    -------
    As `private_tukey` (docs/proofs/tukey.md), at an n_fits-th of epsilon and delta, and
    `private_boosted_adassp` (docs/proofs/boosted_adassp.md), of which n_fits together cost the request's.
    """
    if method == "tukey":
        terms = {"epsilon": request.epsilon / n_fits, "delta": request.delta / n_fits}
        of_count = {"count_share": count_share, "rows_per_coefficient": rows_per_coefficient}
        asked = TukeyRequest(**terms, **_relation(request), **of_count)
        rows = np.column_stack([X, np.ones(len(X))])
        fit = private_tukey(rows, y, request=asked, noise=noise)
        found = np.zeros(X.shape[1] + 1) if fit.weights is None else fit.weights
        return RowFit(found[:-1], float(found[-1]), fit.status, fit.events)
    # Rows of norm 1 with an intercept as long as the rest.
    scale = np.sqrt(2) * np.append(np.full(X.shape[1], largest_norm), 1.0)
    rows = np.column_stack([X, np.ones(len(X))]) / scale
    asked = boosted_request(request, n_fits=n_fits)
    fit = private_boosted_adassp(rows, y, request=asked, noise=noise)
    found = fit.weights / scale
    return RowFit(found[:-1], float(found[-1]), Status.RELEASED, fit.events)


@lru_cache(maxsize=256)
def boosted_request(request, *, n_fits):
    """Return the terms of one of several fits by boosted AdaSSP; kept, as the split takes milliseconds.

    Parameters
    ----------
    request : PrivacyRequest, with the budget of all fits together.
    n_fits : int

    Returns
    -------
    BoostedRequest
    """
    terms = {"epsilon": request.epsilon, "delta": request.delta, "accounting": request.accounting}
    return BoostedRequest(**terms, **_relation(request), n_fits=n_fits)


def _relation(request):
    names = ("neighbours", "unit", "rows_per_unit")
    return {name: getattr(request, name) for name in names}
