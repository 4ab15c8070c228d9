"""Genotypes from a BCF: htslib writes its records as lines of a VCF, and both forms take the same way."""

import gzip
import zlib
from pathlib import Path

import pysam
import pysam.bcftools

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf import ContigReader, VcfHeader, _BadRecord, _declared_contig, _sample_ids
from dpgrs.io.vcf_text import COPY_AGAIN, _match_contig, find_index, record_error


def is_bcf(path):
    """Tell a BCF, compressed or not, by its first bytes; what cannot be read is none."""
    try:
        with Path(path).open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_gzip else Path(path).open("rb") as file:
            return file.read(3) == b"BCF"
    except (OSError, EOFError, zlib.error):
        return False


def read_bcf_header(path):
    """Read the header of a BCF.

    Returns
    -------
    dpgrs.io.vcf.VcfHeader

    Raises
    ------
    DpgrsError
        Missing, empty, truncated or damaged file, no samples.
    """
    path = Path(path)
    with _open(path) as file:
        lines = str(file.header).encode().splitlines()
    contigs = {}
    for line in lines:
        if line.startswith(b"##contig="):
            contigs |= _declared_contig(line)
    return VcfHeader(path, _sample_ids(path, lines[-1]), contigs)


def first_bcf_site(path):
    """Return (contig, position) of the first record of a BCF, or None where it has none.

    Raises
    ------
    DpgrsError
        Missing, truncated or damaged file.
    """
    return next(((record.contig, record.pos) for record in _records(Path(path))), None)


class BcfReader(ContigReader):
    """The variants of one contig of a BCF; see `dpgrs.io.vcf.ContigReader` for parameters and counters."""

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last, in file order.

        Raises
        ------
        DpgrsError
            Truncated or damaged file, stale index, contig not in the file, or a bad record, with its contig
            and position and the place of the sample.
        """
        rows = []
        for row in self._bcf_rows():
            rows.append(row)
            if len(rows) == n_variants:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _bcf_rows(self):
        path = self._header.path
        for line in _contig_lines(path, self._contig):
            self.n_records += 1
            try:
                rows = self._split(line)
            except _BadRecord as problem:
                raise record_error(path, None, line, problem) from None
            yield from rows


def _contig_lines(path, contig):
    """Yield the records of a contig as lines, by the index where there is one."""
    if find_index(path) is None:
        yield from _scanned_lines(path, contig)
        return
    n_records = _indexed_contigs(path)
    name, n_read = _match_contig(path, contig, n_records), 0
    for record in _records(path, name):
        n_read += 1
        yield _line(path, record)
    if n_read != n_records[name]:
        raise DpgrsError(
            f"the index of `{path}` must list {n_read} records on contig {name}, got {n_records[name]}: it "
            f"belongs to another version of the file. Index again: bcftools index -f {path}"
        )


def _scanned_lines(path, contig):
    bare, seen = contig.removeprefix("chr"), {}
    for record in _records(path):
        seen[record.contig] = None
        if record.contig in (bare, f"chr{bare}"):
            yield _line(path, record)
    _match_contig(path, contig, seen)


def _indexed_contigs(path):
    """Return the number of records of each contig that has any, as the index has it."""
    try:
        table = pysam.bcftools.index("-s", str(path))
    except pysam.SamtoolsError as error:
        raise DpgrsError(
            f"the index of `{path}` cannot be read. Index again: bcftools index -f {path}"
        ) from error
    rows = (line.split("\t") for line in table.splitlines())
    return {name: int(count) for name, _, count in rows}


def _records(path, contig=None):
    with _open(path) as file:
        try:
            yield from file.fetch(contig) if contig else file
        except (OSError, ValueError) as error:
            raise DpgrsError(f"`{path}` is truncated or damaged. {COPY_AGAIN}") from error


def _open(path):
    find_index(path)  # refuses a file that cannot be whole
    pysam.set_verbosity(0)  # htslib's lines on stderr would stand where ours belong
    try:
        return pysam.VariantFile(str(path))
    except (OSError, ValueError) as error:
        raise DpgrsError(
            f"`{path}` is no BCF that htslib can read, or it has two samples of one name. {COPY_AGAIN}"
        ) from error


def _line(path, record):
    try:
        return str(record).rstrip("\n").encode()
    except UnicodeDecodeError as error:
        site = f"{record.contig}\t{record.pos}".encode()
        raise record_error(path, None, site, "the record must be text in UTF-8. Mend it.") from error
