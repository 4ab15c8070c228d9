"""The public terms that identify a request in the ledger."""

from types import MappingProxyType

from dpgrs.io.files import written_digest
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.study.public_effects_files import load_effects
from dpgrs.study.public_ld_files import load_ld
from dpgrs.types import Coding

ACCURACY = "accuracy"


# Left out of an identity where a study has none.
WHERE_THERE = ("covariates", "loadings", "people")


def identify_part(identity, site_digest, request, part, *, mechanism, drawn_before=MappingProxyType({})):
    """Return the public identity of one part of a release: all on which its exact statistic hangs.

    Parameters
    ----------
    identity : dict of ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data,
        those on which the genotypes' rows hang and those on which the outcomes do. With covariates also
        ``covariates``, and with principal components ``loadings``, the digest of the table of these; where
        lists choose the people, ``people``; and ``ld``, that of public genotypes which steer X'Y.
    site_digest : str, SHA-256 of the public sites in hexadecimal.
    request : PrivacyRequest
    part : tuple of str, ``genotypes`` alone, or ``outcomes`` and the names of those of one budget.
    mechanism : str, the name of what draws.
    drawn_before : dict, how the genotypes' part was drawn, where outcomes hang on it.

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
        public |= {name: identity[name] for name in ("ld",) if name in identity}
        public |= drawn_before
    return exact_values(public)


def loadings_identity(path):
    """Return what identifies public loadings of principal components, as a dict; empty without them."""
    return {} if path is None else {"loadings": written_digest(path)}


def ld_identity(path):
    """Return what identifies the public linkage disequilibrium of a release, as a dict; empty without it."""
    if path is None:
        return {}
    ((_, found),) = load_ld(path).values()
    return {"ld": found}


def effects_identity(path):
    """Return what identifies the public effects of a release, as a dict; empty without them.

    By their names files are of an outcome or of all.
    """
    files, _ = load_effects(path)
    named = {"effects": "digest", "effect_names": "name"}
    return {key: [one[what] for one in files] for key, what in named.items()} if files else {}


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


def identify_accuracy(identity, *, residual_bound, weights):
    """Return the public identity of the accuracy of one budget's outcomes.

    Parameters
    ----------
    identity : dict, that of the outcomes, from `identify_part`.
    residual_bound : float, public.
    weights : dict, from `weights_origin`.

    Returns
    -------
    dict of JSON values; floats are exact text.
    """
    exact = {"residual_bound": exact_text(residual_bound), "weights": weights}
    return {**identity, "mechanism": ACCURACY} | exact


def weights_origin(released, names, *, fit, book):
    """Say which weights are measured by what they follow from exactly: machines differ in their last digits.

    Parameters
    ----------
    released : dict, label of the noisy statistics of a release.
    names : sequence of str, the outcomes of one budget.
    fit : dict, settings of the fit.
    book : Book of the dataset's ledger.

    Returns
    -------
    dict of the identity digests of the statistics' requests, which are the same in every copy of the ledger,
    and the settings as exact text; of ridge with a fixed lambda, lambda alone.
    """
    # Those of all outcomes, and those of these.
    requests = [request_id for (_, *own), request_id in released["requests"] if set(own) <= set(names)]
    known = [book.requests.get(request_id) for request_id in requests]
    return {"statistics": [one and one.identity_digest for one in known]} | fit_identity(fit)


def fit_identity(fit):
    """Return the settings of a fit on which weights hang, floats as exact text."""
    is_ridge = METHODS[fit["method"]].is_ridge(fit["lambda_from"])
    return exact_values({"lambda": fit["lambda"]} if is_ridge else dict(fit))
