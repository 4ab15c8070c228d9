"""Steered X'Y of synthetic cohorts: the real rule chooses the directions, and moments replace the rows."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.methods.blup_model import ratio_where
from dpgrs.methods.steered import steering_of
from dpgrs.methods.synthetic_cohort import ROWS_TO_CLIP, SEED, SyntheticCohort, outcome_clip
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.reusecov import NoisyStatistics
    from dpgrs.methods.steered import SteeredRequest


def steered(
    noisy: "NoisyStatistics",  # from `noisy_statistics`
    cross: np.ndarray,  # (n_outcomes, n_variants + 1) float64, X'Y without noise, intercept last
    cohort: SyntheticCohort,
    *,
    request: "SteeredRequest",
    ld: "PublicLd",  # PublicLd that a run would steer by; None takes the noisy X'X
    is_joint: bool,  # whether all outcomes of the study share a budget
) -> "NoisyStatistics":
    """Steer X'Y of a synthetic cohort, as its noisy statistics or a panel tell.

    Along each direction the clip leaves E cz^2/E z^2 of X'Y, z being what normal rows are turned to and c z
    what they are clipped to.

    The result is NoisyStatistics with a `cross` without noise and its `steering`.
    """
    slopes = noisy.slopes if is_joint else None
    steering = steering_of(noisy.gram, noisy.n, request=request, ld=ld, slopes=slopes)
    T = steering.matrix
    # Of columns and the intercept 1/2: rows are centred before they are turned.
    T = np.column_stack([T, -2 * T @ steering.centre])
    root = T @ cohort.root / np.sqrt(outcome_clip(request)[1])
    Z = generator(SEED, "clip", "steered").standard_normal((ROWS_TO_CLIP, root.shape[1])) @ root.T
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    factor = request.row_bound / np.maximum(lengths, request.row_bound)
    squares = (Z**2).sum(axis=0)
    left = ratio_where((factor * Z**2).sum(axis=0), squares, where=squares > 0)
    turned = np.zeros(noisy.cross.shape)
    turned[:, : len(T)] = left * (cross @ T.T)
    return replace(noisy, cross=turned, steering=steering)
