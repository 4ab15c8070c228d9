"""The public terms that identify a request in the ledger."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpgrs.io.files import written_digest
from dpgrs.io.replicates import load_labelled
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.study.public_effects_files import load_effects
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.ledger.ledger import Book

ACCURACY = "accuracy"


# Left out of an identity where a study has none.
WHERE_THERE = ("covariates", "loadings", "people")


def identify_part(
    identity: Mapping[str, Any],
    site_digest: str,
    request: "PrivacyRequest",
    part: Sequence[str],
    *,
    mechanism: str,
    drawn_before: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the public identity of one part of a release: all on which its exact statistic depends.

    `identity` has ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data, the
    genotypes' rows and the outcomes. With covariates it has ``covariates``, with principal components
    ``loadings``, the digest of their table; ``people`` if lists choose the people; ``ld``, the digest of
    public genotypes that steer X'Y; and ``adjusted_by`` if a regression on covariates came before.
    The genotypes have ``ld``, too, if second moments are drawn along it. `site_digest` is the SHA-256 of the
    public sites in hexadecimal. A part is only ``genotypes``, or
    ``outcomes`` and the names of those of one budget. `drawn_before` says how the genotypes' part was drawn
    if outcomes depend on it. Values are JSON; floats are exact text.
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
    if kind == "genotypes" and request.ld_share is not None and "ld" in identity:
        public["ld"] = identity["ld"]
    if kind == "outcomes":
        public["outcomes"] = identity["outcomes"] | bound
        public |= {name: identity[name] for name in ("ld", "adjusted_by") if name in identity}
        public |= drawn_before
    return exact_values(public)


def loadings_identity(path: Path | str | None) -> dict[str, str]:
    """Return what identifies public loadings of principal components; empty without them."""
    return {} if path is None else {"loadings": written_digest(path)}


def ld_identity(path: Path | str | None) -> dict[str, str]:
    """Return what identifies the public linkage disequilibrium of a release, or its map; empty without."""
    if path is None:
        return {}
    # The chromosomes of a map have one digest; spectra beside it, which only plans read, have none.
    (digest,) = {label["digest"] for label in load_labelled(path).labels if "digest" in label}
    return {"ld": digest}


def effects_identity(path: Path | str | None) -> dict[str, list[str]]:
    """Return what identifies the public effects of a release; empty without them.

    The name of a file says whether it is of an outcome or of all.
    """
    files, _ = load_effects(path)
    named = {"effects": "digest", "effect_names": "name"}
    return {key: [file[what] for file in files] for key, what in named.items()} if files else {}


def exact_values(value: Any) -> Any:
    """Write floats as exact text, in dicts and lists."""
    match value:
        case dict():
            return {name: exact_values(inner) for name, inner in value.items()}
        case list() | tuple():
            return [exact_values(inner) for inner in value]
        case float():
            return exact_text(value)
    return value


def identify_accuracy(
    identity: Mapping[str, Any], *, residual_bound: float, weights: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the public identity of the accuracy of one budget's outcomes; floats are exact text.

    `identity` identifies the outcomes, from `identify_part`; `weights` are from `weights_origin`.
    """
    exact = {"residual_bound": exact_text(residual_bound), "weights": weights}
    return {**identity, "mechanism": ACCURACY} | exact


def accuracy_identity(
    identity: Mapping[str, Any],
    site_digest: str,
    request: "PrivacyRequest",
    names: Sequence[str],
    *,
    residual_bound: float,
    weights: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the public identity of the accuracy of the outcomes of one budget.

    `request` is the one of the statistics; `identity` has no `ld` or `adjusted_by`, which weights name.
    """
    outcomes = identify_part(identity, site_digest, request, ("outcomes", *names), mechanism=ACCURACY)
    return identify_accuracy(outcomes, residual_bound=residual_bound, weights=weights)


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


def fit_identity(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a fit on which weights depend, floats as exact text."""
    is_ridge = METHODS[fit["method"]].is_ridge(fit["lambda_from"])
    return exact_values({"lambda": fit["lambda"]} if is_ridge else dict(fit))
