"""A second reader of scoring files, which shares nothing with the writer, and the rules of the format.

Their heads, sites and errors must be as stated, and tables for plink2 another form of them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.verify.folder_check import lines_of

FIRST_LINE = (
    "###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring "
    "for additional information"
)
# Lines of the head that begin with ##, and keys of the others, in their order.
HEAD = [
    *(FIRST_LINE, "format_version", "##POLYGENIC SCORE (PGS) INFORMATION", "pgs_id", "pgs_name"),
    *("trait_reported", "trait_mapped", "trait_efo", "genome_build", "variants_number", "weight_type"),
    *("constant", "dp_epsilon", "dp_delta", "dp_protection", "dp_unit", "dp_neighbours"),
    *("privacy_statement", "##SOURCE INFORMATION", "pgp_id", "citation", "license"),
]
NOT_REPORTED = "NR"
# Only if the provider of the data asks for it.
LAST_OF_HEAD = ["acknowledgement"]
# Lines of a header, comments and all; each may be a finding or two.
LONGEST_HEADER = 100
SITE = ("chr_name", "chr_position", "effect_allele", "other_allele")
WEIGHT, ERROR, FREQUENCY = "effect_weight", "standard_error", "allelefrequency_effect"
# Older bundles have no frequencies.
SCORE_COLUMNS = tuple(
    (*first, *SITE, WEIGHT, *last) for last in ((), (FREQUENCY,)) for first in ((), ("rsID",))
)
ERROR_COLUMNS = ((*SITE, ERROR),)
REPEATED, UNSORTED = "a site must be there once", "rows must be sorted by chromosome, position and alleles"
LARGEST_POSITION = 10**9
CHROMOSOMES = {name: rank for rank, name in enumerate([*map(str, range(1, 23)), "X"])}

_NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?"
_PATTERNS = {
    "rsID": r"rs\d+|\.",
    "chr_name": r"[1-9]|1\d|2[0-2]|X",
    "chr_position": r"[1-9]\d{0,8}",
    "effect_allele": r"[ACGT]+",
    "other_allele": r"[ACGT]+",
    WEIGHT: _NUMBER,
    ERROR: _NUMBER.removeprefix("-?"),
    FREQUENCY: r"0(?:\.\d+)?|1",
}
# Rows without a problem: the site with chromosome, position and effect allele, then numbers.
_SITE = r"((chr_name)\t(chr_position)\t(effect_allele)\t(?!\4\t)other_allele)"


@dataclass
class ScoringFile:
    """The content of a file, and its errors.

    A column is one text, a row of the file a line: at 10^6 variants objects for each cell take some 500 MB.
    """

    header: dict[str, str] = field(default_factory=dict)  # in the file's order
    n_rows: int = 0
    sites: str = ""  # chr_name, chr_position, effect_allele, other_allele, with tabs
    numbers: str = ""  # the weight or standard error of each site
    frequencies: str = ""  # of the effect allele at each site; empty without any
    problems: list[str] = field(default_factory=list)
    is_readable: bool = True  # else nothing but the problems is there

    @property
    def site_digest(self) -> str:
        """SHA-256 of the sites, one a line, in the file's order."""
        return hashlib.sha256(self.sites.encode()).hexdigest()


def read_scoring_file(path: Path) -> ScoringFile:
    """Read a scoring file, ``.txt.gz``, and check every rule of the format."""
    file, lines, rows = ScoringFile(), [], _Rows(SCORE_COLUMNS)
    try:
        for text in lines_of(path, file.problems):
            while not rows.columns and text.startswith("#"):
                line, _, text = text.partition("\n")
                lines.append(line)
                if len(lines) > LONGEST_HEADER:
                    raise ValueError(f"the header must have at most {LONGEST_HEADER} lines")
            rows.read(text)
    except ValueError as error:
        return ScoringFile(problems=[*file.problems, str(error)], is_readable=False)
    pairs = [(line, "") if line.startswith("##") else line[1:].split("=", 1) for line in lines]
    names = [name for name, *_ in pairs]
    if names not in (HEAD, HEAD + LAST_OF_HEAD):
        wrong = next((name for name, other in zip_longest(HEAD + LAST_OF_HEAD, names) if name != other), None)
        file.problems.append(f"the header must hold the lines of dpgrs, in their order, but not at {wrong}")
    file.header = {name: "".join(value) for name, *value in pairs}
    rows.finish(file)
    if file.header.get("variants_number") != str(file.n_rows):
        file.problems.append(f"variants_number must be {file.n_rows}, the number of rows")
    return file


