"""What the experiment `errata` holds of a defect: its recipe, ours, and an attacker's guess on neighbours."""

from collections.abc import Callable
from dataclasses import dataclass

from dpgrs.privacy.audit.losses import ApproximateLoss


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A step of a paper, or of its public code, that does not keep what it claims.

    The attacker knows two neighbouring inputs, the first and the second, and guesses by what was drawn.

    Attributes
    ----------
    fault : str, what is wrong, for a table.
    source : str, whose it is.
    epsilon, delta : float, what is claimed for the step, by the source and by us. A source that claims more,
        such as a delta of 0, is held against this.
    published : function (generator, n_draws, is_second) -> (n_draws,) bool: whether the guess is the second,
        of so many draws of the published recipe on one of the inputs; all else is as ours.
    ours : function (noise, is_second) -> bool: the same guess, of one draw of ours.
    exact : tuple of two float, what published and ours lose by the law of the guess or of all that is drawn;
        NaN where it is not known in closed form.
    share : float, of the draws of ours that are made, where one takes long.
    """

    fault: str
    source: str
    epsilon: float
    delta: float
    published: Callable
    ours: Callable
    exact: tuple
    share: float = 1.0

    @property
    def claim(self):
        """What is claimed, an ApproximateLoss."""
        return ApproximateLoss(self.epsilon, self.delta)


def loss_of_chances(first, second, *, delta=0.0):
    """Return the exact loss by an event and its opposite, a float; infinite where one input never gives it.

    Parameters
    ----------
    first, second : float, the probabilities of the event on either input.
    delta : float
    """
    observed = ApproximateLoss(0.0, delta).observed
    return float(max(observed(first, 1 - second), observed(second, 1 - first)))
