"""A small private regression of outcomes on covariates, before other statistics of the outcomes are summed.

Its effects gamma are then public: the outcomes of every row become y - c'gamma, and are clipped after that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.covariate_regression import (
    PRODUCT_STEP,
    SQUARE_STEP,
    RegressionSums,
    intercept_units,
    regression_effects,
)
from dpgrs.linalg.norms import SPREAD, budget_groups
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import split_budget, split_mu
from dpgrs.privacy.sensitivity import Sensitivity, covariate_regression_sensitivity
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

STATISTIC = "covariate regression"
# The variance of an outcome that covariates are expected to explain; the less, the more noise C'C has.
EXPLAINED = 0.1
# The share of the squared sensitivity of C'Y that counts of known rows add.
KNOWN_PART = 1 / 8
# The largest share of an outcome's variance that the noise may cost, and the bounds of the share of mu^2.
LARGEST_LOSS, SMALLEST_SHARE, LARGEST_SHARE = 0.001, 0.03, 0.3
# The factor of the expected loss for clips of rows, which add to the noise.
CLIPS = 1.44


def expected_loss(n_columns: int, n_outcomes: int, *, share: float, mu: float, n_rows: float) -> float:
    """Return the share of an outcome's variance that the noise of a regression on covariates costs.

    `n_columns` are the covariates and the intercept. Without clips the noise of C'Y costs K^2 l/(g mu^2 n^2);
    the noise of C'C multiplies this by the factor of `CovariateRequest.square_weight`.
    """
    clips = CLIPS * (1 + SPREAD / n_outcomes) ** 2
    squares = (1 + math.sqrt(EXPLAINED * n_columns / n_outcomes / 2)) ** 2
    return clips * squares * n_columns**2 * n_outcomes / (share * mu**2 * n_rows**2)


def default_share(n_columns: int, n_outcomes: int, *, mu: float, n_rows: float | None) -> float:
    """Return the share of mu^2 of a regression on covariates, from public numbers only, to two digits.

    It is the smallest share with a loss of at most `LARGEST_LOSS`, between `SMALLEST_SHARE` and
    `LARGEST_SHARE`; without a planned number of rows it is `SMALLEST_SHARE`.
    """
    if n_rows is None:
        return SMALLEST_SHARE
    required_share = expected_loss(n_columns, n_outcomes, share=1.0, mu=mu, n_rows=n_rows) / LARGEST_LOSS
    return float(f"{min(max(required_share, SMALLEST_SHARE), LARGEST_SHARE):.2g}")


@dataclass(frozen=True, kw_only=True)
class CovariateRequest(PrivacyRequest):
    """The terms of a regression on covariates: `row_norm` is of its rows, whose only columns are covariates.

    It raises UsageError if outcomes are public, or without covariates, a share or a norm of outcomes.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protection == Protection.FEATURE:
            raise UsageError(
                "covariates-first-under-feature-protection",
                "`covariates.first` must be false under feature protection, where outcomes are public and "
                "what is left of them is not, got true. Change it.",
            )
        if self.covariate_share is None or self.outcome_norm is None or not self.n_covariates:
            raise UsageError(
                "covariate-regression-incomplete",
                "A regression on covariates must have covariates, a share of the budget and a norm of "
                f"outcomes, got {self.n_covariates}, {self.covariate_share} and {self.outcome_norm}. "
                "Give each.",
            )

    @property
    def n_entries(self) -> int:
        """How many entries a row of the regression has: the intercept and the covariates."""
        return self.n_covariates + 1

    @property
    def intercept(self) -> int:
        """The entry of the intercept, in steps of X."""
        return intercept_units(bound=self.covariate_bound, rows=self.rows)

    @cached_property
    def budget(self) -> dict[str, float]:
        """The mu of the one vector that is drawn, ``covariates``."""
        (mu,) = split_budget(self.epsilon, self.delta, shares=(1.0,), accounting=self.accounting)
        return {"covariates": split_mu(mu, share=self.covariate_share)[1]}

    @property
    def cross_step(self) -> float:
        """One unit of the vector."""
        return PRODUCT_STEP

    @property
    def square_weight(self) -> int:
        """The factor of C'C in the vector, in steps of C'Y per step of C'C.

        With b = a R/C, noise costs (1 + b^2/2) (1 + r/b^2) times as much as the noise of C'Y only. Here r is
        the variance that covariates explain, times their number over the number of outcomes. The cost is
        least at b^4 = 2 r.
        """
        fourth = 2 * EXPLAINED * self.n_entries / self.n_outcomes
        weight = fourth**0.25 * self.outcome_norm / self.row_norm
        return max(1, math.floor(weight * SQUARE_STEP / PRODUCT_STEP))

    @property
    def known_weight(self) -> int:
        """The factor of sums over rows with an outcome, in the same steps; 0 without these sums."""
        if not self.counts_outcomes:
            return 0
        square = (self.intercept * GENOTYPE_STEP) ** 2
        weight = math.sqrt(KNOWN_PART / self.n_outcomes) * self.outcome_norm * self.row_norm / square
        return max(1, math.floor(weight * SQUARE_STEP / PRODUCT_STEP))

    @cached_property
    def claim(self) -> Sensitivity:
        """The sensitivity of the vector, of the outcomes of one budget."""
        unit = Fraction(PRODUCT_STEP) / Fraction(SQUARE_STEP)
        return covariate_regression_sensitivity(
            self.n_entries,
            self.n_outcomes,
            row_norm=self.row_norm,
            outcome_norm=self.outcome_norm,
            outcome_bound=self.outcome_bound,
            intercept=self.intercept * GENOTYPE_STEP,
            square_weight=self.square_weight * unit,
            known_weight=self.known_weight * unit,
            **self.relation,
        )


