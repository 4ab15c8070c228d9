"""A second reading of a ledger by another route: raw bytes, and sums that share no code with the first."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.privacy.ledger.hash_chain import Entry, head_path, reading_files

AccountKey = tuple[str, ...]  # protection, unit and neighbours


def verify_ledger(path: Path) -> dict[str, int]:
    """Check the chain of a ledger, its head, and that no account was ever over its limit.

    The first reader writes every entry anew and compares bytes; here the hash of an entry is cut out of its
    raw line and the rest is hashed. Return the numbers of entries, of requests reserved and of requests
    completed. The first thing that is wrong is refused, with its line.
    """
    with reading_files(path) as (data, head):
        *lines, unfinished = data.split(b"\n")
    recount, heads, previous = _Recount(), [b""], "0" * 64
    for number, line in enumerate(lines):
        try:
            entry = _opened(line, number=number, previous=previous)
            recount.take(entry)
        except (
            _Fault,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as fault:
            raise DpgrsError(
                "ledger-line-wrong",
                f"The ledger {path} is wrong at line {number + 1}: {fault}. "
                "Restore it from a copy made after the last release.",
            ) from None
        previous = entry["hash"]
        heads.append(b'{"entries":%d,"hash":"%s"}\n' % (number + 1, previous.encode()))
    if unfinished or not lines:
        raise DpgrsError(
            "ledger-write-unfinished",
            f"The ledger {path} ends in an unfinished line. See `dpgrs ledger repair`.",
        )
    if head not in heads[-2:]:
        raise DpgrsError(
            "ledger-head-differs",
            f"The ledger {path} does not end where its head {head_path(path)} says. Restore both.",
        )
    return {
        "entries": len(lines),
        "reserved": len(recount.requests),
        "completed": len(recount.completed),
    }


class _Fault(Exception):
    """A fault in a line."""


class _Recount:
    """Adds the costs up again, entry by entry."""

    def __init__(self) -> None:
        self.limits: dict[AccountKey, tuple[Fraction, Fraction]] = {}  # mu^2 and pure epsilon
        self.spent: dict[AccountKey, list[int | Fraction]] = {}
        self.requests: dict[str, Entry] = {}
        self.completed: set[str] = set()

    def take(self, entry: Entry) -> None:
        kinds = {"account": self._account, "reserved": self._reserved, "completed": self._completed}
        if entry["kind"] != "dataset":
            kinds[entry["kind"]](entry)
        _require(
            (entry["kind"] == "dataset") == (entry["number"] == 0), "the first line alone names the dataset"
        )

    def _account(self, entry: Entry) -> None:
        account = _account_key(entry)
        _require(account not in self.limits, "an account is opened twice")
        budget = entry["budget"]
        self.limits[account] = Fraction(budget["mu_squared"]), Fraction(budget["pure_epsilon"])
        self.spent[account] = [
            sum(_cost_to(account, earlier)[counter] for earlier in self.requests.values())
            for counter in (0, 1)
        ]

    def _reserved(self, entry: Entry) -> None:
        public = {name: entry[name] for name in ("account", "charges", "identity")}
        text = json.dumps(public, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        _require(
            hashlib.sha256(text.encode()).hexdigest() == entry["identity_digest"], "another identity digest"
        )
        earlier_digests = {earlier["identity_digest"] for earlier in self.requests.values()}
        _require(entry["identity_digest"] not in earlier_digests, "a release is reserved twice")
        _require(_account_key(entry) in self.limits, "its account is not open")
        for account, limits in self.limits.items():
            for counter, cost in enumerate(_cost_to(account, entry)):
                self.spent[account][counter] += cost
                _require(self.spent[account][counter] <= limits[counter], "an account is over its limit")
        self.requests[entry["hash"]] = entry

    def _completed(self, entry: Entry) -> None:
        _require(entry["request"] in self.requests, "a release is completed that was never reserved")
        _require(entry["request"] not in self.completed, "a release is completed twice")
        self.completed.add(entry["request"])


def _opened(line: bytes, *, number: int, previous: str) -> Entry:
    entry = json.loads(line)
    sealed = b'"hash":"%s",' % entry["hash"].encode()
    own_hash = hashlib.sha256(line.replace(sealed, b"", 1)).hexdigest()
    _require(own_hash == entry["hash"], "its bytes do not have its hash")
    _require(
        entry["number"] == number and entry["previous"] == previous, "it does not follow the line before"
    )
    return entry


def _cost_to(account: AccountKey, entry: Entry) -> tuple[Fraction, Fraction]:
    """Return (mu^2, pure epsilon) that a request costs an account.

    A person owns two haplotypes; a haplotype less or more may replace a person's row, who leaves and comes.
    """
    made_under = entry["account"]
    is_same = made_under["unit"] == account[1]
    size = 1 if is_same or (made_under["unit"], account[2]) == ("person", "replace-one") else 2
    mu_squared = pure_epsilon = Fraction(0)
    for charge in entry["charges"]:
        if charge["kind"] == "gaussian":
            mu_squared += (size * Fraction(charge["sensitivity"]) / Fraction(charge["sigma"])) ** 2
        elif charge["kind"] == "laplace":
            pure_epsilon += size * Fraction(charge["sensitivity"]) / Fraction(charge["scale"])
        else:
            pure_epsilon += size * Fraction(charge["epsilon"])
    return mu_squared, pure_epsilon


def _account_key(entry: Entry) -> AccountKey:
    return tuple(entry["account"][name] for name in ("protection", "unit", "neighbours"))


def _require(is_met: bool, fault: str) -> None:
    if not is_met:
        raise _Fault(fault)
