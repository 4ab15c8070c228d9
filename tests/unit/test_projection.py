import tracemalloc
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.linalg import projection
from dpgrs.linalg.projection import project_ellipsoid, project_feature, project_label

PROPERTY = settings(deadline=None, derandomize=True, max_examples=25)


class Case(NamedTuple):
    """A set {A'z : ||z|| <= r} and the function that projects points, one per row, onto it."""

    A: np.ndarray
    project: object

    def points(self, n_points=30, *, seed=1):
        """Random points of many lengths, in and off the range of A', and radii on both sides of them."""
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((n_points, self.A.shape[1]))
        points[::3] = rng.standard_normal((n_points, len(self.A)))[::3] @ self.A
        return points * np.exp(rng.normal(0, 2, (n_points, 1))), np.exp(rng.normal(0, 2, n_points))


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def by_label(X):
    return Case(X, lambda V, r, **options: project_label(V, X.T @ X, r, **options))


def by_feature(Y):
    return Case(Y.T, lambda V, r, **options: project_feature(V.T, Y, r, **options).T)


def by_ellipsoid(X, noise):
    G = X.T @ X + noise + noise.T
    eigenvalues, U = np.linalg.eigh(G)
    assert eigenvalues.min() < -1
    root = np.sqrt(np.maximum(eigenvalues, 0))[:, np.newaxis] * U.T
    return Case(root, lambda V, r, **options: project_ellipsoid(V, G, r, **options))


def with_odd_columns(A):
    """Append a repeated column and a column of zeros: a constant variant, an outcome nobody has."""
    return np.hstack([A, A[:, :1], np.zeros((len(A), 1))])


