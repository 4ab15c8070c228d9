"""Which rows of the target hold which variants of the scores, and why others are not used."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpgrs.io.allele_matching import Places, is_ambiguous, match_pairs
from dpgrs.scoring.sites import Sites

MATCHED, SWAPPED, FLIPPED, BOTH = "matched", "swapped", "flipped", "flipped and swapped"
ABSENT, OTHER_ALLELES = "not in the target", "other alleles in the target"
REPEATED, NO_CALLS = "more than once in the target", "no calls in the target"
AMBIGUOUS = "ambiguous and left out"
USED = (MATCHED, SWAPPED, FLIPPED, BOTH)
_MOST_SHOWN = 5


@dataclass
class Found:
    """Pairs of variants of the scores and rows of the target."""

    variant: np.ndarray  # (n_pairs,) int64, of the scores
    row: np.ndarray  # (n_pairs,) int64, of the piece of the target
    # (n_pairs,) int8, 1 if the row counts the effect allele. -1 if the effect allele is REF: its copies are
    # two, less those of all ALTs of the same kind, and of those that are no letters, such as ``*``; each of
    # them is a pair.
    sign: np.ndarray


@dataclass
class Matching:
    """Matches the variants of scores in pieces of a target, and keeps the status of each."""

    sites: Sites
    keeps_ambiguous: bool = True  # whether alleles that are the same on both strands are taken as given
    status: np.ndarray = field(init=False)  # (n_variants,) object array of str, why a variant is used or not
    # (n_variants,) object array of str, the target's alleles at its position, such as ``A>C,G``.
    target: np.ndarray = field(init=False)
    is_ambiguous: np.ndarray = field(init=False)  # (n_variants,) bool

    def __post_init__(self) -> None:
        problem, pairs = self.sites.problem, {}
        self.status = np.where(problem == "", ABSENT, problem).astype(object)
        self.target = np.full(len(problem), "", dtype=object)
        alleles = list(zip(self.sites.effect_allele, self.sites.other_allele, strict=True))
        pairs = {pair: is_ambiguous(*pair) for pair in set(alleles)}
        self.is_ambiguous = np.array([pairs[pair] for pair in alleles], dtype=bool)
        is_sought = problem == ""
        if not self.keeps_ambiguous:
            self.status[is_sought & self.is_ambiguous] = AMBIGUOUS
            is_sought &= ~self.is_ambiguous
        self._sought = np.flatnonzero(is_sought)
        self._places = Places(self.sites.contig[self._sought], self.sites.position[self._sought])

    def match(self, columns: dict[str, Any]) -> Found:
        """Match the rows of a piece of the target, which holds all rows of its positions; columns are a
        `Piece`'s."""
        row, at = self._places.pairs(columns["contig"], columns["position"])
        if not len(row):
            return Found(row, row, row.astype(np.int8))
        variant = self._sought[at]
        order = np.lexsort((row, variant))
        variant, row = variant[order], row[order]
        refs, alts = columns["ref"][row], columns["alt"][row]
        effects, other_alleles = self.sites.effect_allele[variant], self.sites.other_allele[variant]
        sign, is_flipped = match_pairs(effects, other_alleles, refs, alts)
        is_symbol = is_no_letters(alts)
        sign = np.where(is_symbol, 0, sign)
        # Letters as given come first.
        as_given = _any_of(variant, (sign != 0) & ~is_flipped)
        sign = np.where(is_flipped & as_given, 0, sign)
        is_flipped &= sign != 0
        self.status[variant] = OTHER_ALLELES
        self._note_target(variant, refs, alts)
        matching = np.flatnonzero(sign)
        if not len(matching):
            return Found(variant[:0], row[:0], sign[:0])
        is_once = self._settle(
            variant[matching], sign[matching], is_flipped[matching], refs[matching], alts[matching]
        )
        is_used = np.isin(variant, variant[matching][is_once])
        kind = _kinds(refs, alts)
        # Of REF, all its ALTs of the kind.
        own_kind = dict(zip(variant[matching].tolist(), kind[matching], strict=True))
        is_pair = sign != 0
        for index in np.flatnonzero(is_used & (sign == 0)):
            is_ref = self.status[variant[index]] in (SWAPPED, BOTH)
            ref, is_as_long = own_kind[int(variant[index])]
            is_alike = is_symbol[index] or kind[index][1] == is_as_long
            is_pair[index] = is_ref and refs[index] == ref and is_alike
        sign = np.where(is_pair & (sign == 0), -1, sign)
        used_pairs = np.flatnonzero(is_pair & is_used)
        return Found(variant[used_pairs], row[used_pairs], sign[used_pairs])

    def _settle(
        self,
        variant: np.ndarray,
        sign: np.ndarray,
        is_flipped: np.ndarray,
        refs: np.ndarray,
        alts: np.ndarray,
    ) -> np.ndarray:
        """Write the status of variants with matching rows; return which of the pairs are used once."""
        names = np.array([[MATCHED, FLIPPED], [SWAPPED, BOTH]], dtype=object)
        self.status[variant] = names[(sign < 0).astype(int), is_flipped.astype(int)]
        first = np.concatenate([[True], variant[1:] != variant[:-1]])
        group = np.cumsum(first) - 1
        is_once = np.ones(len(variant), dtype=bool)
        for number in np.flatnonzero(np.bincount(group) > 1):
            group_rows = np.flatnonzero(group == number)
            kinds = set(_kinds(refs[group_rows], alts[group_rows]))
            is_plain = (
                len(set(alts[group_rows])) == len(group_rows)
                and len(kinds) == 1
                and len(set(sign[group_rows])) == 1
            )
            # A single allele that is REF of a record with several ALTs.
            if not (
                is_plain and sign[group_rows[0]] < 0 and not self.sites.other_allele[variant[group_rows[0]]]
            ):
                self.status[variant[group_rows]] = REPEATED
                is_once[group_rows] = False
        return is_once

    def _note_target(self, variant: np.ndarray, refs: np.ndarray, alts: np.ndarray) -> None:
        """Write the alleles of the target at the positions of variants, which ascend."""
        starts = np.flatnonzero(np.concatenate([[True], variant[1:] != variant[:-1]]))
        for start, stop in zip(starts, np.append(starts[1:], len(variant)), strict=True):
            if stop == start + 1:
                self.target[variant[start]] = f"{refs[start]}>{alts[start]}"
                continue
            by_ref = {}
            for index in range(start, stop):
                by_ref.setdefault(refs[index], []).append(alts[index])
            alleles = [f"{ref}>{','.join(ref_alts)}" for ref, ref_alts in by_ref.items()]
            self.target[variant[start]] = " ".join(alleles[:_MOST_SHOWN])

    @property
    def is_used(self) -> np.ndarray:
        """Which variants are in the sums, (n_variants,) bool."""
        used = frozenset(USED)
        return np.fromiter((name in used for name in self.status), dtype=bool, count=len(self.status))


def is_no_letters(alts: np.ndarray) -> np.ndarray:
    """Return which ALTs are no letters, such as ``*`` or ``<DEL>``, (n,) bool."""
    letters = {alt: alt.isalpha() for alt in set(alts)}
    return np.fromiter((not letters[alt] for alt in alts), dtype=bool, count=len(alts))


def _any_of(variant: np.ndarray, is_so: np.ndarray) -> np.ndarray:
    """Return for each pair whether `is_so` holds for any pair of its variant; variants ascend."""
    return np.isin(variant, variant[is_so])


def _kinds(refs: np.ndarray, alts: np.ndarray) -> np.ndarray:
    """Return what distinguishes records at one position: REF, and whether ALT is as long."""
    kinds = np.empty(len(refs), dtype=object)
    kinds[:] = [(ref, len(ref) == len(alt)) for ref, alt in zip(refs, alts, strict=True)]
    return kinds
