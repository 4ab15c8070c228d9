"""The ledger of a dataset: every release is charged before its noise is drawn, and none is ever forgotten.

A release takes two steps. `Ledger.reserve_all` counts the cost; `Ledger.complete` notes the digest of a
stored output. The digest of a request's public identity keys its noise. After a crash in between nothing is
lost and nothing free: the same request again gets the same noise, at no new cost.
"""

import hmac
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.charges import Charge, Cost
from dpgrs.privacy.accounting.exact_numbers import shown_above, text_above, text_below
from dpgrs.privacy.ledger.caps import require_caps
from dpgrs.privacy.ledger.entries import Account, Budget, Request, make_budget
from dpgrs.privacy.ledger.hash_chain import Entry, appending_to, creating_chain, reading_chain
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.private_folders import require_private_place

FORMAT = 1
# Of costs in messages.
DIGITS, EPSILON_DIGITS = 6, 4
RESERVED, COMPLETED = "reserved", "completed"


@dataclass(frozen=True)
class Order:
    """One request of a release, before it is reserved."""

    # Public, JSON without floats: mechanism, version, accession, consent, dataset_version and every other
    # parameter.
    identity: dict[str, Any]
    charges: list[Charge]
    statistic_digest: str  # SHA-256 of the exact statistic, hexadecimal; kept only as a mark by the key


@dataclass
class Book:
    """The sum of a ledger's entries. Mappings of requests have their ids as keys."""

    accession: str  # of the dataset, or its cohort
    consent: str  # group
    budgets: dict[Account, Budget] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)  # oldest first
    outputs: dict[str, str] = field(default_factory=dict)  # digests of outputs of completed requests
    # A public bound on the number of people in all versions of the dataset; None if the curator stated none.
    people_at_most: int | None = None
    # Reasons for limits above `LARGEST_EPSILON`, of accounts that have one.
    reasons: dict[Account, str] = field(default_factory=dict)
    times: dict[str, str] = field(default_factory=dict)  # of the entries of requests
    studies: dict[str, str] = field(default_factory=dict)  # that completed requests; 0.1.0 entered none

    def spent(self, account: Account) -> Cost:
        """Return the cost to the unit of an account of all requests, also of those to other accounts."""
        return sum((cost_to(account, request) for request in self.requests.values()), Cost())

    def find(self, identity_digest: str) -> tuple[str, Request] | None:
        """Return (request id, request) of a public identity, or None."""
        return next(
            (pair for pair in self.requests.items() if pair[1].identity_digest == identity_digest), None
        )

    def status(self, request_id: str) -> str:
        """Return ``completed`` if the output of a request is stored, else ``reserved``."""
        return COMPLETED if request_id in self.outputs else RESERVED


