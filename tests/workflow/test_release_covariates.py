"""A release with covariates from a table and principal components, through the whole workflow."""

import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.covariates import Covariates
from dpgrs.verify.bundle import verify_release
from release_studies import SHORT_RELEASE, bundle, released_site
from result_files import unlike_the_page
from study_runs import run

N_PEOPLE, N_REFERENCE, N_KEPT = 200, 60, 50  # the second as in `released_site`
COVARIATES = {"file": "covariates.tsv", "scales": "scales.tsv", "pcs": 2}
STUDY = SHORT_RELEASE | {
    "public": SHORT_RELEASE["public"] | {"keep": "kept.txt"},
    "covariates": COVARIATES,
    "evaluation": {"metrics": "public", "covariates": "reference.tsv"},
}

pytestmark = pytest.mark.release


def write_table(path, prefix, n_people):
    rng = np.random.default_rng(n_people)
    table = pd.DataFrame({"age": rng.normal(45, 12, n_people), "sex": rng.integers(0, 2, n_people)})
    table.index = pd.Index([f"{prefix}{number:04d}" for number in range(1, n_people + 1)], name="sample")
    table.to_csv(path, sep="\t")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write_table(folder / "covariates.tsv", "sim", N_PEOPLE)
    write_table(folder / "reference.tsv", "ref", N_REFERENCE)
    (folder / "kept.txt").write_text("".join(f"ref{number:04d}\n" for number in range(1, N_KEPT + 1)))
    (folder / "scales.tsv").write_text(
        "covariate\tcentre\tscale\tprevalence\nage\t45\t12\tNA\nsex\tNA\tNA\t0.5\n"
    )
    with released_site(folder, STUDY, people=N_PEOPLE) as released:
        yield released


def test_release__bundles_covariates_and_replays_them_for_nothing(site):
    files, ledger = bundle(site, "release"), (site / "ledger.jsonl").read_bytes()
    assert {"covariate_weights.tsv", "pca_loadings.tsv"} <= files.keys()
    results = site / "results" / "release"
    assert unlike_the_page(results) == []
    # The stated R^2 follows from the published weights, constants and covariates.
    assert verify_release(results / "release", reference=results / "public")["accuracy"] == "scored"
    page = (site / "results" / "release" / "report" / "outcomes" / "01" / "outcome_0001.html").read_text()
    assert all(name in page for name in ("age", "sex", "PC1", "PC2"))
    metrics = pd.read_csv(site / "results" / "release" / "metrics.tsv", sep="\t")
    assert metrics["r2"].notna().all()
    found = Covariates.load(site / "results" / "release" / "private" / "covariates.npz")
    measured = Covariates.load(site / "results" / "release" / "public" / "covariates.npz")
    assert found.names == measured.names == ("age", "sex", "PC1", "PC2")
    assert (found.units.shape[1], measured.units.shape[1]) == (N_PEOPLE, N_KEPT)
    shutil.rmtree(site / "results")
    run(site, STUDY)
    assert bundle(site, "release") == files
    assert (site / "ledger.jsonl").read_bytes() == ledger


def test_release__counts_of_people_are_for_the_operator_alone(site):
    ledger, results = (site / "ledger.jsonl").read_bytes(), site / "results" / "release"
    counts = (results / "private" / "covariate_counts.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[:6] for line in counts] == [
        ["covariate", name, *["200"] * 4] for name in ("age", "sex")
    ]
    words = "200 of 200 people with genotypes"
    told = [path for path in site.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]
    assert {path.relative_to(results).parts[0] for path in told} == {"private"}
    table = pd.read_csv(site / "covariates.tsv", sep="\t")
    table["sample"] = [name if place < 18 else f"ID{place}" for place, name in enumerate(table["sample"])]
    table.to_csv(site / "renamed.tsv", sep="\t", index=False)
    refused = run(site, STUDY | {"covariates": COVARIATES | {"file": "renamed.tsv"}}, check=False)
    assert refused.returncode == 2
    assert "renamed.tsv: 18 of 200 people with genotypes (9.0%) are in the table" in refused.stdout
    assert "`covariates.file`: `renamed.tsv` must share at least 0.5" in refused.stdout
    table = pd.read_csv(site / "covariates.tsv", sep="\t")
    table.loc[50:, "age"], table["sex"] = None, None
    table.to_csv(site / "missing.tsv", sep="\t", index=False)
    refused = run(site, STUDY | {"covariates": COVARIATES | {"file": "missing.tsv"}}, check=False)
    assert refused.returncode == 2
    assert "`covariates.file`: `missing.tsv` must have values for at least 0.5" in refused.stdout
    assert "got fewer in age, sex." in refused.stdout
    assert (site / "ledger.jsonl").read_bytes() == ledger


def test_release__other_covariates_are_another_request(site):
    # What is spent leaves no room for it.
    change = {"covariates": COVARIATES | {"pcs": 1}, "privacy": SHORT_RELEASE["privacy"] | {"epsilon": 3.9}}
    refused = run(site, STUDY | change, "--dry-run", check=False)
    assert refused.returncode != 0
    assert "`privacy.ledger`" in refused.stdout
    missing = run(site, STUDY | {"evaluation": {"metrics": "public"}}, "--dry-run", check=False)
    assert "`evaluation.covariates` must be given" in missing.stdout


def test_benchmark__takes_the_cohorts_own_components(site):
    study = {name: STUDY[name] for name in ("variants", "outcomes", "covariates")}
    study["cohort"] = STUDY["cohort"] | {"populations": "cohort/populations.tsv"}
    study |= {"study": "benchmark", "privacy": {"bounds": "tight", "epsilon": 5}, "replicates": 1}
    run(site, study)
    results = site / "results" / "benchmark"
    assert (results / "private" / "pca_loadings.tsv").is_file()
    assert (
        "age, sex, PC1, PC2, clipped at 3 standard deviations"
        in (results / "report" / "index.html").read_text()
    )
