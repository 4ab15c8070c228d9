"""How many people with genotypes have outcomes and covariates, counted and put into words."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.files import write_table
from dpgrs.io.tables.people_counts import PeopleCount, describe_counts, read_counts

PEOPLE = [f"HG{number:05}" for number in range(300)]


def table_of(ids, **columns):
    return pd.DataFrame(columns, index=pd.Index(ids, name="sample"), dtype=float)


def counted(n_both, n_others, *, kind="outcome", columns=None):
    """Count a table of the first people of the genotypes and of others."""
    ids = PEOPLE[:n_both] + [f"X{number}" for number in range(n_others)]
    count = PeopleCount(kind, PEOPLE)
    count.add(table_of(ids, **(columns or {"height": np.arange(len(ids))})))
    return count


def test_add__counts_part_by_part_and_gives_those_with_genotypes():
    table = table_of(["else", *PEOPLE[:5]], height=[1, 1, np.nan, 1, 1, 1], bmi=[1, np.nan, np.nan, 1, 1, 1])
    count = PeopleCount("outcome", PEOPLE)
    assert count.add(table.iloc[:3]).index.tolist() == PEOPLE[:2]
    assert count.add(table.iloc[3:]).index.tolist() == PEOPLE[2:5]
    assert count.table.to_numpy().tolist() == [
        ["outcome", "height", 300, 5, 6, 4, pytest.approx(1 - 4 / 300)],
        ["outcome", "bmi", 300, 5, 6, 3, pytest.approx(0.99)],
    ]


@pytest.mark.parametrize(
    ("n_both", "n_others", "least_share", "is_enough"),
    [
        (300, 0, 1.0, True),
        (299, 0, 1.0, False),
        (300, 1, 1.0, False),
        (150, 0, 0.5, True),
        (149, 0, 0.5, False),
        (300, 300, 0.5, True),
        (300, 301, 0.5, False),
        (18, 282, 0.5, False),
        (18, 282, 0.06, True),
        (10, 10_000, 0.0, True),
        (0, 10, 0.0, False),
    ],
)
def test_problem__too_few_of_either_side(n_both, n_others, least_share, is_enough):
    problem = counted(n_both, n_others).problem(least_share, shows_ids=False)
    assert (problem is None) == is_enough
    if n_both and problem:
        start = f"must share at least {least_share:g} (`outcomes.least_share`) of"
        assert problem.startswith(start)
        assert not any(str(number) in problem.removeprefix(start) for number in (n_both, n_others))


@pytest.mark.parametrize(("n_both", "is_enough"), [(150, True), (149, False), (0, False)])
def test_problem__others_in_a_table_that_may_have_them_do_not_count(n_both, is_enough):
    problem = counted(n_both, 10_000).problem(0.5, shows_ids=False, allows_others=True)
    assert (problem is None) == is_enough


@pytest.mark.parametrize(
    ("least_share", "few"),
    [(1.0, ["bmi", "sbp", "n10", "n9", "none"]), (0.5, ["sbp", "n10", "n9", "none"]), (0, ["n9", "none"])],
)
def test_problem__names_all_columns_of_too_few_values(least_share, few):
    n_known = {"height": 300, "bmi": 150, "sbp": 149, "n10": 10, "n9": 9, "none": 0}
    columns = {name: np.where(np.arange(300) < n, 0.0, np.nan) for name, n in n_known.items()}
    problem = counted(300, 0, kind="covariate", columns=columns).problem(least_share, shows_ids=True)
    assert f"values for at least {least_share:g} (`outcomes.least_share`) of the people of the" in problem
    assert f"got fewer in {', '.join(few)}. Leave these columns out by `covariates.columns`, or" in problem
    assert not any(str(number) in problem for number in (300, 150, 149))


def test_problem__values_of_people_without_genotypes_do_not_count():
    columns = {"height": [0] * 300, "bmi": [*[np.nan] * 200, *[0] * 100]}
    assert "got fewer in bmi." in counted(200, 100, columns=columns).problem(0.5, shows_ids=False)


def test_problem__nobody_in_both_shows_patterns_or_ids():
    count = counted(0, 2)
    assert "got A9 where those have AA99999" in count.problem(0.5, shows_ids=False)
    assert "got X0, X1 where those have HG00000" in count.problem(0.5, shows_ids=True)


def test_describe_counts__every_column_of_few_and_the_worst_of_many(tmp_path):
    count = counted(18, 282, kind="covariate", columns={"age": [*[1] * 12, *[np.nan] * 288], "NA": [1] * 300})
    write_table(tmp_path / "counts.tsv", count.table)
    people, values = describe_counts(read_counts(tmp_path / "counts.tsv"))
    assert people == (
        "18 of 300 people with genotypes (6.0%) are in the table of covariates; 18 of its 300 ids (6.0%) "
        "have genotypes."
    )
    assert values == "With a value: age 12 (96.0% missing), NA 18 (94.0% missing)."
    columns = {f"y\t{j}": np.where(np.arange(300) < j, 1, np.nan) for j in range(1, 201)}
    _, values = describe_counts(counted(300, 0, columns=columns).table)
    assert values == (
        "With a value of 200 outcomes: 1 people at least, 100 in the median, 200 at most. Fewest: y\\t1 1 "
        "(99.7% missing), y\\t2 2 (99.3% missing), y\\t3 3 (99.0% missing)."
    )