def read_standard_errors(path: Path) -> ScoringFile:
    """Read a file of standard errors, a table without a header."""
    file, rows = ScoringFile(), _Rows(ERROR_COLUMNS)
    try:
        for text in lines_of(path, file.problems):
            rows.read(text)
    except ValueError as error:
        return ScoringFile(problems=[*file.problems, str(error)], is_readable=False)
    rows.finish(file)
    return file


def header_value(text: str) -> str:
    """Write a text of the statement as a header holds it: in one line, without `=`, or NR."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.replace("=", ":").split()) or NOT_REPORTED


def column_numbers(column: str) -> np.ndarray:
    """Return the numbers of a column, (n_rows,) float64."""
    return np.array(list(map(float, column.split())))


def site_place(site: Sequence[str]) -> tuple:
    """Return the sort key of all files for (chr_name, chr_position, effect_allele, other_allele)."""
    chromosome, position, effect, other = site
    return CHROMOSOMES[chromosome], int(position), other, effect


class _Rows:
    """The rows of a table, as they are read; of each kind of problem the first row is named."""

    def __init__(self, allowed_columns: tuple[tuple[str, ...], ...]) -> None:
        self._allowed, self.columns, self._n_lines = allowed_columns, (), 0
        self._sites, self._numbers, self._frequencies = [], [], []
        # Of rows without a problem: their numbers in the file, and places along the genome.
        self._row, self._place = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._first_rows: dict[str, int] = {}

    def read(self, text: str) -> None:
        """Read whole lines; the first of all names the columns."""
        if not self.columns and text:
            line, _, text = text.partition("\n")
            self.columns = tuple(line.split("\t"))
            if self.columns in self._allowed:
                first, last = self.columns.index(SITE[0]), self.columns.index(SITE[-1]) + 1
                groups = [f"(?:{_PATTERNS[name]})" for name in self.columns[:first]]
                site = re.sub("|".join(SITE), lambda match: _PATTERNS[match[0]], _SITE)
                groups += [site, *(f"({_PATTERNS[name]})" for name in self.columns[last:])]
                self._pattern = re.compile("^" + r"\t".join(groups) + "$", re.ASCII | re.M)
        if self.columns not in self._allowed or not text:
            return
        rows, n_lines = self._pattern.findall(text), text.count("\n")
        row = np.arange(self._n_lines + 1, self._n_lines + 1 + n_lines)
        if len(rows) < n_lines:
            rows, is_sound = self._sound_rows(text)
            row = row[is_sound]
        self._n_lines += n_lines
        if not rows:
            return
        sites, chromosomes, positions, _, numbers, *frequencies = zip(*rows, strict=True)
        chromosome = np.array([CHROMOSOMES[name] for name in chromosomes])
        self._place.append(chromosome * LARGEST_POSITION + np.array(list(map(int, positions))))
        self._row.append(row)
        for column, cells in ((self._sites, sites), (self._numbers, numbers)):
            column.append("\n".join(cells) + "\n")
        self._frequencies += ["\n".join(cells) + "\n" for cells in frequencies]

    def finish(self, file: ScoringFile) -> None:
        """Hand the columns, and the errors of the rows, to a file."""
        if self.columns not in self._allowed:
            file.problems.append(f"the columns must be {', '.join(self._allowed[-1])}")
            return
        file.sites, file.numbers, file.frequencies = map(
            "".join, (self._sites, self._numbers, self._frequencies)
        )
        row, positions = np.concatenate(self._row), np.concatenate(self._place)
        file.n_rows = len(row)
        self._check_order(row, positions, file.sites)
        first_rows = sorted(self._first_rows.items(), key=lambda item: item[1])
        file.problems += [f"{problem} (row {number})" for problem, number in first_rows]

    def _sound_rows(self, text: str) -> tuple[list[tuple[str, ...]], list[bool]]:
        """Return the rows of whole lines that have no problem, and which these are."""
        matches = []
        for number, line in enumerate(text.split("\n")[:-1], start=self._n_lines + 1):
            matches.append(self._pattern.fullmatch(line))
            if matches[-1] is None:
                self._first_rows.setdefault(_row_problem(line, self.columns), number)
        return [match.groups() for match in matches if match], [match is not None for match in matches]

    def _check_order(self, row: np.ndarray, positions: np.ndarray, sites: str) -> None:
        """Find the first site that is there twice, and the first that is out of order."""
        step = np.diff(positions)
        if (step > 0).all():
            return
        alleles = [tuple(site.split("\t")[:1:-1]) for site in sites.split("\n")[:-1]]  # other, effect
        is_back = step < 0
        for index in np.flatnonzero(step == 0).tolist():
            is_back[index] = alleles[index + 1] < alleles[index]
        _, which, counts = np.unique(positions, return_inverse=True, return_counts=True)
        earlier_sites = set()
        for index in np.flatnonzero(counts[which] > 1).tolist():
            site = (positions[index], frozenset(alleles[index]))
            if site in earlier_sites:
                self._first_rows[REPEATED] = int(row[index])
                break
            earlier_sites.add(site)
        if is_back.any():
            self._first_rows[UNSORTED] = int(row[1:][is_back][0])


def _row_problem(line: str, columns: tuple[str, ...]) -> str:
    """Return the error of a row that is not as it must be."""
    cells = line.split("\t")
    if len(cells) != len(columns):
        return f"a row must have {len(columns)} fields"
    for name, cell in zip(columns, cells, strict=True):
        if not re.fullmatch(_PATTERNS[name], cell, flags=re.ASCII):
            return f"{name} is malformed"
    return "the two alleles must differ"


# Fields of a trait: in the head of its scoring file, and in the statement.
TRAIT_FIELDS = {"mapped": "mapped_traits", "efo": "efo_ids"}


def traits_of(statement: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the curator states of outcomes, by name."""
    return {trait["outcome"]: trait for trait in statement["curation"].get("traits", ())}


