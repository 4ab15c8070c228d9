"""A release that measures its accuracy on people held out: charged, replayed, refused, and stated."""

import gzip
import json

import pandas as pd
import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.study.release_cost import total_epsilon
from dpgrs.study.settings import resolve
from dpgrs.verify.bundle import verify_release
from nightly import at_night
from release_studies import CURATION, bundle, copied_site, leave_out, run_and_kill, shared_site
from study_runs import run

REASON = "the people are simulated"
SETTINGS = {
    "study": "measured",
    "mode": "release",
    "dataset": {"accession": "demo", "consent": "open", "version": "1"},
    "cohort": {
        "source": "vcf",
        "vcf": "cohort/{chrom}.vcf.gz",
        "chromosomes": ["21"],
        "rows": "people",
    },
    "public": {"reference": "reference/{chrom}.vcf.gz", "origin": "a simulated reference"},
    "variants": {"size": 10},
    "methods": "reusecov-gauss",
    "outcomes": {"count": 2, "test_share": 0.5},
    "privacy": {"epsilon": 20, "ledger": "ledger.jsonl", "outcome_budget": "separate", "beyond_20": REASON},
    "evaluation": {"metrics": "charged", "epsilon": 20},
    "release": CURATION,
}


EVENTS = "private/replicate1/accuracy_events.json"
pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with shared_site(tmp_path_factory, SETTINGS, people=300, epsilon="200") as folder:
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def metrics(folder):
    return pd.read_csv(folder / "results" / "measured" / "metrics.tsv", sep="\t")


def statement(folder):
    return json.loads((folder / "results" / "measured" / "release" / "privacy_statement.json").read_text())


def weights(folder):
    """Return all lines of the scoring files but the headers, which state the total epsilon."""
    files = {
        name: content for name, content in bundle(folder, "measured").items() if name.startswith("scores/")
    }
    lines = {name: gzip.decompress(content).splitlines() for name, content in files.items()}
    return {name: [line for line in all_lines if line[:1] != b"#"] for name, all_lines in lines.items()}


def test_release__metrics_are_measured_and_in_the_statement(site):
    table, said = metrics(site), statement(site)["accuracy"]
    assert table["status"].tolist() == ["ok", "ok"]
    assert table[["r2", "mse"]].notna().all(axis=None)
    assert table["mse_nonprivate"].isna().all()
    for (_, row), one in zip(table.iterrows(), said, strict=True):
        assert one["name"] == row["outcome"]
        assert one["value"].startswith(f"R^2 {row['r2']:.4f} with noise")


def test_release__statement_counts_the_metrics(site):
    guarantee, composition = (statement(site)[name] for name in ("guarantee", "composition"))
    assert statement(site)["curation"]["beyond_20"] == REASON
    assert REASON in " ".join(bundle(site, "measured")["privacy_statement.txt"].decode().split())
    total = total_epsilon(resolve(SETTINGS))
    assert float(guarantee["epsilon"]) >= total * (1 - 1e-12)
    assert float(guarantee["epsilon"]) == pytest.approx(total, rel=1e-5)
    assert 20 < float(composition["per_outcome"]["epsilon"]) < total
    mechanisms = [part for part in statement(site)["mechanisms"] if part["statistic"] == "accuracy"]
    assert [part["outcome"] for part in mechanisms] == ["simulated_0001", "simulated_0002"]
    assert verify_release(site / "results" / "measured" / "release")["n_requests"] == 5
    book = Ledger(site / "ledger.jsonl").read()
    (account,) = book.budgets
    assert set(book.outputs) == set(book.requests)
    assert float(book.budgets[account].epsilon(book.spent(account))) == pytest.approx(total, rel=1e-6)


def test_release__replay_and_forced_rerun_give_the_same_at_no_cost(site, copy):
    before = (site / "ledger.jsonl").read_bytes()
    run(copy, SETTINGS, cores=1)
    run(copy, SETTINGS, "--forcerun", "measure_release")
    pd.testing.assert_frame_equal(metrics(copy), metrics(site))
    assert bundle(copy, "measured") == bundle(site, "measured")
    assert (copy / "ledger.jsonl").read_bytes() == before
    assert "Nothing to be done" in run(copy, SETTINGS).stdout


@pytest.mark.faults
@pytest.mark.parametrize(
    "place",
    [
        "dpgrs.steps.measure_release.release",
        at_night("dpgrs.steps.measure_release.check"),
        at_night("dpgrs.steps.measure_release.write_table"),
        "dpgrs.steps.measure_release.complete",
    ],
)
def test_release__metrics_killed_at_a_step_resume_at_no_new_cost(copy, place):
    settings = SETTINGS | {"dataset": SETTINGS["dataset"] | {"version": "killed"}}
    run_and_kill(copy, settings, place)
    reserved = Ledger(copy / "ledger.jsonl").read()
    run(copy, settings)
    book = Ledger(copy / "ledger.jsonl").read()
    assert len(book.requests) == 5 + 5
    assert list(book.requests)[: len(reserved.requests)] == list(reserved.requests)
    assert set(book.outputs) == set(book.requests)
    assert verify_release(copy / "results" / "measured" / "release")["n_requests"] == 5
    assert len(json.loads((copy / "results" / "measured" / EVENTS).read_text())[0]["events"]) == 2


def test_release__one_person_less_among_those_held_out_is_refused(site, copy):
    """The training statistics are a replay then: it is the accuracy that tells, and that draws nothing."""
    outcomes = Outcomes.load(site / "results" / "measured" / "private" / "replicate1" / "outcomes.zarr")
    held_out = int((~outcomes.is_training).argmax())
    leave_out(copy, f"sim{held_out + 1:04}", chromosomes=["21"])
    before = (copy / "ledger.jsonl").read_bytes()
    process = run(copy, SETTINGS, check=False)
    assert process.returncode == 1
    assert "Error in rule measure_release" in process.stdout
    assert "The data changed under the label 1" in process.stdout
    assert (copy / "ledger.jsonl").read_bytes() == before
    assert not (copy / "results" / "measured" / "release").exists()


def test_release__withheld_instead_is_a_replay_of_the_weights(site, copy):
    run(copy, SETTINGS | {"evaluation": {"metrics": "withheld"}})
    assert set(metrics(copy)["status"]) == {"withheld"}
    assert statement(copy)["accuracy"] == "withheld"
    assert verify_release(copy / "results" / "measured" / "release")["n_requests"] == 3
    assert weights(copy) == weights(site)
    assert (copy / "ledger.jsonl").read_bytes() == (site / "ledger.jsonl").read_bytes()
