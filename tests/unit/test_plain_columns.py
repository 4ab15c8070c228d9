"""Large tables that pyarrow reads as other readers do, or leaves to them."""

import gzip
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError
from dpgrs.io.plink import tables as plink_tables
from dpgrs.io.plink.tables import read_samples, read_variants
from dpgrs.io.tables import plain_columns as module
from dpgrs.io.tables import table_samples
from dpgrs.io.tables.plain_columns import NotPlainError, plain_blocks, plain_columns
from dpgrs.io.tables.table_samples import outcome_people, sample_outcomes
from dpgrs.io.tables.tables import BLANKS, MISSING, number_of, rows_of
from nightly import at_night
from refused import refused

N_CHANGED = 400
PIECES = [
    *("\t", "\t\t", " ", "  ", "\n", "\n\n", "\r", "\r\n", '"', '""', ",", ";", "#", "\0", "\x0b", "\x1f"),
    *("\u00a0", "\u2028", "\ufeff", "é", "١", "+1", "-", ".", "1e5", "1e999", "1e-400", "0x1f", "1_0", "inf"),
    *("nan", "NAN", "-nan", "NA", "-9", "-9.0", "-9e0", "null", "None", "1.", ".5", "1e", "1d5", "TRUE"),
]
BAD_UTF_8 = b"\xff"


def changed(text, rng):
    """Return a table with a few pieces put in or taken out, as bytes."""
    for _ in range(int(rng.integers(1, 4))):
        place, n_out = int(rng.integers(0, len(text) + 1)), int(rng.integers(0, 3))
        text = text[:place] + str(rng.choice(PIECES)) + text[place + n_out :]
    content = text.encode()
    return content + BAD_UTF_8 if rng.random() < 0.02 else content


def answer(read):
    """Return what a reader does: its result, or the words of its refusal."""
    try:
        return read()
    except DpgrsError as error:
        return str(error)


def line_by_line(monkeypatch, target):
    """Leave all tables to the other readers."""

    def refuse(*_, **__):
        raise NotPlainError
        yield

    monkeypatch.setattr(target, refuse)


@pytest.mark.parametrize(
    ("separator", "quote"), [("\t", ""), (",", ""), (",", '"'), at_night((";", "")), (" ", "")]
)
def test_outcomes__changed_tables_are_read_as_line_by_line(tmp_path, monkeypatch, separator, quote):
    monkeypatch.setattr(table_samples, "MOST_CELLS", 12)
    monkeypatch.setattr(module, "BLOCK_BYTES", 40)
    rng, path, n_plain = np.random.default_rng(ord(separator)), tmp_path / "y.tsv", 0
    names = [f"{quote}{name}{quote}" for name in ("IID", "a", "b")]
    rows = [names, *([f"{quote}P{i}{quote}", f"{i / 3:.3f}", "NA" if i % 3 else str(-i)] for i in range(9))]
    text = "".join(f"{separator.join(row)}\n" for row in rows)
    people = {f"P{i}" for i in range(1, 9)}
    for number in range(N_CHANGED):
        path.write_bytes(text.encode() if number == 0 else changed(text, rng))
        n_plain += is_plain(path, separator)
        now = answer(lambda: sample_outcomes(path, people=people)), answer(lambda: outcome_people(path))
        with monkeypatch.context() as other:
            line_by_line(other, "dpgrs.io.tables.table_samples.plain_blocks")
            before = (
                answer(lambda: sample_outcomes(path, people=people)),
                answer(lambda: outcome_people(path)),
            )
        assert now[1] == before[1], path.read_bytes()
        if isinstance(before[0], str) or before[0] is None:
            assert now[0] == before[0]
        else:
            assert now[0][:2] == before[0][:2]
            pd.testing.assert_frame_equal(now[0].table, before[0].table)
    assert n_plain > N_CHANGED / 50  # some tables with a change are plain


def is_plain(path, separator):
    try:
        terms = {"separator": separator, "n_columns": 3, "n_skipped": 1, "joins": separator == " "}
        return bool(list(plain_columns(path, texts=[0], numbers=[1, 2], **terms)))
    except NotPlainError:
        return False


