"""The text of a VCF, line by line: whole or an error, by the index where there is one."""

import gzip
import os
import zlib

import pysam
import pysam.bcftools

from dpgrs.errors import DpgrsError

COPY_AGAIN = "Copy or download the file again."

_GZIP_MAGIC = b"\x1f\x8b"
_BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def numbered_lines(path):
    """Yield (line number from 1, line without its end) from BGZF, plain gzip or plain text.

    Raises
    ------
    DpgrsError
        Missing, empty, truncated or damaged file.
    """
    find_index(path)
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip(b"\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DpgrsError(f"`{path}` is truncated or damaged after line {number}. {COPY_AGAIN}") from error


def contig_lines(path, contig, *, n_columns):
    """Yield (line number, line) of every record of a contig, in file order.

    Parameters
    ----------
    path : pathlib.Path of the VCF.
    contig : str, as in the file or with ``chr`` in front added or left out.
    n_columns : int, what every record must have.

    Yields
    ------
    (int or None, bytes); the line number is None where the index was used.

    Raises
    ------
    DpgrsError
        Truncated or damaged file, stale index, contig not in the file or there under two names, wrong column
        count.
    """
    pysam.set_verbosity(0)  # htslib's lines on stderr would stand where ours belong
    index = find_index(path)
    n_records = _indexed_contigs(index) if index else None
    # The count guards against an index that is older than its file. Without a count, scan the whole file.
    lines = (
        _scanned_lines(path, contig) if n_records is None else _fetched_lines(path, contig, index, n_records)
    )
    aliases = {name.encode() for name in _aliases(contig)}
    for number, line in lines:
        found = line.count(b"\t") + 1
        if found != n_columns:
            problem = f"the record must have {n_columns} columns, got {found}. {COPY_AGAIN}"
            raise record_error(path, number, line, problem)
        if line.partition(b"\t")[0] in aliases:
            yield number, line


def record_error(path, number, line, problem):
    """Return the error for one record: its line, or its contig and position where the line is not known."""
    place = f"line {number}" if number else "record at " + b":".join(line.split(b"\t", 2)[:2]).decode()
    return DpgrsError(f"`{path}`, {place}: {problem}")


def find_index(path):
    """Return the path of the index beside a BGZF file, or None; refuse a file that cannot be whole.

    Raises
    ------
    DpgrsError
        Missing, unreadable or empty file, or a BGZF file without its end mark.
    """
    if not path.is_file():
        raise DpgrsError(f"`{path}` is not there. Mend the path, or fetch the file.")
    if not os.access(path, os.R_OK):
        raise DpgrsError(f"`{path}` cannot be read. Mend its permissions.")
    size = path.stat().st_size
    if size == 0:
        raise DpgrsError(f"`{path}` is empty. {COPY_AGAIN}")
    with path.open("rb") as file:
        if not _is_bgzf(file.read(18)):
            return None
        file.seek(max(0, size - len(_BGZF_END)))
        if file.read() != _BGZF_END:
            raise DpgrsError(f"`{path}` is truncated: it lacks the end mark of a BGZF file. {COPY_AGAIN}")
    indices = (path.with_name(path.name + suffix) for suffix in (".csi", ".tbi"))
    return next((index for index in indices if index.is_file()), None)


def _scanned_lines(path, contig):
    """Yield every record of the file, and refuse a file that did not name the contig exactly once."""
    seen = {}
    for number, line in numbered_lines(path):
        if not line.startswith(b"#"):
            seen[line.partition(b"\t")[0]] = None
            yield number, line
    _match_contig(path, contig, [name.decode() for name in seen])


def _fetched_lines(path, contig, index, n_records):
    name = _match_contig(path, contig, n_records)
    n_read = 0
    try:
        # latin-1 takes every byte there and back: only the columns that are used need to be proper text.
        with pysam.TabixFile(str(path), index=str(index), encoding="latin-1") as file:
            for line in file.fetch(name):
                n_read += 1
                yield None, line.encode("latin-1")
    except (OSError, ValueError) as error:
        raise DpgrsError(f"`{path}` is truncated or damaged on contig {name}. {COPY_AGAIN}") from error
    if n_read != n_records[name]:
        raise DpgrsError(
            f"`{index}` must list {n_read} records on contig {name}, got {n_records[name]}: it belongs to "
            f"another version of the file. Index again: tabix -f -p vcf {path}"
        )


def _indexed_contigs(index):
    """Return the number of records of each contig as the index has it, or None where it does not say."""
    try:
        table = pysam.bcftools.index("-s", str(index))
    except pysam.SamtoolsError:
        return None
    rows = (line.split("\t") for line in table.splitlines())
    return {name: int(count) for name, _, count in rows}


def _match_contig(path, contig, names):
    """Return the one of `names` that is `contig`, up to a leading ``chr``."""
    found = [name for name in _aliases(contig) if name in names]
    if not found:
        there = ", ".join(list(names)[:30]) or "no records at all"
        raise DpgrsError(
            f"contig {contig} is not in `{path}`; there: {there}. Mend the list of chromosomes or the path."
        )
    if len(found) > 1:
        raise DpgrsError(f"`{path}` names one contig both {found[0]} and {found[1]}. Rename one of them.")
    return found[0]


def _aliases(contig):
    bare = contig.removeprefix("chr")
    return bare, f"chr{bare}"


def _open(path):
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _is_bgzf(start):
    """Tell BGZF from plain gzip: its first extra field is named BC."""
    return start[:4] == _BGZF_END[:4] and start[12:14] == b"BC"
