"""Genotypes from a VCF, split into one row per ALT allele.

Lines of the common form go through a compiled scanner, all others through cyvcf2; both give the same bits.
Columns, alleles and phase are checked here, because htslib drops surplus columns and accepts alleles that the
record does not list, in silence.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.vcf.records import N_FIXED_COLUMNS
from dpgrs.io.vcf.text import (
    COPY_AGAIN,
    HEADER_AGAIN,
    ContigText,
    first_repeat,
    numbered_lines,
    record_error,
)

PHASED = ("required", "any")
FIELDS = ("GT", "DS")
_NAME = re.compile(r"[^\x00-\x1f\x7f]+")
N_THREADS = 2  # so few are busy where one scans beside those that inflate


@dataclass(frozen=True)
class VcfHeader:
    """What the header lines of a VCF say.

    Attributes
    ----------
    path : pathlib.Path
    samples : tuple of str, in file order.
    contigs : dict of declared contig to its length, or None where no length is declared.
    """

    path: Path
    samples: tuple
    contigs: dict


class VariantBatch(NamedTuple):
    """Consecutive biallelic variants.

    Attributes
    ----------
    columns : dict of n_variants values each: contig, position (1-based), id, ref, alt.
    haplotypes : (n_variants, n_words) uint64, bit 1 where the haplotype carries ALT.
    missing : (n_variants, n_words) uint64, bit 1 where the allele is unknown (its haplotype bit is 0).
    dosages : (n_variants, n_samples) uint16 in units of `DOSAGE_STEP`, 0 where missing; the
        haplotypes are then the nearest calls. None of files that are read for their calls.
    variants : data frame of the columns, made anew each time.
    """

    columns: dict
    haplotypes: np.ndarray
    missing: np.ndarray
    dosages: np.ndarray | None = None

    @property
    def variants(self):
        import pandas as pd  # takes 0.2 s, which making a store does without

        return pd.DataFrame(self.columns)


def read_header(path):
    """Read the header of a VCF in BGZF, plain gzip or plain text, and no more of the file than that.

    Raises
    ------
    DpgrsError
        Missing, empty or truncated file, no VCF, no samples, sample ids that are no names or not distinct, a
        second header.
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
                f"`{path}` must begin with `##fileformat=VCF`. "
                "Give a VCF file: BGZF, plain gzip or plain text."
            )
        if line.startswith(b"##contig="):
            contigs |= declared_contig(line)
        elif line.startswith(b"#CHROM"):
            header = VcfHeader(path, sample_ids(path, line), contigs)
        elif not line.startswith(b"#"):
            break
    if header:
        return header
    raise DpgrsError(f"`{path}` has no #CHROM line: its header is truncated. {COPY_AGAIN}")


