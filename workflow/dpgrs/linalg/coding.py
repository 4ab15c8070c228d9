"""Public grids of genotypes, outcomes and covariates, and what public frequencies say of columns of X."""

import math

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.types import Rows

# In `half` coding.
GRAM_STEP = 1 / 4  # one unit of the integer Gram matrix
OUTCOME_STEP = 2.0**-16  # one unit of an outcome on its grid
CROSS_STEP = OUTCOME_STEP / 2  # one unit of the integer X'Y
CALL_STEP = 1 / 2  # of rows of calls and their intercept, in `half` coding; of others `DOSAGE_STEP`
# In `frequency` coding.
GENOTYPE_STEP = DOSAGE_STEP  # one unit of a genotype on its grid
CLIPPED_GRAM_STEP = GENOTYPE_STEP**2  # one unit of the integer Gram matrix
CLIPPED_CROSS_STEP = GENOTYPE_STEP * OUTCOME_STEP  # one unit of the integer X'Y


def column_moments(
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies
    *,
    rows: Rows,  # the two alleles of a person are taken as independent
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the columns in `half` coding, from frequencies only.

    The result is `means`, `variances`, (n_variants,) float64.
    """
    n_alleles = 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    return n_alleles * (frequency - 0.5), n_alleles * frequency * (1 - frequency)


def grid_frequency(
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies of a public panel
) -> np.ndarray:
    """Round public frequencies to the grid of the coding.

    The result is (n_variants,) float64, multiples of `GENOTYPE_STEP`. It raises UsageError if one is missing
    or not between 0 and 1, here and in all functions below that take frequencies.
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    wrong = frequency[~((frequency >= 0) & (frequency <= 1))]
    if wrong.size:
        raise UsageError(
            "frequency-out-of-range",
            f"A public frequency must be between 0 and 1, got {wrong[0]}. "
            "Drop the variant, or take its frequency from another panel.",
        )
    return np.rint(frequency / GENOTYPE_STEP) * GENOTYPE_STEP


def entry_scale(
    *,
    bound: float,  # > 0, public, in standard deviations
    rows: Rows,
) -> float:
    """Return what one standard deviation of a covariate is in X: b/bound.

    It raises UsageError if the bound is not a finite number above 0.
    """
    if not 0 < bound < math.inf:
        raise UsageError(
            "covariate-bound-not-positive",
            f"`covariates.bound` must be a finite number above 0, got {bound}. Use 3.",
        )
    return (0.5 if Rows(rows) == Rows.HAPLOTYPES else 1.0) / bound


def count_known(
    Y: np.ndarray,  # (n_outcomes, n_rows) float64, NaN where missing
) -> np.ndarray:
    """Count on how many rows each outcome is known.

    The result is (n_outcomes,) int64.
    """
    return np.isfinite(Y).sum(axis=1)


def count_cases(
    # (n_outcomes, n_rows) float64, NaN where missing; standardised by a prevalence, or 0 and 1.
    Y: np.ndarray,
) -> np.ndarray:
    """Count on how many rows each 0/1 outcome is 1.

    The result is (n_outcomes,) int64.
    """
    return np.greater(Y, 0).sum(axis=1)
