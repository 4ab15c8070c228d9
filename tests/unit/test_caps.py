"""The caps of epsilon and delta: of a whole release and of a person, of a ledger, and reasons beyond them."""

import math

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.planning.plan import plan_study
from dpgrs.preflight.checks import check
from dpgrs.privacy.accounting.accountant import gdp_epsilon, gdp_mu
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.run_summary import describe_ahead
from found_by import all_found, merged
from ledger_requests import DATASET, create_fixed_key, new_ledger
from release_studies import CURATION

ACCOUNT = ("--protection=full", "--unit=person", "--neighbours=add-remove")
HAPLOTYPE = ("--protection=full", "--unit=haplotype", "--neighbours=add-remove")
CHARGED = {"outcomes": {"test_share": 0.2}, "evaluation": {"metrics": "charged", "epsilon": 0.5}}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Settings of a release that nothing is wrong with."""
    monkeypatch.chdir(tmp_path)  # no earlier results
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    create_fixed_key()
    return {
        "mode": "release",
        "dataset": DATASET | {"version": "1"},
        "cohort": {"rows": "people"},
        "outcomes": {"count": 3},
        "privacy": {"epsilon": 1, "ledger": str(new_ledger(tmp_path, pure_epsilon="1").path)},
        "release": CURATION,
    }


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def init(path, *terms, account=ACCOUNT):
    named = (f"--{name}={value}" for name, value in DATASET.items())
    return invoke("ledger", "init", path, *named, *account, *terms)


def _mu_of(epsilon):
    return gdp_mu(epsilon, 1e-6)


@pytest.mark.parametrize(
    ("changes", "mu_squared"),
    [
        # The count takes 0.01, X'X and the X'Y of each outcome share the rest.
        (
            merged(
                CHARGED,
                {
                    "privacy": {"epsilon": 20, "outcome_budget": "separate", "gram_share": 0.5},
                    "evaluation": {"metrics": "charged", "epsilon": 20},
                },
            ),
            (0.01 + 0.495 + 3 * 0.495 + 3) * _mu_of(20) ** 2,
        ),
        ({"cohort": {"rows": "haplotypes"}, "privacy": {"epsilon": 20}}, 4 * _mu_of(20) ** 2),
        ({"cohort": {"rows": "haplotypes"}, "privacy": {"epsilon": 8.54}}, 4 * _mu_of(8.54) ** 2),
    ],
)
def test_release__all_of_what_a_person_loses_is_compared_with_the_cap(study, changes, mu_squared):
    epsilon = gdp_epsilon(math.sqrt(mu_squared), 1e-6)
    assert epsilon > 20
    (line,) = [line for line in all_found(merged(study, changes)) if "`privacy.epsilon`" in line]
    got = float(line.partition(", got ")[2].split()[0])
    assert got == pytest.approx(epsilon, rel=1e-3)
    assert got >= epsilon * (1 - 1e-6)
    assert ("for both haplotypes" in line) == ("cohort" in changes)
    reasoned = merged(study, merged(changes, {"privacy": {"beyond_20": "open data"}}))
    assert not [line for line in all_found(reasoned) if "20" in line and "`privacy.epsilon`" in line]


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy": {"epsilon": 20}},
        {"privacy": {"epsilon": 20, "delta": 1e-30}},
        {"cohort": {"rows": "haplotypes"}, "privacy": {"epsilon": 20, "unit": "person"}},
        {"cohort": {"rows": "haplotypes"}, "privacy": {"epsilon": 8.53}},
        {"methods": ["k-blup"], "privacy": {"epsilon": 20}},
    ],
)
def test_release__what_costs_a_person_20_passes_the_cap(study, changes):
    assert not [line for line in all_found(merged(study, changes)) if "at most epsilon 20" in line]


def test_release__delta_is_compared_with_the_number_of_people(study, tmp_path):
    ledger = new_ledger(tmp_path / "bounded", people_at_most=500_000)
    study = merged(study, {"privacy": {"epsilon": 0.5, "ledger": str(ledger.path)}})
    assert check(merged(study, {"privacy": {"delta": 2e-6}}))
    assert all_found(merged(study, {"privacy": {"delta": 2.1e-6}})) == [
        "`privacy.delta` must be at most one over the 500,000 people that the dataset may have, got 2.1e-06: "
        "to publish the record of one person at random would be allowed. Lower it."
    ]


def show(path):
    return " ".join(invoke("ledger", "show", path).stdout.split())


@pytest.mark.parametrize(
    ("account", "terms", "message"),
    [
        (
            ACCOUNT,
            ["--epsilon=400"],
            "The limit of an account must be at most epsilon 20 for a person, got 400 at delta 1e-06. "
            "Lower it, or give the reason for more: `--beyond-20 REASON`, which the ledger keeps and shows.",
        ),
        (ACCOUNT, ["--epsilon=20.01"], "got 20.01 at delta"),
        (ACCOUNT, ["--mu-squared=1", "--pure-epsilon=16"], "got 20.89 at delta"),
        (HAPLOTYPE, ["--epsilon=20"], "got 50.95 for both haplotypes at delta 1e-06."),
        (
            ACCOUNT,
            ["--epsilon=20", "--beyond-20=x"],
            "`beyond_20` is for a limit above epsilon 20, got a reason with epsilon 20 at",
        ),
        (ACCOUNT, ["--epsilon=30", "--beyond-20="], "must be at most epsilon 20 for a person, got 30"),
        (
            ACCOUNT,
            ["--epsilon=2", "--delta=1e-3"],
            "`delta` must be at most 0.0001, got 0.001: more promises",
        ),
        (
            ACCOUNT,
            ["--epsilon=2", "--delta=1e-5", "--people-at-most=100001"],
            "`delta` must be at most one over the 100,001 people that the dataset may have, got 1e-05",
        ),
    ],
)
def test_init_ledger__raise_beyond_the_caps(tmp_path, account, terms, message):
    result = init(tmp_path / "l.jsonl", *terms, account=account)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "terms",
    [
        ["--epsilon=20"],
        ["--epsilon=20", "--delta=1e-30"],
        ["--epsilon=20", "--pure-epsilon=20"],
        ["--epsilon=2", "--delta=1e-5", "--people-at-most=100000"],
    ],
)
def test_init_ledger__at_the_caps(tmp_path, terms):
    assert init(tmp_path / "l.jsonl", *terms).exit_code == 0


def test_ledger__a_reason_beyond_20_is_printed_and_kept(tmp_path):
    path, reason = tmp_path / "l.jsonl", "Reason for a limit above epsilon 20: open data"
    assert reason in init(path, "--epsilon=400", "--beyond-20=open data").stdout
    assert f"full/person/add-remove: {reason}" in show(path)
    limits = ("--epsilon=30", "--beyond-20=a course")
    assert "a course" in invoke("ledger", "add-account", path, *HAPLOTYPE, *limits).stdout
    assert "full/haplotype/add-remove: Reason for a limit above epsilon 20: a course" in show(path)
    refused = invoke("ledger", "add-account", path, *ACCOUNT[:2], "--neighbours=replace-one", "--epsilon=30")
    assert refused.exit_code == 2
    assert invoke("ledger", "verify", path).exit_code == 0


def test_ledger__epsilon_at_a_delta_small_for_so_many_people(tmp_path):
    """2 at 1e-6 is 2.35 at 2e-8, a hundredth of one over 500,000."""
    path = tmp_path / "l.jsonl"
    said = "At delta 2e-08, a hundredth of one over the number of people, that is epsilon 2.351."
    assert said in init(path, "--epsilon=2", "--people-at-most=500000").stdout
    assert "at most 500,000 people" in show(path)
    assert "At delta 2e-08, a hundredth of one over the number of people, epsilon 0 of 2.351" in show(path)
    # An account whose delta is no larger needs no other.
    small = init(tmp_path / "small.jsonl", "--epsilon=2", "--delta=1e-8", "--people-at-most=500000").stdout
    assert "hundredth" not in small
    assert "Delta is not compared" not in small
    assert (
        "Delta is not compared with the number of people" in init(tmp_path / "b.jsonl", "--epsilon=2").stdout
    )


def test_release__epsilon_at_a_delta_small_for_so_many_people(study, tmp_path):
    """What is told of 2 at 1e-6 in a data set of at most 500,000, before a run and by a plan."""
    ledger = new_ledger(tmp_path / "bounded", mu_squared=None, epsilon="2", people_at_most=500_000)
    settings = merged(study, {"privacy": {"epsilon": 2, "ledger": str(ledger.path)}})
    ahead = "so far epsilon 0 of 2 is spent, at delta 1e-06 (0 of 2.351 at delta 2e-08)."
    assert ahead in describe_ahead(check(settings))[0]
    plan = plan_study(merged(settings, {"variants": {"size": 20}}))
    (verdict,) = plan["requests"][0]["ledger"]
    assert verdict["strict"] == {"delta": "2e-08", "after_epsilon": "2.351", "limit_epsilon": "2.351"}
    assert "# 1 leaves epsilon 2.351 of 2.351 spent at delta 2e-08, a hundredth of one over" in plan_as_text(
        plan
    )
