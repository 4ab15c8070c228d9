"""Large tables of phenotypes: all ids, and values of people chosen at random."""

import gzip

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.tables import phenotypes, table_samples
from dpgrs.io.tables.phenotypes import read_outcomes
from dpgrs.io.tables.table_samples import describe_chosen, outcome_people, sample_outcomes, share_error
from refused import refused

N, MOST = 600, 50
IDS = [f"HG{number:04}" for number in range(N)]
KINDS = ["y.tsv", "y.csv", "y.txt.gz", "y.parquet"]


@pytest.fixture(autouse=True)
def _bound(monkeypatch):
    """Read tables of three columns whole up to fifty people."""
    monkeypatch.setattr(table_samples, "MOST_CELLS", 3 * MOST)


def write(path, *, n=N, **columns):
    """Write a table of two outcomes of the first people, a in the order of the file."""
    table = pd.DataFrame({"sample": IDS[:n], "a": np.arange(n), "b": -np.arange(n) / 3} | columns)
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=70)
    else:
        text = table.to_csv(index=False, sep={".tsv": "\t", ".csv": ","}.get(path.suffix, " "), na_rep="NA")
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", KINDS)
def test_sample_outcomes__all_ids_and_some_people_as_they_are(tmp_path, name):
    path = write(tmp_path / name)
    sample, whole = sample_outcomes(path), read_outcomes(path)
    assert sample.ids == outcome_people(path) == IDS
    assert len(sample.table) == MOST
    pd.testing.assert_frame_equal(sample.table, whole.loc[sample.table.index])
    places = sample.table["a"].to_numpy()
    assert (np.diff(places) > 0).all()
    # From all over the file: the mean of 50 of 600 is within six of its standard deviations, 23.5.
    assert abs(places.mean() - (N - 1) / 2) < 6 * 23.5
    assert str(sample) == (
        "values of 50 of its 600 people, chosen at random, were looked at; the job that reads the table "
        "looks at all."
    )


@pytest.mark.parametrize("name", KINDS)
def test_sample_outcomes__among_people_of_the_study(tmp_path, name):
    path, people = write(tmp_path / name), set(IDS[::10])
    assert len(sample_outcomes(path, people=people).table) == MOST
    assert set(sample_outcomes(path, people=people).table.index) < people
    fewer = sample_outcomes(path, people=set(IDS[5:25]), columns=["b"])
    pd.testing.assert_frame_equal(fewer.table, read_outcomes(path, columns=["b"]).iloc[5:25])
    nobody = sample_outcomes(path, people={"else"})
    assert (nobody.ids, nobody.table.shape) == (IDS, (0, 2))


@pytest.mark.parametrize("name", KINDS)
def test_sample_outcomes__small_tables_are_for_reading_whole(tmp_path, name):
    assert sample_outcomes(write(tmp_path / name, n=MOST)) is None
    assert len(sample_outcomes(write(tmp_path / name, n=MOST + 1)).table) == MOST


@pytest.mark.parametrize("name", KINDS[:3])
def test_sample_outcomes__refuses_lines_and_ids_anywhere_and_cells_of_those_chosen(tmp_path, name):
    bad = write(tmp_path / name, b=["x"] * N)
    with refused("cell-not-a-number", "`b`"):
        sample_outcomes(bad)
    assert len(sample_outcomes(bad, columns=["a"]).table) == MOST
    with refused("person-twice", "line 601", "line 2"):
        sample_outcomes(write(tmp_path / name, sample=[*IDS[:-1], IDS[0]]))
    if name.endswith(".tsv"):
        write(bad).write_text(bad.read_text() + "HG9\t1\n")
        with refused("line-width", "line 602", "got 2"):
            sample_outcomes(bad, columns=["a"])


def test_sample_outcomes__refuses_types_of_parquet_and_infinite_numbers(tmp_path):
    path = tmp_path / "y.parquet"
    with refused("column-not-numeric", "`b`"):
        sample_outcomes(write(path, b=["1"] * N))
    with refused("column-not-finite", "`b`"):
        sample_outcomes(write(path, b=[np.inf] * N))
    with refused("person-not-once"):
        sample_outcomes(write(path, sample=[*IDS[:-1], IDS[0]]))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("limit", [("MOST_PEOPLE", N - 1), ("MOST_VALUES", 2 * N - 1)])
def test_sample_outcomes__refuses_more_than_a_study_takes(tmp_path, monkeypatch, name, limit):
    monkeypatch.setattr(phenotypes, *limit)
    with refused("table-too-large"):
        sample_outcomes(write(tmp_path / name))


def test_share_error__covers_shares_and_is_none_of_everybody():
    assert share_error(50, 50) == 0
    assert share_error(0, 50) > 1
    # Hoeffding: 2 n error^2 = log(1 / false alarm).
    assert np.exp(-2 * 1000 * share_error(1000, 1001) ** 2) == pytest.approx(1e-12)


def test_describe_chosen__raw_where_it_is_sure():
    random = np.random.default_rng(0)
    normal, codes = random.standard_normal(1000), np.arange(1000) % 2
    rare = np.where(np.arange(1000) < 3, 44.7, -0.02)
    columns = {
        "standard": normal,
        "rare": rare,  # standardised, of one in two thousand: its deviation here is that of three people
        "nobody": np.full(1000, -0.02),
        "near": 0.6 + normal,
        "height": 170 + 9 * normal,
        "negative": -4 + normal,
        "case": codes,
        "gaps": np.where(np.arange(1000) < 900, np.nan, codes),
        "few": np.where(np.arange(1000) < 991, np.nan, 170),
        "empty": np.full(1000, np.nan),
    }
    found = describe_chosen(pd.DataFrame(columns))
    assert found.index[found["is_raw"]].tolist() == ["height", "negative", "case", "gaps"]
    assert found["mean"]["height"] == pytest.approx(170, abs=2)
