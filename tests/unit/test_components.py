"""Components of outcomes: a map of each row by itself, in integers, and weights mapped back."""

import os
import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg import components as module
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.components import MAP_STEP, component_map, components_of, mapped_loadings
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.privacy.sensitivity import cross_sensitivity
from refused import refused

BOUND = 3.0


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def loadings(rng, n_outcomes, n_components, *, share=(0.3, 0.9)):
    """Draw loadings that carry shares of the variance between two numbers."""
    L = rng.standard_normal((n_outcomes, n_components))
    return L * np.sqrt(rng.uniform(*share, n_outcomes) / (L**2).sum(axis=1))[:, np.newaxis]


def cohort(rng, L, n_rows):
    """Draw components and outcomes by the model that loadings state."""
    Z = rng.standard_normal((L.shape[1], n_rows))
    residual_sd = np.sqrt(1 - (L**2).sum(axis=1))[:, np.newaxis]
    return Z, L @ Z + residual_sd * rng.standard_normal((len(L), n_rows))


def test_component_map__is_generalised_least_squares_of_variance_one(rng):
    L = loadings(rng, 12, 3)
    psi = 1 - (L**2).sum(axis=1)
    inverse = np.linalg.inv(L.T @ np.diag(1 / psi) @ L)
    scale = np.sqrt(1 + np.diag(inverse))
    A = component_map(L) * MAP_STEP
    np.testing.assert_allclose(A, np.diag(1 / scale) @ inverse @ L.T / psi, atol=MAP_STEP)
    covariance = L @ L.T + np.diag(psi)
    np.testing.assert_allclose(np.diag(A @ covariance @ A.T), 1, atol=1e-5)


def test_mapped_loadings__give_effects_within_the_loadings_back(rng):
    L, effects = loadings(rng, 12, 3), rng.standard_normal((3, 5))
    back = mapped_loadings(L) @ (component_map(L) * MAP_STEP) @ (L @ effects)
    np.testing.assert_allclose(back, L @ effects, atol=1e-5)


def test_component_map__of_loadings_that_carry_all_is_the_pseudo_inverse(rng):
    L = loadings(rng, 8, 2, share=(1, 1))
    A = component_map(L) * MAP_STEP
    wanted = np.linalg.pinv(L)
    np.testing.assert_allclose(A / wanted, np.ones_like(A) * (A / wanted)[:, :1], rtol=1e-4)


# On the grid, off it, and so large that the last bit of a map shows.
@pytest.mark.parametrize("bound", [BOUND, 2.99999, 999.9])
def test_components_of__is_what_integers_give(rng, bound):
    L, Y = loadings(rng, 6, 2), bound / 2 * rng.standard_normal((6, 40))
    Y[rng.uniform(size=Y.shape) < 0.2] = np.nan
    found, limit = components_of(Y, L, bound=bound), int(bound / OUTCOME_STEP)
    forth, back = (
        np.rint(one).astype(np.int64).tolist() for one in (component_map(L), mapped_loadings(L) / MAP_STEP)
    )

    def mapped(A, units):
        exact = (sum(map(int.__mul__, entries, units)) * Fraction(MAP_STEP) for entries in A)
        return [max(-limit, min(limit, int(one))) for one in exact]

    for row, own in enumerate(Y.T):
        units = [int(max(-bound, min(bound, value)) / OUTCOME_STEP) for value in np.nan_to_num(own)]
        wanted = mapped(forth, units)
        for _ in range(module.FILLS):
            filled = mapped(back, wanted)
            units = [filled[one] if np.isnan(own[one]) else units[one] for one in range(6)]
            wanted = mapped(forth, units)
        assert (found[:, row] / OUTCOME_STEP).tolist() == wanted


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_components_of__a_row_hangs_on_no_other(rng, monkeypatch, missing):
    monkeypatch.setattr(module, "ROW_BLOCK", 16)
    L, Y = loadings(rng, 30, 4), rng.standard_normal((30, 50))
    Y[rng.uniform(size=Y.shape) < missing] = np.nan
    whole = components_of(Y, L, bound=BOUND)
    for row in range(50):
        np.testing.assert_array_equal(components_of(Y[:, [row]], L, bound=BOUND), whole[:, [row]])
    order = rng.permutation(30)
    np.testing.assert_array_equal(components_of(Y[order], L[order], bound=BOUND), whole)


