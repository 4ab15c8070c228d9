"""What the experiment `errata` holds of a defect: its recipe, ours, and an attacker's guess on neighbours."""

from collections.abc import Callable
from dataclasses import dataclass

from dpgrs.privacy.audit.losses import ApproximateLoss


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A step of a paper, or of its public code, that does not keep what it claims.

    The attacker knows two neighbouring inputs, the first and the second, and guesses from the output.
    """

    fault: str  # for a table
    source: str  # the paper or code
    epsilon: float  # claimed for the step, by the source and by us
    delta: float  # likewise; a source that claims more, such as a delta of 0, is compared with this
    # (generator, n_draws, is_second) -> (n_draws,) bool: whether the guess is the second, for draws of the
    # published recipe on one of the inputs; all else is as ours.
    published: Callable
    ours: Callable  # (noise, is_second) -> bool: the same guess, of one draw of ours
    # The losses of published and of ours by the law of the guess or of the whole output; NaN without a closed
    # form.
    exact: tuple[float, float]
    share: float = 1.0  # of the draws of ours, where one takes long

    @property
    def claim(self) -> ApproximateLoss:
        """The claim of the source and of ours."""
        return ApproximateLoss(self.epsilon, self.delta)


def loss_of_chances(first: float, second: float, *, delta: float = 0.0) -> float:
    """Return the exact loss by an event, of probability `first` or `second`, and its opposite.

    It is infinite where one input never gives the event.
    """
    observed = ApproximateLoss(0.0, delta).observed
    return float(max(observed(first, 1 - second), observed(second, 1 - first)))
