"""Audits of the choices of a study, by DPKendall and by DP-SIS.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-6, and a control with halved noise (test_audit_controls.py) with one below 1e-9, by the
law of a choice between two (`test_rates__of_alarms`). Other choices and smaller faults:
test_kendall_audit.py, test_sis_audit.py.
"""

import pytest

from audit_controls import require_error_rates, run_audit
from dpgrs.privacy.audit.audit import alarm_probability
from dpgrs.steps.audit import choose_cases

CASES = {case.name: case for case in choose_cases(["private_choices"])}
every_case = pytest.mark.parametrize("name", CASES)


def test_cases__choose_by_both_selectors():
    assert {case.terms["budget"] for case in CASES.values()} == {"joint", "a set"}


@every_case
def test_choices__lose_no_more_than_claimed(name):
    result = run_audit(CASES[name], mode="release")
    assert result.is_within_claim
    require_error_rates(result)


@every_case
def test_rates__of_alarms(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-8
    assert 1 - alarm_probability(claim, claim.error_rates(2)) < 1e-9
