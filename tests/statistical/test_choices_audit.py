"""Audits of the choices of a study, by DPKendall and by DP-SIS.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-6, and a control with halved noise (test_audit_controls.py) with one below 1e-9, by the
law of a choice between two (`test_rates__of_alarms`). Other choices and smaller faults:
test_kendall_audit.py, test_sis_audit.py.
"""

import math

import pytest

from dpgrs.privacy.audit.audit import alarm_probability, audit
from dpgrs.steps.audit import choose_cases, seeded_noise

CASES = {case.name: case for case in choose_cases(["private_choices"])}
every_case = pytest.mark.parametrize("name", CASES)


def run_audit(case):
    with_noise = seeded_noise(7, mode="release")
    return audit(case, lambda run, draw: with_noise(run, case.name, draw))


def test_cases__choose_by_both_selectors():
    assert {case.terms["budget"] for case in CASES.values()} == {"joint", "a set"}


@every_case
def test_choices__lose_no_more_than_claimed(name):
    """Where the errors lie within 5.5 standard errors: 4,000 draws of an input fail that once in 10^7."""
    result = run_audit(CASES[name])
    assert result.is_within_claim
    for expected, wrong in zip(result.case.claim.error_rates(), result.false_guesses, strict=True):
        sd = math.sqrt(result.n_draws * expected * (1 - expected))
        assert wrong == pytest.approx(result.n_draws * expected, abs=5.5 * sd)


@every_case
def test_rates__of_alarms(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-8
    assert 1 - alarm_probability(claim, claim.error_rates(2)) < 1e-9
