"""Accuracy on held-out private people, as a mechanism: clipped squares, summed in integers, and noise.

R^2 and mean squared error follow from three sums for every outcome: of squared residuals, of squared outcomes
and of the rows on which it is known. The weights are released, hence public.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.outcome_grid import LARGEST_BOUND, LARGEST_OUTCOME, grid_outcomes
from dpgrs.linalg.statistics import LARGEST_ROWS
from dpgrs.privacy.accounting.accountant import split_budget
from dpgrs.privacy.sensitivity import Sensitivity, accuracy_sensitivity
from dpgrs.types import Accounting, Neighbours, Rows, Unit

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

WEIGHT_STEP = 2.0**-24  # one unit of a weight on its grid
SQUARE_STEP = OUTCOME_STEP  # one unit of a squared residual or outcome
SQUARE_BITS = 16  # of a product of two outcomes' units below one unit of a square
# Multiples of 1/2 below this are exact in float64.
LARGEST_PREDICTION = 2**51
LOW_BITS = 24  # of a weight
COVARIATE_BITS = 11  # of an entry of a covariate or dosage, in steps of 2^-12, below 1/2
# Standard deviations of the noise, which exceeds them with a probability of 3e-7.
SMALLEST_DENOMINATOR = 5
SMALLEST_APART = 0.05  # of the squares of the two values of a 0/1 outcome
TERMS_OF_REQUEST = ("rows", "n_outcomes", "outcome_bound", "delta", "neighbours", "unit", "accounting")


@dataclass(frozen=True)
class AccuracyRequest:
    """All public terms of one release of accuracy."""

    rows: Rows
    n_outcomes: int  # outcomes that share (epsilon, delta)
    outcome_bound: float  # at which outcomes are clipped
    residual_bound: float  # at which residuals are clipped
    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    accounting: Accounting = Accounting.GDP

    @classmethod
    def of(cls, request: Any, evaluation: Any) -> Self:
        """Return the request under the terms of a request for fits, by the section ``evaluation`` of the
        settings."""
        request_fields = {name: getattr(request, name) for name in TERMS_OF_REQUEST}
        bound = evaluation.residual_bound or request.outcome_bound
        return cls(epsilon=evaluation.epsilon, residual_bound=bound, **request_fields)

    @cached_property
    def mu(self) -> float:
        """The budget as the mu of one Gaussian mechanism."""
        return split_budget(self.epsilon, self.delta, shares=(1.0,), accounting=self.accounting)[0]

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The claim about all sums of the outcomes that share the budget."""
        return accuracy_sensitivity(
            self.n_outcomes,
            rows=self.rows,
            neighbours=self.neighbours,
            unit=self.unit,
            outcome_bound=self.outcome_bound,
            residual_bound=self.residual_bound,
        )

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of every sum, in squared units of the outcomes."""
        return self.sensitivity.value / self.mu


@dataclass(frozen=True)
class Accuracy:
    """R^2, mean squared error and counts with standard deviations of their noise, (n_outcomes,) float64 each.

    Values are NaN where noise drowns them. Counts are of rows on which an outcome is known; cases and
    controls are NaN if an outcome is not 0/1, or its two values have nearly the same square.
    """

    r2: np.ndarray
    mse: np.ndarray
    r2_sd: np.ndarray
    mse_sd: np.ndarray
    n: np.ndarray
    n_sd: np.ndarray
    cases: np.ndarray
    cases_sd: np.ndarray
    controls: np.ndarray
    controls_sd: np.ndarray


def grid_weights(fit: "LinearFit") -> np.ndarray:
    """Return the weights of a fit on a public grid, on which its predictions are exact; refuse infinite ones.

    They are (n_outcomes, n_variants + 1) int64 in units of `WEIGHT_STEP`, the prediction at x = 0 last.
    Weights are cut at `LARGEST_PREDICTION` over their number, far beyond any that could predict a bounded
    outcome. Weights are public.
    """
    if not all(np.isfinite(array).all() for array in fit.arrays().values()):
        raise DpgrsError(
            "weights-not-finite",
            "Weights must be finite to be measured, got some that are not. Release none of them.",
        )
    weights = np.hstack([fit.weights, fit.predict(np.zeros((1, fit.weights.shape[1])))])
    largest = LARGEST_PREDICTION // weights.shape[1]
    return np.clip(np.rint(weights / WEIGHT_STEP), -largest, largest).astype(np.int64)


def accuracy_sums(
    Y: np.ndarray,
    X: np.ndarray,
    weights: np.ndarray,
    *,
    outcome_bound: float,
    residual_bound: float,
    covariates: np.ndarray | None = None,
) -> np.ndarray:
    """Sum squared residuals, squared outcomes and `outcome_bound` for every observed row, in integers.

    Y is (n_outcomes, n_rows) float64, publicly standardised, NaN where missing; a missing outcome adds 0 to
    each sum. X is (n_rows, n_variants) float64, `half` coding of calls; of dosages (n_rows, 0). Weights are
    (n_outcomes, n_variants + n_covariates + 1) int64, as `grid_weights` gives. Covariates are (n_covariates,
    n_rows) int16 in units of `GENOTYPE_STEP`, with dosages after them in `half` coding. Both bounds are
    public. The sums are (3, n_outcomes) int64 in units of `SQUARE_STEP`, private.

    Outcomes are clipped at their bound, then residuals at theirs, and both are squared and rounded towards
    zero onto the grid, row by row. No sum overflows: bounds of at most 1000 are below 2^26 `OUTCOME_STEP`, so
    a square is below 2^36 `SQUARE_STEP`, and 2^25 rows are below 2^61. More than `LARGEST_ROWS` rows, and a
    bound that is not above 0 and at most 1000, are refused.
    """
    if len(X) > LARGEST_ROWS:
        raise UsageError(
            "too-many-rows", f"Sums are exact for at most {LARGEST_ROWS} rows. Hold fewer people out."
        )
    if not 0 < residual_bound <= LARGEST_BOUND:
        raise UsageError(
            "residual-bound-out-of-range",
            f"`evaluation.residual_bound` must be above 0 and at most {LARGEST_BOUND:g}, got "
            f"{residual_bound}. Leave it out.",
        )
    outcomes, limit = grid_outcomes(Y, bound=outcome_bound), int(residual_bound / OUTCOME_STEP)
    is_observed = ~np.isnan(Y)
    residuals = np.clip(outcomes - _predict(X, weights, covariates), -limit, limit)
    row_weight = int(outcome_bound / SQUARE_STEP)
    sums = [
        _sum_squares(np.where(is_observed, residuals, 0)),
        _sum_squares(outcomes),
        row_weight * is_observed.sum(axis=1),
    ]
    return np.array(sums)


def private_accuracy(
    sums: np.ndarray,
    *,
    request: AccuracyRequest,
    noise: "NoiseSource",
    outcome_names: Sequence[str] | None = None,
) -> "tuple[np.ndarray, tuple[GaussianEvent, ...]]":
    """Release the sums that R^2 and mean squared error follow from.

    Parameters
    ----------
    sums : (3, n_outcomes) int64 of the held-out rows, from `accuracy_sums`; of as many outcomes as the
        request says, or a multiple: every so many of them have a budget of their own.
    request : AccuracyRequest
    noise : NoiseSource. Its parts are ``accuracy`` with the names of the outcomes of each budget.
    outcome_names : n_outcomes str, public; None numbers them.

    Returns
    -------
    (3, n_outcomes) int64 in units of `SQUARE_STEP`, and a tuple of the events.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `accuracy_sensitivity`: docs/proofs/accuracy.md. One
    GaussianEvent for each budget. Public: the weights, both bounds, who is held out, given the ids. Not
    covered: relatives.

    Raises
    ------
    UsageError
        If the sums do not have the shape of the request.
    """
    names = outcome_names or [str(number) for number in range(sums.shape[1])]
    if sums.shape != (3, len(names)) or len(names) % request.n_outcomes:
        raise UsageError(
            "accuracy-sums-shape",
            f"The sums must be three for each of {request.n_outcomes} outcomes a budget, "
            f"got an array of {sums.shape}. Recompute them for this study.",
        )
    noisy, events = np.empty_like(sums), []
    for first in range(0, len(names), request.n_outcomes):
        group = slice(first, first + request.n_outcomes)
        noisy[:, group], event = noise.of("accuracy", *names[group]).gaussian(
            sums[:, group],
            name="accuracy",
            step=SQUARE_STEP,
            sensitivity=request.sensitivity,
            mu=request.mu,
        )
        events.append(event)
    return noisy, tuple(events)


def measure(sums: np.ndarray, *, request: AccuracyRequest, prevalence: np.ndarray | None = None) -> Accuracy:
    """Turn noisy sums into R^2 = 1 - RSS/TSS, TSS about the public mean 0, and mean squared error RSS/n.

    An outcome whose TSS or n is below `SMALLEST_DENOMINATOR` standard deviations of its noise has neither.
    Sums and request are of `private_accuracy`; a prevalence, (n_outcomes,) float64, is public, and NaN of
    outcomes that are not 0/1: the squares of their two values tell cases from controls. Standard deviations
    are of the noise, to first order, without the chance in who is held out.
    """
    # Of n the unit is a row, which counts as much as the outcome bound.
    units = np.array([1.0, 1.0, request.outcome_bound])
    residual, total, n_observed = (sums.T * SQUARE_STEP / units).T
    _, total_sd, count_sd = request.noise_sd / units
    is_clear = (total >= SMALLEST_DENOMINATOR * total_sd) & (n_observed >= SMALLEST_DENOMINATOR * count_sd)
    total, n_observed = np.where(is_clear, total, np.nan), np.where(is_clear, n_observed, np.nan)
    unexplained, mse = residual / total, residual / n_observed
    prevalence = np.full(sums.shape[1], np.nan) if prevalence is None else prevalence
    # Of controls and of cases, clipped.
    low, high = (np.minimum(odds, request.outcome_bound**2) for odds in _odds(prevalence))
    apart = np.where(np.abs(high - low) < SMALLEST_APART, np.nan, high - low)
    return Accuracy(
        n=n_observed,
        n_sd=np.where(is_clear, count_sd, np.nan),
        cases=(total - n_observed * low) / apart,
        cases_sd=np.hypot(request.noise_sd, low * count_sd) / np.abs(apart),
        controls=(n_observed * high - total) / apart,
        controls_sd=np.hypot(request.noise_sd, high * count_sd) / np.abs(apart),
        r2=1 - unexplained,
        mse=mse,
        r2_sd=np.hypot(1, unexplained) * request.noise_sd / total,
        mse_sd=np.hypot(request.noise_sd, mse * count_sd) / n_observed,
    )


def _odds(prevalence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squares of the two values of standardised 0/1 outcomes, of controls and of cases."""
    return prevalence / (1 - prevalence), (1 - prevalence) / prevalence


