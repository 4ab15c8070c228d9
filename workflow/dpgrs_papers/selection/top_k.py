"""The non-private choice of the k highest scores."""

import numpy as np

from dpgrs.errors import UsageError


def top_k(scores, k):
    """Choose the k highest scores; of equal scores the first comes first.

    Parameters
    ----------
    scores : (n,) int64 or float64 without NaN.
    k : int in [1, n]

    Returns
    -------
    (k,) int64, indices in the order of their scores, the highest first.

    Raises
    ------
    UsageError
        If k is out of its domain.

    Examples
    --------
    >>> top_k(np.array([3, 7, 3, 5]), 3).tolist()
    [1, 3, 0]
    """
    if not 1 <= k <= len(scores):
        raise UsageError(f"`k` must be from 1 to the {len(scores)} scores, got {k}. Choose fewer, or one.")
    # The lowest first, of equal scores the last first, turned round.
    ascending = len(scores) - 1 - np.argsort(scores[::-1], kind="stable")
    return ascending[::-1][:k]
