"""Files that are either whole or absent; what lies between steps as text has its digest beside it."""

import hashlib
import math
import os
import shutil
import struct
import zipfile
import zlib
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from stat import S_ISDIR, S_ISREG

import numpy as np

from dpgrs.errors import DpgrsError, UsageError

RUN_AGAIN = "Remove it, and run the study again."
COPY_AGAIN = "Copy or download the file again."
FETCH_IT = "Mend the path, or fetch the file."


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
    require_new(path)
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


def require_new(path):
    """Refuse a folder that holds something: it could be anything of the user's.

    Raises
    ------
    UsageError
    """
    path = Path(path)
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(
            f"`{path}` must be a new name, got a folder with files in it. Remove it or name another."
        )


def remove(path):
    """Remove a file or a folder if it is there."""
    path = Path(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_own(directory, *, names, kind):
    """Remove a folder of an earlier run, so that a new one can take its place.

    Parameters
    ----------
    directory : the folder; one that is absent does no harm.
    names : set of str, what it may hold.
    kind : str, what it is, for the message.

    Raises
    ------
    UsageError
        If it holds anything else: it could be anybody's.
    """
    directory = Path(directory)
    held = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if foreign := sorted(held - names):
        raise UsageError(f"`{directory}` must hold {kind} and nothing else, got {foreign[0]}. Move it away.")
    remove(directory)


def require_regular(path):
    """Refuse what is there, but is neither a file on a disk nor a folder; a link to a file is fine.

    A pipe is waited for without an end, and can be read only once where checks and jobs read it again.

    Raises
    ------
    DpgrsError
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - takes a path of any kind
    except (OSError, ValueError):
        return  # said by who opens it
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise DpgrsError(
            f"`{path}` must be a regular file, or a link to one, got a pipe, a socket or a device. Write "
            "what it gives into a file."
        )


def require_file(path, *, absent=FETCH_IT):
    """Refuse what is no file that can be read: a folder, a link to nothing, or an empty file.

    Parameters
    ----------
    path : pathlib.Path
    absent : str, the remedy for a file that is not there.

    Raises
    ------
    DpgrsError
    """
    require_regular(path)
    if path.is_dir():
        raise UsageError(f"`{path}` is a folder. Name a file.")
    if path.is_symlink() and not path.exists():
        raise UsageError(f"`{path}` is a link to a file that is not there. Mend the link, or fetch the file.")
    if not path.is_file():
        raise UsageError(f"`{path}` is not there. {absent}")
    if not os.access(path, os.R_OK):
        raise DpgrsError(f"`{path}` cannot be read. Mend its permissions.")
    if path.stat().st_size == 0:
        raise DpgrsError(f"`{path}` is empty. {COPY_AGAIN}")


def write_closed(path, content):
    """Write bytes to a file of mode 0600; it is whole or absent."""
    with replacing(path) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def file_digest(path):
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path):
    """Return the SHA-256 of the lines of ``sha256sum`` of all files of a folder, sorted by name as bytes.

    Their names begin with ``./``, as ``find . -type f`` gives them.
    """
    path, found = Path(path), hashlib.sha256()
    names = (one.relative_to(path).as_posix().encode() for one in path.rglob("*") if one.is_file())
    for name in sorted(names):
        found.update(f"{file_digest(path / name.decode())}  ./{name.decode()}\n".encode())
    return found.hexdigest()


def digest_file(path):
    """Return the path of the digest beside a file, a line as of ``sha256sum``."""
    return Path(f"{path}.sha256")


def write_text(path, text):
    """Write text for a later step, with its digest beside it.

    Parameters
    ----------
    path : the file.
    text : str, as it is to be; UTF-8.
    """
    # Never beside the file of an earlier run: without one, a file that a killed job left is still read.
    remove(digest_file(path))
    content = text.encode("utf-8")
    line = f"{hashlib.sha256(content).hexdigest()}  {Path(path).name}\n"
    for name, whole in ((path, content), (digest_file(path), line.encode("utf-8"))):
        with replacing(name) as temporary:
            temporary.write_bytes(whole)


def read_bytes(path):
    """Read a file, and hold it against the digest beside it, if there is one.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not what was written.
    DpgrsError
        If it is no file on a disk.
    """
    require_regular(path)
    content = Path(path).read_bytes()
    try:
        digest = digest_file(path).read_bytes()[:64]
    # Files of the user's own have none.
    except FileNotFoundError:
        return content
    if digest != hashlib.sha256(content).hexdigest().encode():
        raise ValueError(f"`{path}` differs from the digest beside it.")
    return content


def not_as_written(path, *, kind="a table", fix=RUN_AGAIN):
    """Return the error that a file is not what dpgrs wrote."""
    return DpgrsError(f"`{path}` must be {kind} that dpgrs wrote, but is missing, cut off or damaged. {fix}")


def written_digest(path):
    """Return the SHA-256 of what `write_text` wrote, in hexadecimal; a `DpgrsError` where it is damaged."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except (OSError, ValueError):
        raise not_as_written(path) from None


def save_arrays(path, arrays):
    """Write named arrays as one uncompressed ``.npz`` file; same arrays, same bytes.

    Parameters
    ----------
    path : the file.
    arrays : dict of name to array, or iterable of such pairs, of which one is in memory at a time; no object
        arrays.
    """
    with replacing(path) as temporary:
        _write_arrays(temporary, arrays)


def arrays_as_bytes(arrays):
    """Return the bytes of the file that `save_arrays` would write."""
    content = BytesIO()
    _write_arrays(content, arrays)
    return content.getvalue()


def _write_arrays(target, arrays):
    pairs = arrays.items() if isinstance(arrays, dict) else arrays
    with zipfile.ZipFile(target, "w") as file:
        for name, array in pairs:
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
            del array  # before there is another


def load_arrays(path, *, content=None):
    """Read what `save_arrays` wrote, as a dict.

    Parameters
    ----------
    path : the file.
    content : bytes of it, where they lie elsewhere; None reads the file.

    Raises
    ------
    DpgrsError
        If the file is missing or not of that kind.
    """
    with readable_arrays(path, content=content) as arrays:
        return dict(arrays)


def require_plain_arrays(path, *, content=None, is_known):
    """Refuse a file of arrays that says it holds more than it does, before anything of it is unpacked.

    Parameters
    ----------
    path, content : as in `load_arrays`.
    is_known : function of a name, whether an array may be called that.

    Raises
    ------
    DpgrsError
        If an array has another name, is there twice, is compressed, or of another size than its bytes.
    """
    is_plain = False
    try:
        size = Path(path).stat().st_size if content is None else len(content)
        with zipfile.ZipFile(path if content is None else BytesIO(content)) as file:
            members = file.infolist()
            names = {member.filename.removesuffix(".npy") for member in members}
            is_plain = len(names) == len(members) and all(map(is_known, names))
            is_plain &= sum(member.file_size for member in members) <= size
            is_plain = is_plain and all(_is_whole_array(file, member) for member in members)
    except _UNREADABLE:
        is_plain = False
    if not is_plain:
        raise DpgrsError(
            f"`{path}` must hold plain arrays of known names, got others. Ask whoever made it to make "
            "it again."
        )


def _is_whole_array(file, member):
    """Tell whether a member of an archive is as large as its head says, without reading its numbers."""
    if member.compress_type != zipfile.ZIP_STORED:
        return False
    with file.open(member) as array:
        if np.lib.format.read_magic(array) != (1, 0):
            return False
        shape, _, dtype = np.lib.format.read_array_header_1_0(array)
        if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
            return False
        return array.tell() + math.prod(shape) * dtype.itemsize == member.file_size


# A flipped bit may also pass for an encryption or a compression that Python does not have.
_UNREADABLE = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, SyntaxError),
    *(RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error),
)


@contextmanager
def readable_arrays(path, *, content=None):
    """Give a mapping of names to arrays of such a file, each read when it is asked for; errors likewise."""
    try:
        with np.load(path if content is None else BytesIO(content), allow_pickle=False) as arrays:
            yield arrays
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
        content = read_bytes(path)
        table = pd.read_csv(BytesIO(content), sep="\t", **options)
    except (OSError, ValueError):
        table = None
    # pandas would fill the cells that a last line lacks.
    if table is None or not content.endswith(b"\n") or not set(needed) <= set(table.columns):
        raise not_as_written(path)
    return table


def table_text(table):
    """Return a data frame as tab-separated text; floats with 12 significant digits, missing values empty."""
    return table.to_csv(sep="\t", index=False, float_format="%.12g", lineterminator="\n")


def write_table(path, table):
    """Write a data frame as `table_text`, with its digest beside it."""
    write_text(path, table_text(table))
