"""A release on a cohort of VCFs: replayed from nothing, refused, charged anew, killed and resumed."""

import gzip
import json
import shutil
from datetime import UTC

import numpy as np
import pytest

from dpgrs.io.files import read_table
from dpgrs.io.replicates import load_labelled
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.ledger.verify import verify_ledger
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.verify.bundle import verify_release
from every_process.stopped_clock import StoppedClock
from ledger_requests import reserve
from nightly import at_night
from release_studies import (
    RELEASE,
    bundle,
    copied_site,
    drawn_file,
    leave_out,
    make_key,
    make_ledger,
    run_and_kill,
    shared_site,
)
from study_runs import FULL_AT, REPOSITORY, SNAKEFILE, results, run
from vcf_files import write_bgzf

pytestmark = pytest.mark.release
AFTER_THE_DRAW = ("complete", "save_labelled", "write_events")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # So many that the noise never drowns X'X, and with it the weights.
    with shared_site(tmp_path_factory, RELEASE, people=200, is_measured=True) as folder:
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def ledger_bytes(folder):
    return (folder / "ledger.jsonl").read_bytes()


def noisy(folder, study="release"):
    ((_, arrays),) = load_labelled(drawn_file(folder, study))
    return arrays


def test_release__bundle_is_whole_and_ledger_complete(site):
    report = verify_release(site / "results" / "release" / "release")
    assert (report["n_scores"], report["n_variants"], report["n_requests"]) == (3, 20, 2)
    book = Ledger(site / "ledger.jsonl").read()
    assert set(book.outputs) == set(book.requests)
    assert verify_ledger(site / "ledger.jsonl")["completed"] == 2
    (account,) = book.budgets
    assert float(book.budgets[account].epsilon(book.spent(account))) == pytest.approx(2, rel=1e-6)


def test_release__of_a_test_has_the_same_noise_in_every_run(site):
    """The ids of requests hold the time beside what is fixed anyway, and the key of noise holds the id."""
    entries = map(json.loads, ledger_bytes(site).splitlines())
    assert {entry["time"] for entry in entries} == {StoppedClock.now(UTC).isoformat()}


def test_release__again_there_is_nothing_to_do(site):
    before = ledger_bytes(site)
    _, end = run(site, RELEASE).stdout.split("Nothing to be done")
    assert end.splitlines()[1:] == [
        "Report: results/release/report/index.html",
        "Bundle: results/release/release",
        "Replayed: nothing was charged; epsilon 2 of 4 is spent, at delta 1e-06.",
    ]
    assert "A whole run would be charged: nothing, if its sites" in run(site, RELEASE, "--dry-run").stdout
    assert ledger_bytes(site) == before


OTHERS = [{"methods": "adassp"}, {"dataset": RELEASE["dataset"] | {"version": "2"}}]


