"""The methods that the DPKendall paper compares [1]_, each a selector of features and a fitter: one table.

Benchmarks only. A method spends its budget on up to three parts, by basic composition: a noisy count of rows,
from which numbers of models follow, the choice of k features, and a fit on these and an intercept. The
intercept takes no part in the choice (docs/tabular.md).

References
----------
.. [1] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpgrs.errors import UsageError, require_domains
from dpgrs.methods.boosted_adassp import BoostedRequest, clip_rows, private_boosted_adassp
from dpgrs.methods.tukey import (
    SMALLEST_NUMBER,
    Status,
    TukeyRequest,
    models_of_groups,
    number_of_models,
    private_deep_point,
)
from dpgrs.privacy.lower_count import private_lower_count
from dpgrs.privacy.noise.base import data_digest
from dpgrs.selection.dp_kendall import KendallRequest, TablePairs, private_kendall
from dpgrs.selection.lasso import STANDARD, LassoTerms, choose_by_lasso
from dpgrs.selection.sublasso import GroupRule, private_sublasso
from dpgrs.types import DepthCheck, Neighbours, PairKernel, Selection

# Rows of a model for each coefficient. Two mend the bias of one, where enough models are left: docs/tukey.md.
LEAST_PER_COEFFICIENT, MOST_PER_COEFFICIENT = 1.0, 2.0
ENOUGH_MODELS = 1000


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """The public terms of a method.

    Attributes
    ----------
    epsilon, delta : float, of all parts together.
    k : int > 0, features to choose; without a selector it is not used.
    neighbours : Neighbours. Under replace-one the number of rows is public and costs nothing.
    count_share, screening_share : float in (0, 1), of epsilon, below 1 together. What a method does not have
        goes to the fit.
    rows_per_coefficient : float > 0, mean rows of a Tukey model for each of its coefficients. None gives 2
        where that leaves `ENOUGH_MODELS`, by the noisy count, else fewer, but at least the papers' 1.
    law : Selection, of private choices.
    lasso : LassoTerms, of the groups that vote.
    check : DepthCheck, of the Tukey mechanism.

    Raises
    ------
    UsageError
        For terms out of their domain.
    """

    epsilon: float
    delta: float
    k: int = 5
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    count_share: float = 0.05
    screening_share: float = 0.05
    rows_per_coefficient: float | None = None
    law: Selection = Selection.PERMUTE_AND_FLIP
    lasso: LassoTerms = STANDARD
    check: DepthCheck = DepthCheck.TIGHT

    def __post_init__(self):
        require_domains(
            self,
            ("epsilon", "at least 0.001 and at most 10000", 0.001 <= self.epsilon <= 10_000),
            ("delta", "at least 1e-30 and below 1", 1e-30 <= self.delta < 1),
            ("k", "at least 1", self.k >= 1),
            ("count_share", "between 0 and 1", 0 < self.count_share < 1),
            ("screening_share", "between 0 and 1", 0 < self.screening_share < 1),
            ("rows_per_coefficient", "a finite number above 0", 0 < self.least_per_coefficient < math.inf),
        )
        total = self.count_share + self.screening_share
        if total >= 1:
            raise UsageError(
                f"`count_share` and `screening_share` must be below 1 together, got {total:g}. "
                "Leave a share for the fit."
            )

    @property
    def least_per_coefficient(self):
        """The smallest mean number of rows for each coefficient of a model that may come out, a float."""
        return LEAST_PER_COEFFICIENT if self.rows_per_coefficient is None else self.rows_per_coefficient

    def per_coefficient(self, n_low, n_coefficients):
        """Return the mean number of rows for each coefficient of a model, a float; all of it is public."""
        if self.rows_per_coefficient is not None:
            return self.rows_per_coefficient
        most = n_low / (ENOUGH_MODELS * n_coefficients)
        return min(max(most, LEAST_PER_COEFFICIENT), MOST_PER_COEFFICIENT)

    @cached_property
    def tukey(self):
        """The terms of the Tukey mechanism, a TukeyRequest."""
        return TukeyRequest(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            count_share=self.count_share,
            rows_per_coefficient=self.least_per_coefficient,
            check=self.check,
        )


@dataclass(frozen=True)
class FittedColumns:
    """What a fitter gives.

    Attributes
    ----------
    weights : (d,) float64, or None if there is no model.
    events : tuple of events, of all that was paid for.
    status : Status
    n_models : int, or None where models are not drawn among.
    """

    weights: np.ndarray | None
    events: tuple
    status: Status = Status.RELEASED
    n_models: int | None = None


@dataclass(frozen=True)
class ColumnSelector:
    """A way to choose features.

    Attributes
    ----------
    choose : callable (X, y, *, n_low, epsilon, request, noise), for X without the intercept. It returns the
        (k,) int64 indices of different columns, and the event, or None without privacy.
    needs_count : bool, whether it uses `n_low`.
    """

    choose: Callable
    needs_count: bool = False


@dataclass(frozen=True)
class Fitter:
    """A way to fit a linear model.

    Attributes
    ----------
    fit : callable (X, y, *, n_low, epsilon, request, noise), for X with the intercept last. It returns
        FittedColumns.
    needs_count : bool, whether it uses `n_low`.
    is_private : bool
    clips_rows : bool, whether weights are for rows that `clip_rows` clipped.
    least_models : int, models without which it can give none; each needs the rows of its coefficients.
    """

    fit: Callable
    needs_count: bool = False
    is_private: bool = True
    clips_rows: bool = False
    least_models: int = 0


@dataclass(frozen=True)
class Method:
    """A selector, or None to take all features, and a fitter."""

    selector: ColumnSelector | None
    fitter: Fitter

    def has_private_count(self, request):
        """Whether something is to be paid for the number of rows, a bool."""
        uses_it = self.fitter.needs_count or (self.selector is not None and self.selector.needs_count)
        return uses_it and request.tukey.has_private_count

    def budget(self, request):
        """Split epsilon: a dict of ``count``, ``screening`` and ``fit``, 0 where the method has none."""
        if not self.fitter.is_private:
            return dict.fromkeys(("count", "screening", "fit"), 0.0)
        count = request.tukey.count_epsilon if self.has_private_count(request) else 0.0
        screening = request.epsilon * request.screening_share if self.selector else 0.0
        return {"count": count, "screening": screening, "fit": request.epsilon - count - screening}

    def require_features(self, n_features, request):
        """Raise UsageError unless k features can be chosen from `n_features` and some are left."""
        if self.selector and request.k >= n_features:
            raise UsageError(
                f"`k` must be below the number of features, {n_features}, got {request.k}. "
                "Choose fewer, or take a method without a choice."
            )

    def n_coefficients(self, n_features, request):
        """Return the coefficients of a fit, the intercept among them, an int."""
        return (request.k if self.selector else n_features) + 1

    def least_rows(self, n_features, request):
        """Return the number of rows below which there can be no model, an int."""
        each = self.n_coefficients(n_features, request)
        if self.fitter.needs_count:
            each *= request.least_per_coefficient
        return math.ceil(self.fitter.least_models * each)


@dataclass(frozen=True)
class TableFit:
    """A fitted method.

    Attributes
    ----------
    weights : (n_features + 1,) float64, intercept last and 0 where not chosen; None if there is no model.
    chosen : (k,) int64 in the order of choice, or all features.
    status : Status
    n_models : int, or None where models are not drawn among.
    events : tuple of events, of all that was paid for; empty without privacy.
    clips_rows : bool
    """

    weights: np.ndarray | None
    chosen: np.ndarray
    status: Status
    n_models: int | None
    events: tuple
    clips_rows: bool

    def predict(self, X):
        """Predict outcomes.

        Parameters
        ----------
        X : (n_rows, n_features)

        Returns
        -------
        (n_rows,) float64, or None if there is no model.
        """
        if self.weights is None:
            return None
        rows = with_intercept(X[:, self.chosen])
        return (clip_rows(rows) if self.clips_rows else rows) @ self.weights[np.append(self.chosen, -1)]


def fit_method(X, y, *, method, request, noise):
    """Choose features, if the method does, and fit a linear model on them and an intercept.

    Parameters
    ----------
    X : (n_rows, n_features) finite float64, without an intercept. A row is a unit of privacy.
    y : (n_rows,) finite float64
    method : Method, of `METHODS` or another.
    request : TableRequest
    noise : NoiseSource of a benchmark.

    Returns
    -------
    TableFit. By basic composition all events together are (epsilon, delta)-DP if the fitter is private.

    Raises
    ------
    UsageError
        If X and y do not fit together or k features cannot be chosen, and in a release, by its charge.
    """
    n_features = X.shape[1]
    if y.shape != X.shape[:1]:
        raise UsageError("Each row must have one outcome, got more or fewer outcomes. Pass all rows.")
    method.require_features(n_features, request)
    budget, events, n_low = method.budget(request), [], float(len(X))
    if method.has_private_count(request):
        terms = {"epsilon": budget["count"], "request": request.tukey, "noise": noise}
        n_low, *events = private_lower_count(len(X), **terms)
    options = {"n_low": n_low, "request": request, "noise": noise}
    chosen = np.arange(n_features)
    if method.selector:
        chosen, event = method.selector.choose(X, y, epsilon=budget["screening"], **options)
        events += [] if event is None else [event]
    fitted = method.fitter.fit(with_intercept(X[:, chosen]), y, epsilon=budget["fit"], **options)
    weights = None
    if fitted.weights is not None:
        weights = np.zeros(n_features + 1)
        weights[np.append(chosen, -1)] = fitted.weights
    events = (*events, *fitted.events)
    return TableFit(weights, chosen, fitted.status, fitted.n_models, events, method.fitter.clips_rows)


def with_intercept(X):
    """Return rows with a last column of ones: (n_rows, d + 1) float64."""
    return np.column_stack([X, np.ones(len(X))])


def choose_by_one_lasso(X, y, *, n_low, epsilon, request, noise):
    """Choose without privacy by one Lasso on all rows; see `ColumnSelector`. There is no event."""
    return choose_by_lasso(X, y, k=request.k), None


def choose_by_kendall(X, y, *, n_low, epsilon, request, noise):
    """Choose by DPKendall; see `ColumnSelector`."""
    asked = KendallRequest(
        n_choices=request.k,
        epsilon=epsilon,
        neighbours=request.neighbours,
        against_outcome=PairKernel.SIGN,
        against_feature=PairKernel.SIGN,
        law=request.law,
    )
    pairs = TablePairs(np.ascontiguousarray(X.T), y)
    return private_kendall(pairs, request=asked, noise=noise.on(data_digest(X, y)))


def choose_by_sublasso(X, y, *, n_low, epsilon, request, noise):
    """Choose by SubLasso, with floor(n~/k) groups; see `ColumnSelector`. A row's key is what is in it."""
    return private_sublasso(
        X,
        y,
        k=request.k,
        epsilon=epsilon,
        n_low=n_low,
        rule=GroupRule.SUBLASSO,
        seed=0,
        noise=noise.on(data_digest(X, y)),
        unit_keys=[row.tobytes().hex() for row in np.column_stack([X, y])],
        neighbours=request.neighbours,
        lasso=request.lasso,
        law=request.law,
    )


