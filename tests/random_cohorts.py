"""Random genotypes and outcomes for tests, small and seeded."""

import numpy as np

from dpgrs.genotypes.bits import pack


def random_alleles(n_variants, n_haplotypes, *, seed=0):
    """Return (n_variants, n_haplotypes) uint8, every variant at a frequency of its own."""
    rng = np.random.default_rng(seed)
    frequency = rng.uniform(0.1, 0.9, size=(n_variants, 1))
    return (rng.random((n_variants, n_haplotypes)) < frequency).astype(np.uint8)


def random_bits(n_variants, n_haplotypes, *, seed=0):
    """Return the same, packed."""
    return pack(random_alleles(n_variants, n_haplotypes, seed=seed))


def half_coded(alleles, *, rows):
    """Code alleles the slow and plain way: (n_rows, n_variants + 1) float64, the intercept last."""
    per_row = alleles - 0.5 if rows == "haplotypes" else alleles[:, ::2] + alleles[:, 1::2] - 1.0
    return np.vstack([per_row, np.full(per_row.shape[1], 0.5)]).T
