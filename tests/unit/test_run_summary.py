import hashlib
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpgrs.config.privacy import Privacy
from dpgrs.config.study import StudyConfig
from dpgrs.io.files import write_table
from dpgrs.io.replicates import save_labelled, write_events
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.study.run_summary import describe_ahead, describe_failure, describe_success, ledger_requests
from ledger_requests import new_ledger, reserve
from report_data import PRIVATE, make_report_data

OUTCOMES = {"outcomes": {"loadings": None, "test_share": 0.2}}
COHORT = {"part": False, "source": "simulate", "copies": {"people": None}}
BENCHMARK = StudyConfig.of({"mode": "benchmark", "methods": ["blup"], "cohort": COHORT} | OUTCOMES)
DRAWN = "drawn/reusecov-statistics.json"


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path, mu_squared=None, epsilon="4")


@pytest.fixture
def settings(ledger):
    terms = {"protection": ["full"], "unit": "person", "neighbours": "add-remove"}
    privacy = {"ledger": str(ledger.path)} | terms
    values = {"study": "demo", "mode": "release", "methods": ["blup"], "privacy": privacy, "cohort": COHORT}
    return StudyConfig.of(values | OUTCOMES | {"covariates": {"pcs": 0}})


@pytest.fixture
def results(tmp_path):
    """The folder of a release that ended well."""
    root = tmp_path / "results" / "demo"
    for name in ("report/index.html", "release/SHA256SUMS", f"private/replicate1/{DRAWN}"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def charge(ledger, *, mu, number, study):
    """Charge a request, note that a study has its output, and return the id."""
    request = reserve(ledger, mu=mu, number=number)
    ledger.complete(request, "0" * 64, study=study)
    return request


@pytest.mark.parametrize("is_kept", [True, False])
def test_describe_success__says_what_the_run_was_charged_and_what_is_spent(
    settings, results, ledger, is_kept
):
    """Also if what was drawn is removed by then."""
    charge(ledger, mu="0.1", number=1, study="demo")
    earlier = ledger_requests(settings)
    # Outcomes, genotypes, metrics; a regression on covariates would be one more.
    for number, mu in ((2, "0.3"), (3, "0.2"), (4, "0.1")):
        charge(ledger, mu=mu, number=number, study="demo")
    charge(ledger, mu="0.5", number=5, study="other")  # meanwhile
    if not is_kept:
        (results / "private" / "replicate1" / DRAWN).unlink()
    # mu^2 = 0.14 of 0.40: epsilons of mu 0.3742 and 0.6325, by the mu-GDP formula.
    assert describe_success(settings, results=results, earlier=earlier) == [
        f"Report: {results}/report/index.html",
        f"Bundle: {results}/release",
        "Charged: epsilon 1.642; in all epsilon 2.922 of 4 is spent, at delta 1e-06.",
    ]


def test_describe_success__leaves_out_charges_of_a_study_of_its_name_elsewhere(settings, results, ledger):
    drawn, measured, _ = [charge(ledger, mu="0.3", number=number, study="demo") for number in range(3)]
    replicate = results / "private" / "replicate1"
    (replicate / DRAWN).unlink()
    for name, part, request in (
        (DRAWN, "outcomes", drawn),
        ("accuracy_events.json", "accuracy", measured),
    ):
        write_events(replicate / name, [{"events": [], "requests": [[[part, "a"], request]]}])
    line = describe_success(settings, results=results, earlier=set())[-1]
    # mu^2 = 0.18 of 0.27.
    assert line == "Charged: epsilon 1.883; in all epsilon 2.352 of 4 is spent, at delta 1e-06."


def test_describe_success__a_replay_says_that_nothing_was_charged(settings, results, ledger):
    charge(ledger, mu="0.3", number=1, study="demo")
    assert describe_success(settings, results=results, earlier=ledger_requests(settings))[-1] == (
        "Replayed: nothing was charged; epsilon 1.292 of 4 is spent, at delta 1e-06."
    )


def test_describe_success__without_a_bundle_nothing_is_said_to_be_replayed(settings, results, ledger):
    """As after `--touch` by other settings, where the bundle was moved away."""
    charge(ledger, mu="0.3", number=1, study="demo")
    (results / "release" / "SHA256SUMS").unlink()
    line = describe_success(settings, results=results, earlier=ledger_requests(settings))[-1]
    assert line.startswith("Nothing was charged; epsilon 1.292 of 4 is spent")


def test_describe_success__without_statistics_nothing_was_replayed(settings, tmp_path):
    (line,) = describe_success(settings, results=tmp_path / "results" / "new", earlier=set())
    assert line == "Nothing was charged; epsilon 0 of 4 is spent, at delta 1e-06."


def test_describe_success__says_that_pages_are_of_an_earlier_bundle(settings, results, ledger):
    """After `--touch` they are left as they are."""
    for name in ("release/privacy_statement.txt", "figures/Privacy/statement.txt"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("words\n")

    def said():
        return "are of an earlier bundle" in " ".join(
            describe_success(settings, results=results, earlier=set())
        )

    assert not said()
    (results / "release/privacy_statement.txt").write_text("other words\n")
    assert said()


def test_describe_success__of_a_benchmark_is_where_its_report_is(results):
    assert ledger_requests(BENCHMARK) == set()
    lines = describe_success(BENCHMARK, results=results, earlier=set())
    assert lines == [f"Report: {results}/report/index.html"]


def test_describe_success__of_a_benchmark_says_where_all_is_noise(results):
    benchmark = BENCHMARK.changed(privacy=Privacy.of({"bounds": "worst-case"}))
    metrics = make_report_data(epsilons=(0.05, 16.0), private=PRIVATE[:1]).metrics
    metrics.to_csv(results / "metrics.tsv", sep="\t", index=False)
    _, line = describe_success(benchmark, results=results, earlier=set())
    least = 3.84 / (metrics["n_rows"].mean() / 4)
    assert line == (
        "All noise at 4 of 8 combinations of protection, accounting, epsilon, variants and outcomes: no "
        f"private method has a mean R^2 of {least:.2g} or more, as chance gives on as many test rows in one "
        "case of twenty. The report names them. Raise epsilon, ask for fewer variants or outcomes, or use "
        "tight bounds."
    )
    metrics[metrics["epsilon"] != 0.05].to_csv(results / "metrics.tsv", sep="\t", index=False)
    assert len(describe_success(benchmark, results=results, earlier=set())) == 1


def test_describe_success__of_a_benchmark_says_where_alleles_are_missing(results):
    calls = {"chromosome": ["21", "X", "all"], "call_rate": [0.96, 0.75, 0.9], "half_calls": [0.0, 0.5, 0.1]}
    write_table(results / "private" / "qc.tsv", pd.DataFrame(calls))
    _, line = describe_success(BENCHMARK, results=results, earlier=set())
    assert line == (
        "Missing: 25 % of the alleles of chromosome X. Likely cause: calls of one allele, as of males on X: "
        "with `cohort.rows: haplotypes` the second haplotype is missing; with `cohort.rows: people` a call "
        "`1` is whole, but half of `1/.` is missing (docs/explanation/ingest.md)."
    )
    calls["half_calls"][1] = 0.1
    write_table(results / "private" / "qc.tsv", pd.DataFrame(calls))
    _, line = describe_success(BENCHMARK, results=results, earlier=set())
    assert line.endswith("Likely cause: calls that were not made, or were masked.")


@pytest.mark.parametrize("settings_of", ["release", "benchmark"])
def test_describe_success__says_where_public_genotypes_fit_badly(settings, results, ledger, settings_of):
    run = {"release": settings, "benchmark": BENCHMARK}[settings_of]

    def misfit(*mismatches, methods=("ridge", "blup-ld")):
        for replicate, mismatch in enumerate(mismatches, 1):
            path = results / "private" / f"replicate{replicate}" / "weights.npz"
            path.parent.mkdir(exist_ok=True)
            fits = [({"method": "ridge"}, {"weights": np.ones((1, 2))})]
            save_labelled(path, [*fits, ({"method": "blup-ld"}, {"mismatch": np.array([mismatch, 0])})])
        lines = describe_success(run.changed(methods=[*methods]), results=results, earlier=set())
        return [line for line in lines if "ublic genotypes" in line]

    assert misfit() == misfit(0.0, 1 / 256) == []
    (line,) = misfit(0.05, 0.05)
    assert "as those of 20 random rows of its own" in line
    assert misfit(methods=["blup"]) == []  # of an earlier run


@pytest.mark.parametrize("settings_of", ["release", "benchmark"])
def test_describe_success__says_of_which_outcome_components_carry_least(
    settings, results, tmp_path, settings_of
):
    run = {"release": settings, "benchmark": BENCHMARK}[settings_of]
    table = tmp_path / "loadings.tsv"
    table.write_text("outcome\torigin\tf\nheight\ta survey\t0.9\nbmi\t\t0.5\n")
    run = run.changed(outcomes={"loadings": str(table)})
    lines = describe_success(run, results=results, earlier=set())
    assert (
        "Public loadings carry 25 % of the variance of bmi, the least of 2 outcomes: what genes do to the "
        "rest is in no weight."
    ) in lines


@pytest.mark.parametrize(
    ("cost", "charge"),
    [
        (Cost(Fraction("0.14")), "epsilon 1.642"),
        (
            Cost(),
            "nothing, if its sites, outcomes in their order and `privacy.genotype_clip` are those of an "
            "earlier release, which is replayed",
        ),
    ],
)
def test_describe_ahead__says_what_would_be_charged(settings, monkeypatch, cost, charge):
    monkeypatch.setattr("dpgrs.study.run_summary.certain_cost", lambda config, book: cost)
    monkeypatch.setattr("dpgrs.study.run_summary.settings_of_ledger", lambda config, book: None)
    monkeypatch.setattr("dpgrs.study.run_summary.other_version", lambda config, book: None)
    assert describe_ahead(settings) == [
        f"A whole run would be charged: {charge}; so far epsilon 0 of 4 is spent, at delta 1e-06."
    ]
    assert describe_ahead(BENCHMARK) == []
    monkeypatch.setattr("dpgrs.study.run_summary.other_version", lambda config, book: 2)
    _, line = describe_ahead(settings)
    assert line.startswith(
        "Version 2 of the mechanisms made such a release, which this dpgrs cannot replay. The run is refused "
    )


@pytest.mark.parametrize(
    ("changes", "public"),
    [
        ({"methods": ["blup-ld"]}, "sites, public LD"),
        (
            {"methods": ["blup-genome"], "covariates": {"pcs": 2}},
            "sites, loadings of principal components, public map of the genome",
        ),
    ],
)
def test_describe_ahead__a_replay_needs_all_public_files_that_steer_a_draw(
    settings, monkeypatch, changes, public
):
    monkeypatch.setattr("dpgrs.study.run_summary.certain_cost", lambda config, book: Cost())
    monkeypatch.setattr("dpgrs.study.run_summary.other_version", lambda config, book: None)
    (line,) = describe_ahead(settings.changed(**changes))
    assert f"nothing, if its {public}, outcomes in their order and `privacy.genotype_clip` are those" in line


def test_describe_failure__says_that_a_charge_is_not_lost(settings, results, ledger):
    (line,) = describe_failure(settings, results=results, earlier=set())
    assert line.startswith("Nothing was charged; epsilon 0 of 4 is spent")
    reserve(ledger, mu="0.3")
    (line,) = describe_failure(settings, results=results, earlier=set())
    assert line == (
        "The ledger was charged during this run; epsilon 1.292 of 4 is spent, at delta 1e-06. Run it again "
        "with the same settings and files: what was charged for these is replayed, not charged twice."
    )
    assert describe_failure(BENCHMARK, results=results, earlier=set()) == []


def test_describe_failure__leaves_out_what_other_studies_were_charged(settings, results, ledger):
    charge(ledger, mu="0.3", number=1, study="other")
    (line,) = describe_failure(settings, results=results, earlier=set())
    assert line.startswith("Nothing was charged to this study, but to others meanwhile; epsilon 1.292 of 4")
    charge(ledger, mu="0.2", number=2, study="demo")
    (line,) = describe_failure(settings, results=results, earlier=set())
    assert line.startswith("The ledger was charged during this run; ")


def test_describe_failure__says_that_a_bundle_is_not_as_it_was_written(settings, results, ledger):
    release = results / "release"
    (release / "scores").mkdir()
    for name in ("provenance.json", "scores/a.txt.gz"):
        (release / name).write_text("whole")
    digest = hashlib.sha256(b"whole").hexdigest()
    sums = f"{digest}  provenance.json\n{digest}  scores/a.txt.gz\n"

    def damage():
        lines = describe_failure(settings, results=results, earlier=set())
        return [line for line in lines if "is not as it was written" in line or "is not whole" in line]

    (release / "SHA256SUMS").write_text(sums)
    assert damage() == []
    (release / "scores" / "a.txt.gz").write_text("who")
    assert len(damage()) == 1
    (release / "scores" / "a.txt.gz").unlink()
    assert len(damage()) == 1
    (release / "scores" / "a.txt.gz").write_text("whole")
    (release / "more").touch()
    assert len(damage()) == 1
    (release / "more").unlink()
    (release / "SHA256SUMS").write_text(sums[:-5])
    assert len(damage()) == 1
    (release / "SHA256SUMS").unlink()
    (line,) = damage()
    assert "as it lacks SHA256SUMS" in line


def test_describe_success__says_that_people_are_copies(results):
    settings = BENCHMARK.changed(cohort={"copies": {"people": 5000}})
    assert describe_success(settings, results=results, earlier=set())[-1] == (
        "All 5,000 people are copies, mosaics of those in the genotype files: derived data."
    )
