"""Norms at which tight bounds clip rows, and the outcomes that share a budget."""

import math

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import GENOTYPE_STEP, column_moments, entry_scale, grid_frequency
from dpgrs.types import Rows

# The norm of l standardised outcomes is often above its root mean square, by about this share of it over l.
SPREAD = 0.5
# A smaller norm is no clip but a rounding to 0: a genotype would span too few steps of the grid.
SMALLEST_ROW_NORM = 2.0**-4


def tight_row_norm(
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies of a public panel, never of the cohort
    *,
    rows: Rows,  # the two alleles of a person are taken as independent
    factor: float,  # > 0, public: 1 clips about half of the rows, a little
    covariate_square: float = 0.0,  # >= 0, the public mean square of all covariates of a row together
) -> float | None:
    """Return a norm about which rows of genotypes lie: a multiple of their root mean square, publicly known.

    The result is factor sqrt(sum p (1 - p)) for haplotypes and factor sqrt(sum 2 p (1 - p)) for people, with
    the square of covariates under the root, rounded down to a multiple of `GENOTYPE_STEP`, at least
    `SMALLEST_ROW_NORM`. It raises UsageError if the factor is not a finite number above 0, or a frequency is
    missing or not between 0 and 1.
    """
    grid_frequency(frequency)
    variance = column_moments(np.asarray(frequency, dtype=np.float64), rows=rows)[1]
    # fsum rounds once, so that every machine gets the same norm.
    norm = _checked_factor(factor) * math.sqrt(math.fsum([*variance, covariate_square]))
    return max(math.floor(norm / GENOTYPE_STEP) * GENOTYPE_STEP, SMALLEST_ROW_NORM)


def tight_outcome_norm(
    n_outcomes: int,  # the outcomes of one budget
    *,
    factor: float,  # > 0, public: a multiple of the root mean square, which is 1 for standardised outcomes
    bound: float,  # the public bound on every outcome
) -> float:
    """Return the usual norm of a row of standardised outcomes, at most the norm that the bound implies.

    The result is min(factor, bound) sqrt(n_outcomes). It raises UsageError if the factor is not a finite
    number above 0.
    """
    return min(_checked_factor(factor), bound) * math.sqrt(n_outcomes)


def _checked_factor(factor: float) -> float:
    if not 0 < factor < math.inf:
        raise UsageError(
            "factor-not-positive", f"`factor` must be a finite number above 0, got {factor}. Use 1."
        )
    return factor


def outcome_norm(
    n_shared: int,
    *,
    # Times the root of their number; of l outcomes at least 1 + 1/(2 l), which fits undo
    # (`dpgrs.linalg.attenuation`).
    factor: float,
    bound: float,  # of every outcome
) -> float:
    """Return the norm at which `tight` bounds clip rows of outcomes that share a budget."""
    return tight_outcome_norm(n_shared, factor=max(factor, 1 + SPREAD / n_shared), bound=bound)


def row_norm_of(
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies of a public panel
    *,
    rows: Rows,
    factor: float,  # times their root mean square
    n_covariates: int = 0,
    # At which they are clipped, in standard deviations; None without covariates.
    covariate_bound: float | None = None,
) -> float:
    """Return the norm at which `tight` bounds clip rows of genotypes and covariates."""
    square = n_covariates * entry_scale(bound=covariate_bound, rows=rows) ** 2 if n_covariates else 0.0
    return tight_row_norm(frequency, rows=rows, factor=factor, covariate_square=square)


def budget_groups(
    n_outcomes: int,  # a multiple of `n_shared`
    *,
    n_shared: int,  # outcomes that share a budget: `PrivacyRequest.n_outcomes`
) -> list[slice]:
    """Return the outcomes of each budget.

    The result is a list of slice, in the order of the outcomes.
    """
    return [slice(first, first + n_shared) for first in range(0, n_outcomes, n_shared)]
