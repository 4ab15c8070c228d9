"""Large tables of real numbers: all ids and labels, and numbers of rows chosen at random."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.tables import table_samples
from dpgrs.io.tables.real_samples import sample_real_table
from dpgrs.io.tables.real_tables import read_real_table

N, MOST = 400, 50
IDS = [f"row{number}" for number in range(N)]
KINDS = ["t.csv", "t.tsv", "t.parquet"]


@pytest.fixture(autouse=True)
def _bound(monkeypatch):
    """Read tables of four columns whole up to fifty rows."""
    monkeypatch.setattr(table_samples, "MOST_CELLS", 4 * MOST)


def write(path, *, n=N, **columns):
    colour = np.where(np.arange(n) == 7, "a rare one", np.where(np.arange(n) % 2, "red", "blue"))
    table = pd.DataFrame(
        {"id": IDS[:n], "a": np.arange(n), "colour": colour, "b": np.arange(n) / -3} | columns
    )
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=70)
    else:
        table.to_csv(path, index=False, sep={".tsv": "\t"}.get(path.suffix, ","))
    return path


def assert_rows_of(found, whole):
    """Hold chosen rows against those of the whole table, in its order."""
    place = {name: row for row, name in enumerate(whole.row_id.tolist())}
    places = [place[name] for name in found.table.row_id.tolist()]
    assert len(places) == MOST
    assert places == sorted(set(places))
    assert found.table.names == whole.names
    assert found.table.levels == whole.levels
    assert np.array_equal(found.table.values, whole.values[places])
    assert found.row_id.tolist() == whole.row_id.tolist()
    # From all over the file: the mean of 50 of 400 is within six of its standard deviations, 15.3.
    assert abs(np.mean(places) - (N - 1) / 2) < 6 * 15.3


@pytest.mark.parametrize("name", KINDS)
def test_sample__all_ids_and_labels_and_some_rows_as_they_are(tmp_path, name):
    path, options = write(tmp_path / name), {"row_id": "id", "one_hot": ["colour"]}
    found, whole = sample_real_table(path, **options), read_real_table(path, **options)
    assert_rows_of(found, whole)
    # One row in 400 has the third.
    assert whole.names == ["a", "colour=a rare one", "colour=blue", "colour=red", "b"]
    assert not found.is_whole
    assert str(found) == (
        "values of 50 of its 400 rows, chosen at random, were looked at; the job that reads the table looks "
        "at all."
    )


@pytest.mark.parametrize("name", KINDS)
def test_sample__numbers_of_rows_are_those_of_the_file(tmp_path, name):
    path = write(tmp_path / name, colour=1.5, id=0)
    assert_rows_of(sample_real_table(path), read_real_table(path))


@pytest.mark.parametrize("name", KINDS)
def test_sample__a_small_table_is_read_whole(tmp_path, name):
    options = {"row_id": "id", "drop": ["colour"]}
    n = 4 * MOST // 3 if name.endswith(".parquet") else MOST  # columns that are left out are not read there
    found = sample_real_table(write(tmp_path / name, n=n), **options)
    assert found.is_whole
    assert found.table.row_id.tolist() == found.row_id.tolist() == IDS[:n]
    assert not sample_real_table(write(tmp_path / name, n=n + 1), **options).is_whole


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
@pytest.mark.parametrize("block", [64, 1 << 22])
def test_sample__arrays_in_both_orders_and_in_blocks(tmp_path, monkeypatch, name, order, block):
    monkeypatch.setattr("dpgrs.io.tables.real_arrays.BLOCK_BYTES", block)
    images = np.asarray(np.random.default_rng(1).integers(0, 255, (N, 2, 2)), dtype=np.uint8, order=order)
    if name == "t.npy":
        np.save(tmp_path / name, images)
        monkeypatch.setattr(table_samples, "MOST_CELLS", 4 * MOST)
    else:
        np.savez_compressed(tmp_path / name, images=images, y=np.arange(N) / 7, others=np.zeros(3))
        monkeypatch.setattr(table_samples, "MOST_CELLS", 5 * MOST)
    options = {"arrays": ["images", "y"] if name == "t.npz" else None, "drop": ["*2"]}
    assert_rows_of(sample_real_table(tmp_path / name, **options), read_real_table(tmp_path / name, **options))


@pytest.mark.parametrize("name", KINDS)
def test_sample__raise_on_ids_and_labels_anywhere(tmp_path, name):
    with pytest.raises(UsageError, match="each row must have an id of its own"):
        sample_real_table(write(tmp_path / name, id=[*IDS[:-1], IDS[0]]), row_id="id", one_hot=["colour"])
    with pytest.raises(UsageError, match=r"one_hot` must have 2 to 1000 levels, got 1\. "):
        sample_real_table(write(tmp_path / name, colour="red"), row_id="id", one_hot=["colour"])
    is_empty = np.arange(N) == N - 1
    path = write(tmp_path / name, colour=np.where(is_empty, "", "red"))
    with pytest.raises(UsageError, match=r"line 40[01], column `colour`: a label must not be empty"):
        sample_real_table(path, row_id="id", one_hot=["colour"])


@pytest.mark.parametrize("name", KINDS)
def test_sample__cells_are_judged_in_chosen_rows_alone(tmp_path, name):
    options = {"row_id": "id", "one_hot": ["colour"]}
    chosen = set(sample_real_table(write(tmp_path / name), **options).table.row_id.tolist())
    for is_chosen in (True, False):
        first = next(row for row, own in enumerate(IDS) if (own in chosen) == is_chosen)
        path = write(tmp_path / name, b=["x" if row == first else "1" for row in range(N)])
        line = first + (1 if name.endswith(".parquet") else 2)
        complaint = rf"line {line}, column `b`: must be a number, got `x`"
        with pytest.raises(UsageError, match=complaint):
            read_real_table(path, **options)
        if is_chosen:
            with pytest.raises(UsageError, match=complaint):
                sample_real_table(path, **options)
        else:
            assert len(sample_real_table(path, **options).table.row_id) == MOST


def test_sample__raise_on_damaged_arrays(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((N, 4)))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DpgrsError, match="whole file of numpy arrays"):
        sample_real_table(path)
    np.savez(tmp_path / "t.npz", x=np.zeros((N, 4)), y=np.zeros(N - 1))
    with pytest.raises(UsageError, match="arrays of one number of rows"):
        sample_real_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", x=np.full((N, 4), "a"))
    with pytest.raises(UsageError, match="must hold finite numbers"):
        sample_real_table(tmp_path / "t.npz")


def test_read__parts_are_one_table(tmp_path, monkeypatch):
    path, options = write(tmp_path / "t.csv"), {"row_id": "id", "one_hot": ["colour"]}
    whole = read_real_table(path, **options)
    monkeypatch.setattr("dpgrs.io.tables.real_tables.CHUNK_CELLS", 28)
    parts = read_real_table(path, **options)
    assert parts.names == whole.names
    assert np.array_equal(parts.values, whole.values)
    assert parts.row_id.tolist() == whole.row_id.tolist() == IDS
