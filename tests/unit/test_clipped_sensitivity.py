"""Claims about clipped rows, each protection and the smallest eigenvalue, against brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import clipped_cross_product, clipped_gram, frequency_rows
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP, CLIPPED_GRAM_STEP, CROSS_STEP, GENOTYPE_STEP
from dpgrs.linalg.norms import outcome_norm
from dpgrs.linalg.outcome_grid import clip_norms, grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product
from dpgrs.privacy.sensitivity import cross_sensitivity, gram_sensitivity, smallest_eigenvalue_sensitivity
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW, all_rows, largest_distance


def bits_of(row, rows):
    n_haplotypes = 1 if rows == "haplotypes" else 2
    return pack(np.reshape(row, (-1, n_haplotypes))), {"n_haplotypes": n_haplotypes, "rows": rows}


def clipped_row(row, frequency, rows, row_norm):
    bits, options = bits_of(row, rows)
    return frequency_rows(bits, np.array(frequency), row_norm=row_norm, **options)


def released_gram(X):
    """Return the released Gram entries of one integer row in `frequency` coding: all but the intercept's."""
    G = clipped_gram(X)
    return G[np.triu_indices(len(G))][:-1] * CLIPPED_GRAM_STEP


def released_cross(row, outcomes, rows, *, frequency, row_norm, outcome_norm):
    """Return the released entries of one row of X'Y, in `half` coding if there is no norm."""
    Y = grid_outcomes(np.reshape(outcomes, (-1, 1)).astype(float), bound=3.0, row_norm=outcome_norm)
    if row_norm is None:
        bits, options = bits_of(row, rows)
        return cross_product(bits, Y, **options)[:, :-1].ravel() * CROSS_STEP
    V = clipped_cross_product(clipped_row(row, frequency, rows, row_norm), Y)
    return V[:, :-1].ravel() * CLIPPED_CROSS_STEP


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("rows", "entry"), [("haplotypes", 1), ("people", 2)])
def test_clipped_gram_sensitivity__is_attained(rows, entry, k, neighbours):
    row_norm = entry * math.sqrt(k) + GENOTYPE_STEP / 2  # k entries as large as they can be
    claim = gram_sensitivity(4, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows], row_norm=row_norm)
    for frequency in ([0, 0, 0, 0], [1, 0, 0.5, 1], [0.1, 0.7, 0.02, 0.5]):
        coded = [clipped_row(row, frequency, rows, row_norm) for row in all_rows(4, rows)]
        worst = largest_distance([released_gram(X) for X in coded], neighbours)
        assert worst <= claim.value
        if not any(frequency):
            slack = 0 if neighbours == "add-remove" else 1 / 16
            assert claim.value**2 - worst**2 <= slack + 0.03


@pytest.mark.parametrize(("rows", "entry"), [("haplotypes", 2**12), ("people", 2**13)])
@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), d=st.integers(1, 12), row_norm=st.floats(0.1, 8))
def test_clipped_gram_sensitivity__holds_for_any_rows_on_the_grid(rows, entry, data, d, row_norm):
    row = st.lists(st.integers(-entry, entry) | st.sampled_from([-entry, entry]), min_size=d, max_size=d)
    X = np.array([data.draw(row), data.draw(row)]).T
    clip_norms(X, norm=row_norm, step=GENOTYPE_STEP)
    first, second = released_gram(X[:, :1].T), released_gram(X[:, 1:].T)
    for neighbours, distance in [("add-remove", first), ("replace-one", first - second)]:
        claim = gram_sensitivity(
            d, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows], row_norm=row_norm
        )
        assert np.linalg.norm(distance) <= claim.value


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_clipped_gram_sensitivity__of_a_person_with_two_haplotype_rows(neighbours):
    options = {"rows": "haplotypes", "neighbours": neighbours, "row_norm": 1.0}
    rows = [released_gram(clipped_row(row, [0] * 3, "haplotypes", 1.0)) for row in all_rows(3, "haplotypes")]
    people = [first + second for first, second in itertools.product(rows, repeat=2)]
    claim = gram_sensitivity(3, unit="person", **options)
    assert 0 <= claim.value**2 - largest_distance(people, neighbours) ** 2 <= 4 / 16
    assert claim.value == pytest.approx(2 * gram_sensitivity(3, unit="haplotype", **options).value, rel=1e-15)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_clipped_gram_sensitivity__formulas_of_the_design(neighbours):
    # The general bound for rows of norm R with the intercept and entries of at most b = 1 is never below.
    claim = gram_sensitivity(
        400, rows="haplotypes", neighbours=neighbours, unit="haplotype", row_norm=math.sqrt(40)
    )
    R2 = 40.25
    general = R2**2 + R2 if neighbours == "replace-one" else (R2**2 + R2) / 2
    assert 0.99 * math.sqrt(general) < claim.value < math.sqrt(general)


