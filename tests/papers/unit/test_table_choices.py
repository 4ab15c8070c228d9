"""The command that chooses features of a plain table."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs_papers.types import TableSelector

RNG = np.random.default_rng(0)
N_ROWS, NAMES = 400, list("abcdefgh")
VALUES = RNG.normal(5, 2, (N_ROWS, len(NAMES)))
PRICES = 3 * VALUES[:, 2] - 3 * VALUES[:, 5] + RNG.standard_normal(N_ROWS)
BOUNDS = "column,centre,scale\n" + "".join(f"{name},5,4\n" for name in NAMES) + "price,0,12\n"
BOUNDED = {"sis": True, "two-stage": False, "two-stage-supports": False}


@pytest.fixture
def table(write):
    lines = [",".join(map(str, row)) for row in np.column_stack([VALUES, PRICES]).tolist()]
    return write("\n".join([",".join([*NAMES, "price"]), *lines]) + "\n", "prices.csv")


@pytest.fixture
def bounds(write):
    return write(BOUNDS, "bounds.csv")


def run(table, *options, exit_code=0):
    command = ["choose", "--csv", str(table), *map(str, options)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == exit_code, result.output
    return result


@pytest.mark.parametrize("selector", TableSelector)
def test_choose__finds_what_makes_the_outcome_at_a_large_epsilon_alone(table, bounds, selector):
    options = [
        "--selector",
        selector,
        "--k",
        2,
        "--json",
        *(["--bounds", bounds] if BOUNDED[selector] else []),
    ]
    clear = json.loads(run(table, *options, "--epsilon", 200).stdout)
    assert sorted(clear["without_noise"]) == ["c", "f"]
    assert [sorted(one) for one in clear["chosen"]] == [["c", "f"]] * 10
    assert clear["shared"] == [2] * 10
    private = json.loads(run(table, *options, "--epsilon", 0.001, "--replicates", 100).stdout)
    # By chance 0.5 of 2: the mean of 100 has a standard deviation below 0.06.
    assert np.mean(private["shared"]) < 1.0
    assert len({tuple(one) for one in private["chosen"]}) > 5
    assert json.loads(run(table, *options, "--epsilon", 0.001, "--replicates", 100).stdout) == private


def test_choose__says_what_it_did_and_that_it_is_not_private(table):
    result = run(table, "--selector", "sis", "--k", "2", "--bounds", "data", "--epsilon", "50")
    assert "2 of 8 features for `price` by 400 rows. Epsilon 50, replace-one of a row." in result.stdout
    assert "no noise" in result.stdout
    assert "Benchmark: not private." in result.stderr
    assert "which no epsilon covers" in result.stderr
    assert "epsilon covers" not in run(table, "--selector", "two-stage").stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--selector", "sis"], "`--bounds` must be given for sis and for no other, got none for sis"),
        (["--selector", "two-stage", "--bounds", "data"], "got data for two-stage"),
        (["--selector", "two-stage", "--k", 9], "between 1 and the 8 features, got 9"),
        (["--selector", "two-stage", "--epsilon", 0], "must be"),
        (["--selector", "sis", "--bounds", "data", "--epsilon", "nan"], "must be"),
    ],
)
def test_choose__raise_on_terms_out_of_their_domain(table, options, said):
    result = run(table, *options, exit_code=2)
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
