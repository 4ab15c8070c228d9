"""Which rows of the target hold which variants of the scores, and why others are not used."""

from dataclasses import dataclass, field

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
    """Pairs of variants of the scores and rows of the target.

    Attributes
    ----------
    variant, row : (n_pairs,) int64, of the scores, and of the piece of the target.
    sign : (n_pairs,) int8, 1 where the row counts the effect allele. -1 where the effect allele is REF: its
        copies are two, less those of all ALTs of the same kind, and of those that are no letters, such as
        ``*``; each of them is a pair.
    """

    variant: np.ndarray
    row: np.ndarray
    sign: np.ndarray


@dataclass
class Matching:
    """Looks for the variants of scores in pieces of a target, and notes what became of each.

    Parameters
    ----------
    sites : Sites
    keeps_ambiguous : bool, whether alleles that are the same on both strands are taken as given.

    Attributes
    ----------
    status : (n_variants,) object array of str, why it is used or not.
    target : (n_variants,) object array of str, what the target holds at the place, such as ``A>C,G``.
    is_ambiguous : (n_variants,) bool
    """

    sites: Sites
    keeps_ambiguous: bool = True
    status: np.ndarray = field(init=False)
    target: np.ndarray = field(init=False)
    is_ambiguous: np.ndarray = field(init=False)

    def __post_init__(self):
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

    def match(self, columns):
        """Match the rows of a piece of the target, which holds all rows of its places.

        Parameters
        ----------
        columns : dict, see `dpgrs.io.target.Piece`.

        Returns
        -------
        Found
        """
        row, at = self._places.pairs(columns["contig"], columns["position"])
        if not len(row):
            return Found(row, row, row.astype(np.int8))
        variant = self._sought[at]
        order = np.lexsort((row, variant))
        variant, row = variant[order], row[order]
        refs, alts = columns["ref"][row], columns["alt"][row]
        effects, others = self.sites.effect_allele[variant], self.sites.other_allele[variant]
        sign, is_flipped = match_pairs(effects, others, refs, alts)
        is_symbol = is_no_letters(alts)
        sign = np.where(is_symbol, 0, sign)
        # Letters as given come first.
        as_given = _any_of(variant, (sign != 0) & ~is_flipped)
        sign = np.where(is_flipped & as_given, 0, sign)
        is_flipped &= sign != 0
        self.status[variant] = OTHER_ALLELES
        self._note_target(variant, refs, alts)
        found = np.flatnonzero(sign)
        if not len(found):
            return Found(variant[:0], row[:0], sign[:0])
        is_once = self._settle(variant[found], sign[found], is_flipped[found], refs[found], alts[found])
        is_used = np.isin(variant, variant[found][is_once])
        kind = _kinds(refs, alts)
        # Of REF, all its ALTs of the kind.
        own_kind = dict(zip(variant[found].tolist(), kind[found], strict=True))
        is_pair = sign != 0
        for place in np.flatnonzero(is_used & (sign == 0)):
            is_ref = self.status[variant[place]] in (SWAPPED, BOTH)
            ref, is_as_long = own_kind[int(variant[place])]
            is_alike = is_symbol[place] or kind[place][1] == is_as_long
            is_pair[place] = is_ref and refs[place] == ref and is_alike
        sign = np.where(is_pair & (sign == 0), -1, sign)
        kept = np.flatnonzero(is_pair & is_used)
        return Found(variant[kept], row[kept], sign[kept])

    def _settle(self, variant, sign, is_flipped, refs, alts):
        """Note the status of variants with matching rows; return which of the pairs are of one use."""
        names = np.array([[MATCHED, FLIPPED], [SWAPPED, BOTH]], dtype=object)
        self.status[variant] = names[(sign < 0).astype(int), is_flipped.astype(int)]
        first = np.concatenate([[True], variant[1:] != variant[:-1]])
        group = np.cumsum(first) - 1
        is_once = np.ones(len(variant), dtype=bool)
        for number in np.flatnonzero(np.bincount(group) > 1):
            own = np.flatnonzero(group == number)
            kinds = set(_kinds(refs[own], alts[own]))
            is_plain = len(set(alts[own])) == len(own) and len(kinds) == 1 and len(set(sign[own])) == 1
            # A single allele that is REF of a record with several ALTs.
            if not (is_plain and sign[own[0]] < 0 and not self.sites.other_allele[variant[own[0]]]):
                self.status[variant[own]] = REPEATED
                is_once[own] = False
        return is_once

    def _note_target(self, variant, refs, alts):
        """Write down what the target holds at the places of variants, which ascend."""
        starts = np.flatnonzero(np.concatenate([[True], variant[1:] != variant[:-1]]))
        for start, stop in zip(starts, np.append(starts[1:], len(variant)), strict=True):
            if stop == start + 1:
                self.target[variant[start]] = f"{refs[start]}>{alts[start]}"
                continue
            by_ref = {}
            for place in range(start, stop):
                by_ref.setdefault(refs[place], []).append(alts[place])
            held = [f"{ref}>{','.join(own)}" for ref, own in by_ref.items()]
            self.target[variant[start]] = " ".join(held[:_MOST_SHOWN])

    @property
    def is_used(self):
        """(n_variants,) bool, which are in the sums."""
        used = frozenset(USED)
        return np.fromiter((one in used for one in self.status), dtype=bool, count=len(self.status))


def is_no_letters(alts):
    """Tell which ALTs are no letters, such as ``*`` or ``<DEL>``, (n,) bool."""
    letters = {alt: alt.isalpha() for alt in set(alts)}
    return np.fromiter((not letters[alt] for alt in alts), dtype=bool, count=len(alts))


def _any_of(variant, is_so):
    """Tell of each pair whether `is_so` holds for any pair of its variant; variants ascend."""
    return np.isin(variant, variant[is_so])


def _kinds(refs, alts):
    """Return what tells records apart at one place: REF, and whether ALT is as long."""
    kinds = np.empty(len(refs), dtype=object)
    kinds[:] = [(ref, len(ref) == len(alt)) for ref, alt in zip(refs, alts, strict=True)]
    return kinds
