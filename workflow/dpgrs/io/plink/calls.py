"""The calls of .bed files, and the calls and dosages of .pgen files, which pgenlib decodes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf.text import COPY_AGAIN

if TYPE_CHECKING:
    from dpgrs.io.listed_reader import CallsOf, DosagesOf

# Copies of A1 in the four calls of each byte, the lowest bits first; 01 is missing.
_COPIES = np.array([2, -9, 1, 0], dtype=np.int8)[np.arange(256)[:, np.newaxis] >> np.arange(0, 8, 2) & 3]
_CALLS_OF_BYTE = np.ascontiguousarray(_COPIES).view(np.uint32).ravel()


def bed_calls(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "CallsOf":
    """Return a function that reads the calls of records of a ``.bed``; `n_alts` are ALTs a record."""
    counts_of = bed_counts(path, n_samples=n_samples, n_alts=n_alts)

    def read(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = counts_of(records, None)
        alleles = np.stack([counts == 2, counts >= 1], axis=2).astype(np.int8)
        alleles[counts < 0] = -1
        return alleles.reshape(len(records), -1), counts != 1

    return read


def bed_counts(path: Path, *, n_samples: int, n_alts: np.ndarray) -> "DosagesOf":
    """Return a function that reads int8 copies of ALT of a ``.bed``; allele numbers are all 1."""
    packed = np.memmap(path, mode="r", offset=3).reshape(len(n_alts), -1)
    n_last = n_samples % 4 or 4

    def read(records: np.ndarray, alleles: np.ndarray | None) -> np.ndarray:
        rows = packed[records]
        # Bits beyond the last person are 0: the size alone does not tell 5 people from 8.
        if (rows[:, -1].astype(np.int64) >> (2 * n_last)).any():
            fam = path.with_suffix(".fam").name
            raise DpgrsError(f"`{path}` has calls of more people than `{fam}` has lines. {COPY_AGAIN}")
        return np.ascontiguousarray(_CALLS_OF_BYTE[rows].view(np.int8)[:, :n_samples])

    return read


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
    """Do for a ``.pgen`` what `bed_calls` does for a ``.bed``."""
    pgen = _open_pgen(path, n_samples, n_alts)

    def read(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        alleles = np.empty((len(records), 2 * n_samples), dtype=np.int32)
        is_phased = np.empty((len(records), n_samples), dtype=bool)
        with _damage_named(path):
            pgen.read_alleles_and_phasepresent_list(records.astype(np.uint32), alleles, is_phased)
        return alleles, is_phased

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
