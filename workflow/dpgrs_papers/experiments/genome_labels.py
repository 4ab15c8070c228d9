"""Randomised response on phenotypes in bins, which protects phenotypes only and lets genotypes be public.

A standard normal phenotype falls into one of k bins. With b = 1/(e^epsilon + k - 1), its bin is reported
with probability e^epsilon b, and each other bin with probability b. The report is epsilon-differentially
private if one phenotype is replaced. The released number is the mean of phenotypes with the reported bin
[1]_. Its variance is the square of its correlation with the phenotype, and also its slope on an effect. A
regression on released numbers is therefore as good as one on the phenotypes of so many times fewer people.
Two bins are randomised response on the sign.

References
----------
.. [1] Ghazi et al. (2023). Regression with label differential privacy. ICLR.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from numpy.random import Generator

MOST_BINS = 24


@dataclass(frozen=True, eq=False)
class RandomisedBins:
    """Randomised response on a standard normal phenotype in bins."""

    epsilon: float
    bounds: np.ndarray  # (n_bins - 1,) float64 ascending

    @cached_property
    def chances(self) -> np.ndarray:
        """The chances that a phenotype falls into each bin, (n_bins,)."""
        return np.diff(ndtr(self.bounds), prepend=0.0, append=1.0)

    @cached_property
    def released(self) -> np.ndarray:
        """The number that is released for each reported bin, (n_bins,)."""
        density = np.exp(-np.square(self.bounds) / 2) / np.sqrt(2 * np.pi)
        moments = -np.diff(density, prepend=0.0, append=0.0)
        other = 1 / (np.exp(self.epsilon) + len(moments) - 1)
        rise = np.expm1(self.epsilon) * other
        return rise * moments / (other + rise * self.chances)

    @property
    def effective_share(self) -> float:
        """The effective number of people over their number."""
        other = 1 / (np.exp(self.epsilon) + len(self.chances) - 1)
        reported = other + np.expm1(self.epsilon) * other * self.chances
        return float(reported @ np.square(self.released))

    def randomised(self, phenotypes: np.ndarray, rng: "Generator") -> np.ndarray:
        """Return released numbers of phenotypes, of the same shape."""
        n_bins = len(self.chances)
        bins = np.searchsorted(self.bounds, phenotypes)
        is_true = rng.random(bins.shape) * (np.exp(self.epsilon) + n_bins - 1) < np.exp(self.epsilon)
        other_bins = (bins + rng.integers(1, n_bins, size=bins.shape)) % n_bins
        return self.released[np.where(is_true, bins, other_bins)]


def best_bins(epsilon: float, most: int = MOST_BINS) -> RandomisedBins:
    """Choose symmetric bins of the largest effective number of people, more of them while that helps."""
    best = RandomisedBins(epsilon, np.zeros(1))
    for n_bins in range(3, most + 1):
        bins = _bins(epsilon, n_bins)
        if bins.effective_share <= best.effective_share:
            break
        best = bins
    return best


def _bins(epsilon: float, n_bins: int) -> RandomisedBins:
    """Choose the bounds of so many symmetric bins; with an even number one of them is 0."""
    middle = np.zeros(1 - n_bins % 2)

    def with_gaps(log_gaps: np.ndarray) -> RandomisedBins:
        above = np.cumsum(np.exp(log_gaps))
        return RandomisedBins(epsilon, np.concatenate([-above[::-1], middle, above]))

    def loss(log_gaps: np.ndarray) -> float:
        return -with_gaps(log_gaps).effective_share

    quantiles = ndtri(np.arange(n_bins // 2 + 1, n_bins) / n_bins)
    start = np.log(np.diff([0.0, *quantiles]))
    return with_gaps(minimize(loss, start, method="BFGS").x)
