"""Audits of each statistic that a mechanism releases, by itself.

The likelihood ratio of all that is released together says nothing of a statistic without noise: under the
claimed law it is still small. The noise of every draw is therefore compared with its own claim. It must hide
a whole number of units that together are worth a mu of about 2, where an audit sees the most, in the
direction in which one unit moves it; and none of its numbers may be the same in all draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgrs.privacy.audit.losses import GaussianLoss, rates_above
from dpgrs.privacy.noise.base import Additive, NoiseSource

Output = Sequence[np.ndarray]  # an array for every draw of normal noise, in their order
# The mu that an audit sees best.
CLEAREST = 2.0
# More than float64 loses in a sum over the numbers of a part, relative to half of a claim.
ROUNDING = 2.0**-30
# Draws of which honest noise on the coarsest grid is the same in all with a chance below 1e-15.
ENOUGH_TO_VARY = 100


class Silence(NoiseSource):
    """Draws nothing, and notes what would be drawn."""

    source = "benchmark"

    def __init__(self) -> None:
        self.events: list[Any] = []

    def _draw(self, statistic: np.ndarray, event: Additive) -> tuple[np.ndarray, Additive]:
        self.events.append(event)
        return statistic, event


@dataclass(frozen=True)
class AuditedDraw:
    """One draw of a mechanism: a statistic with normal noise of its own."""

    name: str
    exact: Sequence[Any]  # the statistic of either input without noise, an array once it is here
    sd: float  # of the claimed noise

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact", tuple(np.array(statistic, dtype=float) for statistic in self.exact))

    @property
    def moved(self) -> np.ndarray:
        """How far the unit moves the statistic."""
        first, second = self.exact
        return second - first

    @property
    def mu(self) -> float:
        """The loss that the unit shows of this part."""
        return float(np.linalg.norm(self.moved)) / self.sd

    @property
    def n_units(self) -> int:
        """How many such units the noise must hide."""
        return max(1, round(CLEAREST / self.mu))

    def claim(self, delta: float) -> GaussianLoss:
        """Return the claim of so many units."""
        return GaussianLoss(self.n_units * self.mu, delta=delta)


@dataclass(frozen=True)
class PartResult:
    """The result of an audit of one draw."""

    name: str
    claimed: float  # mu of `AuditedDraw.n_units` units
    observed: float  # a lower bound of it
    is_constant: bool  # whether a number was the same in all draws

    @property
    def is_within_claim(self) -> bool:
        """Whether every number has noise, and enough of it."""
        return self.observed <= self.claimed and not self.is_constant


def parts_of(
    run: Callable[[Any, NoiseSource], Output],
    pair: tuple[Any, Any],  # two inputs, for which the same is drawn
) -> tuple[AuditedDraw, ...]:
    """Return the audited draw of every draw of normal noise."""
    silence = Silence()
    exact = [run(data, silence) for data in pair]
    events = silence.events[: len(exact[0])]
    return tuple(
        AuditedDraw(event.statistic, numbers, event.sigma)
        for event, *numbers in zip(events, *exact, strict=True)
    )


def log_likelihood_ratio(output: Output, *, parts: Sequence[AuditedDraw]) -> float:
    """Return the logarithm of the second input's likelihood over the first's, under normal noise."""
    return sum(
        float(np.vdot(numbers - sum(draw.exact) / 2, draw.moved)) / draw.sd**2
        for numbers, draw in zip(output, parts, strict=True)
    )


def audit_parts(
    audited: Sequence[AuditedDraw],
    outputs: Sequence[Sequence[Output]],  # of either input, of n_draws
    *,
    delta: float,  # of the claims
    confidence: float,  # in (0, 1), of each part
) -> tuple[PartResult, ...]:
    """Audit every part by the outputs of an audit of the whole."""
    return tuple(
        _audit_part(draw, [np.array([out[number] for out in side]) for side in outputs], delta, confidence)
        for number, draw in enumerate(audited)
    )


def _audit_part(
    audited: AuditedDraw, numbers: Sequence[np.ndarray], delta: float, confidence: float
) -> PartResult:
    n_draws, claim = len(numbers[0]), audited.claim(delta)
    direction = audited.moved / np.linalg.norm(audited.moved) / audited.sd
    noise = [
        np.tensordot(side - exact, direction, axes=direction.ndim)
        for side, exact in zip(numbers, audited.exact, strict=True)
    ]
    # Noise of one input that passes for noise of the other, so many units away.
    # Noise on a grid may lie halfway, where roundings would leave it out for both inputs.
    halfway = claim.value / 2 * (1 + ROUNDING)
    errors = np.array([np.sum(noise[0] > halfway), np.sum(noise[1] <= halfway - claim.value)])
    observed = claim.observed(*rates_above(errors, n_draws, confidence))
    is_constant = n_draws >= ENOUGH_TO_VARY and any((side == side[0]).all(axis=0).any() for side in numbers)
    return PartResult(audited.name, claim.value, float(observed), bool(is_constant))
