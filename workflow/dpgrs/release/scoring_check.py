"""A second reader of scoring files, which shares nothing with the writer, and the rules of the format."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpgrs.release.folder_check import unzip

FIRST_LINE = (
    "###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring "
    "for additional information"
)
COMMENTS = ["##POLYGENIC SCORE (PGS) INFORMATION", "##SOURCE INFORMATION"]
HEADER = (
    *("format_version", "pgs_id", "pgs_name", "trait_reported", "trait_mapped", "trait_efo", "genome_build"),
    *(
        "variants_number",
        "weight_type",
        "constant",
        "dp_epsilon",
        "dp_delta",
        "dp_protection",
        "dp_unit",
        "dp_neighbours",
    ),
    *("privacy_statement", "pgp_id", "citation", "license"),
)
NOT_REPORTED = "NR"
# Where whoever gave the data asks for it.
LAST_OF_HEADER = ("acknowledgement",)
# Lines of a header, comments and all; each may be a finding or two.
LONGEST_HEADER = 100
SITE = ("chr_name", "chr_position", "effect_allele", "other_allele")
WEIGHT, ERROR, FREQUENCY = "effect_weight", "standard_error", "allelefrequency_effect"
# Older bundles have no frequencies.
SCORE_COLUMNS = tuple(
    (*first, *SITE, WEIGHT, *last) for last in ((), (FREQUENCY,)) for first in ((), ("rsID",))
)
ERROR_COLUMNS = ((*SITE, ERROR),)
CHROMOSOMES = {name: place for place, name in enumerate([*map(str, range(1, 23)), "X"])}

_NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?"
_PATTERNS = {
    "rsID": r"rs\d+|\.",
    "chr_name": r"[1-9]|1\d|2[0-2]|X",
    "chr_position": r"[1-9]\d{0,8}",
    "effect_allele": r"[ACGT]+",
    "other_allele": r"[ACGT]+",
    WEIGHT: _NUMBER,
    ERROR: _NUMBER.removeprefix("-?"),
    FREQUENCY: r"0(\.\d+)?|1",
}


@dataclass
class ScoringFile:
    """What a file holds, and what is wrong with it."""

    header: dict[str, str] = field(default_factory=dict)  # in the file's order
    sites: list[tuple[str, ...]] = field(
        default_factory=list
    )  # (chr_name, chr_position, effect_allele, other_allele)
    numbers: list[str] = field(default_factory=list)  # the weight or standard error of each site
    frequencies: list[str] = field(
        default_factory=list
    )  # of the effect allele at each site; empty without any
    text: str = ""  # the whole file; empty if it cannot be read: then there are no other problems
    problems: list[str] = field(default_factory=list)

    @property
    def site_digest(self) -> str:
        """SHA-256 of the sites, one a line, in the file's order."""
        return hashlib.sha256("".join("\t".join(site) + "\n" for site in self.sites).encode()).hexdigest()


def read_scoring_file(path: Path) -> ScoringFile:
    """Read a scoring file, ``.txt.gz``, and check every rule of the format."""
    file = ScoringFile()
    lines = read_lines(path, file)
    if not file.text:
        return file
    n_header = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if n_header > LONGEST_HEADER:
        return ScoringFile(problems=[f"the header must have at most {LONGEST_HEADER} lines"])
    if lines[:1] != [FIRST_LINE]:
        file.problems.append("the first line must be that of a PGS Catalog scoring file")
    comments = [line for line in lines[1:n_header] if line.startswith("##")]
    if comments != COMMENTS:
        file.problems.append(f"the comments of the header must be {' and '.join(COMMENTS)} alone")
    for line in lines[:n_header]:
        if not line.startswith("##"):
            _read_header_line(line, file)
    if tuple(file.header) not in (HEADER, HEADER + LAST_OF_HEADER):
        file.problems.append(f"the header must hold the keys {', '.join(HEADER)}, in this order")
    if file.header.get("format_version") != "2.0":
        file.problems.append("format_version must be 2.0")
    if file.header.get("weight_type") != "beta":
        file.problems.append("weight_type must be beta")
    _read_rows(lines[n_header:], file, SCORE_COLUMNS)
    if file.header.get("variants_number") != str(len(file.sites)):
        file.problems.append(f"variants_number must be {len(file.sites)}, the number of rows")
    return file


