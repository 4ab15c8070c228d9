"""Genotypes of people, counted on the bits of their haplotypes."""

import numpy as np

from dpgrs.genotypes.bits import phases_swapped


def bit_counts(words: np.ndarray) -> np.ndarray:
    """Return the (n,) int64 numbers of 1 bits of (n, n_words) uint64."""
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def genotype_counts(
    haplotypes: np.ndarray, missing: np.ndarray | None = None, *, n_haplotypes: int
) -> np.ndarray:
    """Return the (n_variants, 3) int64 people with no, one and two ALT alleles; others are left out.

    Planes are (n_variants, n_words) uint64: bit 1 if the haplotype carries ALT, and if the allele is unknown;
    `missing` is None if all are known.
    """
    unknown = np.zeros_like(haplotypes) if missing is None else missing | phases_swapped(missing)
    known = haplotypes & ~unknown
    n_people = (n_haplotypes - bit_counts(unknown)) // 2
    n_twice = bit_counts(known & phases_swapped(known)) // 2
    n_once = bit_counts(known) - 2 * n_twice
    counts = np.stack([n_people - n_once - n_twice, n_once, n_twice], axis=1)
    assert counts.shape == (len(haplotypes), 3)
    return counts
