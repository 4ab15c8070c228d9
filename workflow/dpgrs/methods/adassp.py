"""AdaSSP (Wang 2018) for many outcomes: a ridge penalty chosen by a noisy smallest eigenvalue of X'X.

References
----------
.. [1] Wang (2018). Revisiting differentially private linear regression. UAI. arXiv 1803.02596.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import GRAM_STEP
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov, private_statistics
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.privacy.accounting.accountant import split_budget
from dpgrs.privacy.accounting.events import event_of
from dpgrs.privacy.sensitivity import smallest_eigenvalue_sensitivity
from dpgrs.statement.methods import LARGEST_FACTORED
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.fits import FitTerms
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource

# The grid of the eigenvalue is at most 2^-11 of the squared norm of a row wide.
RELATIVE_STEP = 11
# Up to here factorisations in float64 decide within half a grid step (docs/proofs/smallest_eigenvalue.md).
LARGEST_VARIANTS = LARGEST_FACTORED
# The penalty is too small for the noise of X'X with this probability: the rho of the formula.
FAILURE = 0.05
# The noisy eigenvalue is lowered by so many standard deviations: too high in 5 of 100 draws.
CAUTION = 1.645


@dataclass(frozen=True, kw_only=True)
class AdasspRequest(PrivacyRequest):
    """The terms of AdaSSP: `gram_share` is not used, as the statistics but counts get equal shares."""

    @cached_property
    def budget(self) -> dict[str, float]:
        """The mu of ``count``, ``observed``, ``eigenvalue``, ``gram``, ``cross`` and ``cases``, a dict."""
        counts = self.shares_of_counts
        shares = (*counts, *[(1 - counts[0] - counts[1]) / 3] * 3)
        mus = split_budget(self.epsilon, self.delta, shares=shares, accounting=self.accounting)
        names = ("count", "observed", "eigenvalue", "gram", "cross")
        return self.with_cases(self.after_covariates(dict(zip(names, mus, strict=True))))


@dataclass(frozen=True, kw_only=True)
class AdasspStatistics(NoisyStatistics):
    """Statistics after the mechanisms: all that follows is post-processing."""

    smallest_eigenvalue: float  # noisy, of X'X without its intercept. Its event is the last.

    @property
    def penalty(self) -> float:
        """The ridge penalty that the noise of X'X asks for, on the scale of X'X, a float >= 0."""
        scales = {event.statistic: event.sigma for event in self.events}
        n_variants = len(self.gram) - 1
        # The eigenvalue without noise is at least this in 95 of 100 draws, and is never below 0.
        lowered = max(0.0, self.smallest_eigenvalue - CAUTION * scales["smallest eigenvalue"])
        # The spectral norm of the noise of X'X is below this, except with probability `FAILURE`.
        spread = math.sqrt(n_variants * math.log(2 * n_variants**2 / FAILURE)) * scales["gram"]
        return max(0.0, spread - lowered)


@lru_cache(maxsize=256)
def adassp_request(request: PrivacyRequest) -> AdasspRequest:
    """Return the terms of AdaSSP for a PrivacyRequest, cached because the split takes milliseconds."""
    return AdasspRequest(**asdict(request))


def private_adassp(
    gram: np.ndarray,
    cross: np.ndarray,
    n_rows: int,
    *,
    request: PrivacyRequest,
    noise: "NoiseSource",
    **options: Any,
) -> AdasspStatistics:
    """Release the number of rows, X'X, X'Y and the smallest eigenvalue of X'X.

    Parameters
    ----------
    gram, cross, n_rows, request, noise : as in `private_statistics`.
    **options : its outcome_names, observed and cases.

    Returns
    -------
    AdasspStatistics

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_statistics` (docs/proofs/count.md,
    docs/proofs/gram.md, docs/proofs/cross_product.md) and `private_smallest_eigenvalue`
    (docs/proofs/smallest_eigenvalue.md), one GaussianEvent each, is (epsilon, delta)-DP for the outcomes of
    one budget; with several budgets the whole costs more (docs/explanation/accounting.md). Public: all of the
    request; n under replace-one. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request, or are of more than `LARGEST_VARIANTS`.
    """
    split = adassp_request(request)
    _require_few_columns(split)
    noisy = private_statistics(gram, cross, n_rows, request=split, noise=noise, **options)
    eigenvalue, event = private_smallest_eigenvalue(gram, request=split, noise=noise.of("genotypes"))
    released = vars(noisy) | {"events": (*noisy.events, event)}
    return AdasspStatistics(**released, smallest_eigenvalue=eigenvalue)


def private_smallest_eigenvalue(
    gram: np.ndarray, *, request: PrivacyRequest, noise: "NoiseSource"
) -> "tuple[float, GaussianEvent]":
    """Release the smallest eigenvalue of X'X without its intercept, rounded to `eigenvalue_step`.

    Parameters
    ----------
    gram : (n_variants + 1, n_variants + 1) int64 in units of the request's `gram_step`, intercept last.
    request : AdasspRequest
    noise : as in `private_statistics`.

    Returns
    -------
    float, which noise can make negative, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `smallest_eigenvalue_sensitivity`, with `eigenvalue_error`
    for `eigenvalue_steps`: docs/proofs/smallest_eigenvalue.md. Event GaussianEvent.

    Raises
    ------
    UsageError
        With more than `LARGEST_VARIANTS` variants and covariates.
    """
    _require_few_columns(request)
    step = eigenvalue_step(request.n_columns, rows=request.rows, row_norm=request.row_norm)
    noisy, event = noise.gaussian(
        eigenvalue_steps(gram[:-1, :-1] * request.gram_step, step=step),
        name="smallest eigenvalue",
        step=step,
        sensitivity=smallest_eigenvalue_sensitivity(
            request.n_columns,
            row_norm=request.row_norm,
            error=eigenvalue_error(step, row_norm=request.row_norm),
            **request.relation,
        ),
        mu=request.budget["eigenvalue"],
    )
    return float(noisy) * step, event


def _require_few_columns(request: PrivacyRequest) -> None:
    """Raise a UsageError if there are more variants and covariates than are factored exactly."""
    if request.n_columns > LARGEST_VARIANTS:
        raise UsageError(
            "too-many-columns-for-adassp",
            f"`variants.size` and covariates must be at most {LARGEST_VARIANTS} together for adassp, got "
            f"{request.n_columns}. Lower them, or leave the method out.",
        )


def eigenvalue_step(
    n_variants: int,
    *,
    rows: Rows,
    # > 0, public bound on the norm of a row in `frequency` coding; None for `half` coding, where the squared
    # norm is a whole number of steps.
    row_norm: float | None = None,
) -> float:
    """Return the width of the eigenvalue's grid: a power of 2, small beside the squared norm of a row."""
    is_haplotype = Rows(rows) == Rows.HAPLOTYPES
    if row_norm is None:
        unit = GRAM_STEP if is_haplotype else 1.0
        return min(_power_below(n_variants * unit), unit)
    return _power_below(min(row_norm**2, n_variants * (1 if is_haplotype else 4)))


def _power_below(square: float) -> float:
    return 2.0 ** (math.floor(math.log2(square)) - RELATIVE_STEP)


def eigenvalue_error(step: float, *, row_norm: float | None = None) -> float:
    """Bound how far the rounded eigenvalue lies from the true one, as far as it costs budget.

    The bound is half a step, and a whole one if the squared norm of a row is no whole number of steps
    (docs/proofs/smallest_eigenvalue.md).
    """
    return step / 2 if row_norm is None else step


def eigenvalue_steps(
    gram: np.ndarray,  # (d, d) float64, exact, of at least one column
    *,
    step: float,  # width of the grid
) -> int:
    """Round the smallest eigenvalue of X'X to a grid, by factorisations that decide.

    An eigenvalue from LAPACK is a guess: its error is small, but has no proven bound. A Cholesky
    factorisation ends if and only if the matrix is positive definite, up to an error with a proven bound.

    The result is int64 >= 0, in steps, within half a step and the error of
    docs/proofs/smallest_eigenvalue.md.
    """

    def is_at_least(steps: int) -> bool:
        # No eigenvalue is below 0. Thresholds lie between steps, where a singular matrix is no tie.
        return steps <= 0 or _is_positive(gram, threshold=(steps - 0.5) * step)

    guess = _guess(gram, step)
    if is_at_least(guess) and not is_at_least(guess + 1):
        return np.int64(guess)
    # The smallest eigenvalue is at most any entry of the diagonal.
    low, high = 0, math.ceil(gram.diagonal().min() / step) + 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_at_least(middle) else (low, middle)
    return np.int64(low)


def _guess(gram: np.ndarray, step: float) -> int:
    """Return the approximate number of steps of the smallest eigenvalue, 0 if LAPACK fails."""
    try:
        return max(0, math.floor(np.linalg.eigvalsh(gram)[0] / step + 0.5))
    except (np.linalg.LinAlgError, ValueError, OverflowError):
        # LAPACK did not converge, or returned no number. An error would reveal data; a guess decides nothing.
        return 0


def _is_positive(gram: np.ndarray, *, threshold: float) -> bool:
    """Tell whether a Cholesky factorisation of X'X less a multiple of the identity ends."""
    lowered = gram.copy()
    np.fill_diagonal(lowered, lowered.diagonal() - threshold)
    try:
        np.linalg.cholesky(lowered)
    except np.linalg.LinAlgError:
        return False
    return True


def fit_adassp(statistics: AdasspStatistics) -> "LinearFit":
    """Solve W = (G_c + lambda I)^-1 V for all outcomes, with the penalty that the noise of G asks for.

    lambda = max(0, sqrt(d ln(2 d^2/rho)) s_G - max(0, eigenvalue~ - 1.645 s)), rho = 0.05, s_G and s the
    standard deviations of the noise. Centred as in `fit_reusecov`.
    """
    fit = fit_reusecov(statistics, penalty=statistics.penalty / statistics.n)
    return fit.in_half_coding(statistics.origin)


class Adassp(OwnStatistics):
    """The same and the smallest eigenvalue of X'X, from which AdaSSP takes its penalty."""

    name = "adassp-statistics"
    audited = (*OwnStatistics.audited[:2], "private_smallest_eigenvalue", "private_adassp")
    draws = MappingProxyType(
        {"genotypes": ("count", "gram", "eigenvalue"), "outcomes": ("observed", "cross", "cases")}
    )

    def terms(self, request: PrivacyRequest) -> PrivacyRequest:
        return adassp_request(request)

    def draw(
        self,
        gram: np.ndarray,
        cross: np.ndarray,
        n_rows: int,
        *,
        origin: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        **options: Any,
    ) -> Any:
        return replace(private_adassp(gram, cross, n_rows, **options), origin=origin, slopes=slopes)

    def draw_genotypes(
        self, gram: np.ndarray | None, n_rows: int, *, request: PrivacyRequest, noise: "NoiseSource"
    ) -> None:
        super().draw_genotypes(gram, n_rows, request=request, noise=noise)
        private_smallest_eigenvalue(gram, request=self.terms(request), noise=noise.of("genotypes"))

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        return super().arrays(drawn) | {"smallest_eigenvalue": np.array(drawn.smallest_eigenvalue)}

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        # The penalty follows from the scales of the noise.
        label_fields = {"n": label["n"], "events": tuple(map(event_of, label["events"]))}
        eigenvalue = float(arrays["smallest_eigenvalue"])
        return AdasspStatistics(**arrays | label_fields | {"smallest_eigenvalue": eigenvalue})

    def outputs(
        self, drawn: Any, names: Sequence[str], request: PrivacyRequest
    ) -> dict[tuple[str, ...], tuple]:
        by_part = super().outputs(drawn, names, request)
        by_part["genotypes",] += (drawn.smallest_eigenvalue,)
        return by_part


class AdasspFit(Fitter):
    """Ridge regression with the penalty that the noise of X'X asks for."""

    mechanism = Adassp

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.methods.audits.adassp import adassp_cases

        return adassp_cases()

    def fit(
        self,
        drawn: AdasspStatistics,
        *,
        request: PrivacyRequest,
        terms: "FitTerms",
        outcomes: np.ndarray | None = None,
    ) -> "LinearFit":
        return fit_adassp(drawn)
