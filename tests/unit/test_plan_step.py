import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.planning.plan import plan_study
from dpgrs.preflight.checks import problems
from dpgrs.privacy.accounting.charges import GaussianCharge
from dpgrs.privacy.ledger.entries import Account, exact_text
from dpgrs.privacy.ledger.ledger import Order
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.release_cost import total_epsilon
from dpgrs.study.settings import resolve
from dpgrs.study.settings_files import read_settings
from ledger_requests import DATASET, KEY, STATISTIC, identity, new_ledger, reserve
from refused import refused
from result_files import columns_of

# Small variant sets and few outcomes, so that a plan takes no time.
SMALL = ("variants={size: 8}", "outcomes={count: 3}", "privacy={epsilon: 2, accounting: gdp}")
# Of a benchmark, in place of the demo's methods.
FULL_PROTECTION = ("methods=[ols, gblup, reusecov-gauss, blup]", "privacy={protection: full}")
RELEASE = ("mode=release", "cohort={rows: people}", *SMALL)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with a configuration that says nothing."""
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text("study: tiny\n")
    return tmp_path


def plan_of(*changes, people=1000, **assumed):
    changes = changes if "mode=release" in changes else (*FULL_PROTECTION, *changes)
    return plan_study(read_settings("study.yaml", changes=changes), people=people, **assumed)


def with_ledger(ledger, **dataset):
    named = ", ".join(f"{name}: {value}" for name, value in (DATASET | dataset).items())
    return [f"dataset={{{named}, version: v1}}", f"privacy={{ledger: {ledger.path}}}"]


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_plan_study__every_combination_is_a_request():
    changes = [
        "variants={size: [4, 8]}",
        "outcomes={count: [1, 3]}",
        "privacy={epsilon: [1, 2], accounting: [gdp, paper]}",
    ]
    requests = plan_of(*changes)["requests"]
    asked = [(r["accounting"], r["epsilon"], r["n_variants"], r["n_outcomes"]) for r in requests]
    assert len(set(asked)) == len(asked) == 16
    assert [request["number"] for request in requests] == list(range(1, 17))


@pytest.mark.parametrize("outcome_budget", ["joint", "separate"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_plan_study__mechanisms_are_those_that_would_run(outcome_budget, neighbours):
    terms = f"{{outcome_budget: {outcome_budget}, neighbours: {neighbours}, bounds: worst-case}}"
    (request,) = plan_of(*RELEASE, f"privacy={terms}")["requests"]
    n_outcomes = 3 if outcome_budget == "joint" else 1
    asked = PrivacyRequest("people", 8, n_outcomes, 3.0, 2.0, 1e-6, neighbours=neighbours)
    gram, cross = (np.zeros((n, 9), dtype=np.int64) for n in (9, 3))
    events = private_statistics(gram, cross, 800, request=asked, noise=BenchmarkNoise(1)).events
    planned = [
        (mechanism["statistic"], mechanism["noise_sd"], mechanism["sensitivity"])
        for mechanism in request["mechanisms"]
        for _ in range(mechanism["times"])
    ]
    assert planned == [(event.statistic, event.sigma, event.sensitivity.value) for event in events]
    assert sum(mechanism["share"] for mechanism in request["mechanisms"]) == pytest.approx(1)


@pytest.mark.parametrize("metrics", ["{metrics: withheld}", "{metrics: charged, epsilon: 1}"])
@pytest.mark.parametrize("outcome_budget", ["joint", "separate"])
def test_plan_study__totals_are_those_that_the_checks_hold_against_the_budget(outcome_budget, metrics):
    changes = [*RELEASE, f"privacy={{outcome_budget: {outcome_budget}}}", f"evaluation={metrics}"]
    changes += ["regression={heritability: 0.5}"]
    settings = resolve(read_settings("study.yaml", changes=changes))
    (request,) = plan_study(settings.as_dict())["requests"]
    assert request["whole_study"]["ledger"] == pytest.approx(total_epsilon(settings))
    statistics = {mechanism["statistic"]: mechanism["times"] for mechanism in request["mechanisms"]}
    assert statistics.get("accuracy", 0) == (0 if "withheld" in metrics else statistics["cross product"])
    if outcome_budget == "joint":
        assert request["outcome"] == request["whole_study"]
    else:
        assert request["outcome"]["ledger"] < request["whole_study"]["ledger"]


def test_plan_study__charged_metrics_need_a_budget():
    with refused("accuracy-budget-missing", "`evaluation.epsilon`", error=UsageError):
        plan_of(*RELEASE, "evaluation={metrics: charged}")


def test_plan_study__a_person_of_two_haplotypes_loses_more():
    (haplotypes,), (people,) = (plan_of(*changes)["requests"] for changes in (SMALL, RELEASE))
    assert haplotypes["person"]["mu"] == pytest.approx(2 * haplotypes["whole_study"]["mu"])
    assert people["person"] is None


@pytest.mark.parametrize(("budget", "is_within"), [(1.9, False), (2.1, True)])
def test_plan_study__budget_of_the_study(budget, is_within):
    (request,) = plan_of(*SMALL, f"privacy={{budget: {budget}}}")["requests"]
    assert request["is_within_budget"] is is_within


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.9, 1.7, 2.3, 6.1, 11, 47])
def test_plan_study__budget_of_just_what_is_asked_for_suffices(epsilon):
    (request,) = plan_of(*SMALL, f"privacy={{epsilon: {epsilon}, budget: {epsilon}}}")["requests"]
    assert request["is_within_budget"] is True


def test_plan_study__rows_follow_from_people():
    def rows(*changes, **assumed):
        return plan_of(*SMALL, *changes, **assumed)["assumptions"]["training_rows"]

    assert rows() == 1600
    assert rows("cohort={rows: people}") == 800
    assert rows("outcomes={test_share: 0.5}") == 1000
    assert rows("cohort={simulation: {people: 200}}", people=None) == 320


def test_plan_study__says_the_rows_that_a_file_of_outcomes_implies():
    outcomes = "outcomes={source: file, file: absent.tsv, count: 3}"
    plan = plan_of(*SMALL, outcomes)
    assert (plan["rows"], plan["privacy"]["bounds"], plan["privacy"]["unit"]) == ("people", "tight", "person")
    assert plan["assumptions"]["training_rows"] == 800
    assert "Rows people, unit person, neighbours add-remove, tight bounds." in plan_as_text(plan)
    plan = plan_of(*SMALL, outcomes, "cohort={rows: haplotypes}", "privacy={bounds: worst-case}")
    assert "Rows haplotypes, unit haplotype, neighbours add-remove, worst-case bounds." in plan_as_text(plan)


def test_plan_study__too_many_combinations_are_one_line():
    many = "[" + ", ".join(map(str, range(1, 101))) + "]"
    with refused("too-many-requests", "got 10000", error=UsageError):
        plan_of(*SMALL, f"variants={{size: {many}}}", f"privacy={{epsilon: {many}}}")


def test_plan_study__people_of_real_cohorts_must_be_stated():
    cohort = 'cohort={source: vcf, vcf: "absent{chrom}.vcf"}'
    with pytest.raises(UsageError, match="`--people` must be given"):
        plan_of(*SMALL, cohort, people=None)
    # With all else that is wrong, but for files that may be yet to come.
    changes = ["epsilom=1", "variants={size: 0}", "replicates=2"]
    with pytest.raises(UsageError) as caught:
        plan_of("mode=release", cohort, "outcomes={source: file, file: y.tsv}", *changes, people=None)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    for words in ("`epsilom`", "`variants.size`", "`--people`", "`outcomes.count`", "`replicates`"):
        assert sum(line.startswith(words) for line in lines) == 1, lines
    assert not any("is not there" in line for line in lines)
    assert plan_of(*SMALL, cohort)["assumptions"]["people"] == 1000


def test_plan_study__heritabilities_are_assumed_or_the_configurations():
    def found(**assumed):
        (request,) = plan_of(*SMALL, "methods=[blup]", "outcomes={heritability: 0.3}", **assumed)["requests"]
        return [expected["heritability"] for expected in request["expected"]]

    assert found() == [0.3]
    assert found(heritabilities=(0.1, 0.8)) == [0.1, 0.8]


def test_plan_study__frequencies_of_the_public_sites():
    lines = [f"21\t{position}\tA\tC\t0.5" for position in range(1, 21)]
    Path("sites.tsv").write_text("\n".join(["contig\tposition\tref\talt\tfrequency", *lines]) + "\n")
    ridge = (*RELEASE, "methods=[reusecov-gauss]", "privacy={bounds: worst-case}")
    half, neutral = plan_of(*ridge, "public={sites: sites.tsv}"), plan_of(*ridge)
    assert "sites.tsv" in half["assumptions"]["frequencies"]
    assert "neutral" in neutral["assumptions"]["frequencies"]
    # More variance, more for the same penalty to learn from.
    r2 = [plan["requests"][0]["expected"][0]["r2_without_noise"] for plan in (half, neutral)]
    assert r2[0] > r2[1]
    with pytest.raises(UsageError, match=r"`public\.sites`: `variants\.size` must be .*, 20 of 20, got 21\."):
        plan_of(*RELEASE, "public={sites: sites.tsv}", "variants={size: 21}")


@pytest.mark.parametrize(("mode", "is_used"), [("release", True), ("benchmark", False)])
def test_plan_study__sites_that_a_run_has_chosen(mode, is_used):
    folder = Path("results/tiny/public")
    folder.mkdir(parents=True)
    lines = [f"21\t{rank + 1}\t.\tA\tC\t0.5\t{rank}" for rank in range(8)]
    header = "contig\tposition\tid\tref\talt\tfrequency\trank"
    (folder / "sites.tsv").write_text("\n".join([header, *lines]) + "\n")
    plan = plan_of(*SMALL, f"mode={mode}")
    assert ("results/tiny/public/sites.tsv" in plan["assumptions"]["frequencies"]) is is_used
    too_few = plan_of(*SMALL, f"mode={mode}", "variants={size: 9}")
    assert "neutral" in too_few["assumptions"]["frequencies"]


def charge(ledger, request, account):
    """Ask the ledger itself for what a plan was about."""
    charges = [
        GaussianCharge(
            f"{mechanism['statistic']} {number}",
            exact_text(mechanism["sensitivity"]),
            exact_text(mechanism["noise_sd"]),
        )
        for mechanism in request["mechanisms"]
        for number in range(mechanism["times"])
    ]
    order = Order(identity(of="plan"), charges, STATISTIC)
    ledger.reserve_all([order], account, study_key=KEY)


@pytest.mark.parametrize("limit", ["0.09", "0.2", "0.22", "0.4"])
def test_plan_study__ledger_answers_as_planned(empty_folder, limit):
    ledger = new_ledger(empty_folder, mu_squared=limit)
    reserve(ledger, mu="0.1")
    before = snapshot(empty_folder)
    (request,) = plan_of(*RELEASE, *with_ledger(ledger))["requests"]
    assert snapshot(empty_folder) == before
    (verdict,) = request["ledger"]
    account = Account("full", "person", "add-remove")
    if verdict["refusals"]:
        assert verdict["refusals"] == ["over the limit"]
        assert verdict["remaining_mu_squared"] is None
        with refused("budget-exceeded"):
            charge(ledger, request, account)
    else:
        charge(ledger, request, account)
        left = ledger.read().budgets[account].limit.mu_squared - ledger.read().spent(account).mu_squared
        assert float(verdict["remaining_mu_squared"]) == pytest.approx(float(left), rel=1e-4)
    assert float(verdict["spent_mu_squared"]) == 0.01
    assert bool(verdict["refusals"]) is (limit in ("0.09", "0.2"))


def test_plan_study__ledger_of_another_account_or_dataset(empty_folder):
    ledger = new_ledger(empty_folder, mu_squared="5")
    (request,) = plan_of(*SMALL, *with_ledger(ledger, consent="c2"))["requests"]
    (verdict,) = request["ledger"]
    assert verdict["refusals"] == ["`dataset.consent` is c2, not c1", "no account full/haplotype/add-remove"]
    # A person has two of the rows that this study would charge for.
    cost = request["whole_study"]["mu"] ** 2
    assert float(verdict["cost_mu_squared"]) == pytest.approx(4 * cost, rel=1e-4)


def test_plan_study__ledger_that_is_not_there_yet():
    plan = plan_of(*RELEASE, "privacy={ledger: new.jsonl}")
    assert plan["ledger"] == {"path": "new.jsonl", "exists": False}
    assert plan["requests"][0]["ledger"] is None


# A release that lacks nothing but a ledger and a key.
WHOLE_RELEASE = (
    *RELEASE,
    "methods=[reusecov-gauss]",
    "dataset={accession: a, consent: c, version: v1}",
    "release={title: t, curator: c, intended_use: u, data_use_terms: d, license: l, region: r}",
    "release={publication_date: 2026-11-21}",
)


def test_plan_study__release_that_waits_for_its_ledger_and_key(monkeypatch):
    monkeypatch.delenv("DPGRS_STUDY_KEY", raising=False)
    for ledger, found in (("new.jsonl", "`privacy.ledger`: The ledger new.jsonl"), ("null", "must name")):
        plan = plan_of(*WHOLE_RELEASE, f"privacy={{ledger: {ledger}}}")
        assert plan["problems"] == []
        of_ledger, of_key = plan["hints"]
        assert found in of_ledger
        assert of_key.startswith("`DPGRS_STUDY_KEY`")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("methods=[ridge]", "`methods` must have a guarantee"),
        ("privacy={epsilon: [1, 2]}", "`privacy.epsilon` must be one value in a release, got 1, 2"),
        ("privacy={epsilon: 30}", "`privacy.epsilon` must cost a person at most epsilon 20"),
        ("privacy={delta: 0.01}", "`privacy.delta` must be at most"),
        ("dataset={accession: null}", "`dataset.accession` must be given"),
        ("screening={scaling: paper}", "`screening.scaling` must be public in a release, got paper"),
    ],
)
def test_plan_study__settings_that_a_release_refuses(change, problem):
    (found,) = plan_of(*WHOLE_RELEASE, change)["problems"]
    assert found.startswith(problem)


def test_plan_study__lists_what_a_run_would_list(monkeypatch):
    monkeypatch.delenv("DPGRS_STUDY_KEY", raising=False)
    changes = (
        *WHOLE_RELEASE,
        'cohort={source: vcf, vcf: "absent/{chrom}.vcf"}',
        "public={reference: reference.vcf, origin: o}",
        "covariates={file: covariates.tsv, scales: scales.tsv}",
        "evaluation={metrics: public}",
        "privacy={ledger: new.jsonl}",
    )
    plan = plan_of(*changes)
    settings = resolve(read_settings("study.yaml", changes=changes))
    assert sorted(plan["problems"] + plan["hints"]) == sorted(problems(settings))
    for key in ("release.genome_build", "evaluation.covariates", "release.preprocessing"):
        assert [line for line in plan["problems"] if line.startswith(f"`{key}` must be")]
    awaited = (
        "`privacy.ledger`",
        "`DPGRS_STUDY_KEY`",
        "`cohort.vcf`",
        "`covariates.file`",
        "`public.reference`",
    )
    assert all(line.startswith(awaited) for line in plan["hints"])
    assert len(plan["hints"]) >= len(awaited)


def test_plan_study__ledger_that_refuses_is_a_problem(empty_folder):
    ledger = new_ledger(empty_folder, mu_squared="5")
    (found,) = plan_of(*WHOLE_RELEASE, *with_ledger(ledger, consent="c2"))["problems"]
    assert found.startswith("`dataset.consent` must be c1")


def test_plan_study__benchmark_has_no_problems():
    plan = plan_of(*SMALL, "methods=[ridge]", "privacy={epsilon: [1, 30]}")
    assert (plan["problems"], plan["hints"]) == ([], [])


def invoke(*arguments):
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


def options(*changes):
    return [word for change in changes for word in ("--config", change)]


def test_command__demo_fits_100_columns_and_writes_nothing(empty_folder, repository):
    before = snapshot(empty_folder)
    result = invoke(repository / "config" / "config.yaml")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "Nothing was drawn, charged or written." in result.stdout
    assert "R2 of 0 or less is expected of # 2, 6, 10 with reusecov-gauss" in result.stdout
    assert snapshot(empty_folder) == before


def test_command__release_with_a_ledger(empty_folder):
    ledger = new_ledger(empty_folder, mu_squared="0.5")
    grid = "privacy={epsilon: [1, 2, 4], budget: 3, outcome_budget: separate}"
    result = invoke("study.yaml", *options(*RELEASE, *with_ledger(ledger), grid), "--people", 5000)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.replace(str(empty_folder), "").splitlines()
    assert max(map(len, lines)) <= 100
    assert "# 3 would be refused: over the limit." in result.stdout
    assert "# 1 would be refused" not in result.stdout
    assert "above `privacy.budget`" in result.stdout


def test_command__says_last_what_a_release_would_be_refused_for():
    result = invoke("study.yaml", *options(*WHOLE_RELEASE, "privacy={delta: 0.01, epsilon: [1, 2]}"))
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    refused, _, hints = result.stdout.partition("This release would not start:\n")[2].partition("\n\n")
    assert refused.count("- `privacy.") == 2
    assert "Export" not in refused
    assert hints.startswith("Still to be done where it will run:\n- `privacy.ledger`")
    for column in ("an outcome", "tight", "mu", "weight sd"):
        assert f"\n  {column} " in result.stdout


def test_command__json_for_programs():
    result = invoke("study.yaml", *options(*SMALL), "--json", "--heritability", 0.2, "--heritability", 0.6)
    assert result.exit_code == 0, result.stderr
    plan = json.loads(result.stdout)
    assert plan == plan_study(read_settings("study.yaml", changes=SMALL), heritabilities=(0.2, 0.6))
    assert plan["assumptions"]["people"] == 2504
    assert list(plan) == columns_of("dpgrs plan --json")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.yaml"], "`absent.yaml` must be a configuration"),
        (["study.yaml", *options('cohort={source: vcf, vcf: "x"}')], "`--people` must be given"),
        (["study.yaml", "--people", 0], "--people"),
        (["study.yaml", "--heritability", 2], "--heritability"),
    ],
)
def test_command__misuse_ends_with_2(arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