def score_problems(
    statement: dict[str, Any],
    score: dict[str, Any],
    files: dict[str, Path],
    *,
    constant: str | None,
    frequencies: dict[str, str],
) -> list[str]:
    """Check one outcome's files against the format, the statement and its constant.

    `constant` is as in the table of constants, None if it has none. `frequencies` are those of the scores
    before, by site, empty text without any, or of ``all`` sites, as one text, where scores are of all; the
    ones of this score are added.
    """
    if not {score["file"], score["standard_errors"] or score["file"]} <= files.keys():
        return []  # named already
    guarantee, domain = statement["guarantee"], statement["data_domain"]
    file = read_scoring_file(files[score["file"]])
    if not file.is_readable:
        return [f"{score['file']}: {problem}" for problem in file.problems]
    stated = {
        f"dp_{name}": guarantee[name] for name in ("epsilon", "delta", "protection", "unit", "neighbours")
    }
    stated |= {"genome_build": domain["genome_build"], "privacy_statement": "privacy_statement.json"}
    of_sites = {name: score.get(name, domain[name]) for name in ("n_variants", "site_digest")}
    stated |= {"variants_number": str(of_sites["n_variants"])}
    stated |= {} if constant is None else {"constant": constant}
    stated |= {
        "format_version": "2.0",
        "weight_type": "beta",
        "pgs_id": Path(score["file"]).name.removesuffix(".txt.gz"),
    }
    curation, trait = statement["curation"], traits_of(statement).get(score["outcome"], {})
    words = {"trait_reported": trait.get("reported_trait", score["outcome"]), "pgs_name": score["outcome"]}
    words |= {f"trait_{kind}": "|".join(trait.get(field, ())) for kind, field in TRAIT_FIELDS.items()}
    stated |= {name: header_value(text) for name, text in words.items()} | {"pgp_id": NOT_REPORTED}
    names = [name for name in ("citation", "license", "acknowledgement") if name in curation]
    stated |= {name: header_value(curation[name]) for name in names}
    problems = file.problems + [
        f"{key} must be {value} as stated, got {file.header.get(key)}"
        for key, value in stated.items()
        if file.header.get(key) != value
    ]
    if ("acknowledgement" in file.header) != ("acknowledgement" in curation):
        problems.append("it must acknowledge who gave the data just where the statement does")
    if file.site_digest != of_sites["site_digest"]:
        problems.append("its sites must be those of the statement's site_digest")
    if file.n_rows > domain["n_variants"]:
        problems.append("it must hold no more variants than the data domain")
    # A file without frequencies says "" of each site, and so differs from one with them.
    by_site = [("all", file.frequencies)]
    if "site_digest" in score:
        cells = file.frequencies or "\n" * file.n_rows
        by_site = zip(file.sites.split("\n")[:-1], cells.split("\n")[:-1], strict=True)
    if any(frequencies.setdefault(site, frequency) != frequency for site, frequency in by_site):
        problems.append("its frequencies must be those of the other scores")
    problems = [f"{score['file']}: {problem}" for problem in problems]
    if score["standard_errors"]:
        errors = read_standard_errors(files[score["standard_errors"]])
        is_other = errors.is_readable and errors.sites != file.sites
        faults = errors.problems + ["its sites must be those of the score"] * is_other
        is_nothing = errors.numbers and not re.search("[1-9]", errors.numbers)
        faults += ["some must be above 0"] * bool(is_nothing)
        problems += [f"{score['standard_errors']}: {fault}" for fault in faults]
    return problems


