import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from dpgrs.regression.tukey_depth import depth, draw_depth, draw_point, log_volumes

# A test by chi-square fails for one honest sampler in a million.
FAILURE = 1e-6
MODELS = np.random.default_rng(3).standard_normal((9, 2))
EVEN = np.random.default_rng(4).standard_normal((8, 3))


def counted_depth(point, models):
    """Count by the definition: over all half-spaces along an axis that contain the point."""
    counts = [
        count
        for value, column in zip(point, models.T, strict=True)
        for count in (sum(column <= value), sum(column >= value))
    ]
    return min(counts)


def cells(models):
    """Return the boxes that the models cut the space between them into: middles and volumes."""
    edges = np.sort(models.T)
    axes = [(values[:-1] + values[1:]) / 2 for values in edges]
    middles = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(edges))
    volumes = (
        np.stack(np.meshgrid(*np.diff(edges), indexing="ij"), axis=-1).reshape(-1, len(edges)).prod(axis=1)
    )
    return middles, volumes


def expected_of_depth(models):
    """Return the volumes of all points of depth exactly p = 1 .., by brute force over all cells."""
    middles, volumes = cells(models)
    depths = np.array([counted_depth(point, models) for point in middles])
    return np.array([volumes[depths == p].sum() for p in range(1, len(models) // 2 + 1)])


small_models = arrays(
    float, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)
)


@given(small_models, st.data())
def test_depth__equals_the_definition(models, data):
    shape = (5, models.shape[1])
    points = data.draw(arrays(float, shape, elements=st.sampled_from(np.arange(-4, 4.5, 0.5))))
    expected = [counted_depth(point, models) for point in points]
    np.testing.assert_array_equal(depth(points, models), expected)


@given(small_models)
def test_log_volumes__equal_brute_force_with_ties_too(models):
    expected = expected_of_depth(models)
    log_volume, log_exact = log_volumes(models)
    np.testing.assert_allclose(np.exp(log_exact), expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(log_volume), np.cumsum(expected[::-1])[::-1], atol=1e-12)


def test_log_volumes__keep_what_floats_cannot_hold():
    """400 sides of 2^-10: a volume of 2^-4000. A shell of 2^-50 of every side keeps all its digits."""
    steps = np.array([-(2.0**-60), 0.0, 2.0**-10, 2.0**-10])[:, np.newaxis]
    log_volume, log_exact = log_volumes(np.tile(steps, (1, 400)))
    assert log_volume[1] == pytest.approx(-4000 * np.log(2), rel=1e-12)
    assert log_exact[0] == pytest.approx(log_volume[1] + np.log(400) - 50 * np.log(2), rel=1e-12)


@pytest.mark.parametrize("changed", [MODELS[::-1], MODELS * [2.0, 0.5], np.add(MODELS, [3.0, -1.0])])
def test_log_volumes__know_no_order_scale_or_place(changed):
    for values, original in zip(log_volumes(changed), log_volumes(MODELS), strict=True):
        np.testing.assert_allclose(values, original, atol=1e-12)


def assert_uniform(points, models, *, volumes, middles):
    """Compare how many points lie in every cell with the volumes of the cells."""
    assert volumes.min() > 0
    place = [np.searchsorted(np.sort(column), points[:, i]) - 1 for i, column in enumerate(models.T)]
    counts = np.zeros([len(models) - 1] * models.shape[1])
    np.add.at(counts, tuple(place), 1)
    inside = tuple((np.searchsorted(np.sort(column), middles[:, i]) - 1) for i, column in enumerate(models.T))
    observed = counts[inside]
    assert observed.sum() == len(points)
    expected = len(points) * volumes / volumes.sum()
    # Cells of few points are taken together.
    is_rare = expected < 20
    pairs = [(observed[~is_rare], expected[~is_rare])]
    if expected[is_rare].sum() >= 20:
        pairs.append((observed[is_rare].sum(keepdims=True), expected[is_rare].sum(keepdims=True)))
    observed, expected = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(FAILURE, len(observed))


@pytest.mark.parametrize("exact_depth", [1, 2, 4])
@pytest.mark.parametrize("models", [MODELS, EVEN], ids=["9 in 2", "8 in 3"])
def test_draw_point__is_uniform_among_the_points_of_its_depth(models, exact_depth):
    rng = np.random.default_rng(exact_depth)
    points = np.array([draw_point(models, exact_depth, generator=rng) for _ in range(20_000)])
    assert set(depth(points, models)) == {exact_depth}
    middles, volumes = cells(models)
    is_of_depth = depth(middles, models) == exact_depth
    assert_uniform(points, models, volumes=volumes[is_of_depth], middles=middles[is_of_depth])


def test_draw_point__is_uniform_within_a_cell():
    rng = np.random.default_rng(0)
    points = np.array([draw_point(np.array([[0.0], [1.0]]), 1, generator=rng) for _ in range(20_000)])
    counts, _ = np.histogram(points, bins=20, range=(0, 1))
    assert ((counts - 1000.0) ** 2 / 1000).sum() < chi2.isf(FAILURE, 19)


@pytest.mark.parametrize("rate", [0.0, 0.7])
@pytest.mark.parametrize("least", [1, 2])
def test_draw_depth__by_volume_and_depth(rate, least):
    rng = np.random.default_rng(1)
    log_exact = log_volumes(MODELS)[1]
    weights = expected_of_depth(MODELS) * np.exp(rate * np.arange(1, 5))
    weights[: least - 1] = 0
    expected = 20_000 * weights / weights.sum()
    draws = [draw_depth(log_exact, least=least, rate=rate, generator=rng) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=5)[1:]
    assert counts[: least - 1].sum() == 0
    counts, expected = counts[least - 1 :], expected[least - 1 :]
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FAILURE, len(counts) - 1)


def test_draw_depth__only_where_there_is_a_volume():
    log_exact = np.array([0.0, -np.inf, -2000.0, -np.inf])
    options = {"rate": 1.0, "generator": np.random.default_rng(0)}
    assert {draw_depth(log_exact, least=2, **options) for _ in range(50)} == {3}
    assert draw_depth(log_exact, least=4, **options) is None