@pytest.mark.parametrize("change", OTHERS)
def test_release__other_draws_are_not_taken_for_those_that_are_there(site, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    (copy / "results" / "release" / "release").rename(copy / "published")
    planned = run(copy, RELEASE | change, "--dry-run").stdout
    assert "rule draw" in planned
    assert "A whole run would be charged: epsilon 2; so far epsilon 2 of 4 is spent" in planned


@pytest.mark.parametrize("change", OTHERS)
def test_release__another_one_does_not_take_the_place_of_the_bundle(site, change):
    first, before = bundle(site, "release"), ledger_bytes(site)
    process = run(site, RELEASE | change, check=False)
    assert process.returncode == 2
    assert "`study` must be new for another release, got that of `results/release/release`" in process.stdout
    assert (bundle(site, "release"), ledger_bytes(site)) == (first, before)


def test_release__metrics_are_withheld(site):
    metrics = read_table(site / "results" / "release" / "metrics.tsv")
    assert len(metrics) == 3
    assert metrics[["r2", "mse", "mse_nonprivate"]].isna().all(axis=None)
    ((label, _),) = load_labelled(drawn_file(site))
    # The number of rows is the noisy one.
    assert (set(metrics["status"]), set(metrics["n_rows"])) == ({"withheld"}, {label["n"]})


def test_release__replay_from_nothing_and_forced_rerun_give_the_same_bytes_at_no_cost(site, copy):
    end = run(copy, RELEASE, cores=1).stdout
    assert "Bundle: results/release/release\nReplayed: nothing was charged; epsilon 2 of 4 is spent" in end
    assert bundle(copy, "release") == bundle(site, "release")
    assert results(copy, "release").keys() == results(site, "release").keys()
    assert ledger_bytes(copy) == ledger_bytes(site)
    first = noisy(copy)
    run(copy, RELEASE, "--forcerun", "draw")
    assert all(np.array_equal(first[name], again) for name, again in noisy(copy).items())
    assert bundle(copy, "release") == bundle(site, "release")
    assert ledger_bytes(copy) == ledger_bytes(site)


def spend_almost_all(folder):
    """Charge other studies of the dataset, so that nothing but a replay can be made."""
    dataset = {name: RELEASE["dataset"][name] for name in ("accession", "consent")}
    reserve(Ledger(folder / "ledger.jsonl"), mu="0.7", **dataset)


def test_release__replay_needs_no_budget(copy):
    spend_almost_all(copy)
    before = ledger_bytes(copy)
    run(copy, RELEASE, "--dry-run")
    assert ledger_bytes(copy) == before


def test_release__one_person_less_under_the_same_label_is_refused(copy):
    leave_out(copy, "sim0005", chromosomes=["21", "22"])
    before = ledger_bytes(copy)
    process = run(copy, RELEASE, check=False)
    assert process.returncode == 1
    assert "The data changed under the label 1" in process.stdout
    assert ledger_bytes(copy) == before
    assert not drawn_file(copy).exists()
    assert not (copy / "results" / "release" / "release").exists()


def test_release__provisional_ref_is_refused_as_it_is_ingested(copy):
    source = copy / "cohort" / "22.vcf.gz"
    head, _, last = gzip.decompress(source.read_bytes()).decode().rstrip("\n").rpartition("\n")
    columns = last.split("\t")
    columns[7] = "PR"
    text = "\n".join([head, "\t".join(columns), ""])
    write_bgzf(source, text)
    before = ledger_bytes(copy)
    process = run(copy, RELEASE, check=False)
    assert process.returncode == 1
    assert "REF must be that of the genome, got `INFO/PR`." in process.stdout
    assert ledger_bytes(copy) == before


def test_release__one_person_less_under_a_new_label_is_charged_and_all_values_change(site, copy):
    leave_out(copy, "sim0005", chromosomes=["21", "22"])
    end = run(copy, RELEASE | {"dataset": RELEASE["dataset"] | {"version": "2"}}).stdout
    assert "Charged: epsilon 2; in all epsilon 2.9" in end
    assert verify_release(copy / "results" / "release" / "release")["n_requests"] == 2
    book = Ledger(copy / "ledger.jsonl").read()
    (account,) = book.budgets
    assert len(book.requests) == 4
    assert float(book.spent(account).mu_squared) == pytest.approx(2 * 0.2011, rel=0.01)
    for name in ("gram", "cross"):
        values = noisy(copy)[name]
        difference = values - noisy(site)[name]
        assert (
            np.mean(difference[np.triu_indices(len(values), 1)] != 0 if name == "gram" else difference != 0)
            > 0.95
        )
    scores = [name for name in bundle(site, "release") if name.startswith("scores/")]
    assert all(bundle(site, "release")[name] != bundle(copy, "release")[name] for name in scores)


def test_release__second_study_over_budget_is_refused_before_any_job(copy):
    before = ledger_bytes(copy)
    other = RELEASE | {"study": "other", "privacy": RELEASE["privacy"] | {"epsilon": 3.9}}
    process = run(copy, other, check=False)
    assert process.returncode == 2
    assert "does not allow this release: cost epsilon 3.9 (mu^2 0.67" in process.stdout
    assert "spent epsilon 2 of 4 (mu^2 0.20" in process.stdout
    assert ledger_bytes(copy) == before
    assert not (copy / "results" / "other").exists()


def test_release__other_sites_over_budget_are_refused_before_any_draw(copy):
    spend_almost_all(copy)
    before = ledger_bytes(copy)
    process = run(copy, RELEASE | {"variants": {"size": 20, "maf": 0.2}}, check=False)
    assert process.returncode == 1
    assert "does not allow this release: cost epsilon 2 " in process.stdout
    assert "Nothing was charged; epsilon 3." in process.stdout
    assert ledger_bytes(copy) == before
    assert not drawn_file(copy).exists()


def test_release__a_full_disk_under_snakemake_still_says_what_was_charged(copy):
    """Snakemake breaks off without calling a handler where it cannot write its own records."""
    full = {FULL_AT: "snakemake.persistence.PersistenceBase.finished"}
    process = run(copy, RELEASE, check=False, variables=full)
    assert (process.returncode, "No space left on device" in process.stdout) == (1, True)
    assert process.stdout.count("Nothing was charged; epsilon 2 of 4 is spent, at delta 1e-06.") == 1


@pytest.mark.faults
@pytest.mark.parametrize(
    "place",
    [
        "privacy.noise.sources.ReleaseNoise._draw",
        *(at_night(f"steps.draw.{step}") for step in AFTER_THE_DRAW[:2]),
        f"steps.draw.{AFTER_THE_DRAW[2]}",
    ],
)
def test_release__killed_at_a_step_resumes_at_no_new_cost(copy, place):
    """The mechanism's job kills itself with SIGKILL at one step; the next run replays."""
    settings = RELEASE | {"dataset": RELEASE["dataset"] | {"version": "killed"}}
    run_and_kill(copy, settings, f"dpgrs.{place}")
    reserved = Ledger(copy / "ledger.jsonl").read()
    n_open = 0 if place.endswith(AFTER_THE_DRAW[1:]) else 2
    assert len(reserved.requests) - len(reserved.outputs) == n_open

    run(copy, settings)
    book = Ledger(copy / "ledger.jsonl").read()
    assert book.requests.keys() == reserved.requests.keys()
    assert set(book.outputs) == set(book.requests)
    assert verify_release(copy / "results" / "release" / "release")["n_requests"] == 2


def test_demo_release__is_replayed_from_nothing_and_measured_in_public(tmp_path, monkeypatch):
    """The shipped configuration on fewer people, accuracy and all."""
    monkeypatch.setenv(VARIABLE, "set again by make_key")
    make_key(tmp_path)
    config = REPOSITORY / "config" / "release.yaml"
    people = "cohort={simulation: {people: 200, reference_people: 100, length: 200000}}"
    demo = ["--configfile", config, "--config", people, "release={audit_draws: 0}", "--"]
    monkeypatch.setenv("HOME", str(tmp_path))
    path = make_ledger(tmp_path / ".dpgrs" / "demo.jsonl")
    run(tmp_path, {}, *demo)
    first, ledger = bundle(tmp_path, "release-demo"), path.read_bytes()
    root = tmp_path / "results" / "release-demo"
    assert "Accuracy cost nothing" in (root / "report" / "index.html").read_text()
    statement = json.loads(first["privacy_statement.json"])
    named = {public["name"] for public in statement["public_inputs"]}
    assert "people measured on, with their outcomes" in named
    assert not named & {"residual bound", "people held out"}
    assert [one["cost"] for one in statement["accuracy"]] == [
        "none, measured on 100 people of the public reference"
    ] * 3
    assert verify_release(root / "release", reference=root / "public")["accuracy"] == "scored"
    shutil.rmtree(root)
    run(tmp_path, {}, *demo)
    assert bundle(tmp_path, "release-demo") == first
    assert path.read_bytes() == ledger


def test_release__audits_come_before_the_charge_and_into_the_statement(copy):
    # Braces are no wildcards.
    settings = RELEASE | {"study": "audited", "dataset": RELEASE["dataset"] | {"version": "audited{x}"}}
    settings["release"] = RELEASE["release"] | {"audit_draws": 100}
    before = ledger_bytes(copy)
    run_and_kill(copy, settings, "dpgrs.steps.audit.require_within_claims")
    assert ledger_bytes(copy) == before
    assert not (copy / "results" / "audited" / "release").exists()

    assert "before anything is charged: this takes minutes" in run(copy, settings).stdout
    first, charged = bundle(copy, "audited"), ledger_bytes(copy)
    audit = json.loads(first["privacy_statement.json"])["audit"]
    assert (audit["draws"], audit["seed"]) == (100, 1)
    names = ["private_count", "private_gram", "private_cross_product", "private_statistics"]
    assert [one["mechanism"] for one in audit["mechanisms"]] == names
    page = (copy / "results" / "audited" / "report" / "index.html").read_text()
    assert "dpgrs audit --draws 100 --seed 1" in page

    shutil.rmtree(copy / "results" / "audited")
    run(copy, settings, cores=1)
    assert bundle(copy, "audited") == first
    # With other audits it is the same release, at no cost.
    settings["release"] |= {"audit_draws": 101}
    run(copy, settings)
    assert json.loads(bundle(copy, "audited")["privacy_statement.json"])["audit"]["draws"] == 101
    assert ledger_bytes(copy) == charged


def test_release__sample_ids_stay_in_the_private_folder(site):
    root = site / "results" / "release"
    files = [path for folder in (root, site / ".snakemake") for path in folder.rglob("*") if path.is_file()]
    found = [path.relative_to(site).as_posix() for path in files if b"sim00" in path.read_bytes()]
    assert found
    assert all(name.startswith("results/release/private/") for name in found)


def require_closed_folders(folder):
    """Fail if other users can look into a release, or Snakemake keeps digests of its files."""
    records = [json.loads(path.read_text()) for path in (folder / ".snakemake" / "metadata").iterdir()]
    assert records
    assert [record["rule"] for record in records if any(record["input_checksums"].values())] == []
    made = [folder / ".snakemake", *(folder / "results").rglob("*")]
    assert {path.name for path in made if path.stat().st_mode & 0o077} <= {".snakemake_timestamp"}
    assert not any((folder / "results" / "release" / name).exists() for name in ("logs", "benchmarks"))


def test_release__is_closed_and_snakemake_keeps_no_digest_of_a_private_file(site):
    require_closed_folders(site)


IMPORTER = """
module dpgrs:
    snakefile: {snakefile!r}
    config: config

use rule * from dpgrs
"""


def test_release__imported_as_a_module_without_hooks_it_is_closed_and_a_replay(site, copy):
    importer = copy / "importer.smk"
    importer.write_text(IMPORTER.format(snakefile=str(SNAKEFILE)))
    # A package of the importer's own, where the workflow has its own.
    other = copy / "workflow" / "dpgrs"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise ImportError\n")
    before = ledger_bytes(copy)
    # Without a profile, Snakemake keeps digests unless it is told not to.
    imported = ["--snakefile", importer, "--workflow-profile", "none", "--show-failed-logs", "--no-hoo"]
    refused = run(copy, RELEASE, *imported, check=False)
    assert refused.returncode == 1
    assert "must hold no digests but of public files in a release" in refused.stdout
    assert "Nothing was charged; epsilon 2 of 4" in refused.stdout
    shutil.rmtree(copy / ".snakemake" / "metadata")
    end = run(copy, RELEASE, *imported, "--max-checksum-file-size", "0").stdout
    assert end.endswith("Replayed: nothing was charged; epsilon 2 of 4 is spent, at delta 1e-06.\n")
    require_closed_folders(copy)
    assert bundle(copy, "release") == bundle(site, "release")
    assert ledger_bytes(copy) == before


def test_release__adassp_is_audited_bundled_and_replayed(copy):
    settings = RELEASE | {"study": "adassp", "methods": ["adassp"]}
    settings["privacy"] = RELEASE["privacy"] | {"epsilon": 1}
    settings["release"] = RELEASE["release"] | {"audit_draws": 100}
    run(copy, settings)
    folder = copy / "results" / "adassp"
    first, before = bundle(copy, "adassp"), ledger_bytes(copy)
    statement = json.loads(first["privacy_statement.json"])
    drawn = [one["statistic"] for one in statement["mechanisms"]]
    assert drawn == ["count", "gram", "cross product", "smallest eigenvalue"]
    assert statement["guarantee"]["epsilon"] == "1"
    audited = {one["mechanism"] for one in statement["audit"]["mechanisms"]}
    assert {"private_smallest_eigenvalue", "private_adassp"} < audited
    assert "private_statistics" not in audited
    assert "smallest eigenvalue of X′X" in (folder / "report" / "index.html").read_text()
    assert verify_release(folder / "release")["n_requests"] == 2
    shutil.rmtree(folder)
    run(copy, settings)
    assert bundle(copy, "adassp") == first
    assert ledger_bytes(copy) == before


def test_release__blup_with_a_stated_heritability_has_standard_errors_and_is_replayed(copy):
    # The trace of X'X is about 30 standard deviations of its noise: with less there may be nothing to fit.
    ledger = make_ledger(copy / "blup.jsonl", epsilon="20")
    settings = RELEASE | {
        "study": "blup",
        "privacy": {"epsilon": 10, "ledger": ledger.name},
        "regression": {"heritability": 0.5},
    }
    run(copy, settings)
    folder = copy / "results" / "blup"
    first, before = bundle(copy, "blup"), ledger.read_bytes()
    assert [name for name in first if name.startswith("standard_errors/")]
    statement = json.loads((folder / "release" / "privacy_statement.json").read_text())
    assert {"norm of a row of genotypes", "heritability"} <= {
        one["name"] for one in statement["public_inputs"]
    }
    assert statement["expected_noise_sd"] is None
    verify_release(folder / "release")
    shutil.rmtree(folder)
    run(copy, settings)
    assert bundle(copy, "blup") == first
    assert ledger.read_bytes() == before
