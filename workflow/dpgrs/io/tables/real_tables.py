"""Tables of real numbers, one row a unit: text, Parquet, or arrays of numpy; and public ranges of columns.

For benchmarks: open data, so messages may quote a cell.
"""

import zipfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.csv_tables import (
    LARGEST_VALUE,
    Naming,
    TextColumn,
    levels_of_column,
    numbers_of_column,
    require_own_names,
    text_columns,
)
from dpgrs.io.tables.parquet import parquet_table
from dpgrs.io.tables.phenotypes import PARQUET
from dpgrs.io.tables.tables import header_of, is_id, rows_of

KEYS = Naming("cohort.one_hot", "cohort.drop", lambda key, name: f"{key}: [{name}]")
ARRAYS = (".npy", ".npz")
RANGE_COLUMNS = ("column", "low", "high")
CENTRE = "centre"
_LEVELS = (0.0, 1.0, 0.5)  # low, high and centre of a level


@dataclass(frozen=True)
class RealTable:
    """Columns of finite numbers.

    Attributes
    ----------
    path : str
    row_id : (n_rows,) str, unique.
    names : list of n_columns unique str; a level of a column is ``column=level``.
    values : (n_rows, n_columns) float64
    levels : frozenset of str, the names that are levels.
    """

    path: str
    row_id: np.ndarray
    names: list
    values: np.ndarray
    levels: frozenset = frozenset()

    @classmethod
    def numbered(cls, path, names, values, levels=frozenset()):
        """Return the table of rows that are numbered from 1; attributes as above."""
        return cls(path, _numbered(len(values)), names, values, levels)

    def part(self, names):
        """Return the table of some of its columns, by name."""
        place = {name: i for i, name in enumerate(self.names)}
        values = self.values[:, [place[name] for name in names]]
        return RealTable(self.path, self.row_id, list(names), values, self.levels)


def read_real_table(path, *, row_id=None, arrays=None, one_hot=(), drop=()):
    """Read a table of numbers.

    Parameters
    ----------
    path : the file: text with names in its first line, as `read_feature_table` takes, Parquet (`.parquet`,
        `.pq`), or arrays of numpy (`.npy`, `.npz`), of which the first axis is that of rows.
    row_id : str, the column of ids; None numbers the rows from 1.
    arrays : list of str, the arrays of an `.npz` to use; None takes all.
    one_hot : sequence of str, columns of labels. Each becomes a column of 0 and 1 for each of its levels.
    drop : sequence of str, names of columns to leave out, or patterns with `*`.

    Returns
    -------
    RealTable. The columns of an array are its name and their number from 1, or its name alone if it has one.

    Raises
    ------
    DpgrsError
        Missing or unreadable file, or a line of another length than the first.
    UsageError
        A name that is not there, a cell or array that is not of finite numbers or labels, ids that are empty
        or repeated, arrays of different lengths.
    """
    path = str(path)
    if path.lower().endswith(ARRAYS):
        return _of_arrays(path, row_id=row_id, arrays=arrays, one_hot=one_hot, drop=drop)
    if arrays is not None:
        raise UsageError(f"`cohort.arrays` is for an .npz, got it with `{path}`. Leave it out.")
    columns = _columns(path)
    names = [column.name for column in columns]
    drop = matched(drop, names, key=KEYS.drop, path=path)
    for key, name in [("cohort.id", row_id)] * (row_id is not None) + [(KEYS.one_hot, n) for n in one_hot]:
        matched([name], names, key=key, path=path)
        if name in drop:
            raise UsageError(f"`{KEYS.drop}` must leave the column of `{key}`, got `{name}`. Take it out.")
    if row_id in one_hot:
        raise UsageError(f"`{KEYS.one_hot}` must not name the ids, got `{row_id}`. Take it out.")
    found, levels, ids = [], [], None
    for column in columns:
        if column.name == row_id:
            ids = _ids(column)
        elif column.name in one_hot:
            levels += levels_of_column(column, KEYS)
            found += levels[-column.texts.nunique() :]
        elif column.name not in drop:
            found.append((column.name, numbers_of_column(column, naming=KEYS)))
    _require_some(found, path)
    names, values = zip(*found, strict=True)
    require_own_names(path, names, KEYS)
    ids = _numbered(len(values[0])) if ids is None else ids
    return RealTable(path, ids, list(names), np.column_stack(values), frozenset(name for name, _ in levels))


def matched(patterns, names, *, key, path):
    """Return the names that patterns stand for, in the order of the table.

    Parameters
    ----------
    patterns : sequence of str, names as they stand, or patterns in which ``*`` is any text.
    names : list of str
    key : str, of the settings, for messages; `path` likewise.

    Raises
    ------
    UsageError
        For a pattern that none has.
    """
    found = set()
    for pattern in patterns or ():
        own = {name for name in names if fits(pattern, name)}
        if not own:
            listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise UsageError(
                f"`{key}` must name columns of `{path}`, got `{pattern}`. Correct it: there are {listed}."
            )
        found |= own
    return [name for name in names if name in found]


def fits(pattern, name):
    """Tell whether a name is that of a pattern, in which ``*`` alone is special."""
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern.replace("[", "[[]")))


