"""The blocks of a BGEN: its header, the ids of samples, and variants, found by walking or by a `.bgi`.

The format: https://www.well.ox.ac.uk/~gav/bgen_format/spec/latest.html. A length that leads out of the file
is damage.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from dpgrs.errors import DpgrsError
from dpgrs.io.files import require_file
from dpgrs.io.vcf.text import COPY_AGAIN

_MAGIC = (b"bgen", b"\0\0\0\0")
PLAIN, ZLIB, ZSTD = range(3)  # how probabilities are compressed
_LAYOUT, _HAS_SAMPLES = 2, 1 << 31
# Read of a variant at first: more than its ids and alleles mostly take.
_GUESS = 512
_INDEX_HEAD = 1000


class BgenHeader(NamedTuple):
    """The head of a BGEN."""

    n_variants: int
    n_samples: int
    compression: int  # `PLAIN`, `ZLIB` or `ZSTD`
    samples: tuple[str, ...] | None  # None if the file has no ids
    start: int  # the offset of the first variant


class Variant(NamedTuple):
    """One variant without its probabilities."""

    contig: str
    position: int
    id: str
    alleles: list[str]
    data: int  # the offset of its probabilities
    end: int


def read_bgen_header(path: Path) -> BgenHeader:
    """Read the head of a BGEN; refuse layout 1, which is BGEN 1.1."""
    require_file(path)
    with BgenFile(path) as file:
        offset, length, n_variants, n_samples = file.numbers("<IIII", 0)
        if length < 20 or file.read(16, 4) not in _MAGIC:
            raise DpgrsError(
                "not-a-bgen", f"`{path}` is no BGEN: `bgen` must stand at its byte 16. {COPY_AGAIN}"
            )
        (flags,) = file.numbers("<I", length)
        layout, compression = flags >> 2 & 15, flags & 3
        if layout != _LAYOUT or compression not in (PLAIN, ZLIB, ZSTD):
            raise DpgrsError(
                "bgen-layout",
                f"`{path}` must have layout 2, as BGEN 1.2 and 1.3, got layout {layout}. Convert it: plink2 "
                f"--bgen {path} ref-first --sample {path.with_suffix('.sample')} --export bgen-1.2 ref-first",
            )
        if n_samples == 0:
            raise DpgrsError("no-samples", f"`{path}` has no samples. {COPY_AGAIN}")
        samples = _samples(file, 4 + length, n_samples) if flags & _HAS_SAMPLES else None
        start = offset + 4
        if not 4 + length <= start <= file.size:
            raise file.damage()
        return BgenHeader(n_variants, n_samples, compression, samples, start)


class BgenFile:
    """A BGEN that is read piece by piece; a piece beyond its end is an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, at: int, n_bytes: int) -> bytes:
        """Return `n_bytes` from an offset."""
        content = os.pread(self._file.fileno(), n_bytes, at) if n_bytes <= self.size - at else b""
        if len(content) != n_bytes:
            raise self.damage()
        return content

    def numbers(self, form: str, at: int) -> tuple[int, ...]:
        """Return numbers from an offset, by a format of `struct`."""
        return struct.unpack(form, self.read(at, struct.calcsize(form)))

    def variants(self, header: BgenHeader) -> Iterator[Variant]:
        """Yield all variants in order, and refuse a file that does not end where they do."""
        at = header.start
        for _ in range(header.n_variants):
            variant = self.variant(at)
            yield variant
            at = variant.end
        if at != self.size:
            raise DpgrsError(
                "bgen-trailing-bytes",
                f"`{self._path}` must end after its {header.n_variants} variants, as its head has it. "
                f"{COPY_AGAIN[:-1]}, or join files by cat-bgen.",
            )

    def variant(self, at: int) -> Variant:
        """Read the variant at an offset, without its probabilities."""
        n_bytes = _GUESS
        while True:
            head = os.pread(self._file.fileno(), min(n_bytes, max(self.size - at, 0)), at)
            try:
                return _variant(head, at, self.size)
            except struct.error:
                if n_bytes >= self.size - at:
                    raise self.damage() from None
                n_bytes *= 8
            except (UnicodeDecodeError, ValueError):
                raise self.damage() from None

    def damage(self) -> DpgrsError:
        """Return the error for a file that cannot be whole."""
        return DpgrsError("file-damaged", f"`{self._path}` is truncated or damaged. {COPY_AGAIN}")


def _variant(head: bytes, at: int, size: int) -> Variant:
    """Parse a variant from its first bytes; too few bytes raise `struct.error`."""
    start, texts = 0, []
    for _ in range(3):
        text, start = _text(head, start, "<H")
        texts.append(text)
    _, id_, contig = texts
    position, n_alleles = struct.unpack_from("<IH", head, start)
    start += 6
    alleles = []
    for _ in range(n_alleles):
        allele, start = _text(head, start, "<I")
        alleles.append(allele)
    (n_bytes,) = struct.unpack_from("<I", head, start)
    begin = at + start + 4
    if begin + n_bytes > size:
        raise ValueError
    return Variant(contig, position, id_ or ".", alleles, begin, begin + n_bytes)


def _text(head: bytes, start: int, form: str) -> tuple[str, int]:
    (length,) = struct.unpack_from(form, head, start)
    start += struct.calcsize(form)
    if start + length > len(head):
        raise struct.error
    return head[start : start + length].decode(), start + length


def _samples(file: BgenFile, at: int, n_samples: int) -> tuple[str, ...]:
    length, number = file.numbers("<II", at)
    block = file.read(at + 8, max(length - 8, 0))
    try:
        samples = _ids(block)
    except (struct.error, UnicodeDecodeError):
        raise file.damage() from None
    if not number == n_samples == len(samples):
        raise file.damage()
    return samples


@lru_cache(maxsize=1)
def _ids(block: bytes) -> tuple[str, ...]:
    """Return the ids of a block. The chromosomes of a cohort mostly have equal ones, of which one is read."""
    start, ids, length_at = 0, [], struct.Struct("<H").unpack_from
    while start < len(block):
        (length,) = length_at(block, start)
        stop = start + 2 + length
        ids.append(block[start + 2 : stop])
        start = stop
    if start > len(block):
        raise struct.error
    return tuple(map(bytes.decode, ids))


def index_of(path: Path) -> Path | None:
    """Return the path of the index beside a BGEN, as bgenix writes it, or None."""
    index = path.with_name(f"{path.name}.bgi")
    return index if index.is_file() else None


def indexed(path: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query to the index of a BGEN; refuse an index of another version of the file."""
    index = index_of(path)
    again = f"Index again: bgenix -index -clobber -g {path}"
    try:
        with closing(
            sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as database:
            metadata = database.execute("SELECT file_size, first_1000_bytes FROM Metadata").fetchall()
            with path.open("rb") as file:
                if metadata != [(path.stat().st_size, file.read(_INDEX_HEAD))]:
                    raise DpgrsError(
                        "index-of-another-file",
                        f"`{index}` belongs to another version of `{path.name}`. {again}",
                    )
            return database.execute(query, values).fetchall()
    except (sqlite3.Error, OSError) as error:
        raise DpgrsError("index-unreadable", f"`{index}` cannot be read. {again}") from error
