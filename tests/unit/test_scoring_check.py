"""The second reader of scoring files: columns as they stand in the file, wherever its parts end."""

import gzip

import numpy as np
import pytest

from dpgrs.verify import folder_check
from dpgrs.verify.scoring_check import column_numbers, read_scoring_file, read_standard_errors

NAMES = "chr_name\tchr_position\teffect_allele\tother_allele\tstandard_error"
SITES = ["1\t9\tA\tC", "2\t8\tA\tAC", "2\t8\tA\tC", "22\t7\tAT\tG", "X\t1\tC\tT"]
ROWS = [f"{site}\t{number}" for site, number in zip(SITES, ["0", "0.25", "12.5", "3", "0.001"], strict=True)]


def read(folder, *lines, ending="\n"):
    path = folder / "x.tsv.gz"
    path.write_bytes(gzip.compress(("\n".join([NAMES, *lines]) + ending).encode(), mtime=0))
    return read_standard_errors(path)


@pytest.mark.parametrize("n_bytes", [1, 30, 2**22])
def test_read_standard_errors__columns_whatever_is_read_at_once(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(folder_check, "AT_ONCE", n_bytes)
    file = read(tmp_path, *ROWS)
    assert (file.problems, file.n_rows, file.is_readable) == ([], 5, True)
    assert file.sites == "".join(f"{site}\n" for site in SITES)
    np.testing.assert_array_equal(column_numbers(file.numbers), [0, 0.25, 12.5, 3, 0.001])


@pytest.mark.parametrize("n_bytes", [1, 30, 2**22])
def test_read_standard_errors__names_the_first_row_of_each_kind_of_problem(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(folder_check, "AT_ONCE", n_bytes)
    odd = ["3\t1\tA\tA\t1", "3\t1\tA\tA\t2", "3\t01\tA\tC\t1", "", "3\t5\tG\tA\t-1", "3\t5\tG\tA\t.5"]
    file = read(tmp_path, ROWS[0], *odd, ROWS[2], ROWS[1], "2\t8\tC\tA\t0", "1\t9\tC\tA\t1", *ROWS[3:])
    assert file.problems == [
        "the two alleles must differ (row 2)",
        "chr_position is malformed (row 4)",
        "a row must have 5 fields (row 5)",
        "standard_error is malformed (row 6)",
        "rows must be sorted by chromosome, position and alleles (row 9)",
        "a site must be there once (row 10)",
    ]
    # Rows with a problem of their own are in no column.
    assert (file.n_rows, file.numbers.split()) == (7, ["0", "12.5", "0.25", "0", "1", "3", "0.001"])


@pytest.mark.parametrize(
    ("ending", "problems"),
    [
        ("", ["every line must end with a line feed"]),
        ("\r\n", ["every line must end with a line feed", "standard_error is malformed (row 5)"]),
        ("\n\n", ["a row must have 5 fields (row 6)"]),
    ],
)
def test_read_standard_errors__ends_of_lines(tmp_path, ending, problems):
    assert read(tmp_path, *ROWS, ending=ending).problems == problems


def test_read_standard_errors__other_columns(tmp_path):
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress(b"\n1\t2\n", mtime=0))
    assert read_standard_errors(path).problems == ["the columns must be " + NAMES.replace("\t", ", ")]


def test_read_scoring_file__of_a_head_alone(tmp_path):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"#a=b\n", mtime=0))
    file = read_scoring_file(path)
    assert file.header == {"a": "b"}
    assert "variants_number must be 0, the number of rows" in file.problems