def read_standard_errors(path: Path) -> ScoringFile:
    """Read a file of standard errors, a table without a header."""
    file = ScoringFile()
    lines = read_lines(path, file)
    if file.text:
        _read_rows(lines, file, ERROR_COLUMNS)
    return file


def header_value(text: str) -> str:
    """Write a text of the statement as a header holds it: in one line, without `=`, or NR."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.replace("=", ":").split()) or NOT_REPORTED


def site_place(site: Sequence[str]) -> tuple:
    """Return the key by which all files sort (chr_name, chr_position, effect_allele, other_allele)."""
    chromosome, position, effect, other = site
    return CHROMOSOMES[chromosome], int(position), other, effect


def read_lines(path: Path, file: ScoringFile, **limits: Any) -> list[str]:
    """Return the lines of a gzip file without a name and a time; none if it cannot be read.

    Text and problems of `file` are filled in; `limits` are as of `unzip`.
    """
    data = path.read_bytes()
    if data[3:8] != bytes(5):
        file.problems.append("the gzip header must hold neither a name nor a time")
    try:
        file.text = unzip(data, **limits).decode()
    except UnicodeDecodeError:
        file.problems.append("it must be gzip of UTF-8 text")
        return []
    except ValueError as error:
        file.problems.append(str(error))
        return []
    if not file.text.endswith("\n") or "\r" in file.text:
        file.problems.append("every line must end with a line feed")
    return file.text.split("\n")[:-1]


def _read_header_line(line: str, file: ScoringFile) -> None:
    key, _, value = line[1:].partition("=")
    if not value or "=" in value or value != value.strip():
        file.problems.append(f"the header line {key} must be `#key=value` with one `=`")
    if key in file.header:
        file.problems.append(f"the header key {key} must be there once")
    file.header[key] = value


def _read_rows(lines: list[str], file: ScoringFile, allowed_columns: tuple[tuple[str, ...], ...]) -> None:
    """Check the table row by row; of each kind of problem the first row is named."""
    columns = tuple(lines[0].split("\t")) if lines else ()
    if columns not in allowed_columns:
        file.problems.append(f"the columns must be {', '.join(allowed_columns[-1])}")
        return
    seen, first_rows, previous = set(), {}, ()
    for number, line in enumerate(lines[1:], start=1):
        row = dict(zip(columns, line.split("\t"), strict=False))
        problem = _row_problem(row, line.count("\t") + 1, columns)
        if problem:
            first_rows.setdefault(problem, number)
            continue
        site = tuple(row[name] for name in SITE)
        alleles = frozenset(site[2:])
        key = site_place(site)
        if (*site[:2], alleles) in seen:
            first_rows.setdefault("a site must be there once", number)
        if key < previous:
            first_rows.setdefault("rows must be sorted by chromosome, position and alleles", number)
        seen.add((*site[:2], alleles))
        previous = key
        file.sites.append(site)
        file.numbers.append(row[WEIGHT if WEIGHT in row else ERROR])
        file.frequencies += [row[FREQUENCY]] if FREQUENCY in row else []
    file.problems += [f"{problem} (row {number})" for problem, number in first_rows.items()]


def _row_problem(row: dict[str, str], n_fields: int, columns: tuple[str, ...]) -> str | None:
    if n_fields != len(columns):
        return f"a row must have {len(columns)} fields"
    for name in columns:
        if not re.fullmatch(_PATTERNS[name], row[name], flags=re.ASCII):
            return f"{name} is malformed"
    return "the two alleles must differ" if row["effect_allele"] == row["other_allele"] else None
