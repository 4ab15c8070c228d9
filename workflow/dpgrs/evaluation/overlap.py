"""What choices of variants have in common with each other, and with the causal variants of a simulation.

A chosen variant may stand for a causal one that it is inherited with, its *LD partner*: r^2 >= `PARTNER_R2`.
"""

from typing import NamedTuple

import numpy as np

from dpgrs.linalg.linear_fit import centred_gram
from dpgrs.linalg.statistics import GRAM_STEP, gram, selected_haplotypes
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
    """Compare the alleles of variants with each other, over the haplotypes of the training rows.

    Parameters
    ----------
    bits : (n_variants, n_words) uint64
    n_haplotypes : int
    rows : Rows
    is_training : (n_rows,) bool

    Returns
    -------
    (n_variants, n_variants) float64, r^2; 0 for a variant that does not vary, also with itself.
    """
    selected = selected_haplotypes(is_training, n_haplotypes=n_haplotypes, rows=rows)
    G = gram(bits, n_haplotypes=n_haplotypes, rows=Rows.HAPLOTYPES, is_selected=selected)
    centred, _ = centred_gram(G * GRAM_STEP, max(np.count_nonzero(selected), 1))
    spread = np.diag(centred)
    # Rounding leaves next to nothing of a variant that does not vary.
    scale = np.where(spread > 1e-6, spread, np.inf)
    return centred**2 / scale / scale[:, np.newaxis]


def strongest_partner(is_causal, r2):
    """Return, for every variant, its r^2 with the causal variant that it goes with most.

    Parameters
    ----------
    is_causal : (n_outcomes, n_variants) bool
    r2 : (n_variants, n_variants) float64

    Returns
    -------
    (n_outcomes, n_variants) float64, 1 for causal ones, and 0 throughout where none is causal.
    """
    strongest = np.array([r2[causal].max(axis=0, initial=0.0) for causal in is_causal])
    return np.where(is_causal, 1.0, strongest)


def overlap(chosen, is_causal, r2):
    """Count what a choice of variants hits.

    Parameters
    ----------
    chosen : (n_outcomes, n_choices) int64, no variant twice for an outcome.
    is_causal : (n_outcomes, n_variants) bool
    r2 : (n_variants, n_variants) float64

    Returns
    -------
    Overlap
    """
    counts = [_counts(*pair, r2) for pair in zip(chosen, is_causal, strict=True)]
    return Overlap(*np.array(counts, dtype=np.int64).reshape(-1, len(Overlap._fields)).T)


def _counts(chosen, is_causal, r2):
    causal = np.flatnonzero(is_causal)
    # A variant goes with itself even where it does not vary.
    is_close = (r2[np.ix_(causal, chosen)] >= PARTNER_R2) | (causal[:, np.newaxis] == chosen)
    return is_causal[chosen].sum(), is_close.any(axis=0).sum(), is_close.any(axis=1).sum()


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
