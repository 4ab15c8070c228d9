import numpy as np
from scipy.stats import kstest

from dpgrs.public_random import generator, uniforms

NAMES = [f"name{i}" for i in range(20_000)]


def test_generator__keys_and_seeds_give_streams_of_their_own():
    draws = [generator(*key).standard_normal() for key in [(1, "a"), (2, "a"), (1, "b"), (1, "a", 0)]]
    assert len(set(draws)) == 4
    assert generator(1, "a").standard_normal() == draws[0]


def test_uniforms__a_number_depends_on_its_name_alone():
    numbers = uniforms(1, NAMES, "split")
    np.testing.assert_array_equal(uniforms(1, NAMES[::-7], "split"), numbers[::-7])
    assert len(set(numbers)) == len(NAMES)


def test_uniforms__are_uniform_and_independent_between_keys():
    first, second = uniforms(1, NAMES, "split", 1), uniforms(1, NAMES, "split", 2)
    assert first.min() >= 0
    assert first.max() < 1
    assert kstest(first, "uniform").pvalue > 1e-6
    # Five standard errors of a correlation.
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(len(NAMES))
