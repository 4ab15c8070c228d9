"""The text of a VCF in blocks of whole lines, inflated by ISA-L while they are read.

The blocks of a BGZF file are inflated in several threads; plain gzip and plain text are read in one.
"""

import gzip
import itertools
import mmap
import os
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from isal import igzip, igzip_lib, isal_zlib

BLOCK_BYTES = 2**21
LONGEST_LINE = 2**28
N_THREADS = 2

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_MAGIC, _HAS_EXTRA = b"\x1f\x8b", 4
_HEADER_BYTES, _FOOTER_BYTES = 18, 8
_MAX_INFLATED = 2**16
_ROOM = 2**18  # before each block, for the line that began in the block before
_WINDOW = 2**16
_SEARCHED = 2**24


class DamagedError(Exception):
    """The file cannot be inflated any further."""


class LongLineError(Exception):
    """A line has more than `LONGEST_LINE` bytes."""


class _Part(NamedTuple):
    offset: int | None  # htslib's virtual offset, or None for where the last part ended
    n_bytes: int  # after inflation; 0 for a part that is damaged
    end: int | None  # htslib's virtual offset of the part after it, as `offset`


def line_blocks(
    path: Path,
    *,
    offset: int = 0,
    n_bytes: int = BLOCK_BYTES,
    n_threads: int = N_THREADS,
) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield (text, start, stop) in order: the lines of BGZF, plain gzip or plain text.

    ``text[start:stop]``, uint8, is one line or more, the last with its newline unless it ends the file. It is
    to be used before the next block is asked for.

    `offset` is htslib's virtual offset of the first line, 0 if the file is not BGZF; `n_bytes` is the size to
    aim at. DamagedError comes after all blocks that could be inflated.
    """
    tail = np.empty(0, dtype=np.uint8)
    free = []
    for buffer, n in _inflated(path, offset, n_bytes, n_threads=n_threads, free=free):
        text, start, stop = _joined(tail, buffer, _ROOM + n)
        end = _after_last_newline(text, start + len(tail), stop)
        if end is None:
            if stop - start > LONGEST_LINE:
                raise LongLineError
            tail = text[start:stop].copy()
            free.append(buffer)
            continue
        tail = text[end:stop].copy()
        yield text, start, end
        free.append(buffer)
    if len(tail):
        yield tail, 0, len(tail)


def is_bgzf(start: bytes) -> bool:
    """Tell BGZF from plain gzip by its first bytes, as htslib does: its first extra field is named BC."""
    return start.startswith(_MAGIC) and start[12:16] == b"BC\2\0" and bool(start[3] & _HAS_EXTRA)


def first_byte(path: Path, offset: int) -> int | None:
    """Return the first byte of the text from htslib's virtual offset in a BGZF file, or None at its end."""
    inflated = _inflated(path, offset, 1, n_threads=1, free=[])
    buffer, _ = next(inflated, (None, 0))
    return None if buffer is None else buffer[_ROOM]


def end_marks(path: Path, *, stop: int) -> list[int]:
    """Return htslib's virtual offsets of the end marks of BGZF before `stop`, where files were joined."""
    marks, read_until, stop = [], 0, stop >> 16
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for start in range(0, stop, _SEARCHED):
            end = min(start + _SEARCHED, stop)
            while (at := mapped.find(BGZF_END, start, end + len(BGZF_END) - 1)) >= 0:
                marks.append(at << 16)
                start = at + len(BGZF_END)
            read_until = _let_go(mapped, read_until, end)
    return marks


def _joined(tail: np.ndarray, buffer: np.ndarray, stop: int) -> tuple[np.ndarray, int, int]:
    """Put the tail in front of the block's own bytes, which begin after the room for it."""
    start = _ROOM - len(tail)
    if start >= 0:
        buffer[start:_ROOM] = tail
        return buffer, start, stop
    text = np.concatenate([tail, buffer[_ROOM:stop]])
    return text, 0, len(text)


def _after_last_newline(text: np.ndarray, start: int, stop: int) -> int | None:
    for end in range(stop, start, -_WINDOW):
        first = max(start, end - _WINDOW)
        at = text[first:end].tobytes().rfind(b"\n")
        if at >= 0:
            return first + at + 1
    return None


