"""A number of units that is released lower than it is."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import LaplaceEvent
    from dpgrs.privacy.noise.base import NoiseSource

# The noisy count is lowered so far that it is above the true one with about this probability.
FAILURE = 1e-4


def private_lower_count(
    n_units: int, *, epsilon: float, request: Any, noise: "NoiseSource"
) -> "tuple[float, LaplaceEvent]":
    """Release a number that lies below the number of units, but for a probability of about `FAILURE`.

    n~ = n + Laplace(1/epsilon) - ln(1/(2 eta))/epsilon, eta = `FAILURE`.

    Parameters
    ----------
    n_units : int
    epsilon : float > 0
    request : TukeyRequest, for the unit and the neighbours.
    noise : NoiseSource

    Returns
    -------
    float, which may be negative, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity 1: docs/proofs/tukey.md. Event LaplaceEvent.
    """
    noisy, event = noise.laplace(
        np.int64(n_units),
        name="count of units",
        step=1.0,
        sensitivity=request.sensitivity("l1"),
        epsilon=epsilon,
    )
    return float(noisy) - count_margin(epsilon), event


def count_margin(epsilon: float) -> float:
    """Return by how much the noisy count of units is lowered."""
    return math.log(1 / (2 * FAILURE)) / epsilon
