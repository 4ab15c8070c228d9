"""Peel: the k largest of some counts, in order and in private."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.types import Selection

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import ChoiceEvent
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.privacy.sensitivity import Sensitivity


def private_peel(
    counts: np.ndarray,
    *,
    k: int,
    sensitivity: "Sensitivity",
    epsilon: float,
    noise: "NoiseSource",
    name: str = "counts",
    step: float = 1.0,
    law: Selection = Selection.PERMUTE_AND_FLIP,
) -> "tuple[np.ndarray, ChoiceEvent]":
    """Choose the k largest counts, one after the other, each with a share epsilon/k of the budget.

    By Gumbel noise it is the mechanism of the paper [1]_: noise of scale 2 k sensitivity/epsilon on every
    count at once, and the k largest in order, is the same as k exponential mechanisms.

    Parameters
    ----------
    counts : (d,) int64, in units of `step`.
    k : int in [1, d]
    sensitivity : Sensitivity, of every count, in linf. Counts may go up and down at once.
    epsilon : float > 0, of all k choices together.
    noise : NoiseSource
    name : str, what the counts are.
    step : float, in the units of the sensitivity.
    law : Selection. Permute-and-flip is never worse on average, and a release can draw it.

    Returns
    -------
    chosen : (k,) int64, different, the first choice first.
    event : ChoiceEvent or GumbelEvent

    Privacy
    -------
    Unit and neighbours as in the sensitivity. Event ChoiceEvent (GumbelEvent only for benchmarks):
    epsilon-DP by docs/proofs/votes.md. Public: k, d and all terms.

    Raises
    ------
    UsageError
        If there are fewer counts than choices, the counts are not integers, the claim is in another norm or
        the budget not positive; for Gumbel noise in a release.

    References
    ----------
    .. [1] Durfee, Rogers (2019). Practical differentially private top-k selection. NeurIPS.
    """
    return noise.choose(
        counts, name=name, step=step, sensitivity=sensitivity, epsilon=epsilon, n_choices=k, law=law
    )
