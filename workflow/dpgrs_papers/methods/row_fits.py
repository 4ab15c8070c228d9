"""Fits that read rows, not sums, one outcome after the other: of studies, and of plain tables.

Outcomes that share a budget have equal parts of it: boosted AdaSSP of mu^2, the Tukey mechanism (only for
benchmarks) of epsilon and delta.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.methods.chosen_exactly import least_squares, with_intercept
from dpgrs_papers.methods.boosted_adassp import BoostedRequest, private_boosted_adassp
from dpgrs_papers.methods.tukey import SMALLEST_NUMBER, Status, TukeyRequest, private_tukey

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.noise.base import NoiseSource


@dataclass(frozen=True)
class RowFit:
    """A linear predictor of one outcome."""

    weights: np.ndarray  # (d,) float64; zeros if there is no model
    intercept: float
    status: Status = Status.RELEASED
    events: tuple = ()
    n_models: int | None = None  # None if no models are drawn among

    @property
    def ending(self) -> str:
        """How it ended, in a word of `metrics.tsv`: ``ok``, or why there is no model."""
        return "ok" if self.status == Status.RELEASED else str(self.status)


@dataclass(frozen=True, kw_only=True)
class RowFitter:
    """The functions that a row of the registry names as `row_fitter`.

    `of_study` takes a PrivacyRequest, n_fits and more by name, and returns the request of one outcome;
    `of_table` does so for a TableRequest and epsilon, n_low and n_coefficients, by name.
    """

    fit: Callable  # (X, y, *, request, noise, largest_norm) -> RowFit
    of_study: Callable | None = None
    of_table: Callable
    least_models: int = 0  # without which it can give none; each needs the rows of its coefficients
    clips_rows: bool = False  # whether without a `largest_norm` weights are for rows that `clip_rows` clipped


def fit_rows(
    fitter: RowFitter,
    X: np.ndarray,
    y: np.ndarray,
    *,
    request: "PrivacyRequest",
    noise: "NoiseSource",
    largest_norm: float | None,
    n_fits: int,
    **options: Any,
) -> RowFit:
    """Fit one outcome of a study.

    Parameters
    ----------
    fitter : RowFitter, private.
    X : (n_rows, d) float64 without intercept, rows of a unit one after the other.
    y : (n_rows,) float64, NaN where missing.
    request : PrivacyRequest, with the budget of `n_fits` outcomes together.
    noise : NoiseSource of only this outcome, in a release the one of `NoiseSource.on` all its data.
    largest_norm : float, public: boosted AdaSSP shortens longer rows of X.
    n_fits : int
    **options : count_share and rows_per_coefficient, which only `TukeyRequest` takes.

    Returns
    -------
    RowFit

    Privacy
    -------
    As `private_tukey` (docs/proofs/tukey.md), at an n_fits-th of epsilon and delta, and
    `private_boosted_adassp` (docs/proofs/boosted_adassp.md), of which n_fits together cost the request's.
    """
    fit_request = fitter.of_study(request, n_fits=n_fits, **options)
    return fitter.fit(X, y, request=fit_request, noise=noise, largest_norm=largest_norm)


def _fit_least_squares(
    X: np.ndarray, y: np.ndarray, *, request: Any, noise: Any, largest_norm: float | None = None
) -> RowFit:
    *weights, intercept = least_squares(with_intercept(X), y)
    return RowFit(np.array(weights), intercept)


def _fit_tukey(
    X: np.ndarray,
    y: np.ndarray,
    *,
    request: TukeyRequest,
    noise: "NoiseSource",
    largest_norm: float | None = None,
) -> RowFit:
    fit = private_tukey(with_intercept(X), y, request=request, noise=noise)
    weights = np.zeros(X.shape[1] + 1) if fit.weights is None else fit.weights
    return RowFit(weights[:-1], float(weights[-1]), fit.status, fit.events, fit.n_models)


def _fit_boosted(
    X: np.ndarray,
    y: np.ndarray,
    *,
    request: BoostedRequest,
    noise: "NoiseSource",
    largest_norm: float | None = None,
) -> RowFit:
    scale = np.ones(X.shape[1] + 1)
    if largest_norm is not None:
        # Rows of norm 1 with an intercept as long as the rest.
        scale = np.sqrt(2) * np.append(np.full(X.shape[1], largest_norm), 1.0)
    fit = private_boosted_adassp(with_intercept(X) / scale, y, request=request, noise=noise)
    weights = fit.weights / scale
    return RowFit(weights[:-1], float(weights[-1]), events=fit.events)


@lru_cache(maxsize=256)
def boosted_request(request: "PrivacyRequest", *, n_fits: int) -> BoostedRequest:
    """Return the terms of one of several fits by boosted AdaSSP; kept, as the split takes milliseconds.

    The request has the budget of all fits together.
    """
    fields = {"epsilon": request.epsilon, "delta": request.delta, "accounting": request.accounting}
    return BoostedRequest(**fields, **_relation(request), n_fits=n_fits)


def _boosted_of_table(
    table_request: Any, *, epsilon: float, n_low: float | None, n_coefficients: int
) -> BoostedRequest:
    return BoostedRequest(epsilon=epsilon, delta=table_request.delta, neighbours=table_request.neighbours)


def _tukey_request(request: "PrivacyRequest", *, n_fits: int, **options: Any) -> TukeyRequest:
    budget = {"epsilon": request.epsilon / n_fits, "delta": request.delta / n_fits}
    return TukeyRequest(**budget, **_relation(request), **options)


def _tukey_of_table(
    table_request: Any, *, epsilon: float, n_low: float | None, n_coefficients: int
) -> TukeyRequest:
    options = {"rows_per_coefficient": table_request.per_coefficient(n_low, n_coefficients), "n_low": n_low}
    return replace(table_request.tukey, epsilon=epsilon, **options)


def _relation(request: "PrivacyRequest") -> dict:
    names = ("neighbours", "unit", "rows_per_unit")
    return {name: getattr(request, name) for name in names}


BOOSTED = RowFitter(fit=_fit_boosted, of_study=boosted_request, of_table=_boosted_of_table, clips_rows=True)
TUKEY = RowFitter(
    fit=_fit_tukey, of_study=_tukey_request, of_table=_tukey_of_table, least_models=SMALLEST_NUMBER
)
LEAST_SQUARES = RowFitter(fit=_fit_least_squares, of_table=lambda table_request, **_: None, least_models=1)
