"""Kendall statistics by their definition, one pair of rows at a time."""

import numpy as np

from dpgrs.bits import pack


def pair_sum(x, y, kernel):
    """Sum a kernel over all pairs of rows, in units of 1/range or 1/range^2; no pair has a missing value."""
    x, y = (np.asarray(values, dtype=float) for values in (x, y))
    by_x, by_y = x[:, np.newaxis] - x, y[:, np.newaxis] - y
    by_x = np.sign(by_x) if kernel == "sign" else by_x
    by_y = by_y if kernel == "product" else np.sign(by_y)
    return round(np.nansum(by_x * by_y) / 2)


def packed(genotypes, rows):
    """Pack (n_variants, n_rows) alleles or dosages 0, 1 and 2; return bits and options of the functions."""
    genotypes = np.asarray(genotypes)
    if rows == "people":
        alleles = np.stack([genotypes > 0, genotypes > 1], axis=-1)
        genotypes = alleles.reshape(len(genotypes), 2 * genotypes.shape[1])
    return pack(genotypes), {"n_haplotypes": genotypes.shape[1], "rows": rows}
