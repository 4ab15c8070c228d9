"""All wanted contigs of a VCF or BCF in one pass, in the order of the file."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.vcf.bcf import BcfText
from dpgrs.io.vcf.text import ContigText
from dpgrs.io.vcf.vcf import ContigReader


class _AnyContig:
    """Lines of several contigs, all of which may be absent."""

    _contig: Any  # names of contigs without `chr`, a frozenset

    def has(self, name: bytes) -> bool:
        """Return whether a name is a name of a wanted contig."""
        return chromosome_name(name.decode(errors="replace")) in self._contig

    def require_complete(self, names: Iterable[bytes], n_records: int) -> None:
        """Refuse nothing: inflating the file finds where it breaks off."""


class WholeText(_AnyContig, ContigText):
    """The lines of a VCF on some contigs, named without ``chr``; its index is not used."""

    def __init__(self, path: Path, contigs: Collection[str]) -> None:
        self._path, self._contig = path, frozenset(contigs)
        self._index = self._places = self._name = None
        self.is_indexed = False
        self._n_header_lines = 0


class WholeBcfText(_AnyContig, BcfText):
    """The records of a BCF as lines; see `WholeText`."""

    def __init__(self, path: Path, contigs: Collection[str]) -> None:
        self._path, self._contig = path, frozenset(contigs)
        self._counts = self._name = None
        self.is_indexed = False
        self._seen = {}


class WholeReader(ContigReader):
    """The variants of a VCF; see `ContigReader`, whose contig is a collection of them."""

    text_of = WholeText


class WholeBcfReader(ContigReader):
    """The variants of a BCF; see `WholeReader`."""

    text_of = WholeBcfText
