"""Shares, odds ratios and R^2 on people who were not trained on, each with its interval."""

import numpy as np
from scipy.special import ndtri

from dpgrs.evaluation.roc import CONFIDENCE, Estimate

REACH = float(-ndtri((1 - CONFIDENCE) / 2))  # of an interval, in standard errors


def share(count: int, total: int) -> Estimate:
    """Estimate a share of a total of at least 1, with the interval of Wilson (1927)."""
    value, z = count / total, REACH**2 / total
    middle = value + z / 2
    reach = np.sqrt(z * (value * (1 - value) + z / 4))
    return Estimate(value, float(max(0.0, (middle - reach) / (1 + z))), float((middle + reach) / (1 + z)))


def odds_ratio(in_group: tuple[int, int], others: tuple[int, int]) -> Estimate:
    """Estimate the odds ratio of a two by two table with the interval of Woolf (1955).

    Each pair has cases and controls. If any of the four is 0, each counts 1/2 more (Haldane 1956).
    """
    table = np.array([in_group, others], dtype=float)
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
    n, columns = len(y), np.ones((len(y), 1))
    if n <= 2 + (0 if covariates is None else covariates.shape[1]):
        return Estimate(np.nan, np.nan, np.nan)
    if covariates is not None:
        columns = np.column_stack([columns, covariates - covariates.mean(axis=0)])
    beside_y, beside_score = _without(np.column_stack([y, score]), columns).T
    y_scale, score_scale = y.std(), np.sqrt((beside_score**2).mean())
    if y_scale <= _rounding(y) or score_scale <= _rounding(score):
        return Estimate(np.nan, np.nan, np.nan)
    u, v = beside_score / score_scale, (y - y.mean()) / y_scale
    correlation = (u * v).mean()
    influence = u * beside_y / y_scale - correlation / 2 * (u**2 + v**2)
    reach = REACH * np.sqrt((influence**2).sum() / (n - columns.shape[1])) / np.sqrt(n)
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
