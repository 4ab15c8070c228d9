"""A small study that screens, from end to end."""

import re

import pandas as pd
import pytest

from dpgrs.methods.registry import methods_that
from study_runs import SMALL, run

SCREENED = methods_that("is_screened")

pytestmark = pytest.mark.workflow

SCREENING = SMALL | {
    "study": "screening",
    "methods": ["ridge", "blup", *SCREENED],
    "cohort": SMALL["cohort"] | {"chromosomes": ["21"]},
    "privacy": {"protection": "full", "epsilon": [2000], "bounds": "tight"},
    "screening": {"size": 2, "share": 0.5},
    "replicates": 1,
}
CHOICES = "drawn/choices.npz"


def is_made(name, plan):
    """Tell whether Snakemake plans a job with such an output."""
    return any(name in line for line in plan.splitlines() if line.lstrip().startswith("output: "))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder in which it was run."""
    folder = tmp_path_factory.mktemp("screening")
    run(folder, SCREENING)
    return folder


def test_screening__every_method_is_measured_and_says_how_it_ended(study):
    metrics = pd.read_csv(study / "results" / "screening" / "metrics.tsv", sep="\t")
    # 2 variant sets x (1 + 3) outcomes.
    assert metrics.groupby("method").size().to_dict() == dict.fromkeys(SCREENING["methods"], 8)
    assert set(metrics["status"]) <= {"ok", "check failed", "too few models"}
    assert (metrics.loc[~metrics["method"].str.endswith("-tukey"), "status"] == "ok").all()
    assert metrics[["r2", "mse"]].notna().all(axis=None)
    # With hardly any noise the chosen variants are those of least squares.
    r2 = metrics.groupby("method")["r2"].mean()
    assert abs(r2["k-blup"] - r2["k-ols"]) < 0.1
    assert abs(r2["s-blup"] - r2["s-ols"]) < 0.1
    assert abs(r2["l-blup"] - r2["l-ols"]) < 0.1


def test_screening__second_run_does_nothing(study):
    assert "Nothing to be done" in run(study, SCREENING).stdout


@pytest.mark.parametrize(
    ("change", "first", "spared"),
    [
        ({"screening": {"size": 3, "share": 0.5}}, CHOICES, "replicate1/statistics.npz"),
        ({"screening": {"size": 2, "share": 0.5, "count_share": 0.1}}, CHOICES, "replicate1/statistics.npz"),
        ({"screening": {"size": 2, "share": 0.5, "scaling": "paper"}}, CHOICES, "replicate1/statistics.npz"),
        ({"regression": {"rows_per_coefficient": 1}}, "drawn/chosen-tukey-fits.npz", CHOICES),
    ],
)
def test_screening__changed_settings_are_noticed(study, change, first, spared):
    plan = run(study, SCREENING | change, "--dry-run").stdout
    assert is_made(first, plan)
    assert not is_made(spared, plan)


def test_screening__alone_sums_nothing_over_all_variants(tmp_path):
    """No X'X is summed, drawn, fitted or attacked where each method takes few variants, or rows."""
    settings = SCREENING | {"methods": ["k-blup", "k-bas", "s-blup", "k-ols"]}
    console = run(tmp_path, settings).stdout

    folder = tmp_path / "results" / "screening"
    assert not list(folder.rglob("statistics.npz"))
    assert not list(folder.rglob("attacks.tsv"))
    assert "attack" not in console
    metrics = pd.read_csv(folder / "metrics.tsv", sep="\t")
    assert set(metrics["method"]) == set(settings["methods"])
    assert metrics["r2"].notna().all()
    # Without ridge regression, errors are compared with those of the least squares of the study.
    assert metrics["mse_nonprivate"].isna().all()
    page = (folder / "report" / "index.html").read_text()
    assert "What an attacker learns" not in page
    assert not re.search(r"\bnan\b", page)


def test_screening__studies_without_it_choose_nothing(tmp_path):
    plan = run(tmp_path, SMALL, "--dry-run").stdout
    assert "rule fit_weights:" in plan
    assert not is_made(CHOICES, plan)
