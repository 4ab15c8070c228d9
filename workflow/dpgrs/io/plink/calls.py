"""The calls of .bed files, and the calls and dosages of .pgen files, which pgenlib decodes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD, pack, word_count
from dpgrs.io.vcf.text import COPY_AGAIN

if TYPE_CHECKING:
    from dpgrs.io.listed_reader import BitsOf, CallsOf, DosagesOf

# Copies of A1 in the four calls of each byte, the lowest bits first; 01 is missing.
_COPIES = np.array([2, -9, 1, 0], dtype=np.int8)[np.arange(256)[:, np.newaxis] >> np.arange(0, 8, 2) & 3]
_CALLS_OF_BYTE = np.ascontiguousarray(_COPIES).view(np.uint32).ravel()
_MAGIC_BYTES = 3
# Bytes of calls that are decoded together, in buffers that are kept: fresh memory costs more than decoding.
_BUFFER_BYTES = 2**22
_MOST_ROWS = 512  # the kernel reads at most 1024 pieces at once


def bed_bits(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "BitsOf":
    """Return a function that packs the calls of records of a ``.bed``; `n_alts` are ALTs a record."""
    from dpgrs.io._listed_kernels import pack_bed  # brings numba, which takes 0.3 s

    rows_of = _BedRows(path, n_samples)

    def pack_records(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        for block, codes in rows_of.blocks(records):
            pack_bed(codes, n_samples, haplotypes[block], missing[block])
        haplotypes[alleles > 1] = 0  # the file knows no other ALT
        _exchange_alleles(alleles == 0, n_samples, haplotypes, missing)

    return pack_records


def bed_counts(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "DosagesOf":
    """Return a function that reads int8 copies of ALT of a ``.bed``; allele numbers are all 1."""
    rows_of, n_bytes = _BedRows(path, n_samples), -(-n_samples // 4)

    def read(records: np.ndarray, alleles: np.ndarray | None) -> np.ndarray:
        counts = np.empty((len(records), n_samples), dtype=np.int8)
        for block, codes in rows_of.blocks(records):
            calls = _CALLS_OF_BYTE[codes.view(np.uint8)[:, :n_bytes]]
            counts[block] = calls.view(np.int8)[:, :n_samples]
        return counts

    return read


def _exchange_alleles(
    is_first: np.ndarray, n_samples: int, haplotypes: np.ndarray, missing: np.ndarray
) -> None:
    """Turn bits of the second allele into bits of the first, in rows that count the first."""
    rows = np.flatnonzero(is_first)
    if len(rows):
        haplotypes[rows] = pack(np.ones(2 * n_samples, dtype=bool)) & ~(haplotypes[rows] | missing[rows])


class _BedRows:
    """The rows of a ``.bed`` as it lies on disk, a few at a time, in one buffer."""

    def __init__(self, path: Path, n_samples: int) -> None:
        self._path, self._n_samples = path, n_samples
        self._n_bytes, n_words = -(-n_samples // 4), word_count(2 * n_samples)
        n_rows = max(min(_BUFFER_BYTES // (8 * n_words), _MOST_ROWS), 1)
        self._codes = np.zeros((n_rows, n_words), dtype=np.uint64)
        self._rows = self._codes.view(np.uint8)[:, : self._n_bytes]

    def blocks(self, records: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of records and their (n, n_words) uint64 codes, which the next ones overwrite."""
        n_last = self._n_samples % 4 or 4
        with self._path.open("rb", buffering=0) as file:
            for start in range(0, len(records), len(self._codes)):
                block = slice(start, min(start + len(self._codes), len(records)))
                rows = self._rows[: block.stop - start]
                # Records that follow one another are read at once.
                runs = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(records[block]) != 1) + 1)
                for run in runs:
                    offset = _MAGIC_BYTES + int(records[start + run[0]]) * self._n_bytes
                    pieces = list(rows[run[0] : run[-1] + 1])
                    if os.preadv(file.fileno(), pieces, offset) < len(run) * self._n_bytes:
                        raise DpgrsError(f"`{self._path}` is truncated or damaged. {COPY_AGAIN}")
                # Bits beyond the last person are 0: the size does not distinguish 5 people from 8.
                if (rows[:, -1].astype(np.int64) >> (2 * n_last)).any():
                    fam = self._path.with_suffix(".fam").name
                    raise DpgrsError(
                        f"`{self._path}` has calls of more people than `{fam}` has lines. {COPY_AGAIN}"
                    )
                yield block, self._codes[: len(rows)]


