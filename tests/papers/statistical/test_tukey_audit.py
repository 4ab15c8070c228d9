"""Audits of the Tukey mechanism's count, check and draw, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-7, and a control with noise too small by sqrt(2) or 2 with one below 1e-6
(`test_rates__*`, by the exact laws of the noise).
"""

import math

import pytest
from scipy.special import expit

from audit_controls import (
    SpoiledNoise,
    broken,
    require_error_rates,
    run_audit,
    with_each_noise,
    with_noise_of_most,
)
from dpgrs.privacy.audit.audit import RangeLoss, alarm_probability
from dpgrs.steps.audit import choose_cases
from nightly import rest_at_night

MECHANISMS = ["private_lower_count", "private_tukey", "private_deep_point"]
CASES = {case.name: case for case in choose_cases(MECHANISMS)}
FACTORS = [math.sqrt(2), 2]
every_case = pytest.mark.parametrize("name", CASES)


@pytest.mark.parametrize(
    ("name", "mode"), rest_at_night(with_each_noise(CASES), with_noise_of_most(CASES, CASES))
)
def test_mechanisms__lose_no_more_than_claimed(name, mode):
    result = run_audit(CASES[name], mode=mode)
    assert result.is_within_claim
    require_error_rates(result, error_rates(result.case.claim, 1.0))


@pytest.mark.nightly
@every_case
def test_mechanisms__noise_too_small_by_sqrt2_is_caught(name):
    assert not run_audit(broken(CASES[name], SpoiledNoise, math.sqrt(2))).is_within_claim


def error_rates(claim, factor):
    """Return alpha and beta: exponents of the two outputs half the loss on either side of equal odds.

    Discrete Laplace noise is below a step with odds of e^(epsilon) on one side of it, e^(-epsilon) before.
    """
    loss = factor * claim.value
    error = expit(-loss / 2 if isinstance(claim, RangeLoss) else -loss)
    return float(error), float(error)


@every_case
def test_rates__known_from_the_laws_of_the_noise(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, error_rates(claim, 1.0)) < 1e-7
    for factor in FACTORS:
        assert 1 - alarm_probability(claim, error_rates(claim, factor)) < 1e-6
