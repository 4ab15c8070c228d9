"""A variant set in parts of its people, each of which is read by itself."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD
from dpgrs.io.haplotype_store import CHUNK_PEOPLE
from dpgrs.io.stored_genotypes import BLOCK_BYTES
from dpgrs.io.variant_set import VariantSet
from dpgrs.types import Rows

# The number of people who are in memory together times the entries of a row.
PART_ENTRIES = 2**24


@dataclass(frozen=True)
class VariantSetPart:
    """Some of the people of a variant set, whose genotypes are read when they are needed."""

    variant_set: "VariantSet | HeldGenotypes"
    people: slice  # as in `VariantSet.genotypes`

    @property
    def n_haplotypes(self) -> int:
        first, last, _ = self.people.indices(self.variant_set.n_samples)
        return 2 * (last - first)

    def of_size(self, size: int) -> np.ndarray:
        """Return the indices of a number of variants, as `VariantSet.of_size`."""
        return self.variant_set.of_size(size)

    def genotypes(self, selection: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return the genotypes of variants, as `VariantSet.genotypes`."""
        return self.variant_set.genotypes(selection, self.people)


class HeldGenotypes:
    """Genotypes in memory: of the variants `columns`, (n_columns,) int64 ascending, and some people."""

    def __init__(self, variant_set: VariantSet, columns: np.ndarray, people: slice) -> None:
        self.n_samples = variant_set.n_samples
        self._variant_set, self._columns, self._first = variant_set, columns, people.start
        self._people_of_entry = 1 if variant_set.has_dosages else PEOPLE_OF_WORD
        self._genotypes = variant_set.genotypes(columns, people)

    def of_size(self, size: int) -> np.ndarray:
        """Return the indices of a number of variants, as `VariantSet.of_size`."""
        return self._variant_set.of_size(size)

    def genotypes(self, selection: np.ndarray, people: slice) -> np.ndarray:
        """Return the genotypes of some of the variants and people, as `VariantSet.genotypes` does."""
        first, last = people.start - self._first, people.stop - self._first
        entries = slice(first // self._people_of_entry, -(-last // self._people_of_entry))
        return self._genotypes[np.searchsorted(self._columns, selection), entries]


def parts_in_memory(variant_set: VariantSet, columns: np.ndarray, *, n_most: int) -> Iterator[VariantSetPart]:
    """Yield VariantSetParts of at most `n_most` people, all in order, that have some of the variants.

    `columns` are the variants, (n_columns,) int64 in ascending order. A chunk on disk has many people, and is
    unpacked once for all parts of these that `BLOCK_BYTES` hold.
    """
    n_together = int(BLOCK_BYTES // ((2 if variant_set.has_dosages else 0.25) * max(len(columns), 1)))
    for people in people_parts(slice(0, variant_set.n_samples), min(max(n_together, n_most), CHUNK_PEOPLE)):
        genotypes = HeldGenotypes(variant_set, columns, people)
        for some_people in people_parts(people, n_most):
            yield VariantSetPart(genotypes, some_people)


def people_at_a_time(n_entries: int) -> int:
    """Return how many people are in memory at a time, by the entries of one row of theirs."""
    return max(PART_ENTRIES // n_entries, 1)


def people_parts(people: slice, n_most: int) -> Iterator[slice]:
    """Yield slices of at most `n_most` people, or a word of haplotypes, that make up a slice of people.

    A slice of nobody gives one slice.
    """
    step = max(n_most // PEOPLE_OF_WORD, 1) * PEOPLE_OF_WORD
    for first in range(people.start, max(people.stop, people.start + 1), step):
        yield slice(first, min(first + step, people.stop))


def shard_of(n_people: int, *, shard: int, n_shards: int) -> slice:
    """Return the slice of the people of a shard, from 1 to `n_shards`: about as many in each.

    Nobody is in shards that are too many.
    """
    if shard > n_shards:
        raise UsageError(
            "shard-out-of-range",
            f"`--shard` must be at most `--shards`, {n_shards}, got {shard}. Correct it.",
        )
    n_words = -(-n_people // PEOPLE_OF_WORD)
    start, stop = (min(n_words * i // n_shards * PEOPLE_OF_WORD, n_people) for i in (shard - 1, shard))
    return slice(start, stop)


def rows_of_people(people: slice, *, rows: Rows | str) -> slice:
    """Return the slice of the rows of a slice of people."""
    n_rows = 2 if Rows(rows) == Rows.HAPLOTYPES else 1
    return slice(people.start * n_rows, people.stop * n_rows)