def pgen_counts(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "DosagesOf":
    """Do for a ``.pgen`` what `bed_counts` does for a ``.bed``, of any ALT."""
    pgen = _open_pgen(path, n_samples, n_alts)

    def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
        counts = np.empty((len(records), n_samples), dtype=np.int8)
        with _damage_named(path):
            if (alleles == 1).all():
                pgen.read_list(records.astype(np.uint32), counts)
                return counts
            for row, record, allele in zip(counts, records, alleles, strict=True):
                pgen.read(int(record), row, int(allele))
        return counts

    return read


def pgen_calls(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "CallsOf":
    """Return a function that reads the alleles and phase of records of a ``.pgen``."""
    return _calls_of(path, _open_pgen(path, n_samples, n_alts), n_samples)


def pgen_bits(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "BitsOf":
    """Do for a ``.pgen`` what `bed_bits` does for a ``.bed``; where phase is known, it is kept."""
    from dpgrs.io._listed_kernels import pack_calls, pack_counts  # brings numba, which takes 0.3 s

    pgen, n_words = _open_pgen(path, n_samples, n_alts), word_count(2 * n_samples)
    read_calls, has_phase = _calls_of(path, pgen, n_samples), pgen.hardcall_phase_present()
    step = max(_BUFFER_BYTES // (PEOPLE_OF_WORD * n_words), 1)
    counts = np.zeros((step, PEOPLE_OF_WORD * n_words), dtype=np.int8)

    def pack_records(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        for start in range(0, len(records), step):
            block = slice(start, start + step)
            some, planes = records[block], (haplotypes[block], missing[block])
            if has_phase or (n_alts[some] > 1).any():
                row_records = np.arange(len(some))
                pack_calls(*read_calls(some), row_records, alleles[block], -1, False, *planes)
                continue
            with _damage_named(path):
                pgen.read_list(some.astype(np.uint32), counts)
            pack_counts(counts[: len(some)].view(np.uint64), *planes)
            _exchange_alleles(alleles[block] == 0, n_samples, *planes)

    return pack_records


def _calls_of(path: Path, pgen: Any, n_samples: int) -> "CallsOf":
    alleles, is_phased = np.empty((0, 2 * n_samples), np.int32), np.empty((0, n_samples), bool)

    def read(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal alleles, is_phased
        if len(records) > len(alleles):
            alleles = np.empty((len(records), 2 * n_samples), np.int32)
            is_phased = np.empty((len(records), n_samples), bool)
        n = len(records)
        with _damage_named(path):
            pgen.read_alleles_and_phasepresent_list(records.astype(np.uint32), alleles[:n], is_phased[:n])
        return alleles[:n], is_phased[:n]

    return read


def pgen_dosages(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "DosagesOf":
    """Return a function that reads float32 dosages of alleles of a ``.pgen``, -9 if missing."""
    pgen = _open_pgen(path, n_samples, n_alts)

    def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
        dosages = np.empty((len(records), n_samples), dtype=np.float32)
        with _damage_named(path):
            for row, record, allele in zip(dosages, records, alleles, strict=True):
                pgen.read_dosages(int(record), row, int(allele))
        return dosages

    return read


def _open_pgen(path: Path, n_samples: int, n_alts: np.ndarray) -> Any:
    from pgenlib import PgenReader

    offsets = np.concatenate([[0], np.cumsum(n_alts + 1)]).astype(np.uintp)
    with _damage_named(path):
        return PgenReader(os.fsencode(path), n_samples, len(n_alts), None, offsets)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn an error of pgenlib, which names no file, into our error."""
    try:
        yield
    except RuntimeError as error:
        raise DpgrsError(f"`{path}` is truncated or damaged. {COPY_AGAIN}") from error
