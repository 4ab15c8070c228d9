"""Claims against brute force, by the statistics that the project really computes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import SQUARE_STEP, WEIGHT_STEP, accuracy_sums
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP, count_cases, count_known
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product, gram
from dpgrs.methods.reusecov import noisy_entries
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.sensitivity import (
    Sensitivity,
    accuracy_sensitivity,
    count_sensitivity,
    cross_sensitivity,
    gram_sensitivity,
    outcome_counts_sensitivity,
    smallest_eigenvalue_sensitivity,
)
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW, all_rows, largest_distance


def released_gram(row, rows):
    """Return the released Gram entries of one row, given as alleles of its one or two haplotypes."""
    alleles = np.reshape(row, (-1, 1 if rows == "haplotypes" else 2))
    G = gram(pack(alleles), n_haplotypes=alleles.shape[1], rows=rows)
    return G[noisy_entries(len(G) - 1, rows=rows)] * GRAM_STEP


def released_cross(row, outcomes, rows):
    alleles = np.reshape(row, (-1, 1 if rows == "haplotypes" else 2))
    Y = grid_outcomes(np.reshape(outcomes, (-1, 1)).astype(float), bound=3.0)
    V = cross_product(pack(alleles), Y, n_haplotypes=alleles.shape[1], rows=rows)
    return V[:, :-1].ravel() * CROSS_STEP


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("rows", "d"), [("haplotypes", d) for d in range(1, 8)] + [("people", d) for d in range(1, 6)]
)
def test_gram_sensitivity__is_attained(rows, d, neighbours):
    claim = gram_sensitivity(d, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows])
    worst = largest_distance([released_gram(row, rows) for row in all_rows(d, rows)], neighbours)
    assert claim.value == pytest.approx(worst, rel=1e-14)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_gram_sensitivity__of_a_person_with_two_haplotype_rows(neighbours):
    claim = gram_sensitivity(3, rows="haplotypes", neighbours=neighbours, unit="person")
    rows = [released_gram(row, "haplotypes") for row in all_rows(3, "haplotypes")]
    people = [first + second for first, second in itertools.product(rows, repeat=2)]
    assert claim.value == pytest.approx(largest_distance(people, neighbours), rel=1e-14)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), d=st.integers(1, 40))
def test_gram_sensitivity__holds_for_larger_rows(rows, data, d):
    size = d * (1 if rows == "haplotypes" else 2)
    row = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    first, second = (released_gram(data.draw(row), rows) for _ in range(2))
    for neighbours, distance in [("add-remove", first), ("replace-one", first - second)]:
        claim = gram_sensitivity(d, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows])
        assert np.linalg.norm(distance) <= claim.value


def test_gram_sensitivity__formulas_of_the_design():
    # Half coding with the intercept as one more variant: sqrt(d'(d'-1)/2)/4 and d'/4, d' = d + 1 even.
    claim = gram_sensitivity(99, rows="haplotypes", neighbours="add-remove", unit="haplotype")
    assert claim.value == pytest.approx(math.sqrt(100 * 99 / 2) / 4, rel=1e-15)
    claim = gram_sensitivity(99, rows="haplotypes", neighbours="replace-one", unit="haplotype")
    assert claim.value == 25.0
    # The general bound for rows of norm R and entries of at most b = 1 is never below ours.
    R2 = 99.25
    claim = gram_sensitivity(99, rows="people", neighbours="add-remove", unit="person")
    assert claim.value <= math.sqrt((R2**2 + R2) / 2)
    claim = gram_sensitivity(99, rows="people", neighbours="replace-one", unit="person")
    assert claim.value <= math.sqrt(R2**2 + R2)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize(("d", "n_outcomes"), [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1)])
def test_cross_sensitivity__is_attained(rows, d, n_outcomes, neighbours):
    outcomes = list(itertools.product([-3, 0, 3, math.nan, 100], repeat=n_outcomes))
    statistics = [released_cross(row, y, rows) for row in all_rows(d, rows) for y in outcomes]
    claim = cross_sensitivity(
        d, n_outcomes, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows], outcome_bound=3.0
    )
    assert claim.value == pytest.approx(largest_distance(statistics, neighbours), rel=1e-14)


def test_cross_sensitivity__of_a_person_with_two_haplotype_rows():
    options = {"rows": "haplotypes", "neighbours": "add-remove", "outcome_bound": 3.0}
    row = cross_sensitivity(5, 2, unit="haplotype", **options)
    person = cross_sensitivity(5, 2, unit="person", **options)
    assert person.value == pytest.approx(2 * row.value, rel=1e-15)


KNOWN = (count_known, [7.0, math.nan])
CASES = (count_cases, [-0.5, 2.0, math.nan])  # 0 and 1, standardised by a prevalence of 0.2


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("n_outcomes", "counted"), [*((n, KNOWN) for n in (1, 2, 3, 5)), *((n, CASES) for n in (1, 2, 3))]
)
def test_outcome_counts_sensitivity__is_attained(n_outcomes, counted, neighbours):
    count, values = counted
    of_rows = [count(np.reshape(y, (-1, 1))) for y in itertools.product(values, repeat=n_outcomes)]
    terms = {"neighbours": neighbours, "unit": "person"}
    claim = outcome_counts_sensitivity(n_outcomes, rows="people", **terms)
    assert claim.value == pytest.approx(largest_distance(of_rows, neighbours), rel=1e-14)
    assert claim.value**2 >= n_outcomes
    people = [first + second for first, second in itertools.product(of_rows, repeat=2)]
    of_two_rows = outcome_counts_sensitivity(n_outcomes, rows="haplotypes", **terms)
    assert of_two_rows.value == pytest.approx(largest_distance(people, neighbours), rel=1e-14)


def added_accuracy(row, outcomes, weights, **bounds):
    """Return what one held-out row, coded, adds to the sums."""
    Y = np.reshape(outcomes, (-1, 1)).astype(float)
    return accuracy_sums(Y, np.reshape(row, (1, -1)), weights, **bounds).ravel() * SQUARE_STEP


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("bounds", [(3.0, 3.0), (1.5, 4.0), (3.0, 0.5)], ids=str)
@pytest.mark.parametrize(("rows", "n_outcomes"), [("haplotypes", 1), ("people", 1), ("people", 2)])
def test_accuracy_sensitivity__is_attained(rows, n_outcomes, bounds, neighbours):
    bounds = dict(zip(["outcome_bound", "residual_bound"], bounds, strict=True))
    entries = [-0.5, 0.5] if rows == "haplotypes" else [-1, 0, 1]
    weights = np.int64(np.array([[4, -2, 0.1], [-1, 0.3, 3]])[:n_outcomes] / WEIGHT_STEP)
    outcomes = list(itertools.product([-100, -1.4, 0, 2.9, 3, math.nan], repeat=n_outcomes))
    statistics = [
        added_accuracy(row, y, weights, **bounds)
        for row in itertools.product(entries, repeat=2)
        for y in outcomes
    ]
    claim = accuracy_sensitivity(
        n_outcomes, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows], **bounds
    )
    assert claim.value == pytest.approx(largest_distance(statistics, neighbours), rel=1e-14)
    if rows == "haplotypes":
        person = accuracy_sensitivity(n_outcomes, rows=rows, neighbours=neighbours, unit="person", **bounds)
        pairs = [first + second for first, second in itertools.product(statistics, repeat=2)]
        assert person.value == pytest.approx(largest_distance(pairs, neighbours), rel=1e-14)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(data=st.data(), d=st.integers(1, 6), n_outcomes=st.integers(1, 4))
def test_accuracy_sensitivity__holds_for_any_weights_and_bounds(data, d, n_outcomes):
    bound = st.floats(2**-10, 1000)
    bounds = {"outcome_bound": data.draw(bound), "residual_bound": data.draw(bound)}
    count = n_outcomes * (d + 1)
    drawn = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=count, max_size=count))
    weights = np.reshape(drawn, (n_outcomes, d + 1))
    row = st.lists(st.sampled_from([-1, 0, 1]), min_size=d, max_size=d)
    outcome = st.floats(-(10.0**6), 10.0**6) | st.just(math.nan)
    outcomes = st.lists(outcome, min_size=n_outcomes, max_size=n_outcomes)
    first, second = (added_accuracy(data.draw(row), data.draw(outcomes), weights, **bounds) for _ in range(2))
    for neighbours, distance in [("add-remove", first), ("replace-one", first - second)]:
        claim = accuracy_sensitivity(
            n_outcomes, rows="people", neighbours=neighbours, unit="person", **bounds
        )
        assert np.linalg.norm(distance) <= claim.value


def test_count_sensitivity__counts_the_rows_of_a_unit():
    options = {"neighbours": "add-remove"}
    assert count_sensitivity(rows="haplotypes", unit="haplotype", **options).value == 1.0
    assert count_sensitivity(rows="haplotypes", unit="person", **options).value == 2.0
    assert count_sensitivity(rows="people", unit="person", **options).value == 1.0


def test_count_sensitivity__raise_on_replace_one():
    with refused("count-is-public", "got replace-one", error=UsageError):
        count_sensitivity(rows="people", neighbours="replace-one", unit="person")


def test_sensitivity__raise_on_haplotype_unit_of_people():
    with refused("unit-not-person", "`privacy.unit`", error=UsageError):
        gram_sensitivity(3, rows="people", neighbours="add-remove", unit="haplotype")


@pytest.mark.parametrize("wrong", [{"rows": "x"}, {"neighbours": "x"}, {"unit": "x"}])
def test_sensitivity__raise_on_unknown_words(wrong):
    options = {"rows": "haplotypes", "neighbours": "add-remove", "unit": "person"}
    with pytest.raises((ValueError, KeyError)):
        gram_sensitivity(3, **options | wrong)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(square=st.fractions(min_value=0, max_value=10**12))
def test_root_above__is_never_below(square):
    root = root_above(square)
    assert Fraction(root) ** 2 >= square
    below = math.nextafter(root, 0)
    assert root == 0 or Fraction(math.nextafter(below, 0)) ** 2 < square


def test_sensitivity__proof_pages_exist(repository):
    relation = {"rows": "people", "neighbours": "add-remove", "unit": "person"}
    claims = [
        gram_sensitivity(3, **relation),
        gram_sensitivity(3, row_norm=1.0, **relation),
        cross_sensitivity(3, 1, outcome_bound=3.0, **relation),
        smallest_eigenvalue_sensitivity(3, **relation),
        count_sensitivity(**relation),
        accuracy_sensitivity(3, outcome_bound=3.0, residual_bound=3.0, **relation),
    ]
    assert all((repository / claim.proof).is_file() for claim in claims)
    assert all(isinstance(claim, Sensitivity) and claim.norm == "l2" for claim in claims)


BOUNDS = [tenths / 10 for tenths in range(1, 60)]


def test_cross_sensitivity__is_never_below_for_any_bound():
    terms = {"rows": "haplotypes", "neighbours": "add-remove", "unit": "haplotype"}
    for bound in BOUNDS:
        claim = cross_sensitivity(3, 2, outcome_bound=bound, **terms)
        assert Fraction(claim.value) ** 2 >= Fraction(3, 4) * 2 * Fraction(bound) ** 2


def test_accuracy_sensitivity__is_never_below_for_any_bounds():
    terms = {"rows": "people", "neighbours": "add-remove", "unit": "person"}
    for outcome_bound, residual_bound in itertools.product(BOUNDS, repeat=2):
        B, C = Fraction(outcome_bound), Fraction(residual_bound)
        claim = accuracy_sensitivity(1, outcome_bound=outcome_bound, residual_bound=residual_bound, **terms)
        assert Fraction(claim.value) ** 2 >= C**4 + B**4 + B**2


def test_smallest_eigenvalue_sensitivity__is_never_below_for_any_error():
    terms = {"rows": "haplotypes", "neighbours": "add-remove", "unit": "haplotype"}
    for d, error in itertools.product(range(1, 8), [0.0, 1e-9, 0.1, 0.3]):
        claim = smallest_eigenvalue_sensitivity(d, error=error, **terms)
        assert Fraction(claim.value) >= Fraction(d, 4) + 2 * Fraction(error)
