"""What mechanisms charge: mu^2 of Gaussian ones and epsilon of pure ones, as exact numbers that add up.

A ledger counts two numbers: mu^2 of Gaussian mechanisms and epsilon of pure ones. Both add up, also where
later requests depend on earlier results: adaptive filters are proven for each [1]_ [2]_. Together they give
(epsilon(mu, delta) + pure epsilon, delta): between the transcripts of a data set and of its neighbour stands
one whose Gaussian mechanisms see the neighbour and whose pure ones do not, and one filter bounds each step.

References
----------
.. [1] Smith, Thakurta (2022). Fully adaptive composition for Gaussian differential privacy. arXiv 2210.17520.
.. [2] Rogers, Roth, Ullman, Vadhan (2016). Privacy odometers and filters. NeurIPS.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpgrs.privacy.accounting.accountant import gdp_delta, gdp_epsilon, odds_chance, right_share
from dpgrs.privacy.accounting.exact_numbers import exact_positive, float_below, root_above


@dataclass(frozen=True)
class Cost:
    """The two counters of a ledger, of a request, an account or its limit."""

    mu_squared: Fraction = Fraction(0)
    pure_epsilon: Fraction = Fraction(0)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.mu_squared + other.mu_squared, self.pure_epsilon + other.pure_epsilon)

    def for_group(self, size: int) -> "Cost":
        """Return the cost to a group of `size` units."""
        return Cost(self.mu_squared * size**2, self.pure_epsilon * size)

    def is_within(self, limit: "Cost") -> bool:
        return self.mu_squared <= limit.mu_squared and self.pure_epsilon <= limit.pure_epsilon

    def epsilon(
        self,
        delta: Fraction,  # in (0, 1)
    ) -> Fraction:
        """Return an epsilon, never below the smallest, such that all together is (epsilon, delta)-DP."""
        return Fraction(gdp_epsilon(root_above(self.mu_squared), float_below(delta))) + self.pure_epsilon

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return a delta, never below the smallest, such that all of it together is (epsilon, delta)-DP.

        It is 1 if epsilon is below the pure part.
        """
        gap = epsilon - self.pure_epsilon
        return Fraction(gdp_delta(root_above(self.mu_squared), float_below(gap))) if gap >= 0 else Fraction(1)

    def odds_chance(self, epsilon: Fraction) -> Fraction:
        """Bound the chance that odds of the truth rise by more than e^epsilon (docs/proofs/odds.md)."""
        gap = epsilon - self.pure_epsilon
        return Fraction(odds_chance(root_above(self.mu_squared), float_below(gap)))

    @property
    def right_guesses(self) -> int:
        """The most of 100 guesses between neighbours at even odds that are right, rounded up."""
        pure = root_above(self.pure_epsilon**2)
        return math.ceil(100 * right_share(root_above(self.mu_squared), pure))


@dataclass(frozen=True)
class GaussianCharge:
    """Normal noise of deviation `sigma` on a statistic of l2 sensitivity `sensitivity`: exactly mu-GDP."""

    statistic: str  # its name; here and below
    sensitivity: str  # exact, as all numbers here and below
    sigma: str  # in the units of the sensitivity

    @property
    def ledger_fields(self) -> dict[str, str]:
        """The JSON values in an entry and an identity, by frozen names; here and below."""
        claim = {"statistic": self.statistic, "sensitivity": self.sensitivity}
        return {"kind": "gaussian", "sigma": self.sigma} | claim

    @cached_property
    def cost(self) -> Cost:
        return Cost(mu_squared=_ratio(self, "sensitivity", "sigma") ** 2)


@dataclass(frozen=True)
class LaplaceCharge:
    """Laplace noise of scale `scale` on a statistic of l1 sensitivity `sensitivity`: pure."""

    statistic: str
    sensitivity: str
    scale: str

    @property
    def ledger_fields(self) -> dict[str, str]:
        claim = {"statistic": self.statistic, "sensitivity": self.sensitivity}
        return {"kind": "laplace", "scale": self.scale} | claim

    @cached_property
    def cost(self) -> Cost:
        return Cost(pure_epsilon=_ratio(self, "sensitivity", "scale"))


@dataclass(frozen=True)
class PureCharge:
    """Any other mechanism that is `epsilon`-DP, such as a private choice."""

    statistic: str
    epsilon: str

    @property
    def ledger_fields(self) -> dict[str, str]:
        return {"kind": "pure", "statistic": self.statistic, "epsilon": self.epsilon}

    @cached_property
    def cost(self) -> Cost:
        return Cost(pure_epsilon=exact_positive(self.epsilon, name="epsilon"))


Charge = GaussianCharge | LaplaceCharge | PureCharge
CHARGES: dict[str, type[Charge]] = {
    "gaussian": GaussianCharge,
    "laplace": LaplaceCharge,
    "pure": PureCharge,
}


def _ratio(charge: GaussianCharge | LaplaceCharge, above: str, below: str) -> Fraction:
    numerator, denominator = (exact_positive(getattr(charge, name), name=name) for name in (above, below))
    return numerator / denominator
