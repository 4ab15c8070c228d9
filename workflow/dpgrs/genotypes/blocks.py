"""Genotypes that are read some variants at a time, whether they lie in memory or on disk."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from dpgrs.threads import map_in_threads


def variant_blocks(genotypes: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the slice of some variants and their genotypes, until all have come once, in order.

    Genotypes are an (n_variants, ...) array, which is one block, or have a function `blocks`, such as
    `dpgrs.io.stored_genotypes.StoredGenotypes`.
    """
    if isinstance(genotypes, np.ndarray):
        yield slice(0, len(genotypes)), genotypes
    else:
        yield from genotypes.blocks()


def map_in_parts(
    function: Callable[[np.ndarray], np.ndarray], block: np.ndarray, *, n_threads: int
) -> np.ndarray:
    """Call a function with parts of (n_block, ...) genotypes, each in a thread, and join the results.

    The last dimension of a result is the variants. The number of threads changes nothing if a variant's
    entries depend on no other variant.
    """
    n_parts = max(min(n_threads, len(block)), 1)
    ends = [len(block) * i // n_parts for i in range(n_parts + 1)]
    part_results = map_in_threads(
        function, [block[first:last] for first, last in pairwise(ends)], n_threads=n_parts
    )
    return part_results[0] if n_parts == 1 else np.concatenate(part_results, axis=-1)
