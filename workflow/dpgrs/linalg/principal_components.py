"""Principal components of genotypes, with loadings from public people, so that a row's depend on it alone."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.clipped_statistics import GENOTYPE_STEP, half_coded
from dpgrs.linalg.statistics import VARIANT_BLOCK, column_moments

if TYPE_CHECKING:
    from dpgrs.types import Rows

LOADING_STEP = 2.0**-20  # one unit of a loading
# Sums of products with genotypes of at most 2^12 steps are exact in float64 below 2^53.
LARGEST_LOADING_SUM = 2**41


def reference_loadings(
    X: np.ndarray,  # (n_rows, n_variants) float64, `half` coding, of the reference
    frequency: np.ndarray,  # (n_variants,) its ALT allele frequencies
    *,
    n_components: int,  # >= 1
    rows: "Rows",
    key: str = "covariates.pcs",  # what asks for so many, for messages
) -> np.ndarray:
    """Find the loadings of the first principal components of public people.

    Columns are centred and scaled by their frequencies, (x - mean)/sd, and loadings scaled so that components
    have mean square 1 among the rows of the reference. Of the two signs that one is taken at which the
    largest loading is positive.

    The result is (n_components, n_variants) float64, multiples of `LOADING_STEP`; 0 at variants that do not
    vary. It raises UsageError if the reference does not vary in so many directions.
    """
    from scipy.linalg import eigh  # takes 0.14 s, which projections do without

    means, variances = column_moments(frequency, rows=rows)
    inverse = np.divide(1.0, np.sqrt(variances), where=variances > 0, out=np.zeros_like(variances))
    Z = (X - means) * inverse
    d = Z.shape[1]
    if n_components > min(d, len(Z)):
        raise UsageError(
            f"`{key}` must be at most {min(d, len(Z))}, the smaller of variants and rows of the "
            f"reference, got {n_components}. Lower it."
        )
    eigenvalues, U = eigh(Z.T @ Z / len(Z), subset_by_index=[d - n_components, d - 1])
    eigenvalues, U = eigenvalues[::-1], U[:, ::-1]
    # Rounding leaves about d times the machine epsilon where nothing varies.
    if eigenvalues[-1] <= d * np.finfo(float).eps * max(eigenvalues[0], 1.0):
        raise UsageError(
            f"`{key}` must be at most the directions in which the reference varies, got "
            f"{n_components}. Lower it."
        )
    largest = np.abs(U).argmax(axis=0)
    U = U * np.sign(U[largest, np.arange(n_components)]) / np.sqrt(eigenvalues)
    return np.rint((U * inverse[:, np.newaxis]).T / LOADING_STEP) * LOADING_STEP


def project(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages
    loadings: np.ndarray,  # (n_components, n_variants) float64, multiples of `LOADING_STEP`
    *,
    means: np.ndarray,  # (n_variants,) float64, public means of the columns in `half` coding
    n_haplotypes: int,
    rows: "Rows",
) -> np.ndarray:
    """Project rows onto principal components.

    Products are summed as integers, so that no other row, chunk or order of summing can change what becomes
    of a row.

    The result is (n_components, n_rows) float64, in standard deviations of the reference. It raises
    UsageError if loadings are not on their grid, or too large for exact sums.
    """
    units = loadings / LOADING_STEP
    is_small = np.abs(units).sum(axis=1).max(initial=0) <= LARGEST_LOADING_SUM
    if not (is_small and np.array_equal(units, np.rint(units))):
        raise UsageError(
            "Loadings must be multiples of 2^-20 whose sums are exact, got others. "
            "Make them again from the reference."
        )
    sums = 0.0
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, min(start + VARIANT_BLOCK, len(genotypes)))
        T = half_coded(genotypes[block], n_haplotypes=n_haplotypes, rows=rows).astype(np.float64)
        sums = sums + units[:, block] @ T
    at_means = (units * means).sum(axis=1)
    return (sums * GENOTYPE_STEP - at_means[:, np.newaxis]) * LOADING_STEP
