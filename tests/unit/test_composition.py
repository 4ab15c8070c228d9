import itertools
import math
from dataclasses import astuple
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import gdp_delta, gdp_epsilon, gdp_mu, split_budget
from dpgrs.privacy.accounting.charges import Cost, GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.accounting.composition import (
    Guarantee,
    group_guarantee,
    study_totals,
    total_cost,
    totals,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import count_sensitivity
from refused import refused

DELTA = 1e-6
PURE = PureCharge("choice", epsilon="0.1")
LAPLACE = LaplaceCharge("count", sensitivity="1", scale="5")
MIXTURE = [GaussianCharge("gram", "1", "4"), PURE, LAPLACE, PURE]
EPSILONS = ("basic", "zcdp", "ledger", "tight")


def gaussian(mu, statistic="gram"):
    return GaussianCharge(statistic, sensitivity=str(Fraction(mu)), sigma="1")


def events_of(mus, epsilons):
    return [gaussian(mu) for mu in mus] + [PureCharge("choice", str(Fraction(x))) for x in epsilons]


def test_cost__a_draw_is_exact_and_within_its_share():
    sensitivity = count_sensitivity(rows="haplotypes", neighbours="add-remove", unit="person")
    _, event = BenchmarkNoise(1).gaussian(100, name="count", step=1.0, sensitivity=sensitivity, mu=0.3)
    cost = event.cost
    assert cost == GaussianCharge("count", "2", str(Fraction(event.sigma))).cost
    assert Fraction(0.3) ** 2 * (1 - Fraction(1, 10**15)) < cost.mu_squared <= Fraction(0.3) ** 2


def test_total_cost__is_the_sum_of_the_counters_and_grows_with_the_group():
    assert total_cost(MIXTURE) == Cost(Fraction(1, 16), Fraction(2, 5))
    assert total_cost(MIXTURE, group_size=2) == Cost(Fraction(1, 4), Fraction(4, 5))
    assert total_cost([]) == Cost()


def test_totals__nothing_costs_nothing():
    assert astuple(totals([], delta=DELTA)) == (DELTA, 0, 0, 0, 0, 0, 0)


def test_totals__one_gaussian_is_exact_by_every_route_but_zcdp():
    total = totals([gaussian(0.25)], delta=DELTA)
    assert (total.mu, total.rho) == (0.25, 0.03125)
    assert total.basic == total.ledger == total.tight == gdp_epsilon(0.25, DELTA) < total.zcdp


def test_totals__equal_shares_of_a_budget_add_up_to_it():
    shares = split_budget(1.0, DELTA, shares=(0.1,) * 10, accounting="gdp")
    total = totals(map(gaussian, shares), delta=DELTA)
    assert total.ledger == pytest.approx(1.0, rel=1e-8)
    assert total.ledger <= 1.0 < total.basic


def test_totals__basic_shares_delta_out():
    events = [gaussian(0.25), gaussian(0.1), gaussian(0.1), gaussian(0.1), PURE]
    expected = gdp_epsilon(0.25, DELTA / 4) + 3 * gdp_epsilon(0.1, DELTA / 4) + 0.1
    assert totals(events, delta=DELTA).basic == pytest.approx(expected, rel=1e-12)


def test_totals__pure_events_alone():
    few, many = (totals([PURE] * times, delta=DELTA) for times in (3, 100))
    assert few.mu == 0
    assert few.rho == pytest.approx(0.015)
    assert few.basic == few.ledger == pytest.approx(0.3, rel=1e-15)
    assert many.basic == pytest.approx(10, rel=1e-15)
    assert many.tight < many.zcdp < many.basic / 1.5


def test_totals__mixture_is_below_the_sums_and_above_each_part():
    total = totals(MIXTURE, delta=DELTA)
    assert total.basic == total.ledger == pytest.approx(gdp_epsilon(0.25, DELTA) + 0.4, rel=1e-12)
    assert total.tight < 0.95 * total.ledger
    for left_out in range(len(MIXTURE)):
        part = totals(MIXTURE[:left_out] + MIXTURE[left_out + 1 :], delta=DELTA)
        assert part.tight < total.tight


def exact_delta(epsilon, mus, pure):
    """Return delta of Gaussian mechanisms and randomised responses, worked out by all their answers."""
    delta, mu = 0.0, math.hypot(*mus)
    for signs in itertools.product((1, -1), repeat=len(pure)):
        loss = sum(sign * one for sign, one in zip(signs, pure, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * one)) for sign, one in zip(signs, pure, strict=True))
        rest = epsilon - loss
        if mu:
            part = ndtr(mu / 2 - rest / mu) - math.exp(rest) * ndtr(-mu / 2 - rest / mu)
        else:
            part = max(0.0, -math.expm1(rest))
        delta += chance * part
    return delta


