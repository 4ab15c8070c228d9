"""Fits from ReuseCov's statistics, a class each. All of it is post-processing and costs nothing."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.coding import column_moments, count_known, entry_scale
from dpgrs.linalg.denoising import denoised_means
from dpgrs.linalg.linear_fit import LinearFit, centred_gram
from dpgrs.linalg.projection import project_ellipsoid, project_feature, project_label
from dpgrs.methods.blup import BlupFit, fit_blup, fit_blup_public_outcomes
from dpgrs.methods.blup_shared import fit_blup_shared
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.penalties import adassp_penalty, evidence_penalty
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.types import Coding, Penalty, Protection, Rows

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.audit.audit import AuditCase

# Standardised outcomes have a mean square of 1: the public bound on which projections rest.
OUTCOME_RMS = 1.0
# If rows were clipped, the least share of the prior variance of effects that must remain, and the relative
# error of the public root mean square of rows on its grid (docs/explanation/blup.md).
LEAST_LEFT, GRID_ERROR = 0.15, 0.02


class SharedFitter(Fitter):
    """A fit from ReuseCov's statistics."""

    mechanism = SharedStatistics

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.methods.audits.sums import reusecov_cases  # worst cases, which no fit needs

        return reusecov_cases()

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None = None
    ) -> LinearFit:
        if outcomes is not None:
            drawn = replace(drawn, observed=np.maximum(count_known(outcomes), 1))
        fit = self.fit_noisy(drawn, request, terms, outcomes)
        if request.coding == Coding.ROW_CENTRED:
            return fit.of_centred_rows()
        return fit.in_half_coding(drawn.origin).of_outcomes(drawn.loadings)

    @abstractmethod
    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        """Fit all outcomes, or all components, in the coding of the statistics."""


class ReuseCovGauss(SharedFitter):
    """Ridge regression on the noisy statistics as they are."""

    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        keeps_negative = request.coding == Coding.ROW_CENTRED
        return fit_reusecov(noisy, penalty=_penalty(noisy, request, terms), keeps_negative=keeps_negative)


class ReuseCovProj(ReuseCovGauss):
    """Ridge regression after X'Y is projected onto the set that the public side allows."""

    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        moved = moved_by_public_side(noisy, request=request, terms=terms, outcomes=outcomes)
        return super().fit_noisy(moved, request, terms, outcomes)


class ReuseCovEllipsoid(ReuseCovGauss):
    """Ridge regression after X'Y is projected into the ellipsoid of the noisy Gram matrix."""

    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        moved = moved_into_ellipsoid(noisy, request=request, terms=terms, outcomes=outcomes)
        return super().fit_noisy(moved, request, terms, outcomes)


class Blup(SharedFitter):
    """Noise-aware BLUP; under feature protection outcomes are public, and the model uses them."""

    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        if outcomes is None:
            return by_model(fit_blup, noisy, request, terms, effects=terms.effects)
        return by_model(fit_blup_public_outcomes, noisy, request, terms, outcomes=np.nan_to_num(outcomes))


class BlupShared(SharedFitter):
    """Noise-aware BLUP of outcomes that share causes."""

    def fit_noisy(
        self, noisy: NoisyStatistics, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
    ) -> LinearFit:
        return by_model(fit_blup_shared, noisy, request, terms)


def moved_by_public_side(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> NoisyStatistics:
    """Project X'Y onto the set that the public side allows; of `terms` only `is_joint` is read."""
    if Protection(request.protection) == Protection.LABEL:
        cross = project_label(noisy.cross, noisy.gram[:-1, :-1], _norms(noisy), joint=terms.is_joint)
    else:
        Y, radii = np.nan_to_num(outcomes), _column_norms(noisy, request)
        cross = project_feature(noisy.cross, Y, radii, joint=terms.is_joint)
    return replace(noisy, cross=cross)


def moved_into_ellipsoid(
    noisy: NoisyStatistics, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None
) -> NoisyStatistics:
    """Project X'Y into the ellipsoid of the noisy Gram matrix."""
    cross = project_ellipsoid(noisy.cross, noisy.gram[:-1, :-1], _norms(noisy), joint=terms.is_joint)
    return replace(noisy, cross=cross)


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
    root_mean_square = np.linalg.norm(_column_norms(noisy, request)) / np.sqrt(noisy.n)
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
    # Without noise of X'X the rule of AdaSSP has no penalty: the stated lambda is taken.
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


def _column_norms(noisy: NoisyStatistics, request: "PrivacyRequest") -> np.ndarray | float:
    """Bound the norms of the columns of X publicly, or their root mean square if rows are centred.

    In `half` coding entries are 1/2 or -1/2 (haplotypes), or at most 1 (people). In `frequency` coding their
    mean square follows from public frequencies, and covariates are standardised.
    """
    n_alleles = 1 if Rows(request.rows) == Rows.HAPLOTYPES else 2
    if request.coding != Coding.FREQUENCY:
        # Centring a row may lengthen a column, but never the row.
        return np.sqrt(noisy.n) * n_alleles / 2
    frequency = noisy.origin[: request.n_variants] / n_alleles + 0.5
    _, variance = column_moments(frequency, rows=request.rows)
    if request.n_covariates:
        square = entry_scale(bound=request.covariate_bound, rows=request.rows) ** 2
        variance = np.append(variance, np.full(request.n_covariates, square))
    return np.sqrt(noisy.n * variance)
