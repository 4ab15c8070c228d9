"""Genotypes from a VCF, split into one row per ALT allele.

Lines of the common form go through a compiled scanner, all others through cyvcf2; both give the same bits.
Columns, alleles and phase are checked here, because htslib drops surplus columns and accepts alleles that the
record does not list, in silence.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.vcf.records import N_FIXED_COLUMNS
from dpgrs.io.vcf.text import (
    COPY_AGAIN,
    HEADER_AGAIN,
    ContigText,
    LineSource,
    first_repeat,
    numbered_lines,
    record_error,
)

if TYPE_CHECKING:
    import pandas as pd


PHASED = ("required", "any")
FIELDS = ("GT", "DS")
_NAME = re.compile(r"[^\x00-\x1f\x7f]+")
N_THREADS = 2  # so few are busy where one scans beside those that inflate


@dataclass(frozen=True)
class VcfHeader:
    """Path, samples and contigs by the header lines of a VCF."""

    path: Path
    samples: tuple[str, ...]  # in file order
    contigs: dict[str, int | None]  # declared contigs, with their length if it is declared


class VariantBatch(NamedTuple):
    """Consecutive biallelic variants."""

    columns: dict[str, Any]  # n_variants values each: contig, position (1-based), id, ref, alt
    haplotypes: np.ndarray  # (n_variants, n_words) uint64, bit 1 if the haplotype carries ALT
    missing: np.ndarray  # the same shape, bit 1 if the allele is unknown; its haplotype bit is then 0
    # (n_variants, n_samples) uint16 in units of `DOSAGE_STEP`, 0 if missing: the haplotypes are then the
    # nearest calls. None if calls are read.
    dosages: np.ndarray | None = None

    @property
    def variants(self) -> "pd.DataFrame":
        """The columns as a data frame, made anew each time."""
        import pandas as pd  # takes 0.2 s, which making a store does without

        return pd.DataFrame(self.columns)


def read_header(path: Path | str) -> VcfHeader:
    """Read the header of a VCF in BGZF, plain gzip or plain text, and no more of the file than its header.

    A file that is missing, empty, truncated or no VCF, a second header, and sample ids that are absent, no
    names or not distinct raise a DpgrsError.
    """
    path = Path(path)
    contigs, header = {}, None
    for number, line in numbered_lines(path):
        if header and line.startswith(b"#"):
            raise record_error(path, number, line, HEADER_AGAIN)
        if header:
            return header
        if number == 1 and not line.startswith(b"##fileformat=VCF"):
            raise DpgrsError(
                "not-a-vcf",
                f"`{path}` must begin with `##fileformat=VCF`. "
                "Give a VCF file: BGZF, plain gzip or plain text.",
            )
        if line.startswith(b"##contig="):
            contigs |= declared_contig(line)
        elif line.startswith(b"#CHROM"):
            header = VcfHeader(path, sample_ids(path, line), contigs)
        elif not line.startswith(b"#"):
            break
    if header:
        return header
    raise DpgrsError(
        "vcf-header-truncated", f"`{path}` has no #CHROM line: its header is truncated. {COPY_AGAIN}"
    )


class ContigReader:
    """The variants of one contig, counted while they are read.

    If phase is required, an unphased half-missing call such as ``0/.`` leaves both haplotypes missing: it
    does not say which of them carries the known allele.

    The contig is named as in the file, or with ``chr`` in front added or left out; a frozenset of names
    without ``chr`` takes several. ``phased`` says what an unphased heterozygous call is: an error
    (``required``) or taken as written (``any``). ``field`` is ``GT``, calls, or ``DS``, dosages.
    ``keep_filtered`` keeps records whose FILTER is neither PASS nor ``.``; ``known_ref`` refuses a record
    whose REF is provisional (``INFO/PR``); ``keeps_symbols`` makes an ALT that is no letters, such as ``*``
    or ``<DEL>``, a row. ``is_compiled`` and ``n_threads``, which inflate, change no result.

    A call of one allele, as of male X, leaves the second haplotype missing if phase is required, for there is
    none; otherwise it counts twice. A dot is a missing call of two alleles.
    """

    text_of: Callable[..., LineSource] = ContigText

    def __init__(
        self,
        header: VcfHeader,
        contig: Any,
        *,
        phased: str = "required",
        keep_filtered: bool = False,
        known_ref: bool = False,
        field: str = "GT",
        keeps_symbols: bool = False,
        is_compiled: bool = True,
        n_threads: int = N_THREADS,
    ) -> None:
        check_terms(phased, field)
        self._header = header
        self._field = field
        self._contig = contig
        self._n_threads = n_threads
        self._options = {
            "n_samples": len(header.samples),
            "is_phase_required": phased == "required",
            "is_filter_kept": keep_filtered,
            "is_known_ref": known_ref,
            "is_compiled": is_compiled,
            "keeps_symbols": keeps_symbols,
        }
        self.n_records = 0  # of the contig, read so far
        # By reason: records that are `filtered` or have `no_gt`, and single ALTs that are `no_alt` (`.`),
        # `star_allele` (`*`), `symbolic_allele` (`<...>` and breakends) or `no_letters` (also of such a REF).
        self.skipped: Counter[str] = Counter()
        self.missing_alleles = 0  # bits set in the missing planes of all batches so far
        self.haploid_calls = 0  # calls of one allele in the records used so far
        self.calls_as_dosages = 0  # calls that stand for dosages that are missing

    def batches(self, n_variants: int) -> Iterator[VariantBatch]:
        """Yield batches of `n_variants`, the last of fewer, in file order.

        A truncated or damaged file, a contig that is not in the file, and a bad record raise a DpgrsError:
        with the line (contig and position if the index was used) and the place of the sample.
        """
        text = self.text_of(self._header.path, self._contig)
        scanner = scanner_of(self._field)(text, **self._options)
        # Two threads inflate a file of one, too: then one thread scans all the time.
        threads = {"n_threads": self._n_threads} if self._n_threads > N_THREADS else {}
        for columns, haplotypes, missing, *dosages in scanner.rows(n_variants, **threads):
            self.n_records, self.haploid_calls = scanner.n_records, scanner.haploid_calls
            self.skipped, self.calls_as_dosages = scanner.skipped, scanner.calls_as_dosages
            self.missing_alleles += int(np.bitwise_count(missing).sum())
            yield VariantBatch(columns, haplotypes, missing, *dosages)
        self.n_records, self.skipped = scanner.n_records, scanner.skipped


def scanner_of(field: str) -> Callable[..., Any]:
    """Return the class that reads calls (GT) or dosages (DS)."""
    # They bring numba, which takes 0.3 s: names and headers do without.
    if field == "DS":
        from dpgrs.io.vcf.dosages import DosageScanner

        return DosageScanner
    from dpgrs.io.vcf.scan import LineScanner

    return LineScanner


def check_terms(phased: str, field: str) -> None:
    """Refuse a value of `phased` or `field` that does not exist, and dosages for rows that need phase."""
    if phased not in PHASED:
        raise UsageError(
            "phased-unknown", f"`phased` must be one of {', '.join(PHASED)}, got {phased}. Take one of them."
        )
    if field not in FIELDS:
        raise UsageError(
            "field-unknown", f"`field` must be one of {', '.join(FIELDS)}, got {field}. Take one of them."
        )
    if field == "DS" and phased == "required":
        raise UsageError(
            "phased-with-dosages",
            "`phased` must be any with `field` DS, got required. Leave it out: a dosage has no phase.",
        )


def declared_contig(line: bytes) -> dict[str, int | None]:
    """Return the contig of a header line with its length, None if not declared, as a dict of one or none."""
    text = line.decode(errors="replace")
    name = re.search(r"[<,]ID=([^,>]+)", text)
    length = re.search(r"[<,]length=([0-9]{1,18})(?![0-9])", text)
    return {name[1]: int(length[1]) if length else None} if name else {}


def sample_ids(path: Path, line: bytes) -> tuple[str, ...]:
    """Return the sample ids of a #CHROM line.

    No samples, and ids that are empty, hold a control character, or are not distinct or not in UTF-8, raise a
    DpgrsError.
    """
    if any(b" " in column for column in line.split(b"\t")[:N_FIXED_COLUMNS]):
        raise DpgrsError(
            "header-with-blanks",
            f"`{path}` must have tabs between the columns of its #CHROM line, got blanks. Put a tab "
            "in place of each gap, in all lines.",
        )
    try:
        samples = tuple(line.decode().split("\t")[N_FIXED_COLUMNS:])
    except UnicodeDecodeError as error:
        raise DpgrsError(
            "sample-ids-not-text", f"`{path}` must have sample ids in UTF-8. Rename them: bcftools reheader"
        ) from error
    if not samples:
        raise DpgrsError(
            "no-samples", f"`{path}` has no samples. Give a VCF with a FORMAT column and a column per sample."
        )
    require_names(path, samples, remedy="Rename them: bcftools reheader -s names.txt")
    return samples


def require_names(path: Path, samples: Iterable[str], *, remedy: str) -> None:
    """Refuse sample ids that are empty, hold a control character, or are not distinct."""
    if fault := _fault_of(tuple(samples)):
        raise DpgrsError("sample-ids-invalid", f"`{path}` must have {fault}. {remedy}")


@lru_cache(maxsize=1)
def _fault_of(samples: tuple[str, ...]) -> str | None:
    """Return what is wrong with sample ids. Chromosomes mostly have the same ids, which are checked once."""
    if unnamed := next((number for number, name in enumerate(samples, 1) if not _NAME.fullmatch(name)), None):
        return f"sample ids that are not empty, without control characters, got another for sample {unnamed}"
    if same := first_repeat(samples):
        return f"distinct sample ids, got the same for samples {same[0]} and {same[1]}"
    return None
