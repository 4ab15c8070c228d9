"""The calls of .bed files, and the calls and dosages of .pgen files, as pgenlib decodes them."""

import itertools
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
_NO_COPY = np.uint64(2**64 - 1)  # the codes of people without a copy, in a .bed
_MOST_PIECES = 1024  # that the kernel reads at once
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
    is_bed, n_words = path.suffix == ".bed", word_count(2 * n_samples)
    # A .bed has 2 bits a person in the buffer, a .pgen a byte.
    step = _BUFFER_BYTES // ((8 if is_bed else PEOPLE_OF_WORD) * n_words)
    step = int(np.clip(step, 1, _MOST_PIECES))
    pack_block = _bed_packer(path, n_samples, step) if is_bed else _pgen_packer(path, n_samples, n_alts, step)

    def pack_records(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        for start in range(0, len(records), step):
            block = slice(start, start + step)
            pack_block(records[block], alleles[block], haplotypes[block], missing[block])

    return pack_records


def _bed_packer(path: Path, n_samples: int, n_rows: int) -> "BitsOf":
    """Return a function that packs at most `n_rows` records of a ``.bed``, without decoding them to bytes."""
    from dpgrs.io._listed_kernels import pack_codes  # brings numba, which takes 0.3 s

    n_bytes, n_last = -(-n_samples // 4), 2 * (n_samples % 4)
    codes = np.full((n_rows, word_count(2 * n_samples)), _NO_COPY, dtype=np.uint64)
    code_bytes = codes.view(np.uint8)[:, :n_bytes]

    def pack_block(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        rows = code_bytes[: len(records)]
        with path.open("rb", buffering=0) as file:
            # Records that follow one another are read at once.
            bounds = [0, *(np.flatnonzero(np.diff(records) != 1) + 1).tolist(), len(records)]
            for start, stop in itertools.pairwise(bounds):
                offset = _MAGIC_BYTES + int(records[start]) * n_bytes
                if os.preadv(file.fileno(), list(rows[start:stop]), offset) < (stop - start) * n_bytes:
                    raise _damaged(path)
        if n_last:
            _refuse_more_people(path, rows[:, -1], n_last)
            rows[:, -1] |= np.uint8(0xFF << n_last & 0xFF)
        pack_codes(codes[: len(records)], haplotypes, missing)
        haplotypes[alleles > 1] = 0  # the file knows no other ALT
        _exchange_alleles(alleles == 0, n_samples, haplotypes, missing)

    return pack_block


def _pgen_packer(path: Path, n_samples: int, n_alts: np.ndarray, n_rows: int) -> "BitsOf":
    """Return a function that packs at most `n_rows` records of a ``.pgen``."""
    from dpgrs.io._listed_kernels import pack_calls, pack_counts  # brings numba, which takes 0.3 s

    read_counts, pgen = _counts_of(path, n_samples, n_alts)
    read_calls, has_phase = _calls_of(path, pgen, n_samples), pgen.hardcall_phase_present()
    counts = np.zeros((n_rows, PEOPLE_OF_WORD * word_count(2 * n_samples)), dtype=np.int8)

    def pack_block(
        records: np.ndarray, alleles: np.ndarray, haplotypes: np.ndarray, missing: np.ndarray
    ) -> None:
        if has_phase or (n_alts[records] > 1).any():
            row_records = np.arange(len(records))
            pack_calls(*read_calls(records), row_records, alleles, -1, False, haplotypes, missing)
            return
        read_counts(records, counts)
        pack_counts(counts[: len(records)].view(np.uint64), haplotypes, missing)
        _exchange_alleles(alleles == 0, n_samples, haplotypes, missing)

    return pack_block


def _counts_of(
    path: Path, n_samples: int, n_alts: np.ndarray
) -> tuple[Callable[[np.ndarray, np.ndarray], None], Any]:
    """Return a function that fills int8 copies of the first ALT of some records, and the PgenReader."""
    pgen = _open_pgen(path, n_samples, n_alts)
    n_last, n_bytes = 2 * (n_samples % 4), -(-n_samples // 4)

    def fill(records: np.ndarray, counts: np.ndarray) -> None:
        with _damage_named(path):
            pgen.read_list(records.astype(np.uint32), counts)
        if path.suffix == ".bed" and n_last:
            with path.open("rb", buffering=0) as file:
                ends = (_MAGIC_BYTES + n_bytes * (record + 1) - 1 for record in records.tolist())
                last = b"".join(os.pread(file.fileno(), 1, end) for end in ends)
            _refuse_more_people(path, np.frombuffer(last, np.uint8), n_last)

    return fill, pgen


def _refuse_more_people(path: Path, last_bytes: np.ndarray, n_last: int) -> None:
    """Refuse bits beyond `n_last` of a last byte: the size of the file does not tell 5 people from 8."""
    if (last_bytes >> n_last).any():
        fam = path.with_suffix(".fam").name
        raise DpgrsError(
            "calls-of-more-people",
            f"`{path}` has calls of more people than `{fam}` has lines. {COPY_AGAIN}",
        )


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
        raise _damaged(path) from error


def _damaged(path: Path) -> DpgrsError:
    return DpgrsError("file-damaged", f"`{path}` is truncated or damaged. {COPY_AGAIN}")
