"""Tables of a bundle: the text of each number, and bytes that depend on the table alone."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgrs.release import plain_tables
from dpgrs.release.plain_tables import decimals, format_weight, rounded, write_table

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def odd_numbers():
    """Return numbers of every size: all powers of two and ten, any bits, and their neighbours."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    powers = np.concatenate([2.0 ** np.arange(-1074, 1024), 10.0 ** np.arange(-323, 309)])
    usual = rng.normal(size=3000) * 10.0 ** rng.integers(-12, 15, 3000)
    numbers = np.concatenate([bits[np.isfinite(bits)], powers, usual, np.arange(-99.0, 99.0), [0.0, -0.0]])
    numbers = np.concatenate([numbers, np.nextafter(numbers, np.inf), -numbers])
    return numbers[np.isfinite(numbers)]


@given(FINITE)
def test_format_weight__reads_back_as_plain_decimal(weight):
    text = format_weight(weight)
    assert float(text) == weight
    assert set(text) <= set("-0123456789.")
    assert text.strip("-0.") or text == "0"


def test_decimals__are_those_of_single_numbers():
    numbers = odd_numbers()
    assert decimals(numbers).to_pylist() == list(map(format_weight, numbers))
    assert decimals(np.array([0.5, -2.0])).to_pylist() == ["0.5", "-2"]


@pytest.mark.parametrize("digits", [1, 6, 10])
def test_rounded__is_that_of_the_printed_number(digits):
    rng = np.random.default_rng(6)
    halves = (rng.integers(0, 10**6, 2000) + 0.5) * 1e-6
    numbers = np.concatenate([odd_numbers(), halves, rng.integers(-(10**6), 10**6, 2000) / 2**7])
    expected = [float(f"{number:.{digits}g}") for number in numbers]
    np.testing.assert_array_equal(rounded(numbers, digits), expected)


def test_write_table__holds_the_columns_and_bytes_do_not_depend_on_how_many_rows_are_written_at_once(
    tmp_path, monkeypatch
):
    names, columns = (
        ["ID", "n", "ID"],
        [np.array(["a", "b", "c"], dtype=object), np.arange(3), np.ones(3) / 4],
    )
    write_table(tmp_path / "a.gz", names, columns, head="#x\n")
    text = gzip.decompress((tmp_path / "a.gz").read_bytes())
    assert text == b"#x\nID\tn\tID\na\t0\t0.25\nb\t1\t0.25\nc\t2\t0.25\n"
    monkeypatch.setattr(plain_tables, "ROWS_AT_ONCE", 2)
    write_table(tmp_path / "b.gz", names, columns, head="#x\n")
    assert (tmp_path / "b.gz").read_bytes() == (tmp_path / "a.gz").read_bytes()
