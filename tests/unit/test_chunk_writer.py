import numpy as np
import pytest
import zarr

from dpgrs.io.chunk_writer import ChunkWriter
from dpgrs.io.sealed_zarr import checked

CODEC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0}


def files_of(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name[0] != "."}


def create(path, shape):
    terms = {"chunks": (4, 3), "dtype": "uint64", "zarr_format": 2}
    return zarr.create_array(path, shape=shape, **terms, **checked(CODEC))


@pytest.mark.parametrize("sizes", [[11], [4, 4, 3], [1, 2, 8], [3, 3, 3, 2], [9, 0, 2]])
@pytest.mark.parametrize("first_row", [0, 5])
def test_chunk_writer__as_zarr(tmp_path, sizes, first_row):
    rows = np.random.default_rng(1).integers(0, 9, (11, 7), dtype=np.uint64)
    rows[3:8, :4] = 0
    writer = ChunkWriter(tmp_path / "a", create(tmp_path / "a", (0, 7)), first_row=first_row)
    for part in np.split(rows, np.cumsum(sizes)[:-1]):
        writer.append(part)
    writer.finish()
    expected = create(tmp_path / "b", (first_row + 11, 7))
    expected[first_row:] = rows
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
