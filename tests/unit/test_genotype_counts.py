import allel
import numpy as np

from dpgrs.genotypes.bits import genotype_counts, pack, phases_swapped, unpack
from random_cohorts import random_bits

N_PEOPLE = 70  # the last word is not full


def random_genotypes(*, has_missing):
    """Return haplotypes, where they are missing, and scikit-allel's view of both."""
    bits = random_bits(12, 2 * N_PEOPLE)
    missing = random_bits(12, 2 * N_PEOPLE, seed=5) & random_bits(12, 2 * N_PEOPLE, seed=6)
    missing = missing if has_missing else np.zeros_like(missing)
    calls = np.where(unpack(missing, 2 * N_PEOPLE) == 1, -1, unpack(bits, 2 * N_PEOPLE).astype(np.int8))
    return bits & ~missing, missing, allel.GenotypeArray(calls.reshape(12, N_PEOPLE, 2))


def test_phases_swapped__is_the_other_haplotype_of_each_person():
    alleles = unpack(random_bits(3, 2 * N_PEOPLE), 2 * N_PEOPLE)
    other = alleles.reshape(3, N_PEOPLE, 2)[:, :, ::-1].reshape(3, -1)
    np.testing.assert_array_equal(phases_swapped(pack(alleles)), pack(other))


def test_genotype_counts__are_those_of_scikit_allel():
    for has_missing in (False, True):
        bits, missing, calls = random_genotypes(has_missing=has_missing)
        # scikit-allel calls who has one unknown allele missing, too.
        expected = np.stack(
            [calls.count_hom_ref(axis=1), calls.count_het(axis=1), calls.count_hom_alt(axis=1)]
        )
        counts = genotype_counts(bits, missing if has_missing else None, n_haplotypes=2 * N_PEOPLE)
        np.testing.assert_array_equal(counts, expected.T)
        assert (counts.sum(axis=1) < N_PEOPLE).any() == has_missing
