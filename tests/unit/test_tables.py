import gzip
import re

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.tables import (
    describe_mismatch,
    describe_scale,
    match_outcomes,
    read_outcomes,
    read_populations,
)


@pytest.fixture
def write(tmp_path):
    """Write a table and return its path."""

    def write(text, name="table.tsv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tabs.tsv", "sample\theight\tbmi\nHG1\t0.5\t-1\nHG2\tNA\t2e-1\n"),
        ("commas.csv", 'sample,"height",bmi\r\nHG1,0.5,-1\r\nHG2,,0.2\r\n'),
        ("quoted.tsv", '"sample"\t"height"\t"bmi"\n"HG1"\t0.5\t-1\n"HG2"\tNA\t0.2\n'),
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


def test_read_outcomes__ids_stay_text(write):
    table = read_outcomes(write("IID\theight\n007\t1\n1e3\t2\nNA\t3\n"))
    assert table.index.tolist() == ["007", "1e3", "NA"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("sample\theight\n", "must have a line for each person"),
        ("sample\nHG1\n", "at least one outcome column"),
        ("FID\tIID\n0\tHG1\n", "at least one outcome column"),
        ("FID\nHG1\n", "line 1: the first column must be `sample` or `IID`, got another name"),
        ("height\tsample\n1\tHG1\n", "line 1: the first column must be `sample` or `IID`, got another name"),
        ("sample\theight\theight\nHG1\t1\t2\n", "got that of column 2 in column 3"),
        ("sample\t\theight\nHG1\t1\t2\n", "got none in column 2"),
        (
            "sample\theight\nHG1\t1\nHG2\t2\nHG1\t3\n",
            "line 4: each person must have one line, got the id of line 2",
        ),
        ("sample\theight\n\t1\n", "line 2: the sample id must not be empty"),
        (
            "sample\theight\tbmi\nHG1\t1\t2\nHG2\t1\n",
            "line 3: must have 3 columns like the first line, got 2",
        ),
        ("sample\theight\nHG1\t1\t2\n", "line 2: must have 2 columns like the first line, got 3"),
        ("sample\theight\tbmi\nHG1\t1\ttall\n", "line 2, column `bmi`: must be a finite number or NA"),
        ("sample\theight\nHG1\tinf\n", "line 2, column `height`: must be a finite number or NA"),
    ],
)
def test_read_outcomes__raise_on_bad_table(write, text, message):
    path = write(text)
    with pytest.raises(DpgrsError, match=re.escape(message)) as caught:
        read_outcomes(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_outcomes__raise_on_missing_file(tmp_path):
    with pytest.raises(DpgrsError, match="not there"):
        read_outcomes(tmp_path / "absent.tsv")


def test_read_outcomes__raise_on_folder(tmp_path):
    with pytest.raises(DpgrsError, match="must be readable"):
        read_outcomes(tmp_path)


def test_read_outcomes__raise_on_truncated_gzip(write):
    path = write("sample\theight\n" + "".join(f"HG{i}\t{i / 7}\n" for i in range(2000)), "cut.tsv.gz")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DpgrsError, match="cut off or damaged"):
        read_outcomes(path)


def test_read_outcomes__raise_on_binary_file(tmp_path):
    path = tmp_path / "image.tsv"
    path.write_bytes(b"sample\theight\n\xff\xfe\x00\t1\n")
    with pytest.raises(DpgrsError, match="UTF-8 text"):
        read_outcomes(path)


@pytest.mark.parametrize("text", ["SECRET7\tsecret", "SECRET7\t1\nSECRET7\t2", "SECRET7\t1\t7.125"])
def test_read_outcomes__messages_name_no_sample_and_no_value(write, text):
    with pytest.raises(DpgrsError) as caught:
        read_outcomes(write(f"sample\theight\n{text}\n"))
    assert not re.search("secret|7.125", str(caught.value), re.IGNORECASE)


def test_match_outcomes__order_of_genotypes_and_nan_for_absent(write):
    table = read_outcomes(write("sample\ta\tb\ns3\t3\t30\ns1\t1\t10\nother\t9\t9\n"))
    Y, names = match_outcomes(table, np.array(["s1", "s2", "s3"]))
    assert names == ["a", "b"]
    assert Y.dtype == np.float64
    np.testing.assert_array_equal(Y, [[1, np.nan, 3], [10, np.nan, 30]])


