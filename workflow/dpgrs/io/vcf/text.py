"""The text of a VCF: whole or an error, by the index where there is one."""

import gzip
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.chromosomes import chromosome_name, is_chromosome
from dpgrs.io.files import COPY_AGAIN, require_file
from dpgrs.io.vcf import blocks as vcf_blocks
from dpgrs.io.vcf.blocks import (
    BGZF_END,
    DamagedError,
    LongLineError,
    end_marks,
    first_byte,
    is_bgzf,
    line_blocks,
)
from dpgrs.io.vcf.index import read_index

HEADER_AGAIN = (
    "a line that begins with `#` must stand above all records: after a second header they may be of other "
    "people. Join files with bcftools concat."
)

_GZIP_MAGIC = b"\x1f\x8b"
_HASH = ord("#")


def first_repeat(names: Sequence[Any]) -> tuple[int, int] | None:
    """Return the numbers, from 1, of the first name that occurs twice: (earlier, later), or None."""
    if len(set(names)) == len(names):
        return None
    numbers = {}
    for number, name in enumerate(names, start=1):
        if numbers.setdefault(name, number) != number:
            return numbers[name], number
    return None


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line without its end) from BGZF, plain gzip or plain text.

    A file that is missing, empty, truncated or damaged, and a line of more than `vcf_blocks.LONGEST_LINE`
    bytes, raise a DpgrsError.
    """
    find_index(path)
    number = 0
    try:
        with _open(path) as file:
            lines = iter(lambda: file.readline(vcf_blocks.LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > vcf_blocks.LONGEST_LINE:
                    raise _long_line(path)
                yield number, line.rstrip(b"\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DpgrsError(
            "file-damaged", f"`{path}` is truncated or damaged after line {number}. {COPY_AGAIN}"
        ) from error


class LineSource(Protocol):
    """The lines of one contig in blocks, as a `dpgrs.io.vcf.scan.LineScanner` reads them."""

    is_indexed: bool  # then no line is needed after the last of the contig, and lines have no numbers

    def blocks(self, *args: Any, **options: Any) -> Generator[tuple[np.ndarray, int, int], None, None]: ...

    def has(self, name: bytes) -> bool: ...

    def record_error(self, number: int, line: bytes, problem: object) -> Exception: ...

    def require_complete(self, names: Iterable[bytes], n_records: int) -> None: ...


class ContigText:
    """The text of a VCF that holds one contig: by the index if there is one, else the whole file.

    The contig is named as in the file, or with ``chr`` in front added or left out. Of several, a frozenset of
    names without ``chr``, any may be absent, and the index is not used.
    """

    def __init__(self, path: Path, contig: str | frozenset[str]) -> None:
        self._path, self._contig = path, contig
        self._index = find_index(path) if isinstance(contig, str) else None
        self._places = read_index(self._index) if self._index else None
        # The count guards against an index that is older than its file. Without a count, scan the whole file.
        self.is_indexed = self._places is not None
        self._name = match_contig(path, contig, self._places) if self.is_indexed else None
        self._n_header_lines = 0
        if self.is_indexed:
            self._require_one_header()

    def blocks(self, **options: Any) -> Generator[tuple[np.ndarray, int, int], None, None]:
        """Yield blocks of whole lines below the header; options and blocks are those of `line_blocks`."""
        from dpgrs.io.vcf._kernels import line_end  # brings numba, which takes 0.3 s; a header needs none

        is_header = not self._earlier_offsets()
        try:
            for text, start, stop in line_blocks(self._path, offset=self._offset, **options):
                at = start
                while is_header and at < stop:
                    is_header = text[at] == _HASH
                    if is_header:
                        at = line_end(text, at, stop) + 1
                        self._n_header_lines += 1
                if at < stop:
                    yield text, at, stop
        except DamagedError:
            raise self._damage() from None
        except LongLineError:
            raise _long_line(self._path) from None

    def has(self, name: bytes) -> bool:
        """Return whether a name is a name of the contig."""
        return is_one_of(name.decode(errors="replace"), self._contig)

    def record_error(self, number: int, line: bytes, problem: object) -> DpgrsError:
        """Return the error for a line; `number`, from 1 below the header, is not used if the index was."""
        number = None if self.is_indexed else number + self._n_header_lines
        return record_error(self._path, number, line, problem)

    def require_complete(self, names: Iterable[bytes], n_records: int) -> None:
        """Refuse a file that did not name the contig exactly once, or had not as many records as its index.

        The names are the contigs that were read; `n_records` counts the records of the contig. Of several
        contigs nothing is refused: inflating the file finds where it breaks off.
        """
        if not isinstance(self._contig, str):
            return
        if not self.is_indexed:
            match_contig(self._path, self._contig, [name.decode(errors="replace") for name in names])
        elif n_records != self._places[self._name].n_records:
            raise DpgrsError(
                "index-of-another-file",
                f"`{self._index}` must list as many records on contig {self._name} as there are, got another "
                "number: it belongs to another version of the file. Index again: "
                f"tabix -f -p vcf {self._path}",
            )

    @property
    def _offset(self) -> int:
        return self._places[self._name].offset if self.is_indexed else 0

    def _earlier_offsets(self) -> list[int]:
        """Return where the contigs begin that lie before this one, as htslib's virtual offsets."""
        return [start.offset for start in (self._places or {}).values() if start.offset < self._offset]

    def _require_one_header(self) -> None:
        """Refuse a second header before the contig, which is not read from the begin of the file.

        It stands where two files were joined: behind the end mark of the first, or where a contig begins.
        """
        for offset in [*self._earlier_offsets(), *end_marks(self._path, stop=self._offset)]:
            try:
                is_header = first_byte(self._path, offset) == _HASH
            except DamagedError:
                raise self._damage() from None
            if is_header:
                raise DpgrsError(
                    "header-repeated", f"`{self._path}`, before contig {self._name}: {HEADER_AGAIN}"
                )

    def _damage(self) -> DpgrsError:
        """Return the error for damage, with the last line before it if lines have numbers."""
        if self.is_indexed:
            return DpgrsError(
                "contig-damaged",
                f"`{self._path}` is truncated or damaged on contig {self._name}, or its index is of another "
                f"version of it. {COPY_AGAIN[:-1]}, or index again: tabix -f -p vcf {self._path}",
            )
        try:
            deque(numbered_lines(self._path), maxlen=0)
        except DpgrsError as error:
            return error
        return DpgrsError("file-damaged", f"`{self._path}` is damaged somewhere. {COPY_AGAIN}")


