"""Genotypes that are looked at some variants at a time, whether they lie in memory or on disk."""

import numpy as np


def variant_blocks(genotypes):
    """Yield the slice of some variants and their genotypes, until all have been seen once, in order.

    Parameters
    ----------
    genotypes : (n_variants, ...) array, which is one block, or what has `blocks`, such as
        `dpgrs.io.stored_genotypes.StoredGenotypes`.
    """
    if isinstance(genotypes, np.ndarray):
        yield slice(0, len(genotypes)), genotypes
    else:
        yield from genotypes.blocks()
