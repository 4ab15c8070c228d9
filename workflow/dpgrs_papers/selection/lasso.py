"""The Lasso as a selector of features: not private by itself, it casts the votes of `sublasso`.

min |y - b - X w|_2^2/(2 n) + penalty |w|_1 over w and the intercept b, by coordinate descent (scikit-learn).
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.selection.chooser import ExactChooser
from dpgrs_papers.selection.top_k import top_k
from dpgrs_papers.types import LassoScaling

if TYPE_CHECKING:
    from dpgrs.selection.screening_data import ScreeningData

# As in the DP-SIS paper. The public code of DPKendall has 1, without standardisation.
PENALTY = 0.1
# Data are cut here, so that nothing overflows.
LARGEST_ENTRY = 1e50
# Below, no line has a slope.
SMALLEST_GROUP = 2
# The path of penalties from the largest that keeps a feature down to this part of it.
N_PENALTIES, SMALLEST_PART = 100, 1e-3


@dataclass(frozen=True)
class LassoTerms:
    """The terms of one Lasso; of standardised columns a feature needs a correlation above the penalty."""

    penalty: float = PENALTY  # above 0
    scaling: LassoScaling = LassoScaling.STANDARDISED

    def __post_init__(self) -> None:
        if not 0 < self.penalty < np.inf:
            raise UsageError(
                "penalty-not-positive",
                f"`penalty` must be a number above 0, got {self.penalty}. Use the default.",
            )


STANDARD = LassoTerms()


def choose_by_lasso(X: np.ndarray, y: np.ndarray, *, k: int) -> np.ndarray:
    """Choose the features of the largest absolute coefficients of a Lasso on all rows, without privacy.

    X is (n_rows, d), without an intercept column; a row with a value that is not finite takes no part. The
    largest penalty of a path that keeps k features counts. They are (k,) int64, different, the largest
    first; if fewer than k coefficients are not 0, the lowest indices follow.
    """
    check_lasso(X, y, k=k)
    X, y = _usable(X, y, is_scaled=True)
    coefficients = np.zeros(X.shape[1])
    highest = np.abs(y @ X).max() / max(len(y), 1)
    for penalty in highest * np.geomspace(1, SMALLEST_PART, N_PENALTIES):
        coefficients = _descend(X, y, penalty, start=coefficients)
        if np.count_nonzero(coefficients) >= k:
            break
    return top_k(np.abs(coefficients), k)


class LassoOfAll(ExactChooser):
    """Choices by one Lasso on all rows, without a private twin."""

    def choose_exactly(
        self, data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float
    ) -> np.ndarray:
        return choose_by_lasso(data.training_rows, data.Y[number, data.is_training], k=n_choices)


def lasso_coefficients(
    X: np.ndarray,
    y: np.ndarray,
    *,
    penalty: float = PENALTY,
    scaling: LassoScaling = LassoScaling.STANDARDISED,
) -> np.ndarray:
    """Fit a Lasso with an intercept; return (d,) finite float64, 0 for a constant feature.

    The same rows in the same order give the same coefficients, whatever else there is. A row with a value
    that is not finite takes no part; fewer than two rows or a constant y give zeros.
    """
    X, y = _usable(X, y, is_scaled=scaling == LassoScaling.STANDARDISED)
    return _descend(X, y, penalty, start=np.zeros(X.shape[1]))


def check_lasso(X: np.ndarray, y: np.ndarray, *, k: int) -> None:
    """Refuse tables of which no Lasso can choose k features; messages name only public terms."""
    if np.ndim(X) != 2 or np.shape(y) != np.shape(X)[:1]:
        raise UsageError(
            "lasso-table-shape",
            "`X` must be a table with one entry of `y` for each row. Pass all rows of both.",
        )
    if not 1 <= k <= X.shape[1]:
        raise UsageError(
            "number-of-choices", f"`k` must be between 1 and the {X.shape[1]} features, got {k}. Change it."
        )


def _usable(X: np.ndarray, y: np.ndarray, *, is_scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the finite rows, cut at `LARGEST_ENTRY`, centred, perhaps scaled; zeros where constant."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    is_finite = np.isfinite(X).all(axis=1) & np.isfinite(y)
    if np.count_nonzero(is_finite) < SMALLEST_GROUP:
        return np.zeros((0, X.shape[1])), np.zeros(0)
    # In one layout, as the order of sums depends on it.
    table = np.array(np.column_stack([X[is_finite], y[is_finite]]), order="C")
    table = table.clip(-LARGEST_ENTRY, LARGEST_ENTRY)
    # By their ends: equal numbers can have a mean beside them, and then a spread that is only rounding.
    is_constant = table.max(axis=0) == table.min(axis=0)
    table -= table.mean(axis=0)
    with np.errstate(all="ignore"):
        table /= table.std(axis=0) if is_scaled else 1.0
    table[:, is_constant] = 0.0
    table = np.nan_to_num(table, nan=0.0, posinf=0.0, neginf=0.0)
    return np.asfortranarray(table[:, :-1]), table[:, -1].copy()


def _descend(X: np.ndarray, y: np.ndarray, penalty: float, *, start: np.ndarray) -> np.ndarray:
    """Fit usable rows."""
    if not (y @ X).any():
        return np.zeros(X.shape[1])
    # Every start of the workflow imports this module, few fit a lasso, and these take half a second.
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lasso_path

    with config_context(skip_parameter_validation=True), warnings.catch_warnings(), np.errstate(all="ignore"):
        # That a fit of private rows did not converge is theirs to know; its last coefficients serve.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # No Gram matrix: rows are few where features are many. Checks, and the seed of what draws nothing,
        # would take ten times as long as a small fit.
        options = {"precompute": False, "check_input": False}
        _, path, _ = lasso_path(X, y, alphas=[penalty], coef_init=start, **options)
    assert path.shape == (X.shape[1], 1)
    return np.nan_to_num(path[:, 0], nan=0.0)
