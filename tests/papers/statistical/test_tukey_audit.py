"""Audits of the Tukey mechanism's count, check and draw, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-7, and a control with noise too small by sqrt(2) or 2 with one below 1e-6
(`test_rates__*`, by the exact laws of the noise).
"""

import math
from dataclasses import replace
from functools import partial

import pytest
from scipy.special import expit

from audit_controls import with_each_noise, with_noise_of_most
from dpgrs.privacy.audit.audit import RangeLoss, alarm_probability, audit
from dpgrs.privacy.noise.sources import NoiseSource
from dpgrs.steps.audit import choose_cases, noise_of
from nightly import rest_at_night

MECHANISMS = ["private_lower_count", "private_tukey", "private_deep_point"]
CASES = {case.name: case for case in choose_cases(MECHANISMS)}
FACTORS = [math.sqrt(2), 2]
every_case = pytest.mark.parametrize("name", CASES)


class WeakNoise(NoiseSource):
    """The noise of an honest source, but for Laplace noise too small, or a point too deep, by a factor."""

    def __init__(self, noise, factor, *, is_laplace):
        self._noise, self._factor, self._is_laplace = noise, factor, is_laplace
        self.source = noise.source

    def on(self, *digests):
        return WeakNoise(self._noise.on(*digests), self._factor, is_laplace=self._is_laplace)

    def laplace(self, statistic, *, sensitivity, **options):
        weaker = replace(sensitivity, value=sensitivity.value / (self._factor if self._is_laplace else 1))
        return self._noise.laplace(statistic, sensitivity=weaker, **options)

    def assign_groups(self, n_units, **options):
        return self._noise.assign_groups(n_units, **options)

    def deep_point(self, models, *, epsilon, **options):
        epsilon *= 1 if self._is_laplace else self._factor
        return self._noise.deep_point(models, epsilon=epsilon, **options)


def run_audit(case, *, mode="benchmark"):
    with_noise = noise_of(case, 7, mode=mode)
    return audit(case, lambda run, draw: with_noise(run, case.name, draw))


@pytest.mark.parametrize(
    ("name", "mode"), rest_at_night(with_each_noise(CASES), with_noise_of_most(CASES, CASES))
)
def test_mechanisms__lose_no_more_than_claimed(name, mode):
    """Where the errors lie within 5.5 standard errors: 4,000 draws of an input fail that once in 10^7."""
    result = run_audit(CASES[name], mode=mode)
    assert result.is_within_claim
    for expected, wrong in zip(error_rates(result.case.claim, 1.0), result.false_guesses, strict=True):
        sd = math.sqrt(result.n_draws * expected * (1 - expected))
        assert wrong == pytest.approx(result.n_draws * expected, abs=5.5 * sd)


@pytest.mark.nightly
@every_case
def test_mechanisms__noise_too_small_by_sqrt2_is_caught(name):
    case = CASES[name]
    is_laplace = not isinstance(case.claim, RangeLoss)
    run = partial(run_weakly, case.run, factor=math.sqrt(2), is_laplace=is_laplace)
    assert not run_audit(replace(case, run=run)).is_within_claim


def run_weakly(run, exact, noise, **terms):
    return run(exact, WeakNoise(noise, **terms))


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
