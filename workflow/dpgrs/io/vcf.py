"""Genotypes from a VCF, split into one row per ALT allele.

Columns, alleles and phase are checked here, because htslib drops surplus columns and accepts alleles that the
record does not list, in silence. cyvcf2 decodes the calls of a checked line.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from cyvcf2 import Writer
from cyvcf2.cyvcf2 import set_htslib_log_level

from dpgrs.bits import pack, word_count
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.vcf_text import COPY_AGAIN, contig_lines, numbered_lines, record_error

N_FIXED_COLUMNS = 9
PHASED = ("required", "any")

_LETTERS = re.compile(r"[A-Za-z]+")
_SYMBOLIC = re.compile(r"<.+>|.*[\[\]].*|\.[A-Za-z]+|[A-Za-z]+\.")
_CALL = re.compile(rb"(\.|\d+)([|/](\.|\d+))*")


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
    variants : data frame of n_variants rows: contig, position (1-based), id, ref, alt.
    haplotypes : (n_variants, n_words) uint64, bit 1 where the haplotype carries ALT.
    missing : (n_variants, n_words) uint64, bit 1 where the allele is unknown (its haplotype bit is 0).
    """

    variants: pd.DataFrame
    haplotypes: np.ndarray
    missing: np.ndarray


class _BadRecord(Exception):
    """What is wrong with a record and how to mend it; the reader adds where it stands."""


class _Record(NamedTuple):
    contig: str
    position: int
    id: str
    ref: str
    alts: list
    filter: str
    calls: bytes  # FORMAT and all sample columns


def read_header(path):
    """Read the header of a VCF in BGZF, plain gzip or plain text, and no more of the file than that.

    Raises
    ------
    DpgrsError
        Missing, empty or truncated file, no VCF, no samples, sample ids that are not distinct.
    """
    path = Path(path)
    contigs = {}
    for number, line in numbered_lines(path):
        if number == 1 and not line.startswith(b"##fileformat=VCF"):
            raise DpgrsError(f"`{path}` must begin with `##fileformat=VCF`. {_format_remedy(line)}")
        if line.startswith(b"##contig="):
            contigs |= _declared_contig(line)
        elif line.startswith(b"#CHROM"):
            return VcfHeader(path, _sample_ids(path, line), contigs)
        elif not line.startswith(b"#"):
            break
    raise DpgrsError(f"`{path}` has no #CHROM line: its header is truncated. {COPY_AGAIN}")


