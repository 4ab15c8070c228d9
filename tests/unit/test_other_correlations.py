"""How far one row moves the correlations of Pearson and Spearman, which no method here uses."""

from itertools import permutations

import numpy as np
import pytest


def pearson(x, y):
    """Return the correlation of Pearson, 0 where a column is constant."""
    x, y = (np.asarray(values, dtype=float) - np.mean(values) for values in (x, y))
    size = np.sqrt((x @ x) * (y @ y))
    return x @ y / size if size > 0 else 0.0


def spearman(ranks):
    """Return DPKendall's Lemma 6.4 for rows in the order of one column, with the ranks of the other."""
    n = len(ranks)
    return 1 - 6 * sum((i - rank) ** 2 for i, rank in enumerate(ranks)) / (n * (n**2 - 1))


def without(ranks, row):
    """Return the ranks of the other rows when one row is removed."""
    return tuple(rank - (rank > ranks[row]) for i, rank in enumerate(ranks) if i != row)


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_pearson__one_row_moves_it_over_its_whole_range(n):
    values = np.linspace(-1, 1, n)
    outlier = 1e9
    assert pearson(values, values) == pytest.approx(1)
    assert pearson([*values, -outlier], [*values, outlier]) == pytest.approx(-1)


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_pearson_and_spearman__the_first_carrier_who_is_the_first_case_moves_them_from_0_to_1(n):
    # Of two values ranks are a linear function, so that Spearman's correlation is Pearson's.
    assert pearson(np.zeros(n), np.zeros(n)) == 0
    assert pearson([*np.zeros(n), 1], [*np.zeros(n), 1]) == pytest.approx(1)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_spearman__of_distinct_values_moves_by_6_over_n_plus_2(n):
    added, by_the_others = [], {}
    for ranks in permutations(range(n + 1)):
        correlation = spearman(ranks)
        assert correlation == pytest.approx(pearson(range(n + 1), ranks))
        for row in range(n + 1):
            others = without(ranks, row)
            added.append(abs(correlation - spearman(others)))
            by_the_others.setdefault(others, []).append(correlation)
    # From n to n + 1 rows, and for a replaced row of n + 1.
    assert max(added) == pytest.approx(6 / (n + 2))
    assert max(max(found) - min(found) for found in by_the_others.values()) == pytest.approx(6 / (n + 2))
