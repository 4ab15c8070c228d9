"""Files that are either whole or absent; text between steps has its digest beside it."""

import hashlib
import math
import os
import shutil
import struct
import weakref
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError

if TYPE_CHECKING:
    import pandas as pd


RUN_AGAIN = "Remove it, and run the study again."
COPY_AGAIN = "Copy or download the file again."
FETCH_IT = "Mend the path, or fetch the file."


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it takes the name `path`, on failure it is removed.

    Make a file or a folder of it. An existing file or an empty folder is replaced; a folder that holds
    something raises a UsageError.
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


def require_new(path: Path | str) -> None:
    """Refuse a folder that holds something: it could be anything of the user's."""
    path = Path(path)
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(
            "folder-not-empty",
            f"`{path}` must be a new name, got a folder with files in it. Remove it or name another.",
        )


def remove(path: Path | str) -> None:
    """Remove a file or a folder if it is there."""
    path = Path(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_own(directory: Path | str, *, names: set[str], kind: str) -> None:
    """Remove a folder of an earlier run, if there is one, so that a new one can take its place.

    It may hold only files with these names: anything else could be anybody's, and raises a UsageError. `kind`
    says what the folder is, for the message.
    """
    directory = Path(directory)
    files = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if foreign := sorted(files - names):
        raise UsageError(
            "foreign-file-in-folder",
            f"`{directory}` must hold {kind} and nothing else, got {foreign[0]}. Move it away.",
        )
    remove(directory)


def require_regular(path: Path | str) -> None:
    """Refuse a path that is neither a file on a disk nor a folder; a link to a file is fine.

    Reading a pipe could block for ever, and works only once, but checks and jobs read files again.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - takes a path of any kind
    except (OSError, ValueError):
        return  # opening it raises the error
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise DpgrsError(
            "not-a-regular-file",
            f"`{path}` must be a regular file, or a link to one, got a pipe, a socket or a device. Write "
            "what it gives into a file.",
        )


def require_file(path: Path, *, absent: str = FETCH_IT) -> None:
    """Refuse a folder, a dangling link, and an unreadable, empty or absent file (remedy `absent`)."""
    require_regular(path)
    if path.is_dir():
        raise UsageError("folder-as-file", f"`{path}` is a folder. Name a file.")
    if path.is_symlink() and not path.exists():
        raise UsageError(
            "broken-link",
            f"`{path}` is a link to a file that is not there. Mend the link, or fetch the file.",
        )
    if not path.is_file():
        raise UsageError("file-missing", f"`{path}` is not there. {absent}")
    if not os.access(path, os.R_OK):
        raise DpgrsError("file-unreadable", f"`{path}` cannot be read. Mend its permissions.")
    if path.stat().st_size == 0:
        raise DpgrsError("file-empty", f"`{path}` is empty. {COPY_AGAIN}")


def write_closed(path: Path | str, content: bytes) -> None:
    """Write bytes to a file of mode 0600; it is whole or absent."""
    with replacing(path) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def file_digest(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_below(path: Path | str) -> list[Path]:
    """List all files of a folder, sorted, and of folders to which links in it lead; ``rglob`` skips these."""
    paths = []
    for folder, folders, names in os.walk(path, followlinks=True):
        paths += [Path(folder, name) for name in names]
        # A link to a folder on the way leads to no other file, and two would lead on for ever.
        above = {os.path.realpath(directory) for directory in (folder, *Path(folder).parents)}
        folders[:] = [
            directory for directory in folders if os.path.realpath(Path(folder, directory)) not in above
        ]
    return sorted(file for file in paths if file.is_file())


def folder_digest(path: Path | str) -> str:
    """Return the SHA-256 of the lines of ``sha256sum`` of all files of a folder, sorted by name as bytes.

    Their names begin with ``./``, as ``find -L . -type f`` gives them.
    """
    path, digest = Path(path), hashlib.sha256()
    names = (file.relative_to(path).as_posix().encode() for file in files_below(path))
    for name in sorted(names):
        digest.update(f"{file_digest(path / name.decode())}  ./{name.decode()}\n".encode())
    return digest.hexdigest()


def file_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of a folder by their names below it, in order."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def digest_file(path: Path | str) -> Path:
    """Return the path of the digest beside a file, a line as of ``sha256sum``."""
    return Path(f"{path}.sha256")


def write_text(path: Path | str, text: str) -> None:
    """Write text for a later step in UTF-8, with its digest beside it."""
    # Never beside the file of an earlier run: without a digest, a file that a killed job left is still read.
    remove(digest_file(path))
    content = text.encode("utf-8")
    line = f"{hashlib.sha256(content).hexdigest()}  {Path(path).name}\n"
    for name, file_content in ((path, content), (digest_file(path), line.encode("utf-8"))):
        with replacing(name) as temporary:
            temporary.write_bytes(file_content)


def read_bytes(path: Path | str) -> bytes:
    """Read a file, and compare it with the digest beside it, if there is one.

    It raises an OSError if the file cannot be read, a ValueError if it is not what was written, and a
    DpgrsError if it is no file on a disk.
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


def not_as_written(path: Path | str, *, kind: str = "a table", fix: str = RUN_AGAIN) -> DpgrsError:
    """Return the error that a file is not what dpgrs wrote."""
    return DpgrsError(
        "file-not-as-written",
        f"`{path}` must be {kind} that dpgrs wrote, but is missing, cut off or damaged. {fix}",
    )


def written_digest(path: Path | str) -> str:
    """Return the SHA-256 of what `write_text` wrote, in hexadecimal; refuse a damaged file."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except (OSError, ValueError):
        raise not_as_written(path) from None


def save_arrays(path: Path | str, arrays: dict[str, Any] | Iterable[tuple[str, Any]]) -> None:
    """Write named arrays as one uncompressed ``.npz`` file; same arrays, same bytes.

    Only one of an iterable of pairs is in memory at a time. Object arrays are refused.
    """
    with replacing(path) as temporary:
        _write_arrays(temporary, arrays)


def arrays_as_bytes(arrays: dict[str, Any] | Iterable[tuple[str, Any]]) -> bytes:
    """Return the bytes of the file that `save_arrays` would write."""
    content = BytesIO()
    _write_arrays(content, arrays)
    return content.getvalue()


def _write_arrays(target: Path | BytesIO, arrays: dict[str, Any] | Iterable[tuple[str, Any]]) -> None:
    pairs = arrays.items() if isinstance(arrays, dict) else arrays
    with zipfile.ZipFile(target, "w") as file:
        for name, array in pairs:
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
            del array  # before there is another


def load_arrays(path: Path | str, *, content: bytes | None = None) -> dict[str, np.ndarray]:
    """Read what `save_arrays` wrote; `content` holds its bytes if they are not in the file."""
    with readable_arrays(path, content=content) as arrays:
        return dict(arrays)


def require_plain_arrays(
    path: Path | str, *, content: bytes | None = None, is_known: Callable[[str], bool]
) -> None:
    """Refuse a file of arrays whose headers claim more than it holds, before any of it is unpacked.

    An array must have a known name, once, and be uncompressed and of the size of its bytes. `content` is as
    in `load_arrays`.
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
            "arrays-not-plain",
            f"`{path}` must hold plain arrays of known names, got others. Ask whoever made it to make "
            "it again.",
        )


