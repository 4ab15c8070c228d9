"""Scores compared with scores of a public reference: as they are, and adjusted for ancestry.

Names and models are as in the PGS Catalog Calculator [1]_; ``Z_norm2`` is by the likelihood of mean and
variance together [2]_.

References
----------
.. [1] https://pgsc-calc.readthedocs.io/en/latest/explanation/geneticancestry.html
.. [2] A. Khan et al., Genome-wide polygenic score to predict chronic kidney disease across ancestries, Nature
   Medicine 28 (2022).
"""

from typing import NamedTuple

import numpy as np

from dpgrs.errors import UsageError

ADJUSTED = ("Z", "Z_norm1", "Z_norm2")
_MOST_STEPS, _CLOSE = 200, 1e-10
# Limit of the log ratio of a fitted variance to the variance of the residuals; beyond it is no fit.
_WIDEST = 10.0


class Adjusted(NamedTuple):
    """Scores in standard deviations of the reference, (n_outcomes, n_people) float64 each."""

    raw: np.ndarray  # less the mean of the reference
    mean: np.ndarray  # less the mean that a regression on components expects (``Z_norm1``)
    variance: np.ndarray  # the same, by the standard deviation that components expect (``Z_norm2``)


def adjust_scores(
    scores: np.ndarray,
    components: np.ndarray,
    *,
    reference_scores: np.ndarray,
    reference_components: np.ndarray,
) -> Adjusted:
    """Compare scores, (n_outcomes, n_people) float64, with scores of a reference by the same variants.

    Components are (n_components, n_people), projections on the components of the reference; arrays of the
    reference have n_reference columns. A score that does not vary in the reference has NaN throughout. A
    reference with too few people for so many components is refused.
    """
    n_components, n_reference = reference_components.shape
    if n_reference <= 10 * (n_components + 1):
        raise UsageError(
            "too-few-reference-people",
            f"`--reference` must hold more than {10 * (n_components + 1)} people for {n_components} "
            f"components, got {n_reference}. Lower `--components`, or take a larger panel.",
        )
    centre = reference_components.mean(axis=1, keepdims=True)
    spread = reference_components.std(axis=1, keepdims=True)
    ours, theirs = (
        np.vstack([np.ones(values.shape[1]), (values - centre) / spread])
        for values in (components, reference_components)
    )
    adjusted = np.full((3, *scores.shape), np.nan)
    for index, (score, reference) in enumerate(zip(scores, reference_scores, strict=True)):
        sd = reference.std()
        if sd > 0:
            adjusted[:, index] = _adjusted(score, ours, reference, theirs, mean=reference.mean(), sd=sd)
    return Adjusted(*adjusted)


def fit_mean_and_variance(y: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit a normal law whose mean is linear and whose variance is log-linear, by maximum likelihood.

    y is (n,), X (n_columns, n) float64, the first row ones. The mean is fitted by least squares with weights,
    the variance by Fisher scoring on squared residuals (a gamma regression with log link), in turns. Return
    coefficients of mean and of log variance, (n_columns,) float64 each.
    """
    beta = np.linalg.lstsq(X.T, y, rcond=None)[0]
    gamma = np.zeros(len(X))
    gamma[0] = np.log(np.mean((y - beta @ X) ** 2))
    inner, first = X @ X.T, gamma[0]
    for _ in range(_MOST_STEPS):
        variance = np.exp(np.clip(gamma @ X, first - _WIDEST, first + _WIDEST))
        beta = np.linalg.solve((X / variance) @ X.T, (X / variance) @ y)
        step = np.linalg.solve(inner, X @ ((y - beta @ X) ** 2 / variance - 1))
        step *= min(1.0, 1.0 / max(np.abs(step).max(), _CLOSE))
        gamma = gamma + step
        if np.abs(step).max() < _CLOSE:
            break
    return beta, gamma


def _adjusted(
    score: np.ndarray, ours: np.ndarray, reference: np.ndarray, theirs: np.ndarray, *, mean: float, sd: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the three for one score, (3, n_people)."""
    y = (reference - mean) / sd
    raw = (score - mean) / sd
    beta = np.linalg.lstsq(theirs.T, y, rcond=None)[0]
    by_mean = (raw - beta @ ours) / (y - beta @ theirs).std()
    beta, gamma = fit_mean_and_variance(y, theirs)
    return raw, by_mean, (raw - beta @ ours) * np.exp(-gamma @ ours / 2)
