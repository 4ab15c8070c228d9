"""Genotypes that are looked at some variants at a time, whether they lie in memory or on disk."""

from itertools import pairwise

import numpy as np

from dpgrs.threads import map_in_threads


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


def map_in_parts(function, block, *, n_threads):
    """Call a function with parts of some variants, each in a thread, and join what it returns.

    Parameters
    ----------
    function : function of (n_part, ...) genotypes that returns an array, its last dimension the variants.
    block : (n_block, ...) array
    n_threads : int, at least 1; it changes nothing where a variant's entries hang on no other variant.

    Returns
    -------
    (..., n_block) array
    """
    n_parts = max(min(n_threads, len(block)), 1)
    ends = [len(block) * one // n_parts for one in range(n_parts + 1)]
    parts = map_in_threads(function, [block[first:last] for first, last in pairwise(ends)], n_threads=n_parts)
    return parts[0] if n_parts == 1 else np.concatenate(parts, axis=-1)
