"""Statistics of outcomes that are drawn separately: their budget, and their noisy values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.privacy.accounting.accountant import paper_noise_multiplier, split_budget
from dpgrs.types import Accounting

# Beyond this epsilon of one fit, advanced composition never beats basic composition.
_LARGEST_ADVANCED = 100.0


@dataclass(frozen=True, kw_only=True)
class SeparateRequest(PrivacyRequest):
    """The terms of one of several separate fits that share a budget: `n_outcomes` is 1."""

    n_fits: int  # outcomes that share (epsilon, delta)

    @cached_property
    def budget(self) -> dict[str, float]:
        """The mu of the ``count``, drawn once, and of ``observed``, ``gram`` and ``cross`` of every fit."""
        count, observed = self.shares_of_counts
        observed /= 1 - count
        of_a_fit = (
            observed,
            (1 - observed) * self.share_of_gram,
            (1 - observed) * (1 - self.share_of_gram),
        )
        if Accounting(self.accounting) == Accounting.GDP:
            fit_shares = [(1 - count) * share / self.n_fits for share in of_a_fit]
            options = {"shares": (count, *fit_shares * self.n_fits), "accounting": self.accounting}
            return self.after_covariates(_named(split_budget(self.epsilon, self.delta, **options)[:4]))
        paid = math.sqrt(count) / sum(map(math.sqrt, (count, *((1 - count) * share for share in of_a_fit))))
        mus = split_budget(
            *even_part((1 - paid) * self.epsilon, (1 - paid) * self.delta, self.n_fits),
            shares=of_a_fit,
            accounting=self.accounting,
        )
        mu_count = 1 / paper_noise_multiplier(paid * self.epsilon, paid * self.delta) if paid else 0.0
        return _named((mu_count, *mus))


@dataclass(frozen=True)
class SeparateStatistics:
    """The statistics of all separate fits: all that follows is post-processing."""

    gram: np.ndarray  # (n_outcomes, n_variants + 1, n_variants + 1) float64, the noisy X'X of every outcome
    # cross, n, events, observed and slopes: as in `NoisyStatistics`.
    cross: np.ndarray
    n: int
    events: tuple = ()
    origin: np.ndarray | None = None  # (n_variants,) float64 or None, as there; the same for all
    observed: np.ndarray | None = None
    slopes: np.ndarray | None = None

    def by_outcome(self) -> Iterator[NoisyStatistics]:
        """Yield the NoisyStatistics of one outcome after the other, without events."""
        for number, (gram, cross) in enumerate(zip(self.gram, self.cross, strict=True)):
            optional = {"observed": self.observed, "slopes": self.slopes}
            optional = {
                name: array[number : number + 1] for name, array in optional.items() if array is not None
            }
            yield NoisyStatistics(gram, cross[np.newaxis], self.n, **optional)


def _named(mus: Sequence[float]) -> dict[str, float]:
    return dict(zip(("count", "observed", "gram", "cross"), mus, strict=True))


def even_part(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Return the (epsilon, delta) of one of several equal mechanisms that compose to a whole.

    The better of basic and of advanced composition [1]_, as the PRIMO paper composes its baseline: k
    mechanisms of (e, delta/(2 k)) are together (sqrt(2 k ln(2/delta)) e + k e (exp(e) - 1), delta)-DP.

    [1]_: Dwork, Rothblum, Vadhan (2010). Boosting and differential privacy. FOCS.
    """
    from scipy.optimize import brentq  # takes 0.4 s, which most steps do without

    slope = math.sqrt(2 * times * math.log(2 / delta))

    def excess(part_epsilon: float) -> float:
        return slope * part_epsilon + times * part_epsilon * math.expm1(part_epsilon) - epsilon

    # The root is found to a relative error of 1e-12 and rounded down by more.
    root = brentq(excess, 0.0, min(2 * epsilon / slope, _LARGEST_ADVANCED), xtol=1e-300, rtol=1e-12)
    candidates = [(epsilon / times, delta / times), (root * (1 - 1e-9), delta / (2 * times))]
    return min(candidates, key=lambda pair: paper_noise_multiplier(*pair))
