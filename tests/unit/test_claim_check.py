"""Whether a stated total covers draws, by arithmetic of its own, beside the accountant's."""

from fractions import Fraction

import pytest

from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.verify.claim_check import smallest_delta


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(0.2367, 1.0), (3.0, 0.0), (1.0, 10.0), (0.01, 0.04), (20.0, 300.0)]
)
def test_smallest_delta__agrees_with_the_accountant(mu, epsilon):
    delta = smallest_delta(Fraction(mu) ** 2, Fraction(epsilon))
    assert float(delta) == pytest.approx(gdp_delta(mu, epsilon), rel=1e-8)


def test_smallest_delta__nothing_spent():
    assert smallest_delta(Fraction(0), Fraction(1)) == 0
