"""`dpgrs tabular` within public ranges: a study of the table in one process."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.methods.registry import METHODS
from dpgrs.types import Neighbours
from dpgrs_papers.tabular.compositions import TableRequest
from dpgrs_papers.tabular.feature_tables import read_feature_table, read_named_scales
from dpgrs_papers.tabular.ranged_tables import (
    bounds_of_ranges,
    bounds_of_scales,
    budget_of_study,
    settings_of_study,
)
from dpgrs_papers.tabular.table_methods import table_methods, tabular_methods
from refused import refused

RNG = np.random.default_rng(0)
N_ROWS = 3000
VALUES = RNG.standard_normal((N_ROWS, 3)) * [1, 10, 0.1] + [0, 500, 0]
KINDS = RNG.choice(["oak", "ash"], N_ROWS)
PRICES = 40 + 10 * (VALUES[:, 0] - VALUES[:, 2] / 0.1 + 0.6 * (KINDS == "oak") + RNG.standard_normal(N_ROWS))
RANGES = "column,low,high\na,-4,4\nb,460,540\nc,-0.5,0.5\n"
PRICE_RANGE = "price,-20,100\n"
SCALES = "column,centre,scale\na,0,1\nb,500,10\nc,0,0.1\n"
PRICE_SCALE = "price,43,18\n"
ASKED = ["--replicates", "2", "--epsilon", "20"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Prices of wood, and public tables of ranges and scales, with and without a line of the price."""
    folder = tmp_path_factory.mktemp("ranges")
    table = pd.DataFrame(VALUES, columns=list("abc")).assign(kind=KINDS, price=PRICES)
    table.to_csv(folder / "wood.csv", index=False)
    for name, lines, of_price in (("ranges", RANGES, PRICE_RANGE), ("scales", SCALES, PRICE_SCALE)):
        (folder / f"{name}.csv").write_text(lines + of_price)
        (folder / f"{name}_of_features.csv").write_text(lines)
    (folder / "scales_of_outcomes.csv").write_text("outcome,centre,scale\n" + PRICE_SCALE)
    return folder


def run(folder, method, *options, exit_code=0):
    files = [str(folder / option) if str(option).endswith(".csv") else str(option) for option in options]
    command = ["tabular", "--csv", str(folder / "wood.csv"), "--one-hot", "kind", *ASKED, "--method", method]
    result = CliRunner().invoke(main, [*command, *files])
    assert result.exit_code == exit_code, result.output
    return result


def as_json(folder, method, *options, ranges="ranges.csv"):
    """Return results of a method, within the ranges of a table if any."""
    within = ["--ranges", ranges] if ranges else []
    return json.loads(run(folder, method, *options, *within, "--json").stdout)


def test_tabular__without_privacy_is_as_without_ranges_that_hold_all(folder, tmp_path):
    (tmp_path / "wide.csv").write_text("column,low,high\na,-8,8\nb,420,580\nc,-1,1\nprice,-200,300\n")
    plain = as_json(folder, "nondp", ranges=None)
    wide = as_json(folder, "nondp", ranges=tmp_path / "wide.csv")
    assert list(plain) == list(wide)
    np.testing.assert_allclose(wide["r2"], plain["r2"], atol=1e-3)
    np.testing.assert_allclose(wide["r2_training"], plain["r2_training"], atol=1e-3)
    assert wide["clipped"] == {"values": [0.0, 0.0], "outcomes": [0.0, 0.0], "rows": [None, None]}
    assert plain["clipped"]["values"] == [None, None]


# Without privacy it is 0.69. Levels between 0 and 1 need no line.
@pytest.mark.parametrize(
    ("method", "least"), [("blup", 0.6), ("adassp", 0.6), ("bas", 0.5), ("k-blup", 0.5), ("ols", 0.65)]
)
def test_tabular__by_ranges_is_near_no_privacy(folder, method, least):
    result = as_json(folder, method, "--k", 3)
    assert least < min(result["r2"]) <= max(result["r2"]) < 0.75
    assert result["status"] == ["released"] * 2
    assert result["ranges"].endswith("ranges.csv")
    is_chosen = METHODS[method].is_screened
    assert [len(chosen) for chosen in result["chosen"]] == [3 if is_chosen else 5] * 2
    assert not is_chosen or all({"a", "c"} < set(chosen) for chosen in result["chosen"])
    has_noise = not METHODS[method].is_non_private
    assert sum(result["budget"].values()) == pytest.approx(20 if has_noise else 0)
    assert as_json(folder, method, "--k", 3)["r2"] == result["r2"]


