"""Covariates as columns of X: entries on their grid, exact sums, claims, and principal components."""

import math
import re
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import WEIGHT_STEP, accuracy_sums
from dpgrs.genotypes.bits import pack
from dpgrs.io.loadings import read_loadings, write_loadings
from dpgrs.linalg.clipped_statistics import (
    clipped_cross_product,
    clipped_gram,
    clipped_statistics,
    frequency_rows,
)
from dpgrs.linalg.coding import (
    CLIPPED_CROSS_STEP,
    CLIPPED_GRAM_STEP,
    GENOTYPE_STEP,
    OUTCOME_STEP,
    column_moments,
    entry_scale,
)
from dpgrs.linalg.covariates import covariate_units, with_covariates
from dpgrs.linalg.norms import row_norm_of, tight_row_norm
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.principal_components import LOADING_STEP, project, reference_loadings, wide_loadings
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.sensitivity import cross_sensitivity, gram_sensitivity
from random_cohorts import half_coded, random_alleles, random_bits
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW

ROWS = ["haplotypes", "people"]
LARGEST = {"haplotypes": 2**11, "people": 2**12}
N_HAPLOTYPES, N_VARIANTS = 150, 5
VALUES = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, -3.0, 3.0, 0.0])


def n_rows(rows):
    return N_HAPLOTYPES if rows == "haplotypes" else N_HAPLOTYPES // 2


def random_covariates(rows, n_covariates=2):
    Z = np.random.default_rng(3).standard_normal((n_covariates, n_rows(rows)))
    Z[0, ::7] = np.nan
    return covariate_units(Z, bound=2.0, rows=rows)


def random_outcomes(rows):
    return grid_outcomes(np.random.default_rng(1).standard_normal((2, n_rows(rows))), bound=3.0)


