"""Least squares on every group of rows: one row changes the model of its group, and no bit of the others."""

import numpy as np

# Singular values below this, relative to the largest of the group, count as 0.
RANK_TOLERANCE = 1e-12
# Data and coefficients are cut here, so that nothing overflows.
LARGEST_ENTRY, LARGEST_COEFFICIENT = 1e50, 1e100
BLOCK_SIZE = 2**22  # numbers in memory at a time


def fit_models(X: np.ndarray, y: np.ndarray, groups: np.ndarray, *, n_models: int) -> np.ndarray:
    """Fit least squares on every group of rows, of minimum norm if there are too few of them.

    A row with a value that is not finite counts as a row of zeros; groups are (n_rows,) int in [0, n_models).
    The result is (n_models, d) finite float64; zeros for a group without rows, or on which LAPACK fails. The
    bits of a model depend only on the rows of its group.
    """
    X, y = _usable(X, y)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_models)
    starts = np.cumsum(sizes) - sizes
    models = np.zeros((n_models, X.shape[1]))
    for size in np.unique(sizes[sizes > 0]).tolist():
        of_size = np.flatnonzero(sizes == size)
        n_block = max(BLOCK_SIZE // (size * X.shape[1]), 1)
        for first in range(0, len(of_size), n_block):
            block = of_size[first : first + n_block]
            rows = order[starts[block, np.newaxis] + np.arange(size)]
            models[block] = _minimum_norm(X[rows], y[rows])
    return models


def models_on_grid(models: np.ndarray, step: float) -> np.ndarray:
    """Round models to whole numbers of steps, each by itself; a number below half a step becomes 0."""
    return np.rint(models / step)


def _minimum_norm(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve least squares for a batch of groups of one size: (n_groups, d).

    A is (n_groups, n_rows, d). LAPACK and BLAS are called for each group by itself, on operands of its shape:
    the bits of a model depend only on its own rows. A sum over the batch at once, as by einsum, would not
    promise it.
    """
    try:
        U, scales, Vt = np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        # One group of the batch did not converge: only this group has no model.
        if len(A) == 1:
            return np.zeros((1, A.shape[2]))
        return np.concatenate([_minimum_norm(*group) for group in zip(A[:, None], b[:, None], strict=True)])
    is_kept = scales > RANK_TOLERANCE * scales[:, :1]
    with np.errstate(all="ignore"):
        inverse = np.where(is_kept, 1 / scales, 0.0)
        coordinates = inverse[..., np.newaxis] * np.matmul(U.transpose(0, 2, 1), b[..., np.newaxis])
        models = np.matmul(Vt.transpose(0, 2, 1), coordinates)[..., 0]
    assert models.shape == (len(A), A.shape[2])
    # A model depends only on its group, so that cutting it changes no other model.
    return np.clip(np.nan_to_num(models), -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)


def _usable(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as floats, cut at `LARGEST_ENTRY`, zeros where one has no finite values."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    is_finite = np.isfinite(X).all(axis=1) & np.isfinite(y)
    bound = LARGEST_ENTRY
    X = np.where(is_finite[:, np.newaxis], np.clip(X, -bound, bound), 0.0)
    return X, np.where(is_finite, np.clip(y, -bound, bound), 0.0)
