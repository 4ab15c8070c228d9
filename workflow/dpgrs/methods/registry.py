"""The methods by name: their rows, and the class of each that fits it, which is loaded when it is needed."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from dpgrs.errors import UsageError
from dpgrs.selection.registry import SELECTORS, instance_of, require_new_names
from dpgrs.statement.methods import METHODS, PROVED, Method
from dpgrs.types import Penalty

if TYPE_CHECKING:
    from dpgrs.methods.fitter import Fitter
    from dpgrs.methods.sum_mechanisms import SharedStatistics

# Mechanisms that draw before those of methods, by their names in the ledger; places as in `Method.code`.
CHOICES, REGRESSION = "choices", "covariate-regression"
DRAWN_FIRST = {
    CHOICES: "dpgrs.methods.drawn_choices:Choices",
    REGRESSION: "dpgrs.methods.covariate_mechanism:CovariateRegression",
}


def require_complete(row: Method) -> None:
    """Refuse a row that lacks what a study would miss after its draw."""
    has_words = row.words or not row.may_be_released
    if not row.is_non_private and not (row.look and row.code and has_words):
        raise UsageError(
            "method-incomplete",
            f"A private method must have code, look and, for releases, words, got {row}. Add what its row "
            "lacks.",
        )
    if row.may_be_released and row.reads_rows:
        raise UsageError(
            "released-method-of-rows",
            f"A method that can be released must not be fitted from rows, got {row}. Leave out its "
            "exactness: a bundle has no form for fits from rows.",
        )


require_new_names("methods", PROVED)
for _row in METHODS.values():
    require_complete(_row)


def methods_that(condition: str) -> tuple[str, ...]:
    """List the names of the methods of which a condition holds, such as ``is_screened``."""
    return tuple(name for name, method in METHODS.items() if getattr(method, condition))


def takes_adjusted(method: str, mode: str) -> bool:
    """Tell whether a method can be fitted on outcomes that a regression on covariates adjusted before."""
    return METHODS[method].may_be_released or (mode == "benchmark" and METHODS[method].is_non_private)


def is_ridge(method: str, lambda_from: Penalty | str) -> bool:
    """Tell whether a fit is ridge regression with a stated lambda, linear in X'Y."""
    return METHODS[method].is_plain_ridge and lambda_from == Penalty.FIXED


def n_counts(row: Method) -> int:
    """Return how many times a study counts units at `screening.count_share`: for fit and for choices."""
    is_counted = row.is_screened and SELECTORS[row.selector].counts_units
    return 0 if row.is_non_private else row.reads_count + is_counted


def fitter_of(method: str) -> "Fitter":
    """Return what fits a private method."""
    return instance_of(METHODS[method].code, "dpgrs.methods.fitter:Fitter", method)


def drawn_first(name: str) -> "type[SharedStatistics]":
    """Return the class of a mechanism of `DRAWN_FIRST`."""
    return resolve_name(DRAWN_FIRST[name])
