"""Tables in Parquet: columns have types, so that nothing is guessed from text."""

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.tables import require_people


def parquet_columns(path):
    """Return the names of the columns, from the file's footer alone.

    Raises
    ------
    DpgrsError
        Missing or unreadable file, or columns of one name.
    """
    import pyarrow.parquet

    names = _read(path, pyarrow.parquet.read_schema).names
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise DpgrsError(f"`{path}` must have columns with names of their own, got one twice. Rename them.")
    return names


def parquet_numbers(path, *, sample, columns):
    """Read columns of numbers.

    Parameters
    ----------
    path : the file.
    sample : str, the column of ids: text or whole numbers.
    columns : list of str, columns of numbers or of true and false; null and NaN are missing.

    Returns
    -------
    pandas.DataFrame, (n_people, n_columns) float64; the index holds sample ids as text.

    Raises
    ------
    DpgrsError
        Unreadable file, no person, missing or repeated ids, a column of another type or with a number that
        is not finite.
    """
    import pyarrow.parquet
    import pyarrow.types as kinds

    table = _read(path, lambda source: pyarrow.parquet.read_table(source, columns=[sample, *columns]))
    kind = table.schema.field(sample).type
    if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
        raise DpgrsError(f"`{path}`, column `{sample}`: ids must be text or whole numbers. Convert them.")
    for name in columns:
        kind = table.schema.field(name).type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise DpgrsError(f"`{path}`, column `{name}`: must hold numbers, got {kind}. Convert it.")
    ids = table.column(sample).to_pylist()
    require_people(ids, path)
    if any(name in (None, "") for name in ids) or len(set(ids)) < len(ids):
        raise DpgrsError(f"`{path}`: each person must have one row with an id. Keep one row for each.")
    values = {name: _floats(table.column(name), path, name) for name in columns}
    index = pd.Index(list(map(str, ids)), name="sample", dtype=str)
    return pd.DataFrame(values, index=index, columns=list(columns))


def _floats(column, path, name):
    values = column.to_pandas().to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DpgrsError(f"`{path}`, column `{name}`: must hold finite numbers. Correct the column.")
    return values


def _read(path, read):
    """Read with pyarrow, whose errors say much and mend nothing."""
    import pyarrow

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pyarrow takes it as it is
            return read(file)
    except FileNotFoundError:
        raise DpgrsError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except pyarrow.ArrowInvalid:
        raise DpgrsError(
            f"`{path}` must be a whole Parquet file, but is cut off or of another kind. Fetch it again."
        ) from None
    except OSError as error:
        raise DpgrsError(
            f"`{path}` must be readable: {error.strerror or 'damaged'}. Correct it and its rights."
        ) from None
