"""Methods of the registry on a plain table, such as those that the DPKendall paper compares [1]_.

Selectors and fits are those of a study. What differs is that values are taken as they are, by `TableValues`
in the place of a variant set, which lie on no grid and in no range. Benchmarks only. A method spends its
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
from dpgrs.privacy.digests import data_digest
from dpgrs.selection import registry as selectors
from dpgrs.selection.dp_kendall import PAIRS, TablePairs
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
    """The public terms of a method; below, `method` is a row of the registry.

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
                "shares-too-large",
                f"`count_share` and `screening_share` must be below 1 together, got {total:g}. "
                "Leave a share for the fit.",
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

    def has_private_count(self, method):
        """Whether something is to be paid for the number of rows, a bool."""
        return method.n_counts > 0 and self.tukey.has_private_count

    def budget(self, method):
        """Split epsilon: a dict of ``count``, ``screening`` and ``fit``, 0 where the method has none."""
        if method.is_non_private:
            return dict.fromkeys(("count", "screening", "fit"), 0.0)
        count = self.tukey.count_epsilon if self.has_private_count(method) else 0.0
        screening = self.epsilon * self.screening_share if method.is_screened else 0.0
        return {"count": count, "screening": screening, "fit": self.epsilon - count - screening}

    def require_features(self, method, n_features):
        """Raise UsageError unless k features can be chosen from `n_features` and some are left."""
        if method.is_screened and self.k >= n_features:
            raise UsageError(
                "number-of-choices",
                f"`k` must be below the number of features, {n_features}, got {self.k}. "
                "Choose fewer, or take a method without a choice.",
            )

    def least_rows(self, method, n_features):
        """Return the number of rows below which there can be no model, an int."""
        each = (self.k if method.is_screened else n_features) + 1
        each *= self.least_per_coefficient if method.reads_count else 1
        return math.ceil(fitter_of(method).least_models * each)


@dataclass(frozen=True, eq=False)
class TableValues:
    """The rows of a plain table, for selectors that otherwise read the ScreeningData of a study.

    Attributes
    ----------
    training_rows : (n_rows, n_features) finite float64, without an intercept.
    y : (n_rows,) finite float64
    """

    training_rows: np.ndarray
    y: np.ndarray
    rows = Rows.PEOPLE

    @property
    def rows_by_index(self):
        """The same rows."""
        return self.training_rows

    @property
    def Y(self):
        """The outcomes, (1, n_rows)."""
        return self.y[np.newaxis]

    @property
    def is_training(self):
        """All rows, (n_rows,) bool."""
        return np.ones(len(self.y), dtype=bool)

    @cached_property
    def kept(self):
        """What selectors compute once: here the TablePairs of the outcome."""
        return {PAIRS: [TablePairs(np.ascontiguousarray(self.training_rows.T), self.y)]}

    def unit_keys(self, rows_per_unit):
        """Return a key of every row: what is in it."""
        return [row.tobytes().hex() for row in np.column_stack([self.training_rows, self.y])]


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
    method : Method, one of `table_methods`.
    request : TableRequest
    noise : NoiseSource of a benchmark.

    Returns
    -------
    TableFit. By basic composition all events together are (epsilon, delta)-DP if the method is private.

    Raises
    ------
    UsageError
        If X and y do not fit together or k features cannot be chosen, and in a release, by its charge.
    """
    n_features, fitter = X.shape[1], fitter_of(method)
    if y.shape != X.shape[:1]:
        raise UsageError(
            "outcome-array-rows", "Each row must have one outcome, got more or fewer outcomes. Pass all rows."
        )
    request.require_features(method, n_features)
    budget, events, n_low = request.budget(method), [], float(len(X))
    if request.has_private_count(method):
        terms = {"epsilon": budget["count"], "request": request.tukey, "noise": noise}
        n_low, *events = private_lower_count(len(X), **terms)
    chosen = np.arange(n_features)
    if method.is_screened:
        terms = {"epsilon": budget["screening"], "request": request, "noise": noise}
        chosen, *of_choice = choose_columns(X, y, method=method, n_low=n_low, **terms)
        events += of_choice
    asked = fitter.of_table(request, epsilon=budget["fit"], n_low=n_low, n_coefficients=len(chosen) + 1)
    fit, weights = fitter.fit(X[:, chosen], y, request=asked, noise=noise), None
    if fit.status == Status.RELEASED:
        weights = np.zeros(n_features + 1)
        weights[np.append(chosen, -1)] = [*fit.weights, fit.intercept]
    return TableFit(weights, chosen, fit.status, fit.n_models, (*events, *fit.events), fitter.clips_rows)


def choose_columns(X, y, *, method, n_low, epsilon, request, noise):
    """Choose features by the selector of a method, without noise where it is not private.

    Parameters
    ----------
    X, y, method, request, noise : as in `fit_method`.
    n_low : float, number of rows, public or released before.
    epsilon : float, of all choices together.

    Returns
    -------
    (k,) int64 indices of different columns, and the events.
    """
    selector, data, terms = selectors.SELECTORS[method.selector], TableValues(X, y), {"outcome_bound": None}
    if method.is_non_private:
        return selectors.named(selector.exact)(data, 0, n_choices=request.k, **terms), *()
    asked = selectors.named(selector.of_table)(request, epsilon=epsilon, n_low=n_low)
    source = noise.on(data_digest(X, y))
    return selectors.named(selector.private)(data, 0, request=asked, noise=source, **terms)
