"""The Lasso as a selector: against scikit-learn, and on rows that no Lasso likes."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import Lasso, lars_path

from dpgrs.errors import UsageError
from dpgrs_papers.selection.lasso import LassoTerms, choose_by_lasso, lasso_coefficients
from dpgrs_papers.types import LassoScaling
from refused import refused

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (60, 8)).astype(float)
Y = X @ [3.0, 0, 0, -2, 0, 0, 1, 0] + RNG.standard_normal(60)


@pytest.mark.parametrize("penalty", [0.01, 0.1, 0.5])
def test_lasso_coefficients__equals_scikit_learn(penalty):
    scaled = (X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean()) / Y.std()
    expected = Lasso(alpha=penalty, tol=1e-10).fit(*scaled).coef_
    ours = lasso_coefficients(X, Y, penalty=penalty)
    np.testing.assert_allclose(ours, expected, atol=0.01 * np.abs(expected).max())
    np.testing.assert_array_equal(ours == 0, expected == 0)


@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_lasso_coefficients__of_raw_columns_equals_scikit_learn(penalty):
    units = np.array([1.0, 100, 1, 1, 1, 1, 0.01, 1])
    expected = Lasso(alpha=penalty, tol=1e-10).fit(X * units, Y).coef_
    ours = lasso_coefficients(X * units, Y, penalty=penalty, scaling=LassoScaling.RAW)
    np.testing.assert_allclose(ours, expected, atol=0.01 * np.abs(expected).max())
    np.testing.assert_array_equal(ours == 0, expected == 0)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.inf, np.nan])
def test_lasso_terms__raise_on_a_penalty(penalty):
    with refused("penalty-not-positive", "`penalty`", error=UsageError):
        LassoTerms(penalty)


def test_lasso_coefficients__rows_that_are_not_finite_take_no_part():
    broken_X, broken_y = np.vstack([X, X[:3]]), np.append(Y, [np.nan, np.inf, 1.0])
    broken_X[-1, 2] = np.nan
    np.testing.assert_array_equal(lasso_coefficients(broken_X, broken_y), lasso_coefficients(X, Y))


def test_lasso_coefficients__are_the_same_bits_wherever_the_rows_lie():
    expected = lasso_coefficients(X, Y, penalty=0.05).tobytes()
    for skipped in range(1, 9):
        buffer = np.zeros(X.size + skipped)
        buffer[skipped:] = X.ravel()
        moved = buffer[skipped:].reshape(X.shape)
        for rows in (moved, np.asfortranarray(moved), np.repeat(moved, 2, axis=0)[::2], X.astype(np.int8)):
            assert lasso_coefficients(rows, Y, penalty=0.05).tobytes() == expected


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (X[:0], Y[:0]),
        (X[:1], Y[:1]),
        (X, np.full(60, 0.1)),
        (np.full((60, 8), 0.1), Y),
        (X, np.full(60, np.nan)),
    ],
    ids=["no row", "one row", "constant outcome", "constant features", "no outcome"],
)
def test_lasso_coefficients__zero_without_anything_to_fit(X, y):
    assert not lasso_coefficients(X, y).any()
    assert choose_by_lasso(X, y, k=2).tolist() == [0, 1]


def test_lasso_coefficients__two_rows_have_a_slope():
    """Of two standardised rows it is the correlation, 1, less the penalty."""
    assert lasso_coefficients([[0.0], [2.0]], [3.0, 4.0], penalty=0.25).tolist() == pytest.approx([0.75])


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_lasso_coefficients__finite_and_silent_whatever_the_data(size):
    assert np.isfinite(lasso_coefficients(X * size, Y, penalty=1e-3)).all()
    assert np.isfinite(lasso_coefficients(X, Y * size, penalty=1e-3)).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_lasso_coefficients__cut_entries_far_out(sign):
    far, cut = (np.where(X == 2, sign * size, X) for size in (1e300, 1e50))
    expected = lasso_coefficients(cut, Y, penalty=0.01)
    assert expected.any()
    np.testing.assert_array_equal(lasso_coefficients(far, Y, penalty=0.01), expected)


@pytest.mark.parametrize("column", [[-1, 0, 1], [0, 1, 0], [1, 0, 0]])
def test_lasso_coefficients__zero_where_a_spread_is_lost(column):
    """Its square is below all numbers."""
    own = np.array([column]).T * 1e-300
    assert lasso_coefficients(own, [1.0, 2.0, 4.0], penalty=1e-3).tolist() == [0]


def test_lasso_coefficients__make_no_square_of_the_features():
    rows = RNG.standard_normal((3, 2000))
    tracemalloc.start()
    lasso_coefficients(rows, rows[:, 0], penalty=0.5)
    assert tracemalloc.get_traced_memory()[1] < 2000**2
    tracemalloc.stop()


def test_lasso_coefficients__does_not_say_that_it_did_not_converge():
    """Whether it does is a matter of private rows. Warnings fail a test."""
    common = RNG.standard_normal((100, 1))
    close = common + 1e-6 * RNG.standard_normal((100, 50))
    coefficients = lasso_coefficients(close, close @ RNG.standard_normal(50) + Y.mean(), penalty=1e-12)
    assert np.isfinite(coefficients).all()


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_choose_by_lasso__finds_the_features_that_count_in_any_unit(unit):
    units = np.where(np.arange(8) == 0, unit, 1.0)
    assert choose_by_lasso(X * units, Y, k=3).tolist() == [0, 3, 6]


def related_features(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 6)) + rng.standard_normal((40, 1))
    return A, A @ [1.0, -2.0, 0.5, -0.5, 1.5, 0.0] + rng.standard_normal(40)


@pytest.mark.parametrize("seed", [7, 9, 10])
@pytest.mark.parametrize("k", range(1, 6))
def test_choose_by_lasso__takes_the_features_that_enter_first(seed, k):
    """As the penalty falls. Features go together, so later coefficients can be larger."""
    A, b = related_features(seed)
    scaled, outcome = (A - A.mean(axis=0)) / A.std(axis=0), (b - b.mean()) / b.std()
    _, _, path = lars_path(scaled, outcome, method="lasso")
    n_kept = np.count_nonzero(path, axis=0)
    first = np.flatnonzero(path[:, np.argmax(n_kept >= k)])
    assert sorted(choose_by_lasso(A, b, k=k)) == sorted(first)


@pytest.mark.parametrize("seed", [*range(6), 11, 22])
def test_choose_by_lasso__has_the_order_of_the_largest_penalty_that_keeps_enough(seed):
    A, b = related_features(seed)
    largest = max(abs(np.corrcoef(column, b)[0, 1]) for column in A.T)
    sizes = [np.abs(lasso_coefficients(A, b, penalty=largest * 0.001 ** (i / 99))) for i in range(100)]
    for k in range(1, 7):
        (first, *_) = (size for size in sizes if np.count_nonzero(size) >= k)
        assert choose_by_lasso(A, b, k=k).tolist() == np.argsort(-first)[:k].tolist()


def test_choose_by_lasso__by_index_where_none_is_left():
    assert len(set(choose_by_lasso(X, Y, k=8).tolist())) == 8


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"k": 9}, ("number-of-choices", "`k`", "got 9")),
        ({"k": 0}, ("number-of-choices", "`k`", "got 0")),
        ({"y": Y[:-1]}, ("lasso-table-shape", "`y`")),
    ],
)
def test_choose_by_lasso__raise_on_terms(terms, fault):
    terms = {"X": X, "y": Y, "k": 2} | terms
    with refused(*fault, error=UsageError):
        choose_by_lasso(terms.pop("X"), terms.pop("y"), **terms)
