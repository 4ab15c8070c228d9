"""The ledger of a dataset: every release is charged before its noise is drawn, and none is ever forgotten.

A release takes two steps. `Ledger.reserve_all` counts the cost; `Ledger.complete` notes the digest of a
stored output. The digest of a request's public identity keys its noise. After a crash in between nothing is
lost and nothing free: the same request again gets the same noise, at no new cost.
"""

import hmac
import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.exact_numbers import shown_above, text_above, text_below
from dpgrs.privacy.ledger.caps import require_caps
from dpgrs.privacy.ledger.entries import Account, Budget, Cost, Request, make_budget
from dpgrs.privacy.ledger.hash_chain import appending_to, creating_chain, reading_chain
from dpgrs.privacy.private_folders import require_private_place

FORMAT = 1
# Of costs in messages.
DIGITS, EPSILON_DIGITS = 6, 4
RESERVED, COMPLETED = "reserved", "completed"


@dataclass(frozen=True)
class Order:
    """What one request of a release asks for.

    Attributes
    ----------
    identity : dict of JSON values without floats: mechanism, version, accession, consent, dataset_version and
        every other parameter. It is public.
    charges : list of GaussianCharge, LaplaceCharge or PureCharge.
    statistic_digest : str, SHA-256 of the exact statistic, hexadecimal; kept as a mark by the key alone.
    """

    identity: dict
    charges: list
    statistic_digest: str


@dataclass
class Book:
    """What the entries of a ledger add up to.

    Attributes
    ----------
    accession, consent : str, the dataset: accession or cohort, and consent group.
    budgets : dict of Account to Budget.
    requests : dict of request id to Request, oldest first.
    outputs : dict of request id to the digest of its output, for completed requests.
    people_at_most : int, a public bound on the number of people in all versions of the dataset; None if the
        curator stated none.
    reasons : dict of Account to the reason for a limit above `LARGEST_EPSILON`; of these accounts only.
    times : dict of request id to the time of its entry, text.
    studies : dict of request id to the name of the study that completed it, which 0.1.0 did not enter.
    """

    accession: str
    consent: str
    budgets: dict = field(default_factory=dict)
    requests: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    people_at_most: int | None = None
    reasons: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)
    studies: dict = field(default_factory=dict)

    def spent(self, account):
        """Return what all requests, also those to other accounts, have cost the unit of an account."""
        return sum((cost_to(account, request) for request in self.requests.values()), Cost())

    def find(self, identity_digest):
        """Return (request id, request) of a public identity, or None."""
        return next(
            (pair for pair in self.requests.items() if pair[1].identity_digest == identity_digest), None
        )

    def status(self, request_id):
        """Return ``completed`` if the output of a request is stored, else ``reserved``."""
        return COMPLETED if request_id in self.outputs else RESERVED


