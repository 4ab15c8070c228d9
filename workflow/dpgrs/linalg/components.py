"""Components of outcomes by public loadings: what each row has of them, in integers, and the way back.

Loadings L (n_outcomes, n_components) say that standardised outcomes are y = L z + e, with z ~ N(0, I) and
e ~ N(0, diag(psi)), psi_j = 1 - sum_r L_jr^2. A row's components are the generalised least squares of z,

    z = S (L'P L)^-1 L'P y,   P = diag(1/psi),   S = diag(1 + (L'P L)^-1)^(-1/2),

which S brings to variance 1. As E[z] = S f where y = L f, effects w on components are L S^-1 w on outcomes.

Jobs on several machines map rows of one cohort, so both maps have to be the same bits on every processor:
they take single operations, rounded as IEEE 754 says, and sums term by term, instead of matrix products.
"""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.outcome_grid import ABOVE_ROUNDING, grid_outcomes

# The grid of the maps; entries of loadings of 10^6 outcomes are about 10^-3.
MAP_STEP = 2.0**-24
# A residual variance below is a rounding, or too good to be true in another cohort.
LEAST_RESIDUAL = 0.05
# Integers up to it are exact in float64, whatever the order in which they are summed.
LARGEST_SUM = 2**53
# How often missing outcomes are filled in: of a row that lacks a share m, about m^10 of them stays 0.
FILLS = 10
ROW_BLOCK = 2**12


def component_map(
    loadings: np.ndarray,  # (n_outcomes, n_components) float64, public
) -> np.ndarray:
    """Return the map of a row of outcomes to its components.

    The result is (n_components, n_outcomes) float64, whole numbers in units of `MAP_STEP`; NaN where
    components can hardly be told apart, here and in `mapped_loadings`.
    """
    weighted, inverse, scale = _score_factors(loadings)
    mapped = sum(np.multiply.outer(*columns) for columns in zip(inverse.T, weighted.T, strict=True))
    return np.rint(mapped / scale[:, np.newaxis] / MAP_STEP)


def mapped_loadings(loadings: np.ndarray) -> np.ndarray:
    """Return what one unit of each component is of every outcome, (n_outcomes, n_components) float64."""
    return loadings * _score_factors(loadings)[-1]


def components_of(
    Y: np.ndarray,  # (n_outcomes, n_rows) float64, publicly standardised; NaN where missing
    loadings: np.ndarray,  # (n_outcomes, n_components) float64, public
    *,
    bound: float,  # at which outcomes and components are clipped
) -> np.ndarray:
    """Map rows of outcomes to their components, each by itself and exactly (docs/proofs/cross_product.md).

    Missing outcomes are at first 0, the public mean, and then `FILLS` times what the components of their row
    say that they are: steps of the EM algorithm to the least squares of the known ones.

    The result is (n_components, n_rows) float64, multiples of `OUTCOME_STEP`, within the bound. It raises
    UsageError if public numbers do not ensure that sums are exact.
    """
    forth, back = component_map(loadings), np.rint(mapped_loadings(loadings) / MAP_STEP)
    for A in (forth, back):
        # Before they are integers, which might overflow. Comparisons with NaN are False.
        largest = np.abs(A).sum(axis=1).max() * ABOVE_ROUNDING * bound / OUTCOME_STEP
        if not largest <= LARGEST_SUM:
            raise UsageError(
                "component-map-too-large",
                "The map between outcomes and components must have entries that can be summed exactly, got "
                "larger ones. Lower `outcomes.bound`, or leave out components that carry next to nothing, or "
                "what others carry.",
            )
    Z = np.empty((len(forth), Y.shape[1]))
    for start in range(0, Y.shape[1], ROW_BLOCK):
        block = slice(start, start + ROW_BLOCK)
        Z[:, block] = _components(Y[:, block], forth * MAP_STEP, back * MAP_STEP, bound=bound)
    return Z * OUTCOME_STEP


def _components(Y: np.ndarray, forth: np.ndarray, back: np.ndarray, *, bound: float) -> np.ndarray:
    """Return the components of some rows in units of `OUTCOME_STEP`."""
    T, largest = grid_outcomes(Y, bound=bound).astype(np.float64), np.floor(bound / OUTCOME_STEP)

    def mapped(A: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return A T rounded towards zero, as clips do, and clipped."""
        return np.clip(np.trunc(A @ T), -largest, largest)

    Z, is_missing = mapped(forth, T), np.isnan(Y)
    some = is_missing.any(axis=0)
    if some.any():
        T, is_missing = T[:, some], is_missing[:, some]
        for _ in range(FILLS):
            T = np.where(is_missing, mapped(back, Z[:, some]), T)
            Z[:, some] = mapped(forth, T)
    return Z


def _score_factors(loadings: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P L, (L'P L)^-1 and the diagonal of S^-1; the last two NaN where roundings spoil them."""
    psi = np.maximum(1 - sum(column**2 for column in loadings.T), LEAST_RESIDUAL)
    weighted = loadings / psi[:, np.newaxis]
    # Sums of `np.cumsum` are in order.
    inverse = _inverse(
        np.array(
            [
                [np.cumsum(weighted_column * column_of_loadings)[-1] for weighted_column in weighted.T]
                for column_of_loadings in loadings.T
            ]
        )
    )
    if not (np.isfinite(inverse).all() and (np.diag(inverse) > 0).all()):
        inverse[:] = np.nan
    return weighted, inverse, np.sqrt(1 + np.diag(inverse))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _inverse(A: np.ndarray) -> np.ndarray:
    """Invert a positive definite matrix by elimination of one row after another."""
    A = A.copy()
    for index in range(len(A)):
        pivot, column = A[index, index], A[:, index].copy()
        A[:, index] = 0
        A[index, index] = 1
        row = A[index] / pivot
        A -= np.multiply.outer(column, row)
        A[index] = row
    return A
