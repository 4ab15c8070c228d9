"""Tables of phenotypes, and the public constants that standardise them."""

import re

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.tables import parquet, phenotypes
from dpgrs.io.tables.outcome_scales import constants_of, read_scales
from dpgrs.io.tables.phenotypes import (
    OutcomeScale,
    describe_scale,
    match_outcomes,
    outcome_chunks,
    outcome_names,
    read_outcomes,
    standardise,
)
from refused import refused


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tabs.tsv", "sample\theight\tbmi\nHG1\t0.5\t-1\nHG2\tNA\t2e-1\n"),
        ("commas.csv", 'sample,"height",bmi\r\nHG1,0.5,-1\r\nHG2,,0.2\r\n'),
        ("quoted.csv", '"sample","height","bmi"\n"HG1","0.5",-1\n"HG2",NA,0.2\n'),
        ("semicolons.csv", "sample;height;bmi\nHG1;0.5;-1\nHG2;NA;0.2\n"),
        ("blanks.pheno", "#FID IID height bmi\n0 HG1 0.5 -1\n0   HG2 -9 0.2\n"),
        ("tabs.tsv.gz", "#IID\theight\tbmi\nHG1\t0.5\t-1.0\nHG2\tnan\t0.2\n\n"),
        ("marked.csv", "\ufeffIID,FID,height,bmi\nHG1,a,0.5,-1\nHG2,a,.,0.2\n"),
        ("trailing.tsv", "sample\theight\tbmi\t\t\nHG1\t0.5\t-1\nHG2\t\t0.2\t\n"),
    ],
)
def test_read_outcomes__same_table_from_every_dialect(write, name, text):
    table = read_outcomes(write(text, name))
    assert table.columns.tolist() == ["height", "bmi"]
    assert table.index.tolist() == ["HG1", "HG2"]
    np.testing.assert_array_equal(table.to_numpy(), [[0.5, -1], [np.nan, 0.2]])


