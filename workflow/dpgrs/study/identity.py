"""What identifies the data of a release, by public settings, and each of its requests in the ledger."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpgrs.io.files import written_digest
from dpgrs.privacy.accounting.exact_numbers import exact_text, exact_values
from dpgrs.study.people_terms import terms_of
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest

ACCURACY = "accuracy"
# Left out of an identity where a study has none.
WHERE_THERE = ("covariates", "loadings", "people")
# On which `public_identity` hangs, and which public files a release may be made from.
READS_OF_IDENTITY = (
    "dataset.accession",
    "dataset.consent",
    "dataset.version",
    "cohort.source",
    "cohort.simulation",
    "cohort.field",
    "cohort.fixed_sites",
    "cohort.keep_filtered",
    "outcomes.source",
    "outcomes.heritability",
    "outcomes.causal_share",
    "outcomes.factors",
    "outcomes.network",
    "outcomes.prevalence",
    "outcomes.scales",
    "outcomes.loadings",
    "outcomes.test_share",
    "seed",
    "covariates",
    "people",
    "public.genotypes.sha256",
    "public.outcomes.sha256",
    "public.sites",
    "public.frequencies",
    "public.reference",
    "public.keep",
)


def public_identity(config: "StudyConfig") -> dict[str, Any]:
    """Return the public settings that say which data a release is about, and nothing of a machine.

    The keys are ``dataset`` (which data, in which state), ``genotypes`` (on which the rows depend),
    ``outcomes``, ``covariates`` if there are any, and ``people`` if not everybody is taken. Lists of
    people have only their kinds here, as ids are private and a digest confirms a guessed list. Lists that
    change under one `dataset.version` change the statistics: to the ledger the data changed.
    """
    # These bring pandas.
    from dpgrs.study.table_settings import covariate_identity, outcome_loadings_identity, scales_identity

    cohort, outcomes, dataset = config.cohort, config.outcomes, config.dataset
    public = {"genotypes": config.public.genotypes.sha256, "outcomes": config.public.outcomes.sha256}
    is_simulated = cohort.source == "simulate"
    outcome_keys = ["source"]
    if outcomes.source == "simulate":
        outcome_keys += ["heritability", "causal_share"]
        outcome_keys += [
            name for name in ("factors", "network", "prevalence") if getattr(outcomes, name) is not None
        ]
    return {
        "dataset": {
            "accession": dataset.accession,
            "consent": dataset.consent,
            "dataset_version": dataset.version,
        },
        "genotypes": {
            "simulation": cohort.simulation.as_dict() if is_simulated else None,
            # REF may differ from a VCF of the same people, and the rows with it.
            **({"source": cohort.source} if cohort.source not in ("simulate", "vcf", "table") else {}),
            "field": cohort.field,
            **({"fixed_sites": True} if cohort.fixed_sites else {}),
            "keep_filtered": cohort.keep_filtered,
            "test_share": outcomes.test_share,
            "seed": config.seed,
            **({"public": sorted(public["genotypes"])} if public["genotypes"] else {}),
        },
        "outcomes": {name: getattr(outcomes, name) for name in outcome_keys}
        | ({"public": public["outcomes"]} if public["outcomes"] else {})
        | scales_identity(outcomes.scales)
        | outcome_loadings_identity(outcomes.loadings),
        **covariate_identity(config.covariates),
        **({"people": people} if (people := terms_of(config).public) else {}),
    }


def identify_part(
    identity: Mapping[str, Any],
    site_digest: str,
    request: "PrivacyRequest",
    release_part: Sequence[str],
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
    kind, *names = release_part
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
