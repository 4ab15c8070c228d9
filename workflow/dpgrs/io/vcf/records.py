"""One record of a VCF: what its columns say, and its calls as htslib decodes them."""

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpgrs.errors import shown

N_FIXED_COLUMNS = 9

PROVISIONAL = "PR"
SET_REF = (
    "One person may exchange REF and ALT for everybody. Set REF: "
    "plink2 --fa genome.fa --ref-from-fa force (docs/how-to/genotypes.md)"
)

# int() takes digits of all scripts, and raises where there are thousands of them.
_POSITION = re.compile(r"0*[1-9][0-9]{0,9}")
_LETTERS = re.compile(r"[A-Za-z]+")
_PRINTABLE = re.compile(r"[!-~]+")
_SYMBOLIC = re.compile(r"<.+>|.*[\[\]].*|\.[A-Za-z]+|[A-Za-z]+\.")
_LONG_NUMBER = re.compile(rb"\t[^:\t]*\d{5}")
_CALL = re.compile(rb"[|/]?(\.|\d+)([|/](\.|\d+))*")
# VCF 4.4: a call may begin with the phase of its first allele. A call is phased if both alleles are.
PHASE_OF_FIRST = re.compile(rb"(?<=\t)[|/](?=[.\d])")
_UNPHASED_FIRST = re.compile(rb"(?<=\t)/(\.|\d+)[|/]")

_NOT_LISTED = "has an allele that the record does not list"


class BadRecordError(Exception):
    """A fault of a record, and how to mend it; the reader adds where it stands."""


class Record(NamedTuple):
    """The columns of a record that matter."""

    contig: str
    position: int
    id: str
    ref: str
    alts: list[str]
    filter: str
    has_provisional_ref: bool  # its REF may have been chosen by the people
    calls: bytes  # FORMAT and all sample columns


def parse_record(line: bytes) -> Record:
    """Split a line of the right number of columns; refuse a bad POS and an allele that is there twice."""
    *fixed, calls = line.split(b"\t", N_FIXED_COLUMNS - 1)
    contig, position, id_, ref, alts, _, filter_, info = (field.decode(errors="replace") for field in fixed)
    if not (_POSITION.fullmatch(position) and int(position.lstrip("0")) < 2**31):
        got = shown(position) or "nothing"
        raise BadRecordError(f"`POS` must be a whole number from 1 to 2^31 - 1, got {got}. Mend the record.")
    record = Record(
        contig=contig,
        position=int(position.lstrip("0")),
        id=id_,
        ref=ref,
        alts=alts.split(","),
        filter=filter_,
        has_provisional_ref=PROVISIONAL in info.split(";"),
        calls=calls,
    )
    require_distinct_alleles(ref, record.alts)
    return record


def require_distinct_alleles(ref: str, alts: Sequence[str]) -> None:
    """Refuse a sequence that occurs twice, as REF and ALT or as two ALTs: calls would be ambiguous."""
    alleles = [allele.upper() for allele in (ref, *alts) if _LETTERS.fullmatch(allele)]
    if len(set(alleles)) < len(alleles):
        raise BadRecordError("REF and ALT must be alleles of their own, got one twice. Mend the record.")


# Reasons of `skip_reason` for alleles that a person can have instead of REF.
WITHOUT_LETTERS = ("no_letters", "star_allele", "symbolic_allele")


def skip_reason(ref: str, alt: str) -> str | None:
    """Return why an ALT cannot be used, or None if REF and ALT are letters.

    An ALT that is empty, or not of printable characters of ASCII, raises a BadRecordError.
    """
    if alt == ".":
        return "no_alt"
    _require_printable("ALT", alt)
    if not _LETTERS.fullmatch(ref):
        return "no_letters"
    if alt == "*":
        return "star_allele"
    if _SYMBOLIC.fullmatch(alt):
        return "symbolic_allele"
    return None if _LETTERS.fullmatch(alt) else "no_letters"


def _require_printable(column: str, allele: str) -> None:
    if not _PRINTABLE.fullmatch(allele):
        raise BadRecordError(
            f"`{column}` must be of printable characters, got {shown(allele) or 'nothing'}. Mend the record."
        )


def usable_alts(ref: str, alts: Sequence[str], *, keeps_symbols: bool = False) -> tuple[list[int], list[str]]:
    """Return the numbers of the ALTs to keep (1 is the first), and a reason for each other ALT.

    `keeps_symbols` keeps an ALT that is no letters, such as ``*``: a person can carry it as any other allele.
    An allele that is empty, or not of printable characters of ASCII, raises a BadRecordError.
    """
    _require_printable("REF", ref)
    reasons = [skip_reason(ref, alt) for alt in alts]
    if keeps_symbols and _LETTERS.fullmatch(ref):
        reasons = [reason if reason == "no_alt" else None for reason in reasons]
    usable_numbers = [number for number, reason in enumerate(reasons, start=1) if not reason]
    return usable_numbers, [reason for reason in reasons if reason]