NUMBERS = {"1": 1, "-1.50": -1.5, "+.5": 0.5, "5.": 5, "1e-3": 1e-3, "2E+2": 200, "-9.25": -9.25, "90": 90}
MISSING = ("", ".", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-9", "-9.0", "-09.", "-9e0", "-90E-1")
NO_NUMBERS = (
    *("1_000", "\u0661\u0662", "\uff11", "0x10", "inf", "-Infinity", "1e999", "NAN", "-nan", "na", "none"),
    *("1,5", "1 000", "\u22121", "--1", "1e", "e5", "+", "1d5", "1\u20092", "true"),
)


def test_read_outcomes__one_grammar_of_numbers(write):
    cells = [*NUMBERS, *MISSING]
    text = "".join(f"s{place}\t0\t{cell}\n" for place, cell in enumerate(cells))
    found = read_outcomes(write(f"sample\ta\tb\n{text}"))["b"]
    np.testing.assert_array_equal(found, [*NUMBERS.values(), *[np.nan] * len(MISSING)])


@pytest.mark.parametrize("cell", NO_NUMBERS)
def test_read_outcomes__raise_on_what_is_no_number(write, cell):
    message = "line 3, column `b`: must be a finite number or NA"
    with pytest.raises(DpgrsError, match=message):
        read_outcomes(write(f"sample\ta\tb\tc\ns1\t0\t1\t2\ns2\t0\t{cell}\tNA\n"))
    with refused("cell-not-a-number"):
        read_scales(write(f"outcome\tcentre\tscale\nh\t0\t{cell}\n"))


def test_read_outcomes__quotes_join_no_people(write):
    text = 'sample\ta\n"s1\t1\ns2\t2\ns3"\t3\n"s4"\t4\n'
    assert read_outcomes(write(text)).index.tolist() == ['"s1', "s2", 's3"', '"s4"']
    assert read_outcomes(write(text.replace("\t", " "))).index.tolist() == ['"s1', "s2", 's3"', '"s4"']
    table = read_outcomes(write('sample,a\n"s,""1",1\n"s2",2\n', "y.csv"))
    assert table.index.tolist() == ['s,"1', "s2"]


def test_read_outcomes__lines_are_counted_where_quoted_cells_have_several(write):
    with refused("cell-not-a-number", "`a`", "line 4"):
        read_outcomes(write('sample,"a note",a\ns1,"two\nlines",1\ns2,,x\n', "y.csv"), columns=["a"])


@pytest.mark.parametrize("mark", ["\0", "\x1f", "\x7f", "\x85", "\u2028", "\u200b", "\u00a0"])
@pytest.mark.parametrize("separator", ["\t", ",", " "])
def test_read_outcomes__raise_on_an_id_with_what_is_not_seen(write, tmp_path, mark, separator):
    rows = [["sample", "a"], ["s1", "1"], [f"s{mark}2", "2"]]
    with refused("sample-id-empty", "line 3") as caught:
        read_outcomes(write("\n".join(map(separator.join, rows)) + "\n"))
    assert mark not in str(caught.value)
    pd.DataFrame(rows[1:], columns=rows[0]).astype({"a": float}).to_parquet(tmp_path / "y.parquet")
    with refused("person-not-once"):
        read_outcomes(tmp_path / "y.parquet")


def test_read_outcomes__in_parts_as_in_one(write, tmp_path, monkeypatch):
    ids, values = [f"s{i}" for i in range(50)], np.random.default_rng(2).standard_normal((50, 3)).round(6)
    whole = pd.DataFrame(values, index=pd.Index(ids, name="sample"), columns=["a", "b", "c"])
    whole.to_csv(tmp_path / "y.tsv", sep="\t")
    whole.to_parquet(tmp_path / "y.parquet")
    monkeypatch.setattr(phenotypes, "CHUNK_CELLS", 20)
    monkeypatch.setattr(parquet, "CHUNK_VALUES", 12)
    for name in ("y.tsv", "y.parquet"):
        path, scale = tmp_path / name, OutcomeScale()
        parts = list(outcome_chunks(path))
        assert len(parts) > 5
        for part in parts:
            scale.add(part)
        pd.testing.assert_frame_equal(read_outcomes(path), whole)
        pd.testing.assert_frame_equal(scale.describe(), describe_scale(whole))
        assert read_outcomes(path, columns=slice(2)).columns.tolist() == ["a", "b"]
        pd.testing.assert_frame_equal(read_outcomes(path, columns=["c", "a"]), whole[["c", "a"]])
        with refused("column-missing", "`d`"):
            read_outcomes(path, columns=["d"])
        monkeypatch.setattr(phenotypes, "MOST_PEOPLE", 30)
        with refused("table-too-large"):
            read_outcomes(path)
        monkeypatch.setattr(phenotypes, "MOST_PEOPLE", 50)
        monkeypatch.setattr(phenotypes, "MOST_VALUES", 100)
        assert read_outcomes(path, columns=slice(2)).shape == (50, 2)
        with refused("table-too-large", "100"):
            read_outcomes(path)
        monkeypatch.setattr(phenotypes, "MOST_VALUES", 150)


def test_read_outcomes__ids_repeated_in_another_part(write, tmp_path, monkeypatch):
    monkeypatch.setattr(phenotypes, "CHUNK_CELLS", 2)
    monkeypatch.setattr(parquet, "CHUNK_VALUES", 2)
    frame = pd.DataFrame({"sample": ["a", "b", "a"], "y": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "y.tsv", sep="\t", index=False)
    frame.to_parquet(tmp_path / "y.parquet")
    for name, message in (("y.tsv", "line 4: each person"), ("y.parquet", "each person must have one row")):
        with pytest.raises(DpgrsError, match=message):
            read_outcomes(tmp_path / name)


def test_read_outcomes__columns_that_are_not_used_may_hold_anything(write):
    path = write("sample\ta\tnote\ts1\nA\t1\ttall\tinf\n")
    assert read_outcomes(path, columns=["a"]).to_numpy().tolist() == [[1]]
    with refused("cell-not-a-number", "`note`"):
        read_outcomes(path)


def test_read_outcomes__ids_stay_text_and_fid_is_no_outcome(write):
    path = write("FID\tIID\theight\tbmi\na\t007\t1\t1\nb\t1e3\t2\t2\nc\tNA\t3\t3\n")
    table = read_outcomes(path)
    assert table.index.tolist() == ["007", "1e3", "NA"]
    assert outcome_names(path) == table.columns.tolist() == ["height", "bmi"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('"sample"\t"height"\nHG1\t1\n', ("id-column-missing",)),
        ('sample\theight\nHG1\t"1"\n', ("cell-not-a-number", "`height`", "line 2")),
        ('sample,height\n"HG1,1\nHG2,2\n', ("table-not-text",)),
        ('sample,height\n"HG"1,1\n', ("table-not-text",)),
        ("", ("table-empty",)),
        ("\n\n", ("table-empty",)),
        ("sample\theight\n", ("table-without-people",)),
        ("sample\nHG1\n", ("outcome-column-missing",)),
        ("FID\tIID\n0\tHG1\n", ("outcome-column-missing",)),
        ("FID\nHG1\n", ("id-column-missing", "`sample`", "`IID`", "line 1")),
        ("height\tsample\n1\tHG1\n", ("id-column-missing", "`sample`", "`IID`", "line 1")),
        ("sample\theight\theight\nHG1\t1\t2\n", ("column-name-invalid", "column 2", "column 3")),
        ("sample\t\theight\nHG1\t1\t2\n", ("column-name-invalid", "column 2")),
        ("sample\theight\nHG1\t1\nHG2\t2\nHG1\t3\n", ("person-twice", "line 4", "line 2")),
        ("sample\theight\n\t1\n", ("sample-id-empty", "line 2")),
        ("sample\theight\tbmi\nHG1\t1\t2\nHG2\t1\n", ("line-width", "line 3", "got 2")),
        ("sample\theight\nHG1\t1\t2\n", ("line-width", "line 2", "got 3")),
        ("sample\theight\n\xff\xfe\x00\t1\n", ("table-not-text",)),
    ],
)
def test_read_outcomes__raise_on_bad_table(write, text, fault):
    path = write(text)
    path.write_bytes(text.encode("latin-1"))  # of which not all is UTF-8
    with refused(*fault) as caught:
        read_outcomes(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["absent.tsv", "absent.parquet"])
def test_read_outcomes__raise_on_missing_file_and_on_a_folder(tmp_path, name):
    with refused("file-missing", error=UsageError):
        outcome_names(tmp_path / name)
    with refused("file-unreadable"):
        read_outcomes(tmp_path)


def test_read_outcomes__raise_on_truncated_gzip(write):
    path = write("sample\theight\n" + "".join(f"HG{i}\t{i / 7}\n" for i in range(2000)), "cut.tsv.gz")
    path.write_bytes(path.read_bytes()[:-100])
    with refused("gzip-damaged"):
        read_outcomes(path)


@pytest.mark.parametrize("text", ["SECRET7\tsecret", "SECRET7\t1\nSECRET7\t2", "SECRET7\t1\t7.125"])
def test_read_outcomes__messages_name_no_sample_and_no_value(write, text):
    with pytest.raises(DpgrsError) as caught:
        read_outcomes(write(f"sample\theight\n{text}\n"))
    assert not re.search("secret|7.125", str(caught.value), re.IGNORECASE)


def test_read_outcomes__comments_above_the_names_are_skipped(write):
    comments = "# Study accession: phs000000.v1.p1\n#\n# to cite, please; use, these\n\n##\t\tphv1\n"
    assert read_outcomes(write(comments + "SAMPLE_ID\tA\nHG1\t2\n")).loc["HG1", "A"] == 2
    with refused("cell-not-a-number", "`A`", "line 7"):
        read_outcomes(write(comments + "SAMPLE_ID\tA\nHG1\tx\n"))


def test_match_outcomes__order_of_genotypes_and_nan_for_absent(write):
    table = read_outcomes(write("sample\ta\tb\ns3\t3\t30\ns1\t1\t10\nother\t9\t9\n"))
    Y, names = match_outcomes(table, np.array(["s1", "s2", "s3"]))
    assert names == ["a", "b"]
    assert Y.dtype == np.float64
    np.testing.assert_array_equal(Y, [[1, np.nan, 3], [10, np.nan, 30]])


def with_moments(mean, sd, n=10):
    """Return values of exactly this mean and standard deviation, up to rounding."""
    values = np.arange(n, dtype=float)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize(
    ("values", "is_raw"),
    [
        (with_moments(0, 1), False),
        (with_moments(0.49, 1), False),
        (with_moments(-0.51, 1), True),
        (with_moments(0.51, 1), True),
        (with_moments(0, 0.61), False),
        (with_moments(0, 0.59), True),
        (with_moments(0, 2.49), False),
        (with_moments(0, 2.51), True),
        # Too few to judge.
        (np.append(with_moments(170, 7, n=9), np.nan), False),
        (np.append(with_moments(170, 7, n=10), np.nan), True),
        (np.full(10, np.nan), False),
        ([1.5e308, -1.5e308] * 5, True),
    ],
)
def test_describe_scale__bounds(values, is_raw):
    with np.errstate(all="ignore"):
        scale = describe_scale(pd.DataFrame({"first": with_moments(0, 1, n=len(values)), "y": values}))
    assert scale["is_raw"].tolist() == [False, is_raw]


FRAME = {"height": [0.5, None], "IID": ["HG1", "007"], "FID": ["a", "b"], "case": [True, False], "n": [3, -9]}


def test_read_outcomes__parquet_by_types(tmp_path):
    path = tmp_path / "y.parquet"
    pd.DataFrame(FRAME).to_parquet(path)
    table = read_outcomes(path)
    assert outcome_names(path) == table.columns.tolist() == ["height", "case", "n"]
    assert table.index.tolist() == ["HG1", "007"]
    # -9 is missing as it is in text: the table may have been text before.
    np.testing.assert_array_equal(table, [[0.5, 1, 3], [np.nan, 0, np.nan]])


def test_read_outcomes__parquet_with_an_index_and_whole_numbers_as_ids(tmp_path):
    path = tmp_path / "y.pq"
    index = pd.Index([17, 4], name="sample")
    pd.DataFrame({"a": np.array([1, 2], dtype=np.float32)}, index=index).to_parquet(path)
    table = read_outcomes(path)
    assert table.index.tolist() == ["17", "4"]
    assert table["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"a": [1.0]}, ("id-column-not-one", "`sample`", "`IID`", "got 0")),
        ({"sample": ["s"], "IID": ["s"], "a": [1.0]}, ("id-column-not-one", "`sample`", "`IID`", "got 2")),
        ({"sample": ["s"]}, ("outcome-column-missing",)),
        ({"sample": [], "a": []}, ("table-without-people",)),
        ({"sample": [1.5], "a": [1.0]}, ("ids-not-text", "`sample`")),
        ({"sample": ["s"], "a": ["SECRET"]}, ("column-not-numeric", "`a`")),
        ({"sample": ["s"], "a": [np.inf]}, ("column-not-finite", "`a`")),
        ({"sample": ["s", "s"], "a": [1.0, 2.0]}, ("person-not-once",)),
        ({"sample": ["s", None], "a": [1.0, 2.0]}, ("person-not-once",)),
    ],
)
def test_read_outcomes__raise_on_bad_parquet(tmp_path, columns, fault):
    path = tmp_path / "y.parquet"
    types = {"sample": "string"} if columns.get("sample") == [] else {}
    pd.DataFrame(columns).astype(types).to_parquet(path)
    with refused(*fault) as caught:
        read_outcomes(path)
    assert str(path) in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"sample\ta\nHG1\t1\n", None])
