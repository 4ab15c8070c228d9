"""Fits on linkage disequilibrium of public genotypes: a release without X'X, and benchmarks beside others."""

import json

import numpy as np
import pandas as pd
import pysam
import pytest

from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.verify.bundle import verify_release
from html_pages import Page
from nightly import at_night
from release_studies import SHORT_RELEASE, bundle, copied_site, shared_site
from study_runs import run

SETTINGS = SHORT_RELEASE | {
    "study": "ld",
    "methods": ["blup-ld"],
    "outcomes": {"count": 3, "test_share": 0.5},
    "privacy": {"epsilon": 5, "ledger": "ledger.jsonl"},
    "evaluation": {"metrics": "charged", "epsilon": 2},
    "release": SHORT_RELEASE["release"] | {"audit_draws": 100},
}
pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with shared_site(tmp_path_factory, SETTINGS, people=200, epsilon="20") as folder:
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def people_of(folder):
    """Return the people of the VCFs of a folder."""
    with pysam.VariantFile(str(min(folder.glob("*.vcf.gz")))) as file:
        return list(file.header.samples)


def take_people_out_of_the_reference(folder):
    """Leave five people out of the reference, whose frequencies and sites change with it or not."""
    for path in sorted((folder / "reference").glob("*.vcf.gz")):
        smaller = folder / "smaller.vcf.gz"
        with pysam.VariantFile(str(path)) as file:
            file.subset_samples(list(file.header.samples)[5:])
            with pysam.VariantFile(str(smaller), "wz", header=file.header) as target:
                for record in file:
                    target.write(record)
        smaller.replace(path)
        path.with_name(f"{path.name}.tbi").unlink()


def test_release__draws_no_gram_matrix_and_says_what_stands_for_it(site):
    files = bundle(site, "ld")
    statement = json.loads(files["privacy_statement.json"])
    assert [one["statistic"] for one in statement["mechanisms"]] == ["count", "cross product", "accuracy"]
    inputs = {one["name"]: one["value"] for one in statement["public_inputs"]}
    assert inputs["genotypes whose linkage disequilibrium the fit takes"] == statement["fit"]["ld"]
    assert any("nothing about the cohort's own is released" in one for one in statement["post_processing"])
    assert any(
        "public genotypes and the cohort's" in one or "random rows of its own" in one
        for one in statement["post_processing"]
    )
    audited = {one["mechanism"] for one in statement["audit"]["mechanisms"]}
    assert audited == {
        "private_count",
        "private_cross_product",
        "private_steered_statistics",
        "private_accuracy",
    }
    assert verify_release(site / "results" / "ld" / "release")["n_requests"] == 3
    # It was not even summed.
    with np.load(site / "results" / "ld" / "private" / "replicate1" / "statistics.npz") as arrays:
        assert [name for name in arrays if "gram" in name] == []
    page = " ".join(Page(site / "results" / "ld" / "report" / "index.html").text.split())
    assert "genotypes whose linkage disequilibrium the fit takes" in page
    assert "How far these are from the cohort's is averaged over" in page


@pytest.mark.nightly
def test_release__is_replayed_from_nothing_at_no_cost(site, copy):
    first, before = bundle(site, "ld"), (site / "ledger.jsonl").read_bytes()
    assert "Replayed: nothing was charged" in run(copy, SETTINGS).stdout
    assert bundle(copy, "ld") == first
    assert (copy / "ledger.jsonl").read_bytes() == before


@pytest.mark.parametrize("is_listed", [at_night(False), True])
def test_release__accuracy_of_other_public_genotypes_is_another_request(copy, site, is_listed):
    """Other weights follow from the same noisy X'Y: their accuracy must have noise of its own."""
    public = SETTINGS["public"]
    if is_listed:
        public = public | {"keep": "kept.txt"}
        (copy / "kept.txt").write_text("".join(f"{person}\n" for person in people_of(copy / "reference")[5:]))
    else:
        take_people_out_of_the_reference(copy)
    own = {"study": "other", "public": public, "release": SHORT_RELEASE["release"]}
    end = run(copy, SETTINGS | own).stdout
    assert "Charged: epsilon" in end
    known = [request.identity for request in Ledger(copy / "ledger.jsonl").read().requests.values()]
    of_accuracy = [one["weights"]["ld"] for one in known if one["mechanism"] == "accuracy"]
    assert len(of_accuracy) == len(set(of_accuracy)) == 2


def test_release__hedged_draws_a_gram_matrix_and_says_how_much_public_genotypes_tell(copy):
    """Its draws are those of `blup`, of which public genotypes are no part; its weights are another fit."""
    own = {"study": "hedged", "evaluation": {"metrics": "withheld"}, "release": SHORT_RELEASE["release"]}
    end = run(copy, SETTINGS | own | {"methods": "auto"}).stdout
    said = "`methods: auto` takes blup-hedged here"
    assert said in end
    assert "Charged: epsilon" in end
    statement = json.loads(bundle(copy, "hedged")["privacy_statement.json"])
    assert [one["statistic"] for one in statement["mechanisms"]] == ["count", "gram", "cross product"]
    assert statement["method"] == "blup-hedged"
    assert statement["post_processing"][0].startswith(said)
    assert statement["fit"]["ld"] in [one["value"] for one in statement["public_inputs"]]
    assert any(
        said.startswith("The fit on public genotypes has a share of") for said in statement["post_processing"]
    )
    assert verify_release(copy / "results" / "hedged" / "release")["n_requests"] == 2
    end = run(copy, SETTINGS | own | {"study": "plain", "methods": ["blup"]}).stdout
    assert "Replayed: nothing was charged" in end
    others = json.loads(bundle(copy, "plain")["privacy_statement.json"])
    assert others["mechanisms"] == statement["mechanisms"]
    assert "ld" not in others["fit"]


def test_benchmark__compares_it_with_others_on_public_sites(site, tmp_path):
    """Cohort and reference are the two halves of one file."""
    folder = copied_site(site, tmp_path / "benchmark")
    people = people_of(folder / "cohort")
    for name, own in (("cohort", people[:100]), ("reference", people[100:])):
        (folder / f"{name}.txt").write_text("".join(f"{person}\n" for person in own))
    settings = {
        "study": "compared",
        "replicates": 1,
        "cohort": SETTINGS["cohort"],
        "people": {"keep": "cohort.txt"},
        "public": {"reference": "cohort/{chrom}.vcf.gz", "keep": "reference.txt"},
        "variants": {"size": [10, 20]},
        "outcomes": {"count": [1, 3]},
        "methods": ["ridge", "blup", "blup-ld", "blup-hedged"],
        "privacy": {"epsilon": [20], "bounds": "tight", "accounting": ["gdp"]},
    }
    run(folder, settings)
    root = folder / "results" / "compared"
    stores = [HaplotypeStore.open(root / name / "store" / "21.zarr") for name in ("private", "public")]
    assert [store.sample_id.tolist() for store in stores] == [people[:100], people[100:]]
    metrics = pd.read_csv(root / "metrics.tsv", sep="\t")
    assert metrics.groupby("method")["r2"].count().to_dict() == dict.fromkeys(settings["methods"], 8)
    assert set(metrics["status"]) == {"ok"}
    text = " ".join(Page(root / "report" / "index.html").text.split())
    assert "The frequencies are those of the public reference." in text
