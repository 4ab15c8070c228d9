"""Claims about Kendall's correlations: all small inputs, larger ones by hypothesis, a published defect."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpgrs.errors import UsageError
from dpgrs.privacy.sensitivity import kendall_sensitivity
from dpgrs.selection.kendall import (
    correlations,
    feature_scores,
    genotype_scores,
    rank_weights,
)
from dpgrs.selection.merge_sort import sign_scores
from dpgrs_papers.experiments.errata_choices import published_correlation
from kendall_pairs import packed
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW

KERNELS = ["bounded", "product", "sign"]
ROW = {"rows": "people", "unit": "person"}
GENOTYPES = {"haplotypes": (0, 1), "people": (0, 1, 2), "dosages": (0, 3001, 8192)}
RANGES = {"haplotypes": 1, "people": 2, "dosages": 8192}
GENOTYPE_CASES = [("haplotypes", 5), ("people", 4), ("dosages", 4)]  # and the largest number of rows


def bounded(X, Y, kind):
    """Correlate all genotypes (n_variants, n_rows) with all outcomes (n_outcomes, n_rows)."""
    bits, options = packed(X, kind)
    scores = genotype_scores(bits, rank_weights(Y), **options)
    return correlations(scores, rows_with(Y), pair_range=RANGES[kind])


def product(X, Z, kind):
    (bits, options), (features, _) = packed(X, kind), packed(Z, kind)
    scores = [feature_scores(bits, feature, **options) for feature in features]
    return correlations(np.array(scores), X.shape[1], pair_range=RANGES[kind] ** 2)


def sign(X, Y, kind="any"):
    return correlations(np.array([sign_scores(X, y) for y in Y]), rows_with(Y), pair_range=1)


CORRELATIONS = {"bounded": bounded, "product": product, "sign": sign}


def rows_with(Y):
    return (~np.isnan(Y)).sum(axis=1, keepdims=True)


def outcome_levels(n_rows):
    """Return as many as the rows of two neighbours can have, and a missing one."""
    return (*map(float, range(n_rows + 1)), np.nan)


def all_columns(values, n_rows):
    return np.array(list(itertools.product(values, repeat=n_rows)))


def all_correlations(kernel, kind, x_values, y_values, n_rows, n_last):
    """Return them by the values of y in the first and the last rows, and those of x in the same."""
    X, Y = all_columns(x_values, n_rows), all_columns(y_values, n_rows)
    a, b = len(y_values), len(x_values)
    shape = (a ** (n_rows - n_last), a**n_last, b ** (n_rows - n_last), b**n_last)
    return CORRELATIONS[kernel](X, Y, kind).reshape(shape)


def worst_changes(*arguments, n_rows, n_last=1):
    """Return how far the last rows move a correlation if they are added, replaced, or replaced in x alone.

    Whatever rows change, they may be the last: the order of rows does not matter.
    """
    after = all_correlations(*arguments, n_rows, n_last)
    before = all_correlations(*arguments, n_rows - n_last, 0)
    return {
        "add-remove": np.abs(after - before.reshape(len(after), 1, -1, 1)).max(),
        "replace-one": np.ptp(after, axis=(1, 3)).max(),
        "feature": np.ptp(after, axis=3).max(),
    }


def claims(kernel, *, rows="people", unit="person"):
    options = {"rows": rows, "unit": unit}
    return {
        "add-remove": kendall_sensitivity(kernel, neighbours="add-remove", **options).value,
        "replace-one": kendall_sensitivity(kernel, neighbours="replace-one", **options).value,
        "feature": kendall_sensitivity(
            kernel, neighbours="replace-one", protection="feature", **options
        ).value,
    }


@pytest.mark.parametrize("kernel", ["bounded", "product"])
@pytest.mark.parametrize(("kind", "n_largest"), GENOTYPE_CASES)
def test_kendall_sensitivity__of_genotypes_with_outcomes_or_genotypes_is_attained(kind, n_largest, kernel):
    for n_rows in range(2, n_largest + 1):
        others = outcome_levels(n_rows) if kernel == "bounded" else GENOTYPES[kind]
        worst = worst_changes(kernel, kind, GENOTYPES[kind], others, n_rows=n_rows)
        assert worst == pytest.approx(claims(kernel), rel=1e-15)


@pytest.mark.parametrize("n_rows", [2, 3])
def test_kendall_sensitivity__of_signs_is_attained(n_rows):
    levels = outcome_levels(n_rows)
    worst = worst_changes("sign", "any", levels, levels, n_rows=n_rows)
    # One row has no pair yet that a second could upset.
    expected = claims("sign") | ({"add-remove": 1.0} if n_rows == 2 else {})
    assert worst == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("kernel", ["bounded", "product"])
@pytest.mark.parametrize("n_rows", [3, 4, 5])
def test_kendall_sensitivity__of_a_person_with_two_haplotype_rows(n_rows, kernel):
    levels = outcome_levels(n_rows) if kernel == "bounded" else GENOTYPES["haplotypes"]
    worst = worst_changes(kernel, "haplotypes", GENOTYPES["haplotypes"], levels, n_rows=n_rows, n_last=2)
    claimed = claims(kernel, rows="haplotypes", unit="person")
    assert claimed == {name: 2 * value for name, value in claims(kernel).items()}
    assert all(1 <= worst[name] <= claimed[name] for name in claimed)


def test_kendall_sensitivity__of_two_rows_is_approached():
    n_rows = 1000
    carriers, y = np.zeros((2, n_rows), dtype=int)
    carriers[-2:] = y[-2:] = 1
    added = bounded(carriers[np.newaxis], y[np.newaxis].astype(float), "haplotypes")
    assert added[0, 0] == pytest.approx(2 * (n_rows - 2) / (n_rows - 1), rel=1e-15)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), n_rows=st.integers(1, 60))
def test_kendall_sensitivity__holds_for_more_rows(kernel, data, n_rows):
    """Two last rows, of which the first data set has one, the second the other, and the third neither."""
    x_values = st.sampled_from([0, 1, 2])
    y_values = x_values if kernel == "product" else st.sampled_from([-1.0, 0.0, 0.5, 3.0, np.nan])
    if kernel == "sign":
        x_values = y_values
    shape = (3, n_rows + 2)
    X = data.draw(hnp.arrays(float if kernel == "sign" else int, shape, elements=x_values))
    Y = data.draw(hnp.arrays(int if kernel == "product" else float, shape, elements=y_values))
    # A trend, so that the sums are large.
    X[0], Y[0] = np.sort(X[0]), np.sort(Y[0])
    first, second, neither = (
        CORRELATIONS[kernel](np.delete(X, rows, axis=1), np.delete(Y, rows, axis=1), "people")
        for rows in (-1, -2, [-1, -2])
    )
    claimed = claims(kernel)
    assert np.abs(first - neither).max() <= claimed["add-remove"]
    assert np.abs(second - neither).max() <= claimed["add-remove"]
    assert np.abs(first - second).max() <= claimed["replace-one"]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), n_rows=st.integers(1, 40))
def test_kendall_sensitivity__holds_where_missing_rows_are_counted(data, n_rows):
    """The other divisor, as if all rows had the outcome."""
    genotypes = data.draw(hnp.arrays(int, (3, n_rows + 1), elements=st.integers(0, 2)))
    outcomes = st.sampled_from([0.0, 1.0, 2.0, np.nan])
    Y = np.sort(data.draw(hnp.arrays(float, (2, n_rows + 1), elements=outcomes)))
    last = data.draw(st.integers(0, n_rows))
    results = []
    for keep in (slice(None), np.arange(n_rows + 1) != last):
        bits, options = packed(genotypes[:, keep], "people")
        scores = genotype_scores(bits, rank_weights(Y[:, keep]), **options)
        results.append(correlations(scores, options["n_haplotypes"] // 2, pair_range=2))
    assert np.abs(results[0] - results[1]).max() <= claims("bounded")["add-remove"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kendall_sensitivity__terms(kernel, repository):
    for rows, neighbours in itertools.product(["haplotypes", "people"], RELATIONS):
        options = {"rows": rows, "neighbours": neighbours}
        claim = kendall_sensitivity(kernel, unit=UNIT_OF_A_ROW[rows], **options)
        assert claim.norm == "linf"
        assert (repository / claim.proof).is_file()
    label = kendall_sensitivity(kernel, neighbours="replace-one", protection="label", **ROW)
    assert label == kendall_sensitivity(kernel, neighbours="replace-one", **ROW)
    with refused("neighbours-not-replace-one", "got add-remove", error=UsageError):
        kendall_sensitivity(kernel, neighbours="add-remove", protection="feature", **ROW)
    with refused("protection-missing", "`privacy.protection`", error=UsageError):
        kendall_sensitivity(kernel, neighbours="replace-one", protection="none", **ROW)


# The public code of DPKendall scales tau-b by n/2 and adds noise for a sensitivity of 3/2. Tau-b divides by
# the root of the number of untied pairs, of which a genotype has few.


def single_carrier(n_rows):
    x, y = np.zeros(n_rows, dtype=int), np.arange(n_rows, dtype=float)
    x[-1] = 1
    return x, y


@pytest.mark.parametrize("n_rows", [50, 5000])
def test_published_correlation__of_a_single_carrier_is_unbounded(n_rows):
    x, y = single_carrier(n_rows)
    assert published_correlation(x, y) == pytest.approx(np.sqrt(n_rows / 2), rel=1e-9)
    # The carrier in the place with the smallest outcome: one row replaced, more than twice 3/2 away.
    y[-1] = -1
    assert published_correlation(x, y) == pytest.approx(-np.sqrt(n_rows / 2), rel=1e-9)


def test_published_correlation__of_a_constant_is_no_number():
    x, y = single_carrier(50)
    assert np.isnan(published_correlation(x[:-1], y[:-1]))


@pytest.mark.parametrize("n_rows", [50, 5000])
def test_correlations__of_a_single_carrier_and_a_constant(n_rows):
    x, y = single_carrier(n_rows)
    for correlated in (bounded(x[np.newaxis], y[np.newaxis], "haplotypes"), sign([x], y[np.newaxis])):
        assert correlated.item() == 1.0
    constant, y = x[:-1], y[:-1]
    for correlated in (
        bounded(constant[np.newaxis], y[np.newaxis], "haplotypes"),
        product(constant[np.newaxis], constant[np.newaxis], "haplotypes"),
        sign([constant], y[np.newaxis]),
    ):
        assert correlated.item() == 0.0
