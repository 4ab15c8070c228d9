"""Genotypes from PLINK files: .bed with .bim and .fam, or .pgen with .pvar and .psam.

Sizes are checked here before calls are decoded: no decoder sees the tables, and so whether files belong
together.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.chromosomes import chromosome_name, is_chromosome, part_of_x
from dpgrs.io.listed_reader import BitsOf, CallsOf, DosagesOf, ListedReader
from dpgrs.io.plink.calls import pgen_calls, pgen_dosages, plink_bits, plink_counts
from dpgrs.io.plink.tables import (
    PlinkFiles,
    plink_files,
    read_declared_contigs,
    read_samples,
    read_variants,
    require_file,
)
from dpgrs.io.vcf.text import COPY_AGAIN, record_error
from dpgrs.io.vcf.vcf import VcfHeader

# Their calls may be haploid, which PLINK does not write down.
SEX_CHROMOSOMES = ("X", "Y", "MT")

_MAGIC = b"\x6c\x1b"
_VARIANT_MAJOR = b"\x01"
_PGEN_MODES = (b"\x02", b"\x03", b"\x04", b"\x10", b"\x11")
_VARIABLE_WIDTH, _PGEN_BLOCK = b"\x10", 2**16
_REF_KNOWN, _REF_BY_VARIANT = 1, 3
_CALLS_ALONE, _DOSAGE_BITS = 2, 0x60


def read_header(path: Path | str) -> VcfHeader:
    """Read the samples and contigs of a set of PLINK files, and check that its files belong together.

    The path leads to the ``.bed`` or ``.pgen``; the other two files lie beside it. Contigs are those that
    have variants, with lengths that a ``.pvar`` declares.
    """
    files = plink_files(path)
    require_file(files.genotypes)
    samples = read_samples(files.samples)
    contigs = read_variants(files.variants, columns=("contig",))["contig"]
    check = _check_bed if files.genotypes.suffix == ".bed" else _check_pgen
    check(files, n_samples=len(samples), n_variants=len(contigs))
    declared = read_declared_contigs(files.variants)
    return VcfHeader(files.genotypes, samples, {name: declared.get(name) for name in contigs.unique()})


def has_provisional_ref(path: Path) -> bool:
    """Return whether REF of any variant may have been chosen by the people, as PLINK 1 does.

    REF of a ``.bed`` always may; a ``.pgen`` says so by variant, and is taken to if it does not.
    """
    if path.suffix == ".bed":
        return True
    # https://github.com/chrchang/plink-ng/tree/master/pgen_spec: the two highest bits of byte 11.
    with path.open("rb") as file:
        header = file.read(12)
    kind = header[11] >> 6
    if kind != _REF_BY_VARIANT or header[2:3] != _VARIABLE_WIDTH:
        return kind != _REF_KNOWN
    return any(any(flags) for _, flags in _pgen_blocks(path))


def has_dosages(path: Path) -> bool:
    """Return whether any variant of a ``.pgen`` may have dosages beside its calls, by its header."""
    with path.open("rb") as file:
        header = file.read(12)
    if header[2:3] != _VARIABLE_WIDTH:
        return header[2] > _CALLS_ALONE
    has_wide_types = bool(header[11] & 4)  # narrow ones know no dosages
    return has_wide_types and any(
        max(kind & _DOSAGE_BITS for kind in types) for types, _ in _pgen_blocks(path)
    )


def _pgen_blocks(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the types of the records and the flags of REF of each block of a ``.pgen`` of variable width."""
    with path.open("rb") as file:
        header = file.read(12)
        n_variants = int.from_bytes(header[3:7], "little")
        sizes = [min(_PGEN_BLOCK, n_variants - first) for first in range(0, n_variants, _PGEN_BLOCK)]
        file.seek(8 * len(sizes), os.SEEK_CUR)
        has_flags = header[11] >> 6 == _REF_BY_VARIANT
        for n in sizes:
            types = file.read(n if header[11] & 4 else -(-n // 2))
            file.seek(n * (1 + (header[11] & 3)) + n * (header[11] >> 4 & 3), os.SEEK_CUR)
            yield types, file.read(-(-n // 8)) if has_flags else b""


def first_site(path: Path) -> tuple[str, int] | None:
    """Return (contig, position) of the first variant of a set of PLINK files, or None if it has none."""
    table = read_variants(plink_files(path).variants, columns=("contig", "position"))
    if table.empty:
        return None
    return table["contig"].iloc[0], int(_positions(path, table.iloc[:1])[0])


def read_sites(path: Path, chromosomes: Collection[str]) -> pd.DataFrame:
    """Return contig, position (1-based, int) and id of variants on some chromosomes, in file order.

    It reads only the table of variants. Chromosomes are named with or without ``chr``.
    """
    table = read_variants(plink_files(path).variants, columns=("contig", "position", "id"))
    names = table["contig"].unique()
    contigs = [name for name in names if any(is_chromosome(name, chromosome) for chromosome in chromosomes)]
    table = table[table["contig"].isin(contigs)]
    return table.assign(position=_positions(path, table))


class _PlinkVariants:
    """The table of a set of PLINK files, and their calls; see `ListedVariants`."""

    def __init__(self, header: VcfHeader) -> None:
        self._path, self._table = header.path, read_variants(plink_files(header.path).variants)
        self.calls_as_dosages = 0
        self._sizes: dict[str, Any] = {"n_samples": len(header.samples), "n_alts": _count_alts(self._table)}
        self.contigs = self._table["contig"].unique().tolist()

    def records(self, contigs: list[str]) -> pd.DataFrame:
        mine = np.flatnonzero(self._table["contig"].isin(contigs))
        records = self._table.iloc[mine].set_index(mine)
        return records.assign(position=_positions(self._path, records))

    def calls(self) -> CallsOf:
        return pgen_calls(self._path, **self._sizes)  # a `.bed` has no phase, and is read by `bits`

    def bits(self) -> BitsOf:
        return plink_bits(self._path, **self._sizes)

    def dosages(self) -> DosagesOf:
        read_dosages = pgen_dosages(self._path, **self._sizes)
        if has_dosages(self._path):  # a call that is as good as certain has none
            return read_dosages

        def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
            dosages = read_dosages(records, alleles)
            self.calls_as_dosages += int(np.count_nonzero(dosages >= 0))
            return dosages

        return read

    def counts(self) -> DosagesOf:
        return plink_counts(self._path, **self._sizes)


class Reader(ListedReader):
    """The variants of one contig of a set of PLINK files; see `ListedReader`.

    `haploid_calls` stays 0: PLINK writes a haploid call as a homozygous one. Phase is refused of a ``.bed``
    and of a contig with haploid calls, and dosages of a ``.bed``.
    """

    has_provisional_ref = staticmethod(has_provisional_ref)
    variants_of = _PlinkVariants

    def __init__(
        self,
        header: VcfHeader,
        contig: str | None,
        *,
        phased: str = "required",
        field: str = "GT",
        **options: Any,
    ) -> None:
        super().__init__(header, contig, phased=phased, field=field, **options)
        if field == "DS" and header.path.suffix == ".bed":
            raise DpgrsError(
                "no-dosages",
                f"`{header.path}` has no dosages: PLINK 1 keeps none. Read its calls (`field: GT`), or give "
                "a .pgen, VCF or BCF.",
            )
        if phased == "required":
            require_phase(header.path, contig)


def require_phase(path: Path, contig: str) -> None:
    """Refuse files that cannot give the haplotypes of a contig."""
    if path.suffix == ".bed":
        raise DpgrsError(
            "unphased-genotypes",
            f"`{path}` has no phase: PLINK 1 keeps none. Use people as rows (`rows: people`), or give a "
            "phased VCF, BCF or .pgen.",
        )
    if _is_sex_chromosome(contig):
        raise DpgrsError(
            "haploid-calls-unknown",
            f"`{path}` does not say which calls of chromosome {contig} are haploid. Use people as rows "
            "(`rows: people`), or give a phased VCF or BCF.",
        )


def _is_sex_chromosome(contig: str) -> bool:
    """Return whether people may have only one copy of a chromosome, by its name."""
    return part_of_x(contig) is None and chromosome_name(contig) in SEX_CHROMOSOMES


def _check_bed(files: PlinkFiles, *, n_samples: int, n_variants: int) -> None:
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(3)
    if start[:2] != _MAGIC:
        raise DpgrsError("not-a-bed", f"`{path}` is no PLINK 1 .bed: it must begin with 6c 1b. {COPY_AGAIN}")
    if start[2:] != _VARIANT_MAJOR:
        raise DpgrsError(
            "bed-by-sample",
            f"`{path}` must be stored by variant, not by sample. Convert it: plink2 --make-bed",
        )
    # No sizes in the message: they would tell how many people there are.
    if path.stat().st_size != 3 + -(-n_samples // 4) * n_variants:
        raise DpgrsError(
            "bed-size",
            f"`{path}` must have the size that `{files.variants.name}` and `{files.samples.name}` give: it "
            f"is cut short, or they belong to other files. {COPY_AGAIN}",
        )


def _check_pgen(files: PlinkFiles, *, n_samples: int, n_variants: int) -> None:
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(12)
    if start[:2] != _MAGIC or start[2:3] not in _PGEN_MODES or len(start) < 12:
        raise DpgrsError(
            "pgen-unreadable",
            f"`{path}` is no .pgen that can be read. Make it again from its source: plink2 --make-pgen",
        )
    counts = [int.from_bytes(start[at : at + 4], "little") for at in (3, 7)]
    for kind, count, table, n_lines in (
        ("variants", counts[0], files.variants, n_variants),
        ("samples", counts[1], files.samples, n_samples),
    ):
        if count != n_lines:
            raise DpgrsError(
                "plink-counts-differ",
                f"`{path}` must have as many {kind} as `{table.name}` has lines: they belong to different "
                f"sets. {COPY_AGAIN}",
            )


def _count_alts(table: pd.DataFrame) -> np.ndarray:
    """Return the number of ALTs of each record of a table, (n_records,) int."""
    return (table["alt"].str.count(",") + 1).to_numpy()


def _positions(path: Path, records: pd.DataFrame) -> np.ndarray:
    """Return the (n_records,) positions of a table, or refuse the first that is no position."""
    text = records["position"]
    is_number = text.str.fullmatch("[0-9]{1,10}", na=False).to_numpy()
    positions = np.zeros(len(records), dtype=np.int64)
    positions[is_number] = _whole_numbers(text if is_number.all() else text[is_number])
    is_bad = (positions < 1) | (positions >= 2**31)
    if is_bad.any():
        first = records.iloc[int(is_bad.argmax())]
        position = shown(first["position"])
        problem = f"`POS` must be a whole number from 1 to 2^31 - 1, got {position}. Mend the record."
        raise record_error(path, None, f"{first['contig']}\t{first['position']}".encode(), problem)
    return positions


def _whole_numbers(digits: pd.Series) -> np.ndarray:
    """Return the int64 numbers that digits write."""
    with suppress(ImportError):
        import pyarrow as pa  # a tenth of the time

        return pa.array(digits, pa.string()).cast(pa.int64()).to_numpy()
    return digits.astype(np.int64).to_numpy()
