"""Tables in Parquet: columns have types, so that nothing is guessed from text."""

from functools import partial

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.tables import MISSING_NUMBER, MOST_COLUMNS, is_id, require_people, sample_index

CHUNK_VALUES = 1_000_000


def parquet_columns(path):
    """Return the names of the columns, from the file's footer alone.

    Raises
    ------
    DpgrsError
        Missing or unreadable file, or columns of one name.
    """
    import pyarrow.parquet

    names = _read(path, pyarrow.parquet.read_schema).names
    if len(names) > MOST_COLUMNS:
        raise DpgrsError(f"`{path}` must have at most {MOST_COLUMNS} columns, got {len(names)}. Split it.")
    if len(set(names)) < len(names):
        raise DpgrsError(f"`{path}` must have columns with names of their own, got one twice. Rename them.")
    return names


def parquet_numbers(path, *, sample, columns):
    """Read columns of numbers, in parts of whole people.

    Parameters
    ----------
    path : the file.
    sample : str, the column of ids: text or whole numbers.
    columns : list of str, columns of numbers or of true and false; null, NaN and PLINK's -9 are missing.

    Yields
    ------
    pandas.DataFrame, (n_people, n_columns) float64; the index holds sample ids as text.

    Raises
    ------
    DpgrsError
        Unreadable file, no person, ids that are missing, repeated or hold control characters, a column of
        another type or with a number that is not finite.
    """
    import pyarrow.parquet
    import pyarrow.types as kinds

    schema = _read(path, pyarrow.parquet.read_schema)
    kind = schema.field(sample).type
    if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
        raise DpgrsError(f"`{path}`, column `{sample}`: ids must be text or whole numbers. Convert them.")
    require_numbers(path, columns)
    known = set()
    for batch in parquet_batches(path, [sample, *columns]):
        ids = [str(name) for name in batch.column(sample).to_pylist() if name is not None]
        n_known = len(known)
        known.update(ids)
        if len(known) < n_known + batch.num_rows or not all(map(is_id, ids)):
            raise DpgrsError(
                f"`{path}`: each person must have one row with an id, without control characters. Keep one "
                "row for each."
            )
        values = {name: _floats(batch.column(name), path, name) for name in columns}
        yield pd.DataFrame(values, index=sample_index(ids), columns=list(columns))
    require_people(known, path)


def require_numbers(path, columns):
    """Refuse columns that are not of numbers or of true and false, by their types."""
    import pyarrow.parquet
    import pyarrow.types as kinds

    schema = _read(path, pyarrow.parquet.read_schema)
    for name in columns:
        kind = schema.field(name).type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise DpgrsError(f"`{path}`, column `{name}`: must hold numbers, got {kind}. Convert it.")


def parquet_size(path):
    """Return the number of rows, from the file's footer alone; errors as of `parquet_columns`."""
    import pyarrow.parquet

    return _read(path, pyarrow.parquet.read_metadata).num_rows


def parquet_rows(path, *, columns, places):
    """Read some rows of columns of numbers, a few columns at a time, so that no more is in memory.

    Parameters
    ----------
    path, columns : as in `parquet_numbers`.
    places : (n_places,) int64, ascending places of the rows.

    Returns
    -------
    (n_places, n_columns) float64, NaN where missing.

    Raises
    ------
    DpgrsError
        Unreadable file, or a number that is not finite in these rows.
    """
    values = np.empty((len(places), len(columns)))
    place = {name: column for column, name in enumerate(columns)}
    for rows, block in parquet_chosen(path, columns=columns, places=places):
        for name in block.schema.names:
            values[rows, place[name]] = _floats(block.column(name), path, name)
    return values


def parquet_chosen(path, *, columns, places):
    """Yield some rows of columns of any type, a few columns at a time.

    Parameters
    ----------
    path, columns, places : as in `parquet_rows`.

    Yields
    ------
    slice of the places, and a table of pyarrow with their rows of some columns; a column comes in order.

    Raises
    ------
    DpgrsError
        Unreadable file.
    """
    import pyarrow.parquet

    first = 0
    with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
        found = _read_from(path, lambda: pyarrow.parquet.ParquetFile(file))
        for group in range(found.num_row_groups):
            n_rows = found.metadata.row_group(group).num_rows
            begin, end = np.searchsorted(places, (first, first + n_rows))
            step = max(CHUNK_VALUES // max(n_rows, 1), 1) if begin < end else len(columns)
            for start in range(0, len(columns) if begin < end else 0, step):
                read = partial(found.read_row_group, group, columns=columns[start : start + step])
                yield slice(begin, end), _read_from(path, read).take(places[begin:end] - first)
            first += n_rows


def parquet_batches(path, columns):
    """Yield parts of some columns of a file, of any type, that are not empty: batches of pyarrow."""
    import pyarrow.parquet

    size = max(CHUNK_VALUES // len(columns), 1)
    with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
        found = _read_from(path, lambda: pyarrow.parquet.ParquetFile(file))
        batches = found.iter_batches(batch_size=size, columns=columns)
        while (batch := _read_from(path, lambda: next(batches, None))) is not None:
            if batch.num_rows:
                yield batch


def _floats(column, path, name):
    values = column.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DpgrsError(f"`{path}`, column `{name}`: must hold finite numbers. Correct the column.")
    return np.where(values == MISSING_NUMBER, np.nan, values)


def _read(path, read):
    """Open a file and read with pyarrow."""

    def opened():
        with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
            return read(file)

    return _read_from(path, opened)


def _read_from(path, read):
    """Read with pyarrow, whose errors say much and mend nothing."""
    import pyarrow

    require_regular(path)
    try:
        return read()
    except FileNotFoundError:
        raise UsageError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except pyarrow.ArrowInvalid:
        raise DpgrsError(
            f"`{path}` must be a whole Parquet file, but is cut off or of another kind. Fetch it again."
        ) from None
    except OSError as error:
        raise DpgrsError(
            f"`{path}` must be readable: {error.strerror or 'damaged'}. Correct it and its rights."
        ) from None
