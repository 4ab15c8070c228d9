"""Linkage disequilibrium on packed bits: r^2 of alleles or of people's allele counts, and thinning by it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import bit_counts, phases_swapped, word_count
from dpgrs.types import Rows

# Variants read together: too small a batch reads the store many times over, too large a batch fills memory.
SMALLEST_BATCH, BATCH_BYTES = 256, 2**28
BASES = 1000


@dataclass(frozen=True)
class LinkageLimit:
    """The limit above which two variants are too much alike to be in one study."""

    r2: float  # in [0, 1], the largest squared correlation of two variants that are kept
    window: float  # kilobases; variants that lie further apart are not compared
    rows: Rows  # haplotypes compare alleles, people compare allele counts, which need no phase

    def __post_init__(self) -> None:
        if not 0 <= self.r2 <= 1:
            raise UsageError(
                "ld-r2-out-of-range", f"`ld_r2` must be in [0, 1], got {self.r2}. Take for example 0.2."
            )
        if not self.window > 0:
            raise UsageError(
                "ld-window-out-of-range",
                f"`ld_window` must be above 0, got {self.window}. Take for example 250.",
            )


class ComparedVariants:
    """Variants on which r^2 is computed, from exact integers.

    `words` are their haplotypes without missing alleles, (n_variants, n_words) uint64.
    """

    def __init__(self, words: np.ndarray, *, rows: Rows, n_haplotypes: int) -> None:
        is_people = rows == Rows.PEOPLE
        n_rows = n_haplotypes // 2 if is_people else n_haplotypes
        self._words, self._n_rows, self._is_people = words, n_rows, is_people
        self._totals = bit_counts(words)
        squares = self._totals + (bit_counts(words & phases_swapped(words)) if is_people else 0)
        self._variances = n_rows * squares - self._totals**2

    def r2(self, i: int, compared_with: np.ndarray) -> np.ndarray:
        """Return r^2 of a variant with others, (n_others,) float64; 0 if one of the two does not vary."""
        words = self._words[compared_with]
        products = bit_counts(words & self._words[i])
        if self._is_people:
            # (a + b) (c + d) over the two haplotypes of people: products within a haplotype, and across both.
            products += bit_counts(words & phases_swapped(self._words[i]))
        return self.r2_by_products(i, compared_with, products)

    def r2_by_products(self, i: int, compared_with: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Return what `r2` does, from the (n_others,) int64 sums of the products with others."""
        covariances = self._n_rows * products - self._totals[compared_with] * self._totals[i]
        scale = self._variances[compared_with].astype(float) * float(self._variances[i])
        squared = covariances.astype(float) ** 2
        return np.divide(squared, scale, out=np.zeros(len(squared)), where=scale > 0)


def choose_unlinked(
    chromosome: np.ndarray,
    position: np.ndarray,
    read: Callable[[np.ndarray], np.ndarray],
    *,
    order: np.ndarray,
    size: int,
    limit: LinkageLimit,
    n_haplotypes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Take `size` variants in a given order, each unless it exceeds the limit with one taken before it.

    `chromosome` (equal numbers for one chromosome), `position` in bases and `order` are (n_variants,); `read`
    gives the haplotypes, without missing alleles, of an array of variants.

    The result is the variants taken in the order of choice, as many as there are, and which were passed over,
    (n_variants,) bool; those after the last one taken were not compared.
    """
    order = np.asarray(order, dtype=np.int64)
    chosen, is_linked = np.empty(0, dtype=np.int64), np.zeros(len(order), dtype=bool)
    largest = max(BATCH_BYTES // (8 * word_count(n_haplotypes)), SMALLEST_BATCH)
    kept_words, first, n_read = None, 0, min(max(size, SMALLEST_BATCH), largest)
    while first < len(order) and len(chosen) < size:
        batch = order[first : first + n_read]
        words = read(batch)
        pool = np.concatenate([chosen, batch])
        words = words if kept_words is None else np.concatenate([kept_words, words])
        compared = ComparedVariants(words, rows=limit.rows, n_haplotypes=n_haplotypes)
        kept_indices = _keep(compared, chromosome[pool], position[pool], len(chosen), size=size, limit=limit)
        compared_pool = pool[: kept_indices[-1] + 1] if len(kept_indices) == size else pool
        is_linked[compared_pool] = True
        chosen, kept_words = pool[kept_indices], words[kept_indices]
        is_linked[chosen] = False
        first, n_read = first + n_read, min(2 * n_read, largest)
    return chosen, is_linked


def _keep(
    compared: ComparedVariants,
    chromosome: np.ndarray,
    position: np.ndarray,
    n_kept: int,
    *,
    size: int,
    limit: LinkageLimit,
) -> np.ndarray:
    """Return the indices of variants to keep, of which the first `n_kept` are kept already."""
    kept_indices = np.empty(size, dtype=np.int64)
    kept_indices[:n_kept] = np.arange(n_kept)
    for i in range(n_kept, len(position)):
        if n_kept == size:
            break
        kept_so_far = kept_indices[:n_kept]
        is_near = (chromosome[kept_so_far] == chromosome[i]) & (
            np.abs(position[kept_so_far] - position[i]) <= limit.window * BASES
        )
        if (compared.r2(i, kept_so_far[is_near]) <= limit.r2).all():
            kept_indices[n_kept] = i
            n_kept += 1
    return kept_indices[:n_kept]
