"""A release from beginning to end: rehearse, reserve in the ledger, draw, complete.

Every part of a release (the statistics of the genotypes; each group of outcomes that shares a budget) is one
request of the ledger, with an identity of its own. All are reserved at once, before anything is drawn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import Ledger, Order
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.privacy.noise.sources import Draw, Rehearsal, ReleaseNoise, ReplayNoise, RequestPart
from dpgrs.privacy.noise.study_key import StudyKey

Result = TypeVar("Result")


@dataclass(frozen=True)
class Receipt:
    """The requests that the ledger has reserved for a release, and their outputs."""

    requests: dict[RequestPart, str]  # the id of each part
    outputs: dict[RequestPart, str]  # the digest of the noisy statistics of each part

    @property
    def by_request(self) -> dict[str, str]:
        """The digests of the outputs by request id."""
        return {request_id: self.outputs[request_part] for request_part, request_id in self.requests.items()}


def release(
    # Takes a noise source and returns the results to release. It is called twice, first to learn its draws.
    # The cost of a draw must not depend on earlier draws; its statistic may, if the source is one of
    # `NoiseSource.on`.
    mechanism: Callable[[NoiseSource], Result],
    *,
    # Takes a part and returns its public identity: accession, consent, dataset_version, mechanism and every
    # public parameter. The draws are added to it.
    identify: Callable[[RequestPart], dict[str, Any]],
    account: Account,
    ledger: Ledger,
    study_key: StudyKey,
    # Takes the identities of all requests, before the ledger is asked, and raises DpgrsError to refuse them;
    # None allows all. It may return the cost of what the release charges later, see `Ledger.reserve_all`. It
    # is asked again if another process writes to the ledger meanwhile.
    allow: Callable[[list[dict[str, Any]]], Cost | None] | None = None,
    # Takes a result, and the ids of the requests that the ledger has, and raises DpgrsError if these are not
    # as the ledger has them. It is asked only if the others are new, whose noise is 0 in this result.
    require_replayed: Callable[[Result, dict[RequestPart, str]], None] | None = None,
) -> tuple[Result, Receipt]:
    """Run a mechanism with secret noise, charged before it is drawn; return its result and a receipt.

    Nothing is drawn if the ledger refuses (see `Ledger.reserve_all`), or a claim is about other neighbours or
    another unit than the account.
    """
    rehearsal = Rehearsal()
    mechanism(rehearsal)
    _require_same_terms(chain.from_iterable(rehearsal.draws.values()), account)
    orders, reserved = orders_of(rehearsal, identify), None
    while reserved is None:
        book = ledger.read()
        if require_replayed is not None:
            earlier = ledger.find_unchanged(orders, account, study_key=study_key)
            replayed = dict(zip(rehearsal.draws, earlier, strict=True))
            _replay(mechanism, rehearsal.draws, replayed, study_key, require_replayed)
        later = allow([order.identity for order in orders]) if allow is not None else None
        reserved = ledger.reserve_all(orders, account, study_key=study_key, later=later, allowed_by=book)
    requests = dict(zip(rehearsal.draws, reserved, strict=True))
    noise = ReleaseNoise(study_key, draws=rehearsal.draws, requests=requests)
    result = mechanism(noise)
    noise.require_exhausted()
    ids = {request_part: request_id for request_part, (request_id, _) in requests.items()}
    return result, Receipt(
        ids, {request_part: digest(listed) for request_part, listed in noise.outputs.items()}
    )


def _replay(
    mechanism: Callable[[NoiseSource], Result],
    draws: dict[RequestPart, list[Draw]],
    requests: dict[RequestPart, tuple[str, str] | None],  # None of new ones
    study_key: StudyKey,
    require_replayed: Callable[[Result, dict[RequestPart, str]], None],
) -> None:
    """Draw again what the ledger has, and have it compared, if the rest of a release is new.

    Outcomes may depend on noise of the genotypes: if these are new, nothing of the release is a replay.
    """
    earlier = {request_part: request for request_part, request in requests.items() if request is not None}
    if earlier and len(earlier) < len(requests) and requests.get(("genotypes",), True):
        noise = ReplayNoise(study_key, draws=draws, requests=earlier)
        require_replayed(mechanism(noise), {request_part: id for request_part, (id, _) in earlier.items()})


def require_unchanged(
    mechanism: Callable[[NoiseSource], Any],
    *,
    identify: Callable[[RequestPart], dict[str, Any]],
    account: Account,
    ledger: Ledger,
    study_key: StudyKey,
) -> bool:
    """Refuse a mechanism that the ledger has on other data or by another version; nothing is charged.

    Parameters are as in `release`, which raises the same DpgrsError when it would be charged. The result is
    whether the ledger has all requests of the mechanism.
    """
    rehearsal = Rehearsal()
    mechanism(rehearsal)
    return all(ledger.find_unchanged(orders_of(rehearsal, identify), account, study_key=study_key))


def check(receipt: Receipt, ledger: Ledger) -> None:
    """Raise DpgrsError if the ledger knows another output of a request: before a second one is stored."""
    ledger.check_all(receipt.by_request)


def complete(receipt: Receipt, ledger: Ledger, *, study: str | None) -> None:
    """Note in the ledger the digest of a release's output, and the name of its study.

    It is refused if a replay gave another output than the first time.
    """
    ledger.complete_all(receipt.by_request, study=study)


def _require_same_terms(draws: Iterable[Draw], account: Account) -> None:
    """Refuse a claim about other neighbours or another unit than the account counts."""
    for event, _ in draws:
        claim = event.sensitivity
        if (claim.neighbours, claim.unit) != (account.neighbours, account.unit):
            raise DpgrsError(
                "account-terms-differ",
                f"The sensitivity of the {event.statistic} must be that of the account {account}, got "
                f"{claim.neighbours} of a {claim.unit}. Nothing was drawn. Ask for the account's terms.",
            )


def orders_of(rehearsal: Rehearsal, identify: Callable[[RequestPart], dict[str, Any]]) -> list[Order]:
    """Return the requests for all that was rehearsed; `identify` is as in `release`."""
    return [_order(identify(name), name, draws) for name, draws in rehearsal.draws.items()]


def _order(identity: dict[str, Any], request_part: RequestPart, draws: Sequence[Draw]) -> Order:
    identity = {
        **identity,
        "version": MECHANISM_VERSION,
        "part": list(request_part),
        "draws": [event.identity_terms for event, _ in draws],
    }
    charges = [event.charge for event, _ in draws]
    return Order(identity, charges, digest([statistic for _, statistic in draws]))
