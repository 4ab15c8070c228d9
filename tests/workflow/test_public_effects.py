"""Fits from public effects: a release that says so, its replay, and benchmarks."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.verify.bundle import verify_release
from effects_files import write_score, write_statistics
from html_pages import Page
from release_studies import SHORT_RELEASE, bundle, copied_site, shared_site
from study_runs import run

PLAIN = SHORT_RELEASE | {
    "study": "plain",
    "methods": ["blup"],
    "outcomes": {"count": 3, "test_share": 0.5},
    "privacy": {"epsilon": 5, "ledger": "ledger.jsonl"},
    "evaluation": {"metrics": "charged", "epsilon": 2},
    "release": SHORT_RELEASE["release"] | {"audit_draws": 0},
}
pytestmark = pytest.mark.release


def told(settings, *names, **own):
    return settings | own | {"public": settings.get("public", {}) | {"effects": [*names]}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A release without public effects, and files for others on the same sites."""
    with shared_site(tmp_path_factory, PLAIN, people=200, epsilon="40") as folder:
        sites = read_chosen_sites(folder / "results" / "plain" / "public" / "sites.tsv")
        effects = np.random.default_rng(1).standard_normal((2, len(sites)))
        write_score(folder / "score.txt.gz", sites, effects[0])
        write_score(folder / "other.txt", sites.iloc[: len(sites) // 2], effects[1][: len(sites) // 2])
        write_score(folder / "wrong.txt", sites, effects[0], build="GRCh37")
        write_statistics(folder / "statistics.tsv", sites, effects[0])
        run(folder, told(PLAIN, "score.txt.gz", "other.txt", study="told"))
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def test_release__says_which_effects_it_started_from(site):
    files, plain = bundle(site, "told"), bundle(site, "plain")
    statement = json.loads(files["privacy_statement.json"])
    inputs = {one["name"]: one for one in statement["public_inputs"]}
    stated = [inputs[f"effects of {name}"] for name in ("score.txt.gz", "other.txt")]
    assert [one["value"] for one in stated] == statement["fit"]["effects"]
    n_sites = statement["data_domain"]["n_variants"]
    assert stated[0]["origin"] == f"{n_sites} of {n_sites} variants matched"
    assert stated[1]["origin"] == f"{n_sites // 2} of {n_sites} variants matched"
    assert any("Genetic correlations with the public effects" in one for one in statement["post_processing"])
    assert verify_release(site / "results" / "told" / "release")["n_scores"] == 3
    assert not [name for name in files if name.startswith("standard_errors")]
    page = " ".join(Page(site / "results" / "told" / "report" / "index.html").text.split())
    assert "effects of score.txt.gz" in page
    assert "Genetic correlations with the public effects" in page
    assert "effects" not in json.loads(plain["privacy_statement.json"])["fit"]
    # The same draws, by a replay, and accuracy of other weights, which is charged.
    known = [request.identity for request in Ledger(site / "ledger.jsonl").read().requests.values()]
    of_accuracy = [one["weights"] for one in known if one["mechanism"] == "accuracy"]
    assert [one.get("effects") for one in of_accuracy] == [None, statement["fit"]["effects"]]
    assert len(known) == 4
    assert files != plain


@pytest.mark.nightly
def test_release__is_replayed_from_nothing_at_no_cost(site, copy):
    settings = told(PLAIN, "score.txt.gz", "other.txt", study="told")
    assert "Replayed: nothing was charged" in run(copy, settings).stdout
    assert bundle(copy, "told") == bundle(site, "told")


def test_release__whose_effects_changed_is_refused_before_its_bundle_is_touched(copy):
    """A job would take `SHA256SUMS` away before it is refused."""
    settings = told(PLAIN, "score.txt.gz", study="told", evaluation={"metrics": "withheld"})
    run(copy, settings)
    before = bundle(copy, "told")
    shutil.copy(copy / "score.txt.gz", copy / "kept")
    write_score(copy / "score.txt.gz", read_chosen_sites(copy / "results/told/public/sites.tsv"), np.ones(20))
    found = run(copy, settings, check=False)
    assert found.returncode == 2
    assert "`study` must be new for another release" in found.stdout
    assert bundle(copy, "told") == before
    shutil.move(copy / "kept", copy / "score.txt.gz")
    assert "Replayed: nothing was charged" in run(copy, settings).stdout


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("wrong.txt",), "must be of the genotypes' genome build, GRCh38, got GRCh37"),
        (("statistics.tsv",), "must hold effect_weight, effects that go together"),
        (("absent.txt",), "is not there"),
    ],
)
def test_release__effects_that_do_not_fit_are_refused_before_anything_is_charged(site, copy, names, said):
    before = (site / "ledger.jsonl").read_bytes()
    ended = run(copy, told(PLAIN, *names, study="refused"), check=False)
    assert said in ended.stdout
    assert (copy / "ledger.jsonl").read_bytes() == before


