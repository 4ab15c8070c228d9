"""Kinship of people by their calls, without frequencies: KING's robust estimator.

Manichaikul and others (2010). Robust relationship inference in genome-wide association studies.
Bioinformatics 26.
"""

import numpy as np

# Above it KING calls two samples duplicates or identical twins.
SAME_PERSON = 0.354
BLOCK = 512  # people whose kinship with all others is in memory at a time


def has_same_person(first: np.ndarray, second: np.ndarray, *, is_within: bool = False) -> np.ndarray:
    """Return whose largest kinship with others is above `SAME_PERSON`, (n_first,) bool.

    Both are copies of ALT, (n_variants, n_people) int8, below 0 if missing. With `is_within` both are the
    same people, each of whom is compared with all others only.
    """
    is_same = np.zeros(first.shape[1], dtype=bool)
    for start in range(0, len(is_same), BLOCK):
        people = slice(start, start + BLOCK)
        coefficients = kinship(first[:, people], second)
        if is_within:
            person = np.arange(len(coefficients))
            coefficients[person, start + person] = -np.inf
        is_same[people] = coefficients.max(axis=1, initial=-np.inf) > SAME_PERSON
    return is_same


def kinship(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return 1/2 - sum (x - y)^2/(4 min(h_x, h_y)), h the heterozygous calls, over calls that both have.

    The result is (n_first, n_second) float32; minus infinity if one has no heterozygous call.
    """
    (x, x_known), (y, y_known) = (_known_calls(calls) for calls in (first, second))
    # Sums of whole numbers, exact in float32 up to 2^24.
    squares = (x * x).T @ y_known + x_known.T @ (y * y) - 2 * (x.T @ y)
    fewest = np.minimum((x == 1).astype(np.float32).T @ y_known, x_known.T @ (y == 1).astype(np.float32))
    with np.errstate(divide="ignore", invalid="ignore"):
        coefficients = 0.5 - squares / (4 * fewest)
    return np.where(fewest > 0, coefficients, -np.inf)


def _known_calls(calls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return calls as float32, 0 if missing, and whether they are known, 1 or 0."""
    is_known = calls >= 0
    return np.where(is_known, calls, 0).astype(np.float32), is_known.astype(np.float32)