@pytest.mark.parametrize("mus", [(), (0.5,), (0.3, 0.4, 1.0)])
@pytest.mark.parametrize("pure", [(1.0,), (0.25,) * 6, (0.1, 0.7, 0.7)])
def test_totals__tight_is_the_loss_of_the_worst_mechanisms_rounded_up(mus, pure):
    tight = totals(events_of(mus, pure), delta=DELTA).tight
    assert exact_delta(tight, mus, pure) <= DELTA * (1 + 1e-9)
    assert exact_delta(tight * 0.99, mus, pure) > DELTA


def test_totals__laplace_costs_what_any_pure_mechanism_does():
    # On a grid as coarse as its sensitivity, Laplace noise is randomised response; charges name no grid.
    pure = PureCharge("count", epsilon="0.2")
    assert totals([gaussian(0.25), LAPLACE], delta=DELTA) == totals([gaussian(0.25), pure], delta=DELTA)


def test_totals__order_does_not_matter():
    assert totals(MIXTURE, delta=DELTA) == totals(reversed(MIXTURE), delta=DELTA)


def test_totals__group_doubles_mu_and_pure_epsilon():
    doubled = [gaussian(0.5), PureCharge("choice", "0.2"), LaplaceCharge("count", "2", "5"), PURE, PURE]
    assert totals(MIXTURE, delta=DELTA, group_size=2).ledger == totals(doubled, delta=DELTA).ledger
    assert totals(MIXTURE, delta=DELTA, group_size=2).mu == 0.5


@settings(deadline=None, derandomize=True, max_examples=5)
@given(
    mus=st.lists(st.floats(1e-3, 3), max_size=4),
    epsilons=st.lists(st.floats(1e-3, 2), max_size=3),
    delta=st.sampled_from([1e-4, 1e-6, 1e-9, 1e-20]),
)
def test_totals__more_events_never_cost_less(mus, epsilons, delta):
    fewer = totals(events_of(mus, epsilons), delta=delta)
    more = totals(events_of([*mus, 0.1], [*epsilons, 0.1]), delta=delta)
    assert all(getattr(fewer, name) < getattr(more, name) for name in EPSILONS)
    assert fewer.tight <= fewer.ledger <= fewer.basic * (1 + 1e-8)


@settings(deadline=None, derandomize=True, max_examples=5)
@given(mus=st.lists(st.floats(1e-3, 3), min_size=1, max_size=4), epsilon=st.floats(1e-3, 2))
def test_totals__smaller_delta_never_costs_less(mus, epsilon):
    loose, strict = (totals(events_of(mus, [epsilon]), delta=delta) for delta in (1e-5, 1e-9))
    assert all(getattr(loose, name) <= getattr(strict, name) for name in EPSILONS)


def test_totals__a_delta_too_small_for_transforms_falls_back_to_what_is_exact():
    total = totals(MIXTURE, delta=1e-14)
    assert total.tight == min(total.basic, total.ledger, total.zcdp)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-9", "1e5"])
def test_totals__extreme_events_leave_the_ledger_total(epsilon):
    total = totals([gaussian(0.25), PureCharge("choice", epsilon)], delta=DELTA)
    assert math.isfinite(total.zcdp)
    assert total.tight == total.ledger >= Fraction(gdp_epsilon(0.25, DELTA)) + Fraction(epsilon)


def test_totals__scales_to_thousands_of_events():
    # A convolution for each event would take minutes; equal ones are composed at once.
    total = totals([gaussian(0.02)] * 5000 + [PureCharge("choice", "0.005")] * 5000, delta=DELTA)
    assert total.mu == pytest.approx(math.sqrt(2), rel=1e-15)
    assert total.tight < total.zcdp < total.ledger


@pytest.mark.parametrize("delta", [0.0, 1e-31, 1.0, math.nan])
def test_totals__raise_on_delta(delta):
    with refused("budget-out-of-range", "`privacy.delta`", error=UsageError):
        totals(MIXTURE, delta=delta)


def test_totals__raise_on_a_loss_beyond_what_was_validated():
    with refused("budget-out-of-range", "`privacy.mu`", "10000", error=UsageError):
        totals([gaussian(9e3)] * 2, delta=DELTA)


