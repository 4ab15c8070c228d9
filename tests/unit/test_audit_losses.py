"""What rates of error show: their bounds at few and many errors, ties, and how likely an alarm is."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpgrs.privacy.audit.audit import (
    NEGLIGIBLE,
    AuditCase,
    AuditResult,
    GaussianLoss,
    PureLoss,
    _likely_counts,
    alarm_probability,
)
from dpgrs.privacy.audit.losses import ApproximateLoss, rates_above


def test_approximate_loss__is_the_smallest_epsilon_that_allows_the_rates():
    loss = ApproximateLoss(1.0, delta=0.1)
    # A loss of 2 at this delta in either direction: 0.4 = e^2 alpha + 0.1.
    alpha = 0.3 * np.exp(-2)
    for rates in ((alpha, 0.6), (0.6, alpha)):
        assert loss.observed(*rates) == pytest.approx(2.0)
    assert ApproximateLoss(1.0, delta=0.0).observed(0.2, 0.3) == PureLoss(1.0).observed(0.2, 0.3)
    # What delta allows shows nothing, with no error at all either.
    assert loss.observed(0.0, 0.9).item() == loss.observed(0.5, 0.5).item() == 0
    assert loss.observed(0.0, 0.89) == np.inf


def test_audit_result__is_within_a_claim_of_all_that_was_observed():
    case = AuditCase("script", {}, (0, 1), PureLoss(1.5), None, None)
    assert AuditResult(case, 10, 0.9, (0, 0), 1.5).is_within_claim
    assert not AuditResult(case, 10, 0.9, (0, 0), np.nextafter(1.5, 2)).is_within_claim


def test_alarm_probability__counts_no_loss_that_equals_the_claim():
    """Of three draws no errors at all show the most, and nothing less shows as much."""
    options = {"n_draws": 3, "confidence": 0.5}
    most = PureLoss(0.0).observed(*rates_above(np.array([0, 0]), 3, 0.5))
    assert alarm_probability(PureLoss(most), (0.1, 0.1), **options) == 0
    below = PureLoss(np.nextafter(most, 0))
    assert alarm_probability(below, (0.1, 0.1), **options) == pytest.approx(0.9**6)


@pytest.mark.parametrize("claim", [GaussianLoss(mu, delta=1e-3) for mu in (1.5, 2.0, 3.0)])
@pytest.mark.parametrize("factor", [2, 4])
def test_alarm_probability__is_at_most_1(claim, factor):
    for n_draws in (300, 1000, 2000):
        options = {"n_draws": n_draws, "confidence": 0.999}
        assert alarm_probability(claim, claim.error_rates(factor), **options) <= 1


@pytest.mark.parametrize("n_draws", [1, 20, 1000, 10_000])
@pytest.mark.parametrize("rate", [1e-4, 0.1, 0.5, 0.9])
def test_likely_counts__leave_out_what_is_negligible(n_draws, rate):
    counts = _likely_counts(n_draws, rate)
    assert binom.cdf(counts[0] - 1, n_draws, rate) <= NEGLIGIBLE
    assert binom.sf(counts[-1], n_draws, rate) <= NEGLIGIBLE
    np.testing.assert_array_equal(counts, np.arange(counts[0], counts[-1] + 1))
    assert np.all(counts == np.rint(counts))
    assert len(counts) <= 20 * math.sqrt(n_draws * rate * (1 - rate)) + 20
