"""Fits from exact sums, without privacy: least squares, ridge regression, and GBLUP, the reference."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP
from dpgrs.linalg.linear_fit import LinearFit, centred_gram, ridge_weights
from dpgrs.methods.blup import fit_blup

if TYPE_CHECKING:
    from dpgrs.io.replicates import Statistics


class CentredSums(NamedTuple):
    """Sums of n rows about the means of their columns."""

    gram: np.ndarray  # (n_variants, n_variants) float64
    cross: np.ndarray  # (n_outcomes, n_variants) float64, over the rows on which an outcome is known
    means: np.ndarray  # (n_variants,) float64, of the columns
    intercept: np.ndarray  # (n_outcomes,) float64, means of the outcomes
    inflation: np.ndarray  # (n_outcomes,) float64, all rows over those on which an outcome is known


def fit_ridge(
    gram: np.ndarray,  # (n_variants + 1, n_variants + 1) int64 in units of `gram_step`, intercept last
    cross: np.ndarray,  # (n_outcomes, n_variants + 1) int64 in units of `cross_step`, intercept last
    n_rows: int,  # rows that were summed
    *,
    penalty: float,  # >= 0, per row: ``alpha / n`` of scikit-learn
    # (n_outcomes,) int, rows on which an outcome is known; None means all. X'y sums only these rows and is
    # scaled up by ``n_rows / n_observed``.
    n_observed: np.ndarray | None = None,
    gram_step: float = GRAM_STEP,
    cross_step: float = CROSS_STEP,
) -> LinearFit:
    """Minimise ||y - intercept - (X - means) w||^2 / n + penalty ||w||^2; without a penalty, of least norm.

    `gram_step` and `cross_step`: units of the statistics; statistics with covariates have finer units. The
    intercept of the result is the outcome's mean.
    """
    steps = {"gram_step": gram_step, "cross_step": cross_step}
    sums = _centred(gram, cross, n_rows, n_observed=n_observed, **steps)
    V = sums.cross * sums.inflation[:, np.newaxis]
    return LinearFit(ridge_weights(sums.gram, V, n_rows, penalty=penalty), sums.means, sums.intercept)


def fit_gblup(
    gram: np.ndarray,
    cross: np.ndarray,
    n_rows: int,
    *,
    heritability: float | None = None,  # in (0, 1), as stated; None estimates it for every outcome
    n_observed: np.ndarray | None = None,
    gram_step: float = GRAM_STEP,
    cross_step: float = CROSS_STEP,
) -> LinearFit:
    """Fit BLUP without noise: ridge regression whose penalty follows from each outcome's heritability.

    The marginal likelihood of the training rows gives the heritability (`dpgrs.methods.blup_model`), so no
    test row contributes to it. Outcomes have a variance of about 1.

    `gram`, `cross`, `n_rows`, `n_observed`, `gram_step` and `cross_step`: as in `fit_ridge`, and so is the
    result.
    """
    steps = {"gram_step": gram_step, "cross_step": cross_step}
    sums = _centred(gram, cross, n_rows, n_observed=n_observed, **steps)
    inflation = sums.inflation if (sums.inflation > 1).any() else None
    exact = {"gram_sd": 0, "cross_sd": 0, "heritability": heritability, "inflation": inflation}
    return LinearFit(fit_blup(sums.gram, sums.cross, n_rows, **exact).weights, sums.means, sums.intercept)


def fit_exactly(
    method: str,  # `gblup`, `ols` or `ridge`
    statistics: "Statistics",
    size: int,
    regression: Mapping[str, Any],  # that section of the settings
) -> LinearFit:
    """Fit all outcomes on so many variants from exact Statistics, by a method without privacy on sums."""
    options = {"gram_step": statistics.gram_step, "cross_step": statistics.cross_step}
    options |= {"n_observed": statistics.n_observed}
    sums = (statistics.gram_of_size(size), statistics.cross[size], statistics.n_rows)
    if method == "gblup":
        return fit_gblup(*sums, heritability=regression["heritability"], **options)
    return fit_ridge(*sums, penalty=regression["lambda"] if method == "ridge" else 0.0, **options)


def _centred(
    gram: np.ndarray,
    cross: np.ndarray,
    n_rows: int,
    *,
    n_observed: np.ndarray,
    gram_step: float,
    cross_step: float,
) -> CentredSums:
    n_observed = np.maximum(n_rows if n_observed is None else n_observed, 1)
    G_c, means = centred_gram(gram * gram_step, n_rows)
    V = cross * cross_step
    totals = 2 * V[:, -1]
    inflation = np.broadcast_to(n_rows / n_observed, totals.shape)
    return CentredSums(G_c, V[:, :-1] - np.outer(totals, means), means, totals / n_observed, inflation)