@pytest.mark.parametrize("rows", ROWS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(z=st.lists(VALUES, min_size=1, max_size=5), bound=st.floats(0.1, 50))
def test_covariate_units__are_clipped_rounded_towards_zero_and_by_entry(rows, z, bound):
    units = covariate_units(np.array([z]), bound=bound, rows=rows)
    assert units.dtype == np.int16
    for value, unit in zip(z, units[0], strict=True):
        alone = covariate_units(np.array([[value]]), bound=bound, rows=rows)
        assert alone[0, 0] == unit
        exact = 0.0 if math.isnan(value) else max(-bound, min(value, bound)) / bound * LARGEST[rows]
        assert abs(unit) <= LARGEST[rows]
        assert abs(unit) <= abs(exact) * (1 + 1e-12)
        assert abs(unit - exact) <= 1 + 1e-9


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_covariate_units__raise_on_bound(wrong):
    with refused("covariate-bound-not-positive", "`covariates.bound`", error=UsageError):
        covariate_units(np.zeros((1, 2)), bound=wrong, rows="people")


@pytest.mark.parametrize("rows", ROWS)
def test_with_covariates__equals_plain_float_sums(rows):
    alleles, units, Y = (
        random_alleles(N_VARIANTS, N_HAPLOTYPES),
        random_covariates(rows),
        random_outcomes(rows),
    )
    is_selected = np.random.default_rng(2).random(n_rows(rows)) < 0.7
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows, "is_selected": is_selected}
    bits, small = pack(alleles), np.array([1, 3])
    cross = {5: cross_product(bits, Y, **options), 2: cross_product(bits[small], Y, **options)}
    given = {"bits": bits, "covariates": units, "Y": {5: Y, 2: Y}, **options}
    G, V = with_covariates(gram(bits, **options), cross, **given)
    X = half_coded(alleles, rows=rows)[is_selected]
    X = np.column_stack([X[:, :-1], units[:, is_selected].T * GENOTYPE_STEP, X[:, -1]])
    y = Y[:, is_selected] * OUTCOME_STEP
    assert {sums.dtype for sums in (G, *V.values())} == {np.dtype(np.int64)}
    np.testing.assert_array_equal(G * CLIPPED_GRAM_STEP, X.T @ X)
    np.testing.assert_allclose(V[5] * CLIPPED_CROSS_STEP, y @ X, rtol=0, atol=1e-9)
    np.testing.assert_allclose(V[2] * CLIPPED_CROSS_STEP, y @ X[:, [1, 3, 5, 6, 7]], rtol=0, atol=1e-9)
    fit = fit_ridge(G, V[5], len(X), gram_step=CLIPPED_GRAM_STEP, cross_step=CLIPPED_CROSS_STEP, penalty=0.0)
    best = np.linalg.lstsq(np.column_stack([X[:, :-1], np.ones(len(X))]), y.T, rcond=None)[0]
    np.testing.assert_allclose(fit.weights, best[:-1].T, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", ROWS)
def test_clipped_statistics__with_covariates_whatever_the_chunks_and_the_order_of_outcomes(rows, monkeypatch):
    bits, units, Y = random_bits(N_VARIANTS, N_HAPLOTYPES), random_covariates(rows), random_outcomes(rows)
    frequency = np.linspace(0.1, 0.9, N_VARIANTS)
    options = {"row_norm": 1.2, "n_haplotypes": N_HAPLOTYPES, "rows": rows, "covariates": units}
    X = frequency_rows(bits, frequency, **options)
    assert X.shape == (n_rows(rows), N_VARIANTS + 2)
    whole = clipped_gram(X), clipped_cross_product(X, Y)
    monkeypatch.setattr("dpgrs.linalg.clipped_statistics.ROW_BLOCK", 64)
    G, V = clipped_statistics(bits, frequency, Y, **options)
    np.testing.assert_array_equal(G, whole[0])
    np.testing.assert_array_equal(V, whole[1])
    np.testing.assert_array_equal(clipped_statistics(bits, frequency, Y[::-1], **options)[1], V[::-1])


@pytest.mark.parametrize("rows", ROWS)
@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), d=st.integers(1, 4), c=st.integers(1, 3), row_norm=st.floats(0.1, 5))
def test_sensitivities__hold_for_any_rows_with_covariates(rows, data, d, c, row_norm):
    n_alleles = 1 if rows == "haplotypes" else 2
    frequency = np.array(data.draw(st.lists(st.floats(0, 1), min_size=d, max_size=d)))
    relation = {"rows": rows, "unit": UNIT_OF_A_ROW[rows], "row_norm": row_norm}

    def row():
        alleles = data.draw(st.lists(st.integers(0, 1), min_size=d * n_alleles, max_size=d * n_alleles))
        z = data.draw(st.lists(VALUES, min_size=c, max_size=c))
        return frequency_rows(
            pack(np.reshape(alleles, (d, n_alleles))),
            frequency,
            row_norm=row_norm,
            n_haplotypes=n_alleles,
            rows=rows,
            covariates=covariate_units(np.reshape(z, (c, 1)), bound=3.0, rows=rows),
        )

    first, second = row(), row()
    upper = np.triu_indices(d + c + 1)
    released = [clipped_gram(X)[upper][:-1] * CLIPPED_GRAM_STEP for X in (first, second)]
    for neighbours, moved in (("add-remove", released[0]), ("replace-one", released[0] - released[1])):
        assert np.linalg.norm(moved) <= gram_sensitivity(d + c, neighbours=neighbours, **relation).value
    y = grid_outcomes(np.array([[3.0]]), bound=3.0)
    crosses = [clipped_cross_product(X, y)[:, :-1] * CLIPPED_CROSS_STEP for X in (first, second)]
    terms = {"neighbours": "replace-one", "outcome_bound": 3.0, "protection": "feature", **relation}
    claim = cross_sensitivity(d + c, 1, **terms)
    assert np.linalg.norm(crosses[0] - crosses[1]) <= claim.value


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_gram_sensitivity__is_attained_by_a_row_with_a_covariate(neighbours):
    relation = {"rows": "people", "neighbours": neighbours, "unit": "person", "row_norm": 3.0}
    options = {"row_norm": 3.0, "n_haplotypes": 2, "rows": "people"}
    units = covariate_units(np.array([[9.0]]), bound=3.0, rows="people")
    rare = np.zeros(4)
    rows = [
        frequency_rows(pack(np.array(alleles).reshape(4, 2)), rare, covariates=sign * units, **options)
        for alleles, sign in (([1, 1, 1, 1, 0, 0, 0, 0], 1), ([0, 0, 0, 0, 1, 1, 1, 1], 0))
    ]
    first, second = (clipped_gram(X)[np.triu_indices(6)][:-1] * CLIPPED_GRAM_STEP for X in rows)
    claim = gram_sensitivity(5, **relation).value
    if neighbours == "add-remove":
        assert np.linalg.norm(first) == pytest.approx(claim, rel=1e-12)
    else:
        assert 0.9 * claim < np.linalg.norm(first - second) <= claim


def test_tight_row_norm__adds_the_public_squares_of_covariates():
    frequency = np.array([0.1, 0.5])
    square = 3 * entry_scale(bound=3.0, rows="haplotypes") ** 2
    found = tight_row_norm(frequency, rows="haplotypes", factor=1.0, covariate_square=square)
    assert found == pytest.approx(math.sqrt(0.09 + 0.25 + 3 / 36), abs=GENOTYPE_STEP)
    terms = {"rows": "haplotypes", "factor": 1.0}
    assert row_norm_of(frequency, n_covariates=3, covariate_bound=3.0, **terms) == found
    assert row_norm_of(frequency, **terms) == tight_row_norm(frequency, **terms)


