"""Whether people of two sets of genotype files are the same, by genotypes and whatever their ids."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.kinship import SAME_PERSON, has_same_person
from dpgrs.io.target import Piece, Target
from dpgrs.public_random import uniforms

COMMON = 0.05  # least frequency of the rarer allele in the reference
# Variants compared; fewer cannot tell people apart.
MOST_COMPARED, FEWEST_COMPARED = 4000, 200
MOST_COMMON = 40_000  # common variants of the reference that are looked for in the cohort
SEED = 1


@dataclass(frozen=True)
class SamePeople:
    """The number of people who have somebody in the reference with nearly the same genotypes."""

    n_variants: int  # variants compared
    n_people: int  # of the cohort
    n_same: int  # of the cohort, with somebody alike in the reference
    n_reference: int  # people of the reference
    n_alike: int  # of the reference, with somebody else alike in the reference

    def in_words(self) -> list[str]:
        """Return the counts in words, for the operator only."""
        lines = [
            f"{self.n_same:,} of {self.n_people:,} people of the cohort have somebody in the reference with "
            f"nearly the same genotypes (kinship above {SAME_PERSON}), by {self.n_variants:,} common "
            "variants."
        ]
        if self.n_same:
            lines.append(
                "These people, or their identical twins, would not be protected: frequencies and LD of the "
                "reference are published exactly. Take them out of the reference."
            )
        if self.n_alike:
            lines.append(
                f"{self.n_alike:,} of {self.n_reference:,} people of the reference are as much alike to "
                "somebody else in it: people who are in it twice, or too short a piece of the genome."
            )
        lines.append("These counts depend on private data: publish none of them.")
        return lines


def count_same_people(cohort: list[Path], reference: list[Path]) -> SamePeople:
    """Compare the people of genotype files of a cohort and of a reference, by common variants of both."""
    common = _common_calls(Target(reference))
    calls = _calls_at(Target(cohort), common)
    if len(calls) < FEWEST_COMPARED:
        raise DpgrsError(
            "too-few-shared-variants",
            f"Cohort and reference must share at least {FEWEST_COMPARED} variants that are common in the "
            f"reference, got {len(calls)}. Name files of the same chromosomes and build.",
        )
    first, second = np.stack(list(calls.values())), np.stack([common[site] for site in calls])
    return SamePeople(
        len(calls),
        first.shape[1],
        int(has_same_person(first, second).sum()),
        second.shape[1],
        int(has_same_person(second, second, is_within=True).sum()),
    )


def _common_calls(target: Target) -> dict[str, np.ndarray]:
    """Return the (n_people,) int8 calls of common variants by site, of at most `MOST_COMMON`."""
    calls_by_site = {}
    for piece, sites in _pieces(target):
        calls = piece.calls(np.arange(len(sites)))
        for row in np.flatnonzero(_is_common(calls)):
            calls_by_site[sites[row]] = calls[row].copy()
        calls_by_site = _some(calls_by_site, MOST_COMMON)
    return calls_by_site


def _calls_at(target: Target, chosen_sites: Collection[str]) -> dict[str, np.ndarray]:
    """Return the calls of wanted sites, as `_common_calls` does, of at most `MOST_COMPARED`."""
    calls_by_site = {}
    for piece, sites in _pieces(target):
        rows = np.array([row for row, site in enumerate(sites) if site in chosen_sites], dtype=np.int64)
        if len(rows):
            calls_by_site |= dict(zip([sites[row] for row in rows], piece.calls(rows), strict=True))
        calls_by_site = _some(calls_by_site, MOST_COMPARED)
    return calls_by_site


def _pieces(target: Target) -> Iterator[tuple[Piece, list[str]]]:
    """Yield the pieces of the autosomes, and the names of their sites."""
    for piece in target.pieces(target.autosomes):
        columns = [piece.columns[name] for name in ("contig", "position", "ref", "alt")]
        yield piece, [":".join(map(str, site)) for site in zip(*columns, strict=True)]


def _some(calls_by_site: dict[str, np.ndarray], most: int) -> dict[str, np.ndarray]:
    """Return at most so many entries, chosen by public random numbers of their sites."""
    if len(calls_by_site) <= most:
        return calls_by_site
    sites = list(calls_by_site)
    order = np.argsort(uniforms(SEED, sites, "same people"), kind="stable")[:most]
    return {sites[i]: calls_by_site[sites[i]] for i in np.sort(order)}


def _is_common(calls: np.ndarray) -> np.ndarray:
    """Return which variants are common by their known calls, (n_variants,) bool."""
    is_known = calls >= 0
    frequency = np.where(is_known, calls, 0).sum(axis=1) / np.maximum(2 * is_known.sum(axis=1), 1)
    return np.minimum(frequency, 1 - frequency) >= COMMON
