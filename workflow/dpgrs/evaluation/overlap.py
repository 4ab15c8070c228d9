"""What choices of variants have in common with each other, and with the causal variants of a simulation.

A chosen variant may stand for a causal one that it is inherited with, its *LD partner*: r^2 >= `PARTNER_R2`.
"""

from typing import NamedTuple

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.linkage import ComparedVariants
from dpgrs.linalg.statistics import selected_haplotypes
from dpgrs.types import Rows

PARTNER_R2 = 0.8


class Overlap(NamedTuple):
    """Counts of every outcome, each (n_outcomes,) int64.

    Attributes
    ----------
    causal : chosen variants that are causal.
    near : chosen variants that are causal or an LD partner of a causal one.
    found : causal variants that are chosen or have an LD partner that is.
    """

    causal: np.ndarray
    near: np.ndarray
    found: np.ndarray


def squared_correlations(bits, *, n_haplotypes, rows, is_training):
    """Return a function that compares the alleles of variants, over the haplotypes of the training rows.

    Parameters
    ----------
    bits : (n_variants, n_words) uint64
    n_haplotypes : int
    rows : Rows
    is_training : (n_rows,) bool

    Returns
    -------
    function of (n_first,) and (n_second,) int64 variants to their (n_first, n_second) float64 r^2; 0 for a
    variant that does not vary, also with itself.
    """
    selected = selected_haplotypes(is_training, n_haplotypes=n_haplotypes, rows=rows)
    n_selected = int(np.count_nonzero(selected))
    words = bits & pack(selected)
    compared = ComparedVariants(words, rows=Rows.HAPLOTYPES, n_haplotypes=n_selected)

    def r2(first, second):
        from dpgrs.linalg._bit_counts import counts_within  # brings numba, which takes 0.3 s

        products = counts_within(words[second], words[first])
        found = [compared.r2_by_products(i, second, own) for i, own in zip(first, products, strict=True)]
        return np.array(found).reshape(len(first), len(second))

    return r2


def closest_causal(variants, is_causal, r2):
    """Return the r^2 of variants with the causal variant that each goes with most.

    Parameters
    ----------
    variants : (n_variants,) int64
    is_causal : (n_all,) bool, of one outcome.
    r2 : function, from `squared_correlations`.

    Returns
    -------
    (n_variants,) float64, 1 for causal ones, and 0 throughout where none is causal.
    """
    strongest = r2(variants, np.flatnonzero(is_causal)).max(axis=1, initial=0.0)
    return np.where(is_causal[variants], 1.0, strongest)


def overlap(chosen, is_causal, r2):
    """Count what a choice of variants hits.

    Parameters
    ----------
    chosen : (n_outcomes, n_choices) int64, no variant twice for an outcome.
    is_causal : (n_outcomes, n_variants) bool
    r2 : function, from `squared_correlations`.

    Returns
    -------
    Overlap
    """
    counts = [_counts(*pair, r2) for pair in zip(chosen, is_causal, strict=True)]
    return Overlap(*np.array(counts, dtype=np.int64).reshape(-1, len(Overlap._fields)).T)


def _counts(chosen, is_causal, r2):
    causal = np.flatnonzero(is_causal)
    # A variant goes with itself even where it does not vary.
    is_close = (r2(chosen, causal) >= PARTNER_R2) | (chosen[:, np.newaxis] == causal)
    return is_causal[chosen].sum(), is_close.any(axis=1).sum(), is_close.any(axis=0).sum()


def n_shared(first, second):
    """Count the variants that two choices for the same outcomes have in common.

    Parameters
    ----------
    first, second : (n_outcomes, n_choices) int64, no variant twice for an outcome.

    Returns
    -------
    (n_outcomes,) int64
    """
    return np.array(
        [len(np.intersect1d(*pair, assume_unique=True)) for pair in zip(first, second, strict=True)]
    )
