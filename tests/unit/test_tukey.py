"""The check and the mechanism; the geometry is in test_tukey_depth.py."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.events import DepthEvent, LaplaceEvent
from dpgrs.privacy.noise import BenchmarkNoise, Rehearsal
from dpgrs.regression import tukey, tukey_models
from dpgrs.regression.tukey import (
    Status,
    TukeyRequest,
    count_margin,
    number_of_models,
    private_deep_point,
    private_lower_count,
    private_tukey,
)
from dpgrs.regression.tukey_check import Check, largest_safe_step, safety_terms, smallest_passing
from dpgrs.regression.tukey_depth import depth, log_volumes
from dpgrs.regression.tukey_models import fit_models

REQUEST = TukeyRequest(epsilon=2.0, delta=1e-5)
WEIGHTS = np.array([1.0, -2.0, 0.5])
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((3000, 2)), np.ones(3000)])
Y = X @ WEIGHTS + 0.1 * RNG.standard_normal(3000)
every_check = pytest.mark.parametrize("check", list(Check))


def holds(k, models, *, rate, log_limit, check):
    """Say whether the inequality of the check holds, by its definition."""
    log_volume, log_exact = (np.concatenate([[np.inf], values]) for values in log_volumes(models))
    t, deepest = len(models) // 4, len(models) // 2
    if check == Check.TIGHT:
        inside = sum(math.exp(log_exact[q] + rate * q) for q in range(t + k - 1, deepest + 1))
        inside *= math.exp(-rate * (t + k + 1))
    else:
        depths = {g: t + k + g + 1 for g in range(1, deepest)}
        inside = max(
            (math.exp(log_volume[p] + rate * g) for g, p in depths.items() if p <= deepest), default=0
        )
    # Among equal models both are 0.
    return inside > 0 and math.exp(log_volume[t - k - 1]) <= math.exp(log_limit) * inside


@st.composite
def clustered_models(draw):
    """Draw models of which many share a value and some neighbour, one of them replaced."""
    n_models, d = draw(st.integers(8, 26)), draw(st.integers(1, 2))
    places = st.sampled_from([-30.0, -1.0, 0.0, 0.01, 1.0, 1.01, 2.0, 50.0])
    values = draw(st.lists(places, min_size=n_models * d, max_size=n_models * d))
    models = np.reshape(values, (n_models, d))
    other = models.copy()
    other[draw(st.integers(0, n_models - 1))] = draw(st.lists(places, min_size=d, max_size=d))
    return models, other


@every_check
@given(clustered_models(), st.floats(0.05, 3), st.floats(-6, 6))
def test_largest_safe_step__equals_the_definition_and_moves_by_one(check, pair, rate, log_limit):
    options = {"rate": rate, "log_limit": log_limit, "check": check}
    steps = [largest_safe_step(*log_volumes(models), **options) for models in pair]
    for step, models in zip(steps, pair, strict=True):
        safe = [holds(k, models, **options) for k in range(len(models) // 4 - 1)]
        # Equality in exact numbers can go either way in floats.
        near = [
            holds(k, models, rate=rate, log_limit=log_limit - 1e-9, check=check)
            != holds(k, models, rate=rate, log_limit=log_limit + 1e-9, check=check)
            for k in range(len(safe))
        ]
        if not any(near):
            assert step == [*safe, False].index(False) - 1
            assert safe == sorted(safe, reverse=True)
    assert abs(steps[0] - steps[1]) <= 1


@pytest.mark.parametrize("n_models", range(1, 8))
@every_check
def test_largest_safe_step__none_for_few_models(n_models, check):
    volumes = log_volumes(np.arange(float(n_models))[:, np.newaxis])
    assert largest_safe_step(*volumes, rate=9.0, log_limit=9.0, check=check) == -1


@every_check
def test_largest_safe_step__no_volume_is_not_safe(check):
    volumes = log_volumes(np.zeros((20, 1)))
    assert largest_safe_step(*volumes, rate=1.0, log_limit=100.0, check=check) == -1


def test_largest_safe_step__tight_passes_wherever_the_original_does():
    rng = np.random.default_rng(0)
    rate, log_limit = safety_terms(1.0, 1e-5)
    steps = np.array(
        [
            [largest_safe_step(*volumes, rate=rate, log_limit=log_limit, check=check) for check in Check]
            for n_models in (200, 400)
            for volumes in [log_volumes(rng.standard_normal((n_models, d))) for d in (1, 2, 3)]
        ]
    )
    assert (steps[:, 0] >= steps[:, 1]).all()
    assert (steps[:, 0] > steps[:, 1]).any()


def draw_law(models, edges, *, rate):
    """Return the exact law of a draw of depth t or more in one coordinate, over the intervals of `edges`."""
    middles = (edges[:-1] + edges[1:]) / 2
    depths = depth(middles[:, np.newaxis], models)
    weights = np.where(depths >= len(models) // 4, np.diff(edges) * np.exp(rate * depths), 0.0)
    return weights / weights.sum()


@every_check
def test_draws__of_safe_models_are_indistinguishable_from_any_neighbour(check):
    """The theorem of docs/proofs/tukey.md at epsilon = 4, delta = 0.1, in one coordinate, by exact laws."""
    epsilon, delta, n_models = 4.0, 0.1, 32
    rng, n_safe, largest = np.random.default_rng(0), 0, 0.0
    rate, log_limit = safety_terms(epsilon, delta)
    for _ in range(3000):
        left = rng.integers(10, 23)
        models = np.r_[rng.normal(0, 0.1, left), rng.normal(1, 0.1, n_models - left)]
        models[rng.random(n_models) < 0.1] *= rng.choice([1, 5, 100])
        if largest_safe_step(*log_volumes(models[:, None]), rate=rate, log_limit=log_limit, check=check) < 0:
            continue
        n_safe += 1
        other = models.copy()
        other[rng.integers(n_models)] = rng.choice([-1000.0, 0.5, 1000.0])
        edges = np.unique(np.r_[models, other])
        p, q = (draw_law(one[:, None], edges, rate=rate) for one in (models, other))
        for one, two in ((p, q), (q, p)):
            assert np.maximum(one - math.exp(epsilon) * two, 0).sum() <= delta / 2
        both = (p > 0) & (q > 0)
        largest = max(largest, np.abs(np.log(p[both] / q[both])).max())
    assert n_safe > 300
    # The bound is nearly reached, so a larger rate would break it.
    assert 0.85 * epsilon < largest


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_smallest_passing__unsafe_models_pass_with_at_most_half_of_delta(epsilon, delta):
    # P[X >= x] of the discrete Laplace law is e^(-epsilon x)/(1 + e^-epsilon) for whole x >= 1.
    least = math.floor(1 + smallest_passing(epsilon, delta)) + 1
    assert math.exp(-epsilon * least) / (1 + math.exp(-epsilon)) <= delta / 2


def test_fit_models__equals_lstsq_of_every_group(monkeypatch):
    rng = np.random.default_rng(1)
    groups = rng.integers(1, 30, size=150)  # group 0 is empty, some have fewer rows than coefficients
    A = rng.integers(-1, 2, (150, 5)).astype(float)
    b = rng.standard_normal(150)
    models = fit_models(A, b, groups, n_models=30)
    assert np.bincount(groups).min() == 0
    for group, model in enumerate(models):
        expected = np.linalg.lstsq(A[groups == group], b[groups == group], rcond=1e-12)[0]
        np.testing.assert_allclose(model, expected, atol=1e-10)
    monkeypatch.setattr(tukey_models, "BLOCK_SIZE", 1)
    np.testing.assert_allclose(fit_models(A, b, groups, n_models=30), models, atol=1e-12)


def test_fit_models__a_row_changes_the_model_of_its_group_alone():
    groups = np.random.default_rng(2).integers(40, size=len(X))
    full, less = (fit_models(X[:n], Y[:n], groups[:n], n_models=40) for n in (3000, 2999))
    is_changed = np.abs(full - less).max(axis=1) > 1e-9
    assert is_changed.nonzero()[0].tolist() == [groups[-1]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_fit_models__rows_that_are_not_finite_count_as_zeros(value):
    rows, outcomes, groups = X[:40].copy(), Y[:40].copy(), np.arange(40) % 4
    rows[3, 1], outcomes[10] = value, value
    kept = np.delete(np.arange(40), [3, 10])
    expected = fit_models(X[kept], Y[kept], groups[kept], n_models=4)
    np.testing.assert_allclose(fit_models(rows, outcomes, groups, n_models=4), expected, atol=1e-12)


def test_fit_models__finite_whatever_the_rows():
    rows = np.array([[1e-300, 0.0], [1e300, 1.0], [0.0, 1e-200]])
    models = fit_models(rows, np.array([1e300, -1e300, 1e300]), np.arange(3), n_models=3)
    assert np.isfinite(models).all()
    assert np.abs(models).max() <= tukey_models.LARGEST_COEFFICIENT
    assert (log_volumes(np.vstack([models, -models]))[0] < np.inf).all()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [1e-5, 1e-300])
def test_private_tukey__events_are_the_budget_whether_it_passes_or_not(neighbours, delta):
    request = replace(REQUEST, delta=delta, neighbours=neighbours)
    fit = private_tukey(X, Y, request=request, noise=BenchmarkNoise(1))
    assert sum(event.epsilon for event in fit.events) == pytest.approx(2.0)
    assert [event.delta for event in fit.events if isinstance(event, DepthEvent)] == [delta]
    laplace = [event for event in fit.events if isinstance(event, LaplaceEvent)]
    assert [event.statistic for event in laplace] == ["count of units"] * (neighbours == "add-remove") + [
        "safe step"
    ]
    for event in laplace:
        assert event.scale == pytest.approx(1 / event.epsilon)
        assert event.sensitivity.neighbours == neighbours
    is_released = delta == 1e-5
    assert fit.status == (Status.RELEASED if is_released else Status.CHECK_FAILED)
    assert (fit.weights is not None) == is_released


@pytest.mark.parametrize("check", list(Check))
def test_private_tukey__finds_the_weights(check):
    request = replace(REQUEST, check=check, rows_per_coefficient=3.0)
    fit = private_tukey(X, Y, request=request, noise=BenchmarkNoise(2))
    assert fit.status == Status.RELEASED
    np.testing.assert_allclose(fit.weights, WEIGHTS, atol=0.1)


def test_private_tukey__same_key_same_point():
    points = [
        private_tukey(X, Y, request=REQUEST, noise=BenchmarkNoise(*key)).weights for key in [(1,), (1,), (2,)]
    ]
    np.testing.assert_array_equal(points[0], points[1])
    assert np.all(points[0] != points[2])


def test_private_tukey__equal_models_are_told_apart_but_stay_equal():
    request = replace(REQUEST, epsilon=6.0, rows_per_coefficient=4.0)
    fit = private_tukey(X, X @ WEIGHTS, request=request, noise=BenchmarkNoise(1))
    np.testing.assert_allclose(fit.weights, WEIGHTS, atol=1e-8)


def test_private_deep_point__perturbation_lost_beside_large_models():
    """Then there is no volume: an outcome, not an error."""
    request = replace(REQUEST, epsilon=6.0)
    for scale, status in ((1.0, Status.RELEASED), (1e9, Status.CHECK_FAILED), (1e100, Status.CHECK_FAILED)):
        models = np.full((400, 2), scale)
        fit = private_deep_point(models, epsilon=6.0, request=request, noise=BenchmarkNoise(1))
        assert (fit.status, fit.weights is None) == (status, status == Status.CHECK_FAILED)


def test_private_tukey__too_few_models_spend_the_count_alone():
    fit = private_tukey(X[:20], Y[:20], request=REQUEST, noise=BenchmarkNoise(1))
    assert (fit.status, fit.weights, fit.n_models) == (Status.TOO_FEW_MODELS, None, 0)
    assert [event.statistic for event in fit.events] == ["count of units"]
    few = private_deep_point(np.zeros((7, 2)), epsilon=1.0, request=REQUEST, noise=BenchmarkNoise(1))
    assert (few.status, few.events) == (Status.TOO_FEW_MODELS, ())


@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_private_tukey__rows_of_a_unit_share_a_group(rows_per_unit, monkeypatch):
    seen = []
    monkeypatch.setattr(
        tukey, "fit_models", lambda *arrays, n_models: seen.append(arrays[2]) or np.zeros((n_models, 3))
    )
    request = replace(
        REQUEST, rows_per_unit=rows_per_unit, neighbours="replace-one", rows_per_coefficient=100.0
    )
    fit = private_tukey(X, Y, request=request, noise=BenchmarkNoise(1))
    assert fit.n_models == 10
    units = seen[0].reshape(-1, rows_per_unit)
    assert (units == units[:, :1]).all()
    # Each unit in one of 10 groups, uniformly: within 5 standard errors.
    counts = np.bincount(units[:, 0], minlength=10)
    assert counts == pytest.approx(len(units) / 10, abs=5 * math.sqrt(len(units) * 0.09))


def test_private_lower_count__is_lower():
    """Above the true count with probability 1e-4: more than 10 of 4,000 happen once in 10^10 tests."""
    options = {"epsilon": 0.5, "request": REQUEST}
    draws = np.array(
        [private_lower_count(100, noise=BenchmarkNoise(1, i), **options)[0] for i in range(4000)]
    )
    assert (draws > 100).sum() <= 10
    # The standard deviation is about 2.8, so the mean is within 5 standard errors.
    assert draws.mean() == pytest.approx(100 - count_margin(0.5), abs=0.23)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(-5.0, 0), (11.9, 1), (12.0, 2), (1e300, tukey.LARGEST_NUMBER)]
)
def test_number_of_models__whole_and_bounded(n_rows, expected):
    assert number_of_models(n_rows, 3, request=replace(REQUEST, rows_per_coefficient=2.0)) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", math.inf),
        ("delta", 1.0),
        ("delta", 0.0),
        ("rows_per_unit", 0),
        ("check", "loose"),
        ("count_share", 1.0),
        ("rows_per_coefficient", 0.0),
    ],
)
def test_request__raise_on_terms(name, value):
    with pytest.raises(UsageError, match=f"`{name}` must be .*, got {value}"):
        replace(REQUEST, **{name: value})


@pytest.mark.parametrize("n_outcomes", [2999, 3001])
def test_private_tukey__raise_on_shapes(n_outcomes):
    with pytest.raises(UsageError, match="rows must be of whole units"):
        private_tukey(X, np.zeros(n_outcomes), request=REQUEST, noise=BenchmarkNoise(1))
    with pytest.raises(UsageError, match="whole units of 2"):
        private_tukey(X[1:], Y[1:], request=replace(REQUEST, rows_per_unit=2), noise=BenchmarkNoise(1))


def test_private_tukey__raise_in_a_release():
    request = replace(REQUEST, neighbours="replace-one")
    with pytest.raises(UsageError, match="must be drawn in a benchmark"):
        private_tukey(X, Y, request=request, noise=Rehearsal())
