import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import (
    LARGEST_MU,
    MARGIN,
    SMALLEST_DELTA,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    paper_noise_multiplier,
    split_budget,
)
from refused import refused

EPSILONS = st.floats(1e-3, 100)
DELTAS = st.floats(1e-12, 0.1)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(epsilon=EPSILONS, delta=DELTAS)
def test_gdp_mu__spends_the_budget_and_no_more(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert delta * (1 - 2e-9) < gdp_delta(mu, epsilon) <= delta


@settings(deadline=None, derandomize=True, max_examples=200)
@given(epsilon=EPSILONS, delta=DELTAS)
def test_gdp_epsilon__inverts_gdp_mu(epsilon, delta):
    assert gdp_epsilon(gdp_mu(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(mu=st.floats(0.01, 30), delta=DELTAS)
def test_gdp_epsilon__is_rounded_up(mu, delta):
    assert gdp_delta(mu, gdp_epsilon(mu, delta)) <= delta


def test_gdp_delta__limits():
    assert gdp_delta(0.0, 1.0) == 0.0
    assert gdp_delta(1000.0, 1.0) == 1.0
    # At epsilon = 0 it is the total variation distance of N(0, 1) and N(mu, 1).
    assert gdp_delta(2.0, 0.0) == pytest.approx(math.erf(1 / math.sqrt(2)), rel=2e-9)


@pytest.mark.parametrize(("mu", "epsilon"), [(1e-300, 1.0), (1e-9, 1e300), (0.1, 10.0), (1.0, 1e308)])
def test_gdp_delta__claims_nothing_below_the_smallest(mu, epsilon):
    assert gdp_delta(mu, epsilon) == SMALLEST_DELTA


@pytest.mark.parametrize("epsilon", [-1e-9, math.inf, math.nan])
def test_gdp_delta__raise_on_epsilon(epsilon):
    with refused("budget-out-of-range", "epsilon", error=UsageError):
        gdp_delta(1.0, epsilon)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(mu=st.floats(1e-8, 1e3), epsilon=st.floats(0, 100), factor=st.floats(1.001, 10))
def test_gdp_delta__rises_with_mu_and_falls_with_epsilon(mu, epsilon, factor):
    delta = gdp_delta(mu, epsilon)
    assert gdp_delta(mu * factor, epsilon) >= delta
    assert gdp_delta(mu, epsilon * factor) <= delta


def test_gdp_epsilon__counts_a_tiny_mu_as_the_smallest():
    assert gdp_epsilon(1e-200, 1e-30) == gdp_epsilon(1e-9, 1e-30) > 0


def test_gdp_epsilon__is_zero_where_delta_alone_covers_the_loss():
    assert gdp_epsilon(0.0, 1e-6) == gdp_epsilon(0.0, SMALLEST_DELTA) == 0.0
    assert gdp_epsilon(0.1, 0.5) == 0.0


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_gdp_epsilon__is_zero_only_where_the_margin_of_delta_is_covered_too(mu):
    covered = gdp_delta(mu, 0.0)
    assert gdp_epsilon(mu, covered / (1 + MARGIN)) > 0
    assert gdp_epsilon(mu, covered * (1 + 2 * MARGIN)) == 0


def test_split_budget__shares_of_mu_squared():
    mus = split_budget(1.0, 1e-6, shares=(0.2, 0.3, 0.5), accounting="gdp")
    total = gdp_mu(1.0, 1e-6)
    assert math.hypot(*mus) == pytest.approx(total, rel=1e-15)
    assert [mu**2 / total**2 for mu in mus] == pytest.approx([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "shares",
    [
        (0.5, 0.5),
        (1.0,),
        (0.1,) * 10,
        (0.7, 0.1, 0.1, 0.1),
        (1 / 3, 1 / 3, 1 - 2 / 3),
        (1e-300, 1.0),
        (1e-17, 0.3, 0.7),
        (1 / 49,) * 49,
    ],
)
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 3.0, 1e4])
def test_split_budget__parts_are_never_above_the_whole(shares, epsilon):
    mus = split_budget(epsilon, 1e-6, shares=shares, accounting="gdp")
    spent = sum(Fraction(mu) ** 2 for mu in mus)
    whole = Fraction(gdp_mu(epsilon, 1e-6)) ** 2
    assert whole * (1 - Fraction(1, 10**14)) < spent <= whole


@settings(deadline=None, derandomize=True, max_examples=200)
@given(weights=st.lists(st.floats(1e-6, 1), min_size=1, max_size=20), epsilon=st.floats(0.01, 20))
def test_split_budget__any_parts_are_never_above_the_whole(weights, epsilon):
    shares = [weight / math.fsum(weights) for weight in weights]
    mus = split_budget(epsilon, 1e-6, shares=shares, accounting="gdp")
    assert sum(Fraction(mu) ** 2 for mu in mus) <= Fraction(gdp_mu(epsilon, 1e-6)) ** 2


def test_split_budget__paper_halves():
    mus = split_budget(1.0, 1e-6, shares=(0.0, 0.5, 0.5), accounting="paper")
    half = 1 / paper_noise_multiplier(0.5, 5e-7)
    assert mus == (0.0, half, half)


def test_split_budget__paper_keeps_the_ratios_of_noise():
    shares = (0.01, 0.495, 0.495)
    gdp, paper = (split_budget(1.0, 1e-6, shares=shares, accounting=name) for name in ("gdp", "paper"))
    assert paper[1] / paper[0] == pytest.approx(gdp[1] / gdp[0], rel=0.1)


def test_split_budget__paper_needs_more_noise():
    gdp = split_budget(1.0, 1e-6, shares=(0.5, 0.5), accounting="gdp")
    paper = split_budget(1.0, 1e-6, shares=(0.5, 0.5), accounting="paper")
    assert 1 / gdp[0] == pytest.approx(6.0, abs=0.05)
    assert 1 / paper[0] == pytest.approx(10.9, abs=0.05)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-9, 0.01), share=st.floats(0.01, 0.99))
