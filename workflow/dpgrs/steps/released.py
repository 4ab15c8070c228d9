"""Noisy statistics of a release, held against the ledger: nothing else may become a score."""

import hashlib

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import written_digest
from dpgrs.io.trials import load_labelled
from dpgrs.mechanisms import mechanism_of, mechanism_of_file, request_of
from dpgrs.privacy.charging import public_terms
from dpgrs.privacy.events import event_of
from dpgrs.privacy.exact_numbers import exact_text
from dpgrs.privacy.ledger_entries import Account
from dpgrs.regression.fits import FitTerms
from dpgrs.regression.released_sums import SharedStatistics
from dpgrs.types import Coding

SOURCE = "release"
# Left out of an identity where a study has none, so that releases from before there were any are replayed.
WHERE_THERE = ("covariates", "loadings", "people")


def identify_part(identity, site_digest, request, part, *, mechanism=SharedStatistics.name):
    """Return the public identity of one part of a release: all on which its exact statistic hangs.

    Parameters
    ----------
    identity : dict of ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data,
        those on which the genotypes' rows hang and those on which the outcomes do. With covariates also
        ``covariates``, and with principal components ``loadings``, the digest of the table of these; where
        lists choose the people, ``people``.
    site_digest : str, SHA-256 of the public sites in hexadecimal.
    request : PrivacyRequest
    part : tuple of str, ``genotypes`` alone, or ``outcomes`` and the names of those of one budget.
    mechanism : str, the name of what draws.

    Returns
    -------
    dict of JSON values; floats are exact text.
    """
    kind, *names = part
    public = {
        "mechanism": mechanism,
        **identity["dataset"],
        "genotypes": identity["genotypes"],
        "sites": site_digest,
        "rows": str(request.rows),
        "n_variants": request.n_variants,
    }
    bound = {"names": names, "bound": request.outcome_bound}
    if request.coding != Coding.HALF:
        public |= {"coding": str(request.coding), "row_norm": request.row_norm}
        bound |= {"norm": request.outcome_norm}
    public |= {name: identity[name] for name in WHERE_THERE if name in identity}
    if kind == "outcomes":
        public["outcomes"] = identity["outcomes"] | bound
    return exact_values(public)


def loadings_identity(path):
    """Return what identifies public loadings of principal components, as a dict; empty without them."""
    return {} if path is None else {"loadings": written_digest(path)}


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
    noisy, request = mechanism_of_file(label).restore(label, arrays), request_of(label)
    outputs = mechanism_of_file(label).outputs(noisy, tuple(label["outcomes"]), request)
    stored = {tuple(part): book.outputs.get(id_) for part, id_ in label["requests"]}
    charged = (_is_charged(label, book, request, tuple(part), id_) for part, id_ in label["requests"])
    if output_digests(outputs) != stored or not all(charged):
        raise DpgrsError(
            f"`{path}` must be what the ledger charged for, got other numbers or an incomplete request. "
            "Remove it and run the study again: that is a replay."
        )
    return label, noisy


def exact_values(value):
    """Write floats as exact text, in dicts and lists."""
    match value:
        case dict():
            return {name: exact_values(inner) for name, inner in value.items()}
        case list() | tuple():
            return [exact_values(inner) for inner in value]
        case float():
            return exact_text(value)
    return value


def fit_of_release(label, noisy, fit):
    """Fit the weights of a release from its noisy statistics.

    Parameters
    ----------
    label, noisy : from `load_released`.
    fit : dict, from `dpgrs.identity.fit_settings`.

    Returns
    -------
    LinearFit

    Raises
    ------
    DpgrsError
        If they were released for another kind of method.
    """
    terms = FitTerms(fit["lambda"], fit["lambda_from"], fit["heritability"])
    mechanism, method = mechanism_of_file(label), fit["method"]
    if method not in mechanism.methods:
        raise DpgrsError(
            f"The noisy statistics must be {mechanism_of(method).name} for `methods: {method}`, got "
            f"{mechanism.name}. Run the study again."
        )
    return mechanism.fit(method, noisy, request=request_of(label), terms=terms)


def claimed_draws(label, request_id):
    """Return what a label claims that one of its requests drew, as an entry of a ledger says it."""
    return [public_terms(event_of(event)) for event in label["events"] if event["request"] == request_id]


def _is_charged(label, book, request, part, request_id):
    """Tell whether a request of the ledger is about this part, and about what the label claims of it."""
    reserved, mechanism = book.requests[request_id], mechanism_of_file(label)
    identity, (_, *names) = reserved.identity, mechanism.behind(part, tuple(label["outcomes"]), request)
    return (
        reserved.account == Account(request.protection, request.unit, request.neighbours)
        and identity["mechanism"] == mechanism.name
        and identity["part"] == list(part)
        and identity.get("outcomes", {}).get("names", []) == names
        and identity["draws"] == claimed_draws(label, request_id)
    )


def _digest(arrays):
    digest = hashlib.sha256()
    for array in arrays:
        # A number becomes an array of one.
        array = np.ascontiguousarray(array, dtype="<f8")
        digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()