def _predict(X: np.ndarray, weights: np.ndarray, covariates: np.ndarray | None = None) -> np.ndarray:
    """Predict in units of `OUTCOME_STEP`, (n_outcomes, n_rows) int64, rounded towards zero.

    Products and partial sums are multiples of 1/2 below `LARGEST_PREDICTION`: BLAS is exact in float64, in
    any order. Predictions are cut where the residual of any outcome is beyond every bound. The products of
    covariates and dosages are summed in int64, below 2^63, and rounded down to a multiple of 1/2, row by row.
    """
    units = weights[:, : X.shape[1]].astype(np.float64) @ X.T + weights[:, -1:]
    if covariates is not None:
        units += (_exact_product(weights[:, X.shape[1] : -1], covariates) >> COVARIATE_BITS) / 2
    steps = np.trunc(units * (WEIGHT_STEP / OUTCOME_STEP))
    return np.clip(steps, -2 * LARGEST_OUTCOME, 2 * LARGEST_OUTCOME).astype(np.int64)


def _exact_product(weights: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Return the int64 ``weights @ entries`` of weights cut by `grid_weights` and int16 of at most 2^12.

    Of each half of the weights, products and their sums over 2^17 columns are below 2^53: BLAS is exact, and
    much faster than integers.
    """
    entries = entries.astype(np.float64)
    high, low = weights >> LOW_BITS, weights & ((1 << LOW_BITS) - 1)
    of_high, of_low = ((half.astype(np.float64) @ entries).astype(np.int64) for half in (high, low))
    return (of_high << LOW_BITS) + of_low


def _sum_squares(values: np.ndarray) -> np.ndarray:
    """Square, round down to units of `SQUARE_STEP`, and sum up each outcome's rows."""
    return (values**2 >> SQUARE_BITS).sum(axis=1)
