import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP, OUTCOME_STEP
from dpgrs.linalg.outcome_grid import (
    LARGEST_BOUND,
    LARGEST_OUTCOME,
    clip_norms,
    grid_outcomes,
    largest_row_norm,
    long_rows,
)
from dpgrs.linalg.statistics import LARGEST_ROWS, CodedRows, coded_rows, cross_product, gram
from random_cohorts import half_coded, random_alleles, random_bits
from refused import refused

ROWS = ["haplotypes", "people"]
N_HAPLOTYPES = 150  # no multiple of 64


def n_rows(rows):
    return N_HAPLOTYPES if rows == "haplotypes" else N_HAPLOTYPES // 2


def random_outcomes(n_outcomes, rows, *, seed=1):
    Y = np.random.default_rng(seed).standard_normal((n_outcomes, n_rows(rows)))
    return grid_outcomes(Y, bound=3.0)


def random_selection(rows):
    return np.random.default_rng(2).random(n_rows(rows)) < 0.7


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("selected", [False, True])
def test_gram__equals_dense_product(rows, selected):
    alleles = random_alleles(7, N_HAPLOTYPES)
    is_selected = random_selection(rows) if selected else None
    X = half_coded(alleles, rows=rows)[slice(None) if is_selected is None else is_selected]
    G = gram(pack(alleles), n_haplotypes=N_HAPLOTYPES, rows=rows, is_selected=is_selected)
    assert G.dtype == np.int64
    np.testing.assert_array_equal(G * GRAM_STEP, X.T @ X)


@pytest.mark.parametrize("rows", ROWS)
def test_gram__no_selected_rows(rows):
    is_selected = np.zeros(n_rows(rows), dtype=bool)
    G = gram(random_bits(3, N_HAPLOTYPES), n_haplotypes=N_HAPLOTYPES, rows=rows, is_selected=is_selected)
    np.testing.assert_array_equal(G, np.zeros((4, 4)))


def test_gram__raise_on_unknown_rows():
    with pytest.raises(ValueError, match="persons"):
        gram(random_bits(2, 4), n_haplotypes=4, rows="persons")


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("selected", [False, True])
def test_cross_product__equals_dense_product(rows, selected, monkeypatch):
    monkeypatch.setattr("dpgrs.linalg.statistics.VARIANT_BLOCK", 3)
    alleles, Y = random_alleles(7, N_HAPLOTYPES), random_outcomes(4, rows)
    is_selected = random_selection(rows) if selected else None
    keep = slice(None) if is_selected is None else is_selected
    V = cross_product(pack(alleles), Y, n_haplotypes=N_HAPLOTYPES, rows=rows, is_selected=is_selected)
    assert V.dtype == np.int64
    expected = (Y[:, keep] * OUTCOME_STEP) @ half_coded(alleles, rows=rows)[keep]
    np.testing.assert_array_equal(V * CROSS_STEP, expected)


def test_cross_product__raise_beyond_exact_range():
    Y = np.full((1, 4), 2**50)
    with refused("sums-not-exact", error=UsageError):
        cross_product(random_bits(2, 4), Y, n_haplotypes=4, rows="haplotypes")


def test_cross_product__raise_on_more_rows_than_are_exact(monkeypatch):
    monkeypatch.setattr("dpgrs.linalg.statistics.LARGEST_ROWS", 4)
    options = {"rows": "haplotypes", "n_haplotypes": 4}
    cross_product(random_bits(2, 4), np.ones((1, 4), dtype=np.int64), **options)
    with refused("sums-not-exact", error=UsageError):
        cross_product(random_bits(2, 5), np.ones((1, 5), dtype=np.int64), **options | {"n_haplotypes": 5})


def test_cross_product__takes_outcomes_at_the_largest_bound():
    alleles, Y = random_alleles(3, 64), grid_outcomes(np.full((1, 64), -1e9), bound=LARGEST_BOUND)
    V = cross_product(pack(alleles), Y, n_haplotypes=64, rows="haplotypes") * CROSS_STEP
    np.testing.assert_array_equal(V[0], -LARGEST_BOUND * half_coded(alleles, rows="haplotypes").sum(axis=0))


def test_cross_product__takes_outcomes_at_the_limit_and_none_at_all():
    alleles, options = random_alleles(3, 64), {"n_haplotypes": 64, "rows": "haplotypes"}
    V = cross_product(pack(alleles), np.full((1, 64), LARGEST_OUTCOME), **options) * CROSS_STEP
    expected = LARGEST_OUTCOME * OUTCOME_STEP * half_coded(alleles, rows="haplotypes").sum(axis=0)
    np.testing.assert_array_equal(V[0], expected)
    assert cross_product(pack(alleles), np.zeros((0, 64), dtype=np.int64), **options).shape == (0, 4)


def test_limits__keep_sums_of_outcomes_exact():
    assert 2 * LARGEST_OUTCOME * LARGEST_ROWS < 2**53  # in float64, with genotypes of a person


