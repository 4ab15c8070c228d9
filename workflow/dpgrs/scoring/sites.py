"""The variants of scores: which of them can be looked for, and those of several scores together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.allele_matching import is_ambiguous, is_letters, other_strand
from dpgrs.io.effect_types import APPLIED
from dpgrs.io.genome_builds import CHROMOSOMES

# What becomes of a variant that a score lists again.
REFUSE, FIRST, SUM = DUPLICATES = ("refuse", "first", "sum")
# Why a variant of a score cannot be looked for.
NO_PLACE, OTHER_CHROMOSOME = "no position", "chromosome other than 1-22 and X"
NOT_LETTERS, REPEATED = "alleles not of A, C, G, T", "again in the score, left out"


@dataclass(frozen=True)
class Sites:
    """Variants of scores, each with its effect allele; arrays are (n_variants,), see `EffectRows`."""

    contig: np.ndarray
    position: np.ndarray
    effect_allele: np.ndarray
    other_allele: np.ndarray
    frequency: np.ndarray  # float64, public, of the effect allele, NaN if not known
    problem: np.ndarray  # object array of str, why a variant cannot be looked for; else empty

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def contigs(self) -> list[str]:
        """The contigs on which there is something to look for."""
        return sorted(set(self.contig[self.problem == ""]))

    def names(self, rows: Iterable[int]) -> Iterator[str]:
        """Yield the names of variants in messages."""
        for row in rows:
            alleles = f"{self.effect_allele[row]}:{self.other_allele[row] or '?'}"
            yield shown(f"{self.contig[row]}:{self.position[row]}:{alleles}")


def site_problems(columns: dict[str, Any]) -> np.ndarray:
    """Return why variants cannot be looked for, (n_variants,) object array of str, empty where they can."""
    types = columns["types"]
    problems = np.full(len(types), "", dtype=object)
    chromosomes, letters = set(CHROMOSOMES), {}
    for names in ("effect_allele", "other_allele"):
        letters |= {text: is_letters(text) for text in set(columns[names])}
    letters |= {"": True}
    is_letter = [letters[effect] and effect != "" and letters[other] for effect, other in _alleles(columns)]
    problems[~np.array(is_letter, dtype=bool)] = NOT_LETTERS
    is_known = {contig: contig in chromosomes for contig in set(columns["contig"])}
    problems[~np.array([is_known[contig] for contig in columns["contig"]], dtype=bool)] = OTHER_CHROMOSOME
    problems[(columns["position"] < 1) | (columns["contig"] == "")] = NO_PLACE
    return np.where(np.isin(types.astype(str), APPLIED), problems, types).astype(object)


def _alleles(columns: dict[str, Any]) -> Iterable[tuple[str, str]]:
    return zip(columns["effect_allele"], columns["other_allele"], strict=True)


def settle_duplicates(path: Path, sites: Sites, *, duplicates: str) -> None:
    """Refuse a variant that a score lists again, or leave it out; with ``sum`` it counts again.

    The path is for messages; problems are written to `sites`. A variant is the same with its alleles swapped
    or from the other strand. An effect allele that is also the other one is refused.
    """
    same = np.flatnonzero((sites.effect_allele == sites.other_allele) & (sites.problem == ""))
    if len(same):
        name = next(sites.names(same))
        raise DpgrsError(
            "alleles-equal",
            f"`{path}`, row {same[0] + 1}: the effect allele must differ from the other one, got {name}. "
            "Correct the row, or remove it.",
        )
    if duplicates == SUM:
        return
    first = _first_rows(sites)
    again = np.flatnonzero(first != np.arange(len(sites)))
    if len(again) and duplicates == REFUSE:
        row, earlier = again[0], first[again[0]]
        name, other = sites.names([row, earlier])
        raise DpgrsError(
            "variant-twice",
            f"`{path}`, row {row + 1}: every variant must be there once, got {name}, which is {other} of "
            f"row {earlier + 1}. Remove one of the two, or choose what counts: `--duplicates first` or "
            "`--duplicates sum`.",
        )
    sites.problem[again] = REPEATED


def _first_rows(sites: Sites) -> np.ndarray:
    """Return the first row of each row's variant, (n_variants,) int64; rows with a problem have their own
    number."""
    alleles = zip(sites.effect_allele, sites.other_allele, strict=True)
    first_rows, keys, kinds = np.arange(len(sites)), {}, {}
    for row, (contig, position, pair) in enumerate(
        zip(sites.contig, sites.position.tolist(), alleles, strict=True)
    ):
        if sites.problem[row]:
            continue
        kind = kinds.get(pair)
        if kind is None:
            kind = kinds[pair] = _either_way(*pair)
        first_rows[row] = keys.setdefault((contig, position, kind), row)
    is_single = (sites.other_allele == "") & (sites.problem == "")
    if is_single.any():
        _note_single(sites, first_rows, is_single)
    return first_rows


def _note_single(sites: Sites, first_rows: np.ndarray, is_single: np.ndarray) -> None:
    """Write to `first_rows` the variants with only one allele that another row of their position has."""
    positions = set(zip(sites.contig[is_single], sites.position[is_single].tolist(), strict=True))
    rows = {}
    for row, position in enumerate(zip(sites.contig, sites.position.tolist(), strict=True)):
        if position in positions and not sites.problem[row]:
            rows.setdefault(position, []).append(row)
    for row_numbers in rows.values():
        for number, row in enumerate(row_numbers):
            for earlier in row_numbers[:number]:
                alleles, earlier_alleles = (
                    {sites.effect_allele[k], sites.other_allele[k]} - {""} for k in (row, earlier)
                )
                if (is_single[row] or is_single[earlier]) and alleles & earlier_alleles:
                    first_rows[row] = min(first_rows[row], first_rows[earlier])


def _either_way(effect: str, other: str) -> tuple[str, ...]:
    """Return a name of a pair of alleles, whichever is the effect's, and on whichever strand one letter is
    given."""
    pair = tuple(sorted((effect, other)))
    if len(effect) != len(other) or is_ambiguous(effect, other):
        return pair
    return min(pair, tuple(sorted(map(other_strand, pair))))


def union_of(lists: Sequence[Sites]) -> tuple[Sites, list[np.ndarray]]:
    """Return the variants of all lists, each once, and the rows of each list among them."""
    if len(lists) == 1:
        return lists[0], [np.arange(len(lists[0]))]
    keys, rows, source = {}, [], []
    for number, sites in enumerate(lists):
        variants = zip(
            sites.contig,
            sites.position.tolist(),
            sites.effect_allele,
            sites.other_allele,
            sites.problem,
            strict=True,
        )
        numbers = np.fromiter(
            (keys.setdefault(key, len(keys)) for key in variants), dtype=np.int64, count=len(sites)
        )
        new = np.flatnonzero(numbers >= (sum(map(len, source))))
        new = new[np.unique(numbers[new], return_index=True)[1]]
        source.append([(number, int(row)) for row in new])
        rows.append(numbers)
    columns_by_list = [
        {
            name: getattr(lists[number], name)[[row for _, row in list_rows]]
            for name in Sites.__dataclass_fields__
        }
        for number, list_rows in enumerate(source)
    ]
    every = Sites(
        **{
            name: np.concatenate([columns[name] for columns in columns_by_list])
            for name in Sites.__dataclass_fields__
        }
    )
    for sites, list_rows in zip(lists, rows, strict=True):
        # Another file may have a frequency.
        is_new = np.isnan(every.frequency[list_rows]) & ~np.isnan(sites.frequency)
        every.frequency[list_rows[is_new]] = sites.frequency[is_new]
    return every, rows
