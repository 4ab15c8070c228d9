"""An append-only file of JSON lines, each bound to the one before, that a kill at any moment leaves usable.

Beside ``FILE`` lies ``FILE.head``, the number of entries and the hash of the last one. An append writes and
syncs its line, then replaces the head, and only then returns; one that fails takes its line back. What lies
beyond the head has therefore never had a consequence: one whole line (a kill before the head was replaced),
which counts, or one torn line (a kill or a power cut inside the write), which can be cut off. Everything else
is damage or tampering.
"""

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.digests import canonical, digest
from dpgrs.privacy.private_folders import OPEN_TO_OTHERS

GENESIS = "0" * 64
# Fields that the chain itself adds to an entry.
OWN_FIELDS = {"number", "time", "previous", "hash"}
Entry = dict[str, Any]  # JSON values


def head_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a chain's head, which lies beside the file itself where the path is a link to it."""
    path = Path(path)
    if path.is_symlink():
        # Two links to file and head would part: the head is replaced, and the file is not.
        path = Path(os.path.realpath(path))
    return path.with_name(f"{path.name}.head")


class HashChain:
    """The entries of a locked file; made by `creating_chain`, `appending_to` and `reading_chain`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        content = _scan(path, descriptor)
        if content.is_torn:
            raise DpgrsError(
                "ledger-write-unfinished",
                f"The ledger {path} ends in an unfinished write, after which nothing was drawn. "
                f"Cut it off with `dpgrs ledger repair {path}`.",
            )
        self.entries, self._size, self._is_settled = content.entries, content.size, content.is_settled

    def settle(self) -> None:
        """Bring the head up to an entry whose writer was killed before it could."""
        if not self._is_settled:
            os.fsync(self._descriptor)
            self._replace_head()

    def append(
        self,
        body: Entry,  # without `OWN_FIELDS`
    ) -> Entry:
        """Add an entry and return it, complete with its hash, when it is safe on disk."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        entry = _sealed(body, number=len(self.entries), time=time, previous=_last_hash(self.entries))
        line = _line(entry)
        try:
            # The new head comes first: a disk that is full has then no line to take back.
            head = self._write_head([*self.entries, entry])
            _write(self._descriptor, line)
            os.fsync(self._descriptor)
            head.replace(head_path(self._path))
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            raise DpgrsError(
                "ledger-not-writable",
                f"The ledger {self._path} cannot be written: {error.strerror or error}. The entry was taken "
                "back, and nothing was drawn on it. Make room, and run it again as it is.",
            ) from error
        self.entries.append(entry)
        self._size += len(line)
        self._settled()
        return entry

    def _replace_head(self) -> None:
        self._write_head(self.entries).replace(head_path(self._path))
        self._settled()

    def _write_head(self, entries: Sequence[Entry]) -> Path:
        """Write the head after these entries beside the one that is there; return its path."""
        head = head_path(self._path)
        temporary = head.with_name(f".{head.name}.partial")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(descriptor, _head(entries))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return temporary

    def _settled(self) -> None:
        _sync_folder(head_path(self._path).parent)
        self._is_settled = True


