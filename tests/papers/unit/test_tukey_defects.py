"""Defects of the published Tukey mechanism and code: each shown by its recipe, then looked for in ours."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

from depth_laws import depth
from dpgrs.privacy.noise._sampler_twins import Digits
from dpgrs.privacy.noise.depth_sampler import DepthRegions, draw_point
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.noise.stream import KeyStream
from dpgrs_papers.experiments.errata_choices import equal_groups
from dpgrs_papers.experiments.errata_tukey import models_at, published_points
from dpgrs_papers.methods.lower_count import count_margin, private_lower_count
from dpgrs_papers.methods.tukey import TukeyRequest, private_deep_point
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms, smallest_passing
from dpgrs_papers.methods.tukey_models import fit_models, models_on_grid

REQUEST = TukeyRequest(epsilon=1.0, delta=1e-5, rows_per_coefficient=1.0)
RNG = np.random.default_rng(0)
MODELS = models_on_grid(RNG.standard_normal((400, 3)), 2.0**-40)


def laplace_tail(x, scale):
    """Return P[Laplace(scale) > x]."""
    return 0.5 * math.exp(-x / scale) if x >= 0 else 1 - 0.5 * math.exp(x / scale)


class NoLaplace(BenchmarkNoise):
    """Adds no Laplace noise; keeps what was asked for."""

    def laplace(self, exact, **terms):
        _, event = super().laplace(exact, **terms)
        self.asked = terms
        return float(exact), event


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_check__passes_above_the_safe_step_that_unsafe_models_hardly_reach(delta, monkeypatch):
    request, half = replace(REQUEST, delta=delta), 1.0
    least = math.floor(smallest_passing(half, delta))
    for step, is_safe in ((least, False), (least + 1, True)):
        monkeypatch.setattr("dpgrs_papers.methods.tukey.largest_safe_step", lambda *_, step=step, **__: step)
        noise = NoLaplace(1)
        fit = private_deep_point(MODELS, epsilon=2 * half, request=request, noise=noise)
        assert (fit.weights is not None) == is_safe
    assert (noise.asked["step"], noise.asked["epsilon"]) == (1.0, half)
    assert noise.asked["sensitivity"].value == 1


def test_lower_count__draws_whole_units_at_sensitivity_1():
    noise = NoLaplace(1)
    low, event = private_lower_count(70, epsilon=0.5, request=REQUEST, noise=noise)
    assert low == 70 - count_margin(0.5)
    assert (noise.asked["step"], noise.asked["sensitivity"].value, event.epsilon) == (1.0, 1, 0.5)


# The check's Laplace noise has the scale epsilon where 1/epsilon is needed.


def test_published_scale__gives_the_safe_step_away():
    half = 0.5
    threshold = smallest_passing(half, REQUEST.delta)
    passes = [laplace_tail(threshold - step, scale=half) for step in (20, 21)]
    assert math.log(passes[1] / passes[0]) == pytest.approx(1 / half)
    assert math.log(passes[1] / passes[0]) > half


# The bisection returns k + 1 after testing k alone, and at k = t - 1 its index wraps around.


def published_bisection(is_safe, t):
    low, high = 0, t - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_safe(middle) else (low, middle)
    return low


def logarithms(regions):
    """Return log V_p and log B_p of p = 1 .., as floats."""
    return (
        np.array([math.log(count) if count else -math.inf for count in counts])
        for counts in (regions.volumes, regions.shells)
    )


def steps_that_are_safe(regions, *, rate, limit):
    """Return which k in 0 .. t - 2 pass the tight check, one by one in floats."""
    log_volume, log_exact = logarithms(regions)
    t, p, rate = regions.least, np.arange(1, regions.deepest + 1), float(rate)
    log_tails = [np.logaddexp.reduce((log_exact + rate * p)[q - 1 :]) for q in p]
    log_d0 = math.log(limit) - 2 * rate
    return [log_volume[t - k - 2] + rate * (t + k + 1) - log_tails[t + k - 2] <= log_d0 for k in range(t - 1)]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_largest_safe_step__was_tested_unlike_the_published_one(epsilon):
    regions = DepthRegions(MODELS)
    rate, limit = safety_terms(epsilon, REQUEST.delta)
    is_safe = steps_that_are_safe(regions, rate=rate, limit=limit)
    published = published_bisection(lambda k: is_safe[k], regions.least)
    ours = largest_safe_step(regions, rate=rate, limit=limit)
    assert not is_safe[published]
    assert ours == -1 or is_safe[ours]
    assert not is_safe[ours + 1]


def test_largest_safe_step__ends_before_the_volume_that_there_is_not():
    """V_0 is infinite: at k = t - 1 the published index -1 takes the smallest volume for it."""
    regions = DepthRegions(MODELS)
    t = regions.least
    assert regions.volumes[t - (t - 1) - 2] == min(regions.volumes)
    assert largest_safe_step(regions, rate=Fraction(1), limit=Fraction(10**400)) == t - 2


# The depth is drawn on one slice of the sorted models and the point on another. The coordinate of the drawn
# depth is chosen by the lengths of the next smaller box in all others.


def our_points(models, exact_depth, n_points):
    digits, regions = Digits(KeyStream(bytes(32), b"points")), DepthRegions(models)
    return np.array([draw_point(digits, regions, exact_depth) for _ in range(n_points)], dtype=float)


def share_with_two_coordinates(points, models, exact_depth):
    depths = np.column_stack([depth(points[:, [j]], models[:, [j]]) for j in range(points.shape[1])])
    return np.mean((depths == exact_depth).sum(axis=1) >= 2)


def test_draw_point__has_all_corners_and_the_published_one_too_few():
    models, rng = models_on_grid(RNG.standard_normal((8, 3)), 2.0**-40), np.random.default_rng(1)
    points = {
        "ours": our_points(models, 2, 2000),
        "published": published_points(models, np.full(2000, 2), rng),
    }
    low, high = np.sort(models, axis=0)[[1, 2]], np.sort(models, axis=0)[[-2, -3]]
    outer, inner = (high - low)[0], (high - low)[1]
    # By the coordinate j that is the first of the drawn depth: the weight of j, and the points of which no
    # later coordinate has that depth.
    after = [np.prod(outer[j + 1 :]) for j in range(3)]
    no_more = [np.prod(inner[j + 1 :]) / after[j] for j in range(3)]
    smaller = (outer - inner) * inner.prod() / inner
    weights = {"ours": smaller / [np.prod(inner[j + 1 :]) for j in range(3)] * after, "published": smaller}
    expected = {name: 1 - np.average(no_more, weights=weights[name]) for name in points}
    assert 0.1 < expected["published"] < expected["ours"] - 0.1
    for name, drawn in points.items():
        # 2,000 draws: within 5 standard errors.
        spread = 5 * math.sqrt(expected[name] / 2000)
        assert share_with_two_coordinates(drawn, models, 2) == pytest.approx(expected[name], abs=spread)


def test_draw_point__has_the_depth_that_was_drawn_unlike_the_published_one():
    rng = np.random.default_rng(2)
    published = published_points(MODELS, np.full(200, 100), rng, skipped=1)
    assert set(depth(published, MODELS)) == {101}
    assert set(depth(our_points(MODELS, 100, 200), MODELS)) == {100}


# The threshold ln(1/(2 delta))/epsilon lets an unsafe set pass with delta e^(-epsilon): more than half of it.


@pytest.mark.parametrize("half", [0.05, 0.2, 0.5])
def test_smallest_passing__leaves_half_of_delta_unlike_the_published_one(half):
    delta = REQUEST.delta
    published = laplace_tail(math.log(1 / (2 * delta)) / half + 1, scale=1 / half)
    ours = laplace_tail(smallest_passing(half, delta) + 1, scale=1 / half)
    assert published == pytest.approx(delta * math.exp(-half))
    assert published + delta / 2 > delta
    assert ours <= delta / 2


# Equal groups of shuffled rows: where the size of a group jumps, one row more changes every group.


def test_fit_models__are_stable_unlike_equal_groups():
    X, y = np.column_stack([np.ones(6), np.arange(6.0)]), RNG.standard_normal(6)
    published = [fit_models(X[:n], y[:n], equal_groups(n, 2), n_models=2) for n in (5, 6)]
    assert np.all(np.abs(published[0] - published[1]).max(axis=1) > 1e-6)
    groups = np.array([0, 1, 1, 0, 0, 1])
    ours = [fit_models(X[:n], y[:n], groups[:n], n_models=2) for n in (5, 6)]
    np.testing.assert_allclose(ours[0][0], ours[1][0], atol=1e-12)
    assert np.abs(ours[0][1] - ours[1][1]).max() > 1e-6


# The printed proof of the tight check weighs the points of depth t + k + 2, the lemma those of t + k - 1.
# What lies between is a small part of the weight where the limit is small; elsewhere the steps differ.


def test_largest_safe_step__weighs_what_the_lemma_says_and_not_its_printed_proof():
    regions = DepthRegions(MODELS)
    log_volume, log_exact = logarithms(regions)
    t, p, rate = 100, np.arange(1, 201), 0.05

    def largest(offset):
        inside = [np.logaddexp.reduce((log_exact + rate * p)[t + k + offset - 1 :]) for k in range(t - 1)]
        outside = [log_volume[t - k - 2] + rate * (t + k + 1) for k in range(t - 1)]
        return max(k for k in range(t - 1) if outside[k] - inside[k] <= 1.0)

    limit = Fraction(math.exp(1 + 2 * rate))
    assert largest(2) < largest(-1) == largest_safe_step(regions, rate=Fraction(rate), limit=limit)


# The draw weighs depths by e^(epsilon_2) instead of e^(epsilon_2/2), as if a record could only add a model.
# In one coordinate: far models hold the safe step down, and a thin interval beside a wide one is a step less
# deep. The neighbour has one far model less and one on the right more.


ONE = models_at({-1e50: 76, 0.0: 124, 1.0: 1, 1.0 + 0.0824: 199})
OTHER = models_at({-1e50: 75, 0.0: 124, 1.0: 1, 1.0 + 0.0824: 200})


def chance_of_the_thin_interval(models, *, rate, limit, half):
    """Return the probabilities that the check passes and that the draw then lies in the thin interval."""
    step = largest_safe_step(DepthRegions(models), rate=rate, limit=limit)
    depths = depth(models_at({0.5: 1, 1.04: 1}), models)
    chance = expit(math.log(0.0824) + float(rate) * (depths[1] - depths[0]))
    return laplace_tail(smallest_passing(half, REQUEST.delta) - step, scale=1 / half), chance


def test_published_rate__loses_more_than_epsilon():
    half = 0.5
    # d0 is delta/(8 e^(epsilon_2)), as ours, beside a rate that is twice as large.
    terms = {"rate": Fraction(half), "limit": Fraction(REQUEST.delta / 8 * math.exp(half)), "half": half}
    one, other = (chance_of_the_thin_interval(models, **terms) for models in (ONE, OTHER))
    assert one == pytest.approx((0.2994, 0.0476), abs=1e-4)
    assert other == pytest.approx((0.4936, 0.1197), abs=1e-4)
    excess = math.prod(other) - math.exp(REQUEST.epsilon) * math.prod(one)
    assert math.prod(other) / math.prod(one) == pytest.approx(4.14, abs=0.01)
    assert excess / REQUEST.delta == pytest.approx(2030, abs=20)


@pytest.mark.parametrize("pair", [(ONE, OTHER), (OTHER, ONE)])
def test_safety_terms__rate_of_half_loses_no_more(pair):
    half = 0.5
    rate, limit = safety_terms(half, REQUEST.delta)
    one, other = (chance_of_the_thin_interval(models, rate=rate, limit=limit, half=half) for models in pair)
    assert math.prod(other) <= math.exp(REQUEST.epsilon) * math.prod(one) + REQUEST.delta
    assert other[1] <= math.exp(half) * one[1]


def test_private_deep_point__draws_at_that_rate():
    """1,600 points: within 5 standard errors at most, 7 away from the published rate of twice as much."""
    models = models_at({0.0: 150, 1.0: 20, 2.0: 130})
    request = replace(REQUEST, epsilon=0.4, delta=0.1)
    fits = [
        private_deep_point(models, epsilon=0.4, request=request, noise=BenchmarkNoise(1, i))
        for i in range(1600)
    ]
    points = np.array([fit.weights[0] for fit in fits if fit.weights is not None])
    depths = depth(models_at({0.5: 1, 1.5: 1}), models)
    expected = expit(0.1 * (depths[0] - depths[1]))
    assert len(points) > 1400
    assert np.mean(points < 1) == pytest.approx(expected, abs=5 * math.sqrt(0.25 / len(points)))
