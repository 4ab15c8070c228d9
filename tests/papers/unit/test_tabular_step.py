import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs_papers.tabular.splits import median_r2
from result_files import columns_of

RNG = np.random.default_rng(0)
N_ROWS = 1500
VALUES = RNG.standard_normal((N_ROWS, 3))
KINDS = RNG.choice(["oak", "ash"], N_ROWS)
PRICES = VALUES[:, 0] - VALUES[:, 2] + 0.3 * (KINDS == "oak") + 0.1 * RNG.standard_normal(N_ROWS)
KEYS = ["method", "epsilon", "delta", "k", "replicates", "r2", "r2_median"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Prices of wood by three numbers and a label."""
    path = tmp_path_factory.mktemp("tabular") / "wood.csv"
    rows = zip(VALUES.tolist(), KINDS, PRICES, strict=True)
    lines = [",".join(map(str, [*values, kind, price])) for values, kind, price in rows]
    path.write_text("\n".join(["a,b,c,kind,price", *lines]) + "\n")
    return path


def run(table, *options, one_hot="kind", exit_code=0):
    command = ["tabular", "--csv", str(table), "--one-hot", one_hot, "--replicates", "3", *map(str, options)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == exit_code, result.output
    return result


def as_json(table, *options):
    return json.loads(run(table, *options, "--json").stdout)


@pytest.mark.parametrize("replicates", [0, 10_001])
def test_tabular__raise_on_replicates(table, replicates):
    assert "10000" in run(table, "--replicates", replicates, exit_code=2).output


def test_tabular__json_is_one_object_with_a_value_for_each_replicate(table):
    terms = ["--method", "k-tukey", "--k", 2, "--epsilon", 4, "--delta", 1e-5]
    result = as_json(table, *terms, "--rows-per-coefficient", 1)
    assert list(result)[:7] == KEYS
    assert list(result) == columns_of("dpgrs tabular --json")[0]
    assert [result[name] for name in KEYS[:5]] == ["k-tukey", 4, 1e-5, 2, 3]
    assert len(result["r2"]) == 3
    assert result["r2_median"] == np.median(result["r2"]) > 0.8
    assert result["r2_training_median"] == np.median(result["r2_training"]) != result["r2_median"]
    assert result["r2_training_median"] == pytest.approx(result["r2_median"], abs=0.05)
    assert all(sorted(chosen) == ["a", "c"] for chosen in result["chosen"])
    assert result["target"] == "price"
    assert not result["is_private"]


def test_tabular__same_seed_same_result__replicates_differ(table):
    first, again, other = (as_json(table, "--method", "nondp", "--seed", seed)["r2"] for seed in (1, 1, 2))
    assert first == again
    assert len({*first, *other}) == 6
    assert min(first) > 0.98


def test_tabular__text_names_what_was_chosen_spent_and_measured(table):
    result = run(table, "--method", "k-tukey", "--k", 2, "--epsilon", 4, "--rows-per-coefficient", 1)
    heading, first, *_ = result.stdout.splitlines()
    assert heading.split() == ["replicate", "R2", "models", "features"]
    assert first.endswith(("a, c", "c, a"))
    assert "Median R2: 0." in result.stdout
    assert "Epsilon 4 (count 0.2, screening 0.2, fit 3.6), delta 1e-05" in result.stdout
    assert result.stderr == "Benchmark: not private. The noise is seeded, and anyone can take it off.\n"


def test_tabular__original_check_fails_where_the_tight_one_passes(table):
    """At an epsilon where the safe steps, a few apart, lie on both sides of the threshold: 12 and 1 of 20."""
    asked = ["--method", "tukey", "--epsilon", 3.2, "--replicates", 20]
    found = [as_json(table, *asked, "--check", check)["status"] for check in ("tight", "original")]
    assert found[0].count("released") > found[1].count("released") + 5


@pytest.mark.parametrize("method", ["l-bas", "k-bas"])
def test_tabular__law_and_lasso_are_as_asked_for(table, method):
    asked = ["--method", method, "--k", 2, "--epsilon", 1]
    r2 = as_json(table, *asked)["r2"]
    assert as_json(table, *asked, "--law", "gumbel")["r2"] != r2
    raw = as_json(table, *asked, "--lasso-scaling", "raw", "--lasso-penalty", 1)["r2"]
    assert (raw != r2) == (method == "l-bas")


def test_tabular__no_model_is_an_outcome(table):
    options = ["--method", "tukey", "--epsilon", 0.5]
    result = as_json(table, *options)
    assert result["r2"] == [None] * 3
    assert result["r2_median"] is None
    assert result["status"] == ["check failed"] * 3
    text = run(table, *options).stdout
    assert "check failed" in text
    assert "Median R2: no model; 0 of 3 replicates gave a model." in text


@pytest.mark.parametrize(
    ("r2", "expected"),
    [([0.1, 0.5, 0.3], 0.3), ([None, 0.5, 0.3], 0.3), ([None, None, 0.3], None), ([None, 0.5], None)],
)
def test_median_r2__no_model_is_worse_than_any(r2, expected):
    assert median_r2(r2) == expected


def test_tabular__a_public_scale_helps_boosted_adassp(table, tmp_path):
    shifted = tmp_path / "shifted.csv"
    header, *rows = table.read_text().splitlines()
    cells = [row.rsplit(",", 1) for row in rows]
    lines = [f"{features},{1000 + 100 * float(price)}" for features, price in cells]
    shifted.write_text("\n".join([header, *lines]))
    scales = tmp_path / "scales.csv"
    scales.write_text("column,centre,scale\nprice,1000,100\na,0,3\nb,0,3\nc,0,3\n")
    options = ["--method", "k-bas", "--k", 2, "--epsilon", 4]
    plain, public, own = (
        run(shifted, *options, *scale, "--json") for scale in ([], ["--scale", scales], ["--scale", "data"])
    )
    medians = [json.loads(result.stdout)["r2_median"] for result in (plain, public, own)]
    assert medians[0] < 0 < 0.5 < min(medians[1:])
    assert "which no epsilon covers" in own.stderr
    assert "which no epsilon covers" not in public.stderr


BAD = {
    "k of all features": (["--method", "k-tukey", "--k", 5], "`k` must be below the number of features, 5"),
    "epsilon": (["--method", "bas", "--epsilon", "nan"], "`epsilon` must be at least 0.001"),
    "rows": (
        ["--method", "tukey", "--rows-per-coefficient", 30],
        "must have at least 1440 rows to train on for such a model, got 1350 beside 150 to test on",
    ),
    "target": (["--method", "nondp", "--target", "prize"], "Did you mean `price`?"),
    "scale": (["--method", "bas", "--scale", "nowhere.csv"], "`nowhere.csv` must be a table"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD.keys())
def test_tabular__bad_input_is_one_line(table, options, message):
    result = run(table, *options, exit_code=2)
    (line,) = result.stderr.splitlines()
    assert line.startswith("dpgrs: ")
    assert message in line
    assert result.stdout == ""


def test_tabular__labels_that_are_not_named_are_one_line(table):
    result = run(table, "--method", "nondp", one_hot="", exit_code=2)
    assert "If these are labels, add `--one-hot kind`; if they are ids, `--drop kind`." in result.stderr
    run(table, "--method", "nondp", "--drop", " kind ,b", one_hot="")
