"""What choices of variants have in common with each other, and with the causal variants of a simulation.

A chosen variant may stand for a causal one that it is inherited with, its *LD partner*: r^2 >= `PARTNER_R2`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.linkage import ComparedVariants
from dpgrs.linalg.statistics import selected_haplotypes
from dpgrs.types import Rows

PARTNER_R2 = 0.8


class Overlap(NamedTuple):
    """Counts of every outcome, each (n_outcomes,) int64."""

    causal: np.ndarray  # chosen variants that are causal
    near: np.ndarray  # chosen variants that are causal or an LD partner of a causal one
    found: np.ndarray  # causal variants that are chosen or have an LD partner that is


def squared_correlations(
    bits: np.ndarray, *, n_haplotypes: int, rows: Rows, is_training: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that compares the alleles of variants, over the haplotypes of the training rows.

    Bits are (n_variants, n_words) uint64, `is_training` is (n_rows,) bool. The function takes (n_first,) and
    (n_second,) int64 variants and returns their (n_first, n_second) float64 r^2; 0 for a variant that does
    not vary, also with itself.
    """
    selected = selected_haplotypes(is_training, n_haplotypes=n_haplotypes, rows=rows)
    n_selected = int(np.count_nonzero(selected))
    words = bits & pack(selected)
    compared = ComparedVariants(words, rows=Rows.HAPLOTYPES, n_haplotypes=n_selected)

    def r2(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        from dpgrs.linalg._bit_counts import counts_within  # brings numba, which takes 0.3 s

        products = counts_within(words[second], words[first])
        r2_rows = [
            compared.r2_by_products(i, second, counts) for i, counts in zip(first, products, strict=True)
        ]
        return np.array(r2_rows).reshape(len(first), len(second))

    return r2


def closest_causal(
    variants: np.ndarray, is_causal: np.ndarray, r2: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the largest r^2 of each variant, (n_variants,) int64, with a causal variant.

    `is_causal` is (n_all,) bool, of one outcome; `r2` is a function from `squared_correlations`. Causal
    variants have 1, and all have 0 if none is causal.
    """
    strongest = r2(variants, np.flatnonzero(is_causal)).max(axis=1, initial=0.0)
    return np.where(is_causal[variants], 1.0, strongest)


def overlap(
    chosen: np.ndarray, is_causal: np.ndarray, r2: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Overlap:
    """Count the causal variants that a choice hits.

    `chosen` is (n_outcomes, n_choices) int64, no variant twice for an outcome; `is_causal` is (n_outcomes,
    n_variants) bool; `r2` is a function from `squared_correlations`.
    """
    counts = [_counts(*pair, r2) for pair in zip(chosen, is_causal, strict=True)]
    return Overlap(*np.array(counts, dtype=np.int64).reshape(-1, len(Overlap._fields)).T)


def _counts(
    chosen: np.ndarray, is_causal: np.ndarray, r2: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[int, int, int]:
    causal = np.flatnonzero(is_causal)
    # A variant goes with itself even where it does not vary.
    is_close = (r2(chosen, causal) >= PARTNER_R2) | (chosen[:, np.newaxis] == causal)
    return is_causal[chosen].sum(), is_close.any(axis=1).sum(), is_close.any(axis=0).sum()


def n_shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how many variants two choices for the same outcomes have in common, (n_outcomes,) int64.

    Each is (n_outcomes, n_choices) int64, no variant twice for an outcome.
    """
    return np.array(
        [len(np.intersect1d(*pair, assume_unique=True)) for pair in zip(first, second, strict=True)]
    )
