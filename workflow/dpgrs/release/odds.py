"""What a privacy statement says of a reader's odds: chances, and the profile.

A delta is no chance. That odds move by more than e^epsilon has a chance that follows from what the mechanisms
cost, and is many times delta (docs/proofs/odds.md).
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.exact_numbers import text_above

CHANCE_DIGITS, PROFILE_DIGITS, COST_DIGITS = 2, 6, 15
# Shares of the claimed epsilon beyond its pure part: the fifth of ten is the claim.
PROFILE_SHARES = tuple(Fraction(number, 5) for number in range(1, 11))


def with_chance(total: dict[str, str], costs: Iterable[Cost]) -> dict[str, str]:
    """Say of an (epsilon, delta) how often guesses are right and how likely odds rise by more than e^epsilon.

    `total` is exact text of epsilon and delta, which covers all `costs`. The result also has ``chance`` and
    ``right_guesses``, rounded up, of the worst cost.
    """
    epsilon, costs = Fraction(total["epsilon"]), set(costs)
    worst = max(cost.odds_chance(epsilon) for cost in costs)
    right = max(cost.right_guesses for cost in costs)
    return total | {"chance": text_above(worst, digits=CHANCE_DIGITS), "right_guesses": str(right)}


def describe_profile(cost: Cost, epsilon: str) -> dict[str, Any]:
    """List what a release costs, and delta at ten epsilons, for an epsilon as it is claimed, exact text."""
    gaussian_epsilon = max(Fraction(epsilon) - cost.pure_epsilon, Fraction(0))
    epsilons = [
        text_above(cost.pure_epsilon + share * gaussian_epsilon, digits=COST_DIGITS)
        for share in PROFILE_SHARES
    ]
    return {
        "mu_squared": text_above(cost.mu_squared, digits=COST_DIGITS),
        "pure_epsilon": text_above(cost.pure_epsilon, digits=COST_DIGITS),
        "deltas": [
            {"epsilon": text, "delta": text_above(cost.delta(Fraction(text)), digits=PROFILE_DIGITS)}
            for text in epsilons
        ],
    }
