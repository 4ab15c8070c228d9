import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs_papers.selection.top_k import top_k
from refused import refused


@pytest.mark.parametrize("scores", [[5, 1, 5, 7, 1], [5.0, -np.inf, 5.0, 7.0, -np.inf]])
@pytest.mark.parametrize("k", range(1, 6))
def test_top_k__highest_first_and_ties_by_index(scores, k):
    assert top_k(np.array(scores), k).tolist() == [3, 0, 2, 1, 4][:k]


def test_top_k__ties_of_many_by_index():
    scores = np.arange(1000) % 3
    assert top_k(scores, 1000).tolist() == [*range(2, 1000, 3), *range(1, 1000, 3), *range(0, 1000, 3)]


def test_top_k__ends_of_int64():
    assert top_k(np.array([-(2**63), 2**63 - 1, 0]), 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize("k", [0, 4])
def test_top_k__raise_on_k(k):
    with refused("number-of-choices", "`k`", k, error=UsageError):
        top_k(np.arange(3), k)
