"""Tables of real numbers that are too large to be read at every start: all ids and labels, and some rows."""

import math
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpgrs.io.tables import table_samples
from dpgrs.io.tables.parquet import parquet_batches, parquet_chosen, parquet_size
from dpgrs.io.tables.phenotypes import is_parquet
from dpgrs.io.tables.real_arrays import array_rows, array_shapes, is_of_arrays, table_of_arrays
from dpgrs.io.tables.real_columns import RealTable, numbered, unique_ids
from dpgrs.io.tables.real_tables import (
    Labels,
    Part,
    cells_at,
    kept_columns,
    read_real_table,
    table_of,
    texts_of,
)
from dpgrs.io.tables.table_samples import Reservoir, choose_rows
from dpgrs.io.tables.tables import header_of, ids_of, rows_of


class RealSample(NamedTuple):
    """The rows of a table that were read."""

    row_id: np.ndarray  # (n_rows,) str, of all rows
    table: RealTable  # of rows chosen at random, in the order of the file

    @property
    def is_whole(self) -> bool:
        """Whether all rows were read."""
        return len(self.table.row_id) == len(self.row_id)

    def __str__(self) -> str:
        return (
            f"values of {len(self.table.row_id):,} of its {len(self.row_id):,} rows, chosen at random, were "
            "looked at; the job that reads the table looks at all."
        )


def sample_real_table(
    path: Path | str,
    *,
    row_id: str | None = None,
    arrays: Sequence[str] | None = None,
    one_hot: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> RealSample:
    """Read all ids and labels of a large table, and the numbers of some rows; all rows of a small one.

    Options and errors are those of `read_real_table`, but cells that are not finite numbers are found only in
    chosen rows. A table of at most `MOST_CELLS` is small.
    """
    path = str(path)
    is_array = is_of_arrays(path, row_id=row_id, arrays=arrays, one_hot=one_hot)
    sample = _of_arrays(path, arrays, drop) if is_array else _of_cells(path, row_id, one_hot, drop)
    if sample is None:
        table = read_real_table(path, row_id=row_id, arrays=arrays, one_hot=one_hot, drop=drop)
        return RealSample(table.row_id, table)
    return sample


def _of_arrays(path: str, arrays: Sequence[str] | None, drop: Sequence[str]) -> RealSample | None:
    shapes = array_shapes(path, arrays=arrays)
    if shapes is None:
        return None
    n_rows = next(iter(shapes.values()))[0]
    most = _most_rows(sum(math.prod(shape[1:]) for shape in shapes.values()))
    if n_rows <= most:
        return None
    row_numbers, ids = choose_rows(np.arange(n_rows), most), numbered(n_rows)
    return RealSample(
        ids, table_of_arrays(path, array_rows(path, shapes, row_numbers), row_id=ids[row_numbers], drop=drop)
    )


def _of_cells(
    path: str, row_id: str | None, one_hot: Sequence[str], drop: Sequence[str]
) -> RealSample | None:
    columns = kept_columns(path, row_id=row_id, one_hot=one_hot, drop=drop)
    labels = {name: Labels(path, name) for name in one_hot}
    look = _look_at_parquet if is_parquet(path) else _look_at_text
    names, row_numbers, chosen = look(path, columns, row_id, labels)
    if chosen is None:
        return None
    ids = numbered(len(names)) if row_id is None else unique_ids(names, row_id, path)
    table = table_of(path, columns, [chosen], row_id=row_id, labels=labels)
    return RealSample(ids, table if row_id else table.named(ids[row_numbers]))


def _look_at_text(
    path: str, columns: list[str], row_id: str | None, labels: dict[str, Labels]
) -> tuple[list[str], np.ndarray | None, Part | None]:
    """Return the ids of all rows, and the numbers and the Part of the chosen ones; None if rows are few."""
    names = header_of(rows_of(path), path)
    most = _most_rows(len(names))
    ids, candidates, cells_of = [], Reservoir(most), cells_at(names, list(labels))
    for line, name, cells in ids_of(path, 0 if row_id is None else names.index(row_id)):
        candidates.add((len(ids), line, cells))
        ids.append(name if row_id else "")
        for column, label in zip(labels.values(), cells_of(cells()) if labels else (), strict=True):
            column.codes_of([label], [line])
    if len(ids) <= most:
        return ids, None, None
    rows, lines, chosen = zip(*sorted(candidates.chosen, key=itemgetter(0)), strict=True)
    cells_of = cells_at(names, columns)
    return ids, np.array(rows), Part(lines, [cells_of(cells()) for cells in chosen])


def _look_at_parquet(
    path: str, columns: list[str], row_id: str | None, labels: dict[str, Labels]
) -> tuple[list[str], np.ndarray | None, Part | None]:
    n_rows, most = parquet_size(path), _most_rows(len(columns))
    if n_rows <= most:
        return [], None, None
    read = [*([] if row_id is None else [row_id]), *labels]
    ids, first = [""] * (n_rows if row_id is None else 0), 1
    for batch in parquet_batches(path, read) if read else ():
        cells = list(zip(*texts_of(batch), strict=True))
        ids += [] if row_id is None else cells.pop(0)
        lines = range(first, first + batch.num_rows)
        for column, texts in zip(labels.values(), cells, strict=True):
            column.codes_of(texts, lines)
        first += batch.num_rows
    row_numbers = choose_rows(np.arange(n_rows), most)
    return ids, row_numbers, Part(row_numbers + 1, _parquet_texts(path, columns, row_numbers))


def _parquet_texts(path: str, columns: Sequence[str], row_numbers: np.ndarray) -> list[tuple[str, ...]]:
    """Return the cells of some rows as text."""
    texts = {name: [] for name in columns}
    for _, block in parquet_chosen(path, columns=columns, row_numbers=row_numbers):
        for name, cells in zip(block.schema.names, zip(*texts_of(block), strict=True), strict=True):
            texts[name] += cells
    return list(zip(*texts.values(), strict=True))


def _most_rows(n_columns: int) -> int:
    return max(table_samples.MOST_CELLS // n_columns, 1)