def fit_least_squares(X, y, *, n_low, epsilon, request, noise):
    """Fit without privacy, of minimum norm in columns of largest value 1; see `Fitter`."""
    # Columns of very different units would be taken for dependent ones.
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return FittedColumns(np.linalg.lstsq(X / scale, y, rcond=None)[0] / scale, ())


def fit_deep_point(X, y, *, n_low, epsilon, request, noise):
    """Fit by the Tukey mechanism, with floor(n~/(r d)) models; see `Fitter`."""
    asked = replace(request.tukey, rows_per_coefficient=request.per_coefficient(n_low, X.shape[1]))
    n_models = number_of_models(n_low, X.shape[1], request=asked)
    if n_models < SMALLEST_NUMBER:
        return FittedColumns(None, (), Status.TOO_FEW_MODELS, n_models)
    options = {"request": asked, "noise": noise.on(data_digest(X, y))}
    models = models_of_groups(X, y, n_models=n_models, **options)
    fit = private_deep_point(models, epsilon=epsilon, **options)
    return FittedColumns(fit.weights, fit.events, fit.status, n_models)


def fit_boosted(X, y, *, n_low, epsilon, request, noise):
    """Fit by boosted AdaSSP, as the papers do: 100 rounds, rows and residuals clipped at 1; see `Fitter`."""
    asked = BoostedRequest(epsilon=epsilon, delta=request.delta, neighbours=request.neighbours)
    fit = private_boosted_adassp(X, y, request=asked, noise=noise)
    return FittedColumns(fit.weights, fit.events)


LASSO = ColumnSelector(choose_by_one_lasso)
KENDALL = ColumnSelector(choose_by_kendall)
SUBLASSO = ColumnSelector(choose_by_sublasso, needs_count=True)
LEAST_SQUARES = Fitter(fit_least_squares, is_private=False, least_models=1)
TUKEY = Fitter(fit_deep_point, needs_count=True, least_models=SMALLEST_NUMBER)
BOOSTED = Fitter(fit_boosted, clips_rows=True)

METHODS = {
    "nondp": Method(None, LEAST_SQUARES),
    "lasso": Method(LASSO, LEAST_SQUARES),
    "bas": Method(None, BOOSTED),
    "tukey": Method(None, TUKEY),
    "l-bas": Method(SUBLASSO, BOOSTED),
    "l-tukey": Method(SUBLASSO, TUKEY),
    "k-bas": Method(KENDALL, BOOSTED),
    "k-tukey": Method(KENDALL, TUKEY),
}
