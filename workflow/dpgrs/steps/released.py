"""Noisy statistics of a release, held against the ledger: nothing else may become a score."""

import hashlib

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.trials import load_labelled
from dpgrs.privacy.exact_numbers import exact_text
from dpgrs.regression.fits import FitTerms, fit_released
from dpgrs.regression.requests import PrivacyRequest, budget_groups
from dpgrs.regression.reusecov import NoisyStatistics
from dpgrs.types import Coding

SOURCE = "release"
MECHANISM = "reusecov-statistics"


def identify_part(identity, site_digest, request, part):
    """Return the public identity of one part of a release: all on which its exact statistic hangs.

    Parameters
    ----------
    identity : dict of ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data,
        those on which the genotypes' rows hang and those on which the outcomes do.
    site_digest : str, SHA-256 of the public sites in hexadecimal.
    request : PrivacyRequest
    part : tuple of str, ``genotypes`` alone, or ``outcomes`` and the names of those of one budget.

    Returns
    -------
    dict of JSON values; floats are exact text.
    """
    kind, *names = part
    public = {
        "mechanism": MECHANISM,
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
    if kind == "outcomes":
        public["outcomes"] = identity["outcomes"] | bound
    return exact_values(public)


def output_digests(noisy, names, *, n_shared):
    """Digest what each part of a release gave, for the ledger.

    Parameters
    ----------
    noisy : NoisyStatistics
    names : n_outcomes str
    n_shared : int, outcomes that share a budget.

    Returns
    -------
    dict of part to SHA-256 in hexadecimal.
    """
    parts = {("genotypes",): (np.array([float(noisy.n)]), noisy.gram)}
    for group in budget_groups(len(names), n_shared=n_shared):
        parts["outcomes", *names[group]] = (noisy.cross[group],)
    return {part: _digest(arrays) for part, arrays in parts.items()}


def load_released(path, book):
    """Read the noisy statistics of a release, and check that they are those that the ledger charged for.

    Parameters
    ----------
    path : the noisy statistics.
    book : Book of the dataset's ledger.

    Returns
    -------
    label : dict of the request, its events, outcome names and n.
    noisy : NoisyStatistics

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
    noisy = NoisyStatistics(**arrays, n=label["n"])
    digests = output_digests(noisy, tuple(label["outcomes"]), n_shared=label["request"]["n_outcomes"])
    stored = {tuple(part): book.outputs.get(request) for part, request in label["requests"]}
    if digests != stored or not all(_is_charged(label, book, part, id_) for part, id_ in label["requests"]):
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
    fit : dict, from `dpgrs.config.fit_settings`.

    Returns
    -------
    LinearFit
    """
    terms = FitTerms(fit["lambda"], fit["lambda_from"], fit["heritability"])
    return fit_released(fit["method"], noisy, request=PrivacyRequest(**label["request"]), terms=terms)


def _is_charged(label, book, part, request_id):
    """Tell whether a request of the ledger is about this part, and about the draws that the label claims."""
    identity = book.requests[request_id].identity
    claimed = [
        (event["statistic"], exact_text(event["sensitivity"]["value"]), exact_text(event["sigma"]))
        for event in label["events"]
        if event["request"] == request_id
    ]
    charged = [(draw["statistic"], draw["sensitivity"], draw["sigma"]) for draw in identity["draws"]]
    return (identity["part"], charged) == (list(part), claimed)


def _digest(arrays):
    digest = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array, dtype="<f8")
        digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()
