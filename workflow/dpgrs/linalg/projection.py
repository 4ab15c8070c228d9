"""Projections of PRIMO (Algorithms 2 and 3): noisy X'Y moves to the nearest point that X'Y could have been.

All functions are post-processing: they read noisy statistics and public values, and cost no privacy.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr

from dpgrs.errors import UsageError

MAX_NEWTON_STEPS = 60
# Relative excess over the ball's radius at which Newton's method stops; scaling removes the rest.
TOLERANCE = 1e-14
# Numbers that the solver holds at once: its temporaries stay in the cache, and small beside the inputs.
BLOCK_ENTRIES = 2**15
# An exact X'X has eigenvalues below 0 only by rounding, which is far smaller than this share of the largest.
NEGATIVE_SHARE = 1e-8


def project_label(
    cross: np.ndarray,  # (n_outcomes, n_variants), noisy X'Y
    gram: np.ndarray,  # (n_variants, n_variants) symmetric, exact and public X'X without the intercept
    radii: float | np.ndarray,  # (n_outcomes,) or one number >= 0, public bounds on an outcome's norm
    *,
    joint: bool = False,  # whether one ball of radius sqrt(sum r^2) holds all outcomes, as in the paper
) -> np.ndarray:
    """Project every outcome's X'y onto {X'z : ||z||_2 <= r}, for label DP (docs/explanation/projection.md).

    The result is (n_outcomes, n_variants) float64. Points of the set come back as they were, to rounding. It
    raises UsageError for shapes that do not match, numbers that are not finite, radii below 0, or a matrix
    that is no X'X.
    """
    eigenvalues, U, scale = _decomposed(cross, gram)
    if eigenvalues.min(initial=0.0) < -NEGATIVE_SHARE * eigenvalues.max(initial=0.0):
        raise UsageError(
            "gram-not-exact",
            "`gram` must be an exact X'X, got a matrix with negative eigenvalues. "
            "Use project_ellipsoid for a noisy one.",
        )
    return _project_outcomes(cross, eigenvalues, U, _lengths(radii, len(cross), math.sqrt(scale)), joint)


def project_ellipsoid(
    cross: np.ndarray,
    gram: np.ndarray,  # (n_variants, n_variants) symmetric, noisy X'X without the intercept
    radii: float | np.ndarray,
    *,
    joint: bool = False,
) -> np.ndarray | None:
    """Project every outcome's X'y onto {v : v' G^+ v <= r^2} for a noisy Gram matrix G, for full DP.

    Eigenvalues of G below 0, which only noise can cause, count as 0; the set is flat in their directions. The
    set depends on the noise of G, so the true X'Y may lie outside it (docs/explanation/projection.md).
    Parameters, result and errors are otherwise as in `project_label`.
    """
    eigenvalues, U, scale = _decomposed(cross, gram)
    return _project_outcomes(cross, eigenvalues, U, _lengths(radii, len(cross), math.sqrt(scale)), joint)


def project_feature(
    cross: np.ndarray,
    Y: np.ndarray,  # (n_outcomes, n_rows), the outcomes, exact and public. A missing one is 0
    radii: float | np.ndarray,  # (n_variants,) or one number >= 0, public bounds on the norm of a column of X
    *,
    joint: bool = False,  # whether one ball of radius sqrt(sum rho^2) holds all variants, as in the paper
) -> np.ndarray:
    """Project every variant's Y'x onto {Y'z : ||z||_2 <= rho}, for feature DP
    (docs/explanation/projection.md).

    Parameters, result and errors are otherwise as in `project_label`.
    """
    if Y.shape[0] != cross.shape[0]:
        raise UsageError(
            "outcome-array-rows",
            f"`Y` must have one row for each of the {cross.shape[0]} outcomes of `cross`, got {Y.shape[0]}. "
            "Transpose it, or give the outcomes of `cross`.",
        )
    _require_finite(cross=cross, Y=Y)
    A, scale = _scaled(Y)
    radii = _lengths(radii, cross.shape[1], scale)
    basis = None
    if A.shape[0] > A.shape[1]:
        # More outcomes than rows: they span n_rows directions at most, so the rest works in a basis of those.
        basis, A = qr(A, mode="economic", overwrite_a=True, check_finite=False)
    eigenvalues, U = eigh(A @ A.T)
    is_kept = _is_in_range(eigenvalues, max(Y.shape))
    U = U[:, is_kept] if basis is None else basis @ U[:, is_kept]
    coordinates = _shrunk(cross.T @ U, eigenvalues[is_kept], radii, joint=joint)
    return U @ coordinates.T


def _project_outcomes(
    cross: np.ndarray, eigenvalues: np.ndarray, U: np.ndarray, radii: np.ndarray, joint: bool
) -> np.ndarray:
    """Project the rows of X'Y, given the eigenvalues and eigenvectors of the Gram matrix."""
    is_kept = _is_in_range(eigenvalues, len(eigenvalues))
    U = U[:, is_kept]
    return _shrunk(cross @ U, eigenvalues[is_kept], radii, joint=joint) @ U.T


def _decomposed(cross: np.ndarray, gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return eigenvalues of the scaled Gram matrix, eigenvectors as columns, and the scale."""
    n_variants = cross.shape[1]
    if gram.shape != (n_variants, n_variants):
        raise UsageError(
            "gram-shape",
            f"`gram` must have a row and a column for each of the {n_variants} variants of `cross`, got "
            f"{' x '.join(map(str, gram.shape))}. Leave out the intercept's.",
        )
    _require_finite(cross=cross, gram=gram)
    scaled, scale = _scaled(gram)
    return *eigh(scaled), scale


def _require_finite(**arrays: Any) -> None:
    """Raise unless all numbers of all arrays are finite."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise UsageError(
                "array-not-finite",
                f"`{name}` must be finite, got NaN or infinity. Put 0 for a missing outcome.",
            )


def _scaled(A: np.ndarray) -> tuple[np.ndarray, float]:
    """Return A over a power of two, so that its largest entry is from 1 to 2 and squares stay in range."""
    largest = max(abs(float(A.max(initial=0))), abs(float(A.min(initial=0))))
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0
    return A / scale, scale


def _lengths(radii: float | np.ndarray, count: int, scale: float) -> np.ndarray:
    """Return (count,) radii times the scale of the matrix, after a check."""
    radii = np.asarray(radii, dtype=float)
    if radii.shape not in ((), (count,)):
        raise UsageError(
            "radii-shape",
            f"`radii` must be one number or {count} numbers, got shape {radii.shape}. "
            "Give one for each outcome, or under feature DP one for each variant.",
        )
    is_bad = ~(np.isfinite(radii) & (radii >= 0))
    if is_bad.any():
        raise UsageError(
            "radii-out-of-range",
            f"`radii` must be finite and at least 0, got {radii[is_bad][0]}. Take them from public bounds.",
        )
    with np.errstate(over="ignore"):  # a set longer than any number: every point is inside
        return np.broadcast_to(radii * scale, (count,))


def _is_in_range(eigenvalues: np.ndarray, size: int) -> np.ndarray:
    """Return which eigenvalues are above the rounding of the matrix, with `size` its longest sum."""
    return eigenvalues > size * np.finfo(float).eps * np.abs(eigenvalues).max(initial=0.0)


def _shrunk(
    C: np.ndarray,  # (n_points, rank) float64, coordinates in the eigenbasis; overwritten
    spectrum: np.ndarray,  # (rank,) float64, the eigenvalues w > 0
    radii: np.ndarray,  # (n_points,) float64
    *,
    joint: bool,  # whether the sum runs over all points too, and r^2 is the sum of theirs
) -> np.ndarray:
    """Move every row c of C to the nearest p with sum p_k^2 / w_k <= r^2.

    The result is (n_points, rank) float64.
    """
    if joint:
        # One multiplier for all points: each axis shrinks by what it would for one point of its lengths.
        largest = np.abs(C).max(initial=0.0) or 1.0
        lengths = np.linalg.norm(C / largest, axis=0) * largest
        nearest = _nearest(lengths[np.newaxis], spectrum, np.array([math.hypot(*radii)]))[0]
        C *= np.divide(nearest, lengths, where=lengths > 0, out=np.zeros_like(lengths))
        return C
    n_block = max(1, BLOCK_ENTRIES // max(1, len(spectrum)))
    for first in range(0, len(C), n_block):
        block = slice(first, first + n_block)
        C[block] = _nearest(C[block], spectrum, radii[block])
    return C


def _nearest(C: np.ndarray, spectrum: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the rows of C, moved as in `_shrunk`, for balls of their own.

    A row outside goes to r sqrt(w) a with a = g/(rho w + mu) and ||a|| = 1. Here c = m c', m its largest
    entry, g = sqrt(w) c' and rho = r/m; mu = rho nu is the multiplier of docs/explanation/projection.md. In
    this form nothing overflows, whatever the scales of the statistics and of the radii.
    """
    roots = np.sqrt(spectrum)
    largest = np.abs(C).max(axis=1, initial=0.0)
    largest[largest == 0] = 1.0
    g = C / largest[:, np.newaxis]
    with np.errstate(over="ignore"):  # infinitely far inside
        rho = radii / largest
    is_outside = np.linalg.norm(g / roots, axis=1) > rho
    if not is_outside.any():
        return C
    g = g[is_outside] * roots
    slopes = rho[is_outside, np.newaxis] * spectrum
    a = g / (slopes + _multipliers(g, slopes)[:, np.newaxis])
    a *= (radii[is_outside] / np.linalg.norm(a, axis=1))[:, np.newaxis]
    nearest = C.copy()
    nearest[is_outside] = a * roots
    return nearest


def _multipliers(
    g: np.ndarray,  # (n_points, rank) float64
    slopes: np.ndarray,  # (n_points, rank) float64 >= 0
) -> np.ndarray:
    """Solve F(mu) = ||g/(slopes + mu)|| = 1 for every row, where F(0) > 1.

    Newton's method on 1/F, which rises and is concave in mu: from the left it never passes the root, so each
    step is safe. Eigenvalues 12 orders of magnitude apart took at most 13 steps.

    The result is (n_points,) float64 >= 0.
    """
    # Left of the root: F would be 1 here if all slopes were the largest.
    mu = np.maximum(np.linalg.norm(g, axis=1) - slopes.max(axis=1), 0.0)
    active = np.arange(len(g))
    for _ in range(MAX_NEWTON_STEPS):
        denominators = slopes[active] + mu[active, np.newaxis]
        a = g[active] / denominators
        squared = np.vecdot(a, a)
        norm = np.sqrt(squared)
        step = squared * (norm - 1) / np.vecdot(a, a / denominators)
        is_open = norm > 1 + TOLERANCE
        active = active[is_open]
        if not active.size:
            break
        mu[active] += step[is_open]
    return mu