def test_tabular__a_failed_check_is_an_outcome_within_ranges_too(folder):
    result = as_json(folder, "tukey", "--epsilon", 0.3)
    assert result["r2"] == result["r2_training"] == [None] * 2
    assert result["status"] == ["check failed"] * 2


@pytest.mark.parametrize("scale", [["scales.csv"], ["data"], ["scales_of_outcomes.csv", "--ranges"]])
def test_tabular__scales_stand_for_ranges(folder, scale):
    options = ["--scale", *scale] + ["ranges_of_features.csv"] * (len(scale) > 1)
    result = run(folder, "adassp", *options)
    median = float(result.stdout.split("Median R2: ")[1].split(",")[0])
    assert 0.6 < median < 0.75
    assert "Clipped at public bounds: 0." in result.stdout
    assert "Epsilon 20 (fit 20), delta 1e-05, add-remove of a row." in result.stdout
    assert ("which no epsilon covers" in result.stderr) == (scale == ["data"])


def test_tabular__a_target_with_a_range_and_no_scale_is_warned_of(folder):
    line = "`price` has a range and no scale: it is centred in the middle of its range"
    assert line in run(folder, "blup", "--replicates", 1, "--ranges", "ranges.csv").stderr
    scaled = ("--scale", "scales_of_outcomes.csv", "--ranges", "ranges_of_features.csv")
    for options in (scaled, ("--scale", "scales.csv")):
        assert line not in run(folder, "blup", "--replicates", 1, *options).stderr


def test_tabular__settings_of_dp_sgd_are_as_asked_for(folder):
    def r2_of(*given):
        options = (text for setting in given for text in ("--set", setting))
        result = as_json(folder, "dp-sgd", "--replicates", 1, *options)
        assert result["settings"] == list(given)
        return result["r2"][0]

    plain = r2_of()
    assert 0.45 < plain < 0.62 < r2_of("regression.sgd.learning_rate=3") < 0.75
    assert r2_of("regression.sgd.clip=0.1") < plain - 0.3
    few = "regression.sgd.steps=5"
    of_all = r2_of(few, "regression.sgd.sampling_rate=1")
    assert of_all < plain - 0.3
    assert of_all != r2_of(few)


def test_tabular__every_method_without_ranges_is_refused_by_name_or_takes_none(folder):
    needing = [name for name in tabular_methods() if name not in table_methods()]
    assert {"blup", "adassp", "reusecov-gauss", "dp-sgd", "ridge", "s-blup"} <= set(needing)
    assert "reusecov-proj" not in tabular_methods()
    for name in needing:
        (line,) = run(folder, name, exit_code=2).stderr.splitlines()
        assert f"`--ranges` or `--scale` must be given for {name}, which clips values" in line
        assert "Give a table of column,low,high as `--ranges`, or one of column,centre,scale" in line


