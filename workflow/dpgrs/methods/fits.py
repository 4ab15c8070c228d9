"""Fits from released statistics, one function a method. All of it is post-processing and costs nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.fit_keys import regression_keys
from dpgrs.linalg.coding import column_moments, count_known, entry_scale
from dpgrs.linalg.denoising import denoised_means
from dpgrs.linalg.linear_fit import LinearFit, centred_gram
from dpgrs.linalg.projection import project_ellipsoid, project_feature, project_label
from dpgrs.methods.blup import BlupFit, fit_blup, fit_blup_public_outcomes
from dpgrs.methods.blup_shared import fit_blup_shared
from dpgrs.methods.penalties import adassp_penalty, evidence_penalty
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.methods.registry import METHODS, named
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.types import Coding, Penalty, Protection, Rows

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest


# Standardised outcomes have a mean square of 1: the public bound on which projections rest.
OUTCOME_RMS = 1.0
# If rows were clipped, the least share of the prior variance of effects that must remain, and the relative
# error of the public root mean square of rows on its grid (docs/explanation/blup.md).
LEAST_LEFT, GRID_ERROR = 0.15, 0.02


@dataclass(frozen=True)
class FitTerms:
    """The public terms of fits, beside the statistics."""

    penalty: float  # >= 0, lambda per row, for `Penalty.FIXED`
    rule: Penalty = Penalty.FIXED  # the rule that sets lambda
    heritability: float | None = None  # in (0, 1), stated for BLUP; None estimates it
    # Whether projections share one ball over all outcomes or variants, as the paper does.
    is_joint: bool = False
    # Dict of number of variants to PublicLd, for fits on public linkage disequilibrium.
    ld: dict = field(default_factory=dict)
    # Function of `dpgrs.methods.genome_sums.map_terms` that returns the GenomeMap, for fits of genomes.
    genome: Callable[[Mapping[str, Any]], Any] | None = None
    # Function of a GenomeMap and the weights of each chromosome, (n_rows, n_variants), that returns the
    # ScoreVariances among the people of its panel, for fits of genomes.
    panel_variances: Callable[[Any, Sequence[np.ndarray]], Any] | None = None
    same_ancestry: bool = False  # whether the people of `ld` are stated to be of the cohort's ancestry
    # For fits that take them, of outcomes and variant set of one fit; None goes without.
    effects: PublicEffects | None = None
    # Dict of the keys of ``regression`` that have no attribute here (`dpgrs.fit_keys`).
    further: dict = field(default_factory=dict)

    @classmethod
    def of(cls, regression: Mapping[str, Any], **public: Any) -> "FitTerms":
        """Build the terms from the section ``regression`` of a study's settings, and from public files."""
        keys = regression_keys()
        attributes = {key.term: regression[name] for name, key in keys.items() if key.term}
        further = {name: regression[name] for name, key in keys.items() if not key.term}
        return cls(**attributes, further=further, **public)


def fit_released(
    method: str,
    noisy: NoisyStatistics,
    *,
    request: "PrivacyRequest",
    terms: FitTerms,
    outcomes: np.ndarray | None = None,
) -> LinearFit:
    """Fit all outcomes by one method.

    Parameters
    ----------
    method : str, one whose row in the registry names a fit.
    noisy : NoisyStatistics
    request : PrivacyRequest, under which they were released.
    terms : FitTerms
    outcomes : (n_outcomes, n_rows) float64, clipped, NaN where missing; public, only under feature
        protection.

    Returns
    -------
    LinearFit

    Privacy
    -------
    Post-processing: costs nothing.
    """
    if outcomes is not None:
        noisy = replace(noisy, observed=np.maximum(count_known(outcomes), 1))
    fit = named(METHODS[method].fit)(noisy, request=request, terms=terms, outcomes=outcomes)
    if request.coding == Coding.ROW_CENTRED:
        return fit.of_centred_rows()
    return fit.in_half_coding(noisy.origin).of_outcomes(noisy.loadings)


