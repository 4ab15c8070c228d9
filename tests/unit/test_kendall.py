"""Scores of genotypes against the sum over all pairs, and what may not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau, rankdata

from dpgrs.errors import UsageError
from dpgrs.selection.kendall import (
    correlations,
    feature_scores,
    genotype_scores,
    rank_weights,
)
from kendall_pairs import packed, pair_sum
from refused import refused

RANGES = {"haplotypes": 1, "people": 2}
every_rows = pytest.mark.parametrize("rows", list(RANGES))
# Few levels, so that ties abound; 0.0 equals -0.0.
OUTCOMES = st.sampled_from([-2.5, -0.0, 0.0, 1.0, np.inf, np.nan])


def study(n_variants, n_rows, *, largest, seed=0):
    """Return genotypes and three outcomes: continuous, tied, and tied with missing values."""
    rng = np.random.default_rng(seed)
    genotypes = rng.integers(0, largest, (n_variants, n_rows), endpoint=True)
    Y = rng.standard_normal((3, n_rows))
    Y[1:] = np.rint(Y[1:])
    Y[2, rng.random(n_rows) < 0.3] = np.nan
    return genotypes, Y


def by_definition(genotypes, Y):
    return [[pair_sum(x, y, "bounded") for x in genotypes] for y in Y]


def test_rank_weights__are_midranks():
    _, Y = study(1, 50, largest=1)
    weights = rank_weights(Y)
    np.testing.assert_array_equal(weights[:2], 2 * rankdata(Y[:2], axis=1) - 51)
    known = ~np.isnan(Y[2])
    np.testing.assert_array_equal(weights[2, known], 2 * rankdata(Y[2, known]) - known.sum() - 1)
    assert not weights[2, ~known].any()
    assert not weights.sum(axis=1).any()


@pytest.mark.parametrize("y", [[], [1.0], [np.nan], [np.nan, np.nan], [2.0, np.nan], [3.0, 3.0]])
def test_rank_weights__without_order(y):
    assert rank_weights(np.array([y])).tolist() == [[0] * len(y)]


@every_rows
@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), n_rows=st.integers(1, 70))
def test_genotype_scores__equal_the_definition(rows, data, n_rows):
    genotypes = data.draw(hnp.arrays(np.int64, (3, n_rows), elements=st.integers(0, RANGES[rows])))
    Y = data.draw(hnp.arrays(np.float64, (2, n_rows), elements=OUTCOMES))
    bits, options = packed(genotypes, rows)
    # The definition takes differences, which infinity does not have.
    finite = np.where(np.isposinf(Y), 9.0, Y)
    scores = genotype_scores(bits, rank_weights(Y), **options)
    assert scores.dtype == np.int64
    np.testing.assert_array_equal(scores, by_definition(genotypes, finite))


@every_rows
@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), n_rows=st.integers(1, 70))
def test_feature_scores__equal_the_definition(rows, data, n_rows):
    genotypes = data.draw(hnp.arrays(np.int64, (3, n_rows), elements=st.integers(0, RANGES[rows])))
    is_selected = data.draw(hnp.arrays(np.bool_, n_rows))
    bits, options = packed(genotypes, rows)
    for selection in (None, is_selected):
        kept = genotypes if selection is None else genotypes[:, selection]
        expected = [pair_sum(x, kept[0], "product") for x in kept]
        scores = feature_scores(bits, bits[0], is_selected=selection, **options)
        assert scores.dtype == np.int64
        np.testing.assert_array_equal(scores, expected)


def test_genotype_scores__of_haplotypes_are_concordant_less_discordant_pairs():
    genotypes, Y = study(20, 300, largest=1)
    bits, options = packed(genotypes, "haplotypes")
    expected = [[pair_sum(x, y, "sign") for x in genotypes] for y in Y]
    np.testing.assert_array_equal(genotype_scores(bits, rank_weights(Y), **options), expected)


def test_genotype_scores__of_haplotypes_are_the_numerator_of_tau_b():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(60)
    carriers = (y + rng.standard_normal(60) > 0.5).astype(int)
    bits, options = packed([carriers], "haplotypes")
    n_untied = carriers.sum() * (60 - carriers.sum())
    expected = kendalltau(carriers, y).statistic * np.sqrt(60 * 59 / 2 * n_untied)
    assert genotype_scores(bits, rank_weights([y]), **options)[0, 0] == pytest.approx(expected, rel=1e-12)


@every_rows
def test_scores__chunks_of_variants_do_not_matter(rows):
    genotypes, Y = study(600, 40, largest=RANGES[rows])
    bits, options = packed(genotypes, rows)
    weights = rank_weights(Y)
    chunks = [slice(0, 1), slice(1, 300), slice(300, 600)]
    np.testing.assert_array_equal(
        np.hstack([genotype_scores(bits[chunk], weights, **options) for chunk in chunks]),
        genotype_scores(bits, weights, **options),
    )
    np.testing.assert_array_equal(
        np.hstack([feature_scores(bits[chunk], bits[5], **options) for chunk in chunks]),
        feature_scores(bits, bits[5], **options),
    )


@every_rows
@settings(deadline=None, derandomize=True, max_examples=20)
@given(data=st.data(), n_rows=st.integers(2, 80))
def test_scores__order_of_rows_does_not_matter(rows, data, n_rows):
    genotypes, Y = study(4, n_rows, largest=RANGES[rows], seed=n_rows)
    order = np.array(data.draw(st.permutations(range(n_rows))))
    results = []
    for rearranged in (slice(None), order):
        bits, options = packed(genotypes[:, rearranged], rows)
        scores = genotype_scores(bits, rank_weights(Y[:, rearranged]), **options)
        results.append(np.vstack([scores, feature_scores(bits, bits[0], **options)]))
    np.testing.assert_array_equal(*results)


def test_scores__missing_outcome_is_as_good_as_no_row():
    genotypes, Y = study(5, 70, largest=2)
    known = ~np.isnan(Y[2])
    with_missing, without = (
        (packed(genotypes[:, keep], "people"), Y[2:, keep]) for keep in (slice(None), known)
    )
    (bits, options), y = with_missing
    (kept_bits, kept_options), kept_y = without
    np.testing.assert_array_equal(
        genotype_scores(bits, rank_weights(y), **options),
        genotype_scores(kept_bits, rank_weights(kept_y), **kept_options),
    )
    np.testing.assert_array_equal(
        feature_scores(bits, bits[1], is_selected=known, **options),
        feature_scores(kept_bits, kept_bits[1], **kept_options),
    )


@every_rows
def test_genotype_scores__exact_beyond_what_floats_hold(rows):
    """Of weights as of 2^29 rows, whose sums are odd and above 2^53."""
    weights = np.array([[2**58, 1, -(2**58), -1], [-(2**58), 2**57, 2**57, 0]])
    bits, options = packed(RANGES[rows] * np.array([[1, 1, 0, 0], [1, 1, 1, 0]]), rows)
    expected = RANGES[rows] * np.array([[2**58 + 1, 1], [-(2**57), 0]])
    np.testing.assert_array_equal(genotype_scores(bits, weights, **options), expected)


@pytest.mark.parametrize("n_rows", [2**21, 2**21 + 1])
def test_genotype_scores__of_dosages_raise_where_sums_may_be_inexact(n_rows):
    genotypes = np.full((1, n_rows), -4096, dtype=np.int16)
    genotypes[0, n_rows // 2 :] = 4096
    weights, options = rank_weights([np.arange(n_rows)]), {"n_haplotypes": 2 * n_rows, "rows": "people"}
    if 2 * 4096 * n_rows**2 > 4 * 2**53:
        with refused("sums-not-exact", error=UsageError):
            genotype_scores(genotypes, weights, **options)
    else:
        assert genotype_scores(genotypes, weights, **options).tolist() == [[2 * 4096 * n_rows**2 // 4]]


def test_correlations__scale():
    scores = np.array([[0, 6], [0, -4], [0, 0], [0, 0]])
    n_rows = np.array([[4], [3], [1], [0]])
    assert correlations(scores, n_rows, pair_range=2).tolist() == [[0, 1], [0, -1], [0, 0], [0, 0]]
    assert correlations(np.array([3, 0]), 4, pair_range=1).tolist() == [1, 0]
