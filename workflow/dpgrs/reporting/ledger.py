"""The content of a ledger, for people and for programs; spent budget is rounded up, the limit down."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.privacy.accounting.exact_numbers import shown_above, text_above, text_below
from dpgrs.privacy.ledger.caps import LARGEST_EPSILON, strict_budget
from dpgrs.privacy.ledger.ledger import Book, Ledger, shown_delta, shown_epsilon
from dpgrs.reporting.text_table import text_table

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.charges import Cost
    from dpgrs.privacy.ledger.entries import Account, Budget

DIGITS, JSON_DIGITS = 4, 15
ACCOUNT_COLUMNS = ("account", "(epsilon, delta)", "limit", "mu^2", "limit", "pure epsilon", "limit")
REQUEST_COLUMNS = (
    "request",
    "date (UTC)",
    "study",
    "status",
    "account",
    "mu^2",
    "pure epsilon",
    "mechanism",
    "draws",
    "outcomes",
    "dataset version",
)


def summarise_ledger(path: Path | str) -> dict[str, Any]:
    """Return what a ledger holds as JSON values; numbers of costs are decimal text."""
    book = Ledger(path).read()
    return {
        "accession": book.accession,
        "consent": book.consent,
        "people_at_most": book.people_at_most,
        "accounts": [
            {
                "account": asdict(account),
                "delta": budget.delta,
                "spent": _numbers(book.spent(account), text_above, budget),
                "limit": _numbers(budget.limit, text_below, budget),
                "beyond_20": book.reasons.get(account),
            }
            for account, budget in book.budgets.items()
        ],
        "requests": [
            {
                "id": request_id,
                "time": book.times[request_id],
                "study": book.studies.get(request_id),
                "status": book.status(request_id),
                "output_digest": book.outputs.get(request_id),
                "account": asdict(request.account),
                "cost": _counters(request.cost, text_above),
                "identity": request.identity,
            }
            for request_id, request in book.requests.items()
        ],
    }


def describe_ledger(path: Path | str) -> str:
    """Return a ledger as text: a table of accounts and a table of requests."""
    book = Ledger(path).read()
    accounts, requests = [], []
    for account, budget in book.budgets.items():
        spent, limit = book.spent(account), budget.limit
        accounts.append(
            (
                str(account),
                f"({_epsilon(spent, budget)}, {budget.delta})",
                f"({_epsilon(limit, budget)}, {budget.delta})",
                text_above(spent.mu_squared, digits=DIGITS),
                text_below(limit.mu_squared, digits=DIGITS),
                text_above(spent.pure_epsilon, digits=DIGITS),
                text_below(limit.pure_epsilon, digits=DIGITS),
            )
        )
    for request_id, request in book.requests.items():
        requests.append(
            (
                request_id[:12],
                book.times[request_id][:10],
                book.studies.get(request_id, ""),
                book.status(request_id),
                str(request.account),
                text_above(request.cost.mu_squared, digits=DIGITS),
                text_above(request.cost.pure_epsilon, digits=DIGITS),
                str(request.identity["mechanism"]),
                ", ".join(dict.fromkeys(map(_draw_name, request.identity.get("draws", [])))),
                _n_outcomes(request.identity),
                str(request.identity["dataset_version"]),
            )
        )
    bound = "" if book.people_at_most is None else f", at most {book.people_at_most:,} people"
    title = f"Dataset {book.accession}, consent group {book.consent}{bound}"
    remarks = [
        f"{account}: {remark}"
        for account in book.budgets
        for remark in _remarks(book, account, is_spent=True)
    ]
    blocks = [title, text_table(ACCOUNT_COLUMNS, accounts), "\n".join(remarks)]
    return "\n\n".join(filter(None, [*blocks, text_table(REQUEST_COLUMNS, requests)]))


def describe_account(book: Book, account: "Account") -> str:
    """Return sentences on what an account of a ledger allows."""
    budget = book.budgets[account]
    counters = {"mu^2": budget.limit.mu_squared, "pure epsilon": budget.limit.pure_epsilon}
    limits = " and ".join(
        f"{name} {text_below(value, digits=DIGITS)}" for name, value in counters.items() if value
    )
    allowed = (
        f"The account {account} allows epsilon {shown_epsilon(budget.limit, budget)} at delta "
        f"{shown_delta(budget)} for all releases together ({limits})."
    )
    if book.people_at_most is None:
        allowed += " Delta is not compared with the number of people, on which no bound is stated."
    return " ".join([allowed, *_remarks(book, account)])


def _remarks(book: Book, account: "Account", *, is_spent: bool = False) -> list[str]:
    """Return sentences on an account: its epsilon at a delta small for so many people, a reason beyond 20."""
    budget, remarks = book.budgets[account], []
    strict = strict_budget(budget, book.people_at_most)
    if strict is not None:
        epsilon = shown_epsilon(budget.limit, strict)
        spent = f"epsilon {shown_epsilon(book.spent(account), strict)} of {epsilon} is spent"
        remarks.append(
            f"At delta {shown_delta(strict)}, a hundredth of one over the number of people, "
            f"{spent if is_spent else f'that is epsilon {epsilon}'}."
        )
    if account in book.reasons:
        remarks.append(f"Reason for a limit above epsilon {LARGEST_EPSILON}: {book.reasons[account]}")
    return remarks


def _draw_name(draw: dict[str, Any]) -> str:
    """Return the statistic of a draw, or its family if it has none."""
    return str(draw.get("statistic") or draw["family"])


def _n_outcomes(identity: dict[str, Any]) -> str:
    """Return the number of outcomes of a request as text; empty if it is of genotypes only."""
    return str(len(identity["outcomes"]["names"])) if "outcomes" in identity else ""


def _numbers(cost: "Cost", rounded: Callable[..., str], budget: "Budget") -> dict[str, str]:
    return _counters(cost, rounded) | {"epsilon": _epsilon(cost, budget)}


def _counters(cost: "Cost", rounded: Callable[..., str]) -> dict[str, str]:
    return {name: rounded(value, digits=JSON_DIGITS) for name, value in asdict(cost).items()}


def _epsilon(cost: "Cost", budget: "Budget") -> str:
    return shown_above(budget.epsilon(cost), digits=DIGITS)
