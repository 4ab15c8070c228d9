import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.accountant import (
    gdp_delta,
    gdp_epsilon,
    gdp_group_mu,
    gdp_mu,
    paper_noise_multiplier,
    split_budget,
)

EPSILONS = st.floats(1e-3, 100)
DELTAS = st.floats(1e-12, 0.1)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(epsilon=EPSILONS, delta=DELTAS)
def test_gdp_mu__spends_the_budget_and_no_more(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert delta * (1 - 1e-9) < gdp_delta(mu, epsilon) <= delta


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
    assert gdp_delta(1e-300, 1.0) == 0.0
    assert gdp_delta(1000.0, 1.0) == 1.0
    # At epsilon = 0 it is the total variation distance of N(0, 1) and N(mu, 1).
    assert gdp_delta(2.0, 0.0) == pytest.approx(math.erf(1 / math.sqrt(2)), abs=1e-15)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 1e-300), (1e4, 1e-300), (1e-4, 0.999), (1e4, 0.999)])
def test_gdp_mu__corners(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert gdp_delta(mu, epsilon) == pytest.approx(delta, rel=1e-7)


def test_gdp_epsilon__is_zero_where_delta_alone_covers_the_loss():
    assert gdp_epsilon(0.0, 1e-6) == 0.0
    assert gdp_epsilon(0.1, 0.5) == 0.0


def test_gdp_group_mu__doubles_for_two_rows():
    assert gdp_group_mu(0.25, 2) == 0.5


def test_split_budget__shares_of_mu_squared():
    mus = split_budget(1.0, 1e-6, shares=(0.2, 0.3, 0.5), accounting="gdp")
    total = gdp_mu(1.0, 1e-6)
    assert math.hypot(*mus) == pytest.approx(total, rel=1e-15)
    assert [mu**2 / total**2 for mu in mus] == pytest.approx([0.2, 0.3, 0.5])


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


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.5, -0.5), (0.2,)])
def test_split_budget__raise_on_shares(shares):
    with pytest.raises(UsageError, match=r"`privacy\.shares` must be numbers >= 0 with sum 1"):
        split_budget(1.0, 1e-6, shares=shares, accounting="gdp")


@pytest.mark.parametrize("function", [gdp_mu, paper_noise_multiplier])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_budget__raise_on_epsilon(function, epsilon):
    with pytest.raises(UsageError, match=r"`privacy\.epsilon` must be a finite number above 0"):
        function(epsilon, 1e-6)


@pytest.mark.parametrize("function", [gdp_mu, gdp_epsilon, paper_noise_multiplier])
@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan])
def test_budget__raise_on_delta(function, delta):
    with pytest.raises(UsageError, match=r"`privacy\.delta` must be a number between 0 and 1"):
        function(1.0, delta)


@pytest.mark.parametrize("epsilon", [9e-5, 1.1e4])
def test_gdp_mu__raise_where_the_trade_off_is_not_accurate(epsilon):
    with pytest.raises(UsageError, match=r"between 0\.0001 and 10000"):
        gdp_mu(epsilon, 1e-6)


@pytest.mark.parametrize("mu", [-1.0, math.inf, math.nan])
def test_gdp_delta__raise_on_mu(mu):
    with pytest.raises(UsageError, match=r"`privacy\.mu` must be"):
        gdp_delta(mu, 1.0)