class Ledger:
    """The ledger of one dataset, in one file; many processes may use it at once.

    Parameters
    ----------
    path : the file, with its head ``<path>.head`` beside it.
    """

    def __init__(self, path):
        self.path = Path(path)

    def create(self, *, accession, consent, people_at_most=None):
        """Begin the ledger of a dataset.

        Parameters
        ----------
        accession, consent : str, accession or cohort, and consent group, without a version: versions of a
            dataset share its ledger.
        people_at_most : int, a public bound on the number of people in all versions; None states none.

        Raises
        ------
        UsageError
            If a name is empty, the ledger exists or once did, or it would lie in a repository or a results
            folder.
        """
        require_private_place(self.path, name="A ledger")
        if not (accession and consent):
            raise UsageError(
                "A ledger must name its dataset's `accession` and `consent`, "
                f"got {accession!r} and {consent!r}. Give both."
            )
        with creating_chain(self.path) as chain:
            bound = {} if people_at_most is None else {"people_at_most": people_at_most}
            dataset = {"accession": accession, "consent": consent} | bound
            chain.append({"kind": "dataset", "format": FORMAT} | dataset)

    def open_account(self, account, budget, *, beyond_20=None):
        """Allow releases under one more protection, unit and neighbour relation. A budget is never changed.

        Parameters
        ----------
        account : Account
        budget : Budget
        beyond_20 : str, the reason for a limit above `LARGEST_EPSILON`; None for a limit up to it.

        Raises
        ------
        UsageError
            If the account exists, one account would call public what the other protects, or its limit is
            beyond the caps.
        """
        with appending_to(self.path) as chain:
            book = _book(chain.entries, self.path)
            if account in book.budgets:
                raise UsageError(
                    f"The account {account} must be new, but {self.path} has it. Use it as it is."
                )
            for other in book.budgets:
                public = account.made_public_of(other) | other.made_public_of(account)
                if public:
                    raise UsageError(
                        f"The account {account} must agree with {other} on what is public, but one calls "
                        f"public what the other protects: {', '.join(sorted(public))}. Keep to one of them."
                    )
            require_caps(account, budget, people_at_most=book.people_at_most, beyond_20=beyond_20)
            reason = {} if beyond_20 is None else {"beyond_20": beyond_20}
            chain.append(
                {"kind": "account", "account": account.ledger_fields, "budget": asdict(budget)} | reason
            )

    def reserve_all(self, orders, account, *, study_key):
        """Count the costs of a release, before its noise is drawn.

        All are checked before the first is counted. A kill in between leaves some counted; the same release
        again counts the rest.

        A request with the public identity of an earlier one is a replay: same id, no cost, provided that the
        statistic is the same. One that another version of the mechanisms made is refused, as its noise
        cannot be drawn again. Any other is charged, to every account whose unit it touches.

        Parameters
        ----------
        orders : list of Order
        account : Account
        study_key : StudyKey

        Returns
        -------
        list of (request id, identity digest): the hash of the ledger's entry, and what keys the noise.

        Raises
        ------
        DpgrsError
            If a statistic changed under the same identity, another version of the mechanisms made the
            release, the budget does not suffice, or the ledger is missing or damaged. The ledger stays as it
            was, and nothing may be drawn.
        UsageError
            If the account is unknown, the dataset is another one, or an argument is out of its domain.
        """
        requests = _requests(orders, account, study_key=study_key)
        with appending_to(self.path) as chain:
            book = _book(chain.entries, self.path)
            new = _checked(book, requests)
            for request in new:
                book.requests[chain.append(request.entry())["hash"]] = request
        digests = [request.identity_digest for request in requests]
        return [(book.find(one)[0], one) for one in digests]

    def require_unchanged(self, orders, account, *, study_key):
        """Raise what `reserve_all` would raise for a statistic that changed under the same identity."""
        book = self.read()
        for request in _requests(orders, account, study_key=study_key):
            if known := book.find(request.identity_digest):
                _require_same_statistic(known[1], request)

    def complete(self, request_id, output_digest, *, study=None):
        """Do the work of `complete_all` for one request."""
        self.complete_all({request_id: output_digest}, study=study)

    def complete_all(self, outputs, *, study=None):
        """Note that the outputs of requests are stored. All are checked before the first is noted.

        Parameters
        ----------
        outputs : dict of request id, from `reserve_all`, to the SHA-256 of its noisy output in hexadecimal.
        study : str, the name of the study, for readers of the ledger; None leaves it out.

        Raises
        ------
        DpgrsError
            If a request is unknown, or its replay gave another output.
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

    def check_all(self, outputs):
        """Raise what `complete_all` would raise, before outputs are stored."""
        _require_same_outputs(self.read(), outputs)

    def read(self):
        """Return the ledger's book."""
        with reading_chain(self.path) as chain:
            return _book(chain.entries, self.path)


def start_ledger(path, *, accession, consent, account, people_at_most=None, beyond_20=None, **terms):
    """Begin a ledger with one account, by the terms of `make_budget`; return its Book."""
    budget = make_budget(**terms)
    require_caps(account, budget, people_at_most=people_at_most, beyond_20=beyond_20)
    ledger = Ledger(path)
    ledger.create(accession=accession, consent=consent, people_at_most=people_at_most)
    ledger.open_account(account, budget, beyond_20=beyond_20)
    return ledger.read()


def shown_epsilon(cost, budget):
    """Return the epsilon of a cost at an account's delta as short text, rounded up."""
    return f"{float(shown_above(budget.epsilon(cost), digits=EPSILON_DIGITS)):g}"


def shown_delta(budget):
    """Return the delta of an account as short text."""
    return f"{float(Fraction(budget.delta)):g}"


def refusals(book, cost, account):
    """Say which accounts do not allow one more release.

    Parameters
    ----------
    book : Book
    cost : Cost, to a unit of `account`.
    account : Account, one of the book's, that the release is made under.

    Returns
    -------
    list of str, a sentence with cost, spent and limit for each account; empty if all allow it.
    """
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


