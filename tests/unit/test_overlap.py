import numpy as np
import pytest

from dpgrs.evaluation.overlap import closest_causal, n_shared, overlap, squared_correlations
from dpgrs.genotypes.bits import pack
from random_cohorts import random_alleles

R2 = np.array([[1.0, 0.9, 0.1, 0.0], [0.9, 1.0, 0.2, 0.0], [0.1, 0.2, 1.0, 0.79], [0.0, 0.0, 0.79, 1.0]])


def r2(first, second):
    return R2[np.ix_(first, second)]


IS_CAUSAL = np.array([[True, False, False, True], [False, False, False, False]])


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_squared_correlations__match_numpy_over_the_training_haplotypes(rows):
    alleles = random_alleles(6, 400)
    alleles[2] = 1
    alleles[3] = 1 - alleles[0]
    is_training = np.arange(400 if rows == "haplotypes" else 200) % 3 > 0
    selected = is_training if rows == "haplotypes" else np.repeat(is_training, 2)

    compare = squared_correlations(pack(alleles), n_haplotypes=400, rows=rows, is_training=is_training)
    found = compare(np.arange(6), np.arange(6))

    varies = [0, 1, 3, 4, 5]
    expected = np.corrcoef(alleles[varies][:, selected]) ** 2
    np.testing.assert_allclose(found[np.ix_(varies, varies)], expected, atol=1e-12)
    assert found[0, 3] == pytest.approx(1)
    assert not found[2].any()
    np.testing.assert_array_equal(compare(np.array([3, 1]), np.array([0])), found[[3, 1], :1])


def test_closest_causal__of_every_variant_and_none_without_causal_ones():
    found = [closest_causal(np.arange(4), is_causal, r2) for is_causal in IS_CAUSAL]
    np.testing.assert_allclose(found, [[1, 0.9, 0.79, 1], [0, 0, 0, 0]])


def test_closest_causal__one_that_does_not_vary_is_its_own():
    found = closest_causal(np.arange(2), np.array([True, False]), lambda *pair: np.zeros((2, 1)))
    assert found.tolist() == [1, 0]


def test_overlap__counts_hits_partners_and_what_was_found():
    both = overlap(np.array([[0, 1], [0, 1]]), IS_CAUSAL, r2)
    assert [count.tolist() for count in both] == [[1, 0], [2, 0], [1, 0]]

    partner = overlap(np.array([[1, 2], [2, 3]]), IS_CAUSAL, r2)
    assert [count.tolist() for count in partner] == [[0, 0], [1, 0], [1, 0]]


def test_n_shared__whatever_the_order():
    assert n_shared(np.array([[3, 1], [0, 2]]), np.array([[1, 3], [1, 3]])).tolist() == [2, 0]