@contextmanager
def creating_chain(path: Path) -> Iterator[HashChain]:
    """Give a new, empty chain to append to, under an exclusive lock.

    A file that has entries is refused, and so is one that is gone while its head is there.
    """
    path = Path(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if head_path(path).exists() and not path.exists():
        raise UsageError(
            "ledger-lost",
            f"The ledger {path} must be new, but its head {head_path(path)} exists: the ledger was lost. "
            "Restore it from a copy; what was spent cannot be forgotten.",
        )
    with _locked(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, fcntl.LOCK_EX) as descriptor:
        chain = HashChain(path, descriptor)
        if chain.entries:
            raise UsageError(
                "ledger-exists",
                f"The ledger {path} must be new, but it exists. Use it, or name another file.",
            )
        yield chain


@contextmanager
def appending_to(path: Path) -> Iterator[HashChain]:
    """Give an existing chain to append to, under an exclusive lock.

    Here and in `reading_chain` a file that is missing, torn, damaged or tampered with is refused.
    """
    with _locked(path, os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as descriptor:
        chain = HashChain(path, descriptor)
        chain.settle()
        yield chain


@contextmanager
def reading_chain(path: Path) -> Iterator[HashChain]:
    """Give an existing chain to read, under a shared lock."""
    with _locked(path, os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
        yield HashChain(path, descriptor)


@contextmanager
def reading_files(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Give the raw bytes of a chain and of its head (empty if there is none), under a shared lock."""
    with _locked(path, os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
        yield _read(descriptor), _read_head(path)


def repair(path: Path) -> int:
    """Cut off a torn last line, after which nothing can have been drawn; return how many bytes it had.

    A file that is missing or damaged in any other way is refused.
    """
    with _locked(path, os.O_RDWR, fcntl.LOCK_EX) as descriptor:
        content = _scan(path, descriptor)
        n_cut = os.fstat(descriptor).st_size - content.size
        if content.is_torn:
            os.ftruncate(descriptor, content.size)
            os.fsync(descriptor)
        return n_cut


@dataclass(frozen=True)
class _Content:
    """The content of a file: its entries, their bytes, and how it ends."""

    entries: list[Entry]
    size: int
    is_settled: bool
    is_torn: bool


def _scan(path: Path, descriptor: int) -> _Content:
    head = _read_head(path)
    lines = _read(descriptor).splitlines(keepends=True)
    entries: list[Entry] = []
    size = 0
    for line in lines:
        entry = _entry(line, number=len(entries), previous=_last_hash(entries))
        if entry is None:
            break
        entries.append(entry)
        size += len(line)
    n_unread = len(lines) - len(entries)
    is_settled = head == _head(entries)
    is_torn = n_unread == 1 and is_settled and _may_be_torn(lines[-1])
    is_one_ahead = n_unread == 0 and bool(entries) and head == _head(entries[:-1])
    if not (is_torn or is_one_ahead or (n_unread == 0 and is_settled)):
        where = f"line {len(entries) + 1}" if n_unread else f"its head {head_path(path)}"
        raise DpgrsError(
            "ledger-damaged",
            f"The ledger {path} was damaged or changed: its chain breaks at {where}. Restore the ledger and "
            "its head from a copy made after the last release; until then nothing is drawn.",
        )
    return _Content(entries, size, is_settled, is_torn)


def _may_be_torn(line: bytes) -> bool:
    """Whether a crash leaves this of a line: its beginning, or zeros for blocks not written."""
    return line[:1] in (b"{", b"\0") and (b"\0" in line or not line.endswith(b"\n"))


def _entry(line: bytes, *, number: int, previous: str) -> Entry | None:
    """Return the entry of a line, or None unless `append` would have written exactly these bytes."""
    try:
        entry = json.loads(line)
        body = {name: value for name, value in entry.items() if name not in OWN_FIELDS}
        sealed = _sealed(body, number=number, time=entry["time"], previous=previous)
        return sealed if line == _line(sealed) else None
    except (ValueError, AttributeError, KeyError, RecursionError):
        return None


def _sealed(body: Entry, **links: int | str) -> Entry:
    entry = body | links
    return entry | {"hash": digest(entry)}


def _line(entry: Entry) -> bytes:
    return canonical(entry) + b"\n"


def _last_hash(entries: Sequence[Entry]) -> str:
    return entries[-1]["hash"] if entries else GENESIS


def _head(entries: Sequence[Entry]) -> bytes:
    """Return the bytes of the head after these entries; a new chain has none."""
    return _line({"entries": len(entries), "hash": _last_hash(entries)}) if entries else b""


def _read_head(path: Path) -> bytes:
    _require_file(head_path(path))
    try:
        with head_path(path).open("rb") as file:
            _require_closed(head_path(path), file.fileno())
            return file.read()
    except FileNotFoundError:
        return b""


def _require_file(path: Path) -> None:
    """Refuse a path to anything but a file: a pipe would be waited for without an end."""
    path = Path(path)
    if path.exists() and not path.is_file():
        got = "a folder. Name the file in it." if path.is_dir() else "a pipe or a device. Name a file."
        raise DpgrsError("ledger-not-a-file", f"The ledger {path} must be a file, got {got}")


def _require_closed(path: Path, descriptor: int) -> None:
    """Refuse a file of a ledger that others may read or write."""
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or status.st_mode & OPEN_TO_OTHERS:
        raise DpgrsError(
            "ledger-not-closed",
            f"The ledger must be yours and closed to all others, got {path} of mode "
            f"{stat.S_IMODE(status.st_mode):04o}. Run `chmod 600`; if others may have written to it, compare "
            "it with a copy first.",
        )


@contextmanager
def _locked(path: Path, flags: int, lock: int) -> Iterator[int]:
    _require_file(path)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        raise UsageError(
            "ledger-missing",
            f"The ledger {path} does not exist. Correct the path; if it was "
            "lost, restore it from a copy. Only for a dataset that never had one: `dpgrs ledger init`.",
        ) from None
    try:
        _require_closed(path, descriptor)
        fcntl.flock(descriptor, lock)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _write(descriptor: int, data: bytes) -> None:
    """Write all bytes in one call: a second one could be torn from the first."""
    if os.write(descriptor, data) != len(data):
        raise OSError("the disk took only a part of it")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