def _requests(orders, account, *, study_key):
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


def _book(entries, path):
    if not entries:
        raise DpgrsError(f"The ledger {path} is empty. Begin it with `dpgrs ledger init`.")
    try:
        dataset = entries[0]
        bound = dataset.get("people_at_most")
        book = Book(dataset["accession"], dataset["consent"], people_at_most=bound)
        for entry in entries:
            _enter(book, entry)
    except (KeyError, TypeError, ValueError, UsageError):
        raise DpgrsError(
            f"The ledger {path} holds an entry that this version of dpgrs does not understand. "
            "Use the version that wrote it."
        ) from None
    return book


def _enter(book, entry):
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


def cost_to(account, request):
    """Return what a request costs a unit of an account."""
    return request.cost.for_group(request.account.steps_between(account))


def _checked(book, requests):
    """Return those of the requests that are new, if the book allows all of them together."""
    new = {}
    for request in requests:
        _require_dataset(book, request.identity)
        known = book.find(request.identity_digest)
        if not known:
            _require_no_other_version(book, request)
        earlier = known[1] if known else new.setdefault(request.identity_digest, request)
        _require_same_statistic(earlier, request)
    if new:
        _require_budget(book, account=requests[0].account, requests=list(new.values()))
    return new.values()


def _require_dataset(book, identity):
    for name in ("accession", "consent"):
        if identity[name] != getattr(book, name):
            raise UsageError(
                f"`{name}` must be {getattr(book, name)}, the dataset of this ledger, got {identity[name]}. "
                "Name the ledger of the dataset that is used."
            )


def _require_no_other_version(book, request):
    for earlier in book.requests.values():
        if earlier.is_of_another_version(request):
            version, now = earlier.identity["version"], request.identity["version"]
            raise DpgrsError(
                f"Version {version} of the mechanisms made this release, and version {now}, of this dpgrs, "
                "cannot replay it. Nothing was drawn. Use the dpgrs that made it, which its bundle names, or "
                "give the data a new `dataset.version`: the release is then charged again."
            )


def _require_same_statistic(first, request):
    if first.key_id != request.key_id:
        raise DpgrsError(
            "This release was first made under another study key, without which it cannot be replayed. "
            "Restore that key, or give the data a new `dataset.version`: the release is then charged again."
        )
    if not hmac.compare_digest(first.statistic_mark, request.statistic_mark):
        raise DpgrsError(
            f"The data changed under the label {request.identity['dataset_version']}, or were read in "
            "another way. Nothing was drawn. Restore them, or give them a new `dataset.version`: the release "
            "is then charged."
        )


def _require_same_outputs(book, outputs):
    for request_id, output_digest in outputs.items():
        if request_id not in book.requests:
            raise DpgrsError(f"The ledger has no request {request_id}. Reserve before drawing.")
        first = book.outputs.get(request_id, output_digest)
        if first != output_digest:
            raise DpgrsError(
                f"The replay of request {request_id[:12]} must give the stored bytes, but its output has "
                f"digest {output_digest[:12]}, not {first[:12]}. Do not release it: use the first "
                "output, and the versions of software that made it."
            )


def _require_budget(book, *, account, requests):
    if account not in book.budgets:
        known = ", ".join(map(str, book.budgets)) or "none"
        raise UsageError(
            f"The account must be one of the ledger's, {known}, got {account}. "
            "Open it with `dpgrs ledger add-account`, or use one of these."
        )
    lines = refusals(book, sum((request.cost for request in requests), Cost()), account)
    if lines:
        raise DpgrsError(f"{lines[0]} Nothing was drawn. Lower what is asked for.")


def _counters(cost, rounded, is_pure=False):
    """Write both counters, the second only where it counts."""
    counters = {"mu^2": cost.mu_squared, "pure epsilon": cost.pure_epsilon}
    shown = {name: value for name, value in counters.items() if value or is_pure or name == "mu^2"}
    return " and ".join(f"{name} {rounded(value, digits=DIGITS)}" for name, value in shown.items())


def _require_digest(name, value):
    if not (isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value)):
        raise UsageError(f"`{name}` must be a SHA-256 in hexadecimal, got {value!r}. Digest the bytes first.")
