"""A release from beginning to end: rehearse, reserve in the ledger, draw, complete.

Every part of a release (the statistics of the genotypes; each group of outcomes that shares a budget) is one
request of the ledger, with an identity of its own. All are reserved at once, before anything is drawn.
"""

from dataclasses import dataclass
from itertools import chain

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.ledger.hash_chain import digest
from dpgrs.privacy.ledger.ledger import Order
from dpgrs.privacy.noise.sources import Rehearsal, ReleaseNoise


@dataclass(frozen=True)
class Receipt:
    """What the ledger has reserved for a release, and what came of it.

    Attributes
    ----------
    requests : dict of part to request id.
    outputs : dict of part to the digest of its noisy statistics.
    """

    requests: dict
    outputs: dict

    @property
    def by_request(self):
        """The digests of the outputs, a dict by request id."""
        return {request_id: self.outputs[part] for part, request_id in self.requests.items()}


def release(mechanism, *, identify, account, ledger, study_key, allow=None):
    """Run a mechanism with secret noise, charged before it is drawn.

    Parameters
    ----------
    mechanism : callable that takes a noise source and returns what it releases. It is called twice, first to
        learn what it draws. What a draw costs must not hang on what was drawn before; what it is made of may,
        if the source is that of `NoiseSource.on`.
    identify : callable that takes a part and returns its public identity: a dict of accession, consent,
        dataset_version, mechanism and every public parameter. The draws are added to it.
    account : Account
    ledger : Ledger
    study_key : StudyKey
    allow : callable that takes the identities of all requests, a list of dict, before the ledger is asked,
        and raises DpgrsError to refuse them; None allows all.

    Returns
    -------
    The mechanism's own result, and a Receipt for `complete`.

    Raises
    ------
    DpgrsError
        If the ledger refuses, see `Ledger.reserve_all`, or a claim is about other neighbours or another unit
        than the account. Nothing is drawn then.
    """
    rehearsal = Rehearsal()
    mechanism(rehearsal)
    _require_same_terms(chain.from_iterable(rehearsal.draws.values()), account)
    orders = _orders(rehearsal, identify)
    if allow is not None:
        allow([order.identity for order in orders])
    reserved = ledger.reserve_all(orders, account, study_key=study_key)
    requests = dict(zip(rehearsal.draws, reserved, strict=True))
    noise = ReleaseNoise(study_key, draws=rehearsal.draws, requests=requests)
    result = mechanism(noise)
    noise.require_exhausted()
    ids = {part: request_id for part, (request_id, _) in requests.items()}
    return result, Receipt(ids, {part: digest(listed) for part, listed in noise.outputs.items()})


def require_unchanged(mechanism, *, identify, account, ledger, study_key):
    """Refuse a mechanism that the ledger has on other data; nothing is charged or drawn.

    Parameters are as in `release`, which raises the same DpgrsError when it would be charged.
    """
    rehearsal = Rehearsal()
    mechanism(rehearsal)
    ledger.require_unchanged(_orders(rehearsal, identify), account, study_key=study_key)


def check(receipt, ledger):
    """Raise DpgrsError if the ledger knows another output of a request: before a second one is stored."""
    ledger.check_all(receipt.by_request)


def complete(receipt, ledger, *, study):
    """Note in the ledger what the output of a release is, and the name of its study.

    Raises
    ------
    DpgrsError
        If a replay gave another output than the first time.
    """
    ledger.complete_all(receipt.by_request, study=study)


def _require_same_terms(draws, account):
    """Refuse a claim that says nothing of what the account counts."""
    for event, _ in draws:
        claim = event.sensitivity
        if (claim.neighbours, claim.unit) != (account.neighbours, account.unit):
            raise DpgrsError(
                f"The sensitivity of the {event.statistic} must be that of the account {account}, got "
                f"{claim.neighbours} of a {claim.unit}. Nothing was drawn. Ask for the account's terms."
            )


def _orders(rehearsal, identify):
    return [_order(identify(part), part, draws) for part, draws in rehearsal.draws.items()]


def _order(identity, part, draws):
    identity = {
        **identity,
        "version": MECHANISM_VERSION,
        "part": list(part),
        "draws": [event.identity_terms for event, _ in draws],
    }
    charges = [event.charge for event, _ in draws]
    return Order(identity, charges, digest([statistic for _, statistic in draws]))
