"""The formats of genotype files, with their file endings and readers.

A format is declared only here: ingest, the checks before any job, the size of a study and `dpgrs score` use
`form_of`.
"""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.io.bgen.samples import sample_table
from dpgrs.io.plink.tables import GENOTYPES as PLINK_ENDINGS
from dpgrs.io.plink.tables import plink_files
from dpgrs.io.vcf.bcf import BcfReader, first_bcf_line, is_bcf, read_bcf_header
from dpgrs.io.vcf.records import PROVISIONAL
from dpgrs.io.vcf.text import numbered_lines
from dpgrs.io.vcf.vcf import N_THREADS, ContigReader, VcfHeader, read_header

if TYPE_CHECKING:
    import pandas as pd


# Bytes of a line of a `.bim` or `.pvar`, of a record of a VCF, and of a call there: few, so that the number
# of variants is an upper bound for most files.
SITE_BYTES, RECORD_BYTES, CALL_BYTES = 20, 50, 0.04


class Vcf:
    """VCF; the other formats override what differs."""

    source = "vcf"  # the value of `cohort.source` for such files
    words = "a VCF, BCF or VCF Zarr"  # the name of such files in messages
    endings: tuple[str, ...] = ()  # that identify the format; first bytes identify VCF and BCF
    is_listed = False  # whether their reader is a `dpgrs.io.listed_reader.ListedReader`

    def files(self, path: Path) -> list[Path]:
        """Return the paths of a file and of the tables that belong to it."""
        return [path]

    def header(self, path: Path) -> VcfHeader:
        """Return the VcfHeader."""
        return read_header(path)

    def reader(self, header: VcfHeader, contig: Any, *, n_threads: int = N_THREADS, **options: Any) -> Any:
        """Return the reader of a chromosome of the file with this header.

        A frozenset gives a reader of several contigs, named without ``chr``, in the order of the file, if the
        format lists no variants.
        """
        return ContigReader(header, contig, n_threads=n_threads, **options)

    def to_vcf(self, path: Path, chromosome: str) -> str | None:
        """Return a command that writes a chromosome as a VCF, or None for a VCF."""
        return None

    def first_site(self, path: Path) -> tuple[str, int] | None:
        """Return (contig, position) of the first record, or None if there is none."""
        line = self._first_line(path)
        if line is None:
            return None
        contig, position, *_ = (*line.split(b"\t", 2), b"")
        # A position that is no number is refused when its record is read.
        return contig.decode(errors="replace"), int(position) if position.isdigit() else 0

    def has_provisional_ref(self, path: Path) -> bool:
        """Return whether REF may have been chosen by the people, as PLINK 1 does.

        In a VCF or BCF only the first record is read; a reader with `known_ref` checks all.
        """
        info = (self._first_line(path) or b"").split(b"\t", 8)[7:8]
        return PROVISIONAL.encode() in b";".join(info).split(b";")

    def require_phase(self, path: Path, contig: str) -> None:
        """Refuse a file that cannot give the haplotypes of a contig; the calls of a VCF are checked later."""

    def may_have_dosages(self, path: Path) -> bool:
        """Return whether its format has dosages."""
        return True

    def sites(self, path: Path, chromosomes: Collection[str]) -> "tuple[Path, pd.DataFrame] | None":
        """Return the path that lists variants, and their contig, position and id.

        The result is None for formats whose positions are checked as they are ingested.
        """
        return None

    def n_sites(self, path: Path, n_people: int) -> int:
        """Return about how many variants it has."""
        return int(path.stat().st_size / (RECORD_BYTES + CALL_BYTES * n_people))

    def _first_line(self, path: Path) -> bytes | None:
        return next((line for _, line in numbered_lines(path) if not line.startswith(b"#")), None)


class Bcf(Vcf):
    """BCF, which is recognised by its first bytes."""

    def header(self, path: Path) -> VcfHeader:
        return read_bcf_header(path)

    def reader(self, header: VcfHeader, contig: Any, *, n_threads: int = N_THREADS, **options: Any) -> Any:
        return BcfReader(header, contig, **options)

    def _first_line(self, path: Path) -> bytes | None:
        return first_bcf_line(path)