def test_split_budget__paper_stays_within_the_budget(epsilon, delta, share):
    mus = split_budget(epsilon, delta, shares=(share, 1 - share), accounting="paper")
    assert gdp_delta(math.hypot(*mus), epsilon) <= delta


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.5, -0.5), (0.2,), (0.5, 0.5 + 1e-12), (math.nan, 0.5)])
def test_split_budget__raise_on_shares(shares):
    with refused("budget-out-of-range", "`privacy.shares`", error=UsageError):
        split_budget(1.0, 1e-6, shares=shares, accounting="gdp")


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("delta", [1.5, 9.9e-31])
def test_split_budget__raise_on_a_delta_of_which_parts_would_do(delta, accounting):
    with refused("budget-out-of-range", "`privacy.delta`", error=UsageError):
        split_budget(1.0, delta, shares=(0.5, 0.5), accounting=accounting)


@pytest.mark.parametrize("function", [gdp_mu, paper_noise_multiplier])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_budget__raise_on_epsilon(function, epsilon):
    with refused("budget-out-of-range", "`privacy.epsilon`", error=UsageError):
        function(epsilon, 1e-6)


@pytest.mark.parametrize("function", [gdp_mu, gdp_epsilon])
@pytest.mark.parametrize("delta", [0.0, 9.9e-31, 1.0, -1e-6, math.nan])
def test_budget__raise_on_delta(function, delta):
    with refused("budget-out-of-range", "`privacy.delta`", error=UsageError):
        function(1.0, delta)


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan])
def test_paper_noise_multiplier__raise_on_delta(delta):
    with refused("budget-out-of-range", "`privacy.delta`", error=UsageError):
        paper_noise_multiplier(1.0, delta)


def test_split_budget__paper_cuts_the_smallest_delta():
    mus = split_budget(1.0, 1e-30, shares=(0.5, 0.5), accounting="paper")
    assert gdp_delta(math.hypot(*mus), 1.0) <= 1e-30 * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", [9e-5, 1.1e4])
def test_gdp_mu__raise_where_the_trade_off_is_not_accurate(epsilon):
    with refused("budget-out-of-range", "10000", error=UsageError):
        gdp_mu(epsilon, 1e-6)


@pytest.mark.parametrize("function", [lambda mu: gdp_delta(mu, 1.0), lambda mu: gdp_epsilon(mu, 1e-6)])
@pytest.mark.parametrize("mu", [-1.0, LARGEST_MU * 1.01, math.inf, math.nan])
def test_gdp__raise_on_mu(function, mu):
    with refused("budget-out-of-range", "`privacy.mu`", "10000", error=UsageError):
        function(mu)
