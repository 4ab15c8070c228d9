"""Rows appended to a zarr array: the files that zarr would write, at less cost and in less memory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

_THREADS = 2
_EMPTY = np.uint64(2**64 - 1)  # the offset and length of a chunk that is not in a shard


def write_only_chunk(folder: Path, array: Any, values: np.ndarray) -> None:
    """Write the values of an array of format 2, one dimension and one chunk that zarr made in a folder."""
    assert array.shape == values.shape
    if values.any():
        (folder / "0").write_bytes(_packed(values, codecs_of(array)))


def codecs_of(array: Any) -> list[Any]:
    """Return the codecs of numcodecs that pack a chunk of an array of format 2."""
    return [*array.filters, *array.compressors]


def _packed(values: Any, codecs: list[Any]) -> Any:
    for codec in codecs:
        values = codec.encode(values)
    return values


class ChunkWriter:
    """Writes the chunks of a two-dimensional array that zarr made in a folder, but not its metadata.

    The array is empty, and has format 2. Rows before `first_row` are 0. A chunk is written once it has all
    its rows, and not if all of it is 0. Chunks are packed outside the main thread, in which Blosc would use
    threads of its own and give other bytes each time.
    """

    def __init__(self, folder: Path, array: Any, *, codecs: list[Any], first_row: int = 0) -> None:
        self._folder, self._codecs = folder, codecs
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

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield row and column of chunks among chunks, and their values."""
        for i in range(0, len(rows), self._n_rows):
            for j in range(0, rows.shape[1], self._n_columns):
                values = rows[i : i + self._n_rows, j : j + self._n_columns]
                yield self._index + i // self._n_rows, j // self._n_columns, values

    def _write_chunk(self, row: int, column: int, values: np.ndarray) -> None:
        packed = self._pack(values)
        if packed is not None:
            (self._folder / f"{row}.{column}").write_bytes(packed)

    def _pack(self, values: np.ndarray) -> Any:
        """Return a chunk as it is on disk, or None if all of it is 0."""
        # Unsigned integers: `any` takes ten times as long, and the first row rarely is 0 by itself.
        if values[0].max() == 0 and values.max() == 0:
            return None
        shape = self._n_rows, self._n_columns
        if values.shape == shape:
            values = np.ascontiguousarray(values)
        else:
            values = np.pad(values, [(0, size - n) for size, n in zip(shape, values.shape, strict=True)])
        return _packed(values, self._codecs)


class ShardWriter(ChunkWriter):
    """Writes an array of format 3 whose shards of many chunks are files: a chunk is added once it is packed.

    zarr itself would hold a shard in memory, or pack it anew for each chunk.
    """

    def __init__(self, folder: Path, array: Any, *, codecs: list[Any], first_row: int = 0) -> None:
        super().__init__(folder, array, codecs=codecs, first_row=first_row)
        # Rows and columns of chunks in a shard.
        self._n_down, self._n_across = (n // m for n, m in zip(array.shards, array.chunks, strict=True))
        self._shard_row = 0
        self._shards: dict[int, _Shard] = {}  # by column, of this row of shards

    def finish(self) -> None:
        super().finish()
        self._close_shards()

    def _write(self, rows: np.ndarray) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            chunk_indices = [(row, column) for row, column, _ in self._chunks(rows)]
            packed_chunks = pool.map(self._pack, (values for _, _, values in self._chunks(rows)))
            for (row, column), packed in zip(chunk_indices, packed_chunks, strict=True):
                self._add(row, column, packed)
        self._index += -(-len(rows) // self._n_rows)

    def _add(self, row: int, column: int, packed: Any) -> None:
        shard_row, row_inside = divmod(row, self._n_down)
        shard_column, column_inside = divmod(column, self._n_across)
        if shard_row != self._shard_row:
            self._close_shards()
            self._shard_row = shard_row
        if packed is None:
            return
        if shard_column not in self._shards:
            path = self._folder / "c" / str(shard_row) / str(shard_column)
            self._shards[shard_column] = _Shard(path, self._n_down * self._n_across)
        self._shards[shard_column].add(row_inside * self._n_across + column_inside, packed)

    def _close_shards(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._shards = {}


class _Shard:
    """A file of chunks, whose offsets and lengths are at its end, with a checksum."""

    def __init__(self, path: Path, n_chunks: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._n_bytes = path, 0
        self._index = np.full((n_chunks, 2), _EMPTY, dtype="<u8")

    def add(self, chunk: int, packed: Any) -> None:
        self._index[chunk] = self._n_bytes, len(packed)
        with self._path.open("ab") as file:
            file.write(packed)
        self._n_bytes += len(packed)

    def close(self) -> None:
        import numcodecs

        with self._path.open("ab") as file:
            file.write(numcodecs.get_codec({"id": "crc32c"}).encode(self._index))
