import numpy as np
import pytest
import zarr

from dpgrs.io.chunk_writer import ChunkWriter, ShardWriter, codecs_of
from dpgrs.io.sealed_zarr import checked, create_sharded

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
    array = create(tmp_path / "a", (0, 7))
    writer = ChunkWriter(tmp_path / "a", array, codecs=codecs_of(array), first_row=first_row)
    for part in np.split(rows, np.cumsum(sizes)[:-1]):
        writer.append(part)
    writer.finish()
    expected = create(tmp_path / "b", (first_row + 11, 7))
    expected[first_row:] = rows
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


@pytest.mark.parametrize("sizes", [[21], [4, 4, 13], [1, 2, 18], [9, 0, 12]])
@pytest.mark.parametrize("first_row", [0, 13])
@pytest.mark.parametrize("shards", [(8, 3), (8, 6), (2, 9)])
def test_shard_writer__is_read_by_zarr(tmp_path, sizes, first_row, shards):
    rows = np.random.default_rng(1).integers(0, 9, (21, 7), dtype=np.uint16)
    rows[3:8, :4] = 0
    codec = {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2}
    terms = {"dtype": "uint16", "chunks": (2, 3), "shards": shards}
    array, codecs = create_sharded(tmp_path / "a", codec, shape=(0, 7), **terms)
    writer = ShardWriter(tmp_path / "a", array, codecs=codecs, first_row=first_row)
    for part in np.split(rows, np.cumsum(sizes)[:-1]):
        writer.append(part)
    writer.finish()
    array.resize((first_row + 21, 7))
    found = zarr.open_array(tmp_path / "a", mode="r")
    assert found[first_row:].tolist() == rows.tolist()
    assert not found[:first_row].any()
    assert found.get_orthogonal_selection(([first_row + 9], slice(2, 5))).tolist() == [rows[9, 2:5].tolist()]
    # Each file is as zarr writes it, but for the order of chunks.
    expected, _ = create_sharded(tmp_path / "b", codec, shape=(first_row + 21, 7), **terms)
    expected[first_row:] = rows
    sizes_of_files = [
        {str(file.relative_to(tmp_path / name)): file.stat().st_size for file in (tmp_path / name).rglob("*")}
        for name in "ab"
    ]
    assert sizes_of_files[0] == sizes_of_files[1]
