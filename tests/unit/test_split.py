import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.split import per_row, row_names, split_rows
from refused import refused

PEOPLE = np.array([f"id{i}" for i in range(1000)])


def split(sample_id=PEOPLE, **options):
    return split_rows(sample_id, **{"rows": "people", "test_share": 0.2, "seed": 3} | options)


def test_split_rows__haplotypes_of_a_person_stay_together():
    is_training = split(rows="haplotypes")
    assert is_training.shape == (2000,)
    np.testing.assert_array_equal(is_training[::2], is_training[1::2])
    # 200 expected, with a standard deviation of 12.6; the seed is fixed.
    assert 150 < (~is_training[::2]).sum() < 250


def test_split_rows__a_side_does_not_depend_on_the_others():
    is_training = split()
    kept = np.delete(np.arange(1000), [0, 17, 999])
    np.testing.assert_array_equal(split(PEOPLE[kept]), is_training[kept])
    np.testing.assert_array_equal(split(PEOPLE[::-1]), is_training[::-1])


def test_split_rows__same_people_for_both_row_meanings():
    people, haplotypes = (split(rows=rows, key=(2,)) for rows in ["people", "haplotypes"])
    np.testing.assert_array_equal(per_row(people, rows="haplotypes"), haplotypes)


def test_split_rows__replicates_differ_and_repeat():
    assert (split(key=(1,)) != split(key=(2,))).any()
    np.testing.assert_array_equal(split(key=(1,)), split(key=(1,)))


@pytest.mark.parametrize(("share", "n_test"), [(1e-9, 1), (1 - 1e-9, 9)])
def test_split_rows__someone_is_left_on_either_side(share, n_test):
    assert (~split(PEOPLE[:10], test_share=share)).sum() == n_test


def test_split_rows__without_the_fallback_no_side_depends_on_the_others():
    options = {"test_share": 0.9, "keeps_both_sides": False}
    alone = [split(PEOPLE[[i]], **options)[0] for i in range(30)]
    assert set(alone) == {True, False}
    np.testing.assert_array_equal(split(PEOPLE[:30], **options), alone)


def test_split_rows__share_of_zero_trains_on_everyone():
    assert split(PEOPLE[:1], test_share=0).all()


def test_split_rows__raise_on_one_person():
    with refused("too-few-people", error=UsageError):
        split(PEOPLE[:1])


def test_row_names__tell_all_rows_apart():
    assert row_names(["a", "b"], rows="haplotypes") == ["a/0", "a/1", "b/0", "b/1"]
    assert row_names(["a", "b"], rows="people") == ["a/0", "b/0"]
