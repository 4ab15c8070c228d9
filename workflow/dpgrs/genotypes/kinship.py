"""Kinship of people by their calls, without frequencies: KING's robust estimator [1]_.

References
----------
.. [1] Manichaikul and others (2010). Robust relationship inference in genome-wide association studies.
   Bioinformatics 26.
"""

import numpy as np

# Above it KING calls two samples duplicates or identical twins.
SAME_PERSON = 0.354
BLOCK = 512  # people whose kinship with all others is in memory at a time


def has_same_person(first, second, *, is_within=False):
    """Tell which people have somebody among others whose calls are nearly equal to theirs.

    Parameters
    ----------
    first : (n_variants, n_first) int8, copies of ALT, below 0 where missing.
    second : (n_variants, n_second) int8
    is_within : bool, whether both are the same people, each of whom is compared with all others only.

    Returns
    -------
    (n_first,) bool, whether the largest kinship is above `SAME_PERSON`.
    """
    is_same = np.zeros(first.shape[1], dtype=bool)
    for start in range(0, len(is_same), BLOCK):
        people = slice(start, start + BLOCK)
        found = kinship(first[:, people], second)
        if is_within:
            found[np.arange(len(found)), start + np.arange(len(found))] = -np.inf
        is_same[people] = found.max(axis=1, initial=-np.inf) > SAME_PERSON
    return is_same


def kinship(first, second):
    """Return 1/2 - sum (x - y)^2/(4 min(h_x, h_y)), h the heterozygous calls, over calls that both have.

    Parameters
    ----------
    first, second : as in `has_same_person`.

    Returns
    -------
    (n_first, n_second) float32; minus infinity where one has no heterozygous call.
    """
    (x, x_known), (y, y_known) = (_known(calls) for calls in (first, second))
    # Sums of whole numbers, exact in float32 up to 2^24.
    squares = (x * x).T @ y_known + x_known.T @ (y * y) - 2 * (x.T @ y)
    fewest = np.minimum((x == 1).astype(np.float32).T @ y_known, x_known.T @ (y == 1).astype(np.float32))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 0.5 - squares / (4 * fewest)
    return np.where(fewest > 0, found, -np.inf)


def _known(calls):
    """Return calls as float32, 0 where missing, and whether they are known, 1 or 0."""
    is_known = calls >= 0
    return np.where(is_known, calls, 0).astype(np.float32), is_known.astype(np.float32)
