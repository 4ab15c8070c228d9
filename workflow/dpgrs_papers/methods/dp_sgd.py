"""DP-SGD for linear regression in many outcomes, by matrix products in exact integers. Benchmarks only.

The event of a step does not contain that only a secret sample of the rows is in it, and the sums of a step
depend on the noise of the steps before it. A release can neither charge the one nor rehearse the other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import CALL_STEP, OUTCOME_STEP
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.outcome_grid import LARGEST_BOUND
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_count
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.privacy.accounting.composition import LARGEST_TIGHT_EPSILON, NUMERIC_ERROR
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.sensitivity import count_sensitivity
from dpgrs.types import Accounting, Neighbours, Rows

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.privacy.sensitivity import Sensitivity

# Weights lie on this grid and below this bound over their number, so that predictions are exact in float64.
WEIGHT_STEP = 2.0**-24
LARGEST_PREDICTION = 2**51  # in steps of a weight and of a row
LARGEST_RATE = 1e9
ROW_BLOCK = 4096  # rows whose residuals are in memory at a time
# The step of a privacy-loss distribution, relative to epsilon.
LOSS_STEP = 1e-3
# Whole orders only: the series of the others does not converge where little noise is needed.
ORDERS = (*range(2, 65), 128, 256, 512, 1024)
# Relative, for the noise.
TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class SgdRequest(PrivacyRequest):
    """The terms of DP-SGD: `gram_share` is not used. All are public, never tuned on the data.

    None as `clip` takes the norm of the gradient of a row of largest norm and a residual of 1; the clip is
    rounded down to a multiple of `OUTCOME_STEP`. The learning rate is times the inverse of the largest
    squared norm of a row: below 2 the steps would converge without noise. Replace-one is refused: Poisson
    samples are not accounted under it.
    """

    steps: int = 100
    sampling_rate: float = 0.1  # the chance of every unit to be in a step, above 0
    clip: float | None = None  # largest norm of the gradient of a row for an outcome
    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if Neighbours(self.neighbours) != Neighbours.ADD_REMOVE:
            raise UsageError(
                "neighbours-not-add-remove",
                f"`privacy.neighbours` must be {Neighbours.ADD_REMOVE} for DP-SGD, got {self.neighbours}. "
                "Change it, or leave the method out.",
            )
        clip_is_met = self.clip is None or OUTCOME_STEP <= self.clip <= LARGEST_BOUND
        for name, domain, is_met in (
            ("steps", "at least 1", self.steps >= 1),
            ("sampling_rate", "above 0 and at most 1", 0 < self.sampling_rate <= 1),
            ("clip", f"at least {OUTCOME_STEP:g} and at most {LARGEST_BOUND:g}", clip_is_met),
            (
                "learning_rate",
                f"above 0 and at most {LARGEST_RATE:g}",
                0 < self.learning_rate <= LARGEST_RATE,
            ),
        ):
            if not is_met:
                raise UsageError(
                    "field-out-of-domain",
                    f"`{name}` must be {domain}, got {getattr(self, name)}. Use the default.",
                )

    @property
    def row_norm_squared(self) -> float:
        """The largest squared norm of a row with its intercept 1/2."""
        return self.n_variants / (4 if self.rows == Rows.HAPLOTYPES else 1) + 1 / 4

    @property
    def clip_steps(self) -> int:
        """The clip in units of `OUTCOME_STEP`."""
        clip = math.sqrt(self.row_norm_squared) if self.clip is None else self.clip
        return int(min(clip, LARGEST_BOUND) / OUTCOME_STEP)

    @cached_property
    def noise_multiplier(self) -> float:
        """The standard deviation of a step's noise, per unit of its sensitivity."""
        return sampled_noise_multiplier(
            self.epsilon,
            self.delta,
            steps=self.steps,
            sampling_rate=self.sampling_rate,
            mu_count=self.budget["count"],
            accounting=self.accounting,
        )


@dataclass(frozen=True)
class SgdFit:
    """The results of DP-SGD, and their cost."""

    fit: LinearFit  # with means of 0: the intercept is a weight
    n: int  # the noisy number of rows
    events: tuple  # GaussianEvents, the count's, then each budget's of each step


def sampled_noise_multiplier(
    epsilon: float, delta: float, *, steps: int, sampling_rate: float, mu_count: float, accounting: Accounting
) -> float:
    """Find the noise for which a Gaussian count and Poisson-sampled steps are (epsilon, delta)-DP.

    It is a standard deviation per unit of sensitivity, rounded up. Accounting by `gdp` is by privacy-loss
    distributions, or Renyi divergences where these lack digits; by `paper` it is by Renyi divergences, the
    form that the paper's concentrated DP takes under sampling.
    """
    guess = math.sqrt(steps) / gdp_mu(epsilon, delta)
    numbers = (float(epsilon), float(delta), steps, float(sampling_rate), float(mu_count))
    return _smallest_noise(*numbers, Accounting(accounting), guess)


