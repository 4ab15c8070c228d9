"""Statistics of dosages: those of calls where they are whole, and sums of products of floats elsewhere."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import DOSAGE_STEP, STEPS_PER_ALLELE, half_coded
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics
from dpgrs.linalg.clipped_statistics import clipped_statistics, count_long_rows, frequency_rows
from dpgrs.linalg.coding import (
    CLIPPED_CROSS_STEP,
    CLIPPED_GRAM_STEP,
    CROSS_STEP,
    GRAM_STEP,
    OUTCOME_STEP,
    column_moments,
    grid_frequency,
)
from dpgrs.linalg.covariates import fractional_statistics
from dpgrs.linalg.norms import outcome_norm, row_norm_of
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.principal_components import LOADING_STEP, project
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.study.training_data import TrainingData
from random_cohorts import random_bits
from refused import refused
from step_settings import settings_for
from variant_sets import variants_in_memory

N_PEOPLE, D = 2500, 7
OPTIONS = {"n_haplotypes": 2 * N_PEOPLE, "rows": "people"}
FREQUENCY = np.linspace(0.05, 0.95, D)
RNG = np.random.default_rng(8)
IS_SELECTED = RNG.random(N_PEOPLE) < 0.7
Y = grid_outcomes(RNG.normal(size=(3, N_PEOPLE)), bound=3.0)
STEPS = RNG.integers(0, 2 * STEPS_PER_ALLELE + 1, (D, N_PEOPLE)).astype(np.uint16)
COVARIATES = RNG.integers(-STEPS_PER_ALLELE, STEPS_PER_ALLELE + 1, (2, N_PEOPLE)).astype(np.int16)
COLUMNS = {4: np.array([0, 2, 3, 6]), D: np.arange(D)}


def whole(bits):
    """Return calls as dosages."""
    counts = 2 * coded_rows(bits, **OPTIONS).T + 2
    return half_coded((counts / 2 * STEPS_PER_ALLELE).astype(np.uint16))


def test_fractional_statistics__of_whole_dosages_are_those_of_calls():
    bits = random_bits(D, 2 * N_PEOPLE)
    terms = {"covariates": None, "Y": dict.fromkeys(COLUMNS, Y), "columns": COLUMNS}
    G, V = fractional_statistics(whole(bits), is_selected=IS_SELECTED, **terms)
    exact = gram(bits, **OPTIONS, is_selected=IS_SELECTED)
    assert np.array_equal(G * CLIPPED_GRAM_STEP, exact * GRAM_STEP)
    for size, columns in COLUMNS.items():
        wanted = cross_product(bits[columns], Y, **OPTIONS, is_selected=IS_SELECTED)
        assert np.array_equal(V[size] * CLIPPED_CROSS_STEP, wanted * CROSS_STEP)


@pytest.mark.parametrize("covariates", [None, COVARIATES])
def test_clipped_statistics__of_whole_dosages_are_those_of_calls(covariates):
    bits = random_bits(D, 2 * N_PEOPLE)
    terms = OPTIONS | {"row_norm": 1.5, "is_selected": IS_SELECTED, "covariates": covariates}
    of_calls = clipped_statistics(bits, FREQUENCY, Y, **terms)
    of_dosages = clipped_statistics(whole(bits), FREQUENCY, Y, **terms)
    assert all(np.array_equal(one, other) for one, other in zip(of_calls, of_dosages, strict=True))
    assert count_long_rows(bits, FREQUENCY, **terms) == count_long_rows(whole(bits), FREQUENCY, **terms)


def test_fractional_statistics__are_sums_of_products():
    dosages = half_coded(STEPS)
    terms = {"covariates": COVARIATES, "Y": dict.fromkeys(COLUMNS, Y), "columns": COLUMNS}
    G, V = fractional_statistics(dosages, is_selected=IS_SELECTED, **terms)
    X = np.vstack([STEPS * DOSAGE_STEP - 1, COVARIATES * DOSAGE_STEP, np.full(N_PEOPLE, 0.5)])[:, IS_SELECTED]
    assert np.allclose(G * CLIPPED_GRAM_STEP, X @ X.T, rtol=1e-12)
    chosen = [*COLUMNS[4], D, D + 1, D + 2]
    wanted = Y[:, IS_SELECTED] * OUTCOME_STEP @ X[chosen].T
    assert np.allclose(V[4] * CLIPPED_CROSS_STEP, wanted, rtol=1e-9, atol=1e-9)


def test_frequency_rows__are_centred_dosages_within_the_norm():
    dosages = half_coded(STEPS)
    free = frequency_rows(dosages, FREQUENCY, row_norm=100.0, **OPTIONS) * DOSAGE_STEP
    assert np.array_equal(free, STEPS.T * DOSAGE_STEP - 2 * grid_frequency(FREQUENCY))
    rows = frequency_rows(dosages, FREQUENCY, row_norm=1.25, **OPTIONS) * DOSAGE_STEP
    assert (np.linalg.norm(rows, axis=1) <= 1.25).all()
    is_short = np.linalg.norm(free, axis=1) <= 1.25
    assert np.array_equal(rows[is_short], free[is_short])
    # Each row by itself.
    alone = frequency_rows(dosages[:, 5:6], FREQUENCY, row_norm=1.25, n_haplotypes=2, rows="people")
    assert np.array_equal(alone[0] * DOSAGE_STEP, rows[5])


def test_project__dosages_as_floats_do():
    loadings = np.rint(RNG.normal(size=(2, D)) / LOADING_STEP) * LOADING_STEP
    means = column_moments(FREQUENCY, rows="people")[0]
    found = project(half_coded(STEPS), loadings, means=means, **OPTIONS)
    assert np.allclose(found, loadings @ (STEPS * DOSAGE_STEP - 1 - means[:, np.newaxis]), atol=1e-9)


@pytest.mark.parametrize("has_covariates", [False, True])
@pytest.mark.parametrize("has_dosages", [False, True])
def test_compute_statistics__of_dosages_and_covariates(tmp_path, monkeypatch, has_dosages, has_covariates):
    """Sums, clips and their counts take all columns; nobody of other people is summed."""
    bits = random_bits(D, 2 * N_PEOPLE)
    genotypes = half_coded(STEPS) if has_dosages else bits
    options = {"n_haplotypes": 2 * N_PEOPLE, "frequency": FREQUENCY}
    variant_set = variants_in_memory(genotypes, of_size=COLUMNS.__getitem__, **options)
    monkeypatch.setattr(statistics_step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    values = dict.fromkeys(COLUMNS, RNG.normal(size=(3, N_PEOPLE)))
    Outcomes(("a", "b", "c"), values, {}, IS_SELECTED, "people").save(tmp_path / "y.npz")
    paths = {"output": tmp_path / "s.npz", "covariates": None}
    settings = settings_for("compute-statistics", outcomes={"count": 3}, privacy={"bounds": "tight"})
    units, own = None, {}
    if has_covariates:
        paths["covariates"], units = tmp_path / "c.npz", COVARIATES
        own = {"n_covariates": 2, "covariate_bound": 3.0}
        Covariates(("age", "sex"), units, np.zeros(2), np.ones(2), 3.0, "people").save(paths["covariates"])
    statistics_step.compute_statistics(settings, "variant_set", tmp_path / "y.npz", **paths)
    found = Statistics.load(tmp_path / "s.npz")
    gridded = {size: grid_outcomes(one, bound=3.0) for size, one in values.items()}
    rows = genotypes if has_dosages else whole(bits)
    G, V = fractional_statistics(rows, covariates=units, Y=gridded, columns=COLUMNS, is_selected=IS_SELECTED)
    np.testing.assert_allclose(found.gram * found.gram_step, G * CLIPPED_GRAM_STEP, rtol=1e-12)
    np.testing.assert_allclose(found.cross[4] * found.cross_step, V[4] * CLIPPED_CROSS_STEP, rtol=1e-12)
    assert found.n_covariates == own.get("n_covariates", 0)
    assert found.covariate_bound == own.get("covariate_bound")
    part, columns = found.clipped[4, 3], COLUMNS[4]
    assert part.row_norm == row_norm_of(FREQUENCY[columns], rows="people", factor=1.0, **own)
    zero = np.append(column_moments(grid_frequency(FREQUENCY[columns]), rows="people")[0], np.zeros(len(own)))
    np.testing.assert_array_equal(found.origin[4], zero)
    options = OPTIONS | {"row_norm": part.row_norm, "is_selected": IS_SELECTED, "covariates": units}
    assert part.outcome_norm == outcome_norm(3, factor=1.05, bound=3.0)
    shrunk = grid_outcomes(values[4], bound=3.0, row_norm=part.outcome_norm)
    of_norm = clipped_statistics(genotypes[columns], FREQUENCY[columns], shrunk, **options)
    np.testing.assert_array_equal(part.gram, of_norm[0])
    np.testing.assert_array_equal(part.cross, of_norm[1])
    n_long = count_long_rows(genotypes[columns], FREQUENCY[columns], **options)
    n_shrunk = np.count_nonzero((shrunk != gridded[4])[:, IS_SELECTED].any(axis=0))
    assert found.clips.rows[4, 3].tolist() == [n_long, n_shrunk]
    if has_covariates:
        others = Covariates(("age", "sex"), units[:, 1:], np.zeros(2), np.ones(2), 3.0, "people")
        others.save(paths["covariates"])
        with refused("people-differ"):
            statistics_step.compute_statistics(settings, "variant_set", tmp_path / "y.npz", **paths)


def test_compute_statistics__raise_on_dosages_under_other_bounds(monkeypatch):
    class Fake:
        has_dosages, n_samples = True, N_PEOPLE

    values = {"VariantSet": Fake, "Outcomes": SimpleNamespace(loadings=None), "Covariates": None}
    for name, value in values.items():
        opener = type(
            name, (), {"open": lambda path, value=value: value, "load": lambda path, value=value: value}
        )
        monkeypatch.setattr(statistics_step, name, opener)
    with refused("bounds-not-tight", error=UsageError):
        statistics_step.compute_statistics(settings_for("compute-statistics"), None, None, output=None)


def test_training_data__raise_where_sums_are_others_than_the_request_says(tmp_path):
    terms = {"covariates": None, "Y": {4: Y}, "columns": {4: COLUMNS[4]}}
    G, V = fractional_statistics(half_coded(STEPS), is_selected=IS_SELECTED, **terms)
    steps = {"gram_step": CLIPPED_GRAM_STEP, "cross_step": CLIPPED_CROSS_STEP}
    known = {"n_rows": 9, "n_observed": np.array([9, 9]), "rows": "people", "outcome_bound": 3.0}
    Statistics(gram=G, cross=V, columns={4: COLUMNS[4]}, **known, **steps).save(tmp_path / "statistics.npz")
    Outcomes(("a", "b"), {4: Y}, {}, IS_SELECTED, "people").save(tmp_path / "outcomes.zarr")
    data = TrainingData(tmp_path / "outcomes.zarr", statistics=tmp_path / "statistics.npz")
    bounds = {"outcome_bound": 3.0, "epsilon": 1.0, "delta": 1e-6}
    request = PrivacyRequest(rows="people", n_variants=4, n_outcomes=2, **bounds)
    # Nothing was clipped for two outcomes: such a request is about calls, whose unit is 2^22 times as large.
    with refused("statistics-not-tight", error=UsageError):
        data.sums(request, 2)
    for other in ({"outcome_bound": 2.0}, {"rows": "haplotypes"}):
        with refused("statistics-of-other-terms"):
            data.sums(replace(request, **other), 2)