class Ledger:
    """The ledger of one dataset, in one file; many processes may use it at once."""

    def __init__(
        self,
        path: str | os.PathLike[str],  # of the file, with its head ``<path>.head`` beside it
    ) -> None:
        self.path = Path(path)

    def create(
        self,
        *,
        accession: str,  # or cohort; without a version, as the next: versions of a dataset share its ledger
        consent: str,  # group
        people_at_most: int | None = None,  # a public bound on the number of people in all versions
    ) -> None:
        """Begin the ledger of a dataset.

        An empty name is refused, a ledger that exists or once did, and one in a repository or a results
        folder.
        """
        require_private_place(self.path, name="A ledger")
        if not (accession and consent):
            raise UsageError(
                "ledger-without-dataset",
                "A ledger must name its dataset's `accession` and `consent`, "
                f"got {accession!r} and {consent!r}. Give both.",
            )
        with creating_chain(self.path) as chain:
            bound = {} if people_at_most is None else {"people_at_most": people_at_most}
            dataset = {"accession": accession, "consent": consent} | bound
            chain.append({"kind": "dataset", "format": FORMAT} | dataset)

    def open_account(
        self,
        account: Account,
        budget: Budget,
        *,
        beyond_20: str
        | None = None,  # the reason for a limit above `LARGEST_EPSILON`; None for a limit up to it
    ) -> None:
        """Allow releases under one more protection, unit and neighbour relation. A budget is never changed.

        An account that exists is refused, one of two that would call public what the other protects, and a
        limit beyond the caps.
        """
        with appending_to(self.path) as chain:
            book = _book(chain.entries, self.path)
            if account in book.budgets:
                raise UsageError(
                    "account-exists",
                    f"The account {account} must be new, but {self.path} has it. Use it as it is.",
                )
            for other in book.budgets:
                public = account.made_public_of(other) | other.made_public_of(account)
                if public:
                    raise UsageError(
                        "accounts-disagree",
                        f"The account {account} must agree with {other} on what is public, but one calls "
                        f"public what the other protects: {', '.join(sorted(public))}. Keep to one of them.",
                    )
            require_caps(account, budget, people_at_most=book.people_at_most, beyond_20=beyond_20)
            reason = {} if beyond_20 is None else {"beyond_20": beyond_20}
            chain.append(
                {"kind": "account", "account": account.ledger_fields, "budget": asdict(budget)} | reason
            )

    def reserve_all(
        self,
        orders: Sequence[Order],
        account: Account,
        *,
        study_key: StudyKey,
        # Of what the release charges after these: where any of these is new, it must fit, too.
        later: Cost | None = None,
        # The book by which the release was allowed, `later` among it; None compares no book.
        allowed_by: Book | None = None,
    ) -> list[tuple[str, str]] | None:
        """Count the costs of a release before its noise is drawn; return request ids and identity digests.

        The id is the hash of the ledger's entry, and the digest keys the noise. All are checked before the
        first is counted. A kill in between leaves some counted; the same release again counts the rest.

        A request with the public identity of an earlier one is a replay: same id, no cost, provided that the
        statistic is the same. One that another version of the mechanisms made is refused, as its noise
        cannot be drawn again. Any other is charged, to every account whose unit it touches.

        A statistic that changed under the same identity is refused, a budget that does not suffice, an
        account or dataset of another ledger, and a ledger that is missing or damaged. The ledger then stays
        as it was, and nothing may be drawn. It also stays so if another process wrote to it since
        `allowed_by` was read: the result is then None.
        """
        requests = _requests(orders, account, study_key=study_key)
        with appending_to(self.path) as chain:
            book = _book(chain.entries, self.path)
            if allowed_by is not None and book != allowed_by:
                return None
            new = _checked(book, requests, later=later or Cost())
            for request in new:
                book.requests[chain.append(request.entry())["hash"]] = request
        digests = [request.identity_digest for request in requests]
        # All of them are in the book now.
        return [(book.find(digest)[0], digest) for digest in digests]  # type: ignore[index]

    def find_unchanged(
        self, orders: Sequence[Order], account: Account, *, study_key: StudyKey
    ) -> list[tuple[str, str] | None]:
        """Return what `reserve_all` would return for the requests that the ledger has, and None for new ones.

        It raises what `reserve_all` would raise for a changed statistic or another version of the mechanisms.
        """
        book, requests = self.read(), _requests(orders, account, study_key=study_key)
        pairs = []
        for request in requests:
            if first := book.find(request.identity_digest):
                _require_same_statistic(first[1], request)
            else:
                _require_no_other_version(book, request)
            pairs.append(first and (first[0], request.identity_digest))
        return pairs

    def complete(self, request_id: str, output_digest: str, *, study: str | None = None) -> None:
        """Do the work of `complete_all` for one request."""
        self.complete_all({request_id: output_digest}, study=study)

    def complete_all(
        self,
        outputs: Mapping[
            str, str
        ],  # by request id, from `reserve_all`: SHA-256 of the noisy output in hexadecimal
        *,
        study: str | None = None,  # the name of the study, for readers of the ledger; None leaves it out
    ) -> None:
        """Note that the outputs of requests are stored. All are checked before the first is noted.

        An unknown request is refused, and so is a replay with another output.
        """
        for output_digest in outputs.values():
            _require_digest("output_digest", output_digest)
        with appending_to(self.path) as chain:
            book = _book(chain.entries, self.path)
            _require_same_outputs(book, outputs)
            for request_id, output_digest in outputs.items():
                if request_id not in book.outputs:
                    output = {"request": request_id, "output_digest": output_digest}
                    chain.append({"kind": COMPLETED} | output | ({} if study is None else {"study": study}))

    def check_all(self, outputs: Mapping[str, str]) -> None:
        """Raise what `complete_all` would raise, before outputs are stored."""
        _require_same_outputs(self.read(), outputs)

    def read(self) -> Book:
        """Return the ledger's book."""
        with reading_chain(self.path) as chain:
            return _book(chain.entries, self.path)


