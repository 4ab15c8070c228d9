"""Rows appended to a zarr array of format 2: the files that zarr would write, at less cost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

_THREADS = 2


def write_only_chunk(folder: Path, array: Any, values: np.ndarray) -> None:
    """Write the values of an array of one dimension and one chunk that zarr made in a folder."""
    assert array.shape == values.shape
    if values.any():
        _pack_into(folder / "0", values, _codecs_of(array))


def _codecs_of(array: Any) -> list[Any]:
    return [*array.filters, *array.compressors]


def _pack_into(path: Path, values: Any, codecs: list[Any]) -> None:
    for codec in codecs:
        values = codec.encode(values)
    path.write_bytes(values)


class ChunkWriter:
    """Writes the chunks of a two-dimensional array that zarr made in a folder, but not its metadata.

    The array is empty. Rows before `first_row` are 0. A chunk is written once it has all its rows, and not if
    all of it is 0. Chunks are packed outside the main thread, in which Blosc would use threads of its own and
    give other bytes each time.
    """

    def __init__(self, folder: Path, array: Any, *, first_row: int = 0) -> None:
        self._folder = folder
        self._codecs = _codecs_of(array)
        self._n_rows, self._n_columns = array.chunks
        self._index, n_waiting = divmod(first_row, self._n_rows)
        # Rows of a chunk that is not complete.
        self._waiting = np.zeros((n_waiting, array.shape[1]), dtype=array.dtype)

    def append(self, rows: np.ndarray) -> None:
        """Append (n, n_columns) rows."""
        if len(self._waiting):
            n_missing = self._n_rows - len(self._waiting)
            self._waiting = np.concatenate([self._waiting, rows[:n_missing]])
            rows = rows[n_missing:]
            if len(self._waiting) == self._n_rows:
                self._write(self._waiting)
                self._waiting = self._waiting[:0]
        n_whole = len(rows) // self._n_rows * self._n_rows
        self._write(rows[:n_whole])
        if n_whole < len(rows):
            self._waiting = rows[n_whole:].copy()

    def finish(self) -> None:
        """Write the last chunk, filled up with 0."""
        if len(self._waiting):
            self._write(self._waiting)

    def _write(self, rows: np.ndarray) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(lambda chunk: self._write_chunk(*chunk), self._chunks(rows)):
                pass
        self._index += -(-len(rows) // self._n_rows)

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the names and values of chunks."""
        for i in range(0, len(rows), self._n_rows):
            for j in range(0, rows.shape[1], self._n_columns):
                name = f"{self._index + i // self._n_rows}.{j // self._n_columns}"
                yield name, rows[i : i + self._n_rows, j : j + self._n_columns]

    def _write_chunk(self, name: str, values: np.ndarray) -> None:
        if values.max() == 0:  # an unsigned integer; `any` takes ten times as long
            return
        shape = self._n_rows, self._n_columns
        if values.shape == shape:
            values = np.ascontiguousarray(values)
        else:
            values = np.pad(values, [(0, size - n) for size, n in zip(shape, values.shape, strict=True)])
        _pack_into(self._folder / name, values, self._codecs)
