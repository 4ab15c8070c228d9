"""Which allele of a variant an effect is of: by its letters, as given or on the other strand.

This is the only place that matches effects with genotypes, for fits that start from public effects and for
scores.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import starmap

import numpy as np

_COMPLEMENT = str.maketrans("ACGT", "TGCA")
_SET = frozenset("ACGT")
_MOST_KEPT = 2**16


def is_ambiguous(ref: str, alt: str) -> bool:
    """Return whether two alleles are the same on both strands, as A/T and C/G are.

    Examples
    --------
    >>> is_ambiguous("A", "T"), is_ambiguous("A", "C")
    (True, False)
    """
    return alt == other_strand(ref)


def is_letters(allele: str) -> bool:
    """Return whether an allele is a sequence of A, C, G and T in capitals."""
    return bool(allele) and _SET.issuperset(allele)


@lru_cache(_MOST_KEPT)
def match_alleles(effect: str, other: str, ref: str, alt: str) -> tuple[int, bool]:
    """Return the sign of an effect on a variant, and whether its alleles are on the other strand.

    Alleles are in capitals; `other` is empty if it is not stated. The sign is 1 if the effect is of ALT, -1
    if of REF, 0 if the alleles are others. A single allele tells no strand, and an insertion or deletion
    begins elsewhere on the other one.

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


def match_pairs(
    effects: Iterable[str], other_alleles: Iterable[str], refs: Iterable[str], alts: Iterable[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the signs, (n_pairs,) int8, and flips, (n_pairs,) bool, of pairs of an effect and a variant."""
    pairs = list(starmap(match_alleles, zip(effects, other_alleles, refs, alts, strict=True)))
    matches = np.array(pairs, dtype=np.int8).reshape(-1, 2)
    return matches[:, 0], matches[:, 1].astype(bool)


class Places:
    """Finds the variants at positions of the genome.

    `contigs`, (n,) without ``chr``, and `positions`, (n,) int64, describe the variants.
    """

    def __init__(self, contigs: np.ndarray, positions: np.ndarray) -> None:
        self._by_contig = {}
        for contig, rows in _rows_by_contig(contigs):
            order = rows[np.argsort(positions[rows], kind="stable")]
            self._by_contig[contig] = positions[order], order

    @property
    def contigs(self) -> list[str]:
        return list(self._by_contig)

    def pairs(self, contigs: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of the query and of the variants there, (n_pairs,) int64 each, for all pairs.

        Both ascend if the query has one contig after the other.
        """
        pairs = []
        for contig, rows in _rows_by_contig(contigs):
            if contig not in self._by_contig:
                continue
            sorted_positions, order = self._by_contig[contig]
            query = positions[rows]
            first, last = (np.searchsorted(sorted_positions, query, side=side) for side in ("left", "right"))
            n_each = last - first
            begin = np.repeat(first - (np.cumsum(n_each) - n_each), n_each)
            pairs.append((np.repeat(rows, n_each), order[begin + np.arange(len(begin))]))
        if not pairs:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        queries, matches = zip(*pairs, strict=True)
        return np.concatenate(queries), np.concatenate(matches)


def _sign(effect: str, other: str, ref: str, alt: str) -> int:
    if effect == alt and other in (ref, ""):
        return 1
    return -1 if effect == ref and other in (alt, "") else 0


def other_strand(allele: str) -> str:
    """Return the letters of an allele on the other strand."""
    return allele.translate(_COMPLEMENT)[::-1]


def _rows_by_contig(contigs: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each contig and its rows, ascending; most are found as runs of one contig."""
    contigs = np.asarray(contigs, dtype=object)
    if not len(contigs):
        return
    starts = np.flatnonzero(np.concatenate([[True], contigs[1:] != contigs[:-1]]))
    runs = {}
    for start, stop in zip(starts, np.append(starts[1:], len(contigs)), strict=True):
        runs.setdefault(contigs[start], []).append(np.arange(start, stop))
    for contig, rows in runs.items():
        yield contig, np.concatenate(rows)
