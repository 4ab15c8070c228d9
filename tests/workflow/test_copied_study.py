"""A study of copies of a few people, from end to end."""

import json

import pandas as pd
import pytest

from dpgrs.io.haplotype_store import HaplotypeStore
from html_pages import Page
from study_runs import SMALL, results, run

# Two chromosomes of ten people a population; of rows that are people phase is needed all the same.
COPIES = {"people": 240, "effective_size": 20_000, "map": "{chrom}.map"}
COHORT = {"chromosomes": ["21", "22"], "simulation": {"people": 30, "length": 100_000}, "rows": "people"}
STUDY = SMALL | {"study": "copied", "cohort": COHORT | {"copies": COPIES}, "replicates": 1}
STUDY |= {"variants": {"size": [10]}, "outcomes": {"count": [1]}, "methods": ["ridge", "blup"]}
MAP = "position cM\n1 0\n300000000 300\n"

pytestmark = pytest.mark.workflow


def write_maps(folder):
    for name in COHORT["chromosomes"]:
        (folder / f"{name}.map").write_text(MAP)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copied")
    write_maps(folder)
    console = run(folder, STUDY).stdout
    assert "All 240 people are copies, mosaics of those in the genotype files" in console
    return folder


def test_copied_study__all_that_follows_sees_the_copies(study):
    root = study / "results" / "copied"
    metrics = pd.read_csv(root / "metrics.tsv", sep="\t")
    assert set(metrics["status"]) == {"ok"}
    # Eight of ten, by their names.
    assert 160 < metrics["n_rows"].unique().item() < 220
    by_population = pd.read_csv(root / "private" / "population_metrics.tsv", sep="\t")
    assert set(by_population["population"]) == {"YRI", "CEU", "CHB"}
    stores = {name: HaplotypeStore.open(root / "private" / name / "21.zarr") for name in ("source", "store")}
    assert {name: store.n_samples for name, store in stores.items()} == {"source": 30, "store": 240}
    assert stores["store"].attributes["derived"]["effective_size"] == 20_000


def test_copied_study__pages_and_record_say_so(study):
    root = study / "results" / "copied"
    for page in ("index.html", "genotypes.html"):
        assert "All people here are copies" in Page(root / "report" / page).text
    assert json.loads((root / "provenance.json").read_text())["stamp"].endswith("of copies of people")


def test_copied_study__again_by_one_thread_gives_the_same_bytes(study, tmp_path):
    write_maps(tmp_path)
    run(tmp_path, STUDY, "--until", "make_variants", cores=1)
    whole, again = results(study, "copied"), results(tmp_path, "copied")
    made = [
        name for name in again if name.startswith(("private/store", "private/copies", "private/variant_set"))
    ]
    assert len(made) > 20
    assert [name for name in made if again[name] != whole[name]] == []


def test_copied_study__more_copies_ingest_nothing_again_and_none_are_the_people_themselves(study):
    more = STUDY | {"cohort": COHORT | {"copies": COPIES | {"people": 300}}}
    plan = run(study, more, "--dry-run").stdout
    assert "rule resample_chromosome:" in plan
    assert "rule ingest_chromosome:" not in plan
    plan = run(study, STUDY | {"cohort": COHORT}, "--dry-run").stdout
    assert "rule ingest_chromosome:" in plan
    assert "rule resample_chromosome:" not in plan
