import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import (
    LARGEST_CLIPPED_ROWS,
    LARGEST_GENOTYPE,
    ROW_BLOCK,
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
    grid_frequency,
)
from dpgrs.linalg.norms import SMALLEST_ROW_NORM, tight_outcome_norm, tight_row_norm
from dpgrs.linalg.outcome_grid import LARGEST_OUTCOME, grid_outcomes
from dpgrs.linalg.statistics import coded_rows
from random_cohorts import random_alleles, random_bits
from refused import refused

ROWS = ["haplotypes", "people"]
N_HAPLOTYPES = 150  # no multiple of 64
FREQUENCY = np.array([0.1, 0.9, 0.5, 1 / 3, 0.0, 1.0, 0.72])


def n_rows(rows):
    return N_HAPLOTYPES if rows == "haplotypes" else N_HAPLOTYPES // 2


def frequency_coded(alleles, *, rows):
    """Code alleles the slow and plain way: (n_rows, n_variants) float64, not clipped."""
    p = grid_frequency(FREQUENCY)[:, np.newaxis]
    return (alleles - p if rows == "haplotypes" else alleles[:, ::2] + alleles[:, 1::2] - 2 * p).T


def random_selection(rows):
    return np.random.default_rng(2).random(n_rows(rows)) < 0.7


def random_outcomes(n_outcomes, rows):
    Y = np.random.default_rng(1).standard_normal((n_outcomes, n_rows(rows)))
    return grid_outcomes(Y, bound=3.0, row_norm=2.0)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("selected", [False, True])
def test_frequency_rows__equals_plain_coding_where_nothing_is_long(rows, selected, monkeypatch):
    monkeypatch.setattr("dpgrs.linalg.clipped_statistics.VARIANT_BLOCK", 3)
    alleles = random_alleles(7, N_HAPLOTYPES)
    is_selected = random_selection(rows) if selected else None
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows, "is_selected": is_selected}
    X = frequency_rows(pack(alleles), FREQUENCY, row_norm=100.0, **options)
    assert X.dtype == np.int16
    expected = frequency_coded(alleles, rows=rows)[slice(None) if is_selected is None else is_selected]
    np.testing.assert_array_equal(X * GENOTYPE_STEP, expected)


@pytest.mark.parametrize("rows", ROWS)
def test_frequency_rows__shrinks_long_rows_alone(rows):
    alleles = random_alleles(7, N_HAPLOTYPES)
    coded = frequency_coded(alleles, rows=rows)
    norms = np.linalg.norm(coded, axis=1)
    limit = float(np.median(norms))
    X = frequency_rows(pack(alleles), FREQUENCY, row_norm=limit, n_haplotypes=N_HAPLOTYPES, rows=rows)
    is_short = norms < limit
    np.testing.assert_array_equal(X[is_short] * GENOTYPE_STEP, coded[is_short])
    shrunk = coded * np.minimum(1, limit / norms)[:, np.newaxis]
    assert np.all(np.abs(X * GENOTYPE_STEP) <= np.abs(shrunk) + 1e-12)
    # A factor has 8 significant bits, and an entry is rounded to the grid.
    np.testing.assert_allclose(X * GENOTYPE_STEP, shrunk, rtol=2.0**-7, atol=GENOTYPE_STEP)
    assert np.any(X[~is_short] * GENOTYPE_STEP != coded[~is_short])


