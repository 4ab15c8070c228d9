"""Tables about people, as people have them: TSV, CSV or blanks, plain or gzipped.

Such tables hold private data, so messages name files, lines and columns, never a sample or a value.
"""

import csv
import gzip
import math
import re
import zlib
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import digest_file, read_bytes

SAMPLE_COLUMNS = {"sample", "sample_id", "iid", "id"}
FAMILY_COLUMN = "fid"
POPULATION_COLUMNS = {"population", "pop"}
SUPER_POPULATION_COLUMNS = {"super_population", "super_pop"}
MISSING = frozenset({"", ".", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-9"})


def describe_mismatch(table_ids, sample_ids, *, shows_ids, of="the genotypes"):
    """Say that a table has no person of the genotypes; None if it has one.

    Parameters
    ----------
    table_ids, sample_ids : sequences of str.
    shows_ids : bool, quote three ids of each side (open data only), or their patterns (`HG00096` as
        `AA99999`).
    of : str, whose genotypes they are.

    Returns
    -------
    str, the end of a sentence that begins with the table's name, or None.
    """
    if set(table_ids) & set(sample_ids):
        return None
    theirs, ours = (_examples(ids, shows_ids=shows_ids) for ids in (table_ids, sample_ids))
    return f"must share sample ids with {of}, got {theirs} where those have {ours}. Rename one side."


def read_populations(path):
    """Read the population of each person, for example from a `.panel` file of the 1000 Genomes Project.

    Parameters
    ----------
    path : the file, with columns `sample` and `pop` or `population`, and perhaps `super_pop` or
        `super_population`. Other columns, other people and trailing tabs do no harm.

    Returns
    -------
    pandas.DataFrame with the columns `population` and `super_population` (empty text where not given); the
    index holds sample ids as text.

    Raises
    ------
    DpgrsError
        Missing or unreadable file, no such columns, no person, repeated ids, a person without population.
    """
    # That of a simulated cohort is written by one rule for others.
    with suppress(OSError):
        try:
            read_bytes(path)
        except ValueError:
            raise DpgrsError(
                f"`{path}` must have the digest that stands in `{digest_file(path)}`, got another. Get the "
                "table again, or remove the digest if you changed the table."
            ) from None
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    sample = find_column(header, SAMPLE_COLUMNS)
    population = find_column(header, POPULATION_COLUMNS)
    super_population = find_column(header, SUPER_POPULATION_COLUMNS)
    if sample is None or population is None:
        raise DpgrsError(
            f"`{path}`, line 1: columns `sample` and `population` must be there. Name them in the first line."
        )
    lines, labels = {}, []
    for line, cells in rows:
        add_once(lines, cells[sample], path, line)
        if not cells[population]:
            raise DpgrsError(
                f"`{path}`, line {line}: the population must not be empty. Give it, or remove the line."
            )
        labels.append((cells[population], "" if super_population is None else cells[super_population]))
    require_people(lines, path)
    return pd.DataFrame(
        labels, index=sample_index(lines), columns=["population", "super_population"], dtype=str
    )


def rows_of(path):
    """Yield the number and the cells of each line that is not blank, cut to the length of the first."""
    width = None
    for line, cells in _cells(Path(path)):
        cells = [cell.strip() for cell in cells]
        while width is None and cells and not cells[-1]:
            cells.pop()
        if not any(cells):
            continue
        width = width or len(cells)
        if len(cells) < width or any(cells[width:]):
            raise DpgrsError(
                f"`{path}`, line {line}: must have {width} columns like the first line, got {len(cells)}. "
                "Mend the line, or fetch the file again if it was cut off."
            )
        yield line, cells[:width]


def _cells(path):
    """Split a file into lines and cells at the separator that its first line shows."""
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if _is_gzip(path)
            else path.open(encoding="utf-8-sig") as file
        ):
            first, number = file.readline(), 1
            # dbGaP writes comments above the names; `#IID` is a name of PLINK's.
            while first and re.match(r"#[#\s]|\s*$", first):
                first, number = file.readline(), number + 1
            lines = chain([first], file)
            separator = next((mark for mark in "\t,;" if mark in first), None)
            rows = csv.reader(lines, delimiter=separator) if separator else map(str.split, lines)
            yield from enumerate(rows, start=number)
    except FileNotFoundError:
        raise DpgrsError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except (EOFError, zlib.error):
        raise DpgrsError(
            f"`{path}` must be a whole gzip file, but is cut off or damaged. Fetch it again."
        ) from None
    except OSError as error:
        raise DpgrsError(
            f"`{path}` must be readable: {error.strerror or error}. Correct it and its rights."
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise DpgrsError(
            f"`{path}` must be UTF-8 text in columns, plain or gzipped. Export it as such."
        ) from None


def _is_gzip(path):
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def header_of(rows, path):
    """Take the names of the columns off the rows."""
    _, names = next(rows, (1, []))
    if not names:
        raise DpgrsError(
            f"`{path}` must be a table with names in its first line, but is empty. Correct the path."
        )
    # Without a line of names these may be somebody's values, so none is quoted.
    for column, name in enumerate(names):
        if not name or name in names[:column]:
            fault = f"that of column {names.index(name) + 1} in" if name else "none in"
            raise DpgrsError(
                f"`{path}`, line 1: columns must have names of their own, got {fault} column {column + 1}. "
                "Rename them."
            )
    return names


def plain_name(name):
    """Return the name of a column as it is compared."""
    return name.lstrip("#").lower()


def find_column(header, names):
    """Return the position of the first column with one of the names, or None."""
    return next((i for i, name in enumerate(header) if name in names), None)


def add_once(lines, sample, path, line):
    """Note the line of a person who must not have had one before."""
    if not sample:
        raise DpgrsError(
            f"`{path}`, line {line}: the sample id must not be empty. Give it, or remove the line."
        )
    if sample in lines:
        raise DpgrsError(
            f"`{path}`, line {line}: each person must have one line, got the id of line {lines[sample]}. "
            "Keep one of the two."
        )
    lines[sample] = line


def require_people(lines, path):
    """Refuse a table without people; `lines` has an entry for each."""
    if not lines:
        raise DpgrsError(
            f"`{path}` must have a line for each person, got only the first with the names. Add the people."
        )


def numbers_of(cells, names, path, line):
    """Turn the cells of one person into finite numbers, NaN where missing."""
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            number = math.nan if cell in MISSING else float(cell)
        except ValueError:
            number = math.inf
        if math.isinf(number):
            raise DpgrsError(
                f"`{path}`, line {line}, column `{name}`: must be a finite number or NA. Correct the cell."
            )
        numbers.append(number)
    return numbers


def sample_index(lines):
    """Return the index of a table: sample ids as text."""
    return pd.Index(list(lines), name="sample", dtype=str)


def _examples(ids, *, shows_ids):
    """Write up to three ids, or the patterns of ids: letters as A, digits as 9."""
    patterns = ids if shows_ids else (re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "A", sample)) for sample in ids)
    return ", ".join(list(dict.fromkeys(patterns))[:3])
