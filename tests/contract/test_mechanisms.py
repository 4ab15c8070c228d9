"""What every mechanism promises. A new one joins by a subclass of `MechanismContract`."""

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import AccuracyRequest, accuracy_sums, private_accuracy
from dpgrs.linalg.statistics import coded_rows, cross_product, gram, grid_outcomes
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import (
    private_count,
    private_cross_product,
    private_gram,
    private_outcome_counts,
)
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.noise.sources import BenchmarkNoise
from random_cohorts import random_bits

N_VARIANTS, N_OUTCOMES, N_HAPLOTYPES = 30, 40, 64
OPTIONS = {"n_haplotypes": N_HAPLOTYPES, "rows": "haplotypes"}
BITS = random_bits(N_VARIANTS, N_HAPLOTYPES)
OUTCOMES = np.random.default_rng(1).standard_normal((N_OUTCOMES, N_HAPLOTYPES))
REQUEST = PrivacyRequest(
    rows="haplotypes",
    n_variants=N_VARIANTS,
    n_outcomes=N_OUTCOMES,
    outcome_bound=3.0,
    epsilon=1.0,
    delta=1e-6,
    unit="haplotype",
)


class UntouchedNoise(BenchmarkNoise):
    """Fails the test if a draw is begun."""

    def _generator(self, event):
        raise AssertionError("Noise was drawn before the request was refused.")


class MechanismContract:
    """Subclasses have `share`, the name of their budget, and `release(noise, request)` -> (values, event)."""

    request = REQUEST

    def mu(self, request):
        return request.budget[self.share]

    def test_event_holds_what_accounting_needs(self):
        _, event = self.release(BenchmarkNoise(1), self.request)
        assert event.mu == self.mu(self.request)
        assert event.sensitivity.neighbours == self.request.neighbours
        assert event.sensitivity.unit == self.request.unit
        assert event.sensitivity.value / event.sigma <= event.mu
        assert event.version == MECHANISM_VERSION
        assert all(not isinstance(value, np.ndarray) for value in asdict(event).values())

    def test_same_key_same_bytes__other_key_other_noise(self):
        first, again, other = (
            self.release(BenchmarkNoise(*key), self.request)[0] for key in [(1, 2), (1, 2), (1, 3)]
        )
        np.testing.assert_array_equal(first, again)
        assert np.any(np.asarray(first) != other)

    def test_other_budget_other_noise(self):
        """Equal noise at two scales would give the exact statistic away."""
        budgets = [self.request, replace(self.request, epsilon=2.0)]
        values, events = zip(*(self.release(BenchmarkNoise(1), request) for request in budgets), strict=True)
        exact, _ = self.release(BenchmarkNoise(1), replace(self.request, epsilon=10_000.0, delta=0.5))
        scaled = [(value - exact) / event.sigma for value, event in zip(values, events, strict=True)]
        assert not np.allclose(*scaled, atol=0.01)

    def test_twice_the_noise_for_a_person_of_two_rows(self):
        one, two = (
            self.release(BenchmarkNoise(1), replace(self.request, unit=unit))[1]
            for unit in ["haplotype", "person"]
        )
        assert two.sigma == pytest.approx(2 * one.sigma)

    def test_refused_before_any_draw(self):
        with pytest.raises(UsageError):
            self.release(UntouchedNoise(1), replace(self.request, epsilon=math.inf))


class TestCount(MechanismContract):
    share = "count"

    def release(self, noise, request):
        return private_count(10_000, request=request, noise=noise)


class TestOutcomeCounts(MechanismContract):
    share = "observed"
    request = replace(REQUEST, counts_outcomes=True)

    def release(self, noise, request):
        return private_outcome_counts(np.full(N_OUTCOMES, 10_000), request=request, noise=noise)


class TestGram(MechanismContract):
    share = "gram"

    def release(self, noise, request):
        return private_gram(gram(BITS, **OPTIONS), N_HAPLOTYPES, request=request, noise=noise)


class TestCrossProduct(MechanismContract):
    share = "cross"

    def release(self, noise, request):
        statistic = cross_product(BITS, grid_outcomes(OUTCOMES, bound=request.outcome_bound), **OPTIONS)
        return private_cross_product(statistic, request=request, noise=noise)


class TestAccuracy(MechanismContract):
    request = AccuracyRequest(
        rows="haplotypes",
        n_outcomes=N_OUTCOMES,
        outcome_bound=3.0,
        residual_bound=3.0,
        epsilon=1.0,
        delta=1e-6,
        unit="haplotype",
    )

    def mu(self, request):
        return request.mu

    def release(self, noise, request):
        weights = np.ones((N_OUTCOMES, N_VARIANTS + 1), dtype=np.int64)
        X = coded_rows(BITS, **OPTIONS)
        bounds = {name: getattr(request, name) for name in ("outcome_bound", "residual_bound")}
        sums = accuracy_sums(OUTCOMES, X, weights, **bounds)
        noisy, events = private_accuracy(sums, request=request, noise=noise)
        return noisy, *events
