"""Rows of fractions: of calls they give what bits give, and data make the noise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.genotypes.dosages import STEPS_PER_ALLELE, fill_dosages, half_coded
from dpgrs.linalg.clipped_statistics import frequency_rows
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import half_units
from dpgrs.linalg.steering import MATRIX_STEP, SteerableRows, Steering
from dpgrs.methods.chosen import private_choices, private_chosen_statistics
from dpgrs.methods.chosen_exactly import fit_chosen_exactly
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.steered import steered_request
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.selection.dp_kendall import Kendall, TablePairs, pairs_of
from dpgrs.selection.registry import SELECTORS
from dpgrs.selection.screening_data import ScreeningData
from dpgrs_papers.methods.row_fits import BOOSTED
from dpgrs_papers.methods.row_mechanisms import fit_chosen_rows
from dpgrs_papers.methods.sketch import SketchRequest, private_sketch
from dpgrs_papers.selection.dp_sis import study_scores
from random_cohorts import random_bits
from row_enumeration import RELATIONS, largest_distance

N_PEOPLE, N_VARIANTS = 60, 4
PRIVATE = [name for name, row in SELECTORS.items() if row.is_private]


def both():
    """Return the same people as bits and as dosages."""
    rng = np.random.default_rng(4)
    bits, Y = random_bits(N_VARIANTS, 2 * N_PEOPLE), rng.standard_normal((1, N_PEOPLE))
    is_training = rng.random(N_PEOPLE) < 0.8
    Y[:, ~is_training] = np.nan
    terms = (is_training, 2 * N_PEOPLE, "people", np.arange(N_PEOPLE).astype(str))
    half = half_units(bits, n_haplotypes=2 * N_PEOPLE, rows="people").astype(np.int16)
    return ScreeningData(bits, Y, *terms), ScreeningData(half * np.int16(STEPS_PER_ALLELE // 2), Y, *terms)


def both_of_one_digest():
    """Of the same data the same noise is drawn; fractions have a digest of their own."""
    bits, fractions = both()
    object.__setattr__(fractions, "genotype_digest", bits.genotype_digest)
    return bits, fractions


def ask(epsilon=5.0, **bounds):
    relation = {"neighbours": "add-remove", "unit": "person", "rows": "people"}
    sizes = {"n_variants": N_VARIANTS, "n_outcomes": 1, "outcome_bound": 3.0}
    return PrivacyRequest(epsilon=epsilon, delta=1e-5, **relation, **sizes, **bounds)


def test_rows__of_calls_are_those_of_bits():
    bits, fractions = both()
    assert np.array_equal(bits.training_rows, fractions.training_rows)


def test_rows__a_missing_dosage_is_the_public_centre():
    """Up to the rounding of a frequency, which nobody's data move."""
    frequency = np.random.default_rng(6).random(200)
    steps = fill_dosages(np.zeros((200, 3), dtype=np.uint16), np.ones((200, 3), dtype=bool), frequency)
    options = {"rows": "people", "n_haplotypes": 6, "is_selected": np.ones(3, bool), "covariates": None}
    X = frequency_rows(half_coded(steps), frequency, row_norm=9.0, **options)
    assert np.abs(X).max() <= 1
    assert (X[0] == X).all()


def test_digest__hangs_on_the_rows_that_are_trained_on_alone():
    _, data = both()
    trained, tested = (np.flatnonzero(data.is_training == side)[0] for side in (True, False))

    def moved(row):
        entries = data.genotypes.copy()
        entries[2, row] += 1
        return replace(data, genotypes=entries).genotype_digest

    assert moved(tested) == data.genotype_digest
    assert moved(trained) != data.genotype_digest


@pytest.mark.parametrize("coding", ["half", "frequency"])
def test_bas__is_that_of_its_rows(coding):
    request = ask(coding=coding, **({"row_norm": 1.0} if coding == "frequency" else {}))
    frequency = np.full(N_VARIANTS, 0.5) if coding == "frequency" else None
    found = [
        fit_chosen_rows(
            BOOSTED,
            data,
            np.arange(N_VARIANTS)[np.newaxis],
            request=request,
            noise=BenchmarkNoise(1, "test", 1),
            outcome_names=["y"],
            n_fits=1,
            frequency=frequency,
        )[0].weights
        for data in both_of_one_digest()
    ]
    assert np.array_equal(*found)
    assert found[0].any()


def screened(selector, epsilon=5.0):
    terms = ScreeningTerms(n_choices=2, share=0.5, selector=selector)
    return screened_request(ask(epsilon), terms, frequency=np.full(N_VARIANTS, 0.5))


@pytest.mark.parametrize("selector", PRIVATE)
def test_choices_and_sums__of_calls_are_those_of_bits(selector):
    """Also where noise decides what is chosen, but for DP-SIS, whose draws go by the grid of its scores."""
    drawn, epsilons = [], (1e4,) if selector == "sis" else (1.0, 1e4)
    for data in both_of_one_digest():
        for epsilon in epsilons:
            request = screened(selector, epsilon)
            options = {"noise": BenchmarkNoise(1, "test", 1), "outcome_names": ["y"]}
            chosen, events = private_choices(data, **request.choosing, **options)
            options |= {"request": request.statistics, "frequency": np.full(N_VARIANTS, 0.5)}
            rest = private_chosen_statistics(data, chosen, **options)
            drawn.append((chosen.tolist(), rest.gram.tolist(), rest.cross.tolist(), rest.n, len(events)))
    assert drawn[: len(epsilons)] == drawn[len(epsilons) :]