PLINK_NAME = re.compile(r"plink2/scores_[1-9][0-9]*\.tsv\.gz")
# Zeros, as of variants that were not chosen, shrink as far as gzip can shrink anything.
PLINK_RATIO = 1032
# The limit of a table with several outcomes.
MOST_PLINK_WEIGHTS = 2**22


def plink_files(names: Iterable[str]) -> list[str]:
    """Return the names of tables for plink2, in the order of their numbers."""
    return sorted(filter(PLINK_NAME.fullmatch, names), key=lambda name: (len(name), name))


def plink_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Compare each table with the scoring files of its columns, in which nothing is wrong."""
    scores = {
        Path(score["file"]).name.removesuffix(".txt.gz"): files[score["file"]]
        for score in statement["scores"]
    }
    problems, named = [], []
    for name in plink_files(files):
        stems, faults = _plink_table_problems(files[name], scores)
        problems += [f"{name}: {fault}" for fault in faults]
        named += stems
    names = [f"plink2/scores_{number}.tsv.gz" for number in range(1, len(plink_files(files)) + 1)]
    if not problems and (named != list(scores) or plink_files(files) != names):
        problems.append("the tables for plink2 must hold each outcome once, in their order, from scores_1 on")
    return problems


def _plink_table_problems(path: Path, scores: dict[str, Path]) -> tuple[list[str], list[str]]:
    """Return the scores that a table holds, by name, and its errors."""
    head, n_lines, digest, problems = "", 0, hashlib.sha256(), []
    try:
        for text in lines_of(path, problems, largest_ratio=PLINK_RATIO):
            head = head or text.partition("\n")[0]
            n_lines += text.count("\n")
            digest.update(text.encode())
    except ValueError as error:
        return [], [*problems, str(error)]
    stems = head.split("\t")[2:]
    if problems:
        return stems, problems
    if not stems or not scores.keys() >= set(stems):
        return stems, ["its columns must be ID, allele and names of scoring files"]
    if len(stems) > 1 and len(stems) * (n_lines - 1) > MOST_PLINK_WEIGHTS:
        return stems, [f"it must hold one outcome, or at most {MOST_PLINK_WEIGHTS} weights"]
    expected = hashlib.sha256()
    for line in _plink_lines(stems, [read_scoring_file(scores[stem]) for stem in stems]):
        expected.update(line.encode())
    is_same = digest.digest() == expected.digest()
    return stems, ["it must hold what the scoring files of its columns hold"] * (not is_same)


def _plink_lines(stems: Sequence[str], scores: Sequence[ScoringFile]) -> Iterator[str]:
    """Yield the lines of a table, from scoring files."""
    yield "\t".join(["ID", "allele", *stems]) + "\n"
    columns = [score.numbers.splitlines() for score in scores]
    sites = scores[0].sites.splitlines()
    if any(score.sites != scores[0].sites for score in scores):
        cells = [
            dict(zip(score.sites.splitlines(), numbers, strict=True))
            for score, numbers in zip(scores, columns, strict=True)
        ]
        sites = sorted(set().union(*cells), key=lambda site: site_place(site.split("\t")))
        columns = [[weights.get(site, "0") for site in sites] for weights in cells]
    for site, *numbers in zip(sites, *columns, strict=True):
        chromosome, position, effect, other = site.split("\t")
        first, second = sorted((effect, other))
        cells = "\t".join(numbers)
        yield f"{chromosome}:{position}:{first}:{second}\t{effect}\t{cells}\n"
