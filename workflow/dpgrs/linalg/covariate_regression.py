"""Regression on covariates: exact sums of clipped rows, the fit of noisy sums, and outcomes less their part.

A row is (c, y): c is an intercept and the covariates on the grid of X, y the outcomes, clipped as for X'Y.
Both are shrunk by one factor where c is longer than a public norm, so that the fit is one of weighted rows.
"""

from dataclasses import dataclass

import numpy as np

from dpgrs.linalg.coding import GENOTYPE_STEP, OUTCOME_STEP, entry_scale
from dpgrs.linalg.outcome_grid import long_rows, shrinking
from dpgrs.types import Rows

# Products of an entry with an entry, and with an outcome.
SQUARE_STEP, PRODUCT_STEP = GENOTYPE_STEP**2, GENOTYPE_STEP * OUTCOME_STEP
# Effects are rounded to multiples of this, so that the sum subtracted from an outcome is exact.
EFFECT_STEP = 2.0**-20
LARGEST_EFFECT = 2.0**10  # of one unit of X: 341 standard deviations of an outcome for one of a covariate
# The share of an outcome's variance that a covariate may be expected to explain: a grid with 0.
EXPLAINED = np.r_[0.0, np.geomspace(1e-6, 1.0, 61)]


def intercept_units(*, bound: float, rows: Rows) -> int:
    """Return the entry of the intercept, that of one standard deviation of a covariate, in steps of X."""
    return int(entry_scale(bound=bound, rows=rows) / GENOTYPE_STEP)


def with_intercept(units: np.ndarray, *, bound: float, rows: Rows) -> np.ndarray:
    """Put the intercept before covariates, (n_covariates, n_rows) int16 from `covariate_units`."""
    first = np.full((1, units.shape[1]), intercept_units(bound=bound, rows=rows), dtype=units.dtype)
    return np.vstack([first, units])


@dataclass(frozen=True)
class RegressionSums:
    """Sums over rows: exact integers of units, or noisy ones as floats."""

    gram: np.ndarray  # (n_columns, n_columns) int64 in units of `SQUARE_STEP`, C'C with the intercept first
    cross: np.ndarray  # (n_outcomes, n_columns) int64 in units of `PRODUCT_STEP`, C'Y
    # (n_outcomes,) int64 in units of `SQUARE_STEP`: the intercept's square summed where an outcome is known
    known: np.ndarray


def regression_sums(
    units: np.ndarray,  # (n_columns, n_rows) int16 in steps of X, from `with_intercept`
    Y: np.ndarray,  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, clipped; 0 where missing
    is_known: np.ndarray,  # (n_outcomes, n_rows) bool
    *,
    row_norm: float,  # > 0, public, of a row of `units`
) -> RegressionSums:
    """Sum the products of rows that are clipped at a norm; what a row adds depends only on that row."""
    c, y = units.astype(np.int64), Y
    is_long, length = long_rows(units, norm=row_norm, step=GENOTYPE_STEP)
    if len(length):
        # Truncation towards zero keeps every entry within what the proof assumes.
        factors = shrinking(length, norm=row_norm, step=GENOTYPE_STEP)
        y = Y.copy()
        c[:, is_long] = np.trunc(c[:, is_long] * factors)
        y[:, is_long] = np.trunc(y[:, is_long] * factors)
    return RegressionSums(c @ c.T, y @ c.T, is_known @ c[0] ** 2)


def regression_effects(
    sums: RegressionSums,  # noisy: float64 in the units of X and of outcomes, not in steps
    *,
    square_sd: float,  # of the noise of an entry of `gram`
    cross_sd: float,  # of the noise of an entry of `cross`
    slopes: np.ndarray,  # (n_outcomes,) float64 in (0, 1], public: what clips leave of effects
) -> np.ndarray:
    """Estimate the effects of intercept and covariates on every outcome, (n_outcomes, n_columns) float64.

    It is the posterior mean under normal effects of one variance, which all outcomes' sums choose by their
    likelihood. Directions that C'C shows no more of than its noise count as that noise.
    """
    inflation = np.maximum(sums.gram[0, 0] / np.maximum(sums.known, square_sd), 1.0)
    eigenvalues, U = np.linalg.eigh((sums.gram + sums.gram.T) / 2)
    # What a matrix of such noise has at most, or so.
    floor = 2 * np.sqrt(len(eigenvalues)) * square_sd
    G = np.maximum(eigenvalues, max(floor, np.finfo(float).tiny))
    factors = inflation / slopes
    V = sums.cross * factors[:, np.newaxis] @ U
    # Noise of the release, and the chance of the rows: outcomes have about a variance of 1.
    noise = (cross_sd * factors[:, np.newaxis]) ** 2 + G
    tau = EXPLAINED[:, np.newaxis, np.newaxis]
    variance = tau * G**2 + noise
    likelihood = -(np.log(variance) + V**2 / variance).sum(axis=(1, 2)) / 2
    posterior = np.exp(likelihood - likelihood.max())
    shrunk = (posterior[:, np.newaxis, np.newaxis] * tau * G * V / variance).sum(axis=0) / posterior.sum()
    return on_effect_grid(shrunk @ U.T)


def on_effect_grid(effects: np.ndarray) -> np.ndarray:
    """Round effects to the grid on which they are exact in every outcome."""
    within = np.clip(np.nan_to_num(effects), -LARGEST_EFFECT, LARGEST_EFFECT)
    return np.rint(within / EFFECT_STEP) * EFFECT_STEP


def exact_effects(units: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Regress outcomes, NaN where missing, on an intercept and covariates by least squares, on their grid."""
    effects = np.zeros((len(values), len(units)))
    for outcome_effects, y in zip(effects, values, strict=True):
        is_known = ~np.isnan(y)
        outcome_effects[:] = np.linalg.lstsq(units[:, is_known].T * GENOTYPE_STEP, y[is_known], rcond=None)[0]
    return on_effect_grid(effects)


def explained_part(units: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return what effects on their grid explain of every outcome, (n_outcomes, n_rows) float64.

    The sum is of integers below 2^53 for up to 2,000 covariates: the same for a row whatever is beside it.
    """
    effect_units = np.rint(effects / EFFECT_STEP).astype(np.int64)
    return (effect_units @ units.astype(np.int64)) * (EFFECT_STEP * GENOTYPE_STEP)
