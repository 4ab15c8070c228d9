"""Tables of real numbers, one row a unit: text, Parquet, or arrays of numpy.

For benchmarks: open data, so messages may quote a cell.
"""

import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.parquet import parquet_batches, parquet_columns
from dpgrs.io.tables.phenotypes import CHUNK_CELLS, is_parquet
from dpgrs.io.tables.plain_columns import NotPlainError, plain_blocks
from dpgrs.io.tables.tables import BLANKS, header_of, is_id, rows_of
from dpgrs.io.tables.text_columns import (
    LARGEST_VALUE,
    Naming,
    TextColumn,
    levels_of_column,
    numbers_of_column,
    require_own_names,
)

KEYS = Naming("cohort.one_hot", "cohort.drop", lambda key, name: f"{key}: [{name}]")


@dataclass(frozen=True)
class RealTable:
    """Columns of finite numbers."""

    path: str
    row_id: np.ndarray  # (n_rows,) str, unique
    names: list[str]  # unique; a level of a column is `column=level`
    values: np.ndarray  # (n_rows, n_columns) float64
    levels: frozenset[str] = frozenset()  # the names that are levels

    @classmethod
    def numbered(
        cls, path: str, names: list[str], values: np.ndarray, levels: frozenset[str] = frozenset()
    ) -> Self:
        """Return the table of rows that are numbered from 1."""
        return cls(path, numbered(len(values)), names, values, levels)

    def of_columns(self, names: Iterable[str]) -> Self:
        """Return the table of some of its columns, by name."""
        index_of = {name: i for i, name in enumerate(self.names)}
        values = self.values[:, [index_of[name] for name in names]]
        return replace(self, names=list(names), values=values)


def matched(patterns: Iterable[str] | None, names: Sequence[str], *, key: str, path: Path | str) -> list[str]:
    """Return the names that patterns stand for, in the order of the table; refuse a pattern that fits none.

    A pattern is a name, or has ``*`` for any text. `key`, of the settings, and `path` are for messages.
    """
    all_fitting = set()
    for pattern in patterns or ():
        fitting = {name for name in names if fits(pattern, name)}
        if not fitting:
            listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise UsageError(
                "column-pattern-unmatched",
                f"`{key}` must name columns of `{path}`, got `{pattern}`. Correct it: there are {listed}.",
            )
        all_fitting |= fitting
    return [name for name in names if name in all_fitting]


def fits(pattern: str, name: str) -> bool:
    """Return whether a name fits a pattern, in which only ``*`` is special."""
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern.replace("[", "[[]")))


def unique_ids(ids: Sequence[str], name: str, path: str) -> np.ndarray:
    """Return the ids of all rows, (n_rows,) str; refuse one that is empty or comes twice."""
    if len(set(ids)) < len(ids) or not all(map(is_id, ids)):
        raise UsageError(
            "row-id-not-unique",
            f"`{path}`, column `{name}`: each row must have an id of its own, got none or one twice. "
            "Correct it.",
        )
    return np.array(ids, dtype=str)


def numbered(n_rows: int) -> np.ndarray:
    """Return the numbers of rows from 1 as their ids, (n_rows,) str."""
    return np.arange(1, n_rows + 1).astype(str)


def require_some(columns: Collection[str], path: str) -> None:
    """Refuse settings that leave no column."""
    if not columns:
        raise UsageError(
            "no-columns-left", f"`{KEYS.drop}` must leave columns of `{path}`, got all. Name fewer."
        )


ARRAYS = (".npy", ".npz")
NUMBERS = "biuf"


def is_of_arrays(
    path: str, *, row_id: str | None, arrays: Sequence[str] | None, one_hot: Sequence[str]
) -> bool:
    """Return whether the name of a table is that of arrays; refuse options that are for other tables."""
    if not path.lower().endswith(ARRAYS):
        if arrays is not None:
            raise UsageError(
                "arrays-setting-without-npz",
                f"`cohort.arrays` is for an .npz, got it with `{path}`. Leave it out.",
            )
        return False
    for key, setting in (("cohort.id", row_id), (KEYS.one_hot, one_hot)):
        if setting:
            raise UsageError(
                "names-setting-with-npz",
                f"`{key}` is for tables with names, got it with `{path}`. Leave it out.",
            )
    return True


