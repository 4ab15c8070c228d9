"""Concordant less discordant pairs by merge sort against the sum over all pairs, and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau

from dpgrs.selection import merge_sort
from dpgrs.selection.merge_sort import sign_scores
from kendall_pairs import pair_sum

KERNELS = ["_score", "_pair_count", "_tied_pairs", "_sorted", "_insert", "_merge"]
VALUES = st.sampled_from([-7.5, -1e-300, -0.0, 0.0, 2.0, np.nan]) | st.floats(-10, 10)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), n_rows=st.integers(0, 80))
def test_sign_scores__equal_the_definition(data, n_rows):
    features = data.draw(hnp.arrays(np.float64, (2, n_rows), elements=VALUES))
    y = data.draw(hnp.arrays(np.float64, n_rows, elements=VALUES))
    scores = sign_scores(features, y)
    assert scores.dtype == np.int64
    assert scores.tolist() == [pair_sum(x, y, "sign") for x in features]


@pytest.mark.parametrize("n_levels", [2, 30, 10_000])
@pytest.mark.parametrize("n_rows", [15, 16, 1000, 1025])
def test_sign_scores__of_longer_columns_and_runs(n_rows, n_levels):
    rng = np.random.default_rng(n_rows)
    features = rng.integers(0, n_levels, (3, n_rows))
    y = rng.integers(0, n_levels, n_rows).astype(float)
    assert sign_scores(features, y).tolist() == [pair_sum(x, y, "sign") for x in features]


def test_sign_scores__equal_scipy_without_ties():
    rng = np.random.default_rng(0)
    n_rows = 20_000
    y = rng.standard_normal(n_rows)
    features = np.array([y + 3 * rng.standard_normal(n_rows), rng.standard_normal(n_rows), y, -y])
    expected = [kendalltau(x, y).statistic * n_rows * (n_rows - 1) / 2 for x in features]
    np.testing.assert_allclose(sign_scores(features, y), expected, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1, 7, 16, 60, 300])
def test_sign_scores__unjitted(monkeypatch, n_rows):
    rng = np.random.default_rng(0)
    features = rng.integers(0, [[50], [3]], (2, n_rows)).astype(float)
    y = rng.integers(0, 9, n_rows).astype(float)
    expected = sign_scores(features, y)
    for name in KERNELS:
        monkeypatch.setattr(merge_sort, name, getattr(merge_sort, name).py_func)
    np.testing.assert_array_equal(sign_scores(features, y), expected)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(data=st.data(), n_rows=st.integers(2, 200), n_threads=st.integers(2, 5))
def test_sign_scores__neither_threads_nor_order_nor_others_matter(data, n_rows, n_threads):
    rng = np.random.default_rng(n_rows)
    features = np.rint(10 * rng.standard_normal((7, n_rows)))
    y = np.rint(10 * rng.standard_normal(n_rows))
    order = np.array(data.draw(st.permutations(range(n_rows))))
    expected = sign_scores(features, y)
    np.testing.assert_array_equal(sign_scores(features[:, order], y[order]), expected)
    np.testing.assert_array_equal(sign_scores(features, y, n_threads=n_threads), expected)
    np.testing.assert_array_equal(sign_scores(features[3:], y), expected[3:])


def test_sign_scores__leave_their_inputs_as_they_are():
    features, y = np.array([[-0.0, 3.0, 1.0]]), np.array([2.0, 2.0, 1.0])
    before = features.tobytes(), y.tobytes()
    sign_scores(features, y)
    assert (features.tobytes(), y.tobytes()) == before
    sign_scores(np.asfortranarray(np.vstack([features, features])), y)
    assert sign_scores([[1, 2, 3]], [1, 2, 3]).tolist() == [3]


def test_sign_scores__infinity_is_a_value():
    features = np.array([[-np.inf, np.inf, 0.0, np.inf]])
    assert sign_scores(features, np.arange(4.0)).tolist() == [pair_sum([0, 2, 1, 2], range(4), "sign")]


@pytest.mark.parametrize("start", [0.5, 2.0, -0.5, -2.0])
def test_sign_scores__tell_neighbours_among_numbers_apart(start):
    features = start + np.spacing(start) * np.arange(8.0)[np.newaxis]
    assert len(set(features[0])) == 8
    assert sign_scores(features, np.arange(8.0)).tolist() == [pair_sum(features[0], range(8), "sign")]


def test_sign_scores__without_features_are_none():
    scores = sign_scores(np.zeros((0, 3)), np.arange(3.0))
    assert (scores.dtype, scores.shape) == (np.int64, (0,))


def test_pair_count__is_exact():
    assert merge_sort._pair_count(3_000_000_000) == 4_499_999_998_500_000_000