def _inflated(
    path: Path,
    offset: int,
    n_bytes: int,
    *,
    n_threads: int,
    free: list[np.ndarray],
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (buffer, n): n bytes of text behind the buffer's room, in order.

    Buffers are put in `free`, which is empty, and are to be put back there.
    """
    with path.open("rb") as file:
        is_parted = is_bgzf(file.read(_HEADER_BYTES))
    text_parts = (
        _bgzf_parts(path, offset, n_bytes) if is_parted else itertools.repeat(_Part(None, n_bytes, None))
    )
    n_threads = n_threads if is_parted else 1
    room = n_bytes + _MAX_INFLATED if is_parted else n_bytes
    free += [np.empty(_ROOM + room, dtype=np.uint8) for _ in range(n_threads + 2)]
    pending = deque()
    inflater = _Inflater(path, is_parted=is_parted)
    # Parts without an offset must be read one after the other, by one thread.
    with ThreadPoolExecutor(n_threads) as workers:
        try:
            while True:
                while free and (text_part := next(text_parts, None)):
                    buffer = free.pop()
                    pending.append((buffer, workers.submit(inflater.fill, buffer, text_part)))
                if not pending:
                    return
                buffer, future = pending.popleft()
                n = future.result()
                if n == 0:
                    return
                yield buffer, n
        finally:
            wait([future for _, future in pending if not future.cancel()])
            inflater.close()


def _bgzf_parts(path: Path, offset: int, n_bytes: int) -> Iterator[_Part]:
    """Yield parts of about `n_bytes`, each some BGZF blocks that lie together."""
    at, skipped = offset >> 16, offset & 0xFFFF
    first, size, read_until = offset, -skipped, 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        while at < len(mapped):
            length, n = _block_sizes(mapped, at)
            if n is None:
                yield from [_Part(first, size, at << 16)] * (size > 0)
                yield _Part(first, 0, None)
                return
            if n == 0 or size >= n_bytes:  # an empty block ends a part
                yield from [_Part(first, size, at << 16)] * (size > 0)
                first, size = (at + length if n == 0 else at) << 16, 0
                read_until = _let_go(mapped, read_until, at)
            at, size = at + length, size + n
    yield from [_Part(first, size, at << 16)] * (size > 0)


def _let_go(mapped: mmap.mmap, start: int, stop: int) -> int:
    """Give back the pages of a mapped file that were read, or the whole file counts as memory in use."""
    stop -= stop % mmap.PAGESIZE
    if stop > start:
        mapped.madvise(mmap.MADV_DONTNEED, start, stop - start)
    return stop


def _block_sizes(mapped: mmap.mmap, at: int) -> tuple[int, int | None]:
    """Return the bytes of the BGZF block at an offset, and of its text; (0, None) if there is no block."""
    head = mapped[at : at + _HEADER_BYTES]
    length = int.from_bytes(head[16:], "little") + 1
    end = at + length
    if not is_bgzf(head) or length <= _HEADER_BYTES + _FOOTER_BYTES or end > len(mapped):
        return 0, None
    size = int.from_bytes(mapped[end - 4 : end], "little")
    # Empty blocks are not inflated later, where another wrong size is found.
    is_right = _is_empty(mapped[at:end]) if size == 0 else size <= _MAX_INFLATED
    return (length, size) if is_right else (0, None)


def _is_empty(block: bytes) -> bool:
    try:
        return gzip.decompress(block) == b""
    except (OSError, EOFError, zlib.error):
        return False


class _Inflater:
    """Inflates parts of a file. Threads may share it if all parts have an offset."""

    def __init__(self, path: Path, *, is_parted: bool) -> None:
        self._file = path.open("rb", buffering=0)
        if not is_parted:
            is_gzip = self._file.read(2) == _MAGIC
            self._file.seek(0)
            self._text = igzip.open(self._file) if is_gzip else self._file

    def fill(self, buffer: np.ndarray, text_part: _Part) -> int:
        """Inflate a part into a buffer behind its room; return the number of bytes."""
        if text_part.n_bytes == 0:
            raise DamagedError
        try:
            read = self._next if text_part.offset is None else self._blocks
            return read(memoryview(buffer)[_ROOM:], text_part)
        except (OSError, EOFError, ValueError, zlib.error, igzip_lib.error):
            raise DamagedError from None

    def _next(self, room: memoryview, text_part: _Part) -> int:
        return _fill(self._text, room[: text_part.n_bytes])

    def _blocks(self, room: memoryview, text_part: _Part) -> int:
        start, skipped = text_part.offset >> 16, text_part.offset & 0xFFFF
        # All blocks in one call, which lets go of the interpreter: each is a member of gzip of its own, whose
        # checksum and size are checked.
        text = isal_zlib._GzipReader(os.pread(self._file.fileno(), (text_part.end >> 16) - start, start), 1)
        n_skipped, n = len(text.read(skipped)), _fill(text, room[: text_part.n_bytes])
        if (n_skipped, n) != (skipped, text_part.n_bytes) or text.read(1):
            raise DamagedError
        return n

    def close(self) -> None:
        self._file.close()


def _fill(text: Any, room: memoryview) -> int:
    """Read until the room is full or the text at its end; return the number of bytes."""
    n = 0
    while n < len(room) and (more := text.readinto(room[n:])):
        n += more
    return n
