"""The second reader of a ledger adds up for itself, and refuses what the first would never have written."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from dpgrs.privacy.accounting.charges import GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.entries import Account, Request
from dpgrs.privacy.ledger.verify import verify_ledger
from ledger_requests import (
    ACCOUNT,
    KEY,
    OUTPUT,
    STATISTIC,
    forge,
    gaussian,
    identity,
    new_ledger,
    open_account,
    reserve,
)
from refused import refused

HAPLOTYPE = Account("full", "haplotype", "add-remove")
CHARGES = [
    [GaussianCharge("gram", "1/3", "2")],
    [LaplaceCharge("count", "2", "3")],
    [PureCharge("choice", "0.4")],
    [GaussianCharge("gram", "1", "3"), GaussianCharge("cross", "1", "4"), LaplaceCharge("count", "1", "7")],
]


def request_of(charges, account=ACCOUNT, **parameters):
    return Request.of(
        identity(**parameters), charges, account, statistic_digest=STATISTIC, study_key=KEY
    ).entry()


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("charges", CHARGES)
def test_verify__an_account_holds_just_what_was_charged(tmp_path, charges, size):
    """Of a haplotype's release the person's account must hold the cost to two."""
    account = {1: ACCOUNT, 2: HAPLOTYPE}[size]
    entry = request_of(charges, account)
    cost = Request.from_entry(entry).cost.for_group(size)
    limits = {"mu_squared": cost.mu_squared, "pure_epsilon": cost.pure_epsilon}
    less = [limits | {name: value * Fraction(999, 1000)} for name, value in limits.items() if value]
    for number, allowed in enumerate([limits, *less]):
        texts = {name: exact_text(value) for name, value in allowed.items()}
        ledger = new_ledger(tmp_path / f"{number}", **texts)
        if size == 2:
            open_account(ledger, HAPLOTYPE, mu_squared="9", pure_epsilon="9")
        forge(ledger, entry)
        if number == 0:
            assert verify_ledger(ledger.path)["reserved"] == 1
        else:
            with refused("ledger-line-wrong"):
                verify_ledger(ledger.path)


@pytest.mark.parametrize(
    ("first", "second"),
    [(gaussian("0.6"), gaussian("0.8")), (CHARGES[2], [PureCharge("choice", "0.6")])],
)
def test_verify__an_account_that_is_opened_later_has_spent_what_was_released_before(tmp_path, first, second):
    for limit, is_over in (("1", False), ("0.9999", True)):
        ledger = new_ledger(tmp_path / limit, mu_squared="9", pure_epsilon="9")
        reserve(ledger, charges=first)
        # Each release by the person counts as two steps for a haplotype.
        limits = {"mu_squared": str(4 * Decimal(limit)), "pure_epsilon": str(2 * Decimal(limit))}
        open_account(ledger, HAPLOTYPE, **limits)
        forge(ledger, request_of(second, number=2))
        if is_over:
            with refused("ledger-line-wrong", "line 5"):
                verify_ledger(ledger.path)
        else:
            assert verify_ledger(ledger.path)["reserved"] == 2


@pytest.mark.parametrize("words", ["full/person/replace-one", "full/haplotype/add-remove"])
def test_verify__accounts_that_differ_in_one_word_are_two(tmp_path, words):
    ledger = new_ledger(tmp_path, mu_squared="9", pure_epsilon="9")
    forge(ledger, request_of(gaussian("0.6"), Account(*words.split("/"))))
    with refused("ledger-line-wrong"):
        verify_ledger(ledger.path)


def spoiled(entry, **changed):
    """Return an entry of changed public fields, whose digest is right."""
    public = {name: entry[name] for name in ("account", "charges", "identity")} | changed
    return entry | public | {"identity_digest": digest(public)}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda entry: spoiled(entry, charges=[entry["charges"][0] | {"sigma": "0"}]), "Fraction"),
        (lambda entry: spoiled(entry, charges=[entry["charges"][0] | {"sigma": "much"}]), "much"),
        (lambda entry: spoiled(entry, account=None), "NoneType"),
        (lambda entry: spoiled(entry, account=entry["account"] | {"unit": "haplotype"}), "is not open"),
        (lambda entry: {"kind": "account", "account": entry["account"], "budget": {}}, "opened twice"),
    ],
)
def test_verify__finds_what_cannot_be_counted(tmp_path, change, match):
    ledger = new_ledger(tmp_path)
    forge(ledger, change(request_of(gaussian("0.5"))))
    with refused("ledger-line-wrong", "line 3", match):
        verify_ledger(ledger.path)


def test_verify__finds_a_release_that_is_completed_twice(tmp_path):
    ledger = new_ledger(tmp_path)
    request = reserve(ledger)
    ledger.complete(request, OUTPUT)
    assert verify_ledger(ledger.path) == {"entries": 4, "reserved": 1, "completed": 1}
    forge(ledger, {"kind": "completed", "request": request, "output_digest": OUTPUT})
    with refused("ledger-line-wrong", "line 5"):
        verify_ledger(ledger.path)


@pytest.mark.parametrize("line", [b'{"hash":1}', b"[]", b'"text"', b"{}", b"\xff"])
def test_verify__a_line_of_something_else_is_wrong(tmp_path, line):
    ledger = new_ledger(tmp_path)
    with ledger.path.open("ab") as file:
        file.write(line + b"\n")
    with refused("ledger-line-wrong", "line 3"):
        verify_ledger(ledger.path)


def test_verify__a_line_that_holds_its_hash_twice_is_wrong(tmp_path):
    ledger = new_ledger(tmp_path)
    data = ledger.path.read_bytes()
    sealed = b'"hash":"%s",' % json.loads(data.splitlines()[-1])["hash"].encode()
    ledger.path.write_bytes(data.replace(sealed, 2 * sealed))
    with refused("ledger-line-wrong", "line 2"):
        verify_ledger(ledger.path)


def test_verify__an_empty_file_is_no_ledger(tmp_path):
    ledger = new_ledger(tmp_path / "a")
    path = tmp_path / "empty.jsonl"
    path.touch(0o600)
    with refused("ledger-write-unfinished"):
        verify_ledger(path)
    with refused("ledger-empty"):
        type(ledger)(path).read()