def gauss(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> LinearFit:
    """Fit by ridge regression on the noisy statistics as they are."""
    keeps_negative = request.coding == Coding.ROW_CENTRED
    return fit_reusecov(noisy, penalty=_penalty(noisy, request, terms), keeps_negative=keeps_negative)


def projected(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> LinearFit:
    """Fit by ridge regression after X'Y is projected onto the set that the public side allows."""
    options = {"request": request, "terms": terms, "outcomes": outcomes}
    return gauss(moved_by_public_side(noisy, **options), **options)


def in_ellipsoid(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> LinearFit:
    """Fit by ridge regression after X'Y is projected into the ellipsoid of the noisy Gram matrix."""
    options = {"request": request, "terms": terms, "outcomes": outcomes}
    return gauss(moved_into_ellipsoid(noisy, **options), **options)


def moved_by_public_side(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> NoisyStatistics:
    """Project X'Y onto the set that the public side allows; here and below lambda changes nothing."""
    if Protection(request.protection) == Protection.LABEL:
        cross = project_label(noisy.cross, noisy.gram[:-1, :-1], _norms(noisy), joint=terms.is_joint)
    else:
        Y, radii = np.nan_to_num(outcomes), _column_norm(noisy, request)
        cross = project_feature(noisy.cross, Y, radii, joint=terms.is_joint)
    return replace(noisy, cross=cross)


def moved_into_ellipsoid(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> NoisyStatistics:
    """Project X'Y into the ellipsoid of the noisy Gram matrix."""
    cross = project_ellipsoid(noisy.cross, noisy.gram[:-1, :-1], _norms(noisy), joint=terms.is_joint)
    return replace(noisy, cross=cross)


def blup(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> LinearFit:
    """Fit by noise-aware BLUP; under feature protection outcomes are public, and the model uses them."""
    if outcomes is None:
        return by_model(fit_blup, noisy, request, terms, effects=terms.effects)
    return by_model(fit_blup_public_outcomes, noisy, request, terms, outcomes=np.nan_to_num(outcomes))


def blup_steered(noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms) -> LinearFit:
    """Fit all outcomes from steered statistics; parameters as in `fit_released`."""
    fit = by_model(fit_blup_shared, noisy, request, terms, steering=noisy.steering)
    return fit.in_half_coding(noisy.origin).of_outcomes(noisy.loadings)


def blup_shared(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> LinearFit:
    """Fit by noise-aware BLUP of outcomes that share causes."""
    return by_model(fit_blup_shared, noisy, request, terms)


def by_model(
    fit: Callable[..., BlupFit],
    noisy: NoisyStatistics,
    request: "PrivacyRequest",
    terms: FitTerms,
    **more: Any,
) -> LinearFit:
    """Fit by a model that includes the noise."""
    means, G_c = _centred(noisy, request)
    noise_options = {"gram_sd": request.noise_sd["gram"], "cross_sd": request.noise_sd["cross"]}
    noise_options |= {"heritability": terms.heritability, "means": means}
    noise_options |= noisy.model_terms
    blup_fit = fit(G_c, noisy.cross, noisy.n, **more, **noise_options)
    if blup_fit.standard_errors is not None and not _errors_hold(blup_fit, noisy, request, np.trace(G_c)):
        blup_fit = replace(blup_fit, standard_errors=None)
    names = ("standard_errors", "correlations", "public_share")
    optional_fields = {name: getattr(blup_fit, name) for name in names}
    return LinearFit(blup_fit.weights, means, np.zeros(len(blup_fit.weights)), **optional_fields)


def _errors_hold(blup_fit: BlupFit, noisy: NoisyStatistics, request: "PrivacyRequest", trace: float) -> bool:
    """Whether the error from clipped rows, which no model includes, is small beside a BlupFit's errors."""
    if request.row_norm is None:
        return noisy.steering is None
    # One answer holds for all outcomes, so it must not depend on the draws of one budget of several.
    if request.n_outcomes < len(noisy.cross):
        return False
    # The errors were measured only for rows that are clipped at their public root mean square.
    root_mean_square = np.linalg.norm(_column_norm(noisy, request)) / np.sqrt(noisy.n)
    if abs(request.row_norm / root_mean_square - 1) > GRID_ERROR:
        return False
    left = (blup_fit.standard_errors**2).mean(axis=1) * trace / (blup_fit.heritability * noisy.n)
    return left.min() >= LEAST_LEFT


def _centred(noisy: NoisyStatistics, request: "PrivacyRequest") -> tuple[np.ndarray, np.ndarray]:
    """Return the column means, estimated from the noisy Gram matrix, and the centred matrix."""
    if not request.has_private_gram:
        G_c, means = centred_gram(noisy.gram, noisy.n)
        return means, G_c
    means = denoised_means(noisy.gram, noisy.n, gram_sd=request.noise_sd["gram"])
    return means, noisy.gram[:-1, :-1] - noisy.n * np.outer(means, means)


def _penalty(noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms) -> float | np.ndarray:
    gram_sd = request.noise_sd["gram"]
    # Without noise of X'X the rule of AdaSSP gives no penalty.
    if Penalty(terms.rule) == Penalty.FIXED or (Penalty(terms.rule) == Penalty.ADASSP and not gram_sd):
        return terms.penalty
    if Penalty(terms.rule) == Penalty.ADASSP:
        return adassp_penalty(request.n_columns, gram_sd=gram_sd, n=noisy.n)
    means, G_c = _centred(noisy, request)
    noise_options = {"gram_sd": gram_sd, "cross_sd": request.noise_sd["cross"], "means": means}
    noise_options |= noisy.model_terms
    return evidence_penalty(G_c, noisy.cross, noisy.n, **noise_options)


def _norms(noisy: NoisyStatistics) -> np.ndarray:
    """Bound the norm of each outcome, 0 where it is missing: (n_outcomes,) float64."""
    return OUTCOME_RMS * np.sqrt(noisy.n / noisy.inflation)


def _column_norm(noisy: NoisyStatistics, request: "PrivacyRequest") -> np.ndarray | float:
    """Bound the norm of a column of X publicly.

    In `half` coding entries are 1/2 or -1/2 (haplotypes), or at most 1 (people). In `frequency` coding their
    mean square follows from public frequencies, and covariates are standardised.
    """
    n_alleles = 1 if Rows(request.rows) == Rows.HAPLOTYPES else 2
    if request.coding != Coding.FREQUENCY:
        # Centring rows lengthens no matrix: the bound holds for the columns of X together.
        return np.sqrt(noisy.n) * n_alleles / 2
    frequency = noisy.origin[: request.n_variants] / n_alleles + 0.5
    _, variance = column_moments(frequency, rows=request.rows)
    if request.n_covariates:
        square = entry_scale(bound=request.covariate_bound, rows=request.rows) ** 2
        variance = np.append(variance, np.full(request.n_covariates, square))
    return np.sqrt(noisy.n * variance)
