"""A study of a table of real numbers, through the steps that genotypes take."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.panel import Panel
from html_pages import text_of
from study_runs import run

N_ROWS, N_COLUMNS = 500, 12
STUDY = {
    "study": "gaussian",
    "cohort": {"source": "table", "table": "data.csv", "ranges": "ranges.tsv", "id": "id"},
    "outcomes": {"source": "table", "columns": ["y*"], "count": [1, 3]},
    "panel": {"size": [4, N_COLUMNS]},
    "privacy": {"epsilon": [5], "accounting": ["gdp"], "genotype_clip": 0.5},
    "regression": {"lambda": 0.001},
    "methods": [
        "ols",
        "ridge",
        "reusecov-gauss",
        "blup",
        "blup-steered",
        "naive",
        "adassp",
        "dp-sgd",
        "bas",
        "tukey",
    ],
    "trials": 1,
}

pytestmark = pytest.mark.workflow


def write_tables(folder):
    """Write normal columns, of which three outcomes hold 80 %, and public ranges."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    W = rng.standard_normal((N_COLUMNS, 3))
    Y = X @ (W / np.linalg.norm(W, axis=0)) * np.sqrt(0.8) + rng.standard_normal((N_ROWS, 3)) * np.sqrt(0.2)
    names = [*(f"x{j}" for j in range(N_COLUMNS)), "y1", "y2", "y3"]
    table = pd.DataFrame(np.hstack([X, Y]), columns=names)
    table.insert(0, "id", [f"row {i}" for i in range(N_ROWS)])
    table.to_csv(folder / "data.csv", index=False)
    (folder / "ranges.tsv").write_text("column\tlow\thigh\n*\t-4\t4\n")
    return table


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    table = write_tables(folder)
    run(folder, STUDY)
    return folder / "results" / "gaussian", table


def test_table_study__predicts_with_and_without_noise(study):
    folder, _ = study
    metrics = pd.read_csv(folder / "metrics.tsv", sep="\t")
    # 10 methods, 1 + 3 outcomes, 2 sizes.
    assert len(metrics) == 10 * 4 * 2
    # The Tukey mechanism has too few rows for a model here.
    assert set(metrics.loc[metrics["method"] != "tukey", "status"]) == {"ok"}
    whole = metrics[(metrics["n_variants"] == N_COLUMNS) & (metrics["n_outcomes"] == 3)]
    r2 = whole.groupby("method")["r2"].mean()
    assert r2["ols"] == pytest.approx(0.8, abs=0.08)
    assert 0.3 < r2["blup"] < r2["ols"]
    assert 0.3 < r2["blup-steered"] < r2["ols"]
    assert 0.1 < r2["dp-sgd"] < r2["ols"]
    fewer = metrics[(metrics["n_variants"] == 4) & (metrics["method"] == "ols")]["r2"].mean()
    assert fewer < r2["ols"] - 0.2


def test_table_study__the_panel_is_the_table(study):
    folder, table = study
    panel = Panel.open(folder / "private" / "panel.zarr")
    assert panel.variants["id"].tolist() == [f"x{j}" for j in range(N_COLUMNS)]
    assert panel.sample_id.tolist() == table["id"].tolist()
    X = np.clip(table[panel.variants["id"]].to_numpy() / 4, -1, 1)
    assert np.abs(panel.genotypes().T / 4096 - X).max() <= 1 / 8192


def test_table_study__has_pages(study):
    folder, _ = study
    assert "TABLE data.csv" in text_of(folder / "report" / "index.html")
    assert not (folder / "report" / "genotypes.html").exists()
    assert len(list((folder / "report" / "outcomes").glob("*/outcome_*.html"))) == 3


def test_table_study__second_run_does_nothing(study, tmp_path_factory):
    folder = study[0].parents[1]
    assert "Nothing to be done" in run(folder, STUDY).stdout
    changed = STUDY | {"outcomes": STUDY["outcomes"] | {"columns": ["y1", "y2"], "count": [1, 2]}}
    assert "rule make_table_panel:" in run(folder, changed, "--dry-run").stdout
