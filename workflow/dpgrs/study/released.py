"""What a release drew, and its weights, held against the ledger: nothing else may become a score."""

import hashlib

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.privacy.accounting.events import event_of
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.hash_chain import digest
from dpgrs.study.request_identity import exact_values

SOURCE = "release"


def output_digests(outputs):
    """Digest what each part of a release gave, for the ledger.

    Parameters
    ----------
    outputs : dict of part to a tuple of arrays and numbers, from a mechanism's ``outputs``.

    Returns
    -------
    dict of part to SHA-256 in hexadecimal.
    """
    return {part: _digest(arrays) for part, arrays in outputs.items()}


def load_released(path, book):
    """Read the noisy statistics of a release, and check that they are those that the ledger charged for.

    Parameters
    ----------
    path : the noisy statistics.
    book : Book of the dataset's ledger.

    Returns
    -------
    label : dict of the request, its events, outcome names and n.
    noisy : NoisyStatistics, or what else the mechanism that the label names gives.

    Raises
    ------
    DpgrsError
        If there is more or less than one request, any noise is not of a release, or the numbers are not the
        stored output of completed requests of the ledger.
    """
    released = load_labelled(path)
    if len(released) != 1 or {event["source"] for event in released[0][0]["events"]} != {SOURCE}:
        raise DpgrsError(
            f"`{path}` must hold the statistics of one release, got a benchmark's. Run it in `mode: release`."
        )
    ((label, arrays),) = released
    others = DpgrsError(
        f"`{path}` must be what the ledger charged for, got other numbers or an incomplete request. Remove "
        "it and run the study again: that is a replay."
    )
    request = request_of(label)
    try:
        noisy = mechanism_of_file(label).restore(label, arrays)
    except (LookupError, ValueError, TypeError):
        raise others from None
    stored = {tuple(part): book.outputs.get(id_) for part, id_ in label["requests"]}
    charged = (_is_charged(label, book, request, tuple(part), id_) for part, id_ in label["requests"])
    if output_digests(_outputs(label, noisy)) != stored or not all(charged):
        raise others
    return label, noisy


def seal(label, noisy, fit, arrays):
    """Digest weights with all that they follow from.

    Parameters
    ----------
    label, noisy : from `load_released`.
    fit : dict, from `dpgrs.study.identity.fit_settings`.
    arrays : dict of arrays, the weights.

    Returns
    -------
    str, SHA-256 in hexadecimal.
    """
    drawn = output_digests(_outputs(label, noisy)).values()
    weights = {name: _digest([array]) for name, array in arrays.items()}
    return digest([list(drawn), exact_values(fit), weights])


def load_weights(path, label, noisy, *, fit):
    """Read the weights of a release, and check that they were fitted from what the ledger charged for.

    Parameters
    ----------
    path : the weights.
    label, noisy : from `load_released`.
    fit : dict, from `dpgrs.study.identity.fit_settings`.

    Returns
    -------
    LinearFit

    Raises
    ------
    DpgrsError
        If they are others, or were fitted with other settings.
    """
    fitted = load_labelled(path)
    if len(fitted) != 1 or fitted[0][0].get("seal") != seal(label, noisy, fit, fitted[0][1]):
        raise DpgrsError(
            f"`{path}` must be the weights that `methods: {fit['method']}` gives of what the ledger charged "
            "for, got others. Remove it and run the study again."
        )
    return LinearFit.of(fitted[0][1])


def claimed_draws(label, request_id):
    """Return what a label claims that one of its requests drew, as an entry of a ledger says it.

    A draw of another scale than its share of the budget gives is left out.
    """
    claimed = [event_of(event) for event in label["events"] if event["request"] == request_id]
    return [event.terms for event in claimed if event.is_of_share]


def _outputs(label, noisy):
    return mechanism_of_file(label).outputs(noisy, drawn_names(label), request_of(label))


def _is_charged(label, book, request, part, request_id):
    """Tell whether a request of the ledger is about this part, and about what the label claims of it."""
    reserved, mechanism = book.requests[request_id], mechanism_of_file(label)
    identity, (_, *names) = reserved.identity, mechanism.depends_on(part, drawn_names(label), request)
    return (
        reserved.account == Account(request.protection, request.unit, request.neighbours)
        and identity["mechanism"] == mechanism.name
        and identity["part"] == list(part)
        and identity.get("outcomes", {}).get("names", []) == names
        and identity["draws"] == claimed_draws(label, request_id)
    )


def _digest(arrays):
    found = hashlib.sha256()
    for array in arrays:
        # A number becomes an array of one.
        array = np.ascontiguousarray(array, dtype="<f8")
        found.update(repr(array.shape).encode())
        found.update(array.data)
    return found.hexdigest()