@lru_cache(maxsize=256)
def _smallest_noise(
    epsilon: float,
    delta: float,
    steps: int,
    sampling_rate: float,
    mu_count: float,
    accounting: Accounting,
    guess: float,
) -> float:
    from scipy.optimize import brentq  # takes 0.4 s, which most steps do without

    def excess(multiplier: float) -> float:
        event = sgd_event(multiplier, steps=steps, sampling_rate=sampling_rate, mu_count=mu_count)
        accountant, usable_delta = _accountant(epsilon, delta, steps, accounting)
        return accountant.compose(event).get_epsilon(usable_delta) - epsilon

    high = guess
    while excess(high) > 0:
        high *= 2
    low = high / 2
    while excess(low) <= 0:
        high, low = low, low / 2
    root = brentq(excess, low, high, xtol=TOLERANCE * low, rtol=TOLERANCE)
    while excess(root) > 0:
        root *= 1 + TOLERANCE
    return root


def sgd_event(multiplier: float, *, steps: int, sampling_rate: float, mu_count: float) -> Any:
    """Return the whole of DP-SGD, count and steps, as an event of `dp_accounting`."""
    # Takes 1 s, as do the imports below: a run without DP-SGD need not wait for them.
    from dp_accounting import ComposedDpEvent, GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent

    step = PoissonSampledDpEvent(sampling_rate, GaussianDpEvent(multiplier))
    return ComposedDpEvent([GaussianDpEvent(1 / mu_count), SelfComposedDpEvent(step, steps)])


def _accountant(epsilon: float, delta: float, steps: int, accounting: Accounting) -> tuple[Any, float]:
    """Return a fresh accountant, and the delta that it may use up: its own errors are taken off."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    usable_delta = delta - NUMERIC_ERROR * (10 + steps)
    if accounting == Accounting.PAPER or usable_delta <= 0 or epsilon > LARGEST_TIGHT_EPSILON:
        return RdpAccountant(ORDERS), delta
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    return PLDAccountant(relation, value_discretization_interval=LOSS_STEP * epsilon), usable_delta


def gradient_sensitivity(request: SgdRequest) -> "Sensitivity":
    """Bound the sum of all outcomes' clipped gradients over the rows of a step: sqrt(l) clip for each row."""
    one_row = count_sensitivity(**request.relation)
    rows, clip = Fraction(one_row.value), request.clip_steps * Fraction(OUTCOME_STEP)
    bound = root_above(request.n_outcomes * (rows * clip) ** 2)
    return replace(one_row, value=bound, law="dp_sgd/1")