def _long_line(path: Path) -> DpgrsError:
    return DpgrsError(
        "line-too-long",
        f"`{path}` must have lines of at most {vcf_blocks.LONGEST_LINE:,} bytes, got a longer one. Leave "
        "fields out: bcftools annotate --remove ^FORMAT/GT",
    )


def record_error(path: Path | str, number: int | None, line: bytes, problem: object) -> DpgrsError:
    """Return the error for one record: its line, or its contig and position if the line is not known."""
    site = shown(b":".join(line.split(b"\t", 2)[:2]).decode(errors="replace"))
    unnumbered = "among its records" if line.startswith(b"#") else f"record at {site}"
    location = f"line {number}" if number else unnumbered
    return DpgrsError("record-invalid", f"`{path}`, {location}: {problem}")


def find_index(path: Path) -> Path | None:
    """Return the path of the index beside a BGZF file, or None; refuse a file that cannot be whole.

    Such a file is missing, unreadable or empty, lacks the end mark of BGZF, or is no BGZF beside an index.
    """
    require_file(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        is_packed = is_bgzf(file.read(18))
        file.seek(max(0, size - len(BGZF_END)))
        if is_packed and file.read() != BGZF_END:
            raise DpgrsError(
                "bgzf-truncated", f"`{path}` is truncated: it lacks the end mark of a BGZF file. {COPY_AGAIN}"
            )
    indices = (path.with_name(path.name + suffix) for suffix in (".csi", ".tbi"))
    index = next((index for index in indices if index.is_file()), None)
    # Read without the index, a file whose first bytes are damaged could lack whole blocks unseen.
    if index and not is_packed:
        raise DpgrsError(
            "not-bgzf",
            f"`{path}` must be BGZF, for `{index.name}` lies beside it, got something else. "
            f"{COPY_AGAIN[:-1]}, or remove an index that is not its own.",
        )
    return index


def require_one_header(path: Path) -> None:
    """Read a whole VCF, and refuse one with a header among its records."""
    is_header = True
    for number, line in numbered_lines(path):
        if line.startswith(b"#") and not is_header:
            raise record_error(path, number, line, HEADER_AGAIN)
        is_header = is_header and not line.startswith(b"#CHROM")


def is_one_of(name: str, contig: str | frozenset[str]) -> bool:
    """Return whether a name is a name of a contig, or of one of several."""
    return is_chromosome(name, contig) if isinstance(contig, str) else chromosome_name(name) in contig


def match_contig(path: Path, contig: str, names: Iterable[str]) -> str:
    """Return the only one of `names` that `is_chromosome` takes for `contig`; refuse none or two."""
    matches = [name for name in names if is_chromosome(name, contig)]
    if not matches:
        there = shown(", ".join(list(names)[:30]), n_characters=600) or "no records at all"
        raise DpgrsError(
            "contig-missing",
            f"contig {contig} is not in `{path}`; there: {there}. Mend the list of chromosomes or the path.",
        )
    if len(matches) > 1:
        raise DpgrsError(
            "contig-named-twice",
            f"`{path}` names one contig both {matches[0]} and {matches[1]}. Rename one of them.",
        )
    return matches[0]


def _open(path: Path) -> BinaryIO | gzip.GzipFile:
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    return gzip.open(path, "rb") if is_gzip else path.open("rb")
