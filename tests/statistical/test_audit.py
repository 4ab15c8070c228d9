"""Audits of every mechanism and of the pure noise, with controls that must be caught.

`dpgrs.privacy.audit.audit` says how an audit decides. Keys are fixed, so a result never changes. Under other
keys

- an honest mechanism would fail its test with a probability of at most 1e-6, whatever its law; by exact
  binomials below 1e-11 for normal noise, below 1e-8 for pure noise (`test_rates__*`);
- a control with noise too small by sqrt(2) or by 2 would fail its test, since it is not caught, with a
  probability below 1e-9 for normal noise, below 1e-6 for pure noise (`test_rates__*`). Of all mechanisms
  those with halved noise are in test_audit_controls.py;
- so would noise that repeats itself, with a probability below 1e-9 (`test_rates__repeated_noise`).
"""

import math

import numpy as np
import pytest
from scipy.stats import norm

from audit_controls import SpoiledNoise, broken, of_each_mechanism, run_audit
from dpgrs.privacy.audit.audit import (
    ENOUGH_TO_VARY,
    N_DRAWS,
    AuditCase,
    GaussianLoss,
    PureLoss,
    alarm_probability,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise, NoiseSource
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.steps.audit import choose_cases
from nightly import rest_at_night

# The others are in test_tukey_audit.py and test_kendall_audit.py.
CASES = {case.name: case for case in choose_cases() if isinstance(case.claim, GaussianLoss)}
ONE_EACH = of_each_mechanism(CASES)
N_NUMBERS = 16  # more than any case releases in one statistic


class RepeatedNoise(NoiseSource):
    """Noise of the right size, but every statistic has the same normals, or every entry the same normal."""

    def __init__(self, noise, *, in_every_entry):
        unit = Sensitivity(1.0, "l2", "add-remove", "person", "count/1")
        options = {"name": "all", "step": 2.0**-20, "sensitivity": unit, "mu": 1.0}
        noisy, _ = noise.gaussian(np.zeros(1 if in_every_entry else N_NUMBERS, dtype=np.int64), **options)
        self._normals = np.resize(noisy * options["step"], N_NUMBERS)

    def _draw(self, statistic, event):
        normals = self._normals[: statistic.size].reshape(statistic.shape)
        return statistic + np.rint(normals * event.sigma / event.step).astype(np.int64), event


@pytest.mark.parametrize("name", rest_at_night(CASES, ONE_EACH))
def test_mechanisms__lose_no_more_than_claimed(name):
    """One case of each mechanism with all draws; at night the others with enough to show halved noise."""
    n_draws = N_DRAWS if name in ONE_EACH else ENOUGH_TO_VARY
    assert run_audit(CASES[name], mode="release", n_draws=n_draws).is_within_claim


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in ONE_EACH if CASES[name].is_for_releases])
def test_mechanisms__benchmark_noise_is_as_strong(name):
    assert run_audit(CASES[name]).is_within_claim


@pytest.mark.nightly
@pytest.mark.parametrize("name", ONE_EACH)
def test_mechanisms__noise_too_small_by_sqrt2_is_caught(name):
    assert not run_audit(broken(CASES[name], SpoiledNoise, math.sqrt(2))).is_within_claim


def test_mechanisms__release_noise_too_small_is_caught():
    case = broken(CASES["private_gram, replace-one, person, people, gdp, joint"], SpoiledNoise, math.sqrt(2))
    assert not run_audit(case, mode="release").is_within_claim


REPEATED = [
    ("private_gram, replace-one, person, haplotypes, paper, joint", True),
    ("private_gram, replace-one, person, people, gdp, joint", True),
    ("private_cross_product, add-remove, person, haplotypes, gdp, joint", True),
    ("private_cross_product, replace-one, person, people, gdp, joint", True),
    ("private_statistics, add-remove, person, haplotypes, gdp, joint", False),
    ("private_accuracy, replace-one, person, people, paper, joint", True),
    ("private_accuracy, replace-one, haplotype, haplotypes, gdp, joint", True),
]


@pytest.mark.parametrize(("name", "in_every_entry"), REPEATED)
def test_mechanisms__repeated_noise_is_caught(name, in_every_entry):
    case = broken(CASES[name], RepeatedNoise, in_every_entry=in_every_entry)
    assert not run_audit(case).is_within_claim


