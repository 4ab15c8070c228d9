"""A method and a selector of another package take part in everything, by their rows alone.

The package is `plugin/made_up.py` and its entry points; no file of dpgrs knows it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from release_studies import SHORT_RELEASE, released_site
from study_runs import REPOSITORY, SMALL, environment, run

# Where Python looks for modules, and for entry points beside them.
PLUGIN = Path(__file__).with_name("plugin")
METHODS = ["made-up", "m-blup"]
BENCHMARK = SMALL | {
    "study": "benchmark",
    "methods": ["ridge", "reusecov-gauss", *METHODS],
    "cohort": SMALL["cohort"] | {"chromosomes": ["22"]},
    "privacy": {"epsilon": [100], "bounds": "tight", "protection": "full", "accounting": ["gdp", "paper"]},
    "screening": {"size": 3},
    "replicates": 1,
}
pytestmark = pytest.mark.workflow


def dpgrs(folder, *arguments):
    """Run a command where the package is installed, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "dpgrs", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment((PLUGIN, REPOSITORY / "workflow")),
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    run(folder, BENCHMARK, packages=[PLUGIN])
    return folder / "results" / "benchmark"


def test_benchmark__measures_both_and_shows_them(results):
    metrics = pd.read_csv(results / "metrics.tsv", sep="\t")
    r2 = metrics.groupby("method")["r2"].mean()
    assert set(r2.index) == {*BENCHMARK["methods"]}
    assert set(metrics["status"]) == {"ok"}
    assert r2["made-up"] == pytest.approx(r2["reusecov-gauss"], abs=0.1)
    page = (results / "report" / "index.html").read_text()
    assert "Made-up + BLUP" in page
    assert "by products that somebody made up" in page


def test_benchmark__an_update_of_the_package_draws_and_fits_again(results, tmp_path):
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    with (tmp_path / "plugin" / "made_up.py").open("a") as file:
        file.write("# updated\n")
    folder, updated = results.parents[1], [tmp_path / "plugin"]
    plan = run(folder, BENCHMARK, "--dry-run", packages=updated, is_warm=False).stdout
    assert "rule draw:" in plan
    assert "rule fit_weights:" in plan
    assert "rule compute_statistics:" not in plan


def test_benchmark__without_the_package_they_are_no_methods(tmp_path):
    process = run(tmp_path, BENCHMARK, "--dry-run", check=False)
    assert process.returncode == 2
    assert "auto, got made-up. For example" in process.stdout


@pytest.mark.parametrize("method", METHODS)
def test_release__is_audited_charged_bundled_verified_and_shown(tmp_path, monkeypatch, method):
    settings = SHORT_RELEASE | {
        "methods": [method],
        "screening": {"size": 3},
        "release": SHORT_RELEASE["release"] | {"audit_draws": 100},
        "privacy": SHORT_RELEASE["privacy"] | {"bounds": "tight"},
    }
    monkeypatch.setattr("release_studies.run", lambda *given, **_: run(*given, packages=[PLUGIN]))
    with released_site(tmp_path, settings, people=200, pure_epsilon="2") as site:
        results = site / "results" / "release"
        statement = json.loads((results / "release" / "privacy_statement.json").read_text())
        assert statement["method"] == method
        audited = {one["mechanism"] for one in statement["audit"]["mechanisms"]}
        assert ("private_made_up_scores" in audited) == (method == "m-blup")
        if method == "made-up":
            assert "Ridge regression with twice the lambda." in statement["post_processing"]
        assert (results / "report" / "index.html").is_file()
        verified = dpgrs(site, "release", "verify", results / "release")
        assert verified.returncode == 0, verified.stderr
        planned = dpgrs(site, "plan", "study.yaml", "--people", 200)
        assert planned.returncode == 0, planned.stderr
        assert method in planned.stdout
