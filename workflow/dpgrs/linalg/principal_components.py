"""Principal components of genotypes; public loadings make scores depend only on the row."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.clipped_statistics import half_coded
from dpgrs.linalg.coding import GENOTYPE_STEP, column_moments
from dpgrs.linalg.statistics import VARIANT_BLOCK

if TYPE_CHECKING:
    from dpgrs.types import Rows

LOADING_STEP = 2.0**-20  # one unit of a loading
# Sums of products with genotypes of at most 2^12 steps are exact in float64 below 2^53.
LARGEST_LOADING_SUM = 2**41
# Of more variants than this, products of rows are decomposed: those of variants would fill the memory.
MOST_SQUARED = 2**14
# Variants of a wide panel, and entries of projected genotypes, that are numbers in memory at a time.
WIDE_BLOCK, PROJECTED_ENTRIES = 2**12, 2**24


class Genotypes(Protocol):
    """Genotypes of variants, (n_variants, n_words) uint64 or (n_variants, n_rows) int16: an array or a
    file."""

    def __len__(self) -> int: ...

    def __getitem__(self, variants: slice, /) -> np.ndarray: ...


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
    have mean square 1 among the rows of the reference. The sign makes the
    largest loading positive.

    The result is (n_components, n_variants) float64, multiples of `LOADING_STEP`; 0 at variants that do not
    vary. It raises UsageError if the reference does not vary in so many directions.
    """
    from scipy.linalg import eigh  # takes 0.14 s, which projections do without

    means, inverse = _standardising(frequency, rows=rows)
    Z = (X - means) * inverse
    n, d = Z.shape
    _require_so_many(n_components, n, d, key=key)
    eigenvalues, U = eigh(Z.T @ Z / n, subset_by_index=[d - n_components, d - 1])
    return _scaled_loadings(eigenvalues[::-1], U[:, ::-1], inverse, key=key)


def wide_loadings(
    columns: Callable[[slice], np.ndarray],  # gives (n_rows, n) float64 of some variants, as in X above
    frequency: np.ndarray,
    *,
    n_rows: int,
    n_components: int,
    rows: "Rows",
    key: str = "covariates.pcs",
) -> np.ndarray:
    """Find the loadings of `reference_loadings` for many variants, of which some are read at a time."""
    from scipy.linalg import eigh

    means, inverse = _standardising(frequency, rows=rows)
    d = len(frequency)
    _require_so_many(n_components, n_rows, d, key=key)
    blocks = [slice(start, min(start + WIDE_BLOCK, d)) for start in range(0, d, WIDE_BLOCK)]
    products = np.zeros((n_rows, n_rows))
    for block in blocks:
        Z = (columns(block) - means[block]) * inverse[block]
        products += Z @ Z.T / n_rows
    eigenvalues, V = eigh(products, subset_by_index=[n_rows - n_components, n_rows - 1])
    eigenvalues, V = eigenvalues[::-1], V[:, ::-1]
    projections = [((columns(block) - means[block]) * inverse[block]).T @ V for block in blocks]
    U = np.vstack(projections) / np.sqrt(n_rows * np.maximum(eigenvalues, np.finfo(float).tiny))
    return _scaled_loadings(eigenvalues, U, inverse, key=key)


def _standardising(frequency: np.ndarray, *, rows: "Rows") -> tuple[np.ndarray, np.ndarray]:
    """Return the means of columns, and one over their standard deviations, 0 where nothing varies."""
    means, variances = column_moments(frequency, rows=rows)
    return means, np.divide(1.0, np.sqrt(variances), where=variances > 0, out=np.zeros_like(variances))


def _require_so_many(n_components: int, n: int, d: int, *, key: str) -> None:
    if n_components > min(d, n):
        raise UsageError(
            "too-many-components",
            f"`{key}` must be at most {min(d, n)}, the smaller of variants and rows of the "
            f"reference, got {n_components}. Lower it.",
        )


def _scaled_loadings(eigenvalues: np.ndarray, U: np.ndarray, inverse: np.ndarray, *, key: str) -> np.ndarray:
    """Return loadings by eigenvectors (n_variants, n_components), the first of which is the largest."""
    d, n_components = U.shape
    # Rounding leaves about d times the machine epsilon where nothing varies.
    if eigenvalues[-1] <= d * np.finfo(float).eps * max(eigenvalues[0], 1.0):
        raise UsageError(
            "too-many-components",
            f"`{key}` must be at most the directions in which the reference varies, got "
            f"{n_components}. Lower it.",
        )
    largest = np.abs(U).argmax(axis=0)
    U = U * np.sign(U[largest, np.arange(n_components)]) / np.sqrt(eigenvalues)
    return np.rint((U * inverse[:, np.newaxis]).T / LOADING_STEP) * LOADING_STEP


def project(
    genotypes: Genotypes,
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
            "loadings-off-grid",
            "Loadings must be multiples of 2^-20 whose sums are exact, got others. "
            "Make them again from the reference.",
        )
    sums = 0.0
    step = min(VARIANT_BLOCK, max(PROJECTED_ENTRIES // n_haplotypes, 1))
    for start in range(0, len(genotypes), step):
        block = slice(start, min(start + step, len(genotypes)))
        T = half_coded(genotypes[block], n_haplotypes=n_haplotypes, rows=rows).astype(np.float64)
        sums = sums + units[:, block] @ T
    at_means = (units * means).sum(axis=1)
    return (sums * GENOTYPE_STEP - at_means[:, np.newaxis]) * LOADING_STEP
