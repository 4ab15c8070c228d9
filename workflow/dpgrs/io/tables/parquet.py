"""Tables in Parquet: columns have types, so that nothing is guessed from text."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.tables import MISSING_NUMBER, MOST_COLUMNS, is_id, require_people, sample_index

CHUNK_VALUES = 1_000_000


def parquet_columns(path: Path | str) -> list[str]:
    """Return the names of the columns, which only the file's footer holds; refuse a name twice."""
    import pyarrow.parquet

    names = _read(path, pyarrow.parquet.read_schema).names
    if len(names) > MOST_COLUMNS:
        raise DpgrsError(
            "too-many-columns",
            f"`{path}` must have at most {MOST_COLUMNS} columns, got {len(names)}. Split it.",
        )
    if len(set(names)) < len(names):
        raise DpgrsError(
            "column-name-twice",
            f"`{path}` must have columns with names of their own, got one twice. Rename them.",
        )
    return names


def parquet_numbers(path: Path | str, *, sample: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield columns of numbers in blocks of whole people, float64, indexed by sample ids as text.

    `sample` is the column of ids: text or whole numbers. Columns are of numbers or of true and false; null,
    NaN and PLINK's -9 are missing. Ids that are missing, repeated or hold control characters are refused, and
    so is a number that is not finite.
    """
    import pyarrow.parquet
    import pyarrow.types as kinds

    schema = _read(path, pyarrow.parquet.read_schema)
    kind = schema.field(sample).type
    if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
        raise DpgrsError(
            "ids-not-text", f"`{path}`, column `{sample}`: ids must be text or whole numbers. Convert them."
        )
    require_numbers(path, columns)
    all_ids = set()
    for batch in parquet_batches(path, [sample, *columns]):
        ids = [str(name) for name in batch.column(sample).to_pylist() if name is not None]
        n_before = len(all_ids)
        all_ids.update(ids)
        if len(all_ids) < n_before + batch.num_rows or not all(map(is_id, ids)):
            raise DpgrsError(
                "person-not-once",
                f"`{path}`: each person must have one row with an id, without control characters. Keep one "
                "row for each.",
            )
        values = {name: _floats(batch.column(name), path, name) for name in columns}
        yield pd.DataFrame(values, index=sample_index(ids), columns=list(columns))
    require_people(all_ids, path)


def require_numbers(path: Path | str, columns: Sequence[str]) -> None:
    """Refuse columns that are not of numbers or of true and false, by their types."""
    import pyarrow.parquet
    import pyarrow.types as kinds

    schema = _read(path, pyarrow.parquet.read_schema)
    for name in columns:
        kind = schema.field(name).type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise DpgrsError(
                "column-not-numeric", f"`{path}`, column `{name}`: must hold numbers, got {kind}. Convert it."
            )


def parquet_size(path: Path | str) -> int:
    """Return the number of rows, from the file's footer."""
    import pyarrow.parquet

    return _read(path, pyarrow.parquet.read_metadata).num_rows


def parquet_rows(path: Path | str, *, columns: Sequence[str], row_numbers: np.ndarray) -> np.ndarray:
    """Return some rows of columns of numbers, (n_places, n_columns) float64, NaN if missing.

    `row_numbers` are the ascending numbers of the rows, from 0. It reads a few columns at a time, so that no
    more is in memory.
    """
    import pyarrow.parquet

    values, first = np.empty((len(row_numbers), len(columns))), 0
    with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
        parquet = _read_from(path, lambda: pyarrow.parquet.ParquetFile(file))
        for group in range(parquet.num_row_groups):
            n_rows = parquet.metadata.row_group(group).num_rows
            begin, end = np.searchsorted(row_numbers, (first, first + n_rows))
            step = max(CHUNK_VALUES // max(n_rows, 1), 1)
            for start in range(0, len(columns) if begin < end else 0, step):
                some = columns[start : start + step]
                block = _read_from(path, partial(parquet.read_row_group, group, columns=some))
                block = block.take(row_numbers[begin:end] - first)
                for index, name in enumerate(some, start):
                    values[begin:end, index] = _floats(block.column(name), path, name)
            first += n_rows
    return values


def parquet_batches(path: Path | str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield pyarrow batches of some columns of a file, of any type, that are not empty."""
    import pyarrow.parquet

    size = max(CHUNK_VALUES // len(columns), 1)
    with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
        parquet = _read_from(path, lambda: pyarrow.parquet.ParquetFile(file))
        batches = parquet.iter_batches(batch_size=size, columns=columns)
        while (batch := _read_from(path, lambda: next(batches, None))) is not None:
            if batch.num_rows:
                yield batch


def _floats(column: Any, path: Path | str, name: str) -> np.ndarray:
    values = column.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DpgrsError(
            "column-not-finite", f"`{path}`, column `{name}`: must hold finite numbers. Correct the column."
        )
    return np.where(values == MISSING_NUMBER, np.nan, values)


def _read(path: Path | str, read: Callable[[Any], Any]) -> Any:
    """Open a file and read with pyarrow."""

    def opened() -> Any:
        with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
            return read(file)

    return _read_from(path, opened)


def _read_from(path: Path | str, read: Callable[[], Any]) -> Any:
    """Read with pyarrow, and turn its errors into ours."""
    import pyarrow

    require_regular(path)
    try:
        return read()
    except FileNotFoundError:
        raise UsageError(
            "file-missing", f"`{path}` must be a table, but is not there. Correct the path."
        ) from None
    except pyarrow.ArrowInvalid:
        raise DpgrsError(
            "parquet-damaged",
            f"`{path}` must be a whole Parquet file, but is cut off or of another kind. Fetch it again.",
        ) from None
    except OSError as error:
        raise DpgrsError(
            "file-unreadable",
            f"`{path}` must be readable: {error.strerror or 'damaged'}. Correct it and its rights.",
        ) from None