def _is_whole_array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Return whether a member of an archive is as large as its head says, without reading its numbers."""
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
def readable_arrays(path: Path | str, *, content: bytes | None = None) -> Iterator[Mapping[str, np.ndarray]]:
    """Give the arrays of such a file by name, each read when needed; parameters are those of
    `load_arrays`."""
    with (
        _as_written(path),
        np.load(path if content is None else BytesIO(content), allow_pickle=False) as arrays,
    ):
        yield arrays


class LazyArrays(Mapping):
    """Arrays of such a file, each read whenever it is taken; the file stays open meanwhile."""

    def __init__(self, path: Path | str, names: Mapping[str, str]) -> None:
        """Open a file; `names` are the names of its arrays, by the keys of this mapping."""
        self._path, self._names = path, names
        with _as_written(path):
            self._arrays = np.load(path, allow_pickle=False)
        # Of objects in a cycle, the open file may go before what would close it.
        weakref.finalize(self, self._arrays.close)

    def __getitem__(self, name: str) -> np.ndarray:
        with _as_written(self._path):
            return self._arrays[self._names[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def spooled_arrays(folder: Path | None) -> Iterator[Callable[[np.ndarray], Callable[[], np.ndarray]]]:
    """Give a function that writes an array in single precision, and returns a function that reads it again.

    The file has no name, and is gone with the process. None takes the folder of temporary files.
    """
    with TemporaryFile(dir=folder) as file:

        def keep(array: np.ndarray) -> Callable[[], np.ndarray]:
            start = file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(array, dtype=np.float32).data)
            return partial(read, start, array.shape)

        def read(start: int, shape: tuple[int, ...]) -> np.ndarray:
            file.seek(start)
            content = file.read(math.prod(shape) * np.dtype(np.float32).itemsize)
            return np.frombuffer(content, dtype=np.float32).reshape(shape)

        yield keep


@contextmanager
def _as_written(path: Path | str) -> Iterator[None]:
    """Refuse a file that is not as it was written, where reading it fails."""
    try:
        yield
    # A flipped bit may also pass for an encryption or a compression that Python does not have.
    except (OSError, EOFError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile) as error:
        raise DpgrsError(
            "file-not-as-written", f"`{path}` must be a file of arrays that dpgrs wrote. Make it again."
        ) from error


def read_table(path: Path | str, *, required: Collection[str] = (), **options: Any) -> "pd.DataFrame":
    """Read what `write_table` wrote; refuse a file that is missing, cut off, damaged or lacks needed columns.

    Options are those of `pandas.read_csv`.
    """
    import pandas as pd  # takes 0.2 s, which making a store does without

    try:
        content = read_bytes(path)
        table = pd.read_csv(BytesIO(content), sep="\t", **options)
    except (OSError, ValueError):
        table = None
    # pandas would fill the cells that a last line lacks.
    if table is None or not content.endswith(b"\n") or not set(required) <= set(table.columns):
        raise not_as_written(path)
    return table


def table_text(table: "pd.DataFrame") -> str:
    """Return a data frame as tab-separated text; floats with 12 significant digits, missing values empty."""
    return table.to_csv(sep="\t", index=False, float_format="%.12g", lineterminator="\n")


def write_table(path: Path | str, table: "pd.DataFrame") -> None:
    """Write a data frame as `table_text`, with its digest beside it."""
    write_text(path, table_text(table))