def test_clipped_gram_sensitivity__of_long_rows_counts_the_diagonal_once():
    """Two rows with all entries as large as they can be, on opposite sides: half of b^4 for each variant."""
    options = {"rows": "people", "neighbours": "replace-one", "unit": "person"}
    claim = gram_sensitivity(4, row_norm=4.0, **options)
    assert claim.value**2 == pytest.approx(16**2 + 16 / 2 + 1 / 8 - 1 / 16 + 4 * 2**4 / 2, rel=1e-12)


def test_clipped_gram_sensitivity__of_very_long_rows_is_never_below():
    d = 100_000_004
    options = {"rows": "people", "neighbours": "add-remove", "unit": "person"}
    claim = gram_sensitivity(d, row_norm=1e5, **options)
    assert Fraction(claim.value) ** 2 >= Fraction((4 * d) ** 2 + 16 * d, 2) + d


@pytest.mark.parametrize(("rows", "entry"), [("haplotypes", 1), ("people", 2)])
def test_clipped_gram_sensitivity__of_a_norm_between_whole_entries_is_attained(rows, entry):
    """Two entries as large as they can be, and one that takes what is left of the norm."""
    X = np.array([[2, 2, 1, 0]]) * round(entry / GENOTYPE_STEP / 2)
    claim = gram_sensitivity(
        4, rows=rows, neighbours="add-remove", unit=UNIT_OF_A_ROW[rows], row_norm=1.5 * entry
    )
    assert claim.value == pytest.approx(np.linalg.norm(released_gram(X)), rel=1e-14)


@pytest.mark.parametrize("row_norm", [0.5, 0.25, 2.0**-6])
def test_clipped_gram_sensitivity__of_short_rows_is_little_more_than_that_of_their_sums(row_norm):
    """Opposite rows have the same squares, and half of their entries differs by as much as their norm."""
    options = {"rows": "people", "neighbours": "replace-one", "unit": "person"}
    claim = gram_sensitivity(4, row_norm=row_norm, **options)
    assert row_norm <= claim.value <= row_norm * (1 + row_norm**2 / 2)


OUTCOMES = [(-3, 3), (3, 3), (-3, -3), (1, 0.5), (math.nan, 0)]


def public_part(protection, row, outcomes):
    return {"full": None, "feature": str(outcomes), "label": str(row)}[protection]


@pytest.mark.parametrize("protection", ["full", "feature", "label"])
@pytest.mark.parametrize("shared_norm", [None, 2.5])
@pytest.mark.parametrize("row_norm", [None, 1.0, 3.5])
@pytest.mark.parametrize(
    ("rows", "unit"), [("haplotypes", "haplotype"), ("haplotypes", "person"), ("people", "person")]
)
def test_cross_sensitivity__of_each_protection_and_bound(rows, unit, row_norm, shared_norm, protection):
    """Group all rows of one unit by what is public: the worst pair of a group is the claim."""
    norms, worst = {"row_norm": row_norm, "outcome_norm": shared_norm}, 0.0
    for frequency in ([0, 1], [0.5, 0.5]):
        groups = {}
        for row, y in itertools.product(all_rows(2, rows), OUTCOMES):
            added = released_cross(row, y, rows, frequency=frequency, **norms)
            groups.setdefault(public_part(protection, row, y), []).append(added)
        if unit != UNIT_OF_A_ROW[rows]:
            # A person of two rows that share the public part.
            groups = {part: [a + b for a, b in itertools.product(g, repeat=2)] for part, g in groups.items()}
        worst = max(worst, *(largest_distance(group, "replace-one") for group in groups.values()))
    options = {"rows": rows, "neighbours": "replace-one", "unit": unit, "outcome_bound": 3.0}
    claim = cross_sensitivity(2, 2, protection=protection, **norms, **options).value
    assert claim * (1 - 1e-3) <= worst <= claim * (1 + 1e-14)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("n_outcomes", range(1, 10))
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_cross_sensitivity__of_one_to_nine_outcomes_within_tight_bounds(rows, n_outcomes, neighbours):
    """All rows of two variants, each with outcomes beyond every bound, at one of them, and missing."""
    norm = outcome_norm(n_outcomes, factor=1.05, bound=3.0)
    norms, alone = {"row_norm": 1.0, "outcome_norm": norm}, np.arange(n_outcomes) == 0
    outcomes = [
        sign * size * one for sign in (-1, 1) for size in (0.5, norm, 9) for one in (alone, alone + 1)
    ]
    outcomes += [np.where(alone, 9.0, math.nan), np.full(n_outcomes, math.nan)]
    added = [
        released_cross(row, y, rows, frequency=[0, 1], **norms)
        for row, y in itertools.product(all_rows(2, rows), outcomes)
    ]
    options = {"rows": rows, "neighbours": neighbours, "unit": UNIT_OF_A_ROW[rows], "outcome_bound": 3.0}
    claim = cross_sensitivity(2, n_outcomes, **norms, **options).value
    assert claim * (1 - 1e-3) <= largest_distance(added, neighbours) <= claim * (1 + 1e-14)


