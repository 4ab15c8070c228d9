"""Tables of real numbers as arrays of numpy: all of them, or some of their rows."""

import io
import math
import zipfile
from contextlib import contextmanager
from pathlib import Path

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


def is_of_arrays(path, *, row_id, arrays, one_hot):
    """Tell by its name whether a table is of arrays; refuse what is for others, as `read_real_table` does."""
    if not path.lower().endswith(ARRAYS):
        if arrays is not None:
            raise UsageError(f"`cohort.arrays` is for an .npz, got it with `{path}`. Leave it out.")
        return False
    for key, given in (("cohort.id", row_id), (KEYS.one_hot, one_hot)):
        if given:
            raise UsageError(f"`{key}` is for tables with names, got it with `{path}`. Leave it out.")
    return True


def read_arrays(path, *, arrays=None):
    """Read arrays.

    Parameters
    ----------
    path : an `.npy`, whose array is named ``x``, or an `.npz`.
    arrays : list of str, names or patterns of those to read; None reads all.

    Returns
    -------
    dict of name to array.

    Raises
    ------
    DpgrsError
        Missing or damaged file.
    UsageError
        A name that none has.
    """
    with _opened(path) as file:
        found = np.load(file, allow_pickle=False)
        found = {"x": found} if isinstance(found, np.ndarray) else dict(found.items())
    return {name: found[name] for name in _named(arrays, list(found), path)}


def array_shapes(path, *, arrays=None):
    """Return the shapes of arrays by their headers alone, dict of name to tuple of int.

    Parameters and errors are those of `read_arrays`. None where one is not of numbers, or they are of
    different lengths: reading them says so.
    """
    with _members(path) as members:
        headers = {name: _header(members[name]()) for name in _named(arrays, list(members), path)}
    if any(header is None or not header[0] or not math.prod(header[0]) for header in headers.values()):
        return None
    shapes = {name: shape for name, (shape, _, _) in headers.items()}
    return shapes if len({shape[0] for shape in shapes.values()}) == 1 else None


def array_rows(path, names, places):
    """Read some rows of arrays, a block of a file at a time.

    Parameters
    ----------
    path : as in `read_arrays`.
    names : iterable of str, of arrays with a shape in `array_shapes`.
    places : (n_places,) int64, ascending.

    Returns
    -------
    dict of name to array, of n_places rows.

    Raises
    ------
    DpgrsError
        Damaged file.
    """
    with _members(path) as members:
        return {name: _rows_at(members[name](), places) for name in names}


def table_of_arrays(path, found, *, row_id=None, drop=()):
    """Make a table of arrays.

    Parameters
    ----------
    path : str
    found : dict of name to array, the first axis that of rows.
    row_id : (n_rows,) str; None numbers the rows from 1.
    drop : as in `read_real_table`.

    Returns
    -------
    RealTable

    Raises
    ------
    UsageError
        Arrays that are not of finite numbers, or of different lengths; as `matched` and `require_own_names`.
    """
    names, values = [], []
    for name, array in found.items():
        is_plain = array.dtype.kind in NUMBERS and array.ndim > 0 and array.size > 0
        # NaN is not small either.
        if not is_plain or not (np.abs(array.astype(np.float64)) <= LARGEST_VALUE).all():
            raise UsageError(
                f"`{path}`, array `{name}`: must hold finite numbers, at most {LARGEST_VALUE:g}, "
                "a row a unit, got others. Leave it out of `cohort.arrays`, or correct it."
            )
        columns = array.reshape(len(array), -1).astype(np.float64)
        names += [name] if columns.shape[1] == 1 else [f"{name}{j + 1}" for j in range(columns.shape[1])]
        values.append(columns)
    lengths = {name: len(array) for name, array in found.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise UsageError(
            f"`cohort.arrays` must name arrays of one number of rows, got {listed}. Name others."
        )
    require_own_names(path, names, KEYS)
    dropped = set(matched(drop, names, key=KEYS.drop, path=path))
    kept = [name for name in names if name not in dropped]
    require_some(kept, path)
    values = np.column_stack(values)
    return RealTable(path, numbered(len(values)) if row_id is None else row_id, names, values).part(kept)


def _named(arrays, names, path):
    return names if arrays is None else matched(arrays, names, key="cohort.arrays", path=path)


@contextmanager
def _opened(path):
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
def _members(path):
    """Give a dict of the name of each array to a function that opens it."""
    with _opened(path) as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            yield {"x": lambda: io.BufferedReader(io.FileIO(path))}
            return
        with zipfile.ZipFile(file) as archive:
            yield {
                name.removesuffix(".npy"): lambda name=name: archive.open(name) for name in archive.namelist()
            }


def _header(file):
    """Return the shape, whether the order is Fortran's, and the type of an array of numbers, or None."""
    with file:
        return _read_header(file)


def _read_header(file):
    read = HEADERS.get(npy.read_magic(file))
    found = read and read(file)
    return found if found and found[2].kind in NUMBERS else None


def _rows_at(file, places):
    with file:
        shape, is_fortran, kind = _read_header(file)
        n_rows, width = shape[0], math.prod(shape[1:])
        found = np.empty((len(places), width), dtype=kind)
        if is_fortran and width > 1:
            # A column after the other; that of the first of further axes comes first.
            for column in range(width):
                found[:, column] = _next(file, n_rows, kind)[places]
            return found.reshape((len(places), *shape[1:]), order="F")
        step = max(BLOCK_BYTES // (width * kind.itemsize), 1)
        for start in range(0, n_rows, step):
            block = _next(file, min(step, n_rows - start) * width, kind).reshape(-1, width)
            begin, end = np.searchsorted(places, (start, start + len(block)))
            found[begin:end] = block[places[begin:end] - start]
        return found.reshape((len(places), *shape[1:]))


def _next(file, n_numbers, kind):
    read = file.read(n_numbers * kind.itemsize)
    if len(read) < n_numbers * kind.itemsize:
        raise EOFError
    return np.frombuffer(read, kind)