def test_study_totals__separate_budgets():
    shared = [gaussian(0.02, "count"), gaussian(0.2)]
    own = {f"trait{i}": [gaussian(0.1, f"cross {i}")] for i in range(10)}
    total = study_totals(shared, own, delta=DELTA)
    assert set(total.outcomes) == set(own)
    assert len(set(total.outcomes.values())) == 1
    assert total.outcomes["trait0"].mu == pytest.approx(math.hypot(0.02, 0.2, 0.1))
    assert total.study.mu == pytest.approx(math.sqrt(0.02**2 + 0.2**2 + 10 * 0.1**2))
    # Another outcome costs the others nothing, and the study a little.
    more = study_totals(shared, own | {"late": [gaussian(0.1, "cross late")]}, delta=DELTA)
    assert more.outcomes["trait3"] == total.outcomes["trait3"]
    assert more.study.ledger > total.study.ledger


def test_study_totals__joint_budget():
    shared = [gaussian(0.02, "count"), gaussian(0.2), gaussian(0.3, "cross")]
    total = study_totals(shared, {"height": [], "weight": []}, delta=DELTA, group_size=2)
    assert set(total.outcomes.values()) == {total.study}
    assert total.study == totals(shared, delta=DELTA, group_size=2)


def test_study_totals__takes_events_that_can_be_read_once():
    own = {"height": iter([gaussian(0.1)])}
    with_lists = study_totals([gaussian(0.2)], {"height": [gaussian(0.1)]}, delta=DELTA)
    assert study_totals(iter([gaussian(0.2)]), own, delta=DELTA) == with_lists


def test_group_guarantee__two_rows():
    guarantee = group_guarantee(1.0, DELTA)
    assert guarantee.epsilon == 2.0
    assert guarantee.delta == pytest.approx((1 + math.e) * DELTA, rel=1e-8)
    assert guarantee.delta >= (1 + math.e) * DELTA


def test_group_guarantee__more_rows_add_up_one_by_one():
    expected = DELTA * (1 + math.exp(0.5) + math.exp(1.0))
    assert group_guarantee(0.5, DELTA, size=3).delta == pytest.approx(expected, rel=1e-8)
    assert group_guarantee(0.0, 0.25, size=3).delta == pytest.approx(0.75, rel=1e-8)
    assert group_guarantee(1.0, DELTA, size=1) == Guarantee(1.0, DELTA * (1 + 1e-9))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(epsilon=st.floats(0.01, 12), delta=st.floats(1e-12, 1e-2))
def test_group_guarantee__the_gaussian_route_is_better_and_the_one_taken(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    guarantee = group_guarantee(epsilon, delta, cost=Cost(mu_squared=Fraction(mu) ** 2))
    assert guarantee == Guarantee(2 * epsilon, gdp_delta(2 * mu, 2 * epsilon))
    assert guarantee.delta <= group_guarantee(epsilon, delta).delta


def test_group_guarantee__mixture_leaves_the_gaussian_its_part_of_epsilon():
    cost = total_cost(MIXTURE)
    epsilon = totals(MIXTURE, delta=DELTA).ledger
    guarantee = group_guarantee(epsilon, DELTA, cost=cost)
    assert guarantee.delta == pytest.approx(gdp_delta(0.5, 2 * (epsilon - 0.4)), rel=1e-9)
    # At an epsilon below the pure part that route says nothing.
    assert group_guarantee(0.3, DELTA, cost=cost) == group_guarantee(0.3, DELTA)


@pytest.mark.parametrize(("epsilon", "delta"), [(20.0, 1e-6), (400.0, 1e-30), (1e4, 1e-6), (0.1, 0.6)])
def test_group_guarantee__is_void_where_delta_reaches_one(epsilon, delta):
    assert group_guarantee(epsilon, delta) == Guarantee(2 * epsilon, 1.0)


def test_group_guarantee__known_mu_can_save_a_void_one():
    cost = Cost(mu_squared=Fraction(gdp_mu(20.0, DELTA)) ** 2)
    assert group_guarantee(20.0, DELTA).delta == 1
    assert group_guarantee(20.0, DELTA, cost=cost).delta < 1


def test_group_guarantee__pure():
    assert group_guarantee(1e4, 0.0) == Guarantee(2e4, 0.0)
    assert group_guarantee(0.5, DELTA, cost=Cost(pure_epsilon=Fraction(1, 2))) == Guarantee(1.0, 0.0)


@pytest.mark.parametrize(
    ("terms", "got"),
    [
        ({"epsilon": -1.0, "delta": DELTA}, "got -1.0"),
        ({"epsilon": math.inf, "delta": DELTA}, "got inf"),
        ({"epsilon": 1.0, "delta": 1.0}, "1.0 and 2"),
        ({"epsilon": 1.0, "delta": 1e-31}, "1e-31"),
        ({"epsilon": 1.0, "delta": DELTA, "size": 0}, "and 0"),
    ],
)
def test_group_guarantee__raise_out_of_domain(terms, got):
    with refused("guarantee-invalid", got, error=UsageError):
        group_guarantee(**terms)
