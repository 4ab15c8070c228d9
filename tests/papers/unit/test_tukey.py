"""The check and the mechanism; draws are in test_deep_points.py, releases in test_tukey_release.py."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depth_laws import law, line_classes
from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import DepthEvent, LaplaceEvent
from dpgrs.privacy.noise.depth_sampler import DepthRegions
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods import tukey, tukey_models
from dpgrs_papers.methods.lower_count import count_margin, private_lower_count
from dpgrs_papers.methods.tukey import (
    Status,
    TukeyRequest,
    models_of_groups,
    number_of_models,
    private_deep_point,
    private_tukey,
)
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms, smallest_passing
from dpgrs_papers.methods.tukey_models import fit_models, models_on_grid
from dpgrs_papers.types import DepthCheck
from refused import refused

REQUEST = TukeyRequest(epsilon=2.0, delta=1e-5, rows_per_coefficient=1.0)
WEIGHTS = np.array([1.0, -2.0, 0.5])
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((3000, 2)), np.ones(3000)])
Y = X @ WEIGHTS + 0.1 * RNG.standard_normal(3000)


def holds(k, regions, *, rate, limit, check):
    """Say whether the inequality holds, by its definition and in 60 digits."""
    t, deepest = regions.least, regions.deepest
    volumes, shells = ([None, *counts] for counts in (regions.volumes, regions.shells))
    with mpmath.workdps(60):
        a, limit = (mpmath.mpf(value.numerator) / value.denominator for value in (rate, limit))
        d0 = limit * mpmath.exp(-2 * a)
        if check == "tight":
            weight = mpmath.fsum(shells[q] * mpmath.exp(a * q) for q in range(t + k - 1, deepest + 1))
        else:
            # For some g = 1 ..: V_(t-k-1) <= d0 e^(a g) V_(t+k+g+1).
            depths = range(t + k + 2, deepest + 1)
            weight = max(volumes[q] * mpmath.exp(a * q) for q in depths)
        return volumes[t - k - 1] * mpmath.exp(a * (t + k + 1)) <= d0 * weight


@st.composite
def clustered_models(draw):
    """Draw models of which many share a value and some neighbour, one of them replaced."""
    n_models, d = draw(st.integers(8, 26)), draw(st.integers(1, 2))
    places = st.sampled_from([-3000.0, -100.0, 0.0, 1.0, 100.0, 101.0, 200.0, 5e30])
    values = draw(st.lists(places, min_size=n_models * d, max_size=n_models * d))
    models = np.reshape(values, (n_models, d))
    other = models.copy()
    other[draw(st.integers(0, n_models - 1))] = draw(st.lists(places, min_size=d, max_size=d))
    return models, other


@pytest.mark.parametrize("check", DepthCheck)
@given(clustered_models(), st.floats(0.05, 3), st.floats(0.01, 0.99))
def test_largest_safe_step__equals_the_definition_and_moves_by_one(check, pair, rate, limit):
    options = {"rate": Fraction(rate), "limit": Fraction(limit), "check": check}
    every_regions = [DepthRegions(models) for models in pair]
    steps = [largest_safe_step(regions, **options) for regions in every_regions]
    for step, regions in zip(steps, every_regions, strict=True):
        safe = [holds(k, regions, **options) for k in range(regions.least - 1)]
        assert step == [*safe, False].index(False) - 1
        assert safe == sorted(safe, reverse=True)
    assert abs(steps[0] - steps[1]) <= 1
    tight = largest_safe_step(every_regions[1], rate=options["rate"], limit=options["limit"])
    assert steps[1] <= tight


def test_private_deep_point__original_check_where_the_tight_one_alone_passes():
    """The safe steps of 900 normal models of 11 coefficients are some apart."""
    models = models_on_grid(np.random.default_rng(5).standard_normal((900, 11)), 2.0**-40)
    rate, limit = safety_terms(1.0, 1e-5)
    regions = DepthRegions(models)
    tight, original = (
        largest_safe_step(regions, rate=rate, limit=limit, check=check) for check in DepthCheck
    )
    assert original < tight - 2
    safe_steps = []

    class NotingSafeSteps(BenchmarkNoise):
        def laplace(self, exact, **terms):
            safe_steps.append(int(exact))
            return super().laplace(exact, **terms)

    for check in DepthCheck:
        request = replace(REQUEST, check=check)
        private_deep_point(models, epsilon=2.0, request=request, noise=NotingSafeSteps(1))
    assert safe_steps == [tight, original]


@pytest.mark.parametrize("offset", [-1, 1])
def test_largest_safe_step__decides_what_differs_by_little(offset):
    """A limit 1e-70 of itself on either side of the one where equal models have the step 3."""
    rate, n_models = Fraction(1, 3), 100
    t, deepest = n_models // 4, n_models // 2
    with mpmath.workdps(200):
        # e^(a (t + k + 1)) = limit e^(-2a) e^(a h) for k = 3.
        edge = mpmath.exp(-mpmath.mpf(deepest - t - 3 - 3) / 3) * (1 + offset * mpmath.mpf(10) ** -70)
        limit = Fraction(int(edge * 10**150), 10**150)
    step = largest_safe_step(DepthRegions(np.zeros((n_models, 2))), rate=rate, limit=limit)
    assert step == (3 if offset == 1 else 2)


def test_draws__of_safe_models_are_indistinguishable_from_any_neighbour():
    """The theorem of docs/proofs/tukey.md at epsilon = 4, delta = 0.1, in one coordinate, by exact laws."""
    epsilon, delta, n_models = 4.0, 0.1, 32
    rng, n_safe, largest = np.random.default_rng(0), 0, 0.0
    rate, limit = safety_terms(epsilon, delta)
    for _ in range(3000):
        left = rng.integers(10, 23)
        # Of a coarse grid too, where many models are equal.
        scale = rng.choice([5, 1e9])
        models = np.rint(scale * np.r_[rng.normal(0, 0.1, left), rng.normal(1, 0.1, n_models - left)])
        models[rng.random(n_models) < 0.1] *= rng.choice([1, 5, 100])
        regions = DepthRegions(models[:, np.newaxis])
        if largest_safe_step(regions, rate=rate, limit=limit) < 0:
            continue
        n_safe += 1
        other = models.copy()
        other[rng.integers(n_models)] = np.rint(scale * rng.choice([-1000.0, 0.5, 1000.0]))
        pair = models[:, np.newaxis], other[:, np.newaxis]
        classes = line_classes(*pair)
        p, q = (law(one, *classes, rate=float(rate)) for one in pair)
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
    with mpmath.workdps(50):
        exact = -mpmath.log(mpmath.mpf(delta)) / mpmath.mpf(epsilon)
        assert exact < smallest_passing(epsilon, delta) < exact * (1 + mpmath.mpf(2) ** -50)


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
    np.testing.assert_array_equal(fit_models(A, b, groups, n_models=30), models)


def test_fit_models__a_row_changes_no_bit_of_other_groups():
    """Whatever it does to the sizes: of few long groups, of many that have hardly a row."""
    rng = np.random.default_rng(2)
    for n_groups, n_rows in [(40, 3000), (1200, 3000), (3, 400), (100, 150)]:
        groups = rng.integers(n_groups, size=n_rows)
        full, less = (fit_models(X[:n], Y[:n], groups[:n], n_models=n_groups) for n in (n_rows, n_rows - 1))
        assert (full != less).any(axis=1).nonzero()[0].tolist() == [groups[-1]]


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_fit_models__same_bits_alone_and_in_any_company(d):
    rng = np.random.default_rng(d)
    groups = rng.integers(60, size=600)
    A, b = rng.standard_normal((600, d)), rng.standard_normal(600)
    models = fit_models(A, b, groups, n_models=60)
    for group, model in enumerate(models):
        rows = groups == group
        alone = fit_models(A[rows], b[rows], np.zeros(rows.sum(), dtype=int), n_models=1)
        assert alone[0].tobytes() == model.tobytes()


def test_fit_models__a_group_that_fails_changes_no_other(monkeypatch):
    """Else the rows of one unit could stop the mechanism, which no budget pays for."""
    rng = np.random.default_rng(3)
    A, b, groups = rng.standard_normal((60, 2)), rng.standard_normal(60), np.repeat(np.arange(10), 6)
    expected, honest = fit_models(A, b, groups, n_models=10), np.linalg.svd
    expected[groups[12]] = 0

    def fails_on_one(matrices, **options):
        if (matrices == A[12, 0]).any():
            raise np.linalg.LinAlgError("SVD did not converge")
        return honest(matrices, **options)

    monkeypatch.setattr(np.linalg, "svd", fails_on_one)
    assert fit_models(A, b, groups, n_models=10).tobytes() == expected.tobytes()


def test_models_on_grid__whole_steps_of_each_by_itself():
    models = np.array([[0.0, 0.3, -0.26], [1e100, -1e-300, 0.24]])
    np.testing.assert_array_equal(models_on_grid(models, 0.5), [[0, 1, -1], [2e100, 0, 0]])


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
    assert min(DepthRegions(models_on_grid(models, tukey.STEP)).volumes) > 0


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


def test_private_tukey__same_key_same_point():
    points = [
        private_tukey(X, Y, request=REQUEST, noise=BenchmarkNoise(*key)).weights for key in [(1,), (1,), (2,)]
    ]
    np.testing.assert_array_equal(points[0], points[1])
    assert np.all(points[0] != points[2])


def test_private_tukey__is_a_point_of_the_grid():
    request = replace(REQUEST, step=2.0**-6, rows_per_coefficient=3.0)
    fit = private_tukey(X, Y, request=request, noise=BenchmarkNoise(1))
    assert np.all(fit.weights * 64 == np.rint(fit.weights * 64))
    np.testing.assert_allclose(fit.weights, WEIGHTS, atol=0.1)
    assert type(fit.n_models) is int
    # Half of a step is more than any coefficient.
    none = private_tukey(X, Y, request=replace(request, step=8.0), noise=BenchmarkNoise(1))
    assert (none.status, none.weights.tolist()) == (Status.RELEASED, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e40])
def test_private_tukey__equal_models_are_drawn_however_large(scale):
    request = replace(REQUEST, epsilon=6.0, rows_per_coefficient=4.0)
    fit = private_tukey(X, scale * (X @ WEIGHTS), request=request, noise=BenchmarkNoise(1))
    np.testing.assert_allclose(fit.weights, scale * WEIGHTS, rtol=1e-8)


@pytest.mark.parametrize(("rate", "limit"), [safety_terms(3.0, 1e-5), (Fraction(9), Fraction(1, 2))])
def test_largest_safe_step__of_equal_models_is_known_and_none_of_few(rate, limit):
    """All depths have one point: e^(a (t + k + 1)) <= limit e^(-2a) e^(a h)."""
    for n_models in range(1, 160):
        t, deepest = n_models // 4, n_models // 2
        expected = math.floor(deepest - t - 3 + math.log(limit) / rate)
        step = largest_safe_step(DepthRegions(np.full((n_models, 2), 7.0)), rate=rate, limit=limit)
        assert step == max(min(expected, t - 2), -1)


def test_private_tukey__too_few_models_spend_all_of_it():
    """A release must know its cost before it knows the count."""
    fit = private_tukey(X[:20], Y[:20], request=REQUEST, noise=BenchmarkNoise(1))
    assert (fit.status, fit.weights, fit.n_models) == (Status.TOO_FEW_MODELS, None, 0)
    assert sum(event.epsilon for event in fit.events) == pytest.approx(REQUEST.epsilon)
    # However much the check is told to pass.
    request = replace(REQUEST, delta=0.99)
    few = private_deep_point(np.zeros((7, 2)), epsilon=1e-3, request=request, noise=BenchmarkNoise(1))
    assert (few.status, few.weights) == (Status.TOO_FEW_MODELS, None)
    assert [event.entries for event in few.events] == [1, 2]
    enough = private_deep_point(np.zeros((8, 2)), epsilon=1e-3, request=request, noise=BenchmarkNoise(1))
    assert enough.status != Status.TOO_FEW_MODELS


@pytest.mark.parametrize(("n_models", "are_fitted"), [(7, False), (8, True)])
def test_models_of_groups__are_fitted_where_they_are_enough_to_draw_from(n_models, are_fitted):
    models = models_of_groups(X, Y, n_models=n_models, request=REQUEST, noise=BenchmarkNoise(1).on("data"))
    assert models.shape == (n_models, 3)
    assert models.any() == are_fitted


def test_private_deep_point__checks_at_half_of_the_budget(monkeypatch):
    seen = []
    monkeypatch.setattr(tukey, "largest_safe_step", lambda regions, **terms: seen.append(terms) or -1)
    request = replace(REQUEST, delta=2.0**-10)
    private_deep_point(np.zeros((20, 2)), epsilon=3.0, request=request, noise=BenchmarkNoise(1))
    assert seen == [{"rate": Fraction(3, 4), "limit": Fraction(1, 2**13), "check": "tight"}]


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
    # P[Laplace(1/epsilon) > x] is e^(-epsilon x)/2.
    assert math.exp(-0.5 * count_margin(0.5)) / 2 == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(-5.0, 0), (11.9, 1), (12.0, 2), (1e300, tukey.LARGEST_NUMBER)]
)
def test_number_of_models__whole_and_bounded(n_rows, expected):
    assert number_of_models(n_rows, 3, request=replace(REQUEST, rows_per_coefficient=2.0)) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", 1e6 + 1),
        ("epsilon", math.inf),
        ("delta", 1.0),
        ("delta", 0.0),
        ("rows_per_unit", 0),
        ("count_share", 0.0),
        ("count_share", 1.0),
        ("rows_per_coefficient", 0.0),
        ("rows_per_coefficient", math.inf),
        *(("step", value) for value in (0.0, 0.3, -0.5, 2.0**-201, 2.0**201, math.inf, math.nan)),
    ],
)
def test_request__raise_on_terms(name, value):
    with refused("field-out-of-domain", name, str(value), error=UsageError):
        replace(REQUEST, **{name: value})


@pytest.mark.parametrize("terms", [{"epsilon": 1e6}, {"step": 2.0**-200}, {"step": 2.0**200}])
def test_request__takes_the_ends_of_a_domain(terms):
    assert vars(replace(REQUEST, **terms)).items() >= terms.items()


@pytest.mark.parametrize(
    ("rows", "outcomes", "rows_per_unit"),
    [(X, Y[1:], 1), (X, np.zeros(3001), 1), (X[1:], Y[1:], 2), (X[:, 0], Y, 1)],
    ids=["fewer outcomes", "more outcomes", "half a unit", "no columns"],
)
def test_private_tukey__raise_on_shapes(rows, outcomes, rows_per_unit):
    with refused("rows-not-of-whole-units", error=UsageError):
        request = replace(REQUEST, rows_per_unit=rows_per_unit)
        private_tukey(rows, outcomes, request=request, noise=BenchmarkNoise(1))
