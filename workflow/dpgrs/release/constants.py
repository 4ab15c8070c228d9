"""What turns a score into a prediction, and sums over public people from which a stated R^2 follows.

A score is the sum of weight times copies of the effect allele, and of the weights of covariates. All here is
post-processing of released numbers, and of public people.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.release.pgs_catalog import Constants
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit

WEIGHT_DIGITS, SUM_DIGITS = 10, 12


def published(fit: "LinearFit") -> "LinearFit":
    """Round the numbers of a fit to what a bundle holds, since processors differ in the last digits."""
    errors = None if fit.standard_errors is None else _rounded(fit.standard_errors, WEIGHT_DIGITS)
    return replace(fit, weights=_rounded(fit.weights, WEIGHT_DIGITS), standard_errors=errors)


def prediction_constants(
    fit: "LinearFit", *, n_variants: int, n_components: int, rows: Rows | str
) -> Constants:
    """Return predictions without any copy of an effect allele, covariates at their public centres.

    Columns of X are `n_variants` genotypes, covariates of a table, and `n_components` principal components. A
    person of two haplotypes has the sum of their predictions, but covariates of a table once.
    """
    n_columns = fit.weights.shape[1]
    of_row = fit.at(no_copies(n_columns, n_variants, rows=rows))
    if Rows(rows) == Rows.PEOPLE:
        return Constants(_rounded(of_row, WEIGHT_DIGITS))
    of_table = slice(n_variants, n_columns - n_components)
    centres = fit.weights[:, of_table] * fit.means[..., of_table]
    of_person = 2 * of_row + centres.sum(axis=1)
    return Constants(_rounded(of_person, WEIGHT_DIGITS), _rounded(of_row, WEIGHT_DIGITS))


def no_copies(n_columns: int, n_variants: int, *, rows: Rows | str) -> np.ndarray:
    """Return a row of X, (n_columns,) float64, without a copy of any effect allele and with 0 elsewhere."""
    x = np.zeros(n_columns)
    x[:n_variants] = -1 if Rows(rows) == Rows.PEOPLE else -1 / 2
    return x


def reference_sums(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (n_outcomes, 6) numbers of rows and sums of y, y^2, s, s^2 and s y over public people.

    Outcomes y and scores s, without the constant, are (n_outcomes, n_rows) float64; rows without the outcome,
    NaN, are left out. Mean squared error and R^2 follow from these sums.
    """
    is_known = np.isfinite(Y)
    y, s = np.where(is_known, Y, 0.0), np.where(is_known, scores, 0.0)
    sums = [is_known, y, y * y, s, s * s, s * y]
    return _rounded(np.stack([values.sum(axis=1) for values in sums], axis=1), SUM_DIGITS)


def _rounded(numbers: np.ndarray, digits: int) -> np.ndarray:
    return np.vectorize(lambda number: float(f"{number:.{digits}g}"), otypes=[float])(numbers)
