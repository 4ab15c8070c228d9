"""How well scores tell members from others, with the uncertainty that a finite number of targets leaves."""

from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri  # scipy.stats, with the same, takes 0.6 s

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A value with its interval at `CONFIDENCE`."""

    value: float
    low: float
    high: float


def area_under_curve(members: np.ndarray, others: np.ndarray) -> Estimate:
    """Estimate the probability that a member scores above another person; ties count half.

    Scores are (n_members,) and (n_others,) float64, two of each at least. The interval is that of DeLong,
    DeLong, Clarke-Pearson (1988), cut at 0 and 1. If it has no width, as for perfect separation, it is that
    of Clopper and Pearson for as many pairs as share no target.
    """
    all_ranks = ranks(np.concatenate([members, others]))
    # Of every target, the share of the other side that lies on the side where it should.
    above = (all_ranks[: len(members)] - ranks(members)) / len(others)
    below = 1 - (all_ranks[len(members) :] - ranks(others)) / len(members)
    area = float(above.mean())
    error = float(np.sqrt(above.var(ddof=1) / len(members) + below.var(ddof=1) / len(others)))
    if error == 0:
        pairs = min(len(members), len(others))
        return _proportion(round(area * pairs), pairs, error=1 - CONFIDENCE)._replace(value=area)
    reach = -ndtri((1 - CONFIDENCE) / 2) * error
    return Estimate(area, max(0.0, area - reach), min(1.0, area + reach))


def advantage(
    members: np.ndarray, others: np.ndarray, *, member_folds: np.ndarray, other_folds: np.ndarray
) -> Estimate:
    """Estimate TPR - FPR at the best threshold, which is sought in one fold and tried in the other.

    Scores are (n_members,) and (n_others,) float64, folds of the same lengths 0 or 1. A threshold that is
    sought and tried on the same targets flatters the attacker by about 1/sqrt(n_others). The interval follows
    from those of Clopper and Pearson for TPR and FPR, at half the error each.
    """
    n_hits, n_alarms = 0, 0
    for fold in (0, 1):
        threshold = _best_threshold(members[member_folds != fold], others[other_folds != fold])
        n_hits += int((members[member_folds == fold] > threshold).sum())
        n_alarms += int((others[other_folds == fold] > threshold).sum())
    tpr = _proportion(n_hits, len(members), error=(1 - CONFIDENCE) / 2)
    fpr = _proportion(n_alarms, len(others), error=(1 - CONFIDENCE) / 2)
    return Estimate(tpr.value - fpr.value, tpr.low - fpr.high, tpr.high - fpr.low)


def true_positive_rate(members: np.ndarray, others: np.ndarray, *, fpr: float) -> tuple[Estimate, float]:
    """Estimate the share of members who score above all but a share `fpr` of the others, and return that
    share.

    Scores are (n_members,) and (n_others,) float64. `fpr` is raised to ``1 / n_others``, the smallest rate
    that so many others show. The interval is that of Clopper and Pearson.
    """
    allowed = max(1, int(fpr * len(others)))
    threshold = np.sort(others)[::-1][min(allowed, len(others) - 1)]
    count = int((members > threshold).sum())
    return _proportion(count, len(members), error=1 - CONFIDENCE), allowed / len(others)


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return ranks from 1 on; equal scores have the mean of their ranks."""
    _, value_numbers, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[value_numbers]


def _best_threshold(members: np.ndarray, non_members: np.ndarray) -> float:
    """Return the score above which TPR - FPR is largest."""
    candidates = np.sort(np.concatenate([members, non_members]))
    below = [
        np.searchsorted(np.sort(scores), candidates, side="right") / len(scores)
        for scores in (members, non_members)
    ]
    return candidates[np.argmax(below[1] - below[0])]


def _proportion(count: int, total: int, *, error: float) -> Estimate:
    low = betaincinv(count, total - count + 1, error / 2) if count else 0.0
    high = betainccinv(count + 1, total - count, error / 2) if count < total else 1.0
    return Estimate(count / total, float(low), float(high))
