"""Norms at which tight bounds clip rows, and the outcomes that share a budget."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.linalg.clipped_statistics import tight_outcome_norm, tight_row_norm
from dpgrs.linalg.covariates import entry_scale
from dpgrs.linalg.statistics import grid_outcomes

if TYPE_CHECKING:
    from dpgrs.types import Rows

# The norm of l standardised outcomes is often above its root mean square, by about this share of it over l.
SPREAD = 0.5


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
    rows: "Rows",
    factor: float,  # times their root mean square
    n_covariates: int = 0,
    # At which they are clipped, in standard deviations; None without covariates.
    covariate_bound: float | None = None,
) -> float:
    """Return the norm at which `tight` bounds clip rows of genotypes and covariates."""
    square = n_covariates * entry_scale(bound=covariate_bound, rows=rows) ** 2 if n_covariates else 0.0
    return tight_row_norm(frequency, rows=rows, factor=factor, covariate_square=square)


def clipped_outcomes(
    values: np.ndarray,  # (n_outcomes, n_rows) float64, NaN where missing
    *,
    bound: float,  # of every outcome
    norm: float,  # of a row of the outcomes of one budget
    n_shared: int,  # outcomes that share a budget
) -> np.ndarray:
    """Clip outcomes and round them to their grid, those of each budget by themselves.

    The result is (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    """
    groups = budget_groups(len(values), n_shared=n_shared)
    return np.vstack([grid_outcomes(values[group], bound=bound, row_norm=norm) for group in groups])


def budget_groups(
    n_outcomes: int,  # a multiple of `n_shared`
    *,
    n_shared: int,  # outcomes that share a budget: `PrivacyRequest.n_outcomes`
) -> list[slice]:
    """Return the outcomes of each budget.

    The result is a list of slice, in the order of the outcomes.
    """
    return [slice(first, first + n_shared) for first in range(0, n_outcomes, n_shared)]