@dataclass(frozen=True)
class CovariateEffects:
    """A regression after the mechanism."""

    # (n_outcomes, n_covariates + 1) float64, of one unit of a row's intercept and covariates
    effects: np.ndarray
    # (n_budgets, n_entries of the vector) int64, the noisy vectors in units of the request's `cross_step`
    vectors: np.ndarray
    events: tuple = ()
    n = None  # the rows are not counted


def private_covariate_regression(
    sums: RegressionSums,
    *,
    request: CovariateRequest,
    noise: "NoiseSource",
    outcome_names: Sequence[str],
) -> "tuple[np.ndarray, tuple[GaussianEvent, ...]]":
    """Release the sums of a regression on covariates.

    Parameters
    ----------
    sums : RegressionSums, exact, of rows clipped at the norms of the request.
    request : CovariateRequest
    noise : NoiseSource. Its parts are ``outcomes`` with their names for each budget.
    outcome_names : n_outcomes str, public.

    Returns
    -------
    (n_budgets, n_entries) int64 in units of the request's `cross_step`, as `exact_vector` lays them out, and
    a tuple of events.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `covariate_regression_sensitivity`:
    docs/proofs/covariate_regression.md. Event GaussianEvent, one for every budget. Public: all of the
    request. Not covered: relatives.

    Raises
    ------
    UsageError
        If the sums do not have the shape of the request.
    """
    n_columns, n_outcomes = request.n_entries, len(outcome_names)
    shapes = (sums.gram.shape, sums.cross.shape, sums.known.shape)
    expected = ((n_columns, n_columns), (n_outcomes, n_columns), (n_outcomes,))
    if shapes != expected or n_outcomes % request.n_outcomes:
        raise UsageError(
            "covariate-sums-shape",
            f"The sums must be of {request.n_covariates} covariates and {request.n_outcomes} outcomes a "
            "budget, got others. Sum them again for this study.",
        )
    vectors, events = [], ()
    for group in budget_groups(n_outcomes, n_shared=request.n_outcomes):
        vector, event = noise.of("outcomes", *outcome_names[group]).gaussian(
            exact_vector(sums, group, request),
            name=STATISTIC,
            step=request.cross_step,
            sensitivity=request.claim,
            mu=request.budget["covariates"],
        )
        vectors.append(vector)
        events += (event,)
    return np.array(vectors), events


def exact_vector(sums: RegressionSums, group: slice, request: CovariateRequest) -> np.ndarray:
    """Return the vector of one budget, int64: weighted C'C (upper triangle), C'Y and any weighted counts."""
    upper = sums.gram[np.triu_indices(request.n_entries)] * request.square_weight
    counts = [sums.known[group] * request.known_weight] if request.known_weight else []
    return np.concatenate([upper, sums.cross[group].ravel(), *counts])


def covariate_effects(vectors: np.ndarray, *, request: CovariateRequest, slopes: np.ndarray) -> np.ndarray:
    """Estimate the effects of intercept and covariates on all outcomes, from public terms only.

    `vectors` are from `private_covariate_regression`; `slopes`, (n_outcomes,) float64, are the shares of
    effects that clips leave. The result is (n_outcomes, n_covariates + 1) float64.
    """
    groups = budget_groups(len(slopes), n_shared=request.n_outcomes)
    pairs = zip(vectors, groups, strict=True)
    return np.vstack([_effects_of_budget(vector, request, slopes[group]) for vector, group in pairs])


def _effects_of_budget(vector: np.ndarray, request: CovariateRequest, slopes: np.ndarray) -> np.ndarray:
    n_columns, n_outcomes = request.n_entries, request.n_outcomes
    triangle = np.triu_indices(n_columns)
    sizes = len(triangle[0]), n_outcomes * n_columns
    upper, cross, counts = np.split(vector * request.cross_step, np.cumsum(sizes))
    # Products of two entries are in coarser steps, times a weight.
    unit = request.cross_step / SQUARE_STEP * np.array([request.square_weight, request.known_weight or 1])
    gram = np.zeros((n_columns, n_columns))
    gram[triangle] = gram.T[triangle] = upper / unit[0]
    n_known = counts / unit[1] if len(counts) else np.full(n_outcomes, gram[0, 0])
    sd = request.claim.value / request.budget["covariates"]
    sums = RegressionSums(gram, cross.reshape(n_outcomes, n_columns), n_known)
    return regression_effects(sums, square_sd=sd / unit[0], cross_sd=sd, slopes=slopes)
