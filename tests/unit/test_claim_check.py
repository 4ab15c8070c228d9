"""Whether a stated total covers draws, by arithmetic of its own, beside the accountant's."""

import math
import random
from fractions import Fraction

import pytest

from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.release.odds import describe_profile, with_chance
from dpgrs.verify.claim_check import Loss, _covering_problems, _profile_problems, smallest_delta


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(0.2367, 1.0), (3.0, 0.0), (1.0, 10.0), (0.01, 0.04), (20.0, 300.0)]
)
def test_smallest_delta__agrees_with_the_accountant(mu, epsilon):
    delta = smallest_delta(Fraction(mu) ** 2, Fraction(epsilon))
    assert float(delta) == pytest.approx(gdp_delta(mu, epsilon), rel=1e-8)


def test_smallest_delta__nothing_spent():
    assert smallest_delta(Fraction(0), Fraction(1)) == 0


def test_claims__of_any_loss_are_written_as_they_are_checked():
    """Numbers that the accountant rounds up are, to the last digit, those of exact arithmetic."""
    rng = random.Random(1)
    for _ in range(40):
        mu_squared = Fraction(10 ** rng.uniform(-6, 2)) * rng.choice((0, 1, 1, 1))
        pure = Fraction(f"{10 ** rng.uniform(-3, 1):.3f}") * rng.choice((0, 1))
        epsilon = f"{float(pure) + math.sqrt(mu_squared) * rng.uniform(0.5, 6) + 0.01:.4f}1"
        cost, loss = Cost(mu_squared, pure), Loss(mu_squared, pure)
        claim = with_chance({"epsilon": epsilon, "delta": "0.9999"}, [cost])
        assert _covering_problems("it", claim, [loss]) == []
        statement = {"profile": describe_profile(cost, epsilon), "guarantee": claim}
        assert _profile_problems(statement, loss) == []
