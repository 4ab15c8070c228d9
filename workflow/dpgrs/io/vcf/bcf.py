"""Genotypes from a BCF: htslib writes its records as lines of a VCF, and both forms take the same way."""

import gzip
import zlib
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import numpy as np
import pysam
import pysam.bcftools

from dpgrs.errors import DpgrsError
from dpgrs.io.files import require_regular
from dpgrs.io.vcf.blocks import BLOCK_BYTES
from dpgrs.io.vcf.records import N_FIXED_COLUMNS, PHASE_OF_FIRST
from dpgrs.io.vcf.text import COPY_AGAIN, find_index, is_one_of, match_contig, record_error
from dpgrs.io.vcf.vcf import ContigReader, VcfHeader, declared_contig, sample_ids


def is_bcf(path: Path | str) -> bool:
    """Return whether a file starts as a BCF does, compressed or not; refuse a pipe.

    A file that cannot be read is no BCF.
    """
    require_regular(path)
    try:
        with Path(path).open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_gzip else Path(path).open("rb") as file:
            return file.read(3) == b"BCF"
    except (OSError, EOFError, zlib.error):
        return False


def read_bcf_header(path: Path | str) -> VcfHeader:
    """Read the header of a BCF; refuse a file that is missing, truncated or damaged, or has no samples."""
    path = Path(path)
    with _open(path) as file:
        lines = str(file.header).encode().splitlines()
    contigs = {}
    for line in lines:
        if line.startswith(b"##contig="):
            contigs |= declared_contig(line)
    return VcfHeader(path, sample_ids(path, lines[-1]), contigs)


def first_bcf_line(path: Path | str) -> bytes | None:
    """Return the first record of a BCF as a line of a VCF, or None if it has no record."""
    return next((_line(path, record) for record in _records(Path(path))), None)


class BcfText:
    """The records of one contig as lines of a VCF; see `dpgrs.io.vcf.text.LineSource`.

    Lines have no numbers: a record is named by its contig and position.
    """

    def __init__(self, path: Path, contig: str | frozenset[str]) -> None:
        self._path, self._contig = path, contig
        has_index = isinstance(contig, str) and find_index(path)
        self._counts = _indexed_contigs(path) if has_index else None
        self.is_indexed = self._counts is not None
        self._name = match_contig(path, contig, self._counts) if self.is_indexed else None
        self._seen = {}

    def blocks(self, *, n_bytes: int = BLOCK_BYTES) -> Generator[tuple[np.ndarray, int, int], None, None]:
        """Yield blocks of whole lines as `dpgrs.io.vcf.blocks.line_blocks` does."""
        lines, size = [], 0
        for record in _records(self._path, self._name):
            self._seen[record.contig] = None
            if not self.has(record.contig.encode()):
                continue
            lines.append(_line(self._path, record))
            size += len(lines[-1])
            if size >= n_bytes:
                yield _as_block(lines)
                lines, size = [], 0
        if lines:
            yield _as_block(lines)

    def has(self, name: bytes) -> bool:
        """Return whether a name is a name of the contig."""
        return is_one_of(name.decode(errors="replace"), self._contig)

    def record_error(self, number: int, line: bytes, problem: object) -> DpgrsError:
        """Return the error for a record, which has no number."""
        return record_error(self._path, None, line, problem)

    def require_complete(self, names: Iterable[bytes], n_records: int) -> None:
        """Refuse what `dpgrs.io.vcf.text.ContigText.require_complete` refuses."""
        if not isinstance(self._contig, str):
            return
        if not self.is_indexed:
            match_contig(self._path, self._contig, self._seen)
        elif n_records != self._counts[self._name]:
            raise DpgrsError(
                "index-of-another-file",
                f"the index of `{self._path}` must list as many records on contig {self._name} as there are, "
                "got another number: it belongs to another version of the file. Index again: "
                f"bcftools index -f {self._path}",
            )


class BcfReader(ContigReader):
    """The variants of one contig of a BCF; see `ContigReader`."""

    text_of = BcfText


def _as_block(lines: list[bytes]) -> tuple[np.ndarray, int, int]:
    text = np.frombuffer(bytearray(b"".join(lines)), dtype=np.uint8)
    return text, 0, len(text)


def _indexed_contigs(path: Path) -> dict[str, int]:
    """Return the number of records of each contig that has any, by the index."""
    try:
        table = pysam.bcftools.index("-s", str(path.absolute()))  # a name may begin with a dash
    except pysam.SamtoolsError as error:
        raise DpgrsError(
            "index-unreadable", f"the index of `{path}` cannot be read. Index again: bcftools index -f {path}"
        ) from error
    rows = (line.split("\t") for line in table.splitlines())
    return {name: int(count) for name, _, count in rows}


def _records(path: Path, contig: str | None = None) -> Iterator[pysam.VariantRecord]:
    with _open(path) as file:
        try:
            yield from file.fetch(contig) if contig else file
        except (OSError, ValueError) as error:
            raise DpgrsError("file-damaged", f"`{path}` is truncated or damaged. {COPY_AGAIN}") from error


def _open(path: Path) -> pysam.VariantFile:
    find_index(path)  # refuses a file that cannot be whole
    pysam.set_verbosity(0)  # htslib's lines on stderr would stand where ours belong
    try:
        return pysam.VariantFile(str(path.absolute()))
    except (OSError, ValueError) as error:
        raise DpgrsError(
            "bcf-unreadable",
            f"`{path}` is no BCF that htslib can read, or it has two samples of one name. {COPY_AGAIN}",
        ) from error


def _line(path: Path | str, record: pysam.VariantRecord) -> bytes:
    """Return a record as a line, without phases of first alleles.

    htslib prints such a phase in files of VCF 4.4 and later, but older writers leave its bit 0. If a call has
    two alleles, the phase of the second one is the phase of the call.
    """
    try:
        line = str(record).encode()
        if b"\t/" not in line and b"\t|" not in line:
            return line
        *fixed, columns = line.split(b"\t", N_FIXED_COLUMNS - 1)
        is_first = columns.partition(b"\t")[0].split(b":")[0] == b"GT"
        return b"\t".join([*fixed, PHASE_OF_FIRST.sub(b"", columns) if is_first else columns])
    except UnicodeDecodeError as error:
        site = f"{record.contig}\t{record.pos}".encode()
        raise record_error(path, None, site, "the record must be text in UTF-8. Mend it.") from error