TERMS = {"rows": "people", "n_variants": 4, "n_outcomes": 2, "outcome_bound": 3.0, "coding": "frequency"}
REQUEST = PrivacyRequest(**TERMS, epsilon=1.0, delta=1e-6, row_norm=2.0)


def test_request__counts_covariates_as_columns_and_tells_draws_apart():
    wider = replace(REQUEST, n_covariates=3, covariate_bound=3.0)
    assert wider.n_columns == 7
    assert wider.gram_claim.value == gram_sensitivity(7, row_norm=2.0, **REQUEST.relation).value
    assert wider.key[: len(REQUEST.key)] == REQUEST.key
    # What a study has not leaves its noise as it is.
    left_out = re.compile("covariate|counts|case|ld_share")
    terms = [value for name, value in asdict(REQUEST).items() if not left_out.search(name)]
    assert REQUEST.key == tuple(map(str, terms))
    assert wider.key != replace(wider, covariate_bound=4.0).key


@pytest.mark.parametrize(
    "wrong", [{"coding": "half", "row_norm": None, "covariate_bound": 3.0}, {"covariate_bound": None}]
)
def test_request__raise_on_covariates_in_half_coding_or_without_a_bound(wrong):
    with refused("bounds-not-tight", "`privacy.bounds`", "`covariates`", error=UsageError):
        replace(REQUEST, n_covariates=1, **wrong)


def test_accuracy_sums__predict_with_covariates_row_by_row():
    alleles, units = random_alleles(N_VARIANTS, N_HAPLOTYPES), random_covariates("people")
    X = coded_rows(pack(alleles), n_haplotypes=N_HAPLOTYPES, rows="people")
    Y = np.random.default_rng(4).standard_normal((2, len(X)))
    weights = np.random.default_rng(5).standard_normal((2, N_VARIANTS + 3)) / 4
    gridded = np.rint(weights / WEIGHT_STEP).astype(np.int64)
    bounds = {"outcome_bound": 3.0, "residual_bound": 3.0}
    sums = accuracy_sums(Y, X, gridded, covariates=units, **bounds)
    all_columns = np.column_stack([X, units.T * GENOTYPE_STEP, np.ones(len(X))])
    residuals = Y.clip(-3, 3) - weights @ all_columns.T
    expected = (residuals.clip(-3, 3) ** 2).sum(axis=1)
    np.testing.assert_allclose(sums[0] * OUTCOME_STEP, expected, rtol=2e-3)
    halves = [
        accuracy_sums(Y[:, half], X[half], gridded, covariates=units[:, half], **bounds)
        for half in (slice(0, 31), slice(31, None))
    ]
    np.testing.assert_array_equal(sums, halves[0] + halves[1])


@pytest.fixture
def reference():
    """Rows of a reference in `half` coding with structure, their bits and frequencies."""
    rng = np.random.default_rng(8)
    shift = np.repeat([0.0, 0.4], 60)
    alleles = (rng.random((12, 120)) < 0.3 + shift * (np.arange(12) % 2)[:, np.newaxis]).astype(np.uint8)
    alleles[5] = 0
    return pack(alleles), alleles.mean(axis=1)


