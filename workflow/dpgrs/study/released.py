"""What a release drew, and its weights, held against the ledger: nothing else may become a score."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.privacy.accounting.events import event_of
from dpgrs.privacy.ledger.entries import Account
from dpgrs.study.fit_identity import output_digests, outputs_of, seal

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.ledger.ledger import Book

SOURCE = "release"


def load_released(path: Path | str, book: "Book") -> tuple[dict[str, Any], Any]:
    """Read the noisy statistics of a release, and check that they are those that the ledger charged for.

    The label has the request, its events, outcome names and n; the statistics are NoisyStatistics, or the
    result of the mechanism that the label names. Refused are more or less than one request, noise that is not
    of a release, and numbers that are not the stored output of completed requests of the ledger.
    """
    released = load_labelled(path)
    if len(released) != 1 or {event["source"] for event in released[0][0]["events"]} != {SOURCE}:
        raise DpgrsError(
            "statistics-of-benchmark",
            f"`{path}` must hold the statistics of one release, got a benchmark's. "
            "Run it in `mode: release`.",
        )
    ((label, arrays),) = released
    mismatch = DpgrsError(
        "statistics-not-charged",
        f"`{path}` must be what the ledger charged for, got other numbers or an incomplete request. Remove "
        "it and run the study again: what this ledger holds is replayed, and all else is charged.",
    )
    request = request_of(label)
    try:
        noisy = mechanism_of_file(label).restore(label, arrays)
    except (LookupError, ValueError, TypeError):
        raise mismatch from None
    stored = {tuple(release_part): book.outputs.get(id_) for release_part, id_ in label["requests"]}
    charged = (
        _is_charged(label, book, request, tuple(release_part), id_) for release_part, id_ in label["requests"]
    )
    if output_digests(outputs_of(label, noisy)) != stored or not all(charged):
        raise mismatch
    return label, noisy


def load_weights(
    path: Path | str, label: Mapping[str, Any], noisy: Any, *, fit: Mapping[str, Any]
) -> LinearFit:
    """Read the weights of a release, and check that they were fitted from what the ledger charged for.

    Arguments are as in `seal`. Other weights, and those fitted with other settings, are refused.
    """
    fitted = load_labelled(path)
    if len(fitted) != 1 or fitted[0][0].get("seal") != seal(label, noisy, fit, fitted[0][1]):
        raise DpgrsError(
            "weights-not-of-release",
            f"`{path}` must be the weights that `methods: {fit['method']}` gives of what the ledger charged "
            "for, got others. Remove it and run the study again.",
        )
    return LinearFit.of(fitted[0][1])


def claimed_draws(label: Mapping[str, Any], request_id: str) -> list[dict[str, Any]]:
    """Return what a label claims that one of its requests drew, in the form of a ledger's entry.

    A draw whose scale does not follow from its share of the budget is left out.
    """
    claimed = [event_of(event) for event in label["events"] if event["request"] == request_id]
    return [event.identity_terms for event in claimed if event.is_of_share]


def _is_charged(
    label: Mapping[str, Any],
    book: "Book",
    request: "PrivacyRequest",
    release_part: tuple[str, ...],
    request_id: str,
) -> bool:
    """Return whether a request of the ledger is about this part, and about what the label claims of it."""
    reserved, mechanism = book.requests[request_id], mechanism_of_file(label)
    identity, (_, *names) = reserved.identity, mechanism.depends_on(release_part, drawn_names(label), request)
    return (
        reserved.account == Account(request.protection, request.unit, request.neighbours)
        and identity["mechanism"] == mechanism.name
        and identity["part"] == list(release_part)
        and identity.get("outcomes", {}).get("names", []) == names
        and identity["draws"] == claimed_draws(label, request_id)
    )