def test_read_outcomes__raise_on_what_is_no_parquet(tmp_path, content):
    path = tmp_path / "y.parquet"
    if content is None:
        pd.DataFrame(FRAME).to_parquet(path)
        content = path.read_bytes()[:-20]
    path.write_bytes(content)
    with refused("parquet-damaged"):
        read_outcomes(path)


SCALES = "outcome\tcenter\tsd\tprevalence\torigin\nheight\t170\t10\t\tNHS 2019\ncase\t\t\t0.2\t\n"


def test_standardise__centre_and_scale_or_prevalence(write):
    table = read_outcomes(write("sample\tcase\theight\ns1\t1\t180\ns2\t0\tNA\n", "y.tsv"))
    scales = read_scales(write(SCALES))
    assert scales.loc["height"].tolist()[:4] == [170, 10, False, "NHS 2019"]
    assert np.isnan(scales.loc["height", "population_prevalence"])
    assert scales.loc["case", "population_prevalence"] == 0.2
    found = standardise(table, constants_of(table.columns, scales, path="scales.tsv"))
    np.testing.assert_allclose(found, [[2, 1], [-0.5, np.nan]], rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\tscale\nheight\t10\n", "line 2: must have centre and scale, or prevalence alone"),
        ("outcome\tscale\tprevalence\nh\t1\t0.5\n", "line 2: must have centre and scale, or prevalence"),
        ("height\tcentre\n170\t10\n", "line 1: the column `outcome` must be there"),
        ("outcome\tcentre\tscale\nh\t1\t0\n", "line 2: the scale must be from 1e-100 to 1e+100"),
        ("outcome\tcentre\tscale\nh\t-1e154\t2\n", "line 2: the scale must be from 1e-100 to 1e+100"),
        ("outcome\tcentre\tscale\nh\t1\t2\nh\t1\t2\n", "line 3: must name each outcome once, got that of"),
        ("outcome\tcentre\tscale\n\t1\t2\n", "line 2: must name each outcome once, got none"),
        ("outcome\tcentre\tscale\nh\tx\t2\n", "column `centre`: must be a finite number"),
        ("outcome\tprevalence\nh\t1\n", "line 2: the prevalence must be between 0 and 1"),
        (
            "outcome\tprevalence\tpopulation_prevalence\nh\t0.5\t0\n",
            "line 2: the population_prevalence must be between 0 and 1",
        ),
    ],
)
def test_read_scales__raise_on_bad_table(write, text, message):
    with pytest.raises(DpgrsError, match=re.escape(message)):
        read_scales(write(text))


def test_constants_of__raise_on_outcome_without_constants(write):
    with refused("scale-missing", "`bmi`"):
        constants_of(["height", "bmi"], read_scales(write(SCALES)), path="scales.tsv")


def test_standardise__raise_on_binary_of_other_codes(write):
    constants = read_scales(write(SCALES)).loc[["case"]]
    with refused("binary-column-values", "`case`") as caught:
        standardise(pd.DataFrame({"case": [1.0, 2.0, np.nan]}), constants)
    assert "2.0" not in str(caught.value)
