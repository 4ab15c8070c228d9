import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpgrs.genotypes.bits import WORD_BITS, pack, unpack, word_count


@pytest.mark.parametrize(("n_haplotypes", "expected"), [(1, 1), (63, 1), (64, 1), (65, 2), (5008, 79)])
def test_word_count(n_haplotypes, expected):
    assert word_count(n_haplotypes) == expected


@pytest.mark.parametrize("haplotype", [0, 1, 63, 64, 129])
def test_pack__bit_order(haplotype):
    alleles = np.zeros(130, dtype=np.uint8)
    alleles[haplotype] = 1
    words = pack(alleles)
    assert words.dtype == np.uint64
    assert words.tolist() == [
        1 << (haplotype % WORD_BITS) if word == haplotype // WORD_BITS else 0 for word in range(3)
    ]


def test_pack__padding_is_zero():
    words = pack(np.ones((4, 70), dtype=bool))
    assert np.bitwise_count(words).sum(axis=1).tolist() == [70] * 4


@given(st.integers(1, 200).flatmap(lambda n: arrays(np.uint8, (3, n), elements=st.integers(0, 1))))
def test_unpack__inverts_pack(alleles):
    np.testing.assert_array_equal(unpack(pack(alleles), alleles.shape[1]), alleles)


def test_unpack__sliced_words():
    alleles = np.random.Generator(np.random.PCG64(1)).integers(0, 2, (6, 130))
    np.testing.assert_array_equal(unpack(pack(alleles)[::2], 130), alleles[::2])
