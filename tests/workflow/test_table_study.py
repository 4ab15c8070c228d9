"""A study of a table of real numbers, through the steps that genotypes take."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from dpgrs.io.variant_set import VariantSet
from html_pages import text_of
from study_runs import REPOSITORY, environment, run

N_ROWS, N_COLUMNS = 500, 12
PRIVATE = ("reusecov-gauss", "blup", "blup-steered", "naive", "adassp", "dp-sgd", "bas", "tukey")
STUDY = {
    "study": "gaussian",
    "cohort": {"source": "table", "table": "data.csv", "ranges": "ranges.tsv", "id": "id"},
    "outcomes": {"source": "table", "columns": ["y*"], "count": [1, 3]},
    "variants": {"size": [4, N_COLUMNS]},
    "privacy": {"epsilon": [5], "accounting": ["gdp"], "genotype_clip": 0.5},
    "regression": {"lambda": 0.001},
    "methods": ["ols", "ridge", *PRIVATE],
    "replicates": 1,
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


def test_table_study__the_variant_set_is_the_table(study):
    folder, table = study
    variant_set = VariantSet.open(folder / "private" / "variants.zarr")
    assert variant_set.variants["id"].tolist() == [f"x{j}" for j in range(N_COLUMNS)]
    assert variant_set.sample_id.tolist() == table["id"].tolist()
    X = np.clip(table[variant_set.variants["id"]].to_numpy() / 4, -1, 1)
    assert np.abs(variant_set.genotypes().T / 4096 - X).max() <= 1 / 8192


def test_table_study__has_pages(study):
    folder, _ = study
    assert "TABLE data.csv" in text_of(folder / "report" / "index.html")
    assert not (folder / "report" / "genotypes.html").exists()
    assert len(list((folder / "report" / "outcomes").glob("*/outcome_*.html"))) == 3


def test_table_study__second_run_does_nothing(study, tmp_path_factory):
    folder = study[0].parents[1]
    assert "Nothing to be done" in run(folder, STUDY).stdout
    changed = STUDY | {"outcomes": STUDY["outcomes"] | {"columns": ["y1", "y2"], "count": [1, 2]}}
    assert "rule make_table_variants:" in run(folder, changed, "--dry-run").stdout


def write_images(folder):
    """Write 10,600 images of 28 x 28 bytes, of three shapes that vary; the border is dark, as MNIST's is."""
    rng = np.random.default_rng(1)
    shapes = rng.uniform(0, 120, (3, 28, 28)) * (rng.random((3, 28, 28)) < 0.6)
    images = np.tensordot(rng.uniform(0, 1, (10_600, 3)), shapes, axes=1) + rng.normal(0, 5, (10_600, 28, 28))
    images[:, :4] = images[:, -4:] = images[:, :, :4] = images[:, :, -4:] = 0
    np.savez(folder / "made.npz", x_train=np.clip(images, 0, 255).astype(np.uint8))


def test_mnist__as_shipped_on_images_that_are_made_up(tmp_path):
    """The commands of config/mnist.yaml, with fewer pixels: pixels predict others, well without noise."""
    write_images(tmp_path)
    command = [sys.executable, REPOSITORY / "config" / "experiments" / "mnist_tables.py"]
    command += [tmp_path / "made.npz", tmp_path / "mnist"]
    subprocess.run(command, env=environment(), check=True)
    shipped = REPOSITORY / "config" / "mnist.yaml"
    settings = yaml.safe_load(shipped.read_text())
    with np.load(tmp_path / "mnist" / "images.npz") as table:
        n_images, n_outcomes = table["y"].shape
        assert table["x"].shape == (n_images, settings["variants"]["size"]) == (10_000, 392)
        # Those that are never lit are not among the outcomes.
        assert (table["y"] > 0).mean(axis=0).min() > 0.03
    scales = pd.read_csv(tmp_path / "mnist" / "scales.tsv", sep="\t")
    assert scales["outcome"].tolist() == [f"y{j}" for j in range(1, n_outcomes + 1)]
    chosen = {"outcomes": {"count": 20}, "variants": {"size": 60}, "privacy": {"epsilon": [5]}}
    table = "results/mnist/metrics.tsv"
    run(tmp_path, chosen, "--configfile", shipped, tmp_path / "study.yaml", "--", table)
    metrics = pd.read_csv(tmp_path / table, sep="\t")
    assert set(metrics["status"]) == {"ok"}
    r2 = metrics.groupby("method")["r2"].mean()
    # 60 pixels tell the three shapes: 0.83 of blup, which shrinks by what the noise calls for. A penalty of
    # 1 is much: 0.47, with noise or without.
    assert r2["blup"] > 0.7
    assert 0.3 < r2["ridge"] < 0.6
    assert r2["reusecov-gauss"] == pytest.approx(r2["ridge"], abs=0.1)