def read_ranges(path, table, *, others=()):
    """Read between which public numbers the values of columns are taken to lie.

    Parameters
    ----------
    path : a table with the columns `column`, `low` and `high`, and perhaps `centre`, which is halfway
        otherwise. Of several lines that fit a column the first holds. Levels are between 0 and 1 unless a
        line has their very name.
    table : RealTable
    others : sequence of str, columns of which a line may speak, too.

    Returns
    -------
    low, high, centre : (n_columns,) float64

    Raises
    ------
    DpgrsError
        Missing or unreadable file.
    UsageError
        Other columns, numbers that are no range, a column of the table without a line, a line that no column
        has.
    """
    rows = rows_of(path)
    header = header_of(rows, path)
    if tuple(header) not in (RANGE_COLUMNS, (*RANGE_COLUMNS, CENTRE)):
        raise UsageError(
            f"`{path}`, line 1: the columns must be {', '.join(RANGE_COLUMNS)}, and perhaps {CENTRE}, got "
            f"{', '.join(header)}. Name them so."
        )
    ranges, known = {}, [*table.names, *others]
    for line, (pattern, *cells) in rows:
        where = f"`{path}`, line {line}"
        if pattern in ranges or not any(fits(pattern, name) for name in known):
            fault = "a second line for" if pattern in ranges else "the unknown"
            raise UsageError(
                f"{where}: each line must be of other columns, got {fault} `{pattern}`. Take it out."
            )
        ranges[pattern] = _range(cells, where)
    found = [_range_of(name, ranges, table, path) for name in table.names]
    return tuple(np.array(found).T)


def names_range(path, name):
    """Tell whether a table of ranges has a line with the very name of a column; errors as `read_ranges`."""
    rows = rows_of(path)
    header_of(rows, path)
    return any(pattern == name for _, (pattern, *_) in rows)


def _range(cells, where):
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(dtype=np.float64)
    low, high = numbers[:2]
    centre = numbers[2] if len(numbers) > 2 else (low + high) / 2
    # NaN, of text too, is in no range.
    if not (np.abs(numbers) <= LARGEST_VALUE).all() or not low < centre < high:
        raise UsageError(
            f"{where}: must have numbers low < {CENTRE} < high, got {', '.join(cells)}. Correct them."
        )
    return low, high, centre


def _range_of(name, ranges, table, path):
    if name in ranges:
        return ranges[name]
    if name in table.levels:
        return _LEVELS
    fitting = next((found for pattern, found in ranges.items() if fits(pattern, name)), None)
    if fitting is None:
        raise UsageError(
            f"`{path}` must have a line for every column of `{table.path}`, got none for `{name}`. Add its "
            "public range."
        )
    return fitting


def _columns(path):
    """Return all columns of a file in text or Parquet, as TextColumn."""
    if path.lower().endswith(PARQUET):
        found = parquet_table(path)
        lines = range(1, len(found) + 1)
        # Whole numbers, and floats by their shortest text, come back as they were.
        return [TextColumn(path, name, _texts(found[name]), lines) for name in found]
    rows = rows_of(path)
    names = header_of(rows, path)
    return text_columns(path, names, rows)


def _texts(column):
    return column.map(str, na_action="ignore").astype(object).fillna("").astype(str)


def _ids(column):
    ids = column.texts.to_numpy(dtype=str)
    if len(set(ids)) < len(ids) or not all(map(is_id, ids.tolist())):
        raise UsageError(
            f"{column.whole}: each row must have an id of its own, got none or one twice. Correct it."
        )
    return ids


def _numbered(n_rows):
    return np.arange(1, n_rows + 1).astype(str)


def _require_some(found, path):
    if not found:
        raise UsageError(f"`{KEYS.drop}` must leave columns of `{path}`, got all. Name fewer.")


def _of_arrays(path, *, row_id, arrays, one_hot, drop):
    for key, given in (("cohort.id", row_id), (KEYS.one_hot, one_hot)):
        if given:
            raise UsageError(f"`{key}` is for tables with names, got it with `{path}`. Leave it out.")
    found = _load(path)
    if arrays is not None:
        found = {name: found[name] for name in matched(arrays, list(found), key="cohort.arrays", path=path)}
    names, values = [], []
    for name, array in found.items():
        is_plain = array.dtype.kind in "biuf" and array.ndim > 0 and array.size > 0
        # NaN is not small either.
        if not is_plain or not (np.abs(array.astype(np.float64)) <= LARGEST_VALUE).all():
            raise UsageError(
                f"`{path}`, array `{name}`: must hold finite numbers, at most {LARGEST_VALUE:g}, "
                "a row a unit, got others. Leave it out of `cohort.arrays`, or correct it."
            )
        columns = array.reshape(len(array), -1).astype(np.float64)
        names += [name] if columns.shape[1] == 1 else [f"{name}{j + 1}" for j in range(columns.shape[1])]
        values.append(columns)
    lengths = {name: len(array) for name, array in found.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise UsageError(
            f"`cohort.arrays` must name arrays of one number of rows, got {listed}. Name others."
        )
    require_own_names(path, names, KEYS)
    dropped = set(matched(drop, names, key=KEYS.drop, path=path))
    kept = [name for name in names if name not in dropped]
    _require_some(kept, path)
    values = np.column_stack(values)
    return RealTable.numbered(path, names, values).part(kept)


def _load(path):
    """Return the arrays of a file by name; that of an `.npy` is ``x``."""
    require_regular(path)
    try:
        # Opened here, since numpy leaves a damaged file open.
        with Path(path).open("rb") as file:
            found = np.load(file, allow_pickle=False)
            return {"x": found} if isinstance(found, np.ndarray) else dict(found.items())
    except FileNotFoundError:
        raise DpgrsError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise DpgrsError(f"`{path}` must be a whole file of numpy arrays. Write it again.") from None
