"""Audits of DP-SIS and of the canonical Lipschitz mechanism, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-8, and a control with noise too small by sqrt(2) or 2 with one below 1e-6
(`test_rates__*`, by the exact laws).
"""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import beta, binom

from audit_controls import SpoiledNoise, broken, draws_that_show_halved, require_error_rates, run_audit
from dpgrs.privacy.audit.audit import CONFIDENCE, AuditCase, PureLoss, alarm_probability, audit
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.steps.audit import choose_cases
from dpgrs_papers.selection.audits import sis as sis_audits
from nightly import at_night
from subset_laws import all_sets, law

CASES = {case.name: case for case in choose_cases([sis_audits.private_sis.__name__])}
every_case = pytest.mark.parametrize("name", CASES)
every_mode = pytest.mark.parametrize("mode", ["release", at_night("benchmark")])


@lru_cache
def honest_audit(name, mode):
    return run_audit(CASES[name], mode=mode)


@every_case
@every_mode
def test_sis__loses_no_more_than_claimed(name, mode):
    assert honest_audit(name, mode).is_within_claim


@pytest.mark.nightly
@every_case
def test_sis__noise_too_small_by_sqrt2_is_caught(name):
    assert not run_audit(broken(CASES[name], SpoiledNoise, math.sqrt(2))).is_within_claim


def test_sis__release_noise_too_small_is_caught():
    case = broken(next(iter(CASES.values())), SpoiledNoise, 2)
    assert not run_audit(case, mode="release", n_draws=draws_that_show_halved(case)).is_within_claim


@every_case
def test_rates__sis(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-8
    for factor in (math.sqrt(2), 2.0):
        assert 1 - alarm_probability(claim, claim.error_rates(factor)) < 1e-6
    require_error_rates(honest_audit(name, "release"))


# A set of several entries, where scores inside and outside count: four of seven, at gamma = 1/2. No guess
# separates these as well as two candidates, so that the controls take more draws.

PAIR = np.array([[7, 7, 5, 3, 1, 3, 0], [5, 5, 3, 5, 3, 1, 2]])
EPSILON, SENSITIVITY, K = 2.0, 2, 4
SETS = all_sets(PAIR.shape[1], K)
N_CONTROL = 40_000


def laws(factor):
    return [law(scores, K, rate=factor * EPSILON / (2 * SENSITIVITY), gamma=0.5) for scores in PAIR]


# How much likelier a set is for the second scores, as a logarithm: above a threshold the guess is the second.
RATIOS = dict(zip(SETS, np.log(np.divide(*laws(2.0)[::-1])), strict=True))


def set_case(threshold):
    claim = Sensitivity(float(SENSITIVITY), "linf", "replace-one", "person", "count/1")
    options = {"name": "best", "step": 1.0, "sensitivity": claim, "epsilon": EPSILON, "n_choices": K}
    return AuditCase(
        mechanism="set",
        terms={},
        pair=tuple(PAIR),
        claim=PureLoss(EPSILON),
        run=lambda scores, noise: tuple(noise.choose_set(scores, **options)[0].tolist()),
        score=lambda chosen: RATIOS[chosen] - threshold,
    )


def set_error_rates(threshold, factor):
    is_second = np.array(list(RATIOS.values())) > threshold
    first, second = laws(factor)
    return first[is_second].sum(), second[~is_second].sum()


def observed_at_worst(threshold, factor, *, n_draws):
    """Return a loss that an audit observes at least, with a probability of all but 1e-6."""
    counts = [binom.isf(5e-7, n_draws, rate) for rate in set_error_rates(threshold, factor)]
    bounds = [beta.isf((1 - CONFIDENCE) / 2, count + 1, n_draws - count) for count in counts]
    return float(PureLoss(EPSILON).observed(*bounds))


def best_threshold():
    """Return what shows halved noise best."""
    ratios = np.sort(list(RATIOS.values()))
    middles = (ratios[1:] + ratios[:-1]) / 2
    return max(middles, key=lambda middle: observed_at_worst(middle, 2.0, n_draws=N_CONTROL))


THRESHOLD = best_threshold()


@every_mode
def test_sets__lose_no_more_than_claimed(mode):
    assert run_audit(set_case(THRESHOLD), mode=mode).is_within_claim


@pytest.mark.nightly
def test_sets__halved_noise_is_caught():
    assert not run_audit(broken(set_case(THRESHOLD), SpoiledNoise, 2), n_draws=N_CONTROL).is_within_claim


def test_rates__sets():
    claim = PureLoss(EPSILON)
    assert alarm_probability(claim, set_error_rates(THRESHOLD, 1.0)) < 1e-8
    assert observed_at_worst(THRESHOLD, 2.0, n_draws=N_CONTROL) > EPSILON
    case = set_case(THRESHOLD)
    result = audit(case, lambda run, draw: run(BenchmarkNoise(8, draw)))
    require_error_rates(result, set_error_rates(THRESHOLD, 1.0))
