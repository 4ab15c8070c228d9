"""Releases of a whole genome along a public map: verified, replayed, and killed between chromosomes."""

import json

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.replicates import load_labelled
from dpgrs.release.verify import verify_release
from html_pages import Page
from release_studies import RELEASE, bundle, copied_site, shared_site
from study_runs import KILL_AT, run

SETTINGS = RELEASE | {
    "study": "genome",
    "methods": ["blup-genome"],
    "cohort": RELEASE["cohort"] | {"planned_people": 150},
    "variants": {"size": 40},
    "outcomes": {"count": 2},
    "release": RELEASE["release"] | {"audit_draws": 100},
}
PRIVATE = "results/genome/private/replicate1"
pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with shared_site(tmp_path_factory, SETTINGS, people=200) as folder:
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def test_release__is_one_draw_of_all_chromosomes(site):
    folder = site / "results" / "genome"
    statement = json.loads((folder / "release" / "privacy_statement.json").read_text())
    count, sums = statement["mechanisms"]
    assert (count["statistic"], sums["statistic"]) == ("count", "genome sums")
    assert sums["proof"] == "docs/proofs/genome.md"
    labels = load_labelled(folder / "public" / "ld.npz").labels
    assert [label["contig"] for label in labels] == ["21", "22"]
    assert statement["fit"]["ld"] == labels[0]["digest"]
    audited = {audit["mechanism"] for audit in statement["audit"]["mechanisms"]}
    assert audited == {"private_count", "private_genome_sums"}
    assert verify_release(folder / "release")["n_requests"] == 2
    ((_, fit),) = load_labelled(folder / "private" / "replicate1" / "weights.npz")
    assert fit["weights"].shape == (2, 40)
    assert np.isfinite(fit["weights"]).all()
    # Exact sums are removed once noise was drawn on them, and X'X and X'Y were never summed.
    assert not (site / PRIVATE / "genome").exists()
    assert not (site / PRIVATE / "statistics.npz").exists()
    page = " ".join(Page(folder / "report" / "index.html").text.split())
    assert "products of genotypes and outcomes along directions of public LD" in page


def test_release__killed_between_chromosomes_gives_the_same_bytes_at_no_further_cost(site, copy):
    first = f"{PRIVATE}/genome/1_of_2.npz"
    before = (site / "ledger.jsonl").read_bytes()
    run(copy, SETTINGS, first)
    made = (copy / first).stat().st_mtime_ns
    killed = {KILL_AT: "dpgrs.steps.sum_genome.contig_sums"}
    assert run(copy, SETTINGS, check=False, variables=killed).returncode == 1
    assert (copy / first).stat().st_mtime_ns == made
    # The ledger of the first release: the draw is a replay.
    assert "Replayed: nothing was charged" in run(copy, SETTINGS).stdout
    assert bundle(copy, "genome") == bundle(site, "genome")
    assert (copy / "ledger.jsonl").read_bytes() == before


def test_benchmark__has_a_map_for_every_design_beside_other_methods(copy):
    settings = {
        "study": "compared",
        "replicates": 1,
        "cohort": SETTINGS["cohort"],
        "public": {"reference": SETTINGS["public"]["reference"]},
        "variants": {"size": [20, 40]},
        "outcomes": {"count": [1, 2]},
        "methods": ["blup", "blup-ld", "blup-genome"],
        "privacy": {"epsilon": [20], "bounds": "tight", "accounting": ["gdp"]},
    }
    run(copy, settings)
    root = copy / "results" / "compared"
    metrics = pd.read_csv(root / "metrics.tsv", sep="\t")
    assert metrics.groupby("method")["r2"].count().to_dict() == dict.fromkeys(settings["methods"], 6)
    assert metrics["mse_nonprivate"].notna().all()
    labels = [label for label in load_labelled(root / "public" / "ld.npz").labels if "terms" in label]
    designs = {(label["terms"]["n_variants"], label["terms"]["n_outcomes"]) for label in labels}
    assert designs == {(20, 1), (20, 2), (40, 1), (40, 2)}
    assert len({label["digest"] for label in labels}) == 4
