"""Methods of the registry on a plain table, such as those that the DPKendall paper compares [1]_.

Selectors and fits are as in a study, but values, which lie on no grid and in no range, are taken as they are,
by `TableValues` instead of a variant set. Benchmarks only. A method spends its
budget on up to three parts, by basic composition: a noisy count of rows, which choice and fit share, the
choice of k features, and a fit on these and an intercept. The intercept takes no part in the choice
(docs/how-to/tabular.md).

References
----------
.. [1] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgrs.errors import UsageError, require_domains
from dpgrs.methods.chosen_exactly import with_intercept
from dpgrs.methods.registry import n_counts
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.selection.dp_kendall import PAIRS, TablePairs
from dpgrs.selection.registry import chooser_of
from dpgrs.statement.methods import Method
from dpgrs.types import Neighbours, Rows, Selection
from dpgrs_papers.methods.boosted_adassp import clip_rows
from dpgrs_papers.methods.lower_count import private_lower_count
from dpgrs_papers.methods.tukey import Status, TukeyRequest
from dpgrs_papers.selection.lasso import STANDARD, LassoTerms
from dpgrs_papers.tabular.table_methods import fitter_of
from dpgrs_papers.types import DepthCheck

# Rows of a model for each coefficient. Two mend the bias of one, where enough models are left:
# docs/explanation/tukey.md.
LEAST_PER_COEFFICIENT, MOST_PER_COEFFICIENT = 1.0, 2.0
ENOUGH_MODELS = 1000


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """The public terms of a method; below, `method` is a row of the registry."""

    epsilon: float  # of all parts together
    delta: float  # of all parts together
    k: int = 5  # features to choose; without a selector it is not used
    neighbours: Neighbours = Neighbours.ADD_REMOVE  # under replace-one the number of rows is public, and free
    # Shares of epsilon, below 1 together. The fit gets the share of a part that a method does not have.
    count_share: float = 0.05
    screening_share: float = 0.05
    # Mean rows of a Tukey model for each of its coefficients. None gives 2 where that leaves `ENOUGH_MODELS`,
    # by the noisy count, else fewer, but at least the papers' 1.
    rows_per_coefficient: float | None = None
    law: Selection = Selection.PERMUTE_AND_FLIP  # of private choices
    lasso: LassoTerms = STANDARD  # of the groups that vote
    check: DepthCheck = DepthCheck.TIGHT  # of the Tukey mechanism

    def __post_init__(self) -> None:
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
                "shares-too-large",
                f"`count_share` and `screening_share` must be below 1 together, got {total:g}. "
                "Leave a share for the fit.",
            )

    @property
    def least_per_coefficient(self) -> float:
        """The smallest mean number of rows for each coefficient of a model that may come out, a float."""
        return LEAST_PER_COEFFICIENT if self.rows_per_coefficient is None else self.rows_per_coefficient

    def per_coefficient(self, n_low: float, n_coefficients: int) -> float:
        """Return the mean number of rows for each coefficient of a model, a float; all of it is public."""
        if self.rows_per_coefficient is not None:
            return self.rows_per_coefficient
        most = n_low / (ENOUGH_MODELS * n_coefficients)
        return min(max(most, LEAST_PER_COEFFICIENT), MOST_PER_COEFFICIENT)

    @cached_property
    def tukey(self) -> TukeyRequest:
        """The terms of the Tukey mechanism, a TukeyRequest."""
        return TukeyRequest(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            count_share=self.count_share,
            rows_per_coefficient=self.least_per_coefficient,
            check=self.check,
        )

    def has_private_count(self, method: Method) -> bool:
        """Whether something is to be paid for the number of rows, a bool."""
        return n_counts(method) > 0 and self.tukey.has_private_count

    def budget(self, method: Method) -> dict[str, float]:
        """Split epsilon: a dict of ``count``, ``screening`` and ``fit``, 0 where the method has none."""
        if method.is_non_private:
            return dict.fromkeys(("count", "screening", "fit"), 0.0)
        count = self.tukey.count_epsilon if self.has_private_count(method) else 0.0
        screening = self.epsilon * self.screening_share if method.is_screened else 0.0
        return {"count": count, "screening": screening, "fit": self.epsilon - count - screening}

    def require_features(self, method: Method, n_features: int) -> None:
        """Raise UsageError unless k features can be chosen from `n_features` and some are left."""
        if method.is_screened and self.k >= n_features:
            raise UsageError(
                "number-of-choices",
                f"`k` must be below the number of features, {n_features}, got {self.k}. "
                "Choose fewer, or take a method without a choice.",
            )

    def least_rows(self, method: Method, n_features: int) -> int:
        """Return the number of rows below which there can be no model, an int."""
        each = (self.k if method.is_screened else n_features) + 1
        each *= self.least_per_coefficient if method.reads_count else 1
        return math.ceil(fitter_of(method).least_models * each)


@dataclass(frozen=True, eq=False)
class TableValues:
    """The rows of a plain table, for selectors that otherwise read the ScreeningData of a study."""

    training_rows: np.ndarray  # (n_rows, n_features) finite float64, without an intercept
    y: np.ndarray  # (n_rows,) finite float64
    rows = Rows.PEOPLE

    @property
    def rows_by_index(self) -> np.ndarray:
        """The same rows."""
        return self.training_rows

    @property
    def Y(self) -> np.ndarray:
        """The outcomes, (1, n_rows)."""
        return self.y[np.newaxis]

    @property
    def is_training(self) -> np.ndarray:
        """All rows, (n_rows,) bool."""
        return np.ones(len(self.y), dtype=bool)

    @cached_property
    def kept(self) -> dict:
        """Arrays that selectors compute once: here the TablePairs of the outcome."""
        return {PAIRS: [TablePairs(np.ascontiguousarray(self.training_rows.T), self.y)]}

    def unit_keys(self, rows_per_unit: int) -> list[str]:
        """Return a key of every row: its values."""
        return [row.tobytes().hex() for row in np.column_stack([self.training_rows, self.y])]


@dataclass(frozen=True)
class TableFit:
    """A fitted method."""

    weights: np.ndarray | None  # (n_features + 1,), intercept last, 0 if not chosen; None without a model
    chosen: np.ndarray  # (k,) int64 in the order of choice, or all features
    status: Status
    n_models: int | None  # None if no models are drawn among
    events: tuple  # of all that was paid for; empty without privacy
    clips_rows: bool

    def predict(self, X: np.ndarray) -> np.ndarray | None:
        """Predict outcomes, (n_rows,) float64, or None if there is no model."""
        if self.weights is None:
            return None
        rows = with_intercept(X[:, self.chosen])
        return (clip_rows(rows) if self.clips_rows else rows) @ self.weights[np.append(self.chosen, -1)]


def fit_method(
    X: np.ndarray, y: np.ndarray, *, method: Method, request: TableRequest, noise: NoiseSource
) -> TableFit:
    """Choose features, if the method does, and fit a linear model on them and an intercept.

    X is finite and without an intercept; each row is a unit of privacy. By basic composition all events
    together are (epsilon, delta)-DP if the method is private.
    """
    n_features, fitter = X.shape[1], fitter_of(method)
    if y.shape != X.shape[:1]:
        raise UsageError(
            "outcome-array-rows", "Each row must have one outcome, got more or fewer outcomes. Pass all rows."
        )
    request.require_features(method, n_features)
    budget, events, n_low = request.budget(method), [], float(len(X))
    if request.has_private_count(method):
        count_options = {"epsilon": budget["count"], "request": request.tukey, "noise": noise}
        n_low, *events = private_lower_count(len(X), **count_options)
    chosen = np.arange(n_features)
    if method.is_screened:
        choice_options = {"epsilon": budget["screening"], "request": request, "noise": noise}
        chosen, *of_choice = choose_columns(X, y, method=method, n_low=n_low, **choice_options)
        events += of_choice
    fit_request = fitter.of_table(request, epsilon=budget["fit"], n_low=n_low, n_coefficients=len(chosen) + 1)
    fit, weights = fitter.fit(X[:, chosen], y, request=fit_request, noise=noise), None
    if fit.status == Status.RELEASED:
        weights = np.zeros(n_features + 1)
        weights[np.append(chosen, -1)] = [*fit.weights, fit.intercept]
    return TableFit(weights, chosen, fit.status, fit.n_models, (*events, *fit.events), fitter.clips_rows)


def choose_columns(
    X: np.ndarray,
    y: np.ndarray,
    *,
    method: Method,
    n_low: float,
    epsilon: float,
    request: TableRequest,
    noise: NoiseSource,
) -> tuple:
    """Choose features by the selector of a method, without noise where it is not private.

    The result is their (k,) int64 indices, and then the events; `n_low` is public or was released before.
    """
    chooser, data, options = chooser_of(method.selector), TableValues(X, y), {"outcome_bound": None}
    if method.is_non_private:
        return chooser.choose_exactly(data, 0, n_choices=request.k, **options), *()
    choice_request = chooser.request_of_table(request, epsilon=epsilon, n_low=n_low)
    source = noise.on(data_digest(X, y))
    return chooser.choose(data, 0, request=choice_request, noise=source, **options)