def read_arrays(path: Path | str, *, arrays: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an `.npz` by name, or of an `.npy`, whose array is named ``x``.

    `arrays` are names or patterns of those to read, all by default; one that no array has is refused.
    """
    require_regular(path)
    try:
        # Opened here, since numpy leaves a damaged file open.
        with Path(path).open("rb") as file:
            content = np.load(file, allow_pickle=False)
            contents = {"x": content} if isinstance(content, np.ndarray) else dict(content.items())
    except FileNotFoundError:
        raise UsageError(
            "file-missing", f"`{path}` must be a table, but is not there. Correct the path."
        ) from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise DpgrsError(
            "npz-damaged", f"`{path}` must be a whole file of numpy arrays. Write it again."
        ) from None
    names = list(contents)
    chosen = names if arrays is None else matched(arrays, names, key="cohort.arrays", path=path)
    return {name: contents[name] for name in chosen}


def table_of_arrays(path: str, arrays: dict[str, np.ndarray], *, drop: Iterable[str] = ()) -> RealTable:
    """Return a table of arrays, whose first axis is that of rows, which are numbered from 1.

    `drop` are patterns of columns to leave out. Arrays that are
    not of finite numbers, or have different lengths, are refused.
    """
    names, blocks = [], []
    for name, array in arrays.items():
        is_plain = array.dtype.kind in NUMBERS and array.ndim > 0 and array.size > 0
        # NaN is not small either.
        if not is_plain or not (np.abs(array.astype(np.float64)) <= LARGEST_VALUE).all():
            raise UsageError(
                "array-not-finite",
                f"`{path}`, array `{name}`: must hold finite numbers, at most {LARGEST_VALUE:g}, "
                "a row a unit, got others. Leave it out of `cohort.arrays`, or correct it.",
            )
        columns = array.reshape(len(array), -1).astype(np.float64)
        names += [name] if columns.shape[1] == 1 else [f"{name}{j + 1}" for j in range(columns.shape[1])]
        blocks.append(columns)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise UsageError(
            "array-lengths-differ",
            f"`cohort.arrays` must name arrays of one number of rows, got {listed}. Name others.",
        )
    require_own_names(path, names, KEYS)
    dropped = set(matched(drop, names, key=KEYS.drop, path=path))
    remaining = [name for name in names if name not in dropped]
    require_some(remaining, path)
    values = np.column_stack(blocks)
    return RealTable.numbered(path, names, values).of_columns(remaining)


# Lines of some rows in the file, their cells in each column of text, and (n_rows, n_columns) float64 numbers.
Block = tuple[Sequence[int], list[list[str]], np.ndarray]


def read_real_table(
    path: Path | str,
    *,
    row_id: str | None = None,
    arrays: Sequence[str] | None = None,
    one_hot: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> RealTable:
    """Read a table of numbers: text, Parquet (`.parquet`, `.pq`), or arrays of numpy (`.npy`, `.npz`).

    Text has names in its first line; the first axis of arrays is that of rows, and the columns of an array
    are its name and their number from 1, or only its name if it has one column. `row_id` is the column of
    ids, None numbers the rows from 1; `arrays` are the arrays of an `.npz` to use, None is all; each column
    of labels in `one_hot` becomes a column of 0 and 1 for each of its levels; `drop` are names or patterns
    with `*` of columns to leave out.

    Refused are a name that is not there, a cell or array that is not of finite numbers or labels, ids that
    are empty or repeated, and arrays of different lengths.
    """
    path = str(path)
    if is_of_arrays(path, row_id=row_id, arrays=arrays, one_hot=one_hot):
        return table_of_arrays(path, read_arrays(path, arrays=arrays), drop=drop)
    names = parquet_columns(path) if is_parquet(path) else header_of(rows_of(path), path)
    columns = _kept_columns(names, path, row_id=row_id, one_hot=one_hot, drop=drop)
    texts = [name for name in columns if name == row_id or name in one_hot]
    numbers = [name for name in columns if name not in texts]
    blocks = _read_blocks(path, names, texts, numbers)
    if not blocks:
        raise UsageError(
            "table-without-rows", f"`{path}` must have a row for each case, got only the names. Add the rows."
        )
    lines = list(chain.from_iterable(block_lines for block_lines, _, _ in blocks))
    cells = {name: list(chain.from_iterable(block[1][i] for block in blocks)) for i, name in enumerate(texts)}
    values = np.concatenate([block_values for _, _, block_values in blocks])
    levels = {}
    for name in one_hot:
        column = TextColumn(path, name, pd.Series(cells[name], dtype=str), lines)
        levels[name] = dict(levels_of_column(column, KEYS))
    # A column of 0 and 1 for each level stands where the column of labels was.
    by_name = {name: {name: values[:, i]} for i, name in enumerate(numbers)} | levels
    pairs = [pair for name in columns if name != row_id for pair in by_name[name].items()]
    all_names = [name for name, _ in pairs]
    require_own_names(path, all_names, KEYS)
    if levels:
        values = np.column_stack([column_values for _, column_values in pairs])
    ids = numbered(len(values)) if row_id is None else unique_ids(cells[row_id], row_id, path)
    return RealTable(path, ids, all_names, values, frozenset(chain.from_iterable(levels.values())))


def _kept_columns(
    names: list[str], path: str, *, row_id: str | None, one_hot: Sequence[str], drop: Sequence[str]
) -> list[str]:
    """Return the names of the columns that are read, in their order.

    A name that is not there, or that two settings name, and a table without a column of values are refused.
    """
    drop = matched(drop, names, key=KEYS.drop, path=path)
    for key, name in [("cohort.id", row_id)] * (row_id is not None) + [(KEYS.one_hot, n) for n in one_hot]:
        matched([name], names, key=key, path=path)
        if name in drop:
            raise UsageError(
                "needed-column-dropped",
                f"`{KEYS.drop}` must leave the column of `{key}`, got `{name}`. Take it out.",
            )
    if row_id in one_hot:
        raise UsageError(
            "row-id-one-hot", f"`{KEYS.one_hot}` must not name the ids, got `{row_id}`. Take it out."
        )
    columns = [name for name in names if name not in set(drop)]
    require_some([name for name in columns if name != row_id], path)
    return columns


def _read_blocks(path: str, names: list[str], texts: list[str], numbers: list[str]) -> list[Block]:
    """Read the rows of a table of text or Parquet; refuse a cell that is not a finite number."""
    if not is_parquet(path):
        with suppress(NotPlainError):
            return list(_plain_blocks(path, names, texts, numbers))
    frames = _parquet_frames(path, [*texts, *numbers]) if is_parquet(path) else _text_frames(path, names)
    return [
        (
            lines,
            [_as_text(frame[name]).tolist() for name in texts],
            np.column_stack([_numbers(path, name, frame[name], lines) for name in numbers])
            if numbers
            else np.empty((len(frame), 0)),
        )
        for lines, frame in frames
    ]


def _plain_blocks(path: str, names: list[str], texts: list[str], numbers: list[str]) -> Iterator[Block]:
    """Yield the rows of a plain table of text; any other is left to the reader that names its lines."""
    first = 1
    indices = ([names.index(name) for name in columns] for columns in (texts, numbers))
    for columns, values in plain_blocks(path, *indices, missing=()):
        cells = [column.to_pylist() for column in columns]
        is_plain = all(text and text == text.strip(BLANKS) for column in cells for text in column)
        if not (is_plain and (np.abs(values) <= LARGEST_VALUE).all()):  # NaN is not
            raise NotPlainError
        yield range(first, first + len(values)), cells, values
        first += len(values)


def _text_frames(path: str, names: list[str]) -> Iterator[tuple[Sequence[int], pd.DataFrame]]:
    """Yield the lines and the cells of some rows of a table of text at a time."""
    rows = rows_of(path)
    header_of(rows, path)
    while batch := list(islice(rows, max(CHUNK_CELLS // len(names), 1))):
        lines, cells = zip(*batch, strict=True)
        yield lines, pd.DataFrame(cells, columns=names, dtype=object)


def _parquet_frames(path: str, columns: list[str]) -> Iterator[tuple[Sequence[int], pd.DataFrame]]:
    first = 1
    for batch in parquet_batches(path, columns):
        yield range(first, first + batch.num_rows), batch.to_pandas()
        first += batch.num_rows


def _as_text(column: pd.Series) -> pd.Series:
    """Return cells as text: of a number the shortest that gives it back, and nothing of a missing one."""
    return column.map(str, na_action="ignore").astype(object).fillna("").astype(str)


def _numbers(path: str, name: str, column: pd.Series, lines: Sequence[int]) -> np.ndarray:
    """Return cells as finite numbers, (n_rows,) float64."""
    cells = column if column.dtype.kind in "iufO" else _as_text(column)  # of truth there is no number
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    if not (np.abs(numbers) <= LARGEST_VALUE).all():  # NaN, of text too, is not
        numbers_of_column(TextColumn(path, name, _as_text(column), lines), naming=KEYS)
    return numbers


RANGE_COLUMNS = ("column", "low", "high")
CENTRE = "centre"
_LEVELS = (0.0, 1.0, 0.5)  # low, high and centre of a level


def read_ranges(
    path: Path | str, table: RealTable, *, other_names: Sequence[str] = ()
) -> tuple[np.ndarray, ...]:
    """Return low, high and centre of each column, (n_columns,) float64: public bounds of its values.

    The file has the columns `column`, `low` and `high`, and perhaps `centre`, which is halfway otherwise. The
    first line that fits a column holds. Levels are between 0 and 1 unless a line has their very name. Lines
    may also name columns in `other_names`; a line that no column has is refused.
    """
    rows = rows_of(path)
    header = header_of(rows, path)
    if tuple(header) not in (RANGE_COLUMNS, (*RANGE_COLUMNS, CENTRE)):
        raise UsageError(
            "range-columns",
            f"`{path}`, line 1: the columns must be {', '.join(RANGE_COLUMNS)}, and perhaps {CENTRE}, got "
            f"{', '.join(header)}. Name them so.",
        )
    ranges, names = {}, [*table.names, *other_names]
    for line, (pattern, *cells) in rows:
        where = f"`{path}`, line {line}"
        if pattern in ranges or not any(fits(pattern, name) for name in names):
            fault = "a second line for" if pattern in ranges else "the unknown"
            raise UsageError(
                "range-columns-repeated",
                f"{where}: each line must be of other columns, got {fault} `{pattern}`. Take it out.",
            )
        ranges[pattern] = _range(cells, where)
    bounds = [_range_of(name, ranges, table, path) for name in table.names]
    return tuple(np.array(bounds).T)


def _range(cells: Sequence[str], where: str) -> tuple[float, float, float]:
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(dtype=np.float64)
    low, high = numbers[:2]
    centre = numbers[2] if len(numbers) > 2 else (low + high) / 2
    # NaN, of text too, is in no range.
    if not (np.abs(numbers) <= LARGEST_VALUE).all() or not low < centre < high:
        raise UsageError(
            "range-not-ascending",
            f"{where}: must have numbers low < {CENTRE} < high, got {', '.join(cells)}. Correct them.",
        )
    return low, high, centre


def _range_of(
    name: str, ranges: dict[str, tuple[float, float, float]], table: RealTable, path: Path | str
) -> tuple[float, float, float]:
    if name in ranges:
        return ranges[name]
    if name in table.levels:
        return _LEVELS
    fitting = next((bounds for pattern, bounds in ranges.items() if fits(pattern, name)), None)
    if fitting is None:
        raise UsageError(
            "range-missing",
            f"`{path}` must have a line for every column of `{table.path}`, got none for `{name}`. Add its "
            "public range.",
        )
    return fitting