class CallDecoder:
    """Decodes the calls of records by cyvcf2."""

    def __init__(self, n_samples: int, *, is_phase_required: bool) -> None:
        self._is_phase_required = is_phase_required
        self._parse = _call_parser(n_samples)

    def decode(self, record: Record) -> tuple[np.ndarray, int]:
        """Return (n_haplotypes,) int32 allele numbers, -1 if missing, and the number of calls of one allele.

        The first bad sample raises a BadRecordError, by its place.
        """
        columns = _with_gt_first(record.calls)
        if too_long := _LONG_NUMBER.search(columns):  # cyvcf2 would take 65537 for 1
            refuse_samples(
                np.arange(columns.count(b"\t")) == columns.count(b"\t", 0, too_long.start()), _NOT_LISTED
            )
        try:
            calls = self._parse(_without_prefixes(columns))
        except Exception as error:  # cyvcf2 raises nothing more precise
            problem = (
                _malformed_call(columns) or "the FORMAT and sample columns do not agree. Mend the record."
            )
            raise BadRecordError(problem) from error
        if problem := _malformed_call(columns):  # htslib takes signs and blanks before a number
            raise BadRecordError(problem)
        first, second, is_phased, is_haploid = _two_alleles(calls)
        refuse_samples(np.maximum(first, second) > len(record.alts), _NOT_LISTED)
        if self._is_phase_required:
            is_mixed = (first != second) & ~is_phased & ~is_haploid
            is_half = is_mixed & (np.minimum(first, second) < 0)
            remedy = "Phase the file, or use people as rows (`rows: people`)."
            refuse_samples(is_mixed & ~is_half, "is heterozygous and unphased", remedy)
            first, second = np.where(is_half, -1, (first, second))
        else:
            second = np.where(is_haploid, first, second)
        alleles = np.stack([first, second], axis=1).ravel().astype(np.int32)
        return alleles, int(np.count_nonzero(is_haploid))


def _with_gt_first(calls: bytes) -> bytes:
    """Return the columns with only GT if it is not first: then htslib may end the process."""
    format_, *samples = calls.split(b"\t")
    gt = format_.split(b":").index(b"GT")
    if gt == 0:
        return calls
    fields_by_sample = [fields.split(b":") for fields in samples]
    for sample, fields in enumerate(fields_by_sample):
        if len(fields) <= gt and fields != [b"."]:
            raise BadRecordError(f"the call of {sample_place(sample)} is malformed. Mend the record.")
    return b"\t".join([b"GT", *(fields[gt] if len(fields) > gt else b"." for fields in fields_by_sample)])


def _without_prefixes(columns: bytes) -> bytes:
    """Return columns with GT first in which no call begins with a phase, as htslib read them before VCF 4.4.

    Examples
    --------
    >>> _without_prefixes(b"GT\\t|0|1\\t/0|1\\t/0/1\\t|1")
    b'GT\\t0|1\\t0/1\\t0/1\\t1'
    """
    return PHASE_OF_FIRST.sub(b"", _UNPHASED_FIRST.sub(rb"\1/", columns))


def _call_parser(n_samples: int) -> Callable[[bytes], np.ndarray]:
    """Return a function from FORMAT and sample columns to cyvcf2's (n_samples, ploidy + 1) array.

    It parses against a header of its own: what the file's header declares or forgets does not matter to GT.
    """
    from cyvcf2 import Writer  # most files never need it, and it takes a tenth of a second
    from cyvcf2.cyvcf2 import set_htslib_log_level

    set_htslib_log_level(0)  # htslib's lines on stderr would stand where ours belong
    names = "\t".join(map(str, range(n_samples)))
    header = (
        '##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{names}\n"
    )
    parser = Writer.from_string(os.devnull, header, "w")
    site = "1\t1\t.\tN\t.\t.\t.\t.\t"
    return lambda calls: parser.variant_from_string(site + calls.decode()).genotype.array()


def _two_alleles(calls: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split cyvcf2's calls into (n_samples,) first and second alleles, -1 if missing or absent.

    The others are whether calls are phased, and whether they have one allele. A dot is a missing call of two.
    """
    first, *further = calls[:, :-1].T
    # cyvcf2 has -1 for a dot and fills up calls of fewer alleles with -2.
    second, *surplus = further or [np.full_like(first, -2)]
    for more in surplus:
        refuse_samples(more != -2, "has more than two alleles")
    is_haploid = (second == -2) & (first >= 0)
    return first, np.maximum(second, -1), calls[:, -1] != 0, is_haploid


def refuse_samples(is_bad: np.ndarray, problem: str, remedy: str = "Mend the record.") -> None:
    """Raise for the first bad sample, by its place: names of people stay out of messages."""
    if is_bad.any():
        raise BadRecordError(f"the call of {sample_place(int(is_bad.argmax()))} {problem}. {remedy}")


def _malformed_call(calls: bytes) -> str | None:
    """Return what is wrong with the first malformed call, of columns with GT first; None if there is none."""
    for sample, fields in enumerate(calls.split(b"\t")[1:]):
        if not _CALL.fullmatch(fields.partition(b":")[0]):
            return f"the call of {sample_place(sample)} is malformed. Mend the record."
    return None


def sample_place(index: int) -> str:
    """Name a sample by its place and column, never by its id."""
    return f"sample {index + 1} (column {index + 1 + N_FIXED_COLUMNS})"
