"""A small study from end to end: same bytes however it is run, nothing private outside `private/`."""

import stat

import numpy as np
import pandas as pd
import pytest

from dpgrs.methods.registry import METHODS, methods_that
from html_pages import Page
from result_files import unlike_the_page
from study_runs import SMALL, figures_reported, results, run

FROM_STATISTICS = [name for name in methods_that("is_post_processing") if not METHODS[name].takes_ld]
BASELINES = [
    name
    for name, row in METHODS.items()
    if not (row.is_post_processing or row.is_screened or row.is_non_private or row.takes_ld)
]

pytestmark = pytest.mark.workflow

TERMS = ["method", "protection", "neighbours", "unit", "accounting", "epsilon", "delta"]
SIZES = ["n_rows", "n_variants", "n_outcomes"]
COLUMNS = ["replicate", "outcome", *TERMS, *SIZES, "r2", "mse", "mse_nonprivate", "seconds", "status"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder in which the small study was run with two cores."""
    folder = tmp_path_factory.mktemp("two cores")
    run(folder, SMALL)
    return folder


@pytest.fixture(scope="module")
def metrics(study):
    return pd.read_csv(study / "results" / "small" / "metrics.tsv", sep="\t", keep_default_na=False)


def test_small_study__metrics_are_complete(metrics):
    assert list(metrics) == COLUMNS
    # 2 variant sets x (1 + 3) outcomes x 2 replicates for each of 2 non-private and 2 x 2 x 2 private fits.
    assert len(metrics) == 2 * 4 * 2 * (2 + 8)
    assert metrics.groupby("replicate")["n_rows"].unique().map(list).to_dict() == {1: [140], 2: [144]}
    assert set(metrics["status"]) == {"ok"}
    non_private = metrics[metrics["protection"] == "none"]
    assert set(non_private["method"]) == {"ols", "gblup"}
    assert (non_private[TERMS[2:]] == "").all(axis=None)
    private = metrics[metrics["protection"] == "full"]
    assert set(private["epsilon"].astype(float)) == {1.0, 5.0}
    assert set(private["neighbours"]) == {"add-remove"}
    assert pd.to_numeric(metrics["r2"]).notna().all()


def test_small_study__files_and_columns_are_those_of_the_page(study):
    assert unlike_the_page(study / "results" / "small") == []


def test_small_study__reference_is_gblup(metrics):
    gblup = metrics[metrics["method"] == "gblup"]
    assert (gblup["mse"] == gblup["mse_nonprivate"]).all()
    keys = ["replicate", "outcome", "n_variants"]
    by_cell = metrics.groupby(keys)["mse_nonprivate"].nunique()
    assert (by_cell == 1).all()


def test_small_study__second_run_does_nothing(study):
    assert "Nothing to be done" in run(study, SMALL).stdout


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"variants": SMALL["variants"] | {"maf": 0.2}}, "make_variants"),
        ({"seed": 2}, "draw"),
        ({"privacy": SMALL["privacy"] | {"epsilon": [1, 4]}}, "draw"),
        ({"regression": {"lambda": 0.7}}, "fit_weights"),
        ({"evaluation": {"metrics": "withheld"}}, None),
    ],
)
def test_small_study__changed_settings_are_noticed(study, change, rule):
    plan = run(study, SMALL | change, "--dry-run").stdout
    assert "Nothing to be done" in plan if rule is None else f"rule {rule}:" in plan


def test_small_study__forced_rerun_one_core_and_shards_give_the_same_bytes(study, tmp_path):
    """Three shards of 180 rows in place of one."""
    settings, expected = SMALL | {"scale": {"rows_per_shard": 64}}, results(study, "small")
    console = run(tmp_path, settings, cores=1).stdout
    assert "rule add_statistics:" in console
    for arguments in ([], ["--forcerun", "draw"]):
        run(tmp_path, settings, *arguments)
        again = results(tmp_path, "small")
        assert list(again) == list(expected)
        assert [name for name in expected if again[name] != expected[name]] == ["settings.json"]


def test_small_study__report_of_snakemake_holds_the_figures_of_the_pages(study, tmp_path):
    reported = figures_reported(study, SMALL, tmp_path / "report.html")
    assert {name: len(figures) for name, figures in reported.items()} == {
        "Accuracy": 3,
        "Attacks": 1,
        "Genotypes": 3,
        "Outcomes": 9,
        "small": 3,
    }
    assert "over 2 replicates, for 10, 25 variants and epsilon 1.0, 5.0" in " ".join(
        reported["Accuracy"]["spread.svg"].split()
    )
    assert "Outcome 3 at 25 variants" in reported["Outcomes"]["outcome_0003_replicates.svg"]


def test_small_study__private_folder_is_closed(study):
    private = study / "results" / "small" / "private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_small_study__sample_ids_stay_in_the_private_folder(study):
    populations = study / "results" / "small" / "private" / "cohort" / "21.populations.tsv"
    ids = pd.read_csv(populations, sep="\t")["sample"].str.encode("utf-8")
    outside = [
        path
        for path in study.rglob("*")
        if path.is_file() and "private" not in path.parts and any(name in path.read_bytes() for name in ids)
    ]
    assert len(ids) == 90
    assert outside == []


def test_small_study__pages_hold_no_trace_of_the_machine(study):
    pages = [
        path
        for path in (study / "results" / "small" / "report").rglob("*")
        if path.suffix in (".html", ".js")
    ]
    assert len(pages) > 3
    # What is published holds nothing of Snakemake's.
    assert list((study / "results" / "small" / "report").rglob(".*")) == []
    assert [page for page in pages if str(study) in page.read_text() or "/tmp" in page.read_text()] == []


def test_small_study__at_chance_level_runs_and_says_so(tmp_path):
    # With fewer people the public mean may beat that of the training rows by more than chance gives.
    cohort = {"chromosomes": ["21"], "simulation": {"people": 400, "length": 100_000}}
    settings = {"study": "noise", "cohort": cohort, "variants": {"size": [25]}, "outcomes": {"count": [10]}}
    settings |= {
        "replicates": 1,
        "methods": ["ridge", *FROM_STATISTICS, *(name for name in BASELINES if name != "reusecov-sketch")],
        "privacy": {"epsilon": [0.001]},
    }
    settings["privacy"] |= {"protection": ["full", "label"], "accounting": ["gdp"]}

    process = run(tmp_path, settings)

    assert "All noise at all 2 combinations" in process.stdout
    assert "no private method has a mean R^2 of 0.024 or more, as chance gives" in process.stdout
    root = tmp_path / "results" / "noise"
    metrics = pd.read_csv(root / "metrics.tsv", sep="\t")
    assert set(metrics["method"]) == set(settings["methods"])
    assert np.isfinite(metrics[["r2", "mse", "mse_nonprivate"]]).all(axis=None)
    text = " ".join(Page(root / "report" / "index.html").text.split())
    assert "All noise at 2 of 2 combinations" in text
    assert "Label protection, exact accounting, ε = 0.001: 25 variants with 10 outcomes" in text
    assert "training values of all outcomes" in text


def test_small_study__people_as_rows(tmp_path):
    settings = SMALL | {"study": "people", "cohort": SMALL["cohort"] | {"rows": "people"}, "replicates": 1}
    run(tmp_path, settings)
    metrics = pd.read_csv(tmp_path / "results" / "people" / "metrics.tsv", sep="\t")
    assert metrics["n_rows"].unique().tolist() == [70]
    assert set(metrics["unit"].dropna()) == {"person"}
