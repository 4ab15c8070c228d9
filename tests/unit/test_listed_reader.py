import numpy as np
import pytest

from dpgrs.genotypes.bits import pack, word_count
from dpgrs.io._listed_kernels import NO_ALLELE, pack_calls, pack_counts


@pytest.mark.parametrize("needs_phase", [True, False])
def test_pack_calls__as_plain_numpy(needs_phase):
    rng, n_samples = np.random.default_rng(1), 75
    alleles = rng.choice([-1, 0, 1, 2], (6, 2 * n_samples)).astype(np.int8)
    first, second = alleles[:, 0::2], alleles[:, 1::2]
    is_phased = rng.random(first.shape) < 0.5
    # Where phase is needed, no heterozygote may lack it.
    is_phased |= (first >= 0) & (second >= 0)
    is_haploid = (rng.random(first.shape) < 0.2) & (first >= 0)
    second[is_haploid] = NO_ALLELE
    place, numbers = np.array([0, 0, 1, 3, 5, 5]), np.array([1, 2, 1, 2, 1, 2])
    haplotypes, missing = np.empty((2, 6, word_count(2 * n_samples)), dtype=np.uint64)
    told = pack_calls(alleles, is_phased, place, numbers, 0, needs_phase, haplotypes, missing)

    is_lost = ((first < 0) != (second < 0)) & ~is_phased & ~is_haploid & needs_phase
    one = np.where(is_lost, -1, first)
    two = np.where(is_lost, -1, np.where(is_haploid, -1 if needs_phase else first, second))
    expected = np.stack([one, two], axis=2).reshape(6, -1)[place]
    assert haplotypes.tolist() == pack(expected == numbers[:, np.newaxis]).tolist()
    assert missing.tolist() == pack(expected < 0).tolist()
    assert told == (-1, -1, np.count_nonzero(is_haploid[[1, 3, 5]]))


def test_pack_calls__names_the_first_call_without_phase():
    alleles = np.array([[0, 1, 0, 1], [0, 0, 1, 0]], dtype=np.int8)
    is_phased = np.array([[True, True], [False, False]])
    planes = np.empty((2, 2, 1), dtype=np.uint64)
    assert pack_calls(alleles, is_phased, np.arange(2), np.ones(2, int), -1, True, *planes)[:2] == (1, 1)


@pytest.mark.parametrize("n_people", [1, 31, 32, 75])
def test_pack_counts__gives_the_bits_of_counts(n_people):
    rng, n_words = np.random.default_rng(n_people), word_count(2 * n_people)
    counts = rng.choice(np.array([0, 1, 2, -9], dtype=np.int8), (5, n_people))
    filled_up = np.zeros((5, 32 * n_words), dtype=np.int8)
    filled_up[:, :n_people] = counts
    expected = [
        pack(np.stack([counts == 2, counts >= 1], axis=2).reshape(5, -1)).tolist(),
        pack(np.repeat(counts < 0, 2, axis=1)).tolist(),
    ]
    planes = np.full((2, 5, n_words), 7, dtype=np.uint64)
    pack_counts(filled_up.view(np.uint64), *planes)
    assert planes.tolist() == expected
