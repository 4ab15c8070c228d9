"""The calls of .bed files, and the calls and dosages of .pgen files, as pgenlib decodes them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD, pack, word_count
from dpgrs.io.vcf.text import COPY_AGAIN

if TYPE_CHECKING:
    from dpgrs.io.listed_reader import BitsOf, CallsOf, DosagesOf

_MAGIC_BYTES = 3  # of a .bed
# Bytes of calls that are decoded together, in buffers that are kept: fresh memory costs more than decoding.
_BUFFER_BYTES = 2**22


def _exchange_alleles(
    is_first: np.ndarray, n_samples: int, haplotypes: np.ndarray, missing: np.ndarray
) -> None:
    """Turn bits of the second allele into bits of the first, in rows that count the first."""
    rows = np.flatnonzero(is_first)
    if len(rows):
        haplotypes[rows] = pack(np.ones(2 * n_samples, dtype=bool)) & ~(haplotypes[rows] | missing[rows])


def plink_counts(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "DosagesOf":
    """Return a function that reads int8 copies of an allele, below 0 if missing."""
    read_counts, pgen = _counts_of(path, n_samples, n_alts)

    def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
        counts = np.empty((len(records), n_samples), dtype=np.int8)
        if path.suffix == ".bed" or (alleles == 1).all():
            read_counts(records, counts)
            return counts
        with _damage_named(path):
            for row, record, allele in zip(counts, records, alleles, strict=True):
                pgen.read(int(record), row, int(allele))
        return counts

    return read


def pgen_calls(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "CallsOf":
    """Return a function that reads the alleles and phase of records of a ``.pgen``."""
    return _calls_of(path, _open_pgen(path, n_samples, n_alts), n_samples)


def plink_bits(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "BitsOf":
    """Return a function that packs the calls of records; where phase is known, it is kept."""
    from dpgrs.io._listed_kernels import pack_calls, pack_counts  # brings numba, which takes 0.3 s

    read_counts, pgen = _counts_of(path, n_samples, n_alts)
    n_words, is_bed = word_count(2 * n_samples), path.suffix == ".bed"
    read_calls, has_phase = _calls_of(path, pgen, n_samples), pgen.hardcall_phase_present()
    step = max(_BUFFER_BYTES // (PEOPLE_OF_WORD * n_words), 1)
    counts = np.zeros((step, PEOPLE_OF_WORD * n_words), dtype=np.int8)

    def pack_records(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        for start in range(0, len(records), step):
            block = slice(start, start + step)
            some, planes = records[block], (haplotypes[block], missing[block])
            if not is_bed and (has_phase or (n_alts[some] > 1).any()):
                row_records = np.arange(len(some))
                pack_calls(*read_calls(some), row_records, alleles[block], -1, False, *planes)
                continue
            read_counts(some, counts)
            pack_counts(counts[: len(some)].view(np.uint64), *planes)
            planes[0][alleles[block] > 1] = 0  # a `.bed` knows no other ALT
            _exchange_alleles(alleles[block] == 0, n_samples, *planes)

    return pack_records


def _counts_of(
    path: Path, n_samples: int, n_alts: np.ndarray
) -> tuple[Callable[[np.ndarray, np.ndarray], None], Any]:
    """Return a function that fills int8 copies of the first ALT of some records, and the PgenReader."""
    pgen = _open_pgen(path, n_samples, n_alts)
    n_last, n_bytes = n_samples % 4, -(-n_samples // 4)

    def fill(records: np.ndarray, counts: np.ndarray) -> None:
        with _damage_named(path):
            pgen.read_list(records.astype(np.uint32), counts)
        if path.suffix == ".bed" and n_last:
            # The size of the file does not distinguish 5 people from 8.
            with path.open("rb", buffering=0) as file:
                ends = (_MAGIC_BYTES + n_bytes * (record + 1) - 1 for record in records.tolist())
                last = b"".join(os.pread(file.fileno(), 1, end) for end in ends)
            if (np.frombuffer(last, np.uint8) >> (2 * n_last)).any():
                fam = path.with_suffix(".fam").name
                raise DpgrsError(
                    "calls-of-more-people",
                    f"`{path}` has calls of more people than `{fam}` has lines. {COPY_AGAIN}",
                )

    return fill, pgen


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

    n_alleles = np.full(len(n_alts), 2) if path.suffix == ".bed" else n_alts + 1
    offsets = np.concatenate([[0], np.cumsum(n_alleles)]).astype(np.uintp)
    with _damage_named(path):
        return PgenReader(os.fsencode(path), n_samples, len(n_alts), None, offsets)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn an error of pgenlib, which names no file, into our error."""
    try:
        yield
    except RuntimeError as error:
        raise DpgrsError("file-damaged", f"`{path}` is truncated or damaged. {COPY_AGAIN}") from error
