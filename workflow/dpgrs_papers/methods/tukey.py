"""The Tukey mechanism, repaired: a private linear model among many that were fitted on parts of the rows.

Needs no bounds on the data. Models are rounded to a grid and all draws are exact, but no ledger counts its
delta, so it is for benchmarks. Where it differs from the papers [1]_ [2]_ and why is in
docs/explanation/tukey.md, the proof in docs/proofs/tukey.md.

References
----------
.. [1] Amin, Joseph, Ribero, Vassilvitskii (2023). Easy differentially private linear regression. ICLR.
.. [2] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError, require_domains
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.depth_sampler import DepthRegions
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Neighbours, Unit
from dpgrs_papers.methods.lower_count import private_lower_count
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms, smallest_passing
from dpgrs_papers.methods.tukey_models import fit_models, models_on_grid
from dpgrs_papers.types import DepthCheck

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

LAW = "tukey/1"
# Below, no depth is left that the check could pass; above, memory is wasted on a failed count.
SMALLEST_NUMBER, LARGEST_NUMBER = 8, 2**20
# 10^-12: half a step in a coefficient moves a prediction by less than 10^-6 even in a column of millions. A
# finer grid costs little, as only integers get longer.
STEP = 2.0**-40
# Powers of 2 beyond which models, or points, would leave the range of floats; and an epsilon far beyond any
# guarantee, with which weights stay in that of decimals.
LARGEST_EXPONENT, LARGEST_EPSILON = 200, 1e6


class Status(StrEnum):
    """How the mechanism ended. Without a model its budget is spent all the same."""

    RELEASED = "released"
    CHECK_FAILED = "check failed"
    TOO_FEW_MODELS = "too few models"


@dataclass(frozen=True, kw_only=True)
class TukeyRequest:
    """The public terms of the mechanism; any step and either check has the same guarantee.

    A model gets d `rows_per_coefficient` rows on average; with 1, as in the papers, about half of the groups
    are short of rows and pull the model towards 0 (docs/explanation/tukey.md). Models and the point are whole
    multiples of `step`. Under replace-one the number of rows is public and costs nothing.
    """

    epsilon: float  # of all of it
    delta: float  # of all of it
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    rows_per_unit: int = 1  # 2 for the haplotypes of a person
    count_share: float = 0.05  # of epsilon, for the noisy count under add-remove
    n_low: float | None = None  # number of units that was released before: none is counted here
    rows_per_coefficient: float
    step: float = STEP  # a power of 2; a coefficient below half of it counts as 0
    check: DepthCheck = DepthCheck.TIGHT  # the original one passes less often

    def __post_init__(self) -> None:
        require_domains(
            self,
            ("epsilon", "above 0 and at most 1000000", 0 < self.epsilon <= LARGEST_EPSILON),
            ("delta", "between 0 and 1", 0 < self.delta < 1),
            ("rows_per_unit", "at least 1", self.rows_per_unit >= 1),
            ("count_share", "between 0 and 1", 0 < self.count_share < 1),
            ("rows_per_coefficient", "a finite number above 0", 0 < self.rows_per_coefficient < math.inf),
            ("step", f"a power of 2, 2^-{LARGEST_EXPONENT} to 2^{LARGEST_EXPONENT}", _is_step(self.step)),
        )

    @property
    def has_private_count(self) -> bool:
        """Whether the number of rows is to be drawn: neighbours differ in it, and it is not known."""
        return self.n_low is None and Neighbours(self.neighbours) == Neighbours.ADD_REMOVE

    @property
    def count_epsilon(self) -> float:
        """The cost of the count."""
        return self.epsilon * self.count_share if self.has_private_count else 0.0

    def sensitivity(self, norm: str) -> Sensitivity:
        """Return the claim of the count, of the distance of the check and of a depth: 1 each."""
        return Sensitivity(1.0, norm, Neighbours(self.neighbours), Unit(self.unit), LAW)


def _is_step(number: float) -> bool:
    mantissa, exponent = math.frexp(number)
    return mantissa == 0.5 and abs(exponent - 1) <= LARGEST_EXPONENT


@dataclass(frozen=True)
class TukeyFit:
    """The results of the mechanism, and their cost."""

    weights: np.ndarray | None  # (d,) float64; None if there is no model
    status: Status
    n_models: int  # public
    events: tuple  # LaplaceEvents and a DepthEvent, of all that was paid for: the same whatever the noise


def private_tukey(X: np.ndarray, y: np.ndarray, *, request: TukeyRequest, noise: "NoiseSource") -> TukeyFit:
    """Fit linear models on random parts of the rows and draw a point that lies deep among them.

    Parameters
    ----------
    X : (n_rows, d), with a column of ones where an intercept is wanted; rows of a unit one after the other.
    y : (n_rows,). A row with a value that is missing or infinite counts as a row of zeros.
    request : TukeyRequest
    noise : NoiseSource. A ledger refuses the DepthEvent.

    Returns
    -------
    TukeyFit

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity 1 of the count of units, of the distance to an unsafe set of
    models and of a depth: docs/proofs/tukey.md. A LaplaceEvent of the count, where it is drawn,
    another of the check and a DepthEvent are together (epsilon, delta)-DP. Public: d and the request; the
    number of models, after the count. Not covered: relatives.

    Raises
    ------
    UsageError
        If the rows are not whole units or y is not as long.
    """
    if X.ndim != 2 or y.shape != X.shape[:1] or len(X) % request.rows_per_unit:
        raise UsageError(
            "rows-not-of-whole-units",
            f"The rows must be of whole units of {request.rows_per_unit} with an outcome each. "
            "Pass all rows.",
        )
    n_units = len(X) // request.rows_per_unit
    n_low, events = n_units if request.n_low is None else request.n_low, ()
    if request.has_private_count:
        epsilon = request.count_epsilon
        n_low, *events = private_lower_count(n_units, epsilon=epsilon, request=request, noise=noise)
    n_models = number_of_models(n_low * request.rows_per_unit, X.shape[1], request=request)
    # The draws below depend on the count: the data are marked instead.
    noise = noise.on(data_digest(X, y))
    models = models_of_groups(X, y, n_models=n_models, request=request, noise=noise)
    epsilon = request.epsilon - request.count_epsilon
    fit = private_deep_point(models, epsilon=epsilon, request=request, noise=noise)
    return replace(fit, events=(*events, *fit.events))


def number_of_models(n_rows: float, n_coefficients: int, *, request: TukeyRequest) -> int:
    """Return m = floor(n/d) of public numbers, for groups of so many rows as requested.

    The number of rows is public or already released, and may be negative; m is from 0 to `LARGEST_NUMBER`.
    """
    number = math.floor(n_rows / (n_coefficients * request.rows_per_coefficient))
    return min(max(number, 0), LARGEST_NUMBER)


def models_of_groups(
    X: np.ndarray, y: np.ndarray, *, n_models: int, request: TukeyRequest, noise: "NoiseSource"
) -> np.ndarray:
    """Assign every unit to a group at random, and fit least squares on each: not private by itself.

    The result is (n_models, d) float64, whole numbers of steps of the grid, of which one unit changes one
    row; zeros if there are too few to draw from.
    """
    if n_models < SMALLEST_NUMBER:
        return np.zeros((n_models, X.shape[1]))
    # By unit, not by row: then a person of two rows changes one model too.
    n_units = len(X) // request.rows_per_unit
    groups = noise.assign_groups(n_units, name="groups of units", n_groups=n_models)
    models = fit_models(X, y, np.repeat(groups, request.rows_per_unit), n_models=n_models)
    return models_on_grid(models, request.step)


def private_deep_point(
    models: np.ndarray, *, epsilon: float, request: TukeyRequest, noise: "NoiseSource"
) -> TukeyFit:
    """Draw a point that lies deep among models, if a noisy check finds it safe.

    Parameters
    ----------
    models : (n_models, d) float64, whole numbers of steps of the grid.
    epsilon : float > 0, one half for the check and one for the draw.
    request : TukeyRequest, for delta, the step, the unit and the neighbours.
    noise : NoiseSource. A ledger refuses the DepthEvent.

    Returns
    -------
    TukeyFit. Too few models are not drawn from, but paid for: costs must not depend on a noisy count.

    Privacy
    -------
    Neighbours differ in one model. Sensitivity 1 of the distance to an unsafe set and of a depth:
    docs/proofs/tukey.md. A LaplaceEvent and a DepthEvent are together (epsilon, delta)-DP. Public: the number
    of models, d and the request.

    Raises
    ------
    UsageError
        If the models are not of whole numbers.
    """
    regions, half = DepthRegions(models), epsilon / 2
    rate, limit = safety_terms(half, request.delta)
    noisy_step, check_event = noise.laplace(
        np.int64(largest_safe_step(regions, rate=rate, limit=limit, check=request.check)),
        name="safe step",
        step=1.0,
        sensitivity=request.sensitivity("l1"),
        epsilon=half,
    )
    are_enough = len(models) >= SMALLEST_NUMBER
    point, draw_event = noise.deep_point(
        models,
        name="deep point",
        sensitivity=request.sensitivity("linf"),
        epsilon=half,
        delta=request.delta,
        is_safe=bool(are_enough and noisy_step > smallest_passing(half, request.delta)),
    )
    if point is None:
        status = Status.CHECK_FAILED if are_enough else Status.TOO_FEW_MODELS
        return TukeyFit(None, status, len(models), (check_event, draw_event))
    weights = np.array([float(coordinate) for coordinate in point]) * request.step
    return TukeyFit(weights, Status.RELEASED, len(models), (check_event, draw_event))
