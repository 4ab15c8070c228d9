"""The haplotype store: a Zarr group of bit-packed haplotypes, its arrays named as in VCF Zarr.

Reading gives what was written, or an error: `dpgrs.io.sealed_zarr`.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpgrs.genotypes.bits import word_count
from dpgrs.io.sealed_zarr import (
    Kind,
    open_array,
    open_sealed,
    read_sealed,
)

if TYPE_CHECKING:
    import pandas as pd


# Version 3 may have shards.
KIND = Kind("dpgrs haplotype store", 2, "haplotype store", "dpgrs ingest-chromosome", versions=(3,))

_CHUNK_BYTES = 2**22
FILE_PEOPLE = 2**16
FILE_WORDS = word_count(2 * FILE_PEOPLE)
CHUNK_PEOPLE = 2**14  # reading these reads nothing of others
_DOSAGE_BYTES = 2**24  # of all people; two batches of them are in memory at a time
CHUNK_VARIANTS = 10_000
CHUNKS_PER_BATCH = 2  # a chunk of the site columns is small, and each is a file to write
_ROWS_TOGETHER, _MOST_APART = 2**10, 4  # rows by their numbers that are read by slices, and their gaps
_BATCH_BYTES = 2**24  # of a plane; some batches are in memory at a time


def rows_per_chunk(n_samples: int, *, has_dosages: bool = False) -> int:
    """Return the number of variants of a chunk: at most 16 MiB over all people, of calls 4 MiB of a file."""
    n_bytes = 8 * word_count(2 * n_samples)
    n_rows = min(_CHUNK_BYTES // min(n_bytes, 8 * FILE_WORDS), _BATCH_BYTES // n_bytes)
    if has_dosages:
        n_rows = min(n_rows, _DOSAGE_BYTES // (2 * n_samples))
    return int(np.clip(n_rows, 1, CHUNK_VARIANTS))


def rows_per_batch(n_samples: int, *, has_dosages: bool = False) -> int:
    """Return the best number of variants to append: whole chunks of bits, within a chunk of site columns."""
    n_rows = rows_per_chunk(n_samples, has_dosages=has_dosages)
    n_bytes = 8 * word_count(2 * n_samples) * n_rows
    return n_rows * int(np.clip(_BATCH_BYTES // n_bytes, 1, CHUNKS_PER_BATCH))


class HaplotypeStore:
    """Bit-packed haplotypes on disk, read in slices; `HaplotypeStore.open` opens one."""

    def __init__(self, path: Path, group: Any) -> None:
        self.path = path
        self._group = group
        self.attributes = dict(group.attrs)  # the origin of the haplotypes, and counts of their ingest
        self.n_variants = group["variant_position"].shape[0]
        self.n_samples = group["sample_id"].shape[0]
        self.n_haplotypes = 2 * self.n_samples

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a store for reading; refuse a damaged one, and one of another format version."""
        group, _ = open_sealed(path, KIND)
        return cls(Path(path), group)

    def _read(
        self,
        name: str,
        selection: slice | np.ndarray = slice(None),
        columns: slice | np.ndarray = slice(None),
    ) -> np.ndarray:
        """Read rows, of a plane some columns; refuse a chunk that is not what was written."""
        array, damaged = open_array(self.path, self._group, name), KIND.damaged(self.path)
        column_selection = [columns] * (array.ndim - 1)
        if not isinstance(selection, np.ndarray) or selection.dtype == bool or len(selection) == 0:
            return read_sealed(array, (selection, *column_selection), damaged)
        selected_rows, n_found = None, 0
        for rows, chosen in _close_rows(selection):
            block = read_sealed(array, (rows, *column_selection), damaged)[chosen]
            if len(block) == len(selection):
                return block
            if selected_rows is None:
                selected_rows = np.empty((len(selection), *block.shape[1:]), dtype=block.dtype)
            selected_rows[n_found : n_found + len(block)] = block
            n_found += len(block)
        return selected_rows

    @cached_property
    def sample_id(self) -> np.ndarray:
        """The ids of the samples, (n_samples,) str."""
        return np.array(self._read("sample_id").tolist(), dtype=str)

    @cached_property
    def variants(self) -> "pd.DataFrame":
        """The n_variants variants: contig, position (1-based), id, ref, alt."""
        import pandas as pd  # takes 0.2 s; a writer does without

        contig = self._read("contig_id")[self._read("variant_contig")]
        ref, alt = self._read("variant_allele").T
        columns = {"contig": contig, "id": self._read("variant_id"), "ref": ref, "alt": alt}
        # pandas 2 takes no strings of numpy 2.
        table = pd.DataFrame({name: values.astype(object) for name, values in columns.items()}, dtype="str")
        table.insert(1, "position", self._read("variant_position").astype(np.int64))
        return table

    def haplotypes(
        self, selection: slice | np.ndarray = slice(None), words: slice | np.ndarray = slice(None)
    ) -> np.ndarray:
        """Return (n_selected, n_words) uint64; `selection` is a slice or an array of variant indices."""
        return self._read("haplotypes", selection, words)

    def missing(
        self, selection: slice | np.ndarray = slice(None), words: slice | np.ndarray = slice(None)
    ) -> np.ndarray | None:
        """Return (n_selected, n_words) uint64, bit 1 if an allele is unknown; None if all are known."""
        return self._read("missing", selection, words) if self.has_missing else None

    @property
    def source_files(self) -> list[dict[str, str]]:
        """The files that it was made from, with ``file``, a name, and ``sha256``."""
        source = self.attributes["source"]
        return source if isinstance(source, list) else [source]

    @property
    def has_missing(self) -> bool:
        """Whether any allele of the store is unknown."""
        return "missing" in self.attributes["n_chunks"]

    @property
    def has_dosages(self) -> bool:
        """Whether the store holds dosages of people beside their nearest calls."""
        return "dosages" in self.attributes["n_chunks"]

    def dosages(
        self, selection: slice | np.ndarray = slice(None), people: slice | np.ndarray = slice(None)
    ) -> np.ndarray:
        """Return (n_selected, n_samples) uint16 in units of `DOSAGE_STEP`, 0 if missing."""
        return self._read("dosages", selection, people)

    def chunks(self) -> Iterator[slice]:
        """Yield the slices of variants that lie together on disk."""
        step = open_array(self.path, self._group, "haplotypes").chunks[0]
        for start in range(0, self.n_variants, step):
            yield slice(start, min(start + step, self.n_variants))


def _close_rows(rows: np.ndarray) -> Iterator[tuple[slice | np.ndarray, slice | np.ndarray]]:
    """Yield a slice or rows to read, and the requested ones among them, of ascending rows: Zarr reads a slice
    in a tenth of the time of as many rows by their numbers."""
    if (np.diff(rows) == 1).all():
        yield slice(int(rows[0]), int(rows[-1]) + 1), slice(None)
        return
    for start in range(0, len(rows), _ROWS_TOGETHER):
        some = rows[start : start + _ROWS_TOGETHER]
        first, span = int(some[0]), int(some[-1]) - int(some[0]) + 1
        if (np.diff(some) <= 0).any() or span > _MOST_APART * len(some):
            yield some, slice(None)
        else:
            yield slice(first, first + span), slice(None) if span == len(some) else some - first
