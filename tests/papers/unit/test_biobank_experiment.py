"""Files of a simulated biobank hold what they say, by the program's own readers."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.preflight.checks import check
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.study.settings_files import deep_merge, read_settings
from release_studies import make_key, make_ledger
from study_runs import REPOSITORY, load_experiment

EXPERIMENTS = REPOSITORY / "config" / "experiments"
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


def write_genome(folder, *, length):
    """Write two chromosomes of segments of a length, of which only the first 300,000 bases are simulated."""
    biobank = load_experiment("biobank")
    simulate = biobank.simulate_founders
    biobank.simulate_founders = lambda *terms: simulate(*terms[:-1], 300_000)
    options = ["--genome", "--chromosomes", "2", "--length", f"{length}"]
    assert biobank.main(["--folder", str(folder), *PEOPLE, *options]) == 0


def store_of(folder, name, path, *, chromosome="2", **options):
    store = path / name.replace("/", "-")
    ingest_chromosome([folder / name], chromosome=chromosome, store=store, phased="any", **options)
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


def test_biobank__a_genome_is_segments_of_one_chromosome_with_other_people(tmp_path):
    write_genome(tmp_path, length=30_000_000)
    cohort, others, panel = (
        store_of(tmp_path, f"{name}/chr1.bed", tmp_path, chromosome="1")
        for name in ("cohort", "others", "panel")
    )
    assert (cohort.n_samples, others.n_samples, panel.n_samples) == (300, 100, 60)
    assert cohort.variants.equals(panel.variants)
    segments = np.split(cohort.variants["position"].to_numpy(), 8)
    for number, positions in enumerate(segments):
        np.testing.assert_array_equal(positions, segments[0] + number * (248_956_422 // 8))
    for store in (cohort, panel):
        alleles = unpack(store.haplotypes(), store.n_haplotypes)
        counts = (alleles[:, ::2] + alleles[:, 1::2]).astype(np.float64).reshape(8, -1, store.n_samples)
        # Frequencies and LD are those of one chromosome, people are not.
        frequencies = np.corrcoef(counts.mean(axis=2))
        assert frequencies.min() > 0.9
        assert all(abs(np.corrcoef(counts[0, v], counts[1, v])[0, 1]) < 0.6 for v in range(20))
    outcomes = pd.read_csv(tmp_path / "outcomes.tsv", sep="\t", index_col="sample")
    assert outcomes.index.tolist() == cohort.sample_id.tolist()


@pytest.mark.parametrize("is_genome", [False, True])
def test_biobank__a_release_of_its_files_passes_the_checks_of_a_start(
    folder, is_genome, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("results").mkdir()
    if is_genome:
        write_genome(Path("results", "biobank_files"), length=200_000_000)
    else:
        shutil.copytree(folder, "results/biobank_files")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    make_key(tmp_path)
    raw = read_settings(EXPERIMENTS / "biobank.yaml")
    if is_genome:
        raw = deep_merge(raw, read_settings(EXPERIMENTS / "biobank_genome.yaml"))
    ledger = Path(raw["privacy"]["ledger"]).expanduser()
    ledger.parent.mkdir(parents=True)
    make_ledger(ledger, accession="simulated")
    raw["cohort"] |= {"chromosomes": [1, 2], "planned_people": 300}
    raw["variants"]["size"] = 100
    config = check(raw)
    assert config.methods == ("blup-genome",)
    assert config.cohort.in_turn != is_genome
    absent = raw | {"outcomes": raw["outcomes"] | {"file": "results/biobank_files/absent.tsv"}}
    with pytest.raises(UsageError, match=r"absent\.tsv"):
        check(absent)