ONE_MACHINE = """
import hashlib
import numpy as np
from dpgrs.linalg.components import component_map, mapped_loadings

rng = np.random.default_rng(1)
L = rng.standard_normal((200, 10))
L[:, 1] = L[:, 0] + 1e-4 * rng.standard_normal(200)  # which roundings hardly tell apart
L *= np.sqrt(rng.uniform(0.3, 0.9, 200) / (L**2).sum(axis=1))[:, np.newaxis]
maps = [one(np.round(L, 4)) for one in (component_map, mapped_loadings)]
print([hashlib.sha256(one.tobytes()).hexdigest() for one in maps])
"""
# As BLAS and numpy compute on processors of these kinds.
PROCESSORS = [
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"},
]


def test_maps__are_the_same_bits_on_every_processor():
    """Shards of one cohort are mapped on several machines."""
    found = {
        subprocess.run(
            [sys.executable, "-c", ONE_MACHINE],
            env=os.environ | of,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for of in PROCESSORS
    }
    assert len(found) == 1


def test_components_of__neighbours_differ_by_what_is_claimed(rng):
    """X'Y of all rows with outcomes at both bounds, within them and missing, less that of one row fewer."""
    L = np.array([[0.9, 0.1], [0.5, -0.6], [0.2, 0.8]])
    values = (-9.0, -0.4, 0.0, 2.0, 9.0, np.nan)
    Y = np.array(list(product(values, repeat=3))).T
    norm = 1.5
    Z = clipped_outcomes(components_of(Y, L, bound=BOUND), bound=BOUND, norm=norm, n_shared=2) * OUTCOME_STEP
    X = np.array(list(product((-0.5, 0.5), repeat=2)))
    products = np.einsum("rn,xd->nxrd", Z, X).reshape(-1, 4)
    terms = {"rows": "haplotypes", "unit": "haplotype", "outcome_bound": BOUND, "outcome_norm": norm}
    one, two = (
        cross_sensitivity(2, 2, neighbours=neighbours, **terms).value
        for neighbours in ("add-remove", "replace-one")
    )
    assert 0.999 * one < np.linalg.norm(products, axis=1).max() <= one
    assert 0.999 * two < np.linalg.norm(products[:, np.newaxis] - products, axis=2).max() <= two


@pytest.mark.parametrize("missing", [0.1, 0.3, 0.5])
def test_components_of__missing_outcomes_do_not_shrink_them(rng, missing):
    L = loadings(rng, 100, 5)
    Z, Y = cohort(rng, L, 2000)
    whole = components_of(Y, L, bound=BOUND)
    Y[rng.uniform(size=Y.shape) < missing] = np.nan
    found = components_of(Y, L, bound=BOUND)
    slopes = [(one * Z).sum(axis=1) / (Z**2).sum(axis=1) for one in (whole, found)]
    np.testing.assert_allclose(slopes[1], slopes[0], atol=0.03)


def test_components_of__of_nothing_known_is_0(rng):
    L = loadings(rng, 5, 2)
    np.testing.assert_array_equal(components_of(np.full((5, 3), np.nan), L, bound=BOUND), np.zeros((2, 3)))


def test_components_of__raise_on_sums_beyond_the_integers():
    L = np.full((400, 1), 1e-3)
    components_of(np.zeros((400, 1)), L, bound=BOUND)
    with refused("component-map-too-large", "`outcomes.bound`", error=UsageError):
        components_of(np.zeros((400, 1)), L, bound=1000.0)
    most = module.LARGEST_SUM * OUTCOME_STEP / np.abs(component_map(L)).sum()
    components_of(np.zeros((400, 1)), L, bound=most * (1 - 2.0**-29))
    with refused("component-map-too-large", error=UsageError):  # so near to it, a sum may be rounded
        components_of(np.zeros((400, 1)), L, bound=most * (1 - 2.0**-32))
    # Of each component by itself, and over its outcomes forth, but over components back.
    components_of(np.zeros((40, 1)), 0.9 * np.eye(40), bound=1000.0)
    components_of(np.zeros((400, 1)), np.full((400, 1), 0.9), bound=1000.0)


@pytest.mark.parametrize("apart", [1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 0.0])
@pytest.mark.parametrize("n_components", [2, 3])
def test_components_of__raise_where_components_can_hardly_be_told_apart(rng, apart, n_components):
    """Not that maps which are no numbers, or too large for integers, pass for small ones."""
    first, third = rng.uniform(0.3, 0.5, 7), rng.uniform(-0.5, 0.5, 7)
    L = np.column_stack([first, first + apart * rng.standard_normal(7), third])[:, :n_components]
    with refused("component-map-too-large", error=UsageError):
        components_of(rng.standard_normal((7, 4)), L, bound=BOUND)


def test_components_of__of_hardly_any_loading_is_exact_or_refused(rng):
    for size in 10.0 ** -np.arange(1, 200, 6):
        L, Y = np.column_stack([np.full(5, 0.5), size * rng.standard_normal(5)]), rng.standard_normal((5, 9))
        try:
            whole = components_of(Y, L, bound=BOUND)
        except UsageError:
            assert size < 1e-100
            continue
        assert np.abs(component_map(L)).max() * MAP_STEP < 1 / np.sqrt(0.05)
        np.testing.assert_array_equal(components_of(Y[:, [4]], L, bound=BOUND), whole[:, [4]])


def test_components_of__is_the_least_squares_of_the_known_in_the_end(rng, monkeypatch):
    L, Y = loadings(rng, 20, 3), rng.standard_normal((20, 6)) / 2
    Y[:7, 2:] = np.nan
    monkeypatch.setattr(module, "FILLS", 200)
    found = components_of(Y, L, bound=BOUND)
    psi, scale = 1 - (L**2).sum(axis=1), (mapped_loadings(L) / L)[0]
    for row in range(6):
        known = ~np.isnan(Y[:, row])
        W = L[known].T / psi[known]
        np.testing.assert_allclose(
            found[:, row] * scale, np.linalg.solve(W @ L[known], W @ Y[known, row]), atol=1e-3
        )


def test_of_outcomes__maps_predictions_back(rng):
    L = mapped_loadings(loadings(rng, 6, 2))
    fit = LinearFit(
        rng.standard_normal((2, 4)), rng.standard_normal(4), np.array([0.1, 0.2]), np.ones((2, 4))
    )
    X = rng.standard_normal((5, 4))
    mapped = fit.of_outcomes(L)
    np.testing.assert_allclose(mapped.predict(X), L @ fit.predict(X))
    assert mapped.standard_errors is None
    assert fit.of_outcomes(None) is fit


def test_components_of__is_pinned():
    """What is drawn hangs on each constant: a change of one must raise `MECHANISM_VERSION`."""
    L = np.array([[0.9, 0.1], [0.5, -0.6], [0.2, 0.97]])
    Y = np.array([[1.5, np.nan, -9.0], [0.3, -2.0, np.nan], [np.nan, 1.0, np.nan]])
    found = components_of(Y, L, bound=BOUND) / OUTCOME_STEP
    assert found.tolist() == [[91156, -118879, -196608], [10104, 92539, 40855]]
    assert component_map(L).tolist() == [[14266459, 4550943, 1344247], [-2302413, -2148842, 15732963]]
