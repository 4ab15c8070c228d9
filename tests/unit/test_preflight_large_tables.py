"""What preflight says of tables of which it looks at some people alone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.tables import table_samples
from dpgrs.preflight import covariates, public_side, tables
from dpgrs.study.settings import resolve
from found_by import found_by

N, MOST = 6000, 2000
PEOPLE = [f"HG{number:05}" for number in range(N)]
STANDARD = np.random.default_rng(1).standard_normal(N)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in an empty folder, where tables of two columns are read whole up to two thousand people."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_samples, "MOST_CELLS", 2 * MOST)


def found(values, *, people=PEOPLE, shows_ids=True, tell=None, scales=None, name="y.tsv"):
    table = pd.DataFrame({"sample": PEOPLE, "y": values})
    if name.endswith(".parquet"):
        table.to_parquet(name)
    else:
        table.to_csv(name, sep="\t", index=False, na_rep="NA")
    if scales is not None:
        Path("scales.tsv").write_text(scales)
    section = {"source": "file", "file": name, "scales": scales and "scales.tsv"}
    known = {"people": people, "shows_ids": shows_ids}
    return found_by(tables, resolve({"outcomes": section}), tell=tell, **known)


def first(n, value):
    """Return the standard values, of the first n people another."""
    return np.where(np.arange(N) < n, value, STANDARD)


@pytest.mark.parametrize("name", ["y.tsv", "y.parquet"])
@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__the_operator_is_told_who_was_looked_at(name, shows_ids):
    told, people = [], [*PEOPLE[:4000], "else"]
    assert found(STANDARD, name=name, people=people, shows_ids=shows_ids, tell=told.append) == []
    assert told == [
        f"{name}: values of 2,000 of its 6,000 people, chosen at random, were looked at; the job that reads "
        "the table looks at all.",
        f"{name}: 4,000 of 4,001 people with genotypes (100.0%) are in the table of outcomes; 4,000 of its "
        "6,000 ids (66.7%) have genotypes.",
        f"{name}: With a value among 2,000 people chosen: y 2,000 (0.0% missing).",
    ]
    assert found(STANDARD, people=None, tell=told.append) == []
    assert len(told) == 4


def test_problems__everybody_with_genotypes_is_looked_at_where_few_have_some():
    told = []
    # The rule for all people holds: a mean of 0.6 is refused, which no sample tells for sure.
    lines = found(0.6 + STANDARD, people=PEOPLE[:1500], tell=told.append)
    assert "in column `y`" in lines[-1]
    assert told[0].startswith("y.tsv: values of 1,500 of its 6,000 people")
    assert told[2] == "y.tsv: With a value: y 1,500 (0.0% missing)."
    assert found(0.6 + STANDARD) == []


@pytest.mark.parametrize("shows_ids", [True, False])
def test_problems__outcomes_of_far_too_few_people(shows_ids):
    few = (
        "`outcomes.file`: `y.tsv` must have values for at least 0.5 (`outcomes.least_share`) of the people "
        "of the genotypes, and for 10 people in any case, in each column that is used, got fewer in y. Take "
        "these columns out of the table, or lower the share if that is how it is."
    )
    assert found(first(4500, np.nan), shows_ids=shows_ids) == [few]
    # Short of half by so little that people chosen may have it by chance; the job counts all.
    assert found(first(3060, np.nan), shows_ids=shows_ids) == []


def test_problems__values_that_a_sample_shows():
    assert "got mean 170 and" in found(170 + STANDARD)[0]
    assert found(170 + STANDARD, shows_ids=False) == []
    constants = "outcome\tcentre\tscale\ny\t170\t1\n"
    assert found(170 + STANDARD, scales=constants) == []
    line = found(first(3000, 1), scales="outcome\tprevalence\ny\t0.5\n")[0]
    assert "Column `y` must hold 0 and 1 alone" in line
    for shows_ids in (True, False):
        line = found(["tall"] * N, shows_ids=shows_ids)[0]
        assert line.startswith("`outcomes.file`: `y.tsv`, line ")
        assert ("got `tall`" in line) == shows_ids


def test_problems__ids_are_all_looked_at():
    assert "must share sample ids with the genotypes" in found(STANDARD, people=["X"] * 10)[0]
    assert "must share at least 0.5" in found(STANDARD, people=PEOPLE[:2900])[0]


@pytest.mark.parametrize(("centre", "n_problems"), [(0, 0), (2.2, 0), (500, 1)])
def test_problems__covariates_most_of_which_are_clipped(centre, n_problems):
    found(STANDARD)
    Path("scales.tsv").write_text(f"covariate\tcentre\tscale\ny\t{centre}\t1\n")
    section = {"file": "y.tsv", "scales": "scales.tsv", "bound": 2.2}
    config = {"privacy": {"bounds": "tight"}, "methods": ["blup"], "covariates": section}
    lines = found_by(covariates, resolve(config), people=PEOPLE, shows_ids=True)
    assert ["most beyond it in column `y`" in line for line in lines] == [True] * n_problems


def test_problems__public_outcomes_of_the_same_people():
    found(STANDARD)
    settings = {"mode": "release", "privacy": {"protection": ["feature"]}}
    config = resolve(settings | {"outcomes": {"source": "file", "file": "y.tsv"}})
    wanted = "`outcomes.file` must hold the people with genotypes and no others"
    for people, is_refused in ((PEOPLE, False), (PEOPLE[1:], True)):
        lines = found_by(public_side, config, people=people)
        assert any(line.startswith(wanted) for line in lines) == is_refused
