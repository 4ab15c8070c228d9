"""How well scores tell members from others, shares, odds ratios and R^2, each with its interval."""

from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri  # scipy.stats, with the same, takes 0.6 s

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A value with its interval at `CONFIDENCE`."""

    value: float
    low: float
    high: float


def area_under_curve(members: np.ndarray, non_members: np.ndarray) -> Estimate:
    """Estimate the probability that a member scores above another person; ties count half.

    Scores are (n_members,) and (n_others,) float64, two of each at least. The interval is that of DeLong,
    DeLong, Clarke-Pearson (1988), cut at 0 and 1. If it has no width, as for perfect separation, it is that
    of Clopper and Pearson for as many pairs as share no target.
    """
    all_ranks = ranks(np.concatenate([members, non_members]))
    # Of every target, the share of the other side that lies on the side where it should.
    above = (all_ranks[: len(members)] - ranks(members)) / len(non_members)
    below = 1 - (all_ranks[len(members) :] - ranks(non_members)) / len(members)
    area = float(above.mean())
    error = float(np.sqrt(above.var(ddof=1) / len(members) + below.var(ddof=1) / len(non_members)))
    if error == 0:
        pairs = min(len(members), len(non_members))
        return _proportion(round(area * pairs), pairs, error=1 - CONFIDENCE)._replace(value=area)
    reach = -ndtri((1 - CONFIDENCE) / 2) * error
    return Estimate(area, max(0.0, area - reach), min(1.0, area + reach))


def advantage(
    members: np.ndarray, non_members: np.ndarray, *, member_folds: np.ndarray, other_folds: np.ndarray
) -> Estimate:
    """Estimate TPR - FPR at the best threshold, which is sought in one fold and tried in the other.

    Scores are (n_members,) and (n_others,) float64, folds of the same lengths 0 or 1. A threshold that is
    sought and tried on the same targets flatters the attacker by about 1/sqrt(n_others). The interval follows
    from those of Clopper and Pearson for TPR and FPR, at half the error each.
    """
    n_hits, n_alarms = 0, 0
    for fold in (0, 1):
        threshold = _best_threshold(members[member_folds != fold], non_members[other_folds != fold])
        n_hits += int((members[member_folds == fold] > threshold).sum())
        n_alarms += int((non_members[other_folds == fold] > threshold).sum())
    tpr = _proportion(n_hits, len(members), error=(1 - CONFIDENCE) / 2)
    fpr = _proportion(n_alarms, len(non_members), error=(1 - CONFIDENCE) / 2)
    return Estimate(tpr.value - fpr.value, tpr.low - fpr.high, tpr.high - fpr.low)


def true_positive_rate(members: np.ndarray, non_members: np.ndarray, *, fpr: float) -> tuple[Estimate, float]:
    """Estimate the share of members who score above all but a share `fpr` of the others, and return that
    share.

    Scores are (n_members,) and (n_others,) float64. `fpr` is raised to ``1 / n_others``, the smallest rate
    that so many others show. The interval is that of Clopper and Pearson.
    """
    allowed = max(1, int(fpr * len(non_members)))
    threshold = np.sort(non_members)[::-1][min(allowed, len(non_members) - 1)]
    count = int((members > threshold).sum())
    return _proportion(count, len(members), error=1 - CONFIDENCE), allowed / len(non_members)


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


REACH = float(-ndtri((1 - CONFIDENCE) / 2))  # of an interval, in standard errors


def share(count: int, total: int) -> Estimate:
    """Estimate a share of a total of at least 1, with the interval of Wilson (1927)."""
    value, z = count / total, REACH**2 / total
    middle = value + z / 2
    reach = np.sqrt(z * (value * (1 - value) + z / 4))
    return Estimate(value, float(max(0.0, (middle - reach) / (1 + z))), float((middle + reach) / (1 + z)))


def odds_ratio(in_group: tuple[int, int], out_of_group: tuple[int, int]) -> Estimate:
    """Estimate the odds ratio of a two by two table with the interval of Woolf (1955).

    Each pair has cases and controls. If any of the four is 0, each counts 1/2 more (Haldane 1956).
    """
    table = np.array([in_group, out_of_group], dtype=float)
    table += 0.5 * (table == 0).any()
    log_ratio = np.log(table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]))
    return _exponential(log_ratio, np.sqrt((1 / table).sum()))


def odds_ratio_of(slope: float, error: float) -> Estimate:
    """Estimate the odds ratio of a coefficient of logistic regression and its standard error (Wald)."""
    return _exponential(slope, error)


def added_r2(y: np.ndarray, score: np.ndarray, covariates: np.ndarray | None = None) -> Estimate:
    """Estimate the R^2 that a score adds to covariates, both fitted by least squares to these people.

    y and score are (n_people,), covariates (n_people, n_covariates) float64. It is the squared semi-partial
    correlation: of y with the residuals of the score on covariates. Without covariates it is the squared
    correlation. Its standard error comes from its influence function, so that no law of y or score is
    assumed. The interval is of the correlation, squared: it reaches down to 0 if the interval of the
    correlation holds 0, as do those of scores that predict the wrong way round. It is NaN if y or the
    residuals of the score do not vary, or people are no more than columns.
    """
    n, regressors = len(y), np.ones((len(y), 1))
    if n <= 2 + (0 if covariates is None else covariates.shape[1]):
        return Estimate(np.nan, np.nan, np.nan)
    if covariates is not None:
        regressors = np.column_stack([regressors, covariates - covariates.mean(axis=0)])
    y_residuals, score_residuals = _without(np.column_stack([y, score]), regressors).T
    y_scale, score_scale = y.std(), np.sqrt((score_residuals**2).mean())
    if y_scale <= _rounding(y) or score_scale <= _rounding(score):
        return Estimate(np.nan, np.nan, np.nan)
    u, v = score_residuals / score_scale, (y - y.mean()) / y_scale
    correlation = (u * v).mean()
    influence = u * y_residuals / y_scale - correlation / 2 * (u**2 + v**2)
    reach = REACH * np.sqrt((influence**2).sum() / (n - regressors.shape[1])) / np.sqrt(n)
    return squared(correlation, reach)


def squared(root: float, reach: float) -> Estimate:
    """Square a root and its interval, root - reach to root + reach, cut at 1."""
    ends = np.minimum(np.square([root - reach, root + reach]), 1.0)
    return Estimate(float(root**2), 0.0 if abs(root) <= reach else float(ends.min()), float(ends.max()))


def liability_r2(observed: Estimate, *, prevalence: float, case_share: float) -> Estimate:
    """Bring an R^2 of a 0/1 outcome to the scale of a normal liability (Lee et al. 2012, equation 15).

    With K the prevalence, P the share of cases among the people measured, both in (0, 1), t = Phi^-1(1 - K),
    z = phi(t) and m = z/K: R_l^2 = C R_o^2/(1 + theta C R_o^2), C = K (1 - K)/z^2 K (1 - K)/(P (1 - P)),
    theta = m (P - K)/(1 - K) (m (P - K)/(1 - K) - t). With P = K theta is 0. The result is cut at 1; it is
    NaN if the formula's denominator is not above 0.
    """
    K, P = prevalence, case_share
    t = -ndtri(K)
    z = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    C = K * (1 - K) / z**2 * K * (1 - K) / (P * (1 - P))
    selection = z / K * (P - K) / (1 - K)
    theta = selection * (selection - t)

    def of(r2: float) -> float:
        denominator = 1 + theta * C * r2
        return min(1.0, float(C * r2 / denominator)) if denominator > 0 else np.nan

    return Estimate(*map(of, observed))


def _exponential(log_ratio: float, error: float) -> Estimate:
    return Estimate(*(float(np.exp(log_ratio + reach * error)) for reach in (0.0, -REACH, REACH)))


def _without(columns: np.ndarray, regressors: np.ndarray) -> np.ndarray:
    """Return the residuals of columns on `regressors`, by least squares."""
    return columns - regressors @ np.linalg.lstsq(regressors, columns)[0]


def _rounding(values: np.ndarray) -> float:
    return 1e-10 * max(float(np.abs(values).max()), 1e-300)
