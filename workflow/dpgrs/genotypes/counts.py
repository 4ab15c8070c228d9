"""Genotypes of people, counted on the bits of their haplotypes."""

import numpy as np

FIRST_HAPLOTYPES = np.uint64(0x5555_5555_5555_5555)
ONE = np.uint64(1)


def swapped(words):
    """Exchange the two haplotypes of every person.

    Parameters
    ----------
    words : (..., n_words) uint64; haplotypes 2 i and 2 i + 1 are those of person i.

    Returns
    -------
    (..., n_words) uint64

    Examples
    --------
    >>> swapped(np.array([0b0110], dtype=np.uint64)).tolist()
    [9]
    """
    return ((words & FIRST_HAPLOTYPES) << ONE) | ((words >> ONE) & FIRST_HAPLOTYPES)


def bit_counts(words):
    """Return the (n,) int64 numbers of 1 bits of (n, n_words) uint64."""
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def genotype_counts(haplotypes, missing=None, *, n_haplotypes):
    """Count people by genotype; who has an unknown allele is left out.

    Parameters
    ----------
    haplotypes : (n_variants, n_words) uint64, bit 1 where the haplotype carries ALT.
    missing : (n_variants, n_words) uint64, bit 1 where the allele is unknown; None where all are known.
    n_haplotypes : int, twice the number of people.

    Returns
    -------
    (n_variants, 3) int64, people with no, one and two ALT alleles.
    """
    unknown = np.zeros_like(haplotypes) if missing is None else missing | swapped(missing)
    known = haplotypes & ~unknown
    n_people = (n_haplotypes - bit_counts(unknown)) // 2
    n_twice = bit_counts(known & swapped(known)) // 2
    n_once = bit_counts(known) - 2 * n_twice
    counts = np.stack([n_people - n_once - n_twice, n_once, n_twice], axis=1)
    assert counts.shape == (len(haplotypes), 3)
    return counts
