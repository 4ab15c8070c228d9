"""Tables of real numbers, one row a unit: text, Parquet, or arrays of numpy.

For benchmarks: open data, so messages may quote a cell.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.tables.parquet import parquet_batches, parquet_columns
from dpgrs.io.tables.phenotypes import CHUNK_CELLS, is_parquet
from dpgrs.io.tables.plain_columns import NotPlainError, plain_blocks
from dpgrs.io.tables.real_arrays import is_of_arrays, read_arrays, table_of_arrays
from dpgrs.io.tables.real_columns import KEYS, RealTable, matched, numbered, require_some, unique_ids
from dpgrs.io.tables.tables import BLANKS, header_of, rows_of
from dpgrs.io.tables.text_columns import (
    LARGEST_VALUE,
    TextColumn,
    levels_of_column,
    numbers_of_column,
    require_own_names,
)

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
        raise UsageError(f"`{path}` must have a row for each case, got only the names. Add the rows.")
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
            raise UsageError(f"`{KEYS.drop}` must leave the column of `{key}`, got `{name}`. Take it out.")
    if row_id in one_hot:
        raise UsageError(f"`{KEYS.one_hot}` must not name the ids, got `{row_id}`. Take it out.")
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