@pytest.mark.parametrize("rows", ROWS)
def test_reference_loadings__components_have_unit_variance_and_a_sign(reference, rows):
    bits, frequency = reference
    X = coded_rows(bits, n_haplotypes=120, rows=rows)
    loadings = reference_loadings(X, frequency, n_components=3, rows=rows)
    means, variances = column_moments(frequency, rows=rows)
    Z = project(bits, loadings, means=means, n_haplotypes=120, rows=rows)
    np.testing.assert_allclose(Z.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose((Z**2).mean(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(Z @ Z.T / Z.shape[1], np.eye(3), atol=1e-3)
    assert (loadings[:, 5] == 0).all()
    scaled = (X - means)[:, variances > 0] / np.sqrt(variances[variances > 0])
    _, _, Vt = np.linalg.svd(scaled)
    cosines = np.abs((loadings * np.sqrt(variances))[:, variances > 0] @ Vt[:3].T)
    np.testing.assert_allclose(cosines / cosines.max(axis=1, keepdims=True), np.eye(3), atol=1e-3)
    largest = np.abs(loadings * np.sqrt(variances)).argmax(axis=1)
    assert (loadings[range(3), largest] > 0).all()


@pytest.mark.parametrize("rows", ROWS)
def test_wide_loadings__are_those_of_all_variants_together(reference, rows, monkeypatch):
    bits, frequency = reference
    X = coded_rows(bits, n_haplotypes=120, rows=rows)
    monkeypatch.setattr("dpgrs.linalg.principal_components.WIDE_BLOCK", 5)
    terms = {"n_components": 3, "rows": rows}
    found = wide_loadings(lambda block: X[:, block], frequency, n_rows=len(X), **terms)
    np.testing.assert_allclose(found, reference_loadings(X, frequency, **terms), atol=2 * LOADING_STEP)
    for n_components, n_rows in ((13, len(X)), (12, len(X)), (6, 5)):
        with refused("too-many-components", "`covariates.pcs`", error=UsageError):
            terms["n_components"] = n_components
            wide_loadings(lambda block, n=n_rows: X[:n, block], frequency, n_rows=n_rows, **terms)


@pytest.mark.parametrize("rows", ROWS)
def test_project__a_row_is_what_it_is_alone(reference, rows, monkeypatch):
    bits, frequency = reference
    loadings = np.rint(np.random.default_rng(2).standard_normal((2, 12)) / LOADING_STEP) * LOADING_STEP
    means = column_moments(frequency, rows=rows)[0]
    whole = project(bits, loadings, means=means, n_haplotypes=120, rows=rows)
    X = coded_rows(bits, n_haplotypes=120, rows=rows)
    np.testing.assert_allclose(whole, loadings @ (X - means).T, atol=1e-12)
    first_word = bits[:, :1]
    for name, value in (("VARIANT_BLOCK", 5), ("PROJECTED_ENTRIES", 2 * 64)):
        monkeypatch.setattr(f"dpgrs.linalg.principal_components.{name}", value)
        part = project(first_word, loadings, means=means, n_haplotypes=64, rows=rows)
        np.testing.assert_array_equal(part, whole[:, : part.shape[1]])


def test_reference_loadings__raise_on_more_components_than_directions(reference):
    bits, frequency = reference
    X = coded_rows(bits, n_haplotypes=120, rows="people")
    with refused("too-many-components", "`covariates.pcs`", "got 13", error=UsageError):
        reference_loadings(X, frequency, n_components=13, rows="people")
    with refused("too-many-components", "`covariates.pcs`", "got 12", error=UsageError):
        reference_loadings(X, frequency, n_components=12, rows="people")
    with refused("too-many-components", "`covariates.pcs`", "got 6", error=UsageError):
        reference_loadings(X[:5], frequency, n_components=6, rows="people")


def test_reference_loadings__raise_on_directions_that_are_rounding():
    for seed in range(20):
        alleles = np.random.default_rng(seed).integers(0, 2, (2, 60))
        X = np.repeat(alleles.T - 0.5, 150, axis=1)
        frequency = np.repeat(alleles.mean(axis=1), 150)
        with refused("too-many-components", "`covariates.pcs`", "got 3", error=UsageError):
            reference_loadings(X, frequency, n_components=3, rows="haplotypes")


def test_project__raise_on_loadings_off_their_grid():
    with refused("loadings-off-grid", error=UsageError):
        project(random_bits(1, 4), np.array([[0.1]]), means=np.zeros(1), n_haplotypes=4, rows="people")


def test_project__is_exact_up_to_the_largest_loadings():
    bits, options = random_bits(2, 40), {"n_haplotypes": 40, "rows": "people"}
    loadings = np.array([[2.0**40 - 1, -(2.0**40) - 1]]) * LOADING_STEP
    found = project(bits, loadings, means=np.zeros(2), **options)
    np.testing.assert_array_equal(found, loadings @ coded_rows(bits, **options).T)
    with refused("loadings-off-grid", error=UsageError):
        project(bits, loadings + np.array([LOADING_STEP, 0]), means=np.zeros(2), **options)
    # Of each component by itself.
    twice = project(bits, np.repeat(loadings, 2, axis=0), means=np.zeros(2), **options)
    np.testing.assert_array_equal(twice, np.repeat(found, 2, axis=0))
    assert project(bits, loadings[:0], means=np.zeros(2), **options).shape == (0, 20)


def test_loadings__come_back_exactly_and_find_their_sites(tmp_path):
    path = tmp_path / "pca_loadings.tsv"
    variants = pd.DataFrame({"contig": "1", "position": [5, 9, 7], "ref": "A", "alt": "NA", "id": "."})
    values = np.rint(np.random.default_rng(1).standard_normal((2, 3)) / LOADING_STEP) * LOADING_STEP
    write_loadings(path, variants, np.array([0.1, 0.2, 0.3]), values)
    found = read_loadings(path)
    np.testing.assert_array_equal(found.values, values)
    assert found.names == ("PC1", "PC2")
    assert found.rows_in(variants.iloc[::-1]).tolist() == [2, 1, 0]
    with refused("loadings-of-other-variants"):
        found.rows_in(variants.iloc[:2])
    path.write_text("contig\tposition\n1\tx\n")
    with refused("not-loadings"):
        read_loadings(path)