@pytest.mark.parametrize("rows", ROWS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(part=st.lists(st.integers(0, 2), min_size=N_HAPLOTYPES, max_size=N_HAPLOTYPES))
def test_statistics__add_up_over_any_chunks_of_rows(rows, part):
    part = np.array(part)[: n_rows(rows)]
    bits, Y = random_bits(5, N_HAPLOTYPES), random_outcomes(3, rows)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    chunks = [options | {"is_selected": part == chunk} for chunk in range(3)]
    np.testing.assert_array_equal(sum(gram(bits, **chunk) for chunk in chunks), gram(bits, **options))
    np.testing.assert_array_equal(
        sum(cross_product(bits, Y, **chunk) for chunk in chunks), cross_product(bits, Y, **options)
    )


@settings(deadline=None, derandomize=True, max_examples=25)
@given(people=st.permutations(range(N_HAPLOTYPES // 2)), outcomes=st.permutations(range(4)))
def test_statistics__order_of_rows_and_outcomes_does_not_matter(people, outcomes):
    alleles, Y = random_alleles(5, N_HAPLOTYPES), random_outcomes(4, "people")
    moved = alleles.reshape(5, -1, 2)[:, people].reshape(5, -1)
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": "people"}
    np.testing.assert_array_equal(gram(pack(moved), **options), gram(pack(alleles), **options))
    np.testing.assert_array_equal(
        cross_product(pack(moved), Y[outcomes][:, people], **options),
        cross_product(pack(alleles), Y, **options)[outcomes],
    )


def test_grid_outcomes__clips_and_rounds_towards_zero():
    Y = np.array([[-9.0, 9.0, 0.3, -0.3, np.nan, np.inf, -np.inf, 0.0]])
    gridded = grid_outcomes(Y, bound=3.0)
    assert gridded.dtype == np.int64
    np.testing.assert_array_equal(gridded, [[-196608, 196608, 19660, -19660, 0, 196608, -196608, 0]])


@settings(deadline=None, derandomize=True, max_examples=100)
@given(y=st.floats(allow_nan=True, allow_infinity=True), bound=st.floats(0.01, 100))
def test_grid_outcomes__never_leaves_the_bound(y, bound):
    gridded = grid_outcomes(np.array([[y]]), bound=bound)[0, 0] * OUTCOME_STEP
    assert abs(gridded) <= bound
    assert not abs(gridded) > abs(y)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        *(
            ({"bound": bound}, ("outcome-bound-out-of-range", "`outcomes.bound`", "1000"))
            for bound in (0.0, -1.0, 1000.1, np.nan, np.inf)
        ),
        *(
            ({"bound": 3.0, "row_norm": norm}, ("row-norm-not-positive", "`row_norm`"))
            for norm in (0.0, -1.0, np.nan, np.inf)
        ),
    ],
)
def test_grid_outcomes__raise_on_domain(options, fault):
    with refused(*fault, error=UsageError):
        grid_outcomes(np.zeros((1, 2)), **options)


def test_grid_outcomes__shrinks_long_rows_alone():
    Y = np.array([[3.0, 0.6, 9.0, np.nan], [-4.0, 0.8, np.nan, np.nan]])
    gridded = grid_outcomes(Y, bound=4.0, row_norm=2.5) * OUTCOME_STEP
    np.testing.assert_allclose(gridded, [[1.5, 0.6, 2.5, 0], [-2, 0.8, 0, 0]], atol=OUTCOME_STEP)
    np.testing.assert_array_equal(gridded[:, [1, 3]], grid_outcomes(Y, bound=4.0)[:, [1, 3]] * OUTCOME_STEP)


def test_grid_outcomes__keeps_rows_that_are_as_long_as_the_norm():
    Y = np.array([[3.0, -3.0, 99.0]])
    np.testing.assert_array_equal(grid_outcomes(Y, bound=3.0, row_norm=3.0), grid_outcomes(Y, bound=3.0))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    data=st.data(),
    row_norm=st.floats(2**-14, 5000),
    n_outcomes=st.integers(1, 9),
    scale=st.floats(0.01, 1000),
)
def test_grid_outcomes__is_by_row_and_never_above_the_norm(data, row_norm, n_outcomes, scale):
    row = st.lists(
        st.floats(-1, 1) | st.sampled_from([math.nan, 1, -1]), min_size=n_outcomes, max_size=n_outcomes
    )
    Y = np.array(data.draw(st.lists(row, min_size=1, max_size=6))).T * scale
    gridded = grid_outcomes(Y, bound=1000.0, row_norm=row_norm)
    for column, y in zip(gridded.T, Y.T, strict=True):
        assert sum(int(entry) ** 2 for entry in column) <= (Fraction(row_norm) / Fraction(OUTCOME_STEP)) ** 2
        alone = grid_outcomes(np.asfortranarray(y[:, np.newaxis]), bound=1000.0, row_norm=row_norm)
        np.testing.assert_array_equal(alone[:, 0], column)


def test_clip_norms__is_exact_where_float64_is_not():
    # Squared norms of 2^62 + 1 and 2^62: float64 cannot tell them apart.
    entries = np.array([[2**30, 2**30], [2**30, 2**30], [2**30, 2**30], [2**30, 2**30], [1, 0]])
    clipped = entries.copy()
    clip_norms(clipped, norm=2.0**31, step=1.0)
    np.testing.assert_array_equal(clipped[:, 1], entries[:, 1])
    assert clipped[:, 0].tolist() == [2**30 - 1] * 4 + [0]


def row_of_square(total):
    """Return whole numbers whose squares add up to a total, largest first."""
    row = []
    while total:
        row.append(math.isqrt(total))
        total -= row[-1] ** 2
    return np.pad(row, (0, 16 - len(row)))


@pytest.mark.parametrize(
    ("norm", "step"), [(1.1 * 2**29, 1.0), (0.3 * 2**31, 1.0), (math.pi * 2**27, 1.0), (999.9, OUTCOME_STEP)]
)
def test_long_rows__by_the_exact_square_of_the_norm(norm, step):
    largest = math.floor((Fraction(norm) / Fraction(step)) ** 2)
    entries = np.column_stack([row_of_square(largest), row_of_square(largest + 1)])
    is_long, length = long_rows(entries, norm=norm, step=step)
    assert is_long.tolist() == [False, True]
    assert length.tolist() == [pytest.approx(math.sqrt(largest + 1), rel=1e-14)]


@pytest.mark.parametrize("rows", ROWS)
def test_coded_rows__equals_plain_coding(rows):
    alleles, is_selected = random_alleles(7, N_HAPLOTYPES), random_selection(rows)
    expected = half_coded(alleles, rows=rows)[:, :-1]
    options = {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    np.testing.assert_array_equal(coded_rows(pack(alleles), **options), expected)
    np.testing.assert_array_equal(
        coded_rows(pack(alleles), is_selected=is_selected, **options), expected[is_selected]
    )


def test_coded_rows__of_dosages():
    dosages = np.array([[-4096, 0, 1], [2048, 4096, -1]], dtype=np.int16)
    coded = coded_rows(dosages, n_haplotypes=6, rows="people")
    np.testing.assert_array_equal(coded, [[-1, 0.5], [0, 1], [2.0**-12, -(2.0**-12)]])


@pytest.mark.parametrize(
    ("n_shared", "expected"), [(4, math.sqrt(1 + 25 + 25 + 49)), (2, math.sqrt(25 + 49)), (1, 7.0)]
)
def test_largest_row_norm__over_the_outcomes_of_one_budget(n_shared, expected):
    Y = np.array([[1.0, 0.0], [5.0, 0.0], [5.0, 7.0], [7.0, 0.0]])
    norm = largest_row_norm(grid_outcomes(Y, bound=9.0), n_shared=n_shared)
    assert norm == pytest.approx(expected, rel=1e-8)
    assert norm > expected


def test_largest_row_norm__is_no_less_where_long_sums_round_down():
    Y = np.full((2**17, 2), 2**20 + 1)
    plain = np.square(Y, dtype=np.float64).reshape(1, *Y.shape).sum(axis=1)
    square = len(Y) * (2**20 + 1) ** 2
    assert int(plain[0, 0]) < square
    norm = Fraction(largest_row_norm(Y, n_shared=len(Y))) / Fraction(OUTCOME_STEP)
    assert norm**2 >= square


def test_largest_row_norm__of_more_outcomes_than_int64_could_sum():
    Y = np.full((2**12, 1), LARGEST_OUTCOME)
    assert largest_row_norm(Y, n_shared=len(Y)) == pytest.approx(2**6 * LARGEST_OUTCOME * OUTCOME_STEP)


def test_largest_row_norm__nobody_and_nothing_known():
    assert largest_row_norm(np.zeros((2, 0), dtype=np.int64), n_shared=2) == 0.0
    assert largest_row_norm(np.zeros((2, 3), dtype=np.int64), n_shared=1) == 0.0


@pytest.mark.parametrize("rows", ["people", "haplotypes", "dosages"])
def test_coded_rows__one_by_one_are_the_rows_of_all(rows):
    bits, n_haplotypes, random = random_bits(9, 150), 150, np.random.default_rng(2)
    genotypes, kind = bits, rows
    if rows == "dosages":
        genotypes, kind = random.integers(-4096, 4097, (9, 75)).astype(np.int16), "people"
    is_selected = random.random(150 if rows == "haplotypes" else 75) < 0.7
    options = {"n_haplotypes": n_haplotypes, "rows": kind, "is_selected": is_selected}
    wanted, found = coded_rows(genotypes, **options), CodedRows(genotypes, **options)
    assert (found.shape, len(found), found.ndim) == (wanted.shape, len(wanted), 2)
    for chosen in (
        np.arange(len(wanted)),
        np.array([7, 0, 7]),
        random.permutation(len(wanted)),
        np.empty(0, int),
    ):
        assert np.array_equal(found[chosen], wanted[chosen])
