"""The accountant against independent code: plain answers and Google's dp-accounting."""

import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from dpgrs.privacy.accountant import gdp_delta, gdp_mu, paper_noise_multiplier

GRID = [(epsilon, delta) for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0) for delta in (1e-5, 1e-6, 1e-9)]


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "accounting.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("function", "name"), [(gdp_mu, "mu"), (paper_noise_multiplier, "paper_sd_per_sensitivity")]
)
def test_accountant__equals_reference_answers(answers, function, name):
    ours = [[function(epsilon, delta) for delta in answers["delta"]] for epsilon in answers["epsilon"]]
    np.testing.assert_allclose(ours, answers[name], rtol=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gdp_mu__equals_dp_accounting(epsilon, delta):
    loss = GaussianPrivacyLoss.from_privacy_guarantee(DifferentialPrivacyParameters(epsilon, delta))
    assert gdp_mu(epsilon, delta) == pytest.approx(1 / loss.standard_deviation, rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_gdp_delta__equals_dp_accounting(mu, epsilon):
    expected = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)
    assert gdp_delta(mu, epsilon) == pytest.approx(expected, rel=1e-6, abs=1e-15)