CASES = {
    "label": by_label(normal(20, 6)),
    "label, more variants than rows": by_label(normal(5, 9)),
    "label, constant and repeated variants": by_label(with_odd_columns(normal(20, 6))),
    "feature": by_feature(normal(6, 20)),
    "feature, more outcomes than rows": by_feature(normal(9, 5)),
    "feature, constant and repeated outcomes": by_feature(with_odd_columns(normal(20, 6)).T),
    "feature, odd outcomes, more than rows": by_feature(with_odd_columns(normal(5, 9)).T),
    "ellipsoid": by_ellipsoid(normal(20, 6), normal(6, 6, seed=3) * 8),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(params=[False, True], ids=["separate", "joint"])
def joint(request):
    return request.param


def flat(case, points, projected, radii, *, joint):
    """Return A, points, projections and radii as rows of one set each: the joint one by Kronecker product."""
    if not joint:
        return case.A, points, projected, radii
    big = np.kron(np.eye(len(points)), case.A)
    return big, points.reshape(1, -1), projected.reshape(1, -1), np.array([np.sqrt(np.sum(radii**2))])


@every_case
def test_project__is_the_nearest_point_of_the_set(case, joint):
    points, radii = case.points()
    if joint:
        radii /= 10
    projected = case.project(points, radii, joint=joint)
    A, v, p, r = flat(case, points, projected, radii, joint=joint)
    z = np.linalg.lstsq(A.T, p.T)[0].T
    np.testing.assert_allclose(z @ A, p, atol=1e-12 * np.abs(p).max())
    assert np.all(np.linalg.norm(z, axis=1) <= r * (1 + 1e-12))
    # p is nearest if no q of the set has (v - p)'(q - p) > 0; the q that goes farthest has z along A (v - p).
    gain = r * np.linalg.norm((v - p) @ A.T, axis=1) - np.vecdot(v - p, p)
    length = np.linalg.norm(v, axis=1)
    assert np.all(gain <= 1e-13 * length * (length + r * np.linalg.norm(A, 2)))
    assert np.any(np.linalg.norm(v - p, axis=1) > 1e-6 * length)


@every_case
def test_project__leaves_points_of_the_set(case, joint):
    z = normal(30, len(case.A), seed=2)
    radii = np.linalg.norm(z, axis=1) * (1 + 1e-9)
    inside = z @ case.A
    np.testing.assert_allclose(case.project(inside, radii, joint=joint), inside, rtol=0, atol=1e-12)


@every_case
@PROPERTY
@given(order=st.permutations(range(30)), cut=st.integers(0, 30))
def test_project__a_point_does_not_depend_on_the_others(case, order, cut):
    points, radii = case.points()
    together = case.project(points, radii)
    parts = [case.project(points[part], radii[part]) for part in (order[:cut], order[cut:])]
    np.testing.assert_allclose(
        np.vstack(parts), together[order], rtol=1e-11, atol=1e-13 * np.abs(together).max()
    )


@pytest.mark.parametrize("n_entries", [1, 50, 10**6])
def test_project__blocks_of_the_solver_change_nothing(n_entries, monkeypatch):
    case = CASES["label"]
    points, radii = case.points()
    expected = case.project(points, radii)
    monkeypatch.setattr(projection, "BLOCK_ENTRIES", n_entries)
    np.testing.assert_array_equal(case.project(points, radii), expected)


@pytest.mark.parametrize(("by", "reach"), [(by_label, 2), (by_feature, 3)])
@PROPERTY
@given(of_matrix=st.integers(-70, 70), of_radii=st.integers(-90, 90), joint=st.booleans())
def test_project__follows_the_scale(by, reach, of_matrix, of_radii, joint):
    # X'X squares its numbers, so those of X have the shorter reach.
    of_matrix *= reach
    A = normal(9, 6) if by is by_label else normal(6, 9)
    case, scaled = by(A), by(A * 10.0**of_matrix)
    points, radii = case.points()
    s = 10.0 ** (of_matrix + of_radii)
    projected = scaled.project(points * s, radii * 10.0**of_radii, joint=joint)
    expected = case.project(points, radii, joint=joint)
    np.testing.assert_allclose(projected / s, expected, rtol=1e-10, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("sign", [-1, 1])
def test_project__of_large_entries_of_one_sign_follows_the_scale(sign):
    A = np.abs(normal(6, 9))
    points, radii = by_feature(A).points()
    projected = by_feature(sign * 1e200 * A).project(points * 1e200, radii)
    np.testing.assert_allclose(projected / 1e200, by_feature(A).project(points, radii), rtol=1e-10)


def test_project__a_joint_ball_of_tiny_points_follows_the_scale():
    case, size = CASES["label"], 1e-200
    points, radii = case.points()
    projected = case.project(size * points, size * radii / 10, joint=True)
    np.testing.assert_allclose(projected / size, case.project(points, radii / 10, joint=True), rtol=1e-10)


@pytest.mark.parametrize(
    ("project", "shape"),
    [
        (partial(project_label, gram=np.zeros((0, 0)), radii=1.0), (3, 0)),
        (partial(project_ellipsoid, gram=np.zeros((0, 0)), radii=1.0), (3, 0)),
        (partial(project_label, gram=np.eye(3), radii=1.0), (0, 3)),
        (partial(project_feature, Y=normal(3, 8), radii=1.0), (3, 0)),
        (partial(project_feature, Y=np.zeros((3, 0)), radii=1.0), (3, 2)),
        (partial(project_feature, Y=np.zeros((0, 8)), radii=1.0), (0, 3)),
    ],
)
def test_project__nothing_is_nothing(project, shape, joint):
    np.testing.assert_array_equal(project(np.ones(shape), joint=joint), np.zeros(shape))


@every_case
def test_project__zero_statistics_and_radii_give_zero(case, joint):
    points, radii = case.points()
    zeros = np.zeros_like(points)
    for statistics, limits in ((zeros, 0 * radii), (zeros, np.ones_like(radii)), (points, 0 * radii)):
        np.testing.assert_array_equal(case.project(statistics, limits, joint=joint), zeros)


@pytest.mark.parametrize("case", [by_label(np.zeros((5, 4))), by_feature(np.zeros((4, 5)))])
def test_project__without_variance_nothing_is_left(case, joint):
    np.testing.assert_array_equal(case.project(normal(3, 4), 1.0, joint=joint), np.zeros((3, 4)))


def test_project_ellipsoid__matrix_of_noise_alone_leaves_nothing():
    np.testing.assert_array_equal(project_ellipsoid(normal(3, 4), -np.eye(4), 1.0), np.zeros((3, 4)))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("radius", [1e-300, 1e-160, 1e160, 1e308])
def test_project__any_mix_of_scales_gives_numbers(size, radius, joint):
    case = CASES["label"]
    points, radii = normal(3, 6) * size, np.array([radius, 0.0, 1.0])
    projected = case.project(points, radii, joint=joint)
    assert np.isfinite(projected).all()
    assert np.all(np.abs(projected) <= np.abs(points).max(axis=1, keepdims=True) * 3)


@pytest.mark.parametrize("radius", [1e-3, 1e-1, 1.0, 30.0, 1e3])
def test_project__eigenvalues_far_apart_share_one_multiplier(radius):
    w = np.logspace(-12, 0, 200)
    v = normal(20, 200) * np.exp(normal(20, 200, seed=1))
    p = project_ellipsoid(v, np.diag(w), radius)
    np.testing.assert_allclose(np.sum(p**2 / w, axis=1), radius**2, rtol=1e-12)
    # p = w/(w + nu) v, and so 1/nu is the same on all axes.
    nu = w * (v - p) / p
    is_exact = np.abs(v - p) > 1e-3 * np.abs(v)
    middle = np.nanmedian(np.where(is_exact, nu, np.nan), axis=1, keepdims=True)
    np.testing.assert_allclose(np.where(is_exact, nu / middle, 1.0), 1.0, rtol=1e-9)


def test_project__radii_may_be_one_number():
    for case in (CASES["label"], CASES["feature"]):
        points, _ = case.points()
        np.testing.assert_array_equal(case.project(points, 0.5), case.project(points, np.full(30, 0.5)))


def test_project_label__integers_are_numbers():
    X = np.random.default_rng(0).integers(-1, 2, (30, 5))
    V, radii = np.random.default_rng(1).integers(-99, 99, (4, 5)), np.full(4, 3)
    expected = project_label(V.astype(float), (X.T @ X).astype(float), radii)
    np.testing.assert_array_equal(project_label(V, X.T @ X, radii), expected)


def test_project__inputs_stay_as_they_were(joint):
    for case in CASES.values():
        points, radii = case.points()
        copies = case.A.copy(), points.copy(), radii.copy()
        case.project(points, radii, joint=joint)
        for array, copy in zip((case.A, points, radii), copies, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    "project",
    [
        partial(project_label, gram=np.eye(40), radii=1.0),
        partial(project_feature, Y=normal(5000, 40), radii=1.0),
    ],
    ids=["label", "feature"],
)
def test_project__memory_is_a_few_copies_of_the_inputs(project, joint):
    cross = normal(5000, 40)
    tracemalloc.start()
    try:
        project(cross, joint=joint)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * cross.nbytes


V, G, Y = normal(3, 6), np.eye(6), normal(3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: project_label(V, np.eye(7), 1.0), r"`gram` must have .* 6 variants .* got 7 x 7"),
        (lambda: project_ellipsoid(V, np.eye(7), 1.0), r"`gram` must have .* 6 variants .* got 7 x 7"),
        (lambda: project_label(V, np.diag([1, 1, 1, 1, 1, -1e-3]), 1.0), "`gram` must be an exact X'X"),
        (lambda: project_feature(V, Y.T, 1.0), r"`Y` must have one row for each of the 3 outcomes .* got 8"),
        (
            lambda: project_label(V, G, np.ones(6)),
            r"`radii` must be one number or 3 numbers, got shape \(6,\)",
        ),
        (
            lambda: project_feature(V, Y, np.ones(3)),
            r"`radii` must be one number or 6 numbers, got shape \(3,\)",
        ),
        (
            lambda: project_label(V, G, np.array([1, -2, 1])),
            "`radii` must be .* at least 0, got -2.0",
        ),
        (lambda: project_feature(V, Y, -0.5), "`radii` must be .* at least 0, got -0.5"),
        (lambda: project_feature(V, Y, np.inf), "`radii` must be .* at least 0, got inf"),
        (lambda: project_label(V * np.nan, G, 1.0), "`cross` must be finite"),
        (lambda: project_ellipsoid(V, np.full((6, 6), np.inf), 1.0), "`gram` must be finite"),
        (lambda: project_feature(V * np.nan, Y, 1.0), "`cross` must be finite"),
        (lambda: project_feature(V, np.where(Y > 1, np.nan, Y), 1.0), "`Y` must be finite"),
    ],
)
def test_project__raise_on_misuse(call, message):
    with pytest.raises(UsageError, match=message):
        call()
