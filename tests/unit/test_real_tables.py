"""Tables of real numbers, and the public ranges of their columns."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.tables import real_tables
from dpgrs.io.tables.plain_columns import NotPlainError
from dpgrs.io.tables.real_tables import CHUNK_CELLS, fits, read_ranges, read_real_table
from refused import refused

TEXT = "name,sex,length,weight\nu,F,0.5,-9\nv,M,1e-3,2\nw,F,-1,7.25\n"
VALUES = [[0.5, -9.0], [0.001, 2.0], [-1.0, 7.25]]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    return path


def ranges_of(tmp_path, text, table):
    path = tmp_path / "ranges.tsv"
    path.write_text(text)
    return read_ranges(path, table)


# Labels in quotes are left to the reader that goes line by line.
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("cells", [CHUNK_CELLS, 5])
def test_read__text_with_ids_and_labels(text, monkeypatch, quote, cells):
    monkeypatch.setattr(real_tables, "CHUNK_CELLS", cells)
    text.write_text(TEXT.replace(",M,", f",{quote}M{quote},"))
    table = read_real_table(text, row_id="name", one_hot=["sex"])
    assert table.names == ["sex=F", "sex=M", "length", "weight"]
    assert table.row_id.tolist() == ["u", "v", "w"]
    assert table.values[:, :2].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert table.values[:, 2:].tolist() == VALUES  # -9 is a number here
    assert table.levels == {"sex=F", "sex=M"}


def test_read__plain_text_as_line_by_line(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    numbers = np.concatenate(
        [rng.standard_normal(300), 10 ** rng.uniform(-30, 30, 300), rng.integers(-9, 9, 300)]
    )
    rows = [f"r{row},{number!r},{'ab'[row % 2]}" for row, number in enumerate(numbers.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(["id,x,kind", *rows, ""]))
    options = {"row_id": "id", "one_hot": ["kind"]}
    found = read_real_table(tmp_path / "a.csv", **options)
    monkeypatch.setattr(real_tables, "_plain_blocks", refuse)
    by_line = read_real_table(tmp_path / "a.csv", **options)
    assert found.names == by_line.names == ["x", "kind=a", "kind=b"]
    assert found.row_id.tolist() == by_line.row_id.tolist()
    assert np.array_equal(found.values, by_line.values)
    assert np.array_equal(found.values[:, 0], numbers)


def refuse(*_):
    raise NotPlainError
    yield


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        (",2", "line 4, column `kind`: a label must not be empty"),
        ("a,NA", "line 4, column `x`: must be a number, got `NA`"),
        ("a,1e51", "line 4, column `x`: must be a finite number, at most 1e\\+50"),
        ("a,inf", "line 4, column `x`: must be a finite number"),
    ],
)
def test_read__raise_on_a_cell_by_its_line(tmp_path, cells, complaint):
    (tmp_path / "a.csv").write_text(f"kind,x\na,1\n\n{cells}\nb,3\n")
    with pytest.raises(UsageError, match=complaint):
        read_real_table(tmp_path / "a.csv", one_hot=["kind"])


def test_read__rows_are_numbered_without_ids(text):
    table = read_real_table(text, drop=["name", "s*"])
    assert table.row_id.tolist() == ["1", "2", "3"]
    assert table.values.tolist() == VALUES


def test_read__parquet_is_the_same(text, tmp_path):
    pd.read_csv(text).to_parquet(tmp_path / "table.parquet")
    options = {"row_id": "name", "one_hot": ["sex"]}
    found, wanted = (read_real_table(path, **options) for path in (tmp_path / "table.parquet", text))
    assert found.names == wanted.names
    assert found.row_id.tolist() == wanted.row_id.tolist()
    assert np.array_equal(found.values, wanted.values)


def test_read__a_cell_that_parquet_lacks(tmp_path):
    pd.DataFrame({"a": [1.5, None], "b": [1, 2]}).to_parquet(tmp_path / "table.parquet")
    with refused("number-out-of-domain", "`a`", error=UsageError):
        read_real_table(tmp_path / "table.parquet")


def test_read__arrays(tmp_path):
    images, labels = np.arange(12, dtype=np.uint8).reshape(3, 2, 2), np.array([4, 5, 6])
    np.savez(tmp_path / "all.npz", images=images, labels=labels, others=np.zeros((5, 2)))
    table = read_real_table(tmp_path / "all.npz", arrays=["images", "labels"], drop=["images2"])
    assert table.names == ["images1", "images3", "images4", "labels"]
    assert table.values.tolist() == [[0, 2, 3, 4], [4, 6, 7, 5], [8, 10, 11, 6]]
    with refused("array-lengths-differ", "`cohort.arrays`", error=UsageError):
        read_real_table(tmp_path / "all.npz")
    np.save(tmp_path / "one.npy", images)
    assert read_real_table(tmp_path / "one.npy").names == ["x1", "x2", "x3", "x4"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, ("number-out-of-domain", "`cohort.one_hot: [name]`", "`cohort.drop: [name]`")),
        ({"row_id": "id"}, ("column-pattern-unmatched", "`cohort.id`")),
        ({"row_id": "sex", "drop": ["name"]}, ("row-id-not-unique",)),
        ({"drop": ["none*"]}, ("column-pattern-unmatched", "`cohort.drop`")),
        ({"drop": ["*"]}, ("no-columns-left",)),
        ({"row_id": "name", "drop": ["na*"]}, ("needed-column-dropped", "`cohort.id`")),
        ({"row_id": "name", "one_hot": ["name"]}, ("row-id-one-hot",)),
        ({"arrays": ["x"]}, ("arrays-setting-without-npz",)),
        ({"row_id": "name", "one_hot": ["sex", "weigh"]}, ("column-pattern-unmatched", "`cohort.one_hot`")),
    ],
)
def test_read__raise_on_options(text, options, fault):
    with refused(*fault, error=UsageError):
        read_real_table(text, **options)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("no.npz", None, "is not there"),
        ("no.csv", None, "is not there"),
        ("cut.npz", b"PK\3\4", "whole file of numpy arrays"),
        ("cut.npy", b"\x93NUMPY", "whole file of numpy arrays"),
        ("head.csv", b"a,b\n", "must have a row for each case"),
    ],
)
def test_read__raise_on_file(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DpgrsError, match=complaint):
        read_real_table(tmp_path / name)


@pytest.mark.parametrize(
    "array", [np.array([[1.0, np.nan]]), np.array(["a"]), np.zeros((0, 2)), np.array(1.0)]
)
def test_read__raise_on_array(tmp_path, array):
    np.save(tmp_path / "one.npy", array)
    with refused("array-not-finite", error=UsageError):
        read_real_table(tmp_path / "one.npy")


def test_fits__star_alone_is_special():
    assert fits("x*", "x12")
    assert fits("a[1]*", "a[1]2")
    assert not fits("x?", "x1")
    assert not fits("x", "x1")


def test_ranges__names_before_patterns_and_the_first_of_these(tmp_path, text):
    table = read_real_table(text, row_id="name", one_hot=["sex"])
    lines = "column\tlow\thigh\tcentre\n*gth\t-2\t2\t1\n*\t-10\t10\t0\nweight\t0\t8\t2\n"
    low, high, centre = ranges_of(tmp_path, lines, table)
    assert low.tolist() == [0, 0, -2, 0]
    assert high.tolist() == [1, 1, 2, 8]
    assert centre.tolist() == [0.5, 0.5, 1, 2]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("column\tlow\nlength\t0\n", ("range-columns",)),
        ("column\tlow\thigh\nlength\t0\t1\n", ("range-missing", "`weight`")),
        ("column\tlow\thigh\n*\t1\t1\n", ("range-not-ascending",)),
        ("column\tlow\thigh\n*\t1\tNA\n", ("range-not-ascending",)),
        ("column\tlow\thigh\tcentre\n*\t0\t1\t1\n", ("range-not-ascending",)),
        ("column\tlow\thigh\n*\t0\t1\nlenght\t0\t1\n", ("range-columns-repeated", "`lenght`")),
        ("column\tlow\thigh\n*\t0\t1\n*\t0\t1\n", ("range-columns-repeated",)),
    ],
)
def test_ranges__raise_on_lines(tmp_path, text, lines, fault):
    with refused(*fault, error=UsageError):
        ranges_of(tmp_path, lines, read_real_table(text, drop=["name", "sex"]))
