"""The check of a claim and its share of the budget, which comes before any draw."""

import math
from typing import TYPE_CHECKING

from dpgrs.errors import UsageError

if TYPE_CHECKING:
    from dpgrs.privacy.sensitivity import Sensitivity

# Of normal and Laplace noise, in grid steps: here about one draw in 1,600 needs its slow twin, and twice as
# many for each further factor of 2.
LARGEST_SCALE = 2**48


def scale_of(sensitivity: "Sensitivity", *, share: float, norm: str, step: float, name: str) -> float:
    """Return sensitivity/share, rounded up, so that the loss is never above the share."""
    if sensitivity.norm != norm:
        raise UsageError(
            "sensitivity-norm",
            f"The sensitivity of the {name} must be in {norm}, got {sensitivity.norm}. "
            "Claim it in that norm.",
        )
    if math.frexp(step)[0] != 0.5:
        raise UsageError(
            "grid-not-power-of-two",
            f"The grid of the {name} must be a power of 2 wide, got {step}. Choose another.",
        )
    if not 0 < share < math.inf:
        raise UsageError(
            "share-not-positive",
            f"The budget of the {name} must be a finite number above 0, got {share}. Give it a share.",
        )
    scale = scale_above(sensitivity.value, share=share)
    # Beyond this many grid steps no sampler reaches every integer.
    if scale > LARGEST_SCALE * step:
        raise UsageError(
            "noise-too-large",
            f"The noise of the {name} must be at most {LARGEST_SCALE:.0e} grid steps, "
            f"got {scale / step:.0e}. Raise `privacy.epsilon` or the share.",
        )
    return scale


def scale_above(value: float, *, share: float) -> float:
    """Return a sensitivity's value over its share of the budget, rounded up."""
    return math.nextafter(value / share, math.inf)