class ContigReader:
    """The variants of one contig, counted while they are read.

    Parameters
    ----------
    header : VcfHeader
    contig : str, as in the file or with ``chr`` in front added or left out.
    phased : ``required`` makes an unphased heterozygous call an error; ``any`` takes calls as written.
    keep_filtered : bool, whether to keep records whose FILTER is neither PASS nor ``.``.
    known_ref : bool, whether a record whose REF is provisional (``INFO/PR``) is an error.
    field : ``GT``, calls, or ``DS``, dosages of people.
    keeps_symbols : bool, whether an ALT that is no letters, such as ``*`` or ``<DEL>``, is a row, too.
    is_compiled : bool, whether to scan lines of the common form with compiled code; it changes no result.
    n_threads : int, those that inflate and scan; it changes no result.

    Attributes
    ----------
    n_records : int, records of the contig read so far.
    skipped : Counter, by reason: records that are ``filtered`` or have ``no_gt``, and single ALT alleles that
        are ``no_alt`` (``.``), ``star_allele`` (``*``), ``symbolic_allele`` (``<...>`` and breakends) or
        ``no_letters`` (anything else, or beside such a REF).
    missing_alleles : int, bits set in the missing planes given out so far.
    haploid_calls : int, calls of one allele in the records used so far.
    calls_as_dosages : int, calls that stand for dosages that are not there, of all rows given out so far.

    Notes
    -----
    Where phase is required, an unphased half-missing call such as ``0/.`` leaves both haplotypes missing: it
    does not say which of them carries the known allele.

    A call of one allele, as of male X, leaves the second haplotype missing where phase is required, for there
    is none; otherwise it counts twice. A dot alone is a missing call of two alleles.
    """

    text_of = ContigText

    def __init__(
        self,
        header,
        contig,
        *,
        phased="required",
        keep_filtered=False,
        known_ref=False,
        field="GT",
        keeps_symbols=False,
        is_compiled=True,
        n_threads=N_THREADS,
    ):
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
        self.n_records = 0
        self.skipped = Counter()
        self.missing_alleles = 0
        self.haploid_calls = self.calls_as_dosages = 0

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last, in file order.

        Raises
        ------
        DpgrsError
            Truncated or damaged file, contig not in the file, or a bad record, with its line (its contig and
            position where the index was used) and the place of the sample.
        """
        text = self.text_of(self._header.path, self._contig)
        scanner = self._scanner(text)
        for columns, haplotypes, missing, *dosages in scanner.rows(n_variants):
            self.n_records, self.haploid_calls = scanner.n_records, scanner.haploid_calls
            self.skipped, self.calls_as_dosages = scanner.skipped, scanner.calls_as_dosages
            self.missing_alleles += int(np.bitwise_count(missing).sum())
            yield VariantBatch(columns, haplotypes, missing, *dosages)
        self.n_records, self.skipped = scanner.n_records, scanner.skipped

    def _scanner(self, text):
        new_scanner = scanner_of(self._field)
        if self._n_threads <= N_THREADS:
            return new_scanner(text, **self._options)
        from dpgrs.io.vcf.parallel import ParallelScanner

        return ParallelScanner(text, n_threads=self._n_threads, new_scanner=new_scanner, **self._options)


def scanner_of(field):
    """Return the class that reads calls (GT) or dosages (DS)."""
    # They bring numba, which takes 0.3 s: whoever asks for names and headers alone does without.
    if field == "DS":
        from dpgrs.io.vcf.dosages import DosageScanner

        return DosageScanner
    from dpgrs.io.vcf.scan import LineScanner

    return LineScanner


def check_terms(phased, field):
    """Refuse terms of reading that do not exist, or dosages for rows that need phase, by a `UsageError`."""
    if phased not in PHASED:
        raise UsageError(f"`phased` must be one of {', '.join(PHASED)}, got {phased}.")
    if field not in FIELDS:
        raise UsageError(f"`field` must be one of {', '.join(FIELDS)}, got {field}.")
    if field == "DS" and phased == "required":
        raise UsageError("`phased` must be any with `field` DS, got required. A dosage has no phase.")


def declared_contig(line):
    """Return the contig of a header line and its length, None where it has none, as a dict of one or none."""
    line = line.decode(errors="replace")
    name = re.search(r"[<,]ID=([^,>]+)", line)
    length = re.search(r"[<,]length=([0-9]{1,18})(?![0-9])", line)
    return {name[1]: int(length[1]) if length else None} if name else {}


def sample_ids(path, line):
    """Return the ids of the samples of a #CHROM line.

    Raises
    ------
    DpgrsError
        No samples, ids that are empty, hold a control character, or are not distinct or not in UTF-8.
    """
    if any(b" " in column for column in line.split(b"\t")[:N_FIXED_COLUMNS]):
        raise DpgrsError(
            f"`{path}` must have tabs between the columns of its #CHROM line, got blanks. Put a tab "
            "in place of each gap, in all lines."
        )
    try:
        samples = tuple(line.decode().split("\t")[N_FIXED_COLUMNS:])
    except UnicodeDecodeError as error:
        raise DpgrsError(f"`{path}` must have sample ids in UTF-8. Rename them: bcftools reheader") from error
    if not samples:
        raise DpgrsError(f"`{path}` has no samples. Give a VCF with a FORMAT column and a column per sample.")
    require_names(path, samples, remedy="Rename them: bcftools reheader -s names.txt")
    return samples


def require_names(path, samples, *, remedy):
    """Refuse ids of samples that are empty, hold a control character, or are not distinct.

    Raises
    ------
    DpgrsError
    """
    if unnamed := next((place for place, name in enumerate(samples, 1) if not _NAME.fullmatch(name)), None):
        raise DpgrsError(
            f"`{path}` must have sample ids that are not empty, without control characters, got another "
            f"for sample {unnamed}. {remedy}"
        )
    if same := first_repeat(samples):
        raise DpgrsError(
            f"`{path}` must have distinct sample ids, got the same for samples {same[0]} and {same[1]}. "
            f"{remedy}"
        )
