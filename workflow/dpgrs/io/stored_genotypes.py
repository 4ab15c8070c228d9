"""Genotypes of a variant set that stay on disk, for readers of some variants at a time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import word_count

if TYPE_CHECKING:
    from dpgrs.io.variant_set import VariantSet


# Bytes of genotypes that are in memory together: fewer are kept, and of more so many are read at a time.
BLOCK_BYTES = 2**27


class StoredGenotypes:
    """Bits of the variants `columns`, (n_variants,) int64 in ascending order, of a variant set of bits.

    An index or an array of indices gives those of some variants, `numpy.asarray` those of all.
    """

    dtype, ndim = np.dtype(np.uint64), 2

    def __init__(self, variant_set: "VariantSet", columns: np.ndarray) -> None:
        self._variant_set, self._columns = variant_set, np.asarray(columns)
        self.shape = len(self._columns), word_count(variant_set.n_haplotypes)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, chosen: Any) -> np.ndarray:
        if np.ndim(chosen) == 0:
            return self[np.array([chosen])][0]
        # The store takes indices that ascend, each once.
        columns, inverse = np.unique(self._columns[chosen], return_inverse=True)
        return self._variant_set.genotypes(columns)[inverse]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._variant_set.genotypes(_together(self._columns)), dtype=dtype)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the slice of some variants and their (n_block, n_words) bits, in order."""
        step = max(BLOCK_BYTES // (8 * self.shape[1]), 1)
        for start in range(0, len(self), step):
            block = slice(start, min(start + step, len(self)))
            yield block, self._variant_set.genotypes(_together(self._columns[block]))


def _together(columns: np.ndarray) -> slice | np.ndarray:
    """Return a slice for ascending indices without a gap: it is read without a copy."""
    first, last = int(columns[0]), int(columns[-1]) + 1
    return slice(first, last) if last - first == len(columns) else columns


def genotypes_of(variant_set: "VariantSet", columns: np.ndarray) -> np.ndarray | StoredGenotypes:
    """Return the genotypes of some variants: an array, or StoredGenotypes of more bits than a block."""
    if variant_set.has_dosages or 8 * word_count(variant_set.n_haplotypes) * len(columns) <= BLOCK_BYTES:
        return variant_set.genotypes(columns)
    return StoredGenotypes(variant_set, columns)
