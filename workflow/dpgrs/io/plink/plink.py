"""Genotypes from PLINK files: .bed with .bim and .fam, or .pgen with .pvar and .psam.

Sizes are checked here before calls are decoded: no decoder sees the tables, and so whether files belong
together.
"""

import os

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.chromosomes import chromosome_name, is_chromosome, part_of_x
from dpgrs.io.listed_reader import ListedReader
from dpgrs.io.plink.calls import bed_calls, bed_counts, pgen_calls, pgen_counts, pgen_dosages
from dpgrs.io.plink.tables import (
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


def read_plink_header(path):
    """Read which people and contigs a set of PLINK files holds, and check that its files belong together.

    Parameters
    ----------
    path : of the ``.bed`` or ``.pgen``; the other two lie beside it.

    Returns
    -------
    VcfHeader; its contigs are those that have variants, with lengths that a ``.pvar`` declares.

    Raises
    ------
    DpgrsError
        Missing, empty, truncated or malformed files, files of different sets, repeated sample ids.
    """
    files = plink_files(path)
    require_file(files.genotypes)
    samples = read_samples(files.samples)
    contigs = read_variants(files.variants, columns=("contig",))["contig"]
    check = _check_bed if files.genotypes.suffix == ".bed" else _check_pgen
    check(files, n_samples=len(samples), n_variants=len(contigs))
    declared = read_declared_contigs(files.variants)
    return VcfHeader(files.genotypes, samples, {name: declared.get(name) for name in contigs.unique()})


def has_provisional_ref(path):
    """Tell whether REF of any variant may have been chosen by the people, as PLINK 1 does.

    Parameters
    ----------
    path : pathlib.Path of the ``.bed``, whose REF always may, or of the ``.pgen``, which says so by variant.

    Returns
    -------
    bool; True where a ``.pgen`` does not say it.
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


def has_dosages(path):
    """Tell whether any variant of a ``.pgen`` has dosages beside its calls; True if its head does not say."""
    with path.open("rb") as file:
        header = file.read(12)
    if header[2:3] != _VARIABLE_WIDTH:
        return header[2] > _CALLS_ALONE
    has_wide_types = bool(header[11] & 4)  # narrow ones know no dosages
    return has_wide_types and any(
        max(kind & _DOSAGE_BITS for kind in types) for types, _ in _pgen_blocks(path)
    )


def _pgen_blocks(path):
    """Yield, of each block of a ``.pgen`` of variable width, the types of its records and flags of REF."""
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


def first_plink_site(path):
    """Return (contig, position) of the first variant of a set of PLINK files, or None where it has none."""
    table = read_variants(plink_files(path).variants, columns=("contig", "position"))
    if table.empty:
        return None
    return table["contig"].iloc[0], int(_positions(path, table.iloc[:1])[0])


def read_plink_sites(path, chromosomes):
    """Read where the variants of a set of PLINK files lie, from its table alone.

    Parameters
    ----------
    path : pathlib.Path of the ``.bed`` or ``.pgen``.
    chromosomes : collection of str, with or without ``chr``; variants elsewhere are left out.

    Returns
    -------
    data frame of contig, position (1-based, int) and id, in file order.

    Raises
    ------
    DpgrsError
        Missing, damaged or malformed table, or a position that is none.
    """
    table = read_variants(plink_files(path).variants, columns=("contig", "position", "id"))
    names = table["contig"].unique()
    wanted = [name for name in names if any(is_chromosome(name, chromosome) for chromosome in chromosomes)]
    table = table[table["contig"].isin(wanted)]
    return table.assign(position=_positions(path, table))


class PlinkReader(ListedReader):
    """The variants of one contig of a set of PLINK files; see `ListedReader` for parameters and counters.

    `haploid_calls` stays 0: PLINK writes a haploid call as a homozygous one.

    Raises
    ------
    DpgrsError
        If phase is required of a ``.bed``, or of a contig with haploid calls; dosages of a ``.bed``;
        provisional REF.
    """

    def __init__(self, header, contig, *, phased="required", field="GT", **options):
        super().__init__(header, contig, phased=phased, field=field, **options)
        if field == "DS" and header.path.suffix == ".bed":
            raise DpgrsError(
                f"`{header.path}` has no dosages: PLINK 1 keeps none. Read its calls (`field: GT`), or give "
                "a .pgen, VCF or BCF."
            )
        if phased == "required":
            require_phase(header.path, contig)

    @staticmethod
    def has_provisional_ref(path):
        return has_provisional_ref(path)

    @staticmethod
    def variants_of(header):
        return _PlinkVariants(header)


class _PlinkVariants:
    """The table of a set of PLINK files, and their calls; see `ListedReader`."""

    def __init__(self, header):
        self._path, self._table = header.path, read_variants(plink_files(header.path).variants)
        self.calls_as_dosages = 0
        self._terms = {"n_samples": len(header.samples), "n_alts": _count_alts(self._table)}
        self.contigs = self._table["contig"].unique().tolist()

    def records(self, contigs):
        mine = np.flatnonzero(self._table["contig"].isin(contigs))
        records = self._table.iloc[mine].set_index(mine)
        return records.assign(position=_positions(self._path, records))

    def calls(self):
        decode = bed_calls if self._path.suffix == ".bed" else pgen_calls
        return decode(self._path, **self._terms)

    def dosages(self):
        read_dosages = pgen_dosages(self._path, **self._terms)
        if has_dosages(self._path):  # a call that is as good as certain has none
            return read_dosages

        def read(records, alleles):
            dosages = read_dosages(records, alleles)
            self.calls_as_dosages += int(np.count_nonzero(dosages >= 0))
            return dosages

        return read

    def counts(self):
        decode = bed_counts if self._path.suffix == ".bed" else pgen_counts
        return decode(self._path, **self._terms)


def require_phase(path, contig):
    """Refuse files that cannot give the haplotypes of a contig.

    Raises
    ------
    DpgrsError
    """
    if path.suffix == ".bed":
        raise DpgrsError(
            f"`{path}` has no phase: PLINK 1 keeps none. Use people as rows (`rows: people`), or give a "
            "phased VCF, BCF or .pgen."
        )
    if _is_sex_chromosome(contig):
        raise DpgrsError(
            f"`{path}` does not say which calls of chromosome {contig} are haploid. Use people as rows "
            "(`rows: people`), or give a phased VCF or BCF."
        )


def _is_sex_chromosome(contig):
    """Tell whether people may have one of a chromosome, by its name."""
    return part_of_x(contig) is None and chromosome_name(contig) in SEX_CHROMOSOMES


def _check_bed(files, *, n_samples, n_variants):
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(3)
    if start[:2] != _MAGIC:
        raise DpgrsError(f"`{path}` is no PLINK 1 .bed: it must begin with 6c 1b. {COPY_AGAIN}")
    if start[2:] != _VARIANT_MAJOR:
        raise DpgrsError(f"`{path}` must be stored by variant, not by sample. Convert it: plink2 --make-bed")
    # No sizes in the message: they would tell how many people there are.
    if path.stat().st_size != 3 + -(-n_samples // 4) * n_variants:
        raise DpgrsError(
            f"`{path}` must have the size that `{files.variants.name}` and `{files.samples.name}` give: it "
            f"is cut short, or they belong to other files. {COPY_AGAIN}"
        )


def _check_pgen(files, *, n_samples, n_variants):
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(12)
    if start[:2] != _MAGIC or start[2:3] not in _PGEN_MODES or len(start) < 12:
        raise DpgrsError(
            f"`{path}` is no .pgen that can be read. Make it again from its source: plink2 --make-pgen"
        )
    found = [int.from_bytes(start[place : place + 4], "little") for place in (3, 7)]
    for kind, count, table, wanted in (
        ("variants", found[0], files.variants, n_variants),
        ("samples", found[1], files.samples, n_samples),
    ):
        if count != wanted:
            raise DpgrsError(
                f"`{path}` must have as many {kind} as `{table.name}` has lines: they belong to different "
                f"sets. {COPY_AGAIN}"
            )


def _count_alts(table):
    """Return how many ALTs each record of a table has, (n_records,) int."""
    return (table["alt"].str.count(",") + 1).to_numpy()


def _positions(path, records):
    """Return the (n_records,) positions of a table, or refuse the first that is none."""
    text = records["position"]
    is_number = text.str.fullmatch("[0-9]{1,10}", na=False).to_numpy()
    positions = np.zeros(len(records), dtype=np.int64)
    positions[is_number] = text[is_number].astype(np.int64)
    is_bad = (positions < 1) | (positions >= 2**31)
    if is_bad.any():
        first = records.iloc[int(is_bad.argmax())]
        position = shown(first["position"])
        problem = f"`POS` must be a whole number from 1 to 2^31 - 1, got {position}. Mend the record."
        raise record_error(path, None, f"{first['contig']}\t{first['position']}".encode(), problem)
    return positions
