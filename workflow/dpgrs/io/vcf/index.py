"""Where the records of each contig lie in a BGZF file, by its index (.tbi or .csi)."""

import gzip
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

_TBI, _CSI = b"TBI\1", b"CSI\1"
_TBI_LEVELS = 5
_MOST_LEVELS = 10  # the numbers of bins have 32 bits


class ContigPlace(NamedTuple):
    """Where the records of a contig begin, as htslib's virtual offset, and how many there are."""

    offset: int
    n_records: int


def read_index(path: Path) -> dict[str, ContigPlace] | None:
    """Return the contigs of an index of tabix or bcftools in file order, or None if it does not name them."""
    try:
        return _Reader(gzip.decompress(path.read_bytes())).contigs()
    except (OSError, EOFError, zlib.error, struct.error, UnicodeDecodeError):
        return None


class _Reader:
    """Reads the layout of the SAM specifications, "Tabix index" and "CSI".

    Numbers are taken without a sign: a damaged one leads past the end, and never back.
    """

    def __init__(self, content: bytes) -> None:
        self._data = content
        self._at = 4
        self._is_csi = content[:4] == _CSI
        self._is_known = content[:4] in (_TBI, _CSI)

    def contigs(self) -> dict[str, ContigPlace] | None:
        if not self._is_known:
            return None
        n_levels = _TBI_LEVELS
        if self._is_csi:
            _, n_levels, n_bytes = self._take("<3I")
            if n_bytes == 0 or n_levels > _MOST_LEVELS:  # the index of a BCF file has no names
                return None
            names, n_contigs = self._names(), self._take("<I")[0]
        else:
            n_contigs = self._take("<I")[0]
            names = self._names()
        # The bin after the last holds no records, but the offset and the number of the records of the contig.
        summary = (8 ** (n_levels + 1) - 1) // 7 + 1
        entries = [self._next_contig(summary) for _ in range(n_contigs)]
        if len(names) != n_contigs or None in entries:
            return None
        return {name: entry for name, entry in zip(names, entries, strict=True) if entry.n_records}

    def _names(self) -> list[str]:
        *_, n_bytes = self._take("<7I")
        self._at += n_bytes
        names = self._data[self._at - n_bytes : self._at].decode()
        return names.split("\0")[:-1]

    def _next_contig(self, summary: int) -> ContigPlace | None:
        """Return where the next contig lies, None if the index has no summary of its records."""
        (n_bins,) = self._take("<I")
        entry = None if n_bins else ContigPlace(0, 0)
        for _ in range(n_bins):
            number, *_, n_chunks = self._take("<IQI" if self._is_csi else "<2I")
            if number == summary and n_chunks == 2:
                offset, _, n_mapped, n_unmapped = self._take("<4Q")
                entry = ContigPlace(offset, n_mapped + n_unmapped)
            else:
                self._at += 16 * n_chunks
        if not self._is_csi:
            (n_intervals,) = self._take("<I")
            self._at += 8 * n_intervals
        return entry

    def _take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values
