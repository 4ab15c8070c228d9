import numpy as np
import pytest

from dpgrs.linalg import _kernels
from dpgrs.linalg._kernels import centre_counts, joint_counts
from random_cohorts import random_bits


def joint_counts_numpy(A, B):
    return np.array([np.bitwise_count(words & B).sum(axis=1, dtype=np.int64) for words in A])


@pytest.mark.parametrize(
    ("n_variants", "n_haplotypes"), [(1, 1), (2, 64), (3, 65), (64, 512), (65, 1030), (130, 20_000)]
)
def test_joint_counts__equals_numpy(n_variants, n_haplotypes):
    A = random_bits(n_variants, n_haplotypes)
    np.testing.assert_array_equal(joint_counts(A), joint_counts_numpy(A, A))


def test_joint_counts__extreme_words():
    A = np.array([[0, 2**64 - 1], [2**63, 1], [2**64 - 1, 2**64 - 1]], dtype=np.uint64)
    np.testing.assert_array_equal(joint_counts(A), [[64, 1, 64], [1, 2, 2], [64, 2, 128]])


def test_joint_counts__threads_do_not_matter():
    A = random_bits(200, 700)
    np.testing.assert_array_equal(joint_counts(A, n_threads=3), joint_counts(A))


def test_count_tiles__unjitted(monkeypatch):
    monkeypatch.setattr(_kernels, "_count_tiles", _kernels._count_tiles.py_func)
    A = random_bits(70, 130)
    np.testing.assert_array_equal(joint_counts(A), joint_counts_numpy(A, A))


@pytest.mark.parametrize("centre", [centre_counts, centre_counts.py_func])
def test_centre_counts__equals_numpy(centre):
    A = random_bits(9, 200)
    counts = joint_counts_numpy(A, A)
    totals, n_last = 2 * counts[-1], counts[-1, -1]
    expected = 4 * counts - totals - totals[:, np.newaxis] + n_last
    centre(counts)
    np.testing.assert_array_equal(counts, expected)


def test_joint_counts__two_sets_with_symmetric_counts():
    A = random_bits(70, 512)
    B = A[:, ::-1].copy()
    # A_i & reversed(A_j) and A_j & reversed(A_i) are each other's reversal.
    np.testing.assert_array_equal(joint_counts(A, B), joint_counts_numpy(A, B))
