"""Genotypes of a variant set that stay on disk, for what looks at some variants at a time."""

import numpy as np

from dpgrs.genotypes.bits import word_count

# Of genotypes that are in memory together: fewer are held, and of more so many are read at a time.
BLOCK_BYTES = 2**27


class StoredGenotypes:
    """Bits of variants of a variant set.

    An index or an array of indices gives those of some variants, `numpy.asarray` those of all.

    Parameters
    ----------
    variant_set : VariantSet, of bits.
    columns : (n_variants,) int64, the variants, in ascending order.

    Attributes
    ----------
    dtype, shape, ndim : as of the array of all.
    """

    dtype, ndim = np.dtype(np.uint64), 2

    def __init__(self, variant_set, columns):
        self._variant_set, self._columns = variant_set, np.asarray(columns)
        self.shape = len(self._columns), word_count(variant_set.n_haplotypes)

    def __len__(self):
        return len(self._columns)

    def __getitem__(self, chosen):
        if np.ndim(chosen) == 0:
            return self[np.array([chosen])][0]
        # The store takes indices that ascend, each once.
        places, back = np.unique(self._columns[chosen], return_inverse=True)
        return self._variant_set.genotypes(places)[back]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._variant_set.genotypes(_together(self._columns)), dtype=dtype)

    def blocks(self):
        """Yield the slice of some variants and their (n_block, n_words) bits, in order."""
        step = max(BLOCK_BYTES // (8 * self.shape[1]), 1)
        for start in range(0, len(self), step):
            block = slice(start, min(start + step, len(self)))
            yield block, self._variant_set.genotypes(_together(self._columns[block]))


def _together(columns):
    """Return a slice in place of ascending indices without a gap, which is read without a copy."""
    first, last = int(columns[0]), int(columns[-1]) + 1
    return slice(first, last) if last - first == len(columns) else columns


def genotypes_of(variant_set, columns):
    """Return the genotypes of some variants: an array, or StoredGenotypes of more bits than a block."""
    if variant_set.has_dosages or 8 * word_count(variant_set.n_haplotypes) * len(columns) <= BLOCK_BYTES:
        return variant_set.genotypes(columns)
    return StoredGenotypes(variant_set, columns)
