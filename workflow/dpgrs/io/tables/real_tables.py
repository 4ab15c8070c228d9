"""Tables of real numbers, one row a unit: text, Parquet, or arrays of numpy.

For benchmarks: open data, so messages may quote a cell.
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import NamedTuple

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
    if is_of_arrays(path, row_id=row_id, arrays=arrays, one_hot=one_hot):
        return table_of_arrays(path, read_arrays(path, arrays=arrays), drop=drop)
    kept = kept_columns(path, row_id=row_id, one_hot=one_hot, drop=drop)
    own = {"row_id": row_id, "labels": {name: Labels(path, name) for name in one_hot}}
    return table_of(path, kept, text_parts(path, kept), **own)


def kept_columns(path, *, row_id=None, one_hot=(), drop=()):
    """Return the names of the columns that are read, a list in their order; else as `read_real_table`.

    Raises
    ------
    DpgrsError
        Missing or unreadable file.
    UsageError
        A name that is not there, or one that two settings name, or no column of values.
    """
    names = parquet_columns(path) if is_parquet(path) else header_of(rows_of(path), path)
    drop = matched(drop, names, key=KEYS.drop, path=path)
    for key, name in [("cohort.id", row_id)] * (row_id is not None) + [(KEYS.one_hot, n) for n in one_hot]:
        matched([name], names, key=key, path=path)
        if name in drop:
            raise UsageError(f"`{KEYS.drop}` must leave the column of `{key}`, got `{name}`. Take it out.")
    if row_id in one_hot:
        raise UsageError(f"`{KEYS.one_hot}` must not name the ids, got `{row_id}`. Take it out.")
    kept = [name for name in names if name not in set(drop)]
    require_some([name for name in kept if name != row_id], path)
    return kept


class Part(NamedTuple):
    """Some rows of a table as text.

    Attributes
    ----------
    lines : sequence of int, where the rows are in the file.
    rows : sequence of sequences of str, the cells of the columns that are read.
    """

    lines: Sequence
    rows: Sequence


def text_parts(path, columns):
    """Yield rows of a table of text or Parquet, a Part at a time."""
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


def cells_at(names, columns):
    """Return a function that takes the cells of some columns out of a row, by their names."""
    places = [names.index(name) for name in columns]
    return tuple if places == list(range(len(names))) else lambda cells: [cells[place] for place in places]


def texts_of(batch):
    """Return rows of Parquet as text: numbers by their shortest, so that they come back as they were."""
    columns = [
        batch.column(name).to_pandas().map(str, na_action="ignore").astype(object).fillna("").astype(str)
        for name in batch.schema.names
    ]
    return list(zip(*columns, strict=True))


class Labels:
    """The labels of a column, part by part.

    Parameters
    ----------
    path, name : of the table, and of the column.
    """

    def __init__(self, path, name):
        self._path, self._name, self._codes, self._lines = path, name, {}, []

    def codes_of(self, texts, lines):
        """Return the place of each label among all so far, in the order of their coming: (n_rows,) int32."""
        for text, line in zip(texts, lines, strict=True):
            if text not in self._codes:
                self._codes[text] = len(self._codes)
                self._lines.append(line)
        return np.array([self._codes[text] for text in texts], dtype=np.int32)

    def levels(self):
        """Return ``column=level`` and the place of its label, a list of all; errors as `levels_of_column`."""
        texts = pd.Series(list(self._codes), dtype=str)
        levels = levels_of_column(TextColumn(self._path, self._name, texts, self._lines), KEYS)
        return [(level, int(np.argmax(is_own))) for level, is_own in levels]


def table_of(path, columns, parts, *, row_id, labels):
    """Make a table of rows of text.

    Parameters
    ----------
    path : str
    columns : list of str, those of the parts.
    parts : iterable of Part.
    row_id : str, the column of ids; None numbers all rows from 1.
    labels : dict of the name of a column of labels to its Labels, which may know of other rows already.

    Returns
    -------
    RealTable

    Raises
    ------
    UsageError
        As `read_real_table`.
    """
    plain = [name for name in columns if name != row_id and name not in labels]
    cells_of, place = cells_at(columns, plain), {name: columns.index(name) for name in columns}
    values, ids, codes = [], [], {name: [] for name in labels}
    for lines, rows in parts:
        values.append(_numbers([cells_of(cells) for cells in rows], plain, path, lines))
        ids += [cells[place[row_id]] for cells in rows] if row_id else []
        for name, known in labels.items():
            codes[name].append(known.codes_of([cells[place[name]] for cells in rows], lines))
    if not values:
        raise UsageError(f"`{path}` must have a row for each case, got only the names. Add the rows.")
    values = np.concatenate(values)
    codes = {name: np.concatenate(own) for name, own in codes.items()}
    levels = {name: known.levels() for name, known in labels.items()}
    found = [
        own
        for name in columns
        if name != row_id
        for own in ([level for level, _ in levels[name]] if name in labels else [name])
    ]
    require_own_names(path, found, KEYS)
    if labels:
        values = _with_levels(values, columns, plain, codes, levels)
    row_id = numbered(len(values)) if row_id is None else unique_ids(ids, row_id, path)
    own = frozenset(level for column in levels.values() for level, _ in column)
    return RealTable(path, row_id, found, values, own)


def _with_levels(values, columns, plain, codes, levels):
    """Put a column of 0 and 1 for each level where the column of labels is."""
    place = {name: column for column, name in enumerate(plain)}
    found = []
    for name in columns:
        if name in codes:
            found += [(codes[name] == code).astype(np.float64) for _, code in levels[name]]
        elif name in place:
            found.append(values[:, place[name]])
    return np.column_stack(found)


def _numbers(rows, names, path, lines):
    """Turn rows of cells into finite numbers, (n_rows, n_columns) float64."""
    texts = pd.Series(list(chain.from_iterable(rows)), dtype=object)
    numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64).reshape(len(rows), len(names))
    is_good = np.abs(numbers) <= LARGEST_VALUE  # NaN, of text too, is not
    if not is_good.all():
        column = int(np.argmin(is_good.all(axis=0)))
        cells = pd.Series([cells[column] for cells in rows], dtype=str)
        numbers_of_column(TextColumn(path, names[column], cells, lines), naming=KEYS)
    return numbers