class Listed(Vcf):
    """A format that lists its variants apart from their calls."""

    is_listed = True
    _module: Any  # its reader

    def header(self, path: Path) -> VcfHeader:
        return self._module.read_header(path)

    def reader(self, header: VcfHeader, contig: Any, *, n_threads: int = N_THREADS, **options: Any) -> Any:
        return self._module.Reader(header, contig, **options)

    def first_site(self, path: Path) -> tuple[str, int] | None:
        return self._module.first_site(path)

    def has_provisional_ref(self, path: Path) -> bool:
        return self._module.has_provisional_ref(path)


class Plink(Listed):
    """The ``.pgen`` or ``.bed`` of a set of PLINK files."""

    source, words, endings = "plink", "a .bed or .pgen", PLINK_ENDINGS

    @property
    def _module(self) -> Any:
        from dpgrs.io.plink import plink  # brings pandas, which takes 0.2 s; a VCF does without

        return plink

    def files(self, path: Path) -> list[Path]:
        return list(plink_files(path))

    def to_vcf(self, path: Path, chromosome: str) -> str:
        kind = "bfile" if path.suffix == ".bed" else "pfile"
        return f"plink2 --{kind} {path.with_suffix('')} --chr {chromosome} --export vcf id-paste=iid"

    def require_phase(self, path: Path, contig: str) -> None:
        self._module.require_phase(path, contig)

    def may_have_dosages(self, path: Path) -> bool:
        return path.suffix != ".bed"

    def sites(self, path: Path, chromosomes: Collection[str]) -> "tuple[Path, pd.DataFrame]":
        return plink_files(path).variants, self._module.read_sites(path, chromosomes)

    def n_sites(self, path: Path, n_people: int) -> int:
        return plink_files(path).variants.stat().st_size // SITE_BYTES


class Bgen(Listed):
    """BGEN 1.2 and 1.3."""

    source, words, endings = "bgen", "a .bgen", (".bgen",)

    @property
    def _module(self) -> Any:
        from dpgrs.io.bgen import bgen

        return bgen

    def files(self, path: Path) -> list[Path]:
        table = sample_table(path)
        return [path] if table is None else [path, table]

    def to_vcf(self, path: Path, chromosome: str) -> str:
        samples = path.with_suffix(".sample")
        command = f"plink2 --bgen {path} ref-first --sample {samples} --chr {chromosome}"
        return f"{command} --export vcf id-paste=iid"

    def require_phase(self, path: Path, contig: str) -> None:
        self._module.require_phase(path)

    def n_sites(self, path: Path, n_people: int) -> int:
        return self._module.read_bgen_header(path).n_variants


class VcfZarr(Listed):
    """VCF Zarr, a folder or a zip of it."""

    words, endings = "a VCF Zarr", (".vcz", ".vcz.zip", ".vcf.zarr", ".vcf.zarr.zip")

    @property
    def _module(self) -> Any:
        from dpgrs.io.vcf import vcf_zarr

        return vcf_zarr

    def to_vcf(self, path: Path, chromosome: str) -> str:
        return f"vcztools view -r {chromosome} {path}"

    def n_sites(self, path: Path, n_people: int) -> int:
        return self._module.count_variants(path)


VCF, BCF, PLINK, BGEN, VCF_ZARR = Vcf(), Bcf(), Plink(), Bgen(), VcfZarr()
BY_ENDING = (PLINK, BGEN, VCF_ZARR)


def form_of(path: Path | str) -> Vcf:
    """Return the format of a genotype file, by its ending or first bytes; an unreadable file is a VCF."""
    form = form_named(path)
    return BCF if form is VCF and is_bcf(path) else form


def form_named(path: Path | str) -> Vcf:
    """Return the format by the ending of a path or pattern; a VCF may be a BCF."""
    return next((form for form in BY_ENDING if str(path).endswith(form.endings)), VCF)


def form_of_source(source: str) -> Vcf:
    """Return the format that a `cohort.source` names."""
    return next((form for form in (VCF, *BY_ENDING) if form.source == source), VCF)
