"""Tables of real numbers as arrays of numpy: all of them, or some of their rows."""

import io
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import require_regular
from dpgrs.io.tables.real_columns import KEYS, RealTable, matched, numbered, require_some
from dpgrs.io.tables.text_columns import LARGEST_VALUE, require_own_names

ARRAYS = (".npy", ".npz")
NUMBERS = "biuf"
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
BLOCK_BYTES = 1 << 22


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
    with _opened(path) as file:
        content = np.load(file, allow_pickle=False)
        contents = {"x": content} if isinstance(content, np.ndarray) else dict(content.items())
    return {name: contents[name] for name in _named(arrays, list(contents), path)}


def array_shapes(
    path: Path | str, *, arrays: Sequence[str] | None = None
) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of arrays by their headers; parameters are those of `read_arrays`.

    The result is None if one is not of numbers, or they have different lengths: reading them then fails.
    """
    with _members(path) as members:
        headers = {name: _header(members[name]()) for name in _named(arrays, list(members), path)}
    if any(header is None or not header[0] or not math.prod(header[0]) for header in headers.values()):
        return None
    shapes = {name: shape for name, (shape, _, _) in headers.items()}
    return shapes if len({shape[0] for shape in shapes.values()}) == 1 else None


def array_rows(path: Path | str, names: Iterable[str], row_numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows with the ascending numbers `row_numbers` of arrays, which it reads a block at a time.

    The arrays have a shape in `array_shapes`.
    """
    with _members(path) as members:
        return {name: _rows_at(members[name](), row_numbers) for name in names}


def table_of_arrays(
    path: str, arrays: dict[str, np.ndarray], *, row_id: np.ndarray | None = None, drop: Iterable[str] = ()
) -> RealTable:
    """Return a table of arrays, whose first axis is that of rows.

    Rows are numbered from 1 without `row_id`; `drop` are patterns of columns to leave out. Arrays that are
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
    return RealTable(path, numbered(len(values)) if row_id is None else row_id, names, values).part(remaining)


def _named(arrays: Sequence[str] | None, names: list[str], path: Path | str) -> list[str]:
    return names if arrays is None else matched(arrays, names, key="cohort.arrays", path=path)


@contextmanager
def _opened(path: Path | str) -> Iterator[IO[bytes]]:
    require_regular(path)
    try:
        # Opened here, since numpy leaves a damaged file open.
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise UsageError(f"`{path}` must be a table, but is not there. Correct the path.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise DpgrsError(f"`{path}` must be a whole file of numpy arrays. Write it again.") from None


@contextmanager
def _members(path: Path | str) -> Iterator[dict[str, Callable[[], IO[bytes]]]]:
    """Give the name of each array with a function that opens it."""
    with _opened(path) as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            yield {"x": lambda: io.BufferedReader(io.FileIO(path))}
            return
        with zipfile.ZipFile(file) as archive:
            yield {name.removesuffix(".npy"): partial(archive.open, name) for name in archive.namelist()}


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype] | None:
    """Return the shape, whether the order is Fortran's, and the type of an array of numbers, or None."""
    with file:
        return _read_header(file)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype] | None:
    read = HEADERS.get(npy.read_magic(file))
    header = read and read(file)
    return header if header and header[2].kind in NUMBERS else None


def _rows_at(file: IO[bytes], row_numbers: np.ndarray) -> np.ndarray:
    with file:
        shape, is_fortran, kind = _read_header(file)
        n_rows, width = shape[0], math.prod(shape[1:])
        rows = np.empty((len(row_numbers), width), dtype=kind)
        if is_fortran and width > 1:
            # Columns follow each other; the first of further axes varies fastest.
            for column in range(width):
                rows[:, column] = _next(file, n_rows, kind)[row_numbers]
            return rows.reshape((len(row_numbers), *shape[1:]), order="F")
        step = max(BLOCK_BYTES // (width * kind.itemsize), 1)
        for start in range(0, n_rows, step):
            block = _next(file, min(step, n_rows - start) * width, kind).reshape(-1, width)
            begin, end = np.searchsorted(row_numbers, (start, start + len(block)))
            rows[begin:end] = block[row_numbers[begin:end] - start]
        return rows.reshape((len(row_numbers), *shape[1:]))


def _next(file: IO[bytes], n_numbers: int, kind: np.dtype) -> np.ndarray:
    read = file.read(n_numbers * kind.itemsize)
    if len(read) < n_numbers * kind.itemsize:
        raise EOFError
    return np.frombuffer(read, kind)
