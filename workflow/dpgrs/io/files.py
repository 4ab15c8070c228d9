"""Files that are either whole or absent."""

import hashlib
import shutil
import zipfile
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.json_files import RUN_AGAIN


@contextmanager
def replacing(path):
    """Give a temporary path beside `path`; on success it takes the name `path`, on failure it is removed.

    Parameters
    ----------
    path : the final file or folder. An existing file or an empty folder is replaced.

    Yields
    ------
    pathlib.Path, not yet there: make a file or a folder of it.

    Raises
    ------
    UsageError
        If `path` is a folder that holds something: it could be anything of the user's.
    """
    path = Path(path)
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(
            f"`{path}` must be a new name, got a folder with files in it. Remove it or name another."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    remove(temporary)  # what a killed run left
    try:
        yield temporary
        if path.is_dir():
            path.rmdir()
        temporary.replace(path)
    finally:
        remove(temporary)


def remove(path):
    """Remove a file or a folder if it is there."""
    path = Path(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def file_digest(path):
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_arrays(path, arrays):
    """Write named arrays as one uncompressed ``.npz`` file; same arrays, same bytes.

    Parameters
    ----------
    path : the file.
    arrays : dict of name to array; no object arrays.
    """
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_arrays(path):
    """Read what `save_arrays` wrote, as a dict.

    Raises
    ------
    DpgrsError
        If the file is missing or not of that kind.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    # A flipped bit may also pass for an encryption or a compression that Python does not have.
    except (OSError, EOFError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile) as error:
        raise DpgrsError(f"`{path}` must be a file of arrays that dpgrs wrote. Make it again.") from error


def read_table(path, *, needed=(), **options):
    """Read what `write_table` wrote.

    Parameters
    ----------
    path : the file.
    needed : sequence of str, columns that must be there.
    options : of `pandas.read_csv`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DpgrsError
        If the file is missing, cut off within a line, damaged or of another kind.
    """
    import pandas as pd  # takes 0.2 s, which making a store does without

    try:
        table = pd.read_csv(path, sep="\t", **options)
    except (FileNotFoundError, ValueError):
        table = None
    # pandas would fill the cells that a last line lacks.
    if table is None or not _ends_a_line(path) or not set(needed) <= set(table.columns):
        raise DpgrsError(
            f"`{path}` must be a table that dpgrs wrote, but is missing, cut off or damaged. {RUN_AGAIN}"
        )
    return table


def write_table(path, table):
    """Write a data frame as tab-separated text; floats with 12 significant digits, missing values empty."""
    with replacing(path) as temporary:
        table.to_csv(temporary, sep="\t", index=False, float_format="%.12g", lineterminator="\n")


def _ends_a_line(path):
    with Path(path).open("rb") as file:
        file.seek(-1, SEEK_END)
        return file.read() == b"\n"
