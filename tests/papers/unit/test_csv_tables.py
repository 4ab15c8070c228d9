import gzip

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.tables.text_columns import MOST_LEVELS
from dpgrs_papers.tabular.feature_tables import read_feature_table, read_scales
from refused import refused

TEXT = "size,colour,weight,price\n1,red,2.5,10\n2,blue,1e-3,20\n\n3,red,-4,15\n"


def test_read_feature_table__last_column_is_the_target_and_all_levels_stay(write):
    table = read_feature_table(write(TEXT), one_hot=["colour"])
    assert table.target == "price"
    assert table.features == ["size", "colour=blue", "colour=red", "weight"]
    np.testing.assert_array_equal(table.X, [[1, 0, 1, 2.5], [2, 1, 0, 1e-3], [3, 0, 1, -4]])
    np.testing.assert_array_equal(table.y, [10, 20, 15])


def test_read_feature_table__named_target_and_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TEXT.replace(",", "\t").encode()))
    table = read_feature_table(path, target="size", one_hot=["colour", "price"])
    assert table.features[-3:] == ["price=10", "price=15", "price=20"]
    np.testing.assert_array_equal(table.y, [1, 2, 3])


def test_read_feature_table__columns_to_leave_out_may_hold_anything(write):
    text = TEXT.replace("2.5", "").replace("1e-3", "HG 1").replace("price", "last")
    table = read_feature_table(write(text), drop=["colour", "weight"])
    assert (table.features, table.target) == (["size"], "last")
    assert read_feature_table(write(TEXT), drop=["colour", "price"]).target == "weight"


BAD = {
    "target missing": (TEXT, {"target": "prise"}, "`--target` must be a column", "`price`?"),
    "label missing": (TEXT, {"one_hot": ["shape"]}, "`--one-hot` must be a column", "There are `size`, `col"),
    "target as labels": (TEXT, {"one_hot": ["price"]}, "must name features", "`price`"),
    "text": (TEXT, {}, "line 2, column `colour`: must be a number", "`--one-hot colour`"),
    "text in the target": (TEXT, {"target": "colour"}, "got `red`", "Correct the cell"),
    "NaN": (TEXT.replace("1e-3", "nan"), {"one_hot": ["colour"]}, "line 3, column `weight`", "got `nan`"),
    "infinite": (TEXT.replace("-4", "-inf"), {"one_hot": ["colour"]}, "line 5, column `weight`", "`-inf`"),
    "empty cell": (TEXT.replace("2.5", ""), {"one_hot": ["colour"]}, "line 2, column `weight`", "got ``"),
    "missing": (TEXT.replace("2.5", "NA"), {"one_hot": ["colour"]}, "got `NA`", "Correct the cell"),
    "too large": (TEXT.replace("2.5", "1e51"), {"one_hot": ["colour"]}, "at most 1e+50", "`1e51`"),
    "empty label": (TEXT.replace("blue", ""), {"one_hot": ["colour"]}, "line 3", "must not be empty"),
    "constant": ("a,b\n1,1\n1.0,2\n", {}, "column `a`: must have at least two values", "Add `--drop a`"),
    "tied outcomes": (
        "a,b\n1,7\n2,7\n",
        {},
        "`b`: must have at least two values",
        "another `--target`",
    ),
    "one label": ("a,b\nx,1\nx,2\n", {"one_hot": ["a"]}, "levels, got 1", "--one-hot"),
    "ids": (
        "a,b\n" + "".join(f"id{i},{i}\n" for i in range(MOST_LEVELS + 1)),
        {"one_hot": ["a"]},
        f"2 to {MOST_LEVELS} levels",
        f"got {MOST_LEVELS + 1}. Take it out of `--one-hot`; if it holds ids, add `--drop a`.",
    ),
    "target left out": (TEXT, {"target": "size", "drop": ["size"]}, "`--drop` must name features", "`size`"),
    "labels left out": (TEXT, {"one_hot": ["colour"], "drop": ["colour"]}, "nothing else names", "`colour`"),
    "unknown left out": (TEXT, {"drop": ["color"]}, "`--drop` must be a column", "`colour`?"),
    "all left out": (TEXT, {"drop": TEXT.split()[0].split(",")}, "must leave columns", "Name fewer"),
    "level like a column": ("a,a=1,b\n1,5,1\n2,6,2\n", {"one_hot": ["a"]}, "`a=1`", "Rename"),
    "one column": ("b\n1\n2\n", {}, "a feature beside the target", "commas"),
    "no names": ("1,2\n3,4\n", {}, "line 1: must be the names", "got numbers"),
    "names alone": ("a,b\n", {}, "a row for each case", "Add the rows"),
}


@pytest.mark.parametrize(("text", "options", "fault", "fix"), BAD.values(), ids=BAD.keys())
def test_read_feature_table__raise_in_one_line(write, text, options, fault, fix):
    with pytest.raises(UsageError) as raised:
        read_feature_table(write(text), **options)
    message = str(raised.value)
    assert fault in message
    assert fix in message
    assert "\n" not in message


def test_read_feature_table__raise_on_no_file_and_short_line(write, tmp_path):
    with refused("file-missing", error=UsageError):
        read_feature_table(tmp_path / "absent.csv")
    with refused("line-width", "line 3"):
        read_feature_table(write("a,b\n1,2\n3\n"))


def test_read_scales__what_is_not_named_stays(write):
    table = read_feature_table(write(TEXT), one_hot=["colour"])
    scales = write("column,centre,scale\nweight,-1,2\nprice,15,5\n", "s.csv")
    centres, widths = read_scales(scales, table)
    np.testing.assert_array_equal(centres, [0, 0, 0, -1, 15])
    np.testing.assert_array_equal(widths, [1, 1, 1, 2, 5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("column,center,scale\nsize,0,1\n", "line 1: the columns must be column, centre, scale"),
        ("column,centre,scale\nsizes,0,1\n", "line 2.*Did you mean `size`"),
        ("column,centre,scale\nsize,0,1\nsize,0,2\n", "line 3.*a second line for `size`"),
        ("column,centre,scale\nsize,0,0\n", "line 2: centre and scale must be numbers, the scale above 0"),
        ("column,centre,scale\nsize,low,1\n", "line 2: centre and scale must be numbers.*got low, 1"),
    ],
)
def test_read_scales__raise_in_one_line(write, text, message):
    table = read_feature_table(write(TEXT), one_hot=["colour"])
    with pytest.raises(UsageError, match=message):
        read_scales(write(text, "s.csv"), table)