BAD = {
    "no scale of a column": (
        ["blup", "--scale", "scales_of_outcomes.csv"],
        "must have a line for every column, got none for `a`. Add its public centre and scale, or give `--ra",
    ),
    "no range of the target": (
        ["blup", "--ranges", "ranges_of_features.csv"],
        "must have a line for the target `price`, got none. Add the line `price,low,high`, or give `--scale`",
    ),
    "two of the target": (
        ["blup", "--ranges", "ranges.csv", "--scale", "scales_of_outcomes.csv"],
        "must have a line for the target `price`, got one in both. Take one out.",
    ),
    "scales of features beside ranges": (
        ["blup", "--ranges", "ranges_of_features.csv", "--scale", "scales.csv"],
        "`--scale` must be of the target `price` alone beside `--ranges`, got `a` too.",
    ),
    "set without ranges": (
        ["bas", "--set", "privacy.genotype_clip=1"],
        "`--set` must be given with `--ranges`, or for one of",
    ),
    "no setting": (
        ["dp-sgd", "--ranges", "ranges.csv", "--set", "regression.sdg.steps=3"],
        "got `regression.sdg.steps=3`. Did you mean `regression.sgd.steps`?",
    ),
    "no whole name": (
        ["blup", "--ranges", "ranges.csv", "--set", "heritability=0.5"],
        "got `heritability=0.5`. Did you mean `regression.heritability`?",
    ),
    "of another method": (
        ["blup", "--ranges", "ranges.csv", "--set", "regression.sgd.steps=3"],
        "`--set` must be of what blup reads, got `regression.sgd.steps`. Leave it out, or set one of regress",
    ),
    "no number": (
        ["dp-sgd", "--ranges", "ranges.csv", "--set", "regression.sgd.steps=few"],
        "`regression.sgd.steps` must be a whole number of at least 1 and at most 100000, got few.",
    ),
    "neighbours": (
        ["dp-sgd", "--ranges", "ranges.csv", "--neighbours", "replace-one"],
        "`--neighbours` must be add-remove for dp-sgd, got replace-one. Change it.",
    ),
    "check": (
        ["tukey", "--ranges", "ranges.csv", "--check", "original"],
        "`--check` must be tight with public ranges, as in a study of a table, got original. Leave it out.",
    ),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD.keys())
def test_tabular__bad_input_is_one_line(folder, options, message):
    result = run(folder, *options, exit_code=2)
    (line,) = result.stderr.splitlines()
    assert message in line
    assert result.stdout == ""


@pytest.fixture
def table(folder):
    return read_feature_table(folder / "wood.csv", one_hot=["kind"])


def test_bounds_of_ranges__raise_where_most_lies_beyond(table, tmp_path):
    path = tmp_path / "low.csv"
    path.write_text(RANGES + "price,-20,40\n")
    with refused("values-outside-ranges", "`price`", error=UsageError):
        bounds_of_ranges(path, table, None)


def test_bounds_of_scales__reach_four_scales_and_levels_their_own(folder, table):
    bounds = bounds_of_scales(table, read_named_scales(folder / "scales.csv", table), option="x")
    low, high, centre = (dict(zip(table.features, bound, strict=True)) for bound in bounds.ranges)
    assert [low["b"], high["b"], centre["b"]] == [460, 540, 500]
    assert [low["kind=oak"], high["kind=oak"], centre["kind=oak"]] == [0, 1, 0.5]
    assert bounds.target == (43, 18)
    # Rows: three columns of a quarter of half their range, and two levels at the ends of theirs.
    assert bounds.row_clip == pytest.approx(np.sqrt((3 / 16 + 2) / (5 / 2)))


def test_settings_of_study__are_those_that_are_asked_for():
    request = TableRequest(
        epsilon=2, delta=1e-6, k=3, neighbours=Neighbours.REPLACE_ONE, rows_per_coefficient=1.5
    )
    overrides = ["regression.lambda_from=evidence", "privacy.genotype_clip = 0.7"]
    settings = settings_of_study(
        "reusecov-gauss", 6, request=request, seed=4, row_clip=1, overrides=overrides
    )
    assert settings.variants.size == (6,)
    assert settings.privacy.bounds == "tight"
    assert (settings.privacy.epsilon, settings.privacy.delta) == ((2,), 1e-6)
    assert settings.privacy.neighbours == "replace-one"
    assert settings.privacy.genotype_clip == 0.7
    assert settings.screening.size == 3
    assert settings.regression.lambda_from == "evidence"
    assert settings.regression.rows_per_coefficient == 1.5


def test_budget_of_study__counts_for_choice_and_for_fit():
    request = TableRequest(epsilon=2, delta=1e-6)
    assert budget_of_study(request, METHODS["l-tukey"]) == pytest.approx(
        {"count": 0.2, "screening": 0.1, "fit": 1.7}
    )
    public = TableRequest(epsilon=2, delta=1e-6, neighbours=Neighbours.REPLACE_ONE)
    assert budget_of_study(public, METHODS["l-tukey"])["count"] == 0
    assert budget_of_study(request, METHODS["blup"]) == {"count": 0, "screening": 0, "fit": 2}
    assert budget_of_study(request, METHODS["ridge"])["fit"] == 0
