"""Audits of each statistic that a mechanism releases, by itself.

The likelihood ratio of all that is released together says nothing of a statistic without noise: under the
claimed law it is still small. So the noise of every draw is held against its own claim. It must hide a whole
number of units that together are worth a mu of about 2, where an audit sees the most, in the direction in
which one unit moves it; and none of its numbers may be the same in all draws.
"""

from dataclasses import dataclass

import numpy as np

from dpgrs.privacy.audit.losses import GaussianLoss, rates_above
from dpgrs.privacy.noise.base import NoiseSource

# The mu that an audit sees best.
CLEAREST = 2.0
# More than float64 loses in a sum over the numbers of a part, relative to half of a claim.
ROUNDING = 2.0**-30
# Draws of which honest noise on the coarsest grid is the same in all with a chance below 1e-15.
ENOUGH_TO_VARY = 100


class Silence(NoiseSource):
    """Draws nothing, and notes what would be drawn.

    Attributes
    ----------
    events : list
    """

    source = "benchmark"

    def __init__(self):
        self.events = []

    def _draw(self, statistic, event):
        self.events.append(event)
        return statistic, event


@dataclass(frozen=True)
class Part:
    """One draw of a mechanism: a statistic with normal noise of its own.

    Attributes
    ----------
    name : str
    exact : pair of arrays, what either input gives without noise.
    sd : float, that of the claimed noise.
    """

    name: str
    exact: tuple
    sd: float

    def __post_init__(self):
        object.__setattr__(self, "exact", tuple(np.array(one, dtype=float) for one in self.exact))

    @property
    def moved(self):
        """How far the unit moves the statistic, an array."""
        first, second = self.exact
        return second - first

    @property
    def mu(self):
        """The loss that the unit shows of this part, a float."""
        return float(np.linalg.norm(self.moved)) / self.sd

    @property
    def n_units(self):
        """How many such units the noise is asked to hide, an int."""
        return max(1, round(CLEAREST / self.mu))

    def claim(self, delta):
        """Return the claim of so many units, a GaussianLoss."""
        return GaussianLoss(self.n_units * self.mu, delta=delta)


@dataclass(frozen=True)
class PartResult:
    """What an audit saw of a part.

    Attributes
    ----------
    name : str
    claimed, observed : float, mu of `Part.n_units` units, and a lower bound of it.
    is_constant : bool, whether a number was the same in all draws.
    """

    name: str
    claimed: float
    observed: float
    is_constant: bool

    @property
    def is_within_claim(self):
        """Whether every number has noise, and enough of it."""
        return self.observed <= self.claimed and not self.is_constant


def parts_of(run, pair):
    """Return a tuple with the Part of every draw of normal noise.

    Parameters
    ----------
    run : function (input, noise) -> list of an array for every draw, in the order of the draws.
    pair : two inputs, for which the same is drawn.
    """
    silence = Silence()
    exact = [run(one, silence) for one in pair]
    events = silence.events[: len(exact[0])]
    return tuple(
        Part(event.statistic, numbers, event.sigma) for event, *numbers in zip(events, *exact, strict=True)
    )


def log_likelihood_ratio(output, *, parts):
    """Return the log-likelihood of the second input, less that of the first, under normal noise.

    Parameters
    ----------
    output : list of an array for every part.
    parts : sequence of Part
    """
    return sum(
        float(np.vdot(numbers - sum(part.exact) / 2, part.moved)) / part.sd**2
        for numbers, part in zip(output, parts, strict=True)
    )


def audit_parts(parts, outputs, *, delta, confidence):
    """Audit every part by the outputs of an audit of the whole.

    Parameters
    ----------
    parts : sequence of Part
    outputs : pair of lists, of either input: n_draws lists of an array for every part.
    delta : float, of the claims.
    confidence : float in (0, 1), of each part.

    Returns
    -------
    tuple of PartResult
    """
    return tuple(
        _audit_part(part, [np.array([one[number] for one in side]) for side in outputs], delta, confidence)
        for number, part in enumerate(parts)
    )


def _audit_part(part, numbers, delta, confidence):
    n_draws, claim = len(numbers[0]), part.claim(delta)
    direction = part.moved / np.linalg.norm(part.moved) / part.sd
    noise = [
        np.tensordot(side - exact, direction, axes=direction.ndim)
        for side, exact in zip(numbers, part.exact, strict=True)
    ]
    # Noise of one input that passes for that of the other, so many units away.
    # Noise on a grid may lie halfway, where roundings would leave it out for both inputs.
    halfway = claim.value / 2 * (1 + ROUNDING)
    errors = np.array([np.sum(noise[0] > halfway), np.sum(noise[1] <= halfway - claim.value)])
    observed = claim.observed(*rates_above(errors, n_draws, confidence))
    is_constant = n_draws >= ENOUGH_TO_VARY and any((side == side[0]).all(axis=0).any() for side in numbers)
    return PartResult(part.name, claim.value, float(observed), bool(is_constant))