def private_sgd(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    request: SgdRequest,
    noise: "NoiseSource",
    sample: Callable[[int], np.ndarray],
    outcome_names: Sequence[str] | None = None,
    row_step: float = CALL_STEP,
) -> SgdFit:
    """Descend the squared error of all outcomes by noisy sums of clipped gradients.

    Parameters
    ----------
    X : (n_rows, n_variants), `half` coding, as `coded_rows` gives.
    Y : (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, as `grid_outcomes` gives; of as many outcomes
        as the request says, or a multiple: every so many of them have a budget of their own.
    request : SgdRequest
    noise, outcome_names : as in `private_statistics`.
    sample : function number of a step -> (n_units,) bool, the secret sample of the step: every unit is in it
        independently with the request's `sampling_rate`. A person is in it with both haplotype rows or not
        at all.
    row_step : float, a power of 2 of which all entries of X are multiples: `CALL_STEP`, or `DOSAGE_STEP` of
        dosages and columns of tables.

    Returns
    -------
    SgdFit

    Privacy
    -------
    Unit as requested, neighbours add-remove. Sensitivity of a step `gradient_sensitivity`:
    docs/proofs/dp_sgd.md. Event GaussianEvent, as if the samples were public; as they are secret, all steps
    and the count (docs/proofs/count.md) are together (epsilon, delta)-DP for the outcomes of one budget.
    Public: all of the request. Not covered: relatives, and loss to those who know a sample.

    Raises
    ------
    UsageError
        If X or Y do not have the shape of the request.
    """
    names = outcome_names or [str(number) for number in range(len(Y))]
    if X.shape != (Y.shape[1], request.n_variants) or len(Y) % request.n_outcomes:
        raise UsageError(
            "statistics-shape",
            f"The rows must be of {request.n_variants} variants and {request.n_outcomes} outcomes a budget, "
            f"got {X.shape[1]} and {len(Y)}, or differ in number. Recompute them for this study.",
        )
    T = np.full((len(X), request.n_variants + 1), 1 / 2 / row_step, dtype=np.int16)
    T[:, :-1] = X / row_step
    n, event = private_count(len(X), request=request, noise=noise.of("genotypes"))
    budgets = range(0, len(Y), request.n_outcomes)
    sources = [noise.of("outcomes", *names[first : first + request.n_outcomes]) for first in budgets]
    W, events = np.zeros((len(Y), T.shape[1])), [event]
    rate = request.learning_rate / request.row_norm_squared / (request.sampling_rate * n)
    for step in range(request.steps):
        is_chosen = _rows_of(sample(step), request)
        options = {"clip_steps": request.clip_steps, "row_step": row_step}
        exact = gradient_sums(T[is_chosen], Y[:, is_chosen], W, **options)
        for first, source in zip(budgets, sources, strict=True):
            group = slice(first, first + request.n_outcomes)
            noisy, event = source.gaussian(
                exact[group],
                name=f"gradients, step {step}",
                step=OUTCOME_STEP * row_step,
                sensitivity=gradient_sensitivity(request),
                mu=1 / request.noise_multiplier,
            )
            events.append(event)
            descent = rate * (OUTCOME_STEP * row_step) / WEIGHT_STEP * noisy
            W[group] = on_weight_grid(W[group] - descent, row_step=row_step)
    weights = W * WEIGHT_STEP
    fit = LinearFit(weights[:, :-1], np.zeros(request.n_variants), weights[:, -1] / 2)
    return SgdFit(fit, n, tuple(events))


def gradient_sums(
    T: np.ndarray, Y: np.ndarray, W: np.ndarray, *, clip_steps: int, row_step: float = CALL_STEP
) -> np.ndarray:
    """Sum the clipped gradients of rows in exact integers, in units of `OUTCOME_STEP` times `row_step`.

    The gradient of (x'w - y)^2/2 is the residual times x. It is clipped by its coefficient, which is then
    rounded towards zero to `OUTCOME_STEP`, row by row (docs/proofs/dp_sgd.md).

    T, (n_rows, n_variants + 1) int16, are genotypes in `half` coding in units of `row_step`, the intercept
    last; Y, (n_outcomes, n_rows) int64, and `clip_steps`, the largest norm of a gradient, are in units of
    `OUTCOME_STEP`; W, (n_outcomes, n_variants + 1) float64, are whole steps of `WEIGHT_STEP`, from
    `on_weight_grid`. Sums are int64 of this shape.
    """
    sums = np.zeros(W.shape, dtype=np.int64)
    scale = OUTCOME_STEP / (WEIGHT_STEP * row_step)  # units of a prediction in one of an outcome
    for start in range(0, len(T), ROW_BLOCK):
        block = slice(start, start + ROW_BLOCK)
        rows = T[block].astype(np.float64)
        largest = largest_coefficients((rows**2).sum(axis=1), clip_steps=clip_steps, row_step=row_step)
        # Integers below 2^53 throughout: exact in float64, whatever the order of the sums in BLAS.
        residuals = W @ rows.T - Y[:, block] * scale
        assert residuals.shape == (len(W), len(rows))
        coefficients = np.trunc(np.clip(residuals / scale, -largest, largest))
        sums += (coefficients @ rows).astype(np.int64)
    return sums


def largest_coefficients(squares: np.ndarray, *, clip_steps: int, row_step: float = CALL_STEP) -> np.ndarray:
    """Return the largest whole c with c ||x|| <= clip, (n_rows,) int64.

    Squared norms of the rows, in units of `row_step`, are whole numbers above 0; other terms are as in
    `gradient_sums`.
    """
    bound = (clip_steps * int(1 / row_step)) ** 2  # may be beyond 64 bits
    return np.array([math.isqrt(bound // int(square)) for square in squares], dtype=np.int64)


def on_weight_grid(W: np.ndarray, *, row_step: float = CALL_STEP) -> np.ndarray:
    """Round weights in units of `WEIGHT_STEP` to whole ones, and cut them, so that predictions stay exact."""
    largest = LARGEST_PREDICTION // (int(1 / row_step) * W.shape[-1])
    return np.clip(np.rint(W), -largest, largest)


def _rows_of(is_unit_chosen: np.ndarray, request: SgdRequest) -> np.ndarray:
    return np.repeat(is_unit_chosen, request.rows_per_unit)