def test_sketch__of_calls_is_that_of_bits():
    known = {"rows": "people", "unit": "person", "neighbours": "replace-one", "epsilon": 5, "delta": 1e-5}
    sizes = {"n_variants": N_VARIANTS, "n_outcomes": 1, "outcome_bound": 3.0, "n_units": N_PEOPLE}
    request = SketchRequest(**known, **sizes, n_chosen=20, coding="frequency", row_norm=0.8)
    cross, is_chosen = np.arange(N_VARIANTS + 1)[np.newaxis], np.arange(N_PEOPLE) % 3 == 0
    options = {"n_haplotypes": 2 * N_PEOPLE, "request": request, "frequency": np.full(N_VARIANTS, 0.3)}
    bits, fractions = (
        private_sketch(data.genotypes, cross, is_chosen, noise=BenchmarkNoise(1, "test"), **options)
        for data in both()
    )
    assert np.array_equal(bits.gram, fractions.gram)
    # A sum of what lies between calls.
    moved = both()[1].genotypes + np.int16(5) * (np.arange(N_PEOPLE) == 3)
    other = private_sketch(moved, cross, is_chosen, noise=BenchmarkNoise(1, "test"), **options)
    assert not np.array_equal(other.gram, bits.gram)


def turned(seed=3):
    """Return any directions, of which some make rows far longer than their norm."""
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((N_VARIANTS, N_VARIANTS)))[0]
    matrix = np.rint(np.array([[0.1], [1], [30], [1000]]) * U / MATRIX_STEP) * MATRIX_STEP
    return Steering(matrix, np.arange(N_VARIANTS), np.array([0.25, 0, -0.5, 0.125]))


def steerable(genotypes, Y, frequency, row_norm):
    n_rows = Y.shape[1]
    return SteerableRows(genotypes, Y, 2 * n_rows, "people", np.ones(n_rows, bool), row_norm, 3.0, frequency)


@pytest.mark.parametrize(("frequency", "row_norm"), [(None, 2.0), (np.full(N_VARIANTS, 0.3), 0.8)])
def test_steered_sums__of_calls_are_those_of_bits(frequency, row_norm):
    Y = grid_outcomes(np.random.default_rng(5).standard_normal((2, N_PEOPLE)), bound=3.0)
    bits, fractions = (steerable(data.genotypes, Y, frequency, row_norm).sums(turned()) for data in both())
    assert np.array_equal(bits, fractions)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("row_norm", [0.7, 4.0])
def test_steered_sensitivity__of_fractions_is_not_exceeded_and_attained(neighbours, row_norm):
    relation = {"neighbours": neighbours, "unit": "person", "rows": "people"}
    terms = {"coding": "frequency", "row_norm": row_norm, "outcome_norm": 3.5, "epsilon": 1, "delta": 1e-6}
    sizes = {"n_variants": N_VARIANTS, "n_outcomes": 2, "outcome_bound": 3.0}
    request = steered_request(PrivacyRequest(**relation, **sizes, **terms))
    outcomes = ((9, 9), (-9, -9), (9, -9))
    S = []
    for row, y in itertools.product(
        itertools.product((-4096, -1235, 777, 4096), repeat=N_VARIANTS), outcomes
    ):
        Y = grid_outcomes(np.reshape(y, (-1, 1)).astype(float), bound=3.0, row_norm=3.5)
        genotypes = np.array(row, dtype=np.int16)[:, np.newaxis]
        rows = steerable(genotypes, Y, np.array([0, 0.3, 0.71, 0.5]), request.row_bound)
        S.append(rows.sums(turned())[:, :-1].ravel() * CLIPPED_CROSS_STEP)
    claim = request.cross_claim.value
    assert claim * (1 - 2e-3) <= largest_distance(S, neighbours) <= claim


def test_sis_scores__of_calls_are_those_of_bits():
    ours, fractional = (study_scores(data, 2.0) for data in both())
    assert np.array_equal(ours.values * ours.step, fractional.values * fractional.step)
    assert (ours.entry_bound, ours.rows) == (fractional.entry_bound, fractional.rows)


def test_pairs__of_a_table_compare_orders():
    _, data = both()
    (pairs,) = pairs_of(replace(data, is_table=True))
    own = TablePairs(data.genotypes.astype(float) ** 3, data.Y[0])
    assert pairs.outcome_scores.tolist() == own.outcome_scores.tolist()
    assert pairs.feature_scores(1).tolist() == own.feature_scores(1).tolist()


def test_choices__of_a_table_have_the_noise_of_orders():
    """The request is about genotypes, whose scores move less: what is drawn is for those of a table."""
    _, data = both()
    request = screened("kendall").choices
    seen = []

    class Source:
        def choose_in_rounds(self, *, sensitivity, **options):
            seen.append(sensitivity.value)
            yield ()

    for one in (data, replace(data, is_table=True)):
        Kendall().choose(one, 0, request=request, noise=Source(), outcome_bound=3.0)
    assert seen == [2.0, 3.0]


@pytest.mark.parametrize("is_table", [False, True])
def test_fits__on_chosen_columns_find_the_cause(is_table):
    """Of 400 rows of real numbers one column is the outcome."""
    rng = np.random.default_rng(7)
    columns = rng.integers(-4096, 4097, (N_VARIANTS, 400)).astype(np.int16)
    Y = columns[[2]] / 4096 * np.sqrt(3)
    data = ScreeningData(columns, Y, np.ones(400, dtype=bool), 800, "people", is_table=is_table)
    data = replace(data, sample_id=np.arange(400).astype(str))
    for selector in PRIVATE:
        request = screened(selector, 1e4)
        options = {"noise": BenchmarkNoise(1, "test", 1), "outcome_names": ["y"]}
        chosen, _ = private_choices(data, **request.choosing, **options)
        assert 2 in chosen, selector
        fit = fit_chosen_exactly(data, chosen)
        assert fit.weights[0, 2] == pytest.approx(np.sqrt(3))
