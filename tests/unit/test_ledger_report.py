"""What is read of a ledger, and what is shown of it to programs and to people."""

import json
import re
from dataclasses import asdict
from fractions import Fraction

import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.charges import Cost, GaussianCharge, LaplaceCharge
from dpgrs.privacy.ledger.entries import Account, make_budget
from dpgrs.privacy.ledger.hash_chain import creating_chain
from dpgrs.privacy.ledger.ledger import Ledger, refusals, shown_delta
from dpgrs.reporting.ledger import describe_ledger, summarise_ledger
from ledger_requests import ACCOUNT, DATASET, OUTPUT, forge, gaussian, identity, new_ledger, reserve
from refused import refused

CHARGES = [GaussianCharge("gram", "1", "3"), LaplaceCharge("count", "1", "6")]


@pytest.mark.parametrize(("number", "is_known"), [(0, False), (1, True), (2, False)])
def test_read__knows_one_format(tmp_path, number, is_known):
    ledger = Ledger(tmp_path / "cohort.jsonl")
    with creating_chain(ledger.path) as chain:
        chain.append({"kind": "dataset", "format": number} | DATASET)
    if is_known:
        assert ledger.read().budgets == {}
    else:
        with refused("ledger-of-newer-version"):
            ledger.read()


def test_summarise_ledger__says_all_of_every_request(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared="9")
    first, second = reserve(ledger, charges=gaussian("0.5")), reserve(ledger, mu="1", number=2)
    ledger.complete(first, OUTPUT, study="height")
    summary, account = summarise_ledger(ledger.path), asdict(ACCOUNT)
    entries = map(json.loads, ledger.path.read_text().splitlines())
    times = [entry["time"] for entry in entries if entry["kind"] == "reserved"]
    assert (summary["people_at_most"], summary["accounts"][0]["beyond_20"]) == (None, None)
    assert [one["account"] for one in summary["accounts"]] == [account]
    assert summary["requests"] == [
        {
            "id": first,
            "time": times[0],
            "study": "height",
            "status": "completed",
            "output_digest": OUTPUT,
            "account": account,
            "cost": {"mu_squared": "0.25", "pure_epsilon": "0"},
            "identity": identity(),
        },
        {
            "id": second,
            "time": times[1],
            "study": None,
            "status": "reserved",
            "output_digest": None,
            "account": account,
            "cost": {"mu_squared": "1", "pure_epsilon": "0"},
            "identity": identity(number=2),
        },
    ]


def test_reports__what_is_spent_is_rounded_up_and_what_is_allowed_down(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared="1/3", pure_epsilon="2/3")
    request = reserve(ledger, charges=CHARGES)
    summary = summarise_ledger(ledger.path)
    (account,), (cost,) = summary["accounts"], [one["cost"] for one in summary["requests"]]
    exact = {"mu_squared": Fraction(1, 9), "pure_epsilon": Fraction(1, 6)}
    limits = {"mu_squared": Fraction(1, 3), "pure_epsilon": Fraction(2, 3)}
    for name, value in exact.items():
        assert 0 < Fraction(account["spent"][name]) - value < Fraction(1, 10**14)
        assert 0 < limits[name] - Fraction(account["limit"][name]) < Fraction(1, 10**14)
        assert cost[name] == account["spent"][name]

    def cells(start):
        (row,) = (line for line in describe_ledger(ledger.path).splitlines() if line.startswith(start))
        return re.split(r"  +", row.strip())

    _, spent, limit, *counters = cells(str(ACCOUNT))
    assert counters == ["0.1112", "0.3333", "0.1667", "0.6666"]
    assert (spent, limit) == tuple(f"({account[name]['epsilon']}, 0.000001)" for name in ("spent", "limit"))
    assert cells(request[:12]) == [
        *(request[:12], summary["requests"][0]["time"][:10], "reserved", str(ACCOUNT)),
        *("0.1112", "0.1667", "gram", "v1"),
    ]


@pytest.mark.parametrize(
    ("pure_limit", "mu_squared", "pure_epsilon", "is_refused", "has_hint"),
    [
        ("0", 1, 0, False, False),
        ("0", 2, 0, True, False),
        ("0", 0, "0.5", True, True),
        ("0.25", 0, "0.5", True, False),
        ("0.5", 0, "0.5", False, False),
    ],
)
def test_refusals__hint_at_a_budget_for_choices_where_there_is_none(
    tmp_path, pure_limit, mu_squared, pure_epsilon, is_refused, has_hint
):
    book = new_ledger(tmp_path, mu_squared="1", pure_epsilon=pure_limit).read()
    lines = refusals(book, Cost(Fraction(mu_squared), Fraction(pure_epsilon)), ACCOUNT)
    assert len(lines) == is_refused
    assert any("see `--pure-epsilon`" in line for line in lines) == has_hint
    assert all(("pure epsilon 0.5, spent" in line.replace(")", "")) == bool(pure_epsilon) for line in lines)


def test_refusals__of_a_choice_name_both_counters(tmp_path):
    (line,) = refusals(new_ledger(tmp_path).read(), Cost(pure_epsilon=Fraction(1, 2)), ACCOUNT)
    assert "cost epsilon 0.5 (mu^2 0 and pure epsilon 0.5), spent epsilon 0 of 4.887 (" in line
    assert "(mu^2 0 and pure epsilon 0 of mu^2 1 and pure epsilon 0), at delta 1e-06." in line


def test_reserve__names_the_accounts_that_there_are(tmp_path):
    other = Account("full", "haplotype", "add-remove")
    with refused("account-unknown", ACCOUNT, other, error=UsageError):
        reserve(new_ledger(tmp_path), account=other)


@pytest.mark.parametrize("digest", [7, b"a" * 64])
def test_reserve__raise_on_a_digest_that_is_no_text(tmp_path, digest):
    with refused("digest-invalid", "`statistic_digest`", "256", error=UsageError):
        reserve(new_ledger(tmp_path), statistic=digest)


def test_read__raise_on_an_account_of_other_fields(tmp_path):
    ledger = new_ledger(tmp_path)
    forge(ledger, {"kind": "account", "account": vars(ACCOUNT), "budget": {}})
    with refused("ledger-of-newer-version"):
        ledger.read()


def test_ledger__a_path_may_be_text(tmp_path):
    ledger = new_ledger(tmp_path)
    assert Ledger(str(ledger.path)).path == ledger.path


def test_shown_delta__of_any_exact_number():
    assert shown_delta(make_budget(delta="1/3", mu_squared="1")) == "0.333333"