def start_ledger(
    path: str | os.PathLike[str],
    *,
    accession: str,
    consent: str,
    account: Account,
    people_at_most: int | None = None,
    beyond_20: str | None = None,
    **allowance: Any,
) -> Book:
    """Begin a ledger with one account, by the counters or the total that `make_budget` takes."""
    budget = make_budget(**allowance)
    require_caps(account, budget, people_at_most=people_at_most, beyond_20=beyond_20)
    ledger = Ledger(path)
    ledger.create(accession=accession, consent=consent, people_at_most=people_at_most)
    ledger.open_account(account, budget, beyond_20=beyond_20)
    return ledger.read()


def shown_epsilon(cost: Cost, budget: Budget) -> str:
    """Return the epsilon of a cost at an account's delta as short text, rounded up."""
    return f"{float(shown_above(budget.epsilon(cost), digits=EPSILON_DIGITS)):g}"


def shown_delta(budget: Budget) -> str:
    """Return the delta of an account as short text."""
    return f"{float(Fraction(budget.delta)):g}"


def refusals(
    book: Book,
    cost: Cost,  # to a unit of `account`
    account: Account,  # one of the book's, that the release is made under
) -> list[str]:
    """Return a sentence with cost, spent and limit for each account that does not allow one more release."""
    lines = []
    for other, budget in book.budgets.items():
        due, spent = cost.for_group(account.steps_between(other)), book.spent(other)
        if not (spent + due).is_within(budget.limit):
            limit = f"epsilon {shown_epsilon(spent, budget)} of {shown_epsilon(budget.limit, budget)}"
            is_pure = bool(due.pure_epsilon)
            hint = ""
            if is_pure and not budget.limit.pure_epsilon:
                hint = " Private choices cost pure epsilon, of which it has none: see `--pure-epsilon`."
            lines.append(
                f"The account {other} does not allow this release: cost epsilon {shown_epsilon(due, budget)} "
                f"({_counters(due, text_above)}), spent {limit} ({_counters(spent, text_above, is_pure)} of "
                f"{_counters(budget.limit, text_below, is_pure)}), at delta {shown_delta(budget)}.{hint}"
            )
    return lines


def _requests(orders: Sequence[Order], account: Account, *, study_key: StudyKey) -> list[Request]:
    for order in orders:
        _require_digest("statistic_digest", order.statistic_digest)
    return [
        Request.of(
            order.identity,
            order.charges,
            account,
            statistic_digest=order.statistic_digest,
            study_key=study_key,
        )
        for order in orders
    ]


def _book(entries: Sequence[Entry], path: Path) -> Book:
    if not entries:
        raise DpgrsError("ledger-empty", f"The ledger {path} is empty. Begin it with `dpgrs ledger init`.")
    try:
        dataset = entries[0]
        bound = dataset.get("people_at_most")
        book = Book(dataset["accession"], dataset["consent"], people_at_most=bound)
        for entry in entries:
            _enter(book, entry)
    except (KeyError, TypeError, ValueError, UsageError):
        raise DpgrsError(
            "ledger-of-newer-version",
            f"The ledger {path} holds an entry that this version of dpgrs does not understand. "
            "Use the version that wrote it.",
        ) from None
    return book


def _enter(book: Book, entry: Entry) -> None:
    match entry["kind"]:
        case "dataset" if entry["format"] == FORMAT and entry["number"] == 0:
            pass
        case "account":
            account = Account(**entry["account"])
            book.budgets[account] = Budget(**entry["budget"])
            if "beyond_20" in entry:
                book.reasons[account] = entry["beyond_20"]
        case "reserved":
            book.requests[entry["hash"]] = Request.from_entry(entry)
            book.times[entry["hash"]] = entry["time"]
        case "completed":
            book.outputs[entry["request"]] = entry["output_digest"]
            if "study" in entry:
                book.studies[entry["request"]] = entry["study"]
        case kind:
            raise ValueError(kind)


