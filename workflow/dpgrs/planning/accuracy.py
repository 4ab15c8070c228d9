"""The accuracy that a plan expects of a request, also under other bounds and neighbours."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from dpgrs.linalg.norms import outcome_norm, row_norm_of
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.mechanisms import mechanism_of_study, takes_sums
from dpgrs.methods.planning import expected_fit, expected_genome_fit, expected_r2
from dpgrs.methods.registry import METHODS
from dpgrs.statement.method_choice import MOST_PLANNED
from dpgrs.study.people_terms import has_same_ancestry
from dpgrs.study.table_cohort import is_table
from dpgrs.study.table_settings import column_terms
from dpgrs.types import Bounds, Coding, Neighbours, Protection

if TYPE_CHECKING:
    import numpy as np

    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.genome_prior import Spectrum
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.requests import PrivacyRequest


def within_bounds(
    request: "PrivacyRequest",
    bounds: Bounds | str,
    *,
    frequency: "np.ndarray",  # (n_variants,) float64, planned ALT allele frequencies
    config: "StudyConfig",
) -> "PrivacyRequest":
    """Return a request with the norms that a run clips rows at, and under `tight` bounds its covariates."""
    if Bounds(bounds) == Bounds.WORST_CASE:
        plain = {"coding": Coding.HALF, "row_norm": None, "outcome_norm": None}
        return replace(request, **plain, n_covariates=0, covariate_bound=None)
    if Bounds(bounds) == Bounds.PAPER:
        return replace(request, coding=Coding.ROW_CENTRED)
    privacy, columns = config.privacy, column_terms(config)
    clip, bound = privacy.outcome_clip, request.outcome_bound
    return replace(
        request,
        coding=Coding.FREQUENCY,
        row_norm=row_norm_of(frequency, rows=request.rows, factor=privacy.genotype_clip, **columns),
        outcome_norm=outcome_norm(request.n_outcomes, factor=clip, bound=bound),
        **columns,
    )


def planned_methods(
    methods: Sequence[str],  # of the study
    protection: Protection,
    **conditions: Any,  # as of `_why_not`
) -> list[str]:
    """Return the methods of a study whose accuracy can be planned, in the order of the study."""
    return [name for name in methods if _why_not(name, [protection], **conditions) is None]


def unplanned_methods(
    methods: Sequence[str],
    protections: Sequence[Protection],
    **conditions: Any,  # as of `_why_not`
) -> dict[str, str]:
    """Return methods of a study that are not planned under one or more of its protections, and why."""
    reasons = {name: _why_not(name, protections, **conditions) for name in methods}
    return {name: reason for name, reason in reasons.items() if reason}


def plan_accuracy(
    request: "PrivacyRequest",
    count: int,  # outcomes of the study
    *,
    config: "StudyConfig",
    **model: Any,  # n_rows, frequency, ld, spectrum, heritabilities, as of `_planned`
) -> dict[str, Any]:
    """Expect the accuracy of a request within the study's bounds, and compare bounds and neighbours.

    Returns JSON values: `expected`, one for each planned method and heritability; `bounds_and_neighbours`,
    one for each pair, with R^2 of the first planned method and heritability, and none where methods draw from
    rows, as of variants that they choose; and `no_accuracy`, the reason why R^2 is planned only along a map
    of the genome, or None.
    """
    try:
        return _planned(request, count, config=config, **model)
    except MemoryError:
        reason = "there is too little memory for matrices of X'X"
        return _planned(request, count, config=config, **model, no_accuracy=reason)


def _planned(
    request: "PrivacyRequest",
    count: int,
    *,
    n_rows: int,  # to train on
    frequency: "np.ndarray",  # (n_variants,) float64, planned ALT allele frequencies
    ld: "PublicLd | None",  # of the public panel
    spectrum: "Spectrum | None",  # along LD blocks
    heritabilities: Sequence[float],  # assumed
    config: "StudyConfig",
    residual_variances: Sequence[float] = (),  # which public scores leave of outcomes
    no_accuracy: str | None = None,
) -> dict[str, Any]:
    """Return the plan of `plan_accuracy`; with a reason for no accuracy, without R^2 that takes matrices."""
    if request.n_variants > MOST_PLANNED:
        no_accuracy = f"it takes matrices of X'X, which a plan makes of at most {MOST_PLANNED:,} variants"
    conditions = {"has_ld": ld is not None, "bounds": config.privacy.bounds, "of_table": is_table(config)}
    methods = planned_methods(config.methods, request.protection, **conditions)
    if no_accuracy:
        methods = [name for name in methods if METHODS[name].takes_map]
        no_accuracy = no_accuracy if set(config.methods) - set(methods) else None
    model = {"n_rows": n_rows, "frequency": frequency, "n_outcomes": count, "ld": ld}
    model["terms"] = FitTerms.of(config.regression.as_dict(), same_ancestry=has_same_ancestry(config))

    def fit_of(method: str, h2: float) -> Any:
        if METHODS[method].takes_map:
            is_equal = config.privacy.direction_shares == "equal"
            options = {"n_rows": n_rows, "heritability": h2, "is_equal": is_equal}
            options["residual_variances"] = residual_variances
            return expected_genome_fit(request, spectrum, **options)
        return expected_fit(method, _of_variants(request), heritability=h2, **model)

    expected = [
        {"method": method, "heritability": h2, **asdict(fit_of(method, h2))}
        for method, h2 in product(methods, heritabilities)
    ]
    is_full, mechanism = request.protection == Protection.FULL, mechanism_of_study(config)
    # Rows with covariates are always clipped.
    all_bounds = [Bounds.TIGHT] if request.n_covariates else [Bounds.WORST_CASE, Bounds.TIGHT]
    has_gram = any("gram" in names for names in mechanism.draws.values())
    compared, all_neighbours = [], Neighbours if is_full else [Neighbours.REPLACE_ONE]
    # A map has clips of its own, whatever the bounds.
    methods = [name for name in methods if not METHODS[name].takes_map]
    r2_of_study = next((planned["r2"] for planned in expected if planned["method"] in methods), None)
    for bounds, neighbours in product(all_bounds if takes_sums(config.methods) else [], all_neighbours):
        other = within_bounds(request, bounds, frequency=frequency, config=config)
        other = replace(other, neighbours=neighbours)
        r2 = None
        if other == request:
            r2 = r2_of_study
        elif planned_methods(methods[:1], request.protection, **conditions | {"bounds": bounds}):
            r2 = expected_r2(methods[0], _of_variants(other), heritability=heritabilities[0], **model)
        noise_sd = mechanism.terms(other).noise_sd
        compared.append(
            {
                "bounds": bounds.value,
                "neighbours": neighbours.value,
                "is_own": other == request,
                "noise_sd_gram": noise_sd["gram"] if has_gram else None,
                "noise_sd_cross": noise_sd["cross"],
                "method": methods[0] if methods else None,
                "heritability": heritabilities[0],
                "r2": r2,
            }
        )
    return {"expected": expected, "bounds_and_neighbours": compared, "no_accuracy": no_accuracy}


def _of_variants(request: "PrivacyRequest") -> "PrivacyRequest":
    """Return the request of only the variants, with the noise of all: people here have no covariates."""
    if not request.n_covariates:
        return request
    return replace(request, n_covariates=0, covariate_bound=None, gram_share=request.share_of_gram)


def _why_not(
    name: str,
    protections: Sequence[Protection],
    *,
    has_ld: bool = False,  # whether LD of a public panel was measured
    bounds: Bounds | str = Bounds.TIGHT,
    of_table: bool = False,  # whether columns of a table stand for variants
) -> str | None:
    """Say why a method is not planned under some of the protections; None if it is under all of its own."""
    method = METHODS[name]
    if Protection.NONE in method.protections:
        return "not private"
    if method.is_screened:
        return "chooses variants first"
    if not (method.is_post_processing or method.is_steered or method.takes_map):
        return "draws noise of its own"
    if of_table:
        return "depends on how far columns spread within their ranges"
    if Bounds(bounds) == Bounds.PAPER:
        return "within the paper's bounds, only for benchmarks"
    if method.takes_ld and Bounds(bounds) != Bounds.TIGHT:
        return "only for tight bounds"
    if method.takes_ld and not (has_ld or method.takes_map):
        return "needs LD of the public panel: ask Snakemake for results/<study>/public/ld.npz"
    served = [protection for protection in protections if protection in method.protections]
    if not served:
        return f"not made for {' and '.join(protections)} protection"
    if Protection.FEATURE in served and method.takes_outcomes:
        return "under feature protection, where it needs the outcomes themselves"
    return None
