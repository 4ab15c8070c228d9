"""Which allele of a variant an effect is of: by its letters, as given or on the other strand.

The one place that matches effects with genotypes, for fits that start from public effects and for scores.
"""

from functools import lru_cache
from itertools import starmap

import numpy as np

_COMPLEMENT = str.maketrans("ACGT", "TGCA")
_SET = frozenset("ACGT")
_MOST_KEPT = 2**16


def is_ambiguous(ref, alt):
    """Tell whether two alleles are the same on both strands, as A/T and C/G are.

    Examples
    --------
    >>> is_ambiguous("A", "T"), is_ambiguous("A", "C")
    (True, False)
    """
    return alt == other_strand(ref)


def is_letters(allele):
    """Tell whether an allele is a sequence of A, C, G and T in capitals."""
    return bool(allele) and _SET.issuperset(allele)


@lru_cache(_MOST_KEPT)
def match_alleles(effect, other, ref, alt):
    """Match the alleles of an effect with those of a variant.

    Parameters
    ----------
    effect, other : str in capitals; other is empty where it is not told.
    ref, alt : str in capitals

    Returns
    -------
    sign : int, 1 where the effect is of ALT, -1 where it is of REF, 0 where the alleles are others.
    is_flipped : bool, whether they are told on the other strand. A single allele tells no strand, and an
        insertion or deletion begins elsewhere on the other one.

    Examples
    --------
    >>> match_alleles("C", "A", "A", "C"), match_alleles("A", "C", "A", "C")
    ((1, False), (-1, False))
    >>> match_alleles("G", "T", "A", "C")
    (1, True)
    """
    sign = _sign(effect, other, ref, alt)
    if sign or not other or len(effect) != len(other):
        return sign, False
    sign = _sign(other_strand(effect), other_strand(other), ref, alt)
    return sign, bool(sign)


def match_pairs(effects, others, refs, alts):
    """Match pairs of an effect and a variant.

    Parameters
    ----------
    effects, others, refs, alts : sequences of n_pairs str, see `match_alleles`.

    Returns
    -------
    signs : (n_pairs,) int8
    is_flipped : (n_pairs,) bool
    """
    found = list(starmap(match_alleles, zip(effects, others, refs, alts, strict=True)))
    found = np.array(found, dtype=np.int8).reshape(-1, 2)
    return found[:, 0], found[:, 1].astype(bool)


class Places:
    """Finds what lies at places of the genome.

    Parameters
    ----------
    contigs : (n,) array of str, without ``chr``.
    positions : (n,) int64
    """

    def __init__(self, contigs, positions):
        self._by_contig = {}
        for contig, own in _rows_by_contig(contigs):
            order = own[np.argsort(positions[own], kind="stable")]
            self._by_contig[contig] = positions[order], order

    @property
    def contigs(self):
        return list(self._by_contig)

    def pairs(self, contigs, positions):
        """Pair other things with all that lie at their places.

        Parameters
        ----------
        contigs, positions : (m,) as of the class.

        Returns
        -------
        theirs, ours : (n_pairs,) int64, rows of what is asked for and of what lies there, both ascending
            where one contig after the other is asked for.
        """
        found = []
        for contig, asked in _rows_by_contig(contigs):
            if contig not in self._by_contig:
                continue
            there, order = self._by_contig[contig]
            first, last = (np.searchsorted(there, positions[asked], side=side) for side in ("left", "right"))
            n_each = last - first
            begin = np.repeat(first - (np.cumsum(n_each) - n_each), n_each)
            found.append((np.repeat(asked, n_each), order[begin + np.arange(len(begin))]))
        if not found:
            return np.zeros((2, 0), dtype=np.int64)
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _sign(effect, other, ref, alt):
    if effect == alt and other in (ref, ""):
        return 1
    return -1 if effect == ref and other in (alt, "") else 0


def other_strand(allele):
    """Return the letters of an allele on the other strand."""
    return allele.translate(_COMPLEMENT)[::-1]


def _rows_by_contig(contigs):
    """Yield each contig and its rows, ascending; most are told by runs of one contig."""
    contigs = np.asarray(contigs, dtype=object)
    if not len(contigs):
        return
    starts = np.flatnonzero(np.concatenate([[True], contigs[1:] != contigs[:-1]]))
    runs = {}
    for start, stop in zip(starts, np.append(starts[1:], len(contigs)), strict=True):
        runs.setdefault(contigs[start], []).append(np.arange(start, stop))
    for contig, parts in runs.items():
        yield contig, np.concatenate(parts)
