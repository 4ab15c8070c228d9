"""Components of outcomes by public loadings: a release, its replay, and a benchmark beside exact fits."""

import json

import numpy as np
import pandas as pd
import pytest

from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.verify.bundle import verify_release
from html_pages import Page
from release_studies import SHORT_RELEASE, bundle, copied_site, shared_site
from study_runs import run

N_OUTCOMES = 6
SETTINGS = SHORT_RELEASE | {
    "study": "components",
    "outcomes": {"count": N_OUTCOMES, "loadings": "loadings.tsv"},
    "privacy": {"epsilon": 5, "ledger": "ledger.jsonl"},
    "evaluation": {"metrics": "public"},
}
pytestmark = pytest.mark.release


def write_loadings(folder):
    """Write loadings that carry less and less of the outcomes."""
    rows = [
        {
            "outcome": f"simulated_{place:04d}",
            "origin": "a survey",
            "f": 0.9 - place / 10,
            "g": 0.1 * (-1) ** place,
        }
        for place in range(1, N_OUTCOMES + 1)
    ]
    pd.DataFrame(rows).to_csv(folder / "loadings.tsv", sep="\t", index=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    options = {"people": 200, "epsilon": "20", "prepare": write_loadings}
    with shared_site(tmp_path_factory, SETTINGS, **options) as folder:
        yield folder


def test_release__draws_components_and_publishes_weights_of_outcomes(site):
    files = bundle(site, "components")
    statement = json.loads(files["privacy_statement.json"])
    entries = {one["statistic"]: one["entries"] for one in statement["mechanisms"]}
    assert entries["cross product"] == 2 * SETTINGS["variants"]["size"]
    assert len(statement["scores"]) == N_OUTCOMES
    assert statement["data_domain"]["missing_outcomes"] == "none"
    assert verify_release(site / "results" / "components" / "release")["n_requests"] == 2
    report = site / "results" / "components" / "report"
    page = " ".join(Page(report / "outcomes" / "01" / "outcome_0006.html").text.split())
    assert "they carry 10 % of the variance of this outcome" in page
    assert "The least is 10 %, of simulated_0006" in page
    assert "components of the outcomes, f, g" in " ".join(Page(report / "index.html").text.split())


@pytest.mark.nightly
def test_release__is_replayed_from_nothing_at_no_cost(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    first, before = bundle(site, "components"), (site / "ledger.jsonl").read_bytes()
    end = run(copy, SETTINGS).stdout
    assert "Replayed: nothing was charged" in end
    assert "Public loadings carry 10 % of the variance of simulated_0006" in end
    assert bundle(copy, "components") == first
    assert (copy / "ledger.jsonl").read_bytes() == before


def test_release__by_other_loadings_is_charged_before_anything_is_drawn(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    text = (copy / "loadings.tsv").read_text()
    (copy / "loadings.tsv").write_text(text.replace("0.1", "0.2"))
    ahead = run(copy, SETTINGS | {"study": "other"}, "--dry-run").stdout
    assert "A whole run would be charged: epsilon" in ahead
    # X'X and the count are those of the first.
    assert "Charged: epsilon" in run(copy, SETTINGS | {"study": "other"}).stdout
    assert len(Ledger(copy / "ledger.jsonl").read().requests) == 3


def test_benchmark__fits_components_beside_exact_fits_of_outcomes(site, tmp_path):
    folder = copied_site(site, tmp_path / "benchmark")
    people = pd.read_csv(folder / "cohort" / "populations.tsv", sep="\t")["sample"]
    rng = np.random.default_rng(3)
    columns = pd.read_csv(folder / "loadings.tsv", sep="\t")["outcome"]
    values = rng.standard_normal((len(people), 1)) + rng.standard_normal((len(people), N_OUTCOMES))
    table = pd.DataFrame(values / np.sqrt(2), index=people, columns=columns)
    table.mask(rng.uniform(size=table.shape) < 0.2).to_csv(folder / "y.tsv", sep="\t")
    settings = {
        "study": "compared",
        "replicates": 1,
        "cohort": SETTINGS["cohort"],
        "public": {"reference": "reference/{chrom}.vcf.gz"},
        "variants": {"size": [10, 20]},
        "outcomes": {"source": "file", "file": "y.tsv", "loadings": "loadings.tsv"},
        "methods": ["ridge", "reusecov-gauss", "blup", "blup-ld"],
        "privacy": {"epsilon": [5], "bounds": "tight", "accounting": ["gdp"]},
    }
    run(folder, settings)
    metrics = pd.read_csv(folder / "results" / "compared" / "metrics.tsv", sep="\t")
    assert set(metrics["status"]) == {"ok"}
    assert metrics.groupby("method")["r2"].count().to_dict() == dict.fromkeys(
        settings["methods"], 2 * N_OUTCOMES
    )
    assert set(metrics["n_outcomes"]) == {N_OUTCOMES}
    page = folder / "results" / "compared" / "report" / "outcomes" / "01" / "outcome_0001.html"
    assert "they carry 65 % of the variance" in " ".join(Page(page).text.split())
