"""Genotypes from BGEN 1.2 and 1.3 as calls that are certain, or as dosages.

dpgrs reads the file itself: libraries round probabilities to float32, and do not give the number of bits.
With them a dosage near the middle of two steps could differ between machines.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.bgen.blocks import BgenFile, BgenHeader, Variant, index_of, indexed, read_bgen_header
from dpgrs.io.bgen.samples import read_sample_table, sample_table
from dpgrs.io.listed_reader import CallsOf, DosagesOf, ListedReader
from dpgrs.io.vcf.vcf import VcfHeader, require_names

if TYPE_CHECKING:
    from dpgrs.io.bgen.probabilities import Probabilities


# As the UK Biobank writes them.
_LEADING_ZERO = re.compile(r"(chr)?0([1-9])")
_COLUMNS = ["contig", "position", "id", "ref", "alt"]


def read_header(path: Path) -> VcfHeader:
    """Read the samples of a BGEN, from its own ids or from a ``.sample`` of its name beside it.

    Contigs come from the index; without an index there are none. BGEN 1.1, no ids, repeated ids and a table
    of other samples are refused.
    """
    head, table = read_bgen_header(path), sample_table(path)
    samples = head.samples
    if table:
        columns = read_sample_table(table, head.n_samples)
        if samples is None:
            samples = columns[-1]
        elif samples not in (*columns, tuple(map("_".join, zip(*columns, strict=True)))):
            raise DpgrsError(
                "sample-ids-differ",
                f"`{table}` must have the ids that `{path.name}` has, in the same order. Take the table away "
                "if it is another file's.",
            )
    if samples is None:
        raise DpgrsError(
            "sample-ids-missing",
            f"`{path}` has no sample ids. Put its table beside it, as {path.stem}.sample.",
        )
    require_names(table or path, samples, remedy="Rename them in the table of samples.")
    contigs = dict.fromkeys(map(_contig, _raw_contigs(path))) if index_of(path) else {}
    return VcfHeader(path, samples, contigs)


def first_site(path: Path) -> tuple[str, int] | None:
    """Return (contig, position) of the first variant of a BGEN, or None if it has none."""
    variant = _first_variant(path, read_bgen_header(path))
    return variant and (_contig(variant.contig), variant.position)


def require_phase(path: Path) -> None:
    """Refuse a BGEN whose first variant has no phase: it cannot give haplotypes."""
    from dpgrs.io.bgen.probabilities import Probabilities  # brings numba, which takes 0.3 s

    head = read_bgen_header(path)
    variant = _first_variant(path, head)
    if variant and not Probabilities(path, head, [variant]).calls([0])[1].all():
        raise DpgrsError(
            "unphased-genotypes",
            f"`{path}` has no phase. Use people as rows (`rows: people`), or give a phased BGEN, VCF, BCF or "
            ".pgen.",
        )


def has_provisional_ref(path: Path) -> bool:
    """Return True: a BGEN does not state which allele is REF."""
    return True


class _BgenVariants:
    """The variants of a BGEN, walked over once, or found by its index; see `ListedVariants`."""

    calls_as_dosages = 0

    def __init__(self, header: VcfHeader) -> None:
        self._path = path = header.path
        self._head = read_bgen_header(path)
        self._is_indexed = index_of(path) is not None
        if self._is_indexed:
            self._raw_contigs = _raw_contigs(path)
            self.contigs = list(dict.fromkeys(map(_contig, self._raw_contigs)))
        else:
            with BgenFile(path) as file:
                self._variants = list(file.variants(self._head))
            self.contigs = list(dict.fromkeys(_contig(variant.contig) for variant in self._variants))

    def records(self, contigs: list[str]) -> pd.DataFrame:
        if self._is_indexed:
            self._variants = self._indexed([name for name in self._raw_contigs if _contig(name) in contigs])
        rows = [
            (_contig(contig), position, id_, ref, ",".join(alts) or ".")
            for contig, position, id_, (ref, *alts), *_ in self._variants
        ]
        table = pd.DataFrame(rows, columns=_COLUMNS)
        return table[table["contig"].isin(contigs)]

    def calls(self) -> CallsOf:
        return self._probabilities().calls

    def dosages(self) -> DosagesOf:
        return self._probabilities().dosages

    def _probabilities(self) -> "Probabilities":
        from dpgrs.io.bgen.probabilities import Probabilities  # brings numba, which takes 0.3 s

        return Probabilities(self._path, self._head, self._variants)

    def _indexed(self, raw_contigs: list[str]) -> list[Variant]:
        """Read the variants of some contigs by the index."""
        (total,) = indexed(self._path, "SELECT COUNT(*) FROM Variant")[0]
        query = (
            "SELECT file_start_position, chromosome, position FROM Variant WHERE chromosome IN "
            f"({','.join('?' * len(raw_contigs))}) ORDER BY file_start_position"
        )
        entries = indexed(self._path, query, *raw_contigs)
        with BgenFile(self._path) as file:
            variants = [file.variant(start) for start, _, _ in entries]
        sites = [(variant.contig, variant.position) for variant in variants]
        if total != self._head.n_variants or sites != [(contig, position) for _, contig, position in entries]:
            raise DpgrsError(
                "index-of-another-file",
                f"`{index_of(self._path)}` must list the variants that `{self._path.name}` has, got others. "
                f"Index again: bgenix -index -clobber -g {self._path}",
            )
        return variants


class Reader(ListedReader):
    """The variants of one contig of a BGEN; see `ListedReader`.

    A call, or the allele of a haplotype, needs a probability of at least 0.9; else it is missing. The first
    allele is REF, as most programs write it; nothing in the file says so, and REF is provisional.
    """

    has_provisional_ref = staticmethod(has_provisional_ref)
    variants_of = _BgenVariants

    def __init__(
        self, header: VcfHeader, contig: str | None, *, phased: str = "required", **options: Any
    ) -> None:
        super().__init__(header, contig, phased=phased, **options)
        if phased == "required":
            require_phase(header.path)


def _raw_contigs(path: Path) -> list[str]:
    return [name for (name,) in indexed(path, "SELECT DISTINCT chromosome FROM Variant ORDER BY chromosome")]


def _contig(name: str) -> str:
    """Return the name of a chromosome without a leading zero."""
    return _LEADING_ZERO.sub(r"\1\2", name) if _LEADING_ZERO.fullmatch(name) else name


def _first_variant(path: Path, head: BgenHeader) -> Variant | None:
    if not head.n_variants:
        return None
    with BgenFile(path) as file:
        return file.variant(head.start)
