"""Tables of real numbers, one row a unit: text, Parquet, or arrays of numpy.

For benchmarks: open data, so messages may quote a cell.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.tables.parquet import parquet_batches, parquet_columns
from dpgrs.io.tables.phenotypes import CHUNK_CELLS, is_parquet
from dpgrs.io.tables.real_arrays import is_of_arrays, read_arrays, table_of_arrays
from dpgrs.io.tables.real_columns import KEYS, RealTable, matched, numbered, require_some, unique_ids
from dpgrs.io.tables.tables import header_of, rows_of
from dpgrs.io.tables.text_columns import (
    LARGEST_VALUE,
    TextColumn,
    levels_of_column,
    numbers_of_column,
    require_own_names,
)


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
    columns = kept_columns(path, row_id=row_id, one_hot=one_hot, drop=drop)
    labels = {name: Labels(path, name) for name in one_hot}
    return table_of(path, columns, text_parts(path, columns), row_id=row_id, labels=labels)


def kept_columns(
    path: str, *, row_id: str | None = None, one_hot: Sequence[str] = (), drop: Sequence[str] = ()
) -> list[str]:
    """Return the names of the columns that are read, in their order; options are those of `read_real_table`.

    A name that is not there, or that two settings name, and a table without a column of values are refused.
    """
    names = parquet_columns(path) if is_parquet(path) else header_of(rows_of(path), path)
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


class Part(NamedTuple):
    """Some rows of a table as text."""

    lines: Sequence[int] | np.ndarray  # the lines of the rows in the file
    rows: Sequence[Sequence[str]]  # the cells of the columns that are read


def text_parts(path: str, columns: Sequence[str]) -> Iterator[Part]:
    """Yield the rows of a table of text or Parquet, a Part at a time."""
    if is_parquet(path):
        first = 1
        for batch in parquet_batches(path, columns):
            yield Part(range(first, first + batch.num_rows), texts_of(batch))
            first += batch.num_rows
        return
    rows = rows_of(path)
    names = header_of(rows, path)
    cells_of = cells_at(names, columns)
    while batch := list(islice(rows, max(CHUNK_CELLS // len(names), 1))):
        yield Part([line for line, _ in batch], [cells_of(cells) for _, cells in batch])


def cells_at(names: list[str], columns: Sequence[str]) -> Callable[[Sequence[str]], Sequence[str]]:
    """Return a function that takes the cells of some columns out of a row, by their names."""
    indices = [names.index(name) for name in columns]
    return tuple if indices == list(range(len(names))) else lambda cells: [cells[i] for i in indices]


def texts_of(batch: Any) -> list[tuple[str, ...]]:
    """Return rows of a pyarrow batch as text: the shortest that gives the same number back."""
    columns = [
        batch.column(name).to_pandas().map(str, na_action="ignore").astype(object).fillna("").astype(str)
        for name in batch.schema.names
    ]
    return list(zip(*columns, strict=True))


class Labels:
    """The labels of a column of a table, block by block."""

    def __init__(self, path: str, name: str) -> None:
        self._path, self._name, self._codes, self._lines = path, name, {}, []

    def codes_of(self, texts: Collection[str], lines: Iterable[int]) -> np.ndarray:
        """Return the number of each label among all so far, in order of appearance: (n_rows,) int32."""
        for text, line in zip(texts, lines, strict=True):
            if text not in self._codes:
                self._codes[text] = len(self._codes)
                self._lines.append(line)
        return np.array([self._codes[text] for text in texts], dtype=np.int32)

    def levels(self) -> list[tuple[str, int]]:
        """Return ``column=level`` and the number of its label for all levels, as `levels_of_column` does."""
        texts = pd.Series(list(self._codes), dtype=str)
        levels = levels_of_column(TextColumn(self._path, self._name, texts, self._lines), KEYS)
        return [(level, int(np.argmax(is_own))) for level, is_own in levels]


def table_of(
    path: str, columns: list[str], parts: Iterable[Part], *, row_id: str | None, labels: dict[str, Labels]
) -> RealTable:
    """Return a table of rows of text.

    `columns` are the columns of the parts; `row_id` is the column of ids, None numbers all rows from 1;
    `labels` are the columns of labels, whose Labels may have read other rows before.
    """
    plain = [name for name in columns if name != row_id and name not in labels]
    cells_of, index_of = cells_at(columns, plain), {name: columns.index(name) for name in columns}
    blocks, ids, code_blocks = [], [], {name: [] for name in labels}
    for lines, rows in parts:
        blocks.append(_numbers([cells_of(cells) for cells in rows], plain, path, lines))
        ids += [cells[index_of[row_id]] for cells in rows] if row_id else []
        for name, column in labels.items():
            code_blocks[name].append(column.codes_of([cells[index_of[name]] for cells in rows], lines))
    if not blocks:
        raise UsageError(f"`{path}` must have a row for each case, got only the names. Add the rows.")
    values = np.concatenate(blocks)
    codes = {name: np.concatenate(arrays) for name, arrays in code_blocks.items()}
    levels = {name: column.levels() for name, column in labels.items()}
    names = [
        level_or_name
        for name in columns
        if name != row_id
        for level_or_name in ([level for level, _ in levels[name]] if name in labels else [name])
    ]
    require_own_names(path, names, KEYS)
    if labels:
        values = _with_levels(values, columns, plain, codes, levels)
    all_ids = numbered(len(values)) if row_id is None else unique_ids(ids, row_id, path)
    all_levels = frozenset(level for column in levels.values() for level, _ in column)
    return RealTable(path, all_ids, names, values, all_levels)


def _with_levels(
    values: np.ndarray,
    columns: list[str],
    plain: list[str],
    codes: dict[str, np.ndarray],
    levels: dict[str, list[tuple[str, int]]],
) -> np.ndarray:
    """Put a column of 0 and 1 for each level where the column of labels was."""
    index_of = {name: column for column, name in enumerate(plain)}
    arrays = []
    for name in columns:
        if name in codes:
            arrays += [(codes[name] == code).astype(np.float64) for _, code in levels[name]]
        elif name in index_of:
            arrays.append(values[:, index_of[name]])
    return np.column_stack(arrays)


def _numbers(
    rows: Sequence[Sequence[str]], names: list[str], path: str, lines: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Return rows of cells as finite numbers, (n_rows, n_columns) float64."""
    texts = pd.Series(list(chain.from_iterable(rows)), dtype=object)
    numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64).reshape(len(rows), len(names))
    is_good = np.abs(numbers) <= LARGEST_VALUE  # NaN, of text too, is not
    if not is_good.all():
        column = int(np.argmin(is_good.all(axis=0)))
        cells = pd.Series([cells[column] for cells in rows], dtype=str)
        numbers_of_column(TextColumn(path, names[column], cells, lines), naming=KEYS)
    return numbers
