"""Records of PLINK files and BGEN, read plainly and one at a time, to check what ingest made of them.

Nothing here calls the readers of ingest, but for the ids of samples: tables are split at blanks, a ``.bed``
and a BGEN are decoded by numpy from their specifications, and a ``.pgen`` by other functions of pgenlib.
Records have the attributes of those of cyvcf2 that `dpgrs.io.store_check` uses.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpgrs.io.chromosomes import is_chromosome
from dpgrs.io.genotype_files import genotype_header

_CONTIGS = {"23": "X", "24": "Y", "25": "XY", "26": "MT"}  # PLINK's numbers
_NO_SECOND = -2  # in the place of the second allele of a call of one
_CERTAIN = 9, 10  # the least probability of a call, as a fraction


# The calls of each byte of a .bed; codes of two bits, the lowest first: two copies of A1, missing, one, none.
_BED_CALLS = np.array([[1, 1, 0], [-1, -1, 0], [0, 1, 0], [0, 0, 0]], dtype=np.int8)[
    np.arange(256)[:, np.newaxis] >> np.array([0, 2, 4, 6]) & 3
]


class PlainRecord(NamedTuple):
    """A record as of cyvcf2: calls by `genotype.array()`, dosages by `format("DS")`."""

    CHROM: str
    POS: int
    ID: str
    REF: str
    ALT: list[str]
    FILTER: str | None
    FORMAT: list[str]
    values: np.ndarray  # of calls: both alleles, and 1 if they have an order; dosages: of each ALT, or NaN

    @property
    def genotype(self) -> "PlainRecord":
        return self

    def array(self) -> np.ndarray:
        return self.values

    def format(self, name: str) -> np.ndarray:
        return self.values


class PlainFile:
    """The records of a chromosome in a ``.bed``, ``.pgen`` or ``.bgen``, in the order of their positions."""

    def __init__(self, path: Path, chromosome: str, *, field: str) -> None:
        self._path, self._chromosome, self._field = path, chromosome, field
        self.samples = list(genotype_header(path).samples)

    def __iter__(self) -> Iterator[PlainRecord]:
        if self._path.suffix == ".bgen":
            sites, decode = self._bgen()
        else:
            sites = self._table()
            decode = self._bed() if self._path.suffix == ".bed" else self._pgen(sites)
        chosen = [i for i, site in enumerate(sites) if is_chromosome(site[0], self._chromosome)]
        # Parts of X are contigs of their own.
        if len({sites[i][0] for i in chosen}) > 1:
            chosen.sort(key=lambda i: sites[i][1])
        for i in chosen:
            yield PlainRecord(*sites[i], [self._field], decode(i))

    def _table(self) -> list[tuple[Any, ...]]:
        """Return contig, position, id, REF, ALTs and a filter of each line of a .bim or .pvar."""
        sites, columns = [], None
        ending = ".bim" if self._path.suffix == ".bed" else ".pvar"
        for line in self._path.with_suffix(ending).read_text().splitlines():
            cells = line.split()
            if line.startswith("##") or not cells:
                continue
            if cells[0] == "#CHROM":
                columns = cells
            elif columns:
                named = dict(zip(columns, cells, strict=False))
                cell = [named[name] for name in ("#CHROM", "POS", "ID", "REF", "ALT")]
                sites.append((*cell, named.get("FILTER", ".")))
            else:
                contig, id_, *_, position, alt, ref = cells
                sites.append((contig, position, id_, ref, alt, "."))
        return [
            (
                "chr" * contig.startswith("chr") + name
                if (name := _CONTIGS.get(contig.removeprefix("chr")))
                else contig,
                int(position),
                id_,
                ref,
                [alt for alt in alts.split(",") if alt != "."],
                None if mark in ("PASS", ".") else mark,
            )
            for contig, position, id_, ref, alts, mark in sites
        ]

    def _bed(self) -> Any:
        n_bytes = -(-len(self.samples) // 4)

        def decode(record: int) -> np.ndarray:
            codes = np.fromfile(self._path, np.uint8, n_bytes, offset=3 + record * n_bytes)
            return _BED_CALLS[codes].reshape(-1, 3)[: len(self.samples)]

        return decode

    def _pgen(self, sites: list[tuple[Any, ...]]) -> Any:
        from pgenlib import PgenReader

        n_alleles = [1 + max(len(alts), 1) for _, _, _, _, alts, _ in sites]
        offsets = np.cumsum([0, *n_alleles]).astype(np.uintp)
        pgen = PgenReader(os.fsencode(self._path), len(self.samples), len(sites), None, offsets)

        def decode(record: int) -> np.ndarray:
            n = len(self.samples)
            if self._field == "DS":
                dosages = np.empty((n_alleles[record] - 1, n), dtype=np.float32)
                for k, row in enumerate(dosages, start=1):
                    pgen.read_dosages(record, row, k)
                return np.where(dosages < 0, np.nan, dosages).T.astype(float)
            alleles, is_phased = np.empty(2 * n, dtype=np.int32), np.empty(n, dtype=bool)
            pgen.read_alleles_and_phasepresent(record, alleles, is_phased)
            return np.column_stack([np.maximum(alleles, -1).reshape(-1, 2), is_phased]).astype(np.int16)

        return decode

    def _bgen(self) -> tuple[list[tuple[Any, ...]], Any]:
        sites, starts = [], []
        with self._path.open("rb") as file:

            def number(form: str) -> int:
                return struct.unpack(form, file.read(struct.calcsize(form)))[0]

            offset, length, n_variants = number("<I"), number("<I"), number("<I")
            file.seek(length)
            packing = number("<I") & 3
            file.seek(4 + offset)
            for _ in range(n_variants):
                _, id_, contig = (file.read(number("<H")).decode() for _ in range(3))
                position, n_alleles = number("<I"), number("<H")
                ref, *alts = (file.read(number("<I")).decode() for _ in range(n_alleles))
                sites.append((contig, position, id_, ref, alts, None))
                n_bytes = number("<I")
                starts.append((file.tell(), n_bytes))
                file.seek(n_bytes, os.SEEK_CUR)

        def decode(record: int) -> np.ndarray:
            start, n_bytes = starts[record]
            block = np.fromfile(self._path, np.uint8, n_bytes, offset=start).tobytes()
            return _of_probabilities(_inflated(block, packing), self._field)

        return sites, decode


def _inflated(block: bytes, packing: int) -> bytes:
    if packing == 1:
        return zlib.decompress(block[4:])
    if packing == 2:
        from numcodecs.zstd import Zstd

        return Zstd().decode(block[4:])
    return block


def _of_probabilities(block: bytes, field: str) -> np.ndarray:
    """Return the calls or dosages of one variant of a BGEN as a `PlainRecord` has them."""
    n_samples, n_alleles = struct.unpack_from("<IH", block)
    marks = np.frombuffer(block, np.uint8, n_samples, offset=8)
    copies, is_missing = marks & 63, marks >= 128
    is_ordered, n_bits = block[8 + n_samples], block[9 + n_samples]
    largest = 2**n_bits - 1
    packed = np.frombuffer(block, np.uint8, offset=10 + n_samples)
    if n_bits == 8:  # as nearly all files have, and many times as fast
        numbers = packed.astype(np.int64)
    else:
        bits = np.unpackbits(packed, bitorder="little")
        bits = bits[: len(bits) // n_bits * n_bits].reshape(-1, n_bits)
        numbers = bits @ (1 << np.arange(n_bits, dtype=np.int64))
    pairs = [(a, b) for b in range(n_alleles) for a in range(b + 1)]
    # Each choice of a sample has a number but the last: of alleles for each copy, or of pairs of them.
    n_groups = np.where(is_ordered, copies, 1)
    n_choices = np.where((copies == 2) & (not is_ordered), len(pairs), n_alleles)
    ends = np.cumsum(n_groups * (n_choices - 1))
    begins = ends - n_groups * (n_choices - 1)
    calls = np.full((n_samples, 3), -1)
    calls[:, 2] = is_ordered
    dosages = np.zeros((n_samples, n_alleles))
    for n_copies in np.unique(copies):
        of_pairs = n_copies == 2 and not is_ordered
        people = np.flatnonzero(copies == n_copies)
        n_named = (len(pairs) if of_pairs else n_alleles) - 1
        for group in range(n_copies if is_ordered else 1):
            values = numbers[begins[people, np.newaxis] + n_named * group + np.arange(n_named)]
            values = np.column_stack([values, largest - values.sum(axis=1)])
            is_certain = _CERTAIN[1] * values >= _CERTAIN[0] * largest
            choice = np.where(is_certain.any(axis=1), is_certain.argmax(axis=1), -1)
            if of_pairs:
                calls[people, :2] = np.array([*pairs, (-1, -1)])[choice]
                dosages[people] += values @ np.array(
                    [np.bincount(pair, minlength=n_alleles) for pair in pairs]
                )
            else:
                calls[people, group] = choice
                dosages[people] += values * (2 // n_copies)
        if n_copies == 1:
            calls[people, 1] = np.where(calls[people, 0] >= 0, _NO_SECOND, -1)
    calls[is_missing, :2] = -1
    dosages[is_missing] = np.nan
    return dosages[:, 1:] / largest if field == "DS" else calls
