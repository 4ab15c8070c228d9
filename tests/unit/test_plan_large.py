"""Plans of many variants: no matrix of variants by variants is made, and what has no R2 has its costs."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli import ledger
from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import n_noisy_entries, noisy_entries
from dpgrs.planning import accuracy
from dpgrs.planning import plan as plan_module
from dpgrs.planning.accuracy import within_bounds
from dpgrs.planning.draws import rehearse
from dpgrs.planning.plan import plan_study
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study import rehearsed_sums
from dpgrs.study.settings import resolve
from dpgrs.study.settings_files import read_settings
from refused import refused

MEBIBYTE = 2**20
SUMS = [
    name
    for name, row in METHODS.items()
    if row.may_be_released and "statistics" in mechanism_of(name).takes and name != "adassp"
]


def request_of(n_variants=30, *, rows="haplotypes", **terms):
    unit = "haplotype" if rows == "haplotypes" else "person"
    fixed = {"outcome_bound": 3.0, "delta": 1e-6, "unit": unit, "neighbours": "add-remove"}
    fixed |= {"n_outcomes": 1, "epsilon": 2.0}
    return PrivacyRequest(rows=rows, n_variants=n_variants, **fixed | terms)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text("study: tiny\nprivacy: {epsilon: 2, accounting: gdp, protection: full}\n")


def plan_of(*changes, **options):
    return plan_study(read_settings("study.yaml", changes=changes), people=20_000, **options)


@pytest.mark.parametrize("method", SUMS)
@pytest.mark.parametrize("bounds", ["tight", "worst-case"])
@pytest.mark.parametrize("terms", [{}, {"neighbours": "replace-one", "n_outcomes": 3}])
def test_rehearse__events_of_few_variants_become_those_of_all(monkeypatch, method, bounds, terms):
    config = resolve({"mode": "release", "methods": [method], "privacy": {"epsilon": 2}})
    frequency = np.linspace(0.05, 0.95, 30)
    counted = {"counts_outcomes": True, "case_share": 0.1}
    request = request_of(n_outcomes=1, rows="people") if not terms else request_of(**terms)
    if method not in ("naive", "blup-steered", "blup-ld"):
        request = request_of(rows=request.rows, n_outcomes=request.n_outcomes, **counted)
    request = within_bounds(request, bounds, frequency=frequency, config=config)
    whole = rehearse(request, 3, frequency=frequency, config=config)
    monkeypatch.setattr(rehearsed_sums, "MOST_REHEARSED", 7)
    assert rehearse(request, 3, frequency=frequency, config=config) == whole


@pytest.mark.parametrize("method", ["blup-ld", "blup-genome"])
def test_rehearse__a_regression_on_covariates_is_of_no_variants(monkeypatch, method):
    covariates = {"pcs": 2, "first": True, "share": 0.1}
    release = {"mode": "release", "methods": [method], "privacy": {"epsilon": 2}}
    config, frequency = resolve(release | {"covariates": covariates}), np.linspace(0.05, 0.95, 30)
    request = within_bounds(
        request_of(rows="people", covariate_share=0.1), "tight", frequency=frequency, config=config
    )
    whole = rehearse(request, 3, frequency=frequency, config=config)
    events = [*whole[0], *(event for of_outcome in whole[1].values() for event in of_outcome)]
    assert "covariate regression" in {event.statistic for event in events}
    monkeypatch.setattr(rehearsed_sums, "MOST_REHEARSED", 7)
    assert rehearse(request, 3, frequency=frequency, config=config) == whole


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("coding", ["half", "frequency", "row-centred"])
def test_n_noisy_entries__counts_the_entries(rows, coding):
    request = request_of(9, rows=rows, coding=coding, row_norm=None if coding != "frequency" else 2.0)
    assert n_noisy_entries(request) == noisy_entries(9, rows=rows, coding=coding).sum()


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("methods=[blup-ld]",),
        ("mode=release", "methods=[blup-ld]", "cohort={rows: people}"),
        ("mode=release", "methods=[k-blup]", "cohort={rows: people}"),
        ("mode=release", "methods=[s-blup]", "cohort={rows: people}"),
        ("mode=release", "methods=[blup-steered]", "cohort={rows: people}"),
    ],
)
def test_plan_study__of_many_variants_has_its_costs_in_little_memory(changes):
    plan_of("variants={size: 10}")  # imports
    tracemalloc.start()
    plan = plan_of("variants={size: 100000}", "outcomes={count: 1}", *changes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * MEBIBYTE
    [request] = plan["requests"]
    assert request["whole_study"]["ledger"] == pytest.approx(2, rel=1e-3)
    assert request["expected"] == []
    reason = "it takes matrices of X'X, which a plan makes of at most 5,000 variants"
    assert request["no_accuracy"] == reason
    assert f"costs epsilon {request['whole_study']['ledger']:.3f}. No R2 is planned: it takes" in " ".join(
        plan_as_text(plan).split()
    )


def test_plan_study__of_adassp_with_too_many_variants_is_refused_at_once():
    with refused("too-many-columns-for-adassp", "got 100000", "4096", error=UsageError):
        plan_of("mode=release", "methods=[adassp]", "cohort={rows: people}", "variants={size: 100000}")


def test_plan_study__without_memory_for_r2_has_its_costs(monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(accuracy, "expected_fit", fail)
    [request] = plan_of("variants={size: 8}", "outcomes={count: 1}")["requests"]
    assert request["no_accuracy"] == "there is too little memory for matrices of X'X"
    assert request["mechanisms"]


def test_command__says_costs_before_r2_is_worked_out(monkeypatch):
    arguments = ["plan", "study.yaml", "--config", "variants={size: 8}", "--config", "outcomes={count: 1}"]
    assert CliRunner().invoke(main, arguments).stderr == ""
    monkeypatch.setattr(ledger, "SLOW_PLAN", 8)
    result = CliRunner().invoke(main, arguments)
    line = "# 1 (full, gdp, epsilon 2, 8 variants, 1 outcome): costs epsilon 2.000."
    assert result.stderr == f"{line} Working out what R2 to expect.\n"
    # The answer comes before all tables.
    answer = f"{line.rstrip('.')}, expected R2 "
    assert answer in result.stdout.partition("Epsilon at delta")[0]
    assert CliRunner().invoke(main, ["--quiet", *arguments]).stderr == ""


GENOME = ("mode=release", "cohort={rows: people, planned_people: 500000}", "variants={size: 1000000}")


@pytest.mark.parametrize(
    "method", ["auto", *(name for name, row in METHODS.items() if row.may_be_released and name != "adassp")]
)
def test_plan_study__of_a_genome_by_every_method_is_an_answer(method):
    plan = plan_of(*GENOME, f"methods={method}", "outcomes={count: 2}")
    [request] = plan["requests"]
    assert [one["method"] for one in request["expected"]] == ["blup-genome"] * (
        method in ("auto", "blup-genome")
    )
    if method.startswith("blup") and method != "blup-genome":
        assert method in plan["too_large"]


def test_plan_study__names_what_jobs_ask_for_and_what_cannot_run(monkeypatch):
    methods = ("methods=[blup-ld, blup, blup-genome]", "variants={size: 20000}", *GENOME[:2])
    monkeypatch.setattr(plan_module, "machine_memory_mb", lambda: 20_000)
    plan = plan_of(*methods, "outcomes={count: 1}")
    steps = {job["step"]: job for job in plan["jobs"]}
    assert {"make-variants", "measure-ld", "sum-genome", "draw", "fit-weights"} <= {*steps}
    assert steps["compute-statistics"]["mem_mb"] > 3000
    assert plan["too_large"]["blup-ld"] == "takes at most 16,383 variants"
    assert plan["too_large"]["blup"].endswith(" GB of memory, of 20.0 GB here")
    assert "blup-genome" not in plan["too_large"]
    text = " ".join(plan_as_text(plan).split())
    assert (
        "Methods that cannot run here at this size: blup-ld (takes at most 16,383 variants), blup (" in text
    )
    assert "For blup-genome it is the linkage disequilibrium of a simulated population" in text
    assert "No R2 is planned for other methods: it takes matrices of X'X" in text


def test_plan_study__of_genomes_alone_assumes_their_linkage_alone():
    assumed = plan_of("methods=[blup-genome]", *GENOME)["assumptions"]
    assert assumed["linkage"].startswith("that of a simulated population of European ancestry")
    assert "genome_linkage" not in assumed


@pytest.mark.parametrize("size", [400, 1000, 1_000_000])
def test_plan_study__second_moments_have_a_share_of_what_sums_would_have(size):
    terms = (*GENOME[:2], f"variants={{size: {size}}}", "methods=blup-genome", "outcomes={count: 2}")
    plain, plan = (plan_of(*terms, f"privacy={{epsilon: 3, ld_share: {share}}}") for share in ("null", "0.1"))
    assert plan["privacy"]["ld_share"] == 0.1
    shares = {}
    for one in (plain, plan):
        [request] = one["requests"]
        assert request["whole_study"]["ledger"] == pytest.approx(3, rel=1e-9)
        shares |= {mechanism["statistic"]: mechanism for mechanism in request["mechanisms"]}
    moments, sums = shares["genome moments"], shares["genome sums"]
    assert moments["share"] == pytest.approx(0.1 * (moments["share"] + sums["share"]))
    assert moments["entries"] == size * (min(size, 1500) + 1) // 2
    assert moments["sensitivity"] == pytest.approx(15)
    assert plan["requests"][0]["expected"][0]["r2"] < plain["requests"][0]["expected"][0]["r2"]
    asked = [{job["step"]: (job["mem_mb"], job["minutes"]) for job in one["jobs"]} for one in (plain, plan)]
    if size == 1_000_000:
        for step in ("sum-genome", "draw", "fit-weights"):
            assert asked[0][step] < asked[1][step]
        text = " ".join(plan_as_text(plan).split())
        assert "X'X along pairs of directions of public LD" in text


def test_plan_study__jobs_are_those_of_the_planned_people():
    small, large = (
        plan_of(*GENOME[:1], "methods=[blup]", f"cohort={{rows: people, planned_people: {n}}}")
        for n in (10**4, 10**6)
    )
    pairs = zip(small["jobs"], large["jobs"], strict=True)
    assert all(one["minutes"] <= other["minutes"] for one, other in pairs)
