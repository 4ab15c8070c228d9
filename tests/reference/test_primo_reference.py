"""The projections of PRIMO against a generic constrained solver, and against answers made by other code."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpgrs.linalg.projection import project_ellipsoid, project_feature, project_label


def solved(A, v, radius):
    """Minimise ||A'z - v||^2 subject to ||z||^2 <= radius^2 by SLSQP from z = 0; return A'z."""
    result = minimize(
        lambda z: 0.5 * np.sum((z @ A - v) ** 2),
        np.zeros(len(A)),
        jac=lambda z: A @ (z @ A - v),
        constraints={
            "type": "ineq",
            "fun": lambda z: 0.5 * (radius**2 - z @ z),
            "jac": lambda z: -z,
        },
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return result.x @ A


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def of_rank_2(*shape):
    return normal(shape[0], 2) @ normal(2, shape[1], seed=1)


# The first bound holds only the shorter points, the second none of them.
MATRICES = [normal(9, 4), normal(3, 5), of_rank_2(6, 4)]
RADII = [np.array([2.0, 0.5, 1.0]), np.array([0.1, 0.0, 0.2])]
every_matrix = pytest.mark.parametrize("A", MATRICES, ids=["tall", "wide", "rank 2"])
every_radius = pytest.mark.parametrize("radii", RADII, ids=["some outside", "all outside"])


def assert_solved(projected, A, points, radii, *, joint):
    if joint:
        big = np.kron(np.eye(len(points)), A)
        expected = solved(big, points.ravel(), np.linalg.norm(radii)).reshape(points.shape)
    else:
        expected = np.array([solved(A, v, r) for v, r in zip(points, radii, strict=True)])
    np.testing.assert_allclose(projected, expected, atol=1e-6)


@every_matrix
@every_radius
@pytest.mark.parametrize("joint", [False, True], ids=["separate", "joint"])
@pytest.mark.parametrize("protection", ["label", "feature"])
def test_project__equals_generic_solver(protection, A, radii, joint):
    points = normal(3, A.shape[1], seed=2) * np.array([[1.0], [3.0], [0.3]])
    if protection == "label":
        projected = project_label(points, A.T @ A, radii, joint=joint)
    else:
        projected = project_feature(points.T, A.T, radii, joint=joint).T
    assert_solved(projected, A, points, radii, joint=joint)


@every_radius
def test_project_ellipsoid__equals_generic_solver(radii):
    U = np.linalg.qr(normal(4, 4))[0]
    eigenvalues = np.array([-2.0, 0.5, 1.0, 4.0])
    points = normal(3, 4, seed=2)
    A = np.sqrt(np.maximum(eigenvalues, 0))[:, np.newaxis] * U.T
    projected = project_ellipsoid(points, (U * eigenvalues) @ U.T, radii)
    assert_solved(projected, A, points, radii, joint=False)


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "primo.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


@pytest.mark.realdata
def test_project_label__equals_reference_answers(answers):
    X = answers["X"]
    projected = project_label(answers["V"].T, X.T @ X, answers["label_radius"])
    np.testing.assert_allclose(projected, answers["label_projection"].T, rtol=1e-9, atol=1e-9)


@pytest.mark.realdata
def test_project_feature__equals_reference_answers(answers):
    projected = project_feature(answers["V"].T, answers["Y"].T, answers["feature_radius"])
    np.testing.assert_allclose(projected, answers["feature_projection"].T, rtol=1e-9, atol=1e-9)
