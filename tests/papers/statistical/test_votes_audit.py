"""Audits of Peel and SubLasso, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-7, and a control with noise too small by sqrt(2) or 2 with one below 1e-6
(`test_rates__known`, by the exact laws of the choice).
"""

import math

import pytest

from audit_controls import SpoiledNoise, broken, require_error_rates, run_audit
from dpgrs.privacy.audit.audit import alarm_probability
from dpgrs.steps.audit import choose_cases

CASES = {case.name: case for case in choose_cases(["private_peel", "private_sublasso"])}
FACTORS = [math.sqrt(2), 2]
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_mechanisms__lose_no_more_than_claimed(name):
    result = run_audit(CASES[name], mode="release")
    assert result.is_within_claim
    require_error_rates(result)


@pytest.mark.nightly
@every_case
def test_mechanisms__noise_too_small_by_sqrt2_is_caught(name):
    assert not run_audit(broken(CASES[name], SpoiledNoise, math.sqrt(2))).is_within_claim


@every_case
def test_rates__known(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-7
    for factor in FACTORS:
        assert 1 - alarm_probability(claim, claim.error_rates(factor)) < 1e-6
