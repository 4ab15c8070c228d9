import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.split import per_row, split_rows


def test_split_rows__haplotypes_of_a_person_stay_together():
    is_training = split_rows(101, rows="haplotypes", test_share=0.2, seed=3)
    assert is_training.shape == (202,)
    np.testing.assert_array_equal(is_training[::2], is_training[1::2])
    assert (~is_training[::2]).sum() == 20


def test_split_rows__same_people_for_both_row_meanings():
    people = split_rows(50, rows="people", test_share=0.3, seed=3, key=(2,))
    haplotypes = split_rows(50, rows="haplotypes", test_share=0.3, seed=3, key=(2,))
    np.testing.assert_array_equal(per_row(people, rows="haplotypes"), haplotypes)


def test_split_rows__trials_differ_and_repeat():
    def first(key):
        return split_rows(100, rows="people", test_share=0.2, seed=3, key=key)

    assert (first((1,)) != first((2,))).any()
    np.testing.assert_array_equal(first((1,)), first((1,)))


@pytest.mark.parametrize(("share", "n_test"), [(0.001, 1), (0.999, 9)])
def test_split_rows__someone_is_left_on_either_side(share, n_test):
    assert (~split_rows(10, rows="people", test_share=share, seed=1)).sum() == n_test


def test_split_rows__raise_on_one_person():
    with pytest.raises(UsageError, match="at least 2 people"):
        split_rows(1, rows="people", test_share=0.2, seed=1)
