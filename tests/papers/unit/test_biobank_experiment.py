"""Files of a simulated biobank hold what they say, by the program's own readers."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from dpgrs.errors import UsageError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.preflight.checks import check
from dpgrs.privacy.noise.study_key import VARIABLE
from release_studies import make_key, make_ledger
from study_runs import REPOSITORY, load_experiment

PEOPLE = ("--people", "300", "--others", "100", "--founders", "100", "--panel", "60")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("biobank")
    assert (
        load_experiment("biobank").main(
            ["--folder", str(folder), *PEOPLE, "--chromosomes", "2", "--length", "200000"]
        )
        == 0
    )
    return folder


def store_of(folder, name, path, **options):
    store = path / name.replace("/", "-")
    ingest_chromosome([folder / name], chromosome="2", store=store, phased="any", **options)
    return HaplotypeStore.open(store)


def test_biobank__dosages_are_of_the_variants_and_frequencies_of_the_panel(folder, tmp_path):
    cohort = store_of(folder, "cohort/chr2.bgen", tmp_path, field="DS")
    others = store_of(folder, "others/chr2.bgen", tmp_path, field="DS")
    panel = store_of(folder, "panel/chr2.vcf.gz", tmp_path)
    assert (cohort.n_samples, others.n_samples, panel.n_samples) == (300, 100, 60)
    assert cohort.variants.equals(panel.variants)
    assert len(panel.variants) == 69
    dosages = cohort.dosages() / 4096
    assert (dosages % 1 != 0).any()
    frequency = np.bitwise_count(panel.haplotypes()).sum(axis=1) / 120
    assert np.corrcoef(dosages.mean(axis=1) / 2, frequency)[0, 1] > 0.95
    # Neighbours are in LD, and the same people in all tables.
    r = np.abs(np.corrcoef(dosages[dosages.std(axis=1) > 0]))
    assert np.diag(r, 1).mean() > 2 * np.diag(r, 40).mean()
    outcomes = pd.read_csv(folder / "outcomes.tsv", sep="\t", index_col="sample")
    covariates = pd.read_csv(folder / "covariates.tsv", sep="\t", index_col="sample")
    assert outcomes.index.tolist() == covariates.index.tolist() == cohort.sample_id.tolist()
    truth = pd.read_csv(folder / "others.tsv", sep="\t", index_col="sample")
    assert truth.index.tolist() == others.sample_id.tolist()
    assert 0 < outcomes.isna().to_numpy().mean() < 0.1
    np.testing.assert_allclose(outcomes.var(), 1.16, atol=0.3)


def test_biobank__a_release_of_its_files_passes_the_checks_of_a_start(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("results").mkdir()
    shutil.copytree(folder, "results/biobank_files")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    make_key(tmp_path)
    raw = yaml.safe_load((REPOSITORY / "config" / "experiments" / "biobank.yaml").read_text())
    ledger = Path(raw["privacy"]["ledger"]).expanduser()
    ledger.parent.mkdir(parents=True)
    make_ledger(ledger, accession="simulated")
    raw["cohort"] |= {"chromosomes": [1, 2], "planned_people": 300}
    raw["variants"]["size"] = 100
    config = check(raw)
    assert config.methods == ("blup-genome",)
    assert config.cohort.in_turn
    absent = raw | {"outcomes": raw["outcomes"] | {"file": "results/biobank_files/absent.tsv"}}
    with pytest.raises(UsageError, match=r"absent\.tsv"):
        check(absent)
