"""Studies on imputed dosages, through the whole workflow: a benchmark and a release."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from dosage_files import imputed_copy
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.variant_set import VariantSet
from dpgrs.verify.bundle import verify_release
from release_studies import SHORT_RELEASE, bundle, released_site
from study_runs import run

COHORT = SHORT_RELEASE["cohort"] | {"vcf": "imputed/{chrom}.vcf.gz", "field": "DS"}
STUDY = SHORT_RELEASE | {
    "cohort": COHORT,
    "privacy": SHORT_RELEASE["privacy"] | {"bounds": "tight"},
    "evaluation": {"metrics": "public"},
}

pytestmark = pytest.mark.release


def impute(folder):
    (folder / "imputed").mkdir()
    for number, name in enumerate(SHORT_RELEASE["cohort"]["chromosomes"]):
        file = f"{name}.vcf.gz"
        imputed_copy(folder / "cohort" / file, folder / "imputed" / file, seed=number)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with released_site(tmp_path_factory.mktemp("site"), STUDY, people=200, prepare=impute) as folder:
        yield folder


def test_release__of_dosages_states_them_and_is_replayed_for_nothing(site):
    files, ledger = bundle(site, "release"), (site / "ledger.jsonl").read_bytes()
    assert verify_release(site / "results" / "release" / "release")
    inputs = json.loads(files["privacy_statement.json"])["public_inputs"]
    assert ("genotypes", "imputed dosages") in [(one["name"], one["value"]) for one in inputs]
    variant_set = VariantSet.open(site / "results" / "release" / "private" / "variants.zarr")
    dosages = variant_set.dosages() * DOSAGE_STEP
    assert (np.abs(dosages - np.rint(dosages)) > 0.01).mean() > 0.3
    # Public people are read by their calls.
    assert not VariantSet.open(site / "results" / "release" / "public" / "variants.zarr").has_dosages
    metrics = pd.read_csv(site / "results" / "release" / "metrics.tsv", sep="\t")
    assert metrics["r2"].notna().all()
    shutil.rmtree(site / "results")
    run(site, STUDY)
    assert bundle(site, "release") == files
    assert (site / "ledger.jsonl").read_bytes() == ledger


def test_release__of_calls_of_the_same_people_is_another_request(site):
    # What is spent leaves no room for it.
    change = {"cohort": COHORT | {"field": "GT"}, "privacy": STUDY["privacy"] | {"epsilon": 3.9}}
    refused = run(site, STUDY | change, "--dry-run", check=False)
    assert refused.returncode != 0
    assert "`privacy.ledger`" in refused.stdout


def test_benchmark__of_dosages_predicts_and_reports(site):
    study = {
        "study": "benchmark",
        "cohort": COHORT,
        "variants": {"size": [5, 20]},
        "outcomes": {"count": [2]},
    }
    study |= {"privacy": {"bounds": "tight", "epsilon": 5}, "replicates": 1}
    run(site, study | {"methods": ["ols", "reusecov-gauss", "blup", "blup-steered", "naive", "adassp"]})
    results = site / "results" / "benchmark"
    metrics = pd.read_csv(results / "metrics.tsv", sep="\t")
    is_exact = (metrics["method"] == "ols") & (metrics["n_variants"] == 5)
    assert metrics.loc[is_exact, "r2"].min() > 0.1
    assert "one person with imputed dosages" in (results / "report" / "index.html").read_text()
