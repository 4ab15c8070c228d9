"""What identifies the fit of a release: settings, public files, the requests that it rests on, and a seal."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.fit_keys import reads_of_fit, regression_keys, stated
from dpgrs.io.replicates import load_labelled
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.methods.registry import METHODS, is_ridge
from dpgrs.privacy.accounting.exact_numbers import exact_values
from dpgrs.privacy.digests import digest
from dpgrs.study.people_terms import has_same_ancestry
from dpgrs.study.public_files import load_effects

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.privacy.ledger.ledger import Book

# Of `fit_settings`.
READS_OF_FIT = ("methods", *reads_of_fit())


def fit_settings(config: "StudyConfig") -> dict[str, Any]:
    """Return the settings on which the weights of a release depend, beside its statistics: all are public."""
    method, regression = config.methods[0], config.regression.as_dict()
    values = {name: regression[name] for name in regression_keys()}
    is_matched = has_same_ancestry(config) and config.privacy.ld_share is None
    values["same_ancestry"] = METHODS[method].reads_ancestry and is_matched
    values["subtracted"] = sorted(config.public.subtract)
    return {"method": method} | stated(values)


def fit_identity(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a fit on which weights depend, floats as exact text."""
    depends_on_lambda = is_ridge(fit["method"], fit["lambda_from"])
    return exact_values({"lambda": fit["lambda"]} if depends_on_lambda else dict(fit))


def ld_identity(path: Path | str | None) -> dict[str, str]:
    """Return what identifies the public linkage disequilibrium of a release, or its map; empty without."""
    if path is None:
        return {}
    # The chromosomes of a map have one digest; spectra beside it, which only plans read, have none.
    (ld_digest,) = {label["digest"] for label in load_labelled(path).labels if "digest" in label}
    return {"ld": ld_digest}


def effects_identity(path: Path | str | None) -> dict[str, list[str]]:
    """Return what identifies the public effects of a release; empty without them.

    The name of a file says whether it is of an outcome or of all.
    """
    files, _ = load_effects(path)
    named = {"effects": "digest", "effect_names": "name"}
    return {key: [file[what] for file in files] for key, what in named.items()} if files else {}


def weights_origin(
    released: Mapping[str, Any], names: Collection[str], *, fit: Mapping[str, Any], book: "Book"
) -> dict[str, Any]:
    """Identify measured weights by what they follow from exactly: machines differ in their last digits.

    `released` is the label of the release's noisy statistics, `names` are the outcomes of one budget. The
    result has the identity digests of the statistics' requests, which are the same in every copy of the
    ledger, and the settings as exact text; for ridge with a fixed lambda, only lambda.
    """
    # The requests of all outcomes together, and the requests of these outcomes.
    requests = [
        request_id
        for (_, *outcome_names), request_id in released["requests"]
        if set(outcome_names) <= set(names)
    ]
    ledger_requests = [book.requests.get(request_id) for request_id in requests]
    return {
        "statistics": [
            ledger_request and ledger_request.identity_digest for ledger_request in ledger_requests
        ]
    } | fit_identity(fit)


def seal(label: Mapping[str, Any], noisy: Any, fit: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """Digest weights with all that they follow from: SHA-256 in hexadecimal.

    `label` and `noisy` are from `dpgrs.study.released.load_released`, `fit` from `fit_settings`.
    """
    digests = output_digests(outputs_of(label, noisy)).values()
    weights = {name: _digest([array]) for name, array in arrays.items()}
    return digest([list(digests), exact_values(fit), weights])


def outputs_of(label: Mapping[str, Any], noisy: Any) -> dict[Any, Any]:
    """Return what a mechanism drew by parts of a release, as `output_digests` takes it."""
    return mechanism_of_file(label).outputs(noisy, drawn_names(label), request_of(label))


def output_digests(outputs: Mapping[Any, Any]) -> dict[Any, str]:
    """Digest the output of each part of a release for the ledger: SHA-256 in hexadecimal.

    The outputs, from a mechanism's ``outputs``, are tuples of arrays and numbers.
    """
    return {release_part: _digest(arrays) for release_part, arrays in outputs.items()}


def _digest(arrays: Iterable[Any]) -> str:
    sha256 = hashlib.sha256()
    for array in arrays:
        # A number becomes an array of one.
        array = np.ascontiguousarray(array, dtype="<f8")
        sha256.update(repr(array.shape).encode())
        sha256.update(array.data)
    return sha256.hexdigest()
