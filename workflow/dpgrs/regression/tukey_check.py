"""How far models are from others among which drawing a deep point is unsafe (docs/proofs/tukey.md)."""

import math
from enum import StrEnum

import numpy as np


class Check(StrEnum):
    """How the volumes say that a point of depth t may be drawn."""

    TIGHT = "tight"  # weighs all that is inside against the volume outside
    ORIGINAL = "original"  # compares two volumes


def safety_terms(epsilon, delta):
    """Return what the check compares volumes by.

    Parameters
    ----------
    epsilon : float, of the draw alone.
    delta : float

    Returns
    -------
    rate : float, a = epsilon/2, by which a point is likelier for every step of depth. Not epsilon: a record
        replaces one model, so that depths move up and down.
    log_limit : float, the logarithm of delta/(8 e^epsilon).
    """
    return epsilon / 2, math.log(delta / 8) - epsilon


def smallest_passing(epsilon, delta):
    """Return what the noisy safe step must exceed: ln(1/delta)/epsilon, epsilon of the check alone."""
    return math.log(1 / delta) / epsilon


def largest_safe_step(log_volume, log_exact, *, rate, log_limit, check=Check.TIGHT):
    """Bound from below how many models must change until drawing a point of depth t or more is unsafe.

    With t = floor(n_models/4) this is the largest k in 0 .. t - 2 such that

    - tight: log V_(t-k-1) + a (t+k+1) - log w(t+k-1) <= log_limit, w(p) = sum of B_q e^(a q) over q >= p;
    - original: log V_(t-k-1) - log V_(t+k+g+1) - a g <= log_limit for some g > 0,

    or -1. Both hold for all smaller k if they hold for one. Where the smaller region has no volume, neither
    holds, which keeps the sensitivity at 1 even among equal models.

    Parameters
    ----------
    log_volume, log_exact : (floor(n_models/2),) from `log_volumes`.
    rate, log_limit : float, from `safety_terms`.
    check : Check

    Returns
    -------
    int in [-1, t - 2]
    """
    t = len(log_volume) // 2
    p = np.arange(1, len(log_volume) + 1)
    log_tails = np.logaddexp.accumulate((log_exact + rate * p)[::-1])[::-1]

    def is_safe(k):
        if check == Check.TIGHT:
            inside = log_tails[t + k - 2] - rate * (t + k + 1)
        else:
            deeper = log_volume[t + k + 1 :]  # V_(t+k+g+1), g = 1 ..
            inside = np.max(deeper + rate * np.arange(1, len(deeper) + 1), initial=-np.inf)
        return inside > -np.inf and log_volume[t - k - 2] - inside <= log_limit

    # `low` is -1 or was tested and is safe; `high` is not.
    low, high = -1, max(t - 1, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_safe(middle) else (low, middle)
    return low
