"""Accounting against independent code: plain answers, Google's dp-accounting, and 60 digits of mpmath."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from dpgrs.privacy.accounting.accountant import (
    LARGEST_MU,
    SMALLEST_MU,
    _trade_off,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    paper_noise_multiplier,
)
from dpgrs.privacy.accounting.charges import GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.accounting.composition import totals
from nightly import rest_at_night

GRID = [(epsilon, delta) for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0) for delta in (1e-5, 1e-6, 1e-9)]
# The corners of what is claimed, and points between.
EPSILONS = [1e-4, 1e-2, 1.0, 100.0, 1e4]
MUS = [SMALLEST_MU, 1e-7, 1e-5, 1e-3, 0.0999, 0.1, 0.3, 1.0, 10.0, 100.0, 1e3, LARGEST_MU]
DELTAS = [1e-30, 1e-20, 1e-12, 1e-6, 1e-3, 0.5, 0.999]


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "accounting.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


def exact_delta(mu, epsilon):
    """The trade-off by its definition; 60 digits beyond what its two terms lose by cancelling."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return mpmath.ncdf(-near) - mpmath.exp(epsilon) * mpmath.ncdf(-far)


def exact_mixed_delta(mu, pure_epsilon, times, epsilon):
    """A Gaussian and repeated randomised response: the trade-off at epsilon less the response's loss."""
    with mpmath.workdps(80):
        pure_epsilon, epsilon = mpmath.mpf(pure_epsilon), mpmath.mpf(epsilon)
        truth = 1 / (1 + mpmath.exp(-pure_epsilon))
        return mpmath.fsum(
            mpmath.binomial(times, k)
            * truth**k
            * (1 - truth) ** (times - k)
            * exact_delta(mu, epsilon - (2 * k - times) * pure_epsilon)
            for k in range(times + 1)
        )


def gaussian(mu):
    return GaussianCharge("gram", sensitivity=str(mu), sigma="1")


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("function", "name"), [(gdp_mu, "mu"), (paper_noise_multiplier, "paper_sd_per_sensitivity")]
)
def test_accountant__equals_reference_answers(answers, function, name):
    ours = [[function(epsilon, delta) for delta in answers["delta"]] for epsilon in answers["epsilon"]]
    np.testing.assert_allclose(ours, answers[name], rtol=1e-6)


@pytest.mark.parametrize("mu", MUS)
def test_trade_off__is_as_accurate_as_stated(mu):
    epsilons = {gdp_epsilon(mu, delta) for delta in DELTAS} | {0.0}
    errors = [float(_trade_off(mu, epsilon) / exact_delta(mu, epsilon) - 1) for epsilon in epsilons]
    assert max(map(abs, errors)) < (1e-13 if mu <= 100 else 5e-12)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", MUS)
def test_gdp_delta_and_epsilon__are_rounded_up_by_no_more_than_stated(mu, delta):
    epsilon = gdp_epsilon(mu, delta)
    true_delta = exact_delta(mu, epsilon)
    assert true_delta <= delta
    assert true_delta <= gdp_delta(mu, epsilon) <= delta
    if epsilon > 0:
        assert true_delta > delta * (1 - 3e-9)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gdp_mu__is_rounded_down_by_no_more_than_stated(epsilon, delta):
    true_delta = exact_delta(gdp_mu(epsilon, delta), epsilon)
    assert delta * (1 - 3e-9) < true_delta <= delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gdp_mu__equals_dp_accounting(epsilon, delta):
    loss = GaussianPrivacyLoss.from_privacy_guarantee(DifferentialPrivacyParameters(epsilon, delta))
    assert gdp_mu(epsilon, delta) == pytest.approx(1 / loss.standard_deviation, rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_gdp_delta__equals_dp_accounting(mu, epsilon):
    expected = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert gdp_delta(mu, epsilon) == pytest.approx(expected, rel=1e-6, abs=1e-15)


LOSSES = [(0.25, 0.1, 1), (0.25, 0.1, 10), (0.25, 0.01, 200), (0.01, 0.001, 20), (2, 0.5, 20), (0.001, 2, 3)]


@pytest.mark.parametrize(
    ("mu", "pure_epsilon", "times", "delta"),
    rest_at_night(
        [(*loss, delta) for loss in LOSSES for delta in (1e-4, 1e-6, 1e-9)],
        [*((*loss, 1e-6) for loss in LOSSES), (*LOSSES[1], 1e-4), (*LOSSES[1], 1e-9)],
    ),
)
def test_tight_total__is_never_below_the_truth_and_close_to_it(mu, pure_epsilon, times, delta):
    total = totals([gaussian(mu)] + [PureCharge("choice", str(pure_epsilon))] * times, delta=delta)
    assert exact_mixed_delta(mu, pure_epsilon, times, total.tight) <= delta
    assert exact_mixed_delta(mu, pure_epsilon, times, total.tight * 0.995) > delta


def test_tight_total__of_pure_events_alone_equals_the_closed_form():
    total = totals([PureCharge("choice", "0.125")] * 40, delta=1e-6)
    truth = [math.comb(40, k) * math.exp(0.125 * k) / (1 + math.exp(0.125)) ** 40 for k in range(41)]
    losses = [0.125 * (2 * k - 40) for k in range(41)]
    delta = math.fsum(p * -math.expm1(min(0.0, total.tight - x)) for p, x in zip(truth, losses, strict=True))
    assert delta == pytest.approx(1e-6, rel=1e-4)


def test_tight_total__covers_laplace_noise_on_any_grid():
    events = [gaussian(0.25)] + [LaplaceCharge("count", sensitivity="1", scale="2")] * 4
    width, delta = 1e-4, 1e-6
    normal = pld.from_gaussian_mechanism(4.0, value_discretization_interval=width)
    smooth = pld.from_laplace_mechanism(2.0, value_discretization_interval=width).self_compose(4)
    grids = [
        pld.from_discrete_laplace_mechanism(
            0.5 / steps, sensitivity=steps, value_discretization_interval=width
        ).self_compose(4)
        for steps in (1, 2, 8)
    ]
    fine, *on_grid = (loss.compose(normal).get_epsilon_for_delta(delta) for loss in (smooth, *grids))
    tight = totals(events, delta=delta).tight
    assert tight == pytest.approx(on_grid[0], abs=1e-3)  # sensitivity 1 step: randomised response
    assert fine < on_grid[2] < on_grid[1] < on_grid[0]


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_zcdp_total__is_safe_and_close_to_dp_accounting(mu, delta):
    orders = np.concatenate([np.linspace(1.01, 20, 4000), np.geomspace(20, 2000, 4000)])
    best, _ = rdp.compute_epsilon(orders, orders * mu**2 / 2, delta)
    total = totals([gaussian(mu)], delta=delta)
    assert best * (1 - 1e-6) <= total.zcdp <= best * 1.04
    assert total.ledger < total.zcdp