def test_release__effects_of_no_site_are_refused_before_anything_is_charged(copy):
    elsewhere = pd.DataFrame({"contig": ["21"], "position": [1], "ref": ["A"], "alt": ["C"]})
    write_score(copy / "elsewhere.txt", elsewhere, [1.0])
    ended = run(copy, told(PLAIN, "elsewhere.txt", study="refused") | {"seed": 9}, check=False)
    assert "Nothing was charged" in ended.stdout


def test_benchmark__starts_from_effects_of_both_kinds(site, tmp_path):
    folder = copied_site(site, tmp_path / "benchmark")
    settings = {
        "study": "compared",
        "replicates": 1,
        "cohort": PLAIN["cohort"],
        "variants": {"size": [10, 20]},
        "outcomes": {"count": [1, 3]},
        "privacy": {"epsilon": [20], "bounds": "tight", "accounting": ["gdp"]},
    }
    reference = {"public": {"reference": "reference/{chrom}.vcf.gz"}}
    methods = ["ridge", "blup-ld"]
    run(folder, told(settings | reference, "score.txt.gz", "statistics.tsv", methods=methods))
    metrics = pd.read_csv(folder / "results" / "compared" / "metrics.tsv", sep="\t")
    assert metrics.groupby("method")["r2"].count().to_dict() == dict.fromkeys(methods, 8)
    text = " ".join(Page(folder / "results" / "compared" / "report" / "index.html").text.split())
    assert "score.txt.gz: " in text
    assert "Genetic correlations with the public effects" in text


def test_benchmark__follows_the_true_effects_whichever_allele_they_name(tmp_path):
    settings = {
        "study": "plain",
        "replicates": 1,
        "cohort": {"chromosomes": ["21"], "simulation": {"people": 600, "length": 200_000}},
        "variants": {"size": [40]},
        "outcomes": {"count": [3]},
        "methods": ["ridge", "blup"],
        "privacy": {"protection": "full", "epsilon": [5], "bounds": "tight"},
    }

    def accuracy(settings):
        run(tmp_path, settings, "results/plain/metrics.tsv")
        metrics = pd.read_csv(tmp_path / "results" / "plain" / "metrics.tsv", sep="\t")
        return metrics[metrics["method"] == "blup"]["r2"].to_numpy()

    plain, private = accuracy(settings), tmp_path / "results" / "plain" / "private"
    outcomes = Outcomes.load(private / "replicate1" / "outcomes.zarr")
    variants = VariantSet.open(private / "variants.zarr").variants
    turned, signs = variants.copy(), np.where(np.arange(40) % 2, 1, -1)
    turned.loc[signs < 0, ["ref", "alt"]] = variants.loc[signs < 0, ["alt", "ref"]].to_numpy()
    names = [f"{name}.txt.gz" for name in outcomes.names]
    for name, effects in zip(names, outcomes.effects[40], strict=True):
        write_score(tmp_path / name, turned, 3 * signs * effects)
    assert (accuracy(told(settings, *names)) > plain + 0.01).all()
    # One file that all may follow, and only the first outcome is of it.
    (tmp_path / "score.txt.gz").write_bytes((tmp_path / names[0]).read_bytes())
    found = accuracy(told(settings, "score.txt.gz"))
    assert found[0] > plain[0] + 0.01
    np.testing.assert_allclose(found[1:], plain[1:], atol=0.02)