def cost_to(account: Account, request: Request) -> Cost:
    """Return the cost of a request to a unit of an account."""
    return request.cost.for_group(request.account.steps_between(account))


def _checked(book: Book, requests: Sequence[Request], *, later: Cost) -> Iterable[Request]:
    """Return the requests that are new, if the book allows all of them and later ones together."""
    new: dict[str, Request] = {}
    for request in requests:
        _require_dataset(book, request.identity)
        first = book.find(request.identity_digest)
        if not first:
            _require_no_other_version(book, request)
        earlier = first[1] if first else new.setdefault(request.identity_digest, request)
        _require_same_statistic(earlier, request)
    if new:
        cost = sum((request.cost for request in new.values()), later)
        _require_budget(book, cost, requests[0].account)
    return new.values()


def _require_dataset(book: Book, identity: Mapping[str, Any]) -> None:
    for name in ("accession", "consent"):
        if identity[name] != getattr(book, name):
            raise UsageError(
                "ledger-of-another-dataset",
                f"`{name}` must be {getattr(book, name)}, the dataset of this ledger, got {identity[name]}. "
                "Name the ledger of the dataset that is used.",
            )


def _require_no_other_version(book: Book, request: Request) -> None:
    for earlier in book.requests.values():
        if earlier.is_of_another_version(request):
            version, now = earlier.identity["version"], request.identity["version"]
            raise DpgrsError(
                "replay-of-another-version",
                f"Version {version} of the mechanisms made this release, and version {now}, of this dpgrs, "
                "cannot replay it. Nothing was drawn. Use the dpgrs that made it, which its bundle names, or "
                "give the data a new `dataset.version`: the release is then charged again.",
            )


def _require_same_statistic(first: Request, request: Request) -> None:
    if first.key_id != request.key_id:
        raise DpgrsError(
            "replay-under-another-key",
            "This release was first made under another study key, without which it cannot be replayed. "
            "Restore that key, or give the data a new `dataset.version`: the release is then charged again.",
        )
    if not hmac.compare_digest(first.statistic_mark, request.statistic_mark):
        raise DpgrsError(
            "data-changed-under-version",
            f"The data changed under the label {request.identity['dataset_version']}, or were read in "
            "another way. Nothing was drawn. Restore them, or give them a new `dataset.version`: the release "
            "is then charged.",
        )


def _require_same_outputs(book: Book, outputs: Mapping[str, str]) -> None:
    for request_id, output_digest in outputs.items():
        if request_id not in book.requests:
            raise DpgrsError(
                "request-not-reserved", f"The ledger has no request {request_id}. Reserve before drawing."
            )
        first = book.outputs.get(request_id, output_digest)
        if first != output_digest:
            raise DpgrsError(
                "replay-differs",
                f"The replay of request {request_id[:12]} must give the stored bytes, but its output has "
                f"digest {output_digest[:12]}, not {first[:12]}. Do not release it: use the first "
                "output, and the versions of software that made it.",
            )


def _require_budget(book: Book, cost: Cost, account: Account) -> None:
    if account not in book.budgets:
        open_accounts = ", ".join(map(str, book.budgets)) or "none"
        raise UsageError(
            "account-unknown",
            f"The account must be one of the ledger's, {open_accounts}, got {account}. "
            "Open it with `dpgrs ledger add-account`, or use one of these.",
        )
    lines = refusals(book, cost, account)
    if lines:
        raise DpgrsError("budget-exceeded", f"{lines[0]} Nothing was drawn. Lower what is asked for.")


def _counters(cost: Cost, rounded: Callable[..., str], is_pure: bool = False) -> str:
    """Write both counters, the second only where it counts."""
    counters = {"mu^2": cost.mu_squared, "pure epsilon": cost.pure_epsilon}
    shown = {name: value for name, value in counters.items() if value or is_pure or name == "mu^2"}
    return " and ".join(f"{name} {rounded(value, digits=DIGITS)}" for name, value in shown.items())


def _require_digest(name: str, value: str) -> None:
    if not (isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value)):
        raise UsageError(
            "digest-invalid",
            f"`{name}` must be a SHA-256 in hexadecimal, got {value!r}. Digest the bytes first.",
        )
