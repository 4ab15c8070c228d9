"""Volumes and checks of the Tukey mechanism against answers made by other code."""

import numpy as np
import pytest

from dpgrs.regression.tukey_check import Check, largest_safe_step, safety_terms
from dpgrs.regression.tukey_depth import log_volumes

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "tukey.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


def test_log_volumes__equal_reference_answers(answers):
    log_volume, log_exact = log_volumes(answers["models"])
    np.testing.assert_allclose(log_volume, answers["log_volume"], rtol=1e-12)
    np.testing.assert_allclose(log_exact, answers["log_volume_exact"], rtol=1e-12)


@pytest.mark.parametrize("check", list(Check))
@pytest.mark.parametrize("budget", ["a", "b"])
def test_largest_safe_step__equals_reference_answers(answers, budget, check):
    epsilon, delta = answers[f"eps_delta_{budget}"]
    rate, log_limit = safety_terms(epsilon / 2, delta)
    options = {"rate": rate, "log_limit": log_limit, "check": check}
    step = largest_safe_step(*log_volumes(answers["models"]), **options)
    assert step == answers[f"kstar_{check}_{budget}"]