class ContigReader:
    """The variants of one contig, counted while they are read.

    Parameters
    ----------
    header : VcfHeader
    contig : str, as in the file or with ``chr`` in front added or left out.
    phased : ``required`` makes an unphased heterozygous call an error; ``any`` takes calls as written.
    keep_filtered : bool, whether to keep records whose FILTER is neither PASS nor ``.``.

    Attributes
    ----------
    n_records : int, records of the contig read so far.
    skipped : Counter, by reason: records that are ``filtered`` or have ``no_gt``, and single ALT alleles that
        are ``no_alt`` (``.``), ``star_allele`` (``*``) or ``symbolic_allele`` (``<...>`` and breakends).
    missing_alleles : int, bits set in the missing planes given out so far.

    Notes
    -----
    Where phase is required, an unphased half-missing call such as ``0/.`` leaves both haplotypes missing: it
    does not say which of them carries the known allele.
    """

    def __init__(self, header, contig, *, phased="required", keep_filtered=False):
        if phased not in PHASED:
            raise UsageError(f"`phased` must be one of {', '.join(PHASED)}, got {phased}.")
        self._header = header
        self._contig = contig
        self._phase_required = phased == "required"
        self._keep_filtered = keep_filtered
        self._parse_calls = _call_parser(len(header.samples))
        self.n_records = 0
        self.skipped = Counter()
        self.missing_alleles = 0

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last, in file order.

        Raises
        ------
        DpgrsError
            Truncated or damaged file, contig not in the file, or a bad record, with its line (its contig and
            position where the index was used) and the place of the sample.
        """
        rows = []
        for row in self._rows():
            rows.append(row)
            if len(rows) == n_variants:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _rows(self):
        path, n_columns = self._header.path, N_FIXED_COLUMNS + len(self._header.samples)
        for number, line in contig_lines(path, self._contig, n_columns=n_columns):
            self.n_records += 1
            try:
                rows = self._split(line)
            except (_BadRecord, UnicodeDecodeError) as problem:
                raise record_error(path, number, line, problem) from None
            yield from rows

    def _batch(self, rows):
        variants, haplotypes, missing = zip(*rows, strict=True)
        table = pd.DataFrame(list(variants), columns=["contig", "position", "id", "ref", "alt"])
        haplotypes, missing = pack(np.stack(haplotypes)), pack(np.stack(missing))
        assert haplotypes.shape == missing.shape == (len(rows), word_count(2 * len(self._header.samples)))
        self.missing_alleles += int(np.bitwise_count(missing).sum())
        return VariantBatch(table, haplotypes, missing)

    def _split(self, line):
        """Turn one record into a row (variant, is_alternate, is_missing) for each ALT that can be used."""
        record = _parse_record(line)
        kept = self._usable_alts(record)
        if not kept:
            return []
        alleles = self._alleles(record)
        is_missing = alleles < 0
        site = (record.contig, record.position, record.id, record.ref)
        return [((*site, record.alts[k - 1]), alleles == k, is_missing) for k in kept]

    def _usable_alts(self, record):
        """Return the allele numbers to keep (1 is the first ALT) and count the others by reason."""
        if not self._keep_filtered and record.filter not in ("PASS", "."):
            self.skipped["filtered"] += 1
            return []
        if b"GT" not in record.calls.partition(b"\t")[0].split(b":"):
            self.skipped["no_gt"] += 1
            return []
        reasons = [_skip_reason(alt) for alt in record.alts]
        self.skipped.update(reason for reason in reasons if reason)
        return [k for k, reason in enumerate(reasons, start=1) if not reason]

    def _alleles(self, record):
        """Decode the calls as (n_haplotypes,) allele numbers, -1 where missing."""
        try:
            calls = self._parse_calls(record.calls)
        except Exception as error:  # cyvcf2 raises nothing more precise
            raise _BadRecord(_malformed_call(record.calls)) from error
        first, second, is_phased = _diploid(calls)
        _refuse(np.maximum(first, second) > len(record.alts), "has an allele that the record does not list")
        if self._phase_required:
            is_mixed = (first != second) & ~is_phased
            is_half = is_mixed & (np.minimum(first, second) < 0)
            remedy = "Phase the file, or use people as rows (`rows: people`)."
            _refuse(is_mixed & ~is_half, "is heterozygous and unphased", remedy)
            first, second = np.where(is_half, -1, (first, second))
        return np.stack([first, second], axis=1).ravel()


def _format_remedy(first_line):
    if first_line.startswith(b"BCF"):
        return "This is a BCF file; convert it: bcftools view -Oz -o out.vcf.gz in.bcf"
    return "Give a VCF file: BGZF, plain gzip or plain text."


def _declared_contig(line):
    line = line.decode(errors="replace")
    name = re.search(r"[<,]ID=([^,>]+)", line)
    length = re.search(r"[<,]length=(\d+)", line)
    return {name[1]: int(length[1]) if length else None} if name else {}


def _sample_ids(path, line):
    try:
        samples = tuple(line.decode().split("\t")[N_FIXED_COLUMNS:])
    except UnicodeDecodeError as error:
        raise DpgrsError(f"`{path}` must have sample ids in UTF-8. Rename them: bcftools reheader") from error
    if not samples:
        raise DpgrsError(f"`{path}` has no samples. Give a VCF with a FORMAT column and a column per sample.")
    first = {}
    for place, name in enumerate(samples, start=1):
        if first.setdefault(name, place) != place:
            raise DpgrsError(
                f"`{path}` must have distinct sample ids, got the same for samples {first[name]} and "
                f"{place}. Rename them: bcftools reheader -s names.txt"
            )
    return samples


def _parse_record(line):
    *fixed, calls = line.split(b"\t", N_FIXED_COLUMNS - 1)
    contig, position, id_, ref, alts, _, filter_, _ = (field.decode(errors="replace") for field in fixed)
    if not (position.isdecimal() and 0 < int(position) < 2**31):
        raise _BadRecord(f"`POS` must be a whole number from 1 to 2^31 - 1, got {position}. Mend the record.")
    if not _LETTERS.fullmatch(ref):
        raise _BadRecord(f"`REF` must be letters, got {ref or 'nothing'}. Mend the record.")
    return _Record(contig, int(position), id_, ref, alts.split(","), filter_, calls)


def _skip_reason(alt):
    """Return why an ALT has no sequence of its own, or None if it has one."""
    if alt == ".":
        return "no_alt"
    if alt == "*":
        return "star_allele"
    if _SYMBOLIC.fullmatch(alt):
        return "symbolic_allele"
    if not _LETTERS.fullmatch(alt):
        raise _BadRecord(
            f"`ALT` must be letters, `*`, `.` or `<...>`, got {alt or 'nothing'}. Mend the record."
        )
    return None


def _call_parser(n_samples):
    """Return a function from FORMAT and sample columns to cyvcf2's (n_samples, ploidy + 1) array.

    It parses against a header of its own: what the file's header declares or forgets does not matter to GT.
    """
    set_htslib_log_level(0)  # htslib's lines on stderr would stand where ours belong
    names = "\t".join(map(str, range(n_samples)))
    header = (
        '##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{names}\n"
    )
    parser = Writer.from_string(os.devnull, header, "w")
    site = "1\t1\t.\tN\t.\t.\t.\t.\t"
    return lambda calls: parser.variant_from_string(site + calls.decode()).genotype.array()


def _diploid(calls):
    """Split cyvcf2's calls into (n_samples,) first and second alleles, -1 where missing, and is_phased."""
    first, *others = calls[:, :-1].T
    # cyvcf2 has -1 for a dot and fills up calls of fewer alleles with -2. A dot alone is a missing call.
    second, *surplus = others or [np.full_like(first, -2)]
    is_diploid = (second != -2) | (first == -1)
    for more in surplus:
        is_diploid &= more == -2
    _refuse(~is_diploid, "is not diploid", "Leave out haploid regions, such as male X, Y and MT.")
    return first, np.maximum(second, -1), calls[:, -1] != 0


def _refuse(is_bad, problem, remedy="Mend the record."):
    """Raise for the first bad sample, by its place: names of people stay out of messages."""
    if is_bad.any():
        raise _BadRecord(f"the call of {_sample_place(int(is_bad.argmax()))} {problem}. {remedy}")


def _malformed_call(calls):
    """Say which call cyvcf2 could not read."""
    format_, *samples = calls.split(b"\t")
    gt = format_.split(b":").index(b"GT")
    for sample, fields in enumerate(samples):
        parts = fields.split(b":")
        if fields != b"." and not (gt < len(parts) and _CALL.fullmatch(parts[gt])):
            return f"the call of {_sample_place(sample)} is malformed. Mend the record."
    return "the FORMAT and sample columns do not agree. Mend the record."


def _sample_place(index):
    return f"sample {index + 1} (column {index + 1 + N_FIXED_COLUMNS})"
