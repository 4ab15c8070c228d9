"""The non-private choice of the k highest scores."""

import numpy as np

from dpgrs.errors import UsageError


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """Choose the k highest of scores without NaN; of equal scores the first comes first.

    Indices are (k,) int64 in the order of their scores, the highest first.

    Examples
    --------
    >>> top_k(np.array([3, 7, 3, 5]), 3).tolist()
    [1, 3, 0]
    """
    if not 1 <= k <= len(scores):
        raise UsageError(
            "number-of-choices",
            f"`k` must be from 1 to the {len(scores)} scores, got {k}. Choose fewer, or one.",
        )
    # The lowest first, of equal scores the last first, turned round.
    ascending = len(scores) - 1 - np.argsort(scores[::-1], kind="stable")
    return ascending[::-1][:k]