def test_match_outcomes__raise_on_no_common_person_with_patterns_only(write):
    table = read_outcomes(write("sample\ta\nNA12878\t3\n"))
    with pytest.raises(DpgrsError, match="AA99999 where those have A_999") as caught:
        match_outcomes(table, ["s_123"])
    assert "12878" not in str(caught.value)


def test_describe_mismatch__none_where_one_person_is_common():
    assert describe_mismatch(["a", "b"], ["b", "c"], shows_ids=True) is None


def test_describe_mismatch__three_ids_of_each_side_or_their_patterns():
    sides = [f"HG{i:05d}" for i in range(5)], ["x-1", "y-2", "é-33", "z"]
    assert "HG00000, HG00001, HG00002 where those have x-1, y-2, é-33." in describe_mismatch(
        *sides, shows_ids=True
    )
    assert "got AA99999 where those have A-9, A-99, A." in describe_mismatch(*sides, shows_ids=False)


@pytest.mark.parametrize(
    "text",
    [
        "sample\tpop\tsuper_pop\tgender\t\t\nHG1\tGBR\tEUR\tmale\nHG2\tYRI\tAFR\tfemale\n",
        "sample\tpop\tsuper_pop\nHG1\tGBR\tEUR\t\t\nHG2\tYRI\tAFR\n",
        "population,super_population,sample\nGBR,EUR,HG1\nYRI,AFR,HG2\n",
        "#IID Pop Super_Pop\nHG1 GBR EUR\nHG2 YRI AFR\n",
    ],
)
def test_read_populations__same_labels_from_every_dialect(write, text):
    table = read_populations(write(text))
    assert table.index.tolist() == ["HG1", "HG2"]
    assert table["population"].tolist() == ["GBR", "YRI"]
    assert table["super_population"].tolist() == ["EUR", "AFR"]


def test_read_populations__super_population_is_optional(write):
    table = read_populations(write("sample\tpopulation\nHG1\tGBR\n"))
    assert table.loc["HG1"].to_dict() == {"population": "GBR", "super_population": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("sample\tgroup\nHG1\tGBR\n", "columns `sample` and `population` must be there"),
        ("who\tpop\nHG1\tGBR\n", "columns `sample` and `population` must be there"),
        ("sample\tpop\n", "must have a line for each person"),
        ("sample\tpop\nHG1\tGBR\nHG1\tYRI\n", "line 3: each person must have one line"),
        ("sample\tpop\nHG1\t\n", "line 2: the population must not be empty"),
    ],
)
def test_read_populations__raise_on_bad_table(write, text, message):
    with pytest.raises(DpgrsError, match=re.escape(message)):
        read_populations(write(text))


@pytest.mark.realdata
def test_read_populations__1000_genomes_panel(real_data):
    table = read_populations(real_data / "1kg" / "integrated_call_samples_v3.20130502.ALL.panel")
    assert table.loc["HG00096"].to_dict() == {"population": "GBR", "super_population": "EUR"}
    assert table["super_population"].nunique() == 5
    assert table["population"].nunique() == 26


def with_moments(mean, sd, n=10):
    """Return values of exactly this mean and standard deviation, up to rounding."""
    values = np.arange(n, dtype=float)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize(
    ("values", "is_rare", "is_raw"),
    [
        (with_moments(0, 1), False, False),
        (with_moments(0.49, 1), False, False),
        (with_moments(-0.51, 1), False, True),
        (with_moments(0.51, 1), False, True),
        (with_moments(0, 0.61), False, False),
        (with_moments(0, 0.59), False, True),
        (with_moments(0, 2.49), False, False),
        (with_moments(0, 2.51), False, True),
        (np.append(with_moments(0, 1, n=9), np.nan), True, False),
        (np.append(with_moments(170, 7, n=9), np.nan), True, False),
        (np.full(10, np.nan), True, False),
        ([1.5e308, -1.5e308] * 5, False, True),
    ],
)
def test_describe_scale__bounds(values, is_rare, is_raw):
    with np.errstate(all="ignore"):
        scale = describe_scale(pd.DataFrame({"first": with_moments(0, 1), "y": values})).loc["y"]
    assert (scale["is_rare"], scale["is_raw"]) == (is_rare, is_raw)
    assert scale["n_observed"] == np.isfinite(values).sum()
