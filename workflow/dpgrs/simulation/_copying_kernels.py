"""The compiled kernel that copies haplotypes: a pure function of its arrays."""

import numba
import numpy as np

WORD = 64
_SIX, _SIXTY_THREE, _ONE = np.uint64(6), np.uint64(63), np.uint64(1)


@numba.njit(nogil=True, cache=True)
def copy_variants(
    planes,  # (n_planes, n_variants, n_words) uint64, bits of the source
    copied,  # (n,) uint64, the haplotype that each copy follows; in place
    switches,  # (n_variants + 1,) int64, of which switches each variant's begin
    switch_at,  # (n_switches,) int64 and uint64, which copy follows which haplotype from there on
    switch_to,  # likewise
    copies,  # (n_planes, n_variants, word count of n) uint64, where the bits go
):
    """Copy variants, one after another, from the haplotypes that each copy follows."""
    n = len(copied)
    for v in range(planes.shape[1]):
        for e in range(switches[v], switches[v + 1]):
            copied[switch_at[e]] = switch_to[e]
        for p in range(planes.shape[0]):
            row = planes[p, v]
            for w in range(copies.shape[2]):
                word = np.uint64(0)
                for bit in range(min(WORD, n - w * WORD)):
                    h = copied[w * WORD + bit]
                    word |= ((row[h >> _SIX] >> (h & _SIXTY_THREE)) & _ONE) << np.uint64(bit)
                copies[p, v, w] = word