def test_cross_sensitivity__feature_takes_the_smaller_distance():
    options = {"rows": "haplotypes", "neighbours": "replace-one", "unit": "haplotype", "outcome_bound": 3.0}
    options |= {"protection": "feature", "outcome_norm": 2.0}
    assert cross_sensitivity(16, 4, row_norm=1.5, **options).value == 2 * 1.5 * 2
    assert cross_sensitivity(16, 4, row_norm=3.0, **options).value == 4 * 2
    people = options | {"rows": "people", "unit": "person"}
    assert cross_sensitivity(16, 4, row_norm=7.0, **people).value == 8 * 2
    assert cross_sensitivity(16, 4, **options).value == 4 * 2


def test_cross_sensitivity__takes_the_smaller_norm_of_outcomes():
    options = {"rows": "people", "neighbours": "add-remove", "unit": "person", "outcome_bound": 3.0}
    assert cross_sensitivity(4, 9, outcome_norm=100.0, **options).value == 2 * 9
    assert cross_sensitivity(4, 9, outcome_norm=3.5, **options).value == 2 * 3.5


@pytest.mark.parametrize("protection", ["feature", "label"])
def test_cross_sensitivity__raise_on_add_remove_of_half_public_data(protection):
    options = {"rows": "people", "unit": "person", "outcome_bound": 3.0, "protection": protection}
    with refused("neighbours-not-replace-one", protection, "got add-remove", error=UsageError):
        cross_sensitivity(3, 1, neighbours="add-remove", **options)


def test_cross_sensitivity__raise_without_protection():
    options = {"rows": "people", "unit": "person", "outcome_bound": 3.0, "protection": "none"}
    with refused("protection-missing", "`privacy.protection`", error=UsageError):
        cross_sensitivity(3, 1, neighbours="replace-one", **options)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_sensitivity__raise_on_norm(wrong):
    relation = {"rows": "people", "neighbours": "add-remove", "unit": "person"}
    with refused("not-positive", "`row_norm`", error=UsageError):
        gram_sensitivity(3, row_norm=wrong, **relation)
    with refused("not-positive", "`outcome_norm`", error=UsageError):
        cross_sensitivity(3, 1, outcome_bound=3.0, outcome_norm=wrong, **relation)


def smallest_eigenvalues(rows, d):
    """Return the eigenvalue of every data set of up to four rows, keyed by its row numbers."""
    inputs = [bits_of(row, rows) for row in all_rows(d, rows)]
    coded = [coded_rows(bits, **options)[0] for bits, options in inputs]
    outer = [np.outer(x, x) for x in coded]
    choices = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(len(outer)), size) for size in range(5)
    )
    zero = np.zeros_like(outer[0])
    return {chosen: np.linalg.eigvalsh(sum((outer[i] for i in chosen), zero))[0] for chosen in choices}


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_smallest_eigenvalue_sensitivity__holds_and_is_attained(rows, neighbours):
    eigenvalues, worst = smallest_eigenvalues(rows, 2), 0.0
    for rest in [chosen for chosen in eigenvalues if len(chosen) < 4]:
        added = [tuple(sorted((*rest, row))) for row in range(len(all_rows(2, rows)))]
        values = [eigenvalues[chosen] for chosen in added]
        if neighbours == "add-remove":
            values = [value - eigenvalues[rest] for value in values] + [0.0]
        worst = max(worst, max(values) - min(values))
    claim = smallest_eigenvalue_sensitivity(2, rows=rows, neighbours=neighbours, unit=UNIT_OF_A_ROW[rows])
    assert worst == pytest.approx(claim.value, rel=1e-12)


def test_smallest_eigenvalue_sensitivity__terms():
    options = {"rows": "haplotypes", "neighbours": "add-remove"}
    assert smallest_eigenvalue_sensitivity(8, unit="haplotype", **options).value == 2.0
    assert smallest_eigenvalue_sensitivity(8, unit="haplotype", row_norm=1.5, **options).value == 2.25
    assert smallest_eigenvalue_sensitivity(8, unit="person", error=0.125, **options).value == 4.25
    for wrong in (math.nan, math.inf, -1e-9):
        with refused("eigenvalue-error-out-of-range", "`error`", wrong, error=UsageError):
            smallest_eigenvalue_sensitivity(8, unit="person", error=wrong, **options)
