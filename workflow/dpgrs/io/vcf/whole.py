"""All wanted contigs of a VCF or BCF in one pass, in the order of the file."""

from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.vcf.bcf import BcfText
from dpgrs.io.vcf.text import ContigText
from dpgrs.io.vcf.vcf import ContigReader


class _AnyContig:
    """Lines of several contigs, which need not be there."""

    def has(self, name):
        """Tell whether a name, as bytes, is that of a wanted contig."""
        return chromosome_name(name.decode(errors="replace")) in self._contig

    def require_complete(self, names, n_records):
        """Refuse nothing: what breaks off is found by who inflates."""


class WholeText(_AnyContig, ContigText):
    """The lines of a VCF, whose index is not asked.

    Parameters
    ----------
    path : pathlib.Path
    contigs : collection of str, without ``chr``.
    """

    def __init__(self, path, contigs):
        self._path, self._contig = path, frozenset(contigs)
        self._index = self._places = self._name = None
        self.is_indexed = False
        self._n_header_lines = 0


class WholeBcfText(_AnyContig, BcfText):
    """The records of a BCF as lines; see `WholeText`."""

    def __init__(self, path, contigs):
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
