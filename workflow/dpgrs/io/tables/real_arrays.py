"""Tables of real numbers as arrays of numpy."""

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.real_columns import KEYS, RealTable, matched, require_some
from dpgrs.io.tables.text_columns import LARGEST_VALUE, require_own_names

ARRAYS = (".npy", ".npz")
NUMBERS = "biuf"


def is_of_arrays(
    path: str, *, row_id: str | None, arrays: Sequence[str] | None, one_hot: Sequence[str]
) -> bool:
    """Return whether the name of a table is that of arrays; refuse options that are for other tables."""
    if not path.lower().endswith(ARRAYS):
        if arrays is not None:
            raise UsageError(f"`cohort.arrays` is for an .npz, got it with `{path}`. Leave it out.")
        return False
    for key, setting in (("cohort.id", row_id), (KEYS.one_hot, one_hot)):
        if setting:
            raise UsageError(f"`{key}` is for tables with names, got it with `{path}`. Leave it out.")
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
        raise UsageError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise DpgrsError(f"`{path}` must be a whole file of numpy arrays. Write it again.") from None
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
                f"`{path}`, array `{name}`: must hold finite numbers, at most {LARGEST_VALUE:g}, "
                "a row a unit, got others. Leave it out of `cohort.arrays`, or correct it."
            )
        columns = array.reshape(len(array), -1).astype(np.float64)
        names += [name] if columns.shape[1] == 1 else [f"{name}{j + 1}" for j in range(columns.shape[1])]
        blocks.append(columns)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise UsageError(
            f"`cohort.arrays` must name arrays of one number of rows, got {listed}. Name others."
        )
    require_own_names(path, names, KEYS)
    dropped = set(matched(drop, names, key=KEYS.drop, path=path))
    remaining = [name for name in names if name not in dropped]
    require_some(remaining, path)
    values = np.column_stack(blocks)
    return RealTable.numbered(path, names, values).part(remaining)
