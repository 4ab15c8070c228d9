"""Least squares on every group of rows, all at once: what one row changes is the model of its group."""

import numpy as np

# Singular values below this, relative to the largest of the group, count as 0.
RANK_TOLERANCE = 1e-12
# Data and coefficients are cut here, so that nothing overflows.
LARGEST_ENTRY, LARGEST_COEFFICIENT = 1e50, 1e100
BLOCK_SIZE = 2**22  # numbers in memory at a time


def fit_models(X, y, groups, *, n_models):
    """Fit least squares on every group of rows, of minimum norm where there are too few of them.

    Parameters
    ----------
    X : (n_rows, d)
    y : (n_rows,). A row with a value that is not finite counts as a row of zeros.
    groups : (n_rows,) int in [0, n_models)
    n_models : int > 0

    Returns
    -------
    (n_models, d) finite float64; zeros for a group without rows.
    """
    X, y = _usable(X, y)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_models)
    starts = np.cumsum(sizes) - sizes
    longest = max(int(sizes.max()), 1)
    models = np.empty((n_models, X.shape[1]))
    n_block = max(BLOCK_SIZE // (longest * X.shape[1]), 1)
    for first in range(0, n_models, n_block):
        block = slice(first, first + n_block)
        places = np.arange(longest)
        is_row = places < sizes[block, np.newaxis]
        rows = order[np.where(is_row, starts[block, np.newaxis] + places, 0)]
        models[block] = _minimum_norm(X[rows] * is_row[..., np.newaxis], y[rows] * is_row)
    return models


def _minimum_norm(A, b):
    """Solve least squares for a batch.

    Parameters
    ----------
    A : (n_groups, n_rows, d)
    b : (n_groups, n_rows)

    Returns
    -------
    (n_groups, d)
    """
    U, scales, Vt = np.linalg.svd(A, full_matrices=False)
    is_kept = scales > RANK_TOLERANCE * scales[:, :1]
    with np.errstate(all="ignore"):
        inverse = np.where(is_kept, 1 / scales, 0.0)
        coordinates = inverse * np.einsum("gnk,gn->gk", U, b)
        models = np.einsum("gkd,gk->gd", Vt, coordinates)
    assert models.shape == (len(A), A.shape[2])
    # What a group gives hangs on the group alone, so that cutting it changes no other model.
    return np.clip(np.nan_to_num(models), -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)


def _usable(X, y):
    """Return rows as floats, cut at `LARGEST_ENTRY`, zeros where one has no finite values."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    is_finite = np.isfinite(X).all(axis=1) & np.isfinite(y)
    bound = LARGEST_ENTRY
    X = np.where(is_finite[:, np.newaxis], np.clip(X, -bound, bound), 0.0)
    return X, np.where(is_finite, np.clip(y, -bound, bound), 0.0)
