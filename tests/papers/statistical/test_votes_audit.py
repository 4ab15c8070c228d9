"""Audits of Peel and SubLasso, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-7, and a control with noise too small by sqrt(2) or 2 with one below 1e-6
(`test_rates__known`, by the exact laws of the choice).
"""

import math
from dataclasses import replace

import pytest

from dpgrs.privacy.audit.audit import alarm_probability, audit
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.steps.audit import choose_cases, noise_of

CASES = {case.name: case for case in choose_cases(["private_peel", "private_sublasso"])}
FACTORS = [math.sqrt(2), 2]
every_case = pytest.mark.parametrize("name", CASES)


class WeakChoice(NoiseSource):
    """The choice of an honest source, but with noise too small by a factor."""

    def __init__(self, noise, factor):
        self._noise, self._factor = noise, factor

    def choose(self, scores, *, sensitivity, **options):
        weaker = replace(sensitivity, value=sensitivity.value / self._factor)
        return self._noise.choose(scores, sensitivity=weaker, **options)


def run_audit(case, *, mode="benchmark"):
    with_noise = noise_of(case, 7, mode=mode)
    return audit(case, lambda run, draw: with_noise(run, case.name, draw))


@every_case
def test_mechanisms__lose_no_more_than_claimed(name):
    """Where the errors lie within 5.5 standard errors: 4,000 draws of an input fail that once in 10^7."""
    result = run_audit(CASES[name], mode="release")
    assert result.is_within_claim
    for expected, wrong in zip(result.case.claim.error_rates(), result.false_guesses, strict=True):
        sd = math.sqrt(result.n_draws * expected * (1 - expected))
        assert wrong == pytest.approx(result.n_draws * expected, abs=5.5 * sd)


@pytest.mark.nightly
@every_case
def test_mechanisms__noise_too_small_by_sqrt2_is_caught(name):
    case = CASES[name]
    weak = replace(case, run=lambda exact, noise: case.run(exact, WeakChoice(noise, math.sqrt(2))))
    assert not run_audit(weak).is_within_claim


@every_case
def test_rates__known(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-7
    for factor in FACTORS:
        assert 1 - alarm_probability(claim, claim.error_rates(factor)) < 1e-6
