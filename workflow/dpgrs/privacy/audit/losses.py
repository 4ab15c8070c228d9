"""Claims that an audit compares with its observations, each as the loss that two rates of error show."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import stats
from scipy.special import expit, log1p, logit, ndtr, ndtri

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import gdp_epsilon

Rates = float | np.ndarray  # of errors; arrays are broadcast


@dataclass(frozen=True)
class GaussianLoss:
    """A claim of mu-GDP."""

    symbol: ClassVar = "mu"
    value: float  # mu
    delta: float  # in (0, 1), at which the loss is also shown as an epsilon

    def observed(self, alpha: Rates, beta: Rates) -> Rates:
        """Return the smallest mu that allows both error rates."""
        return np.maximum(-ndtri(alpha) - ndtri(beta), 0.0)

    def epsilon(self, mu: float) -> float:
        """Return mu as an epsilon at `delta`."""
        return gdp_epsilon(mu, self.delta)

    def error_rates(self, factor: float = 1.0) -> tuple[float, float]:
        """Return alpha and beta of the guess halfway, with noise too small by a factor."""
        error = float(ndtr(-factor * self.value / 2))
        return error, error


@dataclass(frozen=True)
class PureLoss:
    """A claim of (epsilon, 0)-DP."""

    symbol: ClassVar = "epsilon"
    delta: ClassVar = 0.0
    value: float  # epsilon

    def observed(self, alpha: Rates, beta: Rates) -> Rates:
        """Return the smallest epsilon that allows both error rates."""
        ratios = np.maximum(log1p(-beta) - np.log(alpha), log1p(-alpha) - np.log(beta))
        return np.maximum(ratios, 0.0)

    def epsilon(self, epsilon: float) -> float:
        """Return the loss as it is."""
        return epsilon

    def error_rates(self, factor: float = 1.0) -> tuple[float, float]:
        """Return alpha and beta of the guess by an output of probability 1/2 on the second input.

        Such are permute-and-flip between two candidates, and Laplace noise cut at the second statistic.
        """
        return math.exp(-factor * self.value) / 2, 0.5


@dataclass(frozen=True)
class ApproximateLoss:
    """A claim of (epsilon, delta)-DP."""

    symbol: ClassVar = "epsilon"
    value: float  # epsilon
    delta: float  # in [0, 1)

    def observed(self, alpha: Rates, beta: Rates) -> Rates:
        """Return the smallest epsilon that allows both error rates at `delta`.

        It is infinite if a rate is 0 and the other guess is right with a chance above `delta`.
        """
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            right = [np.log(np.maximum(1 - other - self.delta, 0.0)) for other in (beta, alpha)]
            ratios = [chance - np.log(wrong) for chance, wrong in zip(right, (alpha, beta), strict=True)]
        return np.maximum(np.fmax(*ratios), 0.0)


@dataclass(frozen=True)
class RangeLoss:
    """A claim that the likelihood ratios of all outputs lie in an interval of length r, as logarithms.

    It implies r-DP. Exponential mechanisms keep it: their loss in both directions together is r.
    """

    symbol: ClassVar = "range"
    delta: ClassVar = 0.0
    value: float  # r

    def observed(self, alpha: Rates, beta: Rates) -> Rates:
        """Return the smallest range that allows both error rates."""
        return np.maximum(-logit(alpha) - logit(beta), 0.0)

    def epsilon(self, r: float) -> float:
        """Return the loss as it is."""
        return r

    def error_rates(self, factor: float = 1.0) -> tuple[float, float]:
        """Return alpha and beta of the guess by two outputs, each as likely on its input as the other."""
        error = float(expit(-factor * self.value / 2))
        return error, error


def rates_above(
    n_errors: np.ndarray,  # (...) int
    n_draws: int,  # > 0
    confidence: float,  # in (0, 1)
) -> np.ndarray:
    """Bound error rates from above by Clopper and Pearson, (...), so that both hold at the confidence."""
    if not (n_draws > 0 and 0 < confidence < 1):
        raise UsageError(
            "audit-terms",
            "An audit must have at least one draw and a confidence between 0 and 1, "
            f"got {n_draws} and {confidence}. Use the defaults.",
        )
    bound = stats.beta.isf((1 - confidence) / 2, n_errors + 1, np.maximum(n_draws - n_errors, 1))
    return np.where(n_errors < n_draws, bound, 1.0)
