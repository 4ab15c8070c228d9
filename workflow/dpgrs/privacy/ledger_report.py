"""What a ledger holds, for people and for programs: what is spent is rounded up, what is allowed down."""

from dataclasses import asdict

from dpgrs.privacy.exact_numbers import text_above, text_below
from dpgrs.privacy.ledger import Ledger

DIGITS, JSON_DIGITS = 4, 15


def summarise_ledger(path):
    """Return what a ledger holds, as JSON values.

    Parameters
    ----------
    path : the ledger.

    Returns
    -------
    dict of accession, consent, accounts and requests. Numbers are decimal text.

    Raises
    ------
    DpgrsError
        If the ledger is missing or damaged.
    """
    book = Ledger(path).read()
    return {
        "accession": book.accession,
        "consent": book.consent,
        "accounts": [
            {
                "account": asdict(account),
                "delta": budget.delta,
                "spent": _numbers(book.spent(account), text_above, budget),
                "limit": _numbers(budget.limit, text_below, budget),
            }
            for account, budget in book.budgets.items()
        ],
        "requests": [
            {
                "id": request_id,
                "status": book.status(request_id),
                "output_digest": book.outputs.get(request_id),
                "account": asdict(request.account),
                "cost": _counters(request.cost, text_above),
                "identity": request.identity,
            }
            for request_id, request in book.requests.items()
        ],
    }


def describe_ledger(path):
    """Return what a ledger holds, as text: a table of accounts and a table of requests."""
    book = Ledger(path).read()
    accounts = [("account", "(epsilon, delta)", "limit", "mu^2", "limit", "pure epsilon", "limit")]
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
    requests = [("request", "status", "account", "mu^2", "pure epsilon", "mechanism", "dataset version")]
    for request_id, request in book.requests.items():
        requests.append(
            (
                request_id[:12],
                book.status(request_id),
                str(request.account),
                text_above(request.cost.mu_squared, digits=DIGITS),
                text_above(request.cost.pure_epsilon, digits=DIGITS),
                str(request.identity["mechanism"]),
                str(request.identity["dataset_version"]),
            )
        )
    title = f"Dataset {book.accession}, consent group {book.consent}"
    return "\n\n".join([title, _table(accounts), _table(requests)])


def _numbers(cost, rounded, budget):
    return _counters(cost, rounded) | {"epsilon": _epsilon(cost, budget)}


def _counters(cost, rounded):
    return {name: rounded(value, digits=JSON_DIGITS) for name, value in asdict(cost).items()}


def _epsilon(cost, budget):
    return text_above(budget.epsilon(cost), digits=DIGITS)


def _table(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