# The door's pure noise.
EPSILON = 2.0
DISTANCE = 3  # grid steps between the two statistics


def claimed(value, norm, factor):
    """Return the claim of a mechanism whose noise is too small by a factor."""
    return Sensitivity(value / factor, norm, "add-remove", "person", "count/1")


def laplace_case(factor):
    """A statistic is 0 or `DISTANCE`; the guess is the second if the noisy value reaches it."""
    options = {"name": "sum", "step": 1.0, "sensitivity": claimed(DISTANCE, "l1", factor), "epsilon": EPSILON}
    return AuditCase(
        mechanism="laplace",
        terms={},
        pair=(0, DISTANCE),
        claim=PureLoss(EPSILON),
        run=lambda exact, noise: noise.laplace(exact, **options)[0],
        score=lambda noisy: noisy - DISTANCE + 0.5,
    )


def choice_case(factor):
    """Two scores move by 1 against each other; the guess is the second if the worse candidate is chosen."""
    options = {"name": "best", "step": 1.0, "sensitivity": claimed(1, "linf", factor), "epsilon": EPSILON}
    return AuditCase(
        mechanism="choice",
        terms={},
        pair=(np.array([0, 2]), np.array([1, 1])),
        claim=PureLoss(EPSILON),
        run=lambda scores, noise: noise.choose(scores, **options)[0][0],
        score=lambda chosen: 0.5 - chosen,
    )


pure_cases = pytest.mark.parametrize("make_case", [laplace_case, choice_case])


@pytest.mark.parametrize("mode", ["release", "benchmark"])
@pure_cases
def test_pure_noise__loses_no_more_than_claimed(make_case, mode):
    assert run_audit(make_case(1), mode=mode).is_within_claim


@pytest.mark.parametrize("factor", [math.sqrt(2), 2])
@pure_cases
def test_pure_noise__too_small_is_caught(make_case, factor):
    assert not run_audit(make_case(factor), mode="release").is_within_claim


def normal_error_rates(case, factor):
    """Return the true alpha and beta of a case; the count's grid is as wide as its noise."""
    if case.mechanism != "private_count":
        return case.claim.error_rates(factor)
    rows = case.pair[0].n_rows - case.pair[1].n_rows
    sigma = rows / (case.claim.value * factor)
    # The guess is the second where the noisy count is at most so many rows above the second count.
    highest = math.ceil(rows / 2) - 1
    return norm.cdf((highest + 0.5 - rows) / sigma), norm.sf((highest + 0.5) / sigma)


@pytest.mark.parametrize("name", CASES)
def test_rates__mechanisms(name):
    case = CASES[name]
    for n_draws in (ENOUGH_TO_VARY, N_DRAWS):
        assert alarm_probability(case.claim, normal_error_rates(case, 1.0), n_draws=n_draws) < 1e-11
    for factor in (math.sqrt(2), 2.0):
        assert 1 - alarm_probability(case.claim, normal_error_rates(case, factor)) < 1e-9


@pytest.mark.parametrize(("name", "in_every_entry"), REPEATED)
def test_rates__repeated_noise(name, in_every_entry):
    """In the score it cancels: what is left is smaller than honest noise by more than sqrt(2)."""
    case = CASES[name]
    scores = [
        case.score(
            case.run(case.pair[0], RepeatedNoise(BenchmarkNoise(8, draw), in_every_entry=in_every_entry))
        )
        for draw in range(500)
    ]
    # The standard deviation of a log-likelihood ratio is mu. By 500 draws one is known to 20 % (1e-9).
    assert np.std(scores) * 1.2 < case.claim.value / math.sqrt(2)


def pure_error_rates(make_case, epsilon):
    if make_case is choice_case:
        return PureLoss(epsilon).error_rates()
    reaches = 1 / (1 + math.exp(-epsilon / DISTANCE))
    return math.exp(-epsilon) * reaches, 1 - reaches


@pure_cases
def test_rates__pure_noise(make_case):
    claim = PureLoss(EPSILON)
    assert alarm_probability(claim, pure_error_rates(make_case, claim.value)) < 1e-8
    for factor in (math.sqrt(2), 2.0):
        assert 1 - alarm_probability(claim, pure_error_rates(make_case, factor * claim.value)) < 1e-6
