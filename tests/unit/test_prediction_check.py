"""What is stated of predictions follows from a bundle alone, and what is forged does not."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError
from dpgrs.verify.accuracy_check import IN_PUBLIC
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, edit, edit_statement, seal
from release_data import OUTCOMES, make_bundle, make_charged_bundle, make_measured_bundle

SCORE, CONSTANTS, SUMS = "scores/LDL_HDL_ratio.txt.gz", "constants.tsv", "accuracy_sums.tsv"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return make_measured_bundle(tmp_path_factory.mktemp("measured"))


@pytest.fixture
def release(measured, tmp_path):
    return Path(shutil.copytree(measured, tmp_path / "release"))


def test_bundle__stated_r2_follows_from_what_a_reader_finds(release):
    """As a reader would work it out, with the table alone."""
    assert verify_release(release)["accuracy"] == "recomputed"
    constants = pd.read_csv(release / CONSTANTS, sep="\t", index_col="outcome")["constant"]
    for row in pd.read_csv(release / SUMS, sep="\t").itertuples():
        c = constants[row.outcome]
        rss = row.outcome_squares - 2 * (c * row.outcome_sum + row.products)
        rss += row.n * c**2 + 2 * c * row.score_sum + row.score_squares
        stated = json.loads((release / STATEMENT).read_text())["accuracy"]
        value = {one["name"]: one["value"] for one in stated}[row.outcome]
        mse = f"mean squared error {rss / row.n:.4f}"
        assert value == f"R^2 {1 - rss / row.outcome_squares:.4f}, {mse}"


def test_verify_release__accuracy_that_is_withheld(tmp_path):
    assert verify_release(make_bundle(tmp_path))["accuracy"] == "withheld"


def change(table, row, column, new):
    def forge(folder):
        frame = pd.read_csv(folder / table, sep="\t", dtype=str)
        frame.loc[row, column] = new
        frame.to_csv(folder / table, sep="\t", index=False)

    return forge


def state(value):
    return lambda folder: edit_statement(folder, ["accuracy", 1, "value"], value)


def leave_out(name):
    def forge(folder):
        inputs = json.loads((folder / STATEMENT).read_text())["public_inputs"]
        edit_statement(folder, ["public_inputs"], [one for one in inputs if one["name"] != name])

    return forge


def forge_constant(folder):
    """Change a constant wherever it stands."""
    edit(folder / SCORE, "^#constant=2.25$", "#constant=2.26")
    edit(folder / CONSTANTS, "2.25$", "2.26")


FORGED = {
    "R^2": (state("R^2 0.9000, mean squared error 0.4000"), r"the R\^2 of LDL/HDL = ratio must be"),
    "nan": (state("R^2 nan, mean squared error nan"), "must be numbers"),
    "words": (state("R^2 of 0.9"), "to four digits"),
    "digits": (state(f"R^2 0.{'1' * 5000}, mean squared error 0.4000"), "to four digits"),
    "constant": (forge_constant, r"the R\^2 of LDL/HDL = ratio must be"),
    "constant of a table": (change(CONSTANTS, 1, "constant", "2"), "constant must be 2 as stated, got 2.25"),
    "products": (change(SUMS, 1, "products", "60"), "of LDL/HDL = ratio must be"),
    "people": (change(SUMS, 1, "n", "0"), "must be nan: of nobody"),
    "more people": (change(SUMS, 1, "n", "3000"), "the mean squared error of"),
    "a number": (change(SUMS, 1, "n", "1e3"), "plain decimals"),
    "no number": (change(CONSTANTS, 1, "constant", "nan"), "plain decimals"),
    "an outcome": (change(CONSTANTS, 1, "outcome", "height"), "a line for every outcome"),
    "sums left out": (lambda folder: (folder / SUMS).unlink(), "if and only if"),
    "constants left out": (lambda folder: (folder / CONSTANTS).unlink(), "constants.tsv must be there"),
    "another cost": (
        lambda folder: edit_statement(folder, ["accuracy", 0, "cost"], "none, measured on 9 people of all"),
        "the cost of the accuracy of height must be `none, measured on 40 people of the public reference`",
    ),
    "a cost of other people": (
        lambda folder: edit_statement(folder, ["accuracy", 1, "cost"], IN_PUBLIC.format(40)),
        "must be `none, measured on 30 people of the public reference`",
    ),
    "people measured on": (leave_out("people measured on, with their outcomes"), "must name the people"),
    "charged": (
        lambda folder: edit_statement(folder, ["accuracy", 0, "cost"], "epsilon 1 at delta 1e-6"),
        "if and only if",
    ),
}


@pytest.mark.parametrize(("forge", "message"), FORGED.values(), ids=FORGED)
def test_verify_release__forged_prediction(release, forge, message):
    forge(release)
    seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


@pytest.mark.parametrize("constant", ["9" * 400, "0." + "9" * 400])
def test_verify_release__numbers_beyond_floats(release, constant):
    change(CONSTANTS, 1, "constant", constant)(release)
    change(SUMS, 1, "outcome_squares", "0." + "0" * 399 + "1")(release)
    seal(release)
    with pytest.raises(DpgrsError, match="of LDL/HDL = ratio must be"):
        verify_release(release)


def test_verify_release__accuracy_of_haplotypes_takes_their_constant(tmp_path):
    folder = make_bundle(tmp_path, sums=np.full((3, 6), 2), content={"accuracy": stated_of_haplotypes()})
    assert verify_release(folder)
    edit(folder / CONSTANTS, "-0.25$", "-0.5")
    seal(folder)
    with pytest.raises(DpgrsError, match="the mean squared error of height must be"):
        verify_release(folder)


def stated_of_haplotypes():
    # Of two rows of one person with y = s = 1, what remains is the constant.
    cost = "none, measured on 1 people of the public reference"
    return [
        {"name": name, "value": f"R^2 {1 - c**2:.4f}, mean squared error {c**2:.4f}", "cost": cost}
        for name, c in zip(OUTCOMES, (-0.25, 5e-8, 1.5), strict=True)
    ]


NOT_REFITTED = "that scores follow from what was drawn: the bundle lacks what they were fitted from"
WORDS = {
    "withheld": (make_bundle, "add up to what is claimed.\n", f"audits; {NOT_REFITTED}; who made"),
    "recomputed": (
        make_measured_bundle,
        "R^2 and error on public people follow from constants and sums.\n",
        f"of these weights, for which give --reference; {NOT_REFITTED}; who",
    ),
}


@pytest.mark.parametrize(("make", "checked", "unchecked"), WORDS.values(), ids=WORDS)
def test_verify__ends_with_a_verdict(tmp_path, make, checked, unchecked):
    result = CliRunner().invoke(main, ["release", "verify", str(make(tmp_path))])
    assert result.exit_code == 0
    assert result.stdout.startswith("The bundle is whole: ")
    assert checked in result.stdout
    assert "Not checked: " in result.stdout
    assert unchecked in result.stdout


def test_verify__counts_its_findings(release):
    (release / "notes.txt").touch()
    result = CliRunner().invoke(main, ["release", "verify", str(release)])
    assert result.exit_code == 1
    assert "\ndpgrs: 1 finding. Get it again from where it was published" in result.stderr


def test_verify__json_for_programs(release):
    result = CliRunner().invoke(main, ["release", "verify", str(release), "--json"])
    assert json.loads(result.stdout)["accuracy"] == "recomputed"


@pytest.fixture(scope="module")
def charged(tmp_path_factory):
    return make_charged_bundle(tmp_path_factory.mktemp("charged"))


def cheaply(names):
    """State accuracy under other names, for which nothing was drawn, at next to no cost."""
    cost = "epsilon 0.000001 at delta 0.000000001, for each outcome alone"
    value = "R^2 0.9000 with noise of standard deviation 0.0100, mean squared error 0.9000 with 0.0100"
    return lambda folder: edit_statement(
        folder, ["accuracy"], [{"name": name, "value": value, "cost": cost} for name in names]
    )


FORGED_CHARGES = {
    "names": (cheaply([f"{name} " for name in OUTCOMES]), "stated of each outcome, in their order"),
    "one name": (cheaply(["all"]), "stated of each outcome, in their order"),
    "no words": (state("R^2 0.99, of all people, exactly"), "must be R.2 and mean squared error, each with"),
    "more words": (
        state("withheld: the noise drowns it, of all people"),
        "LDL/HDL = ratio must be R.2 and mean squared error, each with its noise",
    ),
    "the bound": (leave_out("residual bound"), "must name the residual bound once"),
    "who is held out": (leave_out("people held out"), "must name the people held out once"),
}


@pytest.mark.parametrize(("forge", "message"), FORGED_CHARGES.values(), ids=FORGED_CHARGES)
def test_verify_release__forged_accuracy_that_was_charged(charged, tmp_path, forge, message):
    folder = Path(shutil.copytree(charged, tmp_path / "release"))
    assert verify_release(folder)["accuracy"] == "charged"
    forge(folder)
    seal(folder)
    with pytest.raises(DpgrsError, match=message):
        verify_release(folder)
