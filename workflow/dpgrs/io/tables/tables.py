"""Tables about people, as people have them: TSV, CSV or blanks, plain or gzipped.

Such tables hold private data: messages name files, lines and columns, never a sample or a value.
"""

import codecs
import csv
import gzip
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from dpgrs.errors import CellError, DpgrsError, UsageError
from dpgrs.io.files import digest_file, read_bytes, require_regular

# Characters of a row of text; a longer one would be in memory before it could be refused.
LONGEST_LINE = 1 << 24
MOST_COLUMNS = 20_000
SAMPLE_COLUMNS = {"sample", "sample_id", "iid", "id"}
FAMILY_COLUMN = "fid"
POPULATION_COLUMNS = {"population", "pop"}
SUPER_POPULATION_COLUMNS = {"super_population", "super_pop"}
MISSING = frozenset({"", ".", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-9"})
# PLINK's, however it is written.
MISSING_NUMBER = -9.0
BLANKS = " \t\r\n\u00a0"
# Separators of tables with quotes, CSV.
QUOTING = ",;"
OF_NUMBERS = re.compile(r"[0-9.eE+-]*")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A line above the names of a table: blank, or a comment as dbGaP and the PGS Catalog write it, also in the
# quotes of a spreadsheet; `#IID` is a name of PLINK's.
REMARK = re.compile(r'"?#([#\s]|[\w.() -]+=|[\w.() -]+:\s)|\s*$')
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def describe_mismatch(
    table_ids: Iterable[str], sample_ids: Iterable[str], *, shows_ids: bool, of: str = "the genotypes"
) -> str | None:
    """Return the end of a sentence that a table has no person of the genotypes; None if it has one.

    The sentence begins with the table's name; `of` says whose genotypes they are. It quotes three ids of each
    side with `shows_ids` (open data only), else their patterns (`HG00096` as `AA99999`).
    """
    if set(table_ids) & set(sample_ids):
        return None
    theirs, ours = (_examples(ids, shows_ids=shows_ids) for ids in (table_ids, sample_ids))
    of_patterns = "" if shows_ids else " (patterns: A is a letter, 9 a digit)"
    of_sides = f"got {theirs} where those have {ours}{of_patterns}"
    return f"must share sample ids with {of}, {of_sides}. Rename one side."


def read_populations(path: Path | str) -> pd.DataFrame:
    """Return `population` and `super_population` (empty text if not given), indexed by sample ids as text.

    The file, for example a `.panel` file of the 1000 Genomes Project, has columns `sample` and `pop` or
    `population`, and perhaps `super_pop` or `super_population`. Other columns, other people and trailing tabs
    do no harm. Repeated ids and a person without population are refused.
    """
    # The table of a simulated cohort is written by one rule for others, with its digest.
    with suppress(OSError):
        try:
            read_bytes(path)
        except ValueError:
            raise DpgrsError(
                "table-digest",
                f"`{path}` must have the digest that stands in `{digest_file(path)}`, got another. Get the "
                "table again, or remove the digest if you changed the table.",
            ) from None
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    sample = find_column(header, SAMPLE_COLUMNS)
    population = find_column(header, POPULATION_COLUMNS)
    super_population = find_column(header, SUPER_POPULATION_COLUMNS)
    if sample is None or population is None:
        raise DpgrsError(
            "population-columns-missing",
            f"`{path}`, line 1: columns `sample` and `population` must be there. "
            "Name them in the first line.",
        )
    lines, labels = {}, []
    for line, cells in rows:
        add_once(lines, cells[sample], path, line)
        if not cells[population]:
            raise DpgrsError(
                "population-empty",
                f"`{path}`, line {line}: the population must not be empty. Give it, or remove the line.",
            )
        labels.append((cells[population], "" if super_population is None else cells[super_population]))
    require_people(lines, path)
    return pd.DataFrame(
        labels, index=sample_index(lines), columns=["population", "super_population"], dtype=str
    )


def rows_of(path: Path | str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not blank, cut to the length of the first."""
    width = None
    for line, cells in _cells(Path(path)):
        if cells := _fitted(cells, width, path, line):
            width = len(cells)
            yield line, cells


def column_names(path: Path | str) -> list[str]:
    """Return the names of the columns of a text table, whatever the lines below them contain."""
    with _opened(Path(path), errors="surrogateescape") as (first, _):
        first = first.encode(errors="surrogateescape").decode()
        names = _fitted(next(_split(_separator(first), [first]), []), None, path, 1)
    return header_of(iter([(1, names)]), path)


def separator_of(path: Path | str) -> str:
    """Return the separator that the first line of a table shows."""
    with _opened(Path(path)) as (first, _):
        return _separator(first)


def remarks_of(path: Path | str) -> dict[str, str]:
    """Return the values of lines ``#name=value`` above a table, by name in lower case with ``_`` for blanks.

    A table that cannot be read has none: `rows_of` raises.
    """
    with suppress(DpgrsError), _opened(Path(path)) as (_, lines):
        return lines.remarks
    return {}


def _remark_of(line: str) -> tuple[str, str]:
    """Return the name and the value of a line above a table; without a value both are empty."""
    # A spreadsheet pads lines with separators, and puts those that contain one in quotes.
    text = line.strip(BLANKS + ",;")
    text = text.strip('"').replace('""', '"') if text.startswith('"') else text
    name, _, content = text.lstrip("#").partition("=" if "=" in text else ":")
    return ("_".join(name.lower().split()), content.strip()) if content else ("", "")


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Split a file into rows and cells at the separator that its first line shows."""
    with _opened(path) as (first, lines):
        number = lines.number
        for cells in _split(_separator(first), chain([first], lines)):
            yield number, cells
            number, lines.size = lines.number + 1, 0


def _fitted(cells: list[str], width: int | None, path: Path | str, line: int) -> list[str]:
    """Strip cells and cut them to the length of the first row, if it is known; none if all are empty."""
    cells = [cell.strip(BLANKS) for cell in cells]
    while width is None and cells and not cells[-1]:
        cells.pop()
    if not any(cells):
        return []
    width = width or len(cells)
    if len(cells) < width or any(cells[width:]):
        raise DpgrsError(
            "line-width",
            f"`{path}`, line {line}: must have {width} columns like the first line, got {len(cells)}. "
            "Mend the line, or fetch the file again if it was cut off.",
        )
    return cells[:width]


@contextmanager
def _opened(path: Path, *, errors: str = "strict") -> Iterator[tuple[str, "_Lines"]]:
    """Open a table; give its first line, which has the names, and an iterator over the lines below it."""
    require_regular(path)
    try:
        open_text: Callable[..., IO[str]] = gzip.open if is_gzip(path) else open
        text: dict[str, Any] = {"mode": "rt", "encoding": "utf-8-sig", "errors": errors}
        with open_text(path, newline="", **text) as file:
            is_old = file.readline(LONGEST_LINE + 1).endswith("\r")
        # Where a single carriage return is no end of a line, ends are found in half the time.
        with open_text(path, newline="" if is_old else "\n", **text) as file:
            lines = _Lines(path, file)
            first = next(lines, "")
            # dbGaP and the PGS Catalog write comments above the names; `#IID` is a name of PLINK's.
            while first and REMARK.match(first):
                name, content = _remark_of(first)
                lines.remarks |= {name: content} if name else {}
                lines.size, first = 0, next(lines, "")
            yield first, lines
    except FileNotFoundError:
        raise UsageError(
            "file-missing", f"`{path}` must be a table, but is not there. Correct the path."
        ) from None
    except (EOFError, zlib.error):
        raise DpgrsError(
            "gzip-damaged", f"`{path}` must be a whole gzip file, but is cut off or damaged. Fetch it again."
        ) from None
    except OSError as error:
        raise DpgrsError(
            "file-unreadable",
            f"`{path}` must be readable: {error.strerror or error}. Correct it and its rights.",
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        is_utf_16 = isinstance(error, UnicodeDecodeError) and error.object[:2] in UTF_16
        raise _no_text(path, ", got UTF-16" if is_utf_16 else "") from None


def _no_text(path: Path | str, got: str = "") -> DpgrsError:
    return DpgrsError(
        "table-not-text", f"`{path}` must be UTF-8 text in columns, plain or gzipped{got}. Export it as such."
    )


def _separator(first: str) -> str:
    """Return the separator of a table with this first line: a tab, comma, semicolon or blank."""
    return next((mark for mark in ("\t", *QUOTING) if mark in first), " ")


def _split(mark: str, lines: Iterable[str]) -> Iterator[list[str]]:
    """Split lines into cells; in CSV, the only form with quotes (RFC 4180), a row may take several lines."""
    if mark == "\t":
        return (line.rstrip("\r\n").split("\t") for line in lines)
    if mark in QUOTING:
        return csv.reader(lines, delimiter=mark, strict=True)
    return ([cell for cell in line.strip(BLANKS).split(" ") if cell] for line in lines)


class _Lines:
    """Iterates over the lines of a text file, and refuses a row that is too long."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path, self._file = path, file
        self.number = 0  # of the last line
        self.size = 0  # characters of the row so far, set to 0 between rows by their reader
        self.remarks: dict[str, str] = {}  # see `remarks_of`; of the lines above the names so far

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(LONGEST_LINE + 1)
        self.number += 1
        if self.number == 1 and "\0" in line:
            raise DpgrsError(
                "table-not-text",
                f"`{self._path}` must be UTF-8 text in columns, got UTF-16. Export it as such.",
            )
        self.size += len(line)
        if self.size > LONGEST_LINE:
            raise DpgrsError(
                "line-too-long",
                f"`{self._path}`, line {self.number}: a row must have at most {LONGEST_LINE} characters, got "
                "more. Split the table by columns, or mend the end of the line.",
            )
        if not line:
            raise StopIteration
        return line


def is_gzip(path: Path) -> bool:
    """Return whether a file is gzipped."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def header_of(rows: Iterator[tuple[int, list[str]]], path: Path | str) -> list[str]:
    """Take the names of the columns off the rows."""
    _, names = next(rows, (1, []))
    if not names:
        raise DpgrsError(
            "table-empty",
            f"`{path}` must be a table with names in its first line, but is empty. Correct the path.",
        )
    if len(names) > MOST_COLUMNS:
        raise DpgrsError(
            "too-many-columns",
            f"`{path}`, line 1: must have at most {MOST_COLUMNS} columns, got {len(names)}. Split the table.",
        )
    # Without a line of names these may be somebody's values, so none is quoted.
    columns = {}
    for column, name in enumerate(names):
        if not name or columns.setdefault(name, column) != column:
            fault = f"that of column {columns[name] + 1} in" if name else "none in"
            raise DpgrsError(
                "column-name-invalid",
                f"`{path}`, line 1: columns must have names of their own, got {fault} column {column + 1}. "
                "Rename them.",
            )
    return names


def plain_name(name: str) -> str:
    """Return the name of a column as it is compared: in lower case, without a leading ``#``."""
    return name.lstrip("#").lower()


def find_column(header: Iterable[str], names: Collection[str]) -> int | None:
    """Return the index of the first column with one of the names, or None."""
    return next((i for i, name in enumerate(header) if name in names), None)


def add_once(lines: dict[str, int], sample: str, path: Path | str, line: int) -> None:
    """Note the line of a person; refuse a second line of the same person, and an id that is none."""
    if not is_id(sample):
        raise DpgrsError(
            "sample-id-empty",
            f"`{path}`, line {line}: the sample id must not be empty or hold control characters. Give it, or "
            "remove the line.",
        )
    if sample in lines:
        raise DpgrsError(
            "person-twice",
            f"`{path}`, line {line}: each person must have one line, got the id of line {lines[sample]}. "
            "Keep one of the two.",
        )
    lines[sample] = line


def require_people(lines: Collection[str], path: Path | str) -> None:
    """Refuse a table without people; `lines` has an entry for each."""
    if not lines:
        raise DpgrsError(
            "table-without-people",
            f"`{path}` must have a line for each person, got only the first with the names. Add the people.",
        )


def is_id(text: str) -> bool:
    """Return whether text can be the id of a person: not empty, and without invisible characters."""
    return bool(text) and text.isprintable()


def number_of(text: str) -> float:
    """Return the finite number that text writes in ASCII, as decimal with or without exponent; else NaN."""
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


def numbers_of(cells: Sequence[str], names: Sequence[str], path: Path | str, line: int) -> np.ndarray:
    """Return the cells of one person as finite numbers: (n_cells,) float64, NaN if missing."""
    # Of these characters float() reads what `number_of` does, in a third of the time.
    numbers = np.full(1, np.inf)
    with suppress(ValueError):
        if OF_NUMBERS.fullmatch("".join(cell for cell in cells if cell not in MISSING)):
            numbers = np.array([math.nan if cell in MISSING else float(cell) for cell in cells])
    if np.isinf(numbers).any():
        bad = next(
            column for column, cell in enumerate(cells) if cell not in MISSING and math.isnan(number_of(cell))
        )
        raise CellError(f"`{path}`, line {line}, column `{names[bad]}`", cells[bad])
    numbers[numbers == MISSING_NUMBER] = np.nan
    return numbers


def sample_index(lines: Iterable[str]) -> pd.Index:
    """Return the index of a table: sample ids as text."""
    return pd.Index(list(lines), name="sample", dtype=str)


def _examples(ids: Iterable[str], *, shows_ids: bool) -> str:
    """Return up to three ids, or the patterns of ids: letters as A, digits as 9."""
    patterns = ids if shows_ids else (re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "A", sample)) for sample in ids)
    return ", ".join(list(dict.fromkeys(patterns))[:3])


UNKNOWN_POPULATION = "unknown"


def populations_of(path: Path | str, sample_ids: Sequence[str]) -> np.ndarray:
    """Return each person's super-population, or population if the table has none: (n_people,) str."""
    table = read_populations(path).reindex(sample_ids).fillna("")
    finest = table["population"].where(table["population"] != "", UNKNOWN_POPULATION)
    return table["super_population"].where(table["super_population"] != "", finest).to_numpy(dtype=str)
