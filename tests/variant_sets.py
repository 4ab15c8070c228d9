"""Variant sets whose genotypes are in memory, in place of those on disk."""

from types import SimpleNamespace

import numpy as np

from dpgrs.genotypes.bits import PEOPLE_OF_WORD
from dpgrs.linalg.statistics import is_fractional


def variants_in_memory(genotypes, *, n_haplotypes, **known):
    """Return what steps take for a variant set.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64 bits, or (n_variants, n_samples) int16 dosages; taken as views.
    n_haplotypes : int
    **known : further attributes.
    """

    def taken(selection=slice(None), people=slice(None)):
        first, last, _ = people.indices(n_haplotypes // 2)
        if not is_fractional(genotypes):
            first, last = first // PEOPLE_OF_WORD, -(-last // PEOPLE_OF_WORD)
        return genotypes[selection][:, first:last]

    def words_taken(selection=slice(None), words=slice(None)):
        return genotypes[selection][:, words]

    own = {"has_dosages": is_fractional(genotypes), "has_missing": False, "is_table": False}
    own |= {"n_variants": len(genotypes), "n_haplotypes": n_haplotypes, "n_samples": n_haplotypes // 2}
    own["sample_id"] = np.array([f"P{number}" for number in range(n_haplotypes // 2)])
    return SimpleNamespace(genotypes=taken, haplotypes=words_taken, missing=lambda *_: None, **own | known)