@pytest.mark.parametrize("rows", ROWS)
@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), d=st.integers(1, 12), row_norm=st.floats(2**-11, 8))
def test_frequency_rows__is_by_row_and_never_above_the_norm(rows, data, d, row_norm):
    frequency = data.draw(st.lists(st.floats(0, 1), min_size=d, max_size=d))
    alleles = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=6, max_size=6), min_size=d, max_size=d))
    alleles, n_alleles = np.array(alleles), 1 if rows == "haplotypes" else 2
    is_selected = np.array(
        data.draw(st.lists(st.booleans(), min_size=6 // n_alleles, max_size=6 // n_alleles))
    )
    options = {"row_norm": row_norm, "rows": rows}
    X = frequency_rows(pack(alleles), frequency, n_haplotypes=6, **options)
    for number, row in enumerate(X):
        assert sum(int(entry) ** 2 for entry in row) <= (Fraction(row_norm) / Fraction(GENOTYPE_STEP)) ** 2
        own = alleles[:, number * n_alleles : (number + 1) * n_alleles]
        alone = frequency_rows(pack(own), frequency, n_haplotypes=n_alleles, **options)
        np.testing.assert_array_equal(alone[0], row)
    chosen = frequency_rows(pack(alleles), frequency, n_haplotypes=6, is_selected=is_selected, **options)
    np.testing.assert_array_equal(chosen, X[is_selected])


def test_frequency_rows__raise_on_other_number_of_frequencies():
    with refused("frequency-array-length", "got 7", error=UsageError):
        frequency_rows(random_bits(3, 4), FREQUENCY, row_norm=1.0, n_haplotypes=4, rows="people")


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_grid_frequency__raise_on_frequency(wrong):
    with refused("frequency-out-of-range", wrong, error=UsageError):
        grid_frequency([0.5, wrong])


@pytest.mark.parametrize("rows", ROWS)
def test_clipped_statistics__equal_dense_products(rows, monkeypatch):
    monkeypatch.setattr("dpgrs.linalg.clipped_statistics.ROW_BLOCK", 64)
    bits, Y = random_bits(7, N_HAPLOTYPES), random_outcomes(4, rows)
    X = frequency_rows(bits, FREQUENCY, row_norm=1.25, n_haplotypes=N_HAPLOTYPES, rows=rows)
    with_intercept = np.column_stack([X * GENOTYPE_STEP, np.full(len(X), 0.5)])
    G, V = clipped_gram(X), clipped_cross_product(X, Y)
    assert G.dtype == V.dtype == np.int64
    np.testing.assert_array_equal(G * CLIPPED_GRAM_STEP, with_intercept.T @ with_intercept)
    np.testing.assert_array_equal(V * CLIPPED_CROSS_STEP, Y * OUTCOME_STEP @ with_intercept)


@pytest.mark.parametrize("rows", ROWS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(part=st.lists(st.integers(0, 2), min_size=N_HAPLOTYPES, max_size=N_HAPLOTYPES))
def test_clipped_statistics__add_up_over_any_chunks_of_rows(rows, part):
    bits, Y, part = random_bits(7, N_HAPLOTYPES), random_outcomes(3, rows), np.array(part)[: n_rows(rows)]
    options = {"row_norm": 1.25, "n_haplotypes": N_HAPLOTYPES, "rows": rows}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpgrs.linalg.clipped_statistics.ROW_BLOCK", 64)
        chunks = [
            clipped_statistics(bits, FREQUENCY, Y, is_selected=part == chunk, **options) for chunk in range(3)
        ]
        gram, cross = clipped_statistics(bits, FREQUENCY, Y, **options)
    X = frequency_rows(bits, FREQUENCY, **options)
    for whole, parts in [(gram, [g for g, _ in chunks]), (cross, [v for _, v in chunks])]:
        np.testing.assert_array_equal(sum(parts), whole)
    np.testing.assert_array_equal(gram, clipped_gram(X))
    np.testing.assert_array_equal(cross, clipped_cross_product(X, Y))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("row_norm", [1 / 16, 1.0, 1.25, 100.0])  # all rows shrunk, most, some, none
@pytest.mark.parametrize("n_haplotypes", [2, 64, 130, N_HAPLOTYPES])
@pytest.mark.parametrize("least", [1, 3, 1000])  # all rows by counts of bits, some, none
def test_clipped_statistics__equal_plain_sums_over_clipped_rows(
    rows, row_norm, n_haplotypes, least, monkeypatch
):
    monkeypatch.setattr("dpgrs.linalg.clipped_statistics.ROW_BLOCK", 64)
    monkeypatch.setattr("dpgrs.linalg.alike_rows.LEAST", least)
    bits, n = random_bits(7, n_haplotypes), n_haplotypes // (1 if rows == "haplotypes" else 2)
    Y = np.random.default_rng(1).integers(-LARGEST_OUTCOME, LARGEST_OUTCOME + 1, size=(3, n))
    is_selected = np.arange(n) % 5 != 1
    options = {"row_norm": row_norm, "n_haplotypes": n_haplotypes, "rows": rows, "is_selected": is_selected}
    X = frequency_rows(bits, FREQUENCY, **options)
    X = np.column_stack([X, np.full(len(X), 2**11)]).astype(object)
    G, V = clipped_statistics(bits, FREQUENCY, Y, **options)
    np.testing.assert_array_equal(G, X.T @ X)
    np.testing.assert_array_equal(V, Y[:, is_selected].astype(object) @ X)
    without, same = clipped_statistics(bits, FREQUENCY, Y, has_gram=False, **options)
    assert without is None
    np.testing.assert_array_equal(same, V)


@pytest.mark.parametrize("rows", ROWS)
def test_clipped_statistics__of_no_row_and_of_no_outcome(rows):
    bits, nobody = random_bits(7, N_HAPLOTYPES), np.zeros(n_rows(rows), dtype=bool)
    options = {"row_norm": 1.25, "n_haplotypes": N_HAPLOTYPES, "rows": rows}
    for found in clipped_statistics(bits, FREQUENCY, random_outcomes(2, rows), is_selected=nobody, **options):
        assert not found.any()
    gram, cross = clipped_statistics(bits, FREQUENCY, random_outcomes(2, rows)[:0], **options)
    np.testing.assert_array_equal(gram, clipped_gram(frequency_rows(bits, FREQUENCY, **options)))
    assert cross.shape == (0, 8)


def test_clipped_statistics__are_exact_at_the_largest_values():
    X = np.full((5000, 1), 2**13, dtype=np.int16)
    Y = np.full((1, 5000), LARGEST_OUTCOME)
    Y[0, 0] -= 1
    assert clipped_cross_product(X, Y)[0].tolist() == [2**13 * (5000 * 2**26 - 1), 2**11 * (5000 * 2**26 - 1)]
    assert clipped_gram(X).tolist() == [[5000 * 2**26, 5000 * 2**24], [5000 * 2**24, 5000 * 2**22]]


def test_clipped_gram__of_the_longest_rows_of_mixed_signs():
    """Pairs and sums of products reach what int32 holds."""
    X = np.full((1003, 37), -(2**13), dtype=np.int16)
    X[::3, ::2], X[1::5] = 2**13, 2**13 - 1
    whole = np.column_stack([X, np.full(len(X), 2**11)]).astype(np.int64)
    np.testing.assert_array_equal(clipped_gram(X), whole.T @ whole)


def test_clipped_statistics__raise_beyond_exact_range():
    X, Y = np.zeros((2, 1), dtype=np.int16), np.zeros((1, 2), dtype=np.int64)
    with refused("sums-not-exact", error=UsageError):
        clipped_gram(X - np.int16(2**15 - 1) - np.int16(1))
    with refused("sums-not-exact", error=UsageError):
        clipped_cross_product(X, Y + LARGEST_OUTCOME + 1)
    many = np.broadcast_to(Y[:, :1], (1, LARGEST_CLIPPED_ROWS + 1))
    options = {"row_norm": 1.0, "n_haplotypes": many.shape[1], "rows": "haplotypes"}
    with refused("sums-not-exact", error=UsageError):
        clipped_statistics(random_bits(1, 64), [0.5], many, **options)


@pytest.mark.parametrize("rows", ROWS)
def test_half_coding__predicts_the_same_with_shifted_means(rows):
    alleles, weights, means = random_alleles(7, N_HAPLOTYPES), np.arange(7.0) - 3, np.full(7, 0.1)
    shifted = means + column_moments(grid_frequency(FREQUENCY), rows=rows)[0]
    half = coded_rows(pack(alleles), n_haplotypes=N_HAPLOTYPES, rows=rows)
    expected = (frequency_coded(alleles, rows=rows) - means) @ weights
    np.testing.assert_allclose((half - shifted) @ weights, expected, rtol=0, atol=1e-12)


def test_tight_row_norm__is_the_root_mean_square_on_the_grid():
    frequency = np.full(100, 0.1)
    assert tight_row_norm(frequency, rows="haplotypes", factor=1.0) == pytest.approx(3.0, abs=GENOTYPE_STEP)
    norm = tight_row_norm(frequency, rows="people", factor=1.5)
    assert 0 <= 4.5 * math.sqrt(2) - norm < GENOTYPE_STEP
    assert (norm / GENOTYPE_STEP).is_integer()


def test_tight_row_norm__of_a_monomorphic_variant_set_is_not_zero():
    assert tight_row_norm([0.0, 1.0], rows="people", factor=1.0) == SMALLEST_ROW_NORM > 0


def test_limits__keep_sums_exact():
    largest = LARGEST_GENOTYPE * LARGEST_OUTCOME
    assert LARGEST_GENOTYPE * GENOTYPE_STEP == 2  # the ALT alleles of a person
    assert LARGEST_CLIPPED_ROWS * largest <= 2**62  # in int64
    assert ROW_BLOCK * largest <= 2**53  # in float64


@pytest.mark.parametrize("frequency", [-0.01, 1.01, math.nan])
def test_tight_row_norm__raise_on_frequency(frequency):
    with refused("frequency-out-of-range", error=UsageError):
        tight_row_norm([0.5, frequency], rows="people", factor=1.0)


def test_tight_outcome_norm__is_never_above_that_of_the_bound():
    assert tight_outcome_norm(100, factor=1.05, bound=3.0) == pytest.approx(10.5)
    assert tight_outcome_norm(100, factor=5.0, bound=3.0) == 30.0


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_tight_norms__raise_on_factor(factor):
    with refused("factor-not-positive", "`factor`", error=UsageError):
        tight_row_norm([0.5], rows="people", factor=factor)
    with refused("factor-not-positive", "`factor`", error=UsageError):
        tight_outcome_norm(10, factor=factor, bound=3.0)
