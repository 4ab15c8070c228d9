"""The noise of DP-SGD and of a sketch against closed forms and Google's dp-accounting."""

import math

import pytest
from dp_accounting import (
    ComposedDpEvent,
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs_papers.methods.dp_sgd import ORDERS, sampled_noise_multiplier, sgd_event
from dpgrs_papers.methods.sketch import base_terms


def noise(epsilon, delta, *, count_share=0.01, accounting="gdp", **terms):
    mu_count = math.sqrt(count_share) * gdp_mu(epsilon, delta)
    return sampled_noise_multiplier(
        epsilon, delta, mu_count=mu_count, accounting=accounting, **terms
    ), mu_count


@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 100.0])
def test_noise__of_steps_on_all_rows_is_the_closed_form(epsilon, steps):
    multiplier, mu_count = noise(epsilon, 1e-6, steps=steps, sampling_rate=1.0)
    exact = math.sqrt(steps / (gdp_mu(epsilon, 1e-6) ** 2 - mu_count**2))
    # Never less, and more by no more than the grid of the losses asks for.
    assert exact * (1 - 1e-9) < multiplier < exact * 1.002


@pytest.mark.parametrize(("epsilon", "steps", "rate"), [(1.0, 100, 0.1), (5.0, 30, 0.5)])
def test_noise__spends_the_budget_by_an_accountant_of_its_own(epsilon, steps, rate):
    multiplier, mu_count = noise(epsilon, 1e-5, steps=steps, sampling_rate=rate)
    accountant = PLDAccountant(
        NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=epsilon / 2000
    )
    accountant.compose(GaussianDpEvent(1 / mu_count))
    accountant.compose(SelfComposedDpEvent(PoissonSampledDpEvent(rate, GaussianDpEvent(multiplier)), steps))
    # The losses are rounded up on half as wide a grid, which can only tell less.
    assert epsilon * 0.995 < accountant.get_epsilon(1e-5) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "steps", "rate"), [(1.0, 100, 0.1), (5.0, 30, 0.5)])
def test_noise__of_the_paper_spends_the_budget_by_renyi_divergences(epsilon, steps, rate):
    terms = {"steps": steps, "sampling_rate": rate}
    multiplier, mu_count = noise(epsilon, 1e-5, accounting="paper", **terms)
    count, step = GaussianDpEvent(1 / mu_count), PoissonSampledDpEvent(rate, GaussianDpEvent(multiplier))
    event = ComposedDpEvent([count, SelfComposedDpEvent(step, steps)])
    assert event == sgd_event(multiplier, mu_count=mu_count, **terms)
    spent = RdpAccountant(ORDERS).compose(event).get_epsilon(1e-5)
    assert spent == pytest.approx(epsilon, rel=1e-5)
    assert spent <= epsilon
    # Whole orders cost next to nothing here.
    assert RdpAccountant().compose(event).get_epsilon(1e-5) > 0.99 * epsilon
    assert multiplier > noise(epsilon, 1e-5, **terms)[0]


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-6), (1e3, 1e-6), (1.0, 1e-20)])
def test_noise__falls_back_where_losses_lack_digits(epsilon, delta):
    multiplier, _ = noise(epsilon, delta, steps=20, sampling_rate=0.2)
    assert 0 < multiplier < math.inf
    # Sampling never asks for more noise than steps on all rows, but for what Renyi divergences lose.
    assert multiplier <= 1.5 * math.sqrt(20 / 0.99) / gdp_mu(epsilon, delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps", "rate"),
    [(1e4, 1e-6, 1, 1.0), (1e3, 1e-6, 20, 0.2), (1.0, 3e-13, 20, 0.2), (1.0, 1e-20, 20, 0.2)],
)
def test_noise__falls_back_to_renyi_divergences_of_whole_orders(epsilon, delta, steps, rate):
    """Nothing is left of delta = 3e-13 after 10^-14 for each of 10 + 20 mechanisms."""
    terms = {"steps": steps, "sampling_rate": rate}
    multiplier, mu_count = noise(epsilon, delta, **terms)
    event = sgd_event(multiplier, mu_count=mu_count, **terms)
    spent = RdpAccountant(ORDERS).compose(event).get_epsilon(delta)
    assert epsilon * (1 - 1e-5) < spent <= epsilon


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("epsilon", [0.5, 2.5])
def test_sketch__needs_less_noise_than_renyi_divergences(epsilon, rate):
    mu = gdp_mu(*base_terms(epsilon, 5e-7, sampling_rate=rate))
    orders = (*range(2, 33), 48, 64)
    accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    event = SampledWithoutReplacementDpEvent(1000, int(1000 * rate), GaussianDpEvent(1 / mu))
    assert accountant.compose(event).get_epsilon(5e-7) > epsilon