@pytest.mark.parametrize(
    ("ending", "separator"), [*product([".fam", ".bim", ".psam"], ["\t", " "]), (".pvar", "\t")]
)
def test_plink__changed_tables_are_read_as_by_pandas(tmp_path, monkeypatch, ending, separator):
    rng, path = np.random.default_rng(len(ending)), tmp_path / f"a{ending}"
    heads = {".pvar": ["##x", "#CHROM\tPOS\tID\tREF\tALT"], ".psam": ["#FID IID SEX"]}
    fields = {
        ".fam": lambda i: ["f", f"P{i}", "0", "0", "1", "-9"],
        ".psam": lambda i: ["f", f"P{i}", "1"],
        ".bim": lambda i: [str(22 + i % 2), f"rs{i}", "0", str(5 + i), "A", "C"],
        ".pvar": lambda i: ["chr23", str(5 + i), f"rs{i}", "A", "C"],
    }
    lines = [*heads.get(ending, []), *(separator.join(fields[ending](i)) for i in range(6))]
    text = "".join(f"{line}\n" for line in lines)
    read = read_variants if ending in (".bim", ".pvar") else read_samples
    for number in range(N_CHANGED // 2):
        path.write_bytes(text.encode() if number == 0 else changed(text, rng))
        plink_tables._SAMPLES_READ.clear()
        now = answer(lambda: read(path))
        with monkeypatch.context() as other:
            line_by_line(other, "dpgrs.io.tables.plain_columns.plain_columns")
            plink_tables._SAMPLES_READ.clear()
            before = answer(lambda: read(path))
        if isinstance(before, pd.DataFrame):
            pd.testing.assert_frame_equal(now, before)
        else:
            assert now == before


def test_plain_columns__whole_tables_are_plain(tmp_path):
    path = tmp_path / "y.txt.gz"
    path.write_bytes(gzip.compress(b"IID a\r\nP1 1\r\n\r\nP2 NA\r\nP3 -9"))
    terms = {"separator": " ", "n_columns": 2, "n_skipped": 1}
    parts = list(plain_columns(path, texts=[0], numbers=[1], **terms))
    assert [name for [ids], _ in parts for name in ids.to_pylist()] == ["P1", "P2", "P3"]
    np.testing.assert_array_equal(np.concatenate([values for _, values in parts]), [[1], [np.nan], [np.nan]])


@pytest.mark.parametrize(
    "cell", [*sorted(MISSING), *PIECES, "-0", "1E+5", "-1.5e-300", "4.9e-324", "9" * 400]
)
def test_plain_columns__numbers_are_those_of_other_readers(tmp_path, cell):
    if set(cell) & set("\t\n\r\0"):
        cell = "0"
    path = tmp_path / "y.tsv"
    path.write_text(f"IID\ta\nP1\t{cell}\n", encoding="utf-8")
    try:
        [(_, values)] = plain_columns(path, separator="\t", n_columns=2, n_skipped=1, texts=[0], numbers=[1])
    except NotPlainError:
        return
    number = number_of(cell.strip())
    expected = np.nan if cell.strip() in MISSING else number
    assert cell.strip() in MISSING or np.isfinite(number)
    np.testing.assert_array_equal(values, [[expected]])


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.text(alphabet='x1",;\t \r\u00a0', max_size=8), max_size=4), mark=st.sampled_from("\t,; ")
)
def test_plain_blocks__any_text_as_rows_of_has_it(tmp_path_factory, rows, mark):
    path = tmp_path_factory.mktemp("plain") / "t"
    path.write_text(f"s{mark}a{mark}b\n" + "\n".join(rows), newline="")
    try:
        parts = [[column.to_pylist() for column in columns] for columns, _ in plain_blocks(path, range(3))]
    except NotPlainError:
        return
    found = [[cell.strip(BLANKS) for cell in row] for part in parts for row in zip(*part, strict=True)]
    assert [row for row in found if any(row)] == [cells for _, cells in rows_of(path)][1:]


def test_tables__are_read_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(table_samples, "MOST_CELLS", 4)
    path = tmp_path / "y.tsv"
    path.write_text("IID\ta\n" + "".join(f"P{i}\t{i}\n" for i in range(9)))
    expected = sample_outcomes(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotPlainError):
        list(plain_columns(path, separator="\t", n_columns=2, n_skipped=1, texts=[0], numbers=[1]))
    assert sample_outcomes(path).ids == expected.ids
    np.testing.assert_array_equal(sample_outcomes(path).table, expected.table)


def test_sample_outcomes__refuses_a_carriage_return_within_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(table_samples, "MOST_CELLS", 4)
    path = tmp_path / "y.csv"
    path.write_text("IID,a\n" + "".join(f"P{i},1\r0\n" for i in range(9)), newline="")
    with refused("table-not-text", "y.csv"):
        sample_outcomes(path)


def test_read_samples__refuses_a_first_row_of_fewer_columns_than_others(tmp_path):
    path = tmp_path / "a.psam"
    path.write_text("#FID IID\nSEX\nf P0 1\nf P1 1\n")
    with refused("table-not-text", "a.psam"):
        read_samples(path)
