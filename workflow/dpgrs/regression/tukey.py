"""The Tukey mechanism, repaired: a private linear model among many that were fitted on parts of the rows.

Needs no bounds on the data. It works on floats, so it is for benchmarks alone. Where it differs from the
papers [1]_ [2]_ and why is in docs/tukey.md, the proof in docs/proofs/tukey.md.

References
----------
.. [1] Amin, Joseph, Ribero, Vassilvitskii (2023). Easy differentially private linear regression. ICLR.
.. [2] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

import math
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.events import DepthEvent
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.regression.tukey_check import Check, largest_safe_step, safety_terms, smallest_passing
from dpgrs.regression.tukey_depth import draw_depth, draw_point, log_volumes
from dpgrs.regression.tukey_models import fit_models
from dpgrs.types import Neighbours, Unit

PROOF = "docs/proofs/tukey.md"
# The noisy count is lowered so far that it is above the true one with about this probability.
FAILURE = 1e-4
# Below, no depth is left that the check could pass; above, memory is wasted on a failed count.
SMALLEST_NUMBER, LARGEST_NUMBER = 8, 2**20
# What tells equal models apart, in units of a coefficient.
PERTURBATION = 1e-10


class Status(StrEnum):
    """How the mechanism ended. Without a model its budget is spent all the same."""

    RELEASED = "released"
    CHECK_FAILED = "check failed"
    TOO_FEW_MODELS = "too few models"


@dataclass(frozen=True, kw_only=True)
class TukeyRequest:
    """The public terms of the mechanism.

    Attributes
    ----------
    epsilon, delta : float, of all of it.
    neighbours : Neighbours. Under replace-one the number of rows is public and costs nothing.
    unit : Unit
    rows_per_unit : int > 0, rows in a row that belong to one unit: 2 for the haplotypes of a person.
    check : Check
    count_share : float in (0, 1), of epsilon, for the noisy count under add-remove.
    rows_per_coefficient : float > 0. A model gets d times so many rows on average; with 1, as in the papers,
        about half of the groups are short of rows and pull the model towards 0 (docs/tukey.md).

    Raises
    ------
    UsageError
        For terms out of their domain.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    rows_per_unit: int = 1
    check: Check = Check.TIGHT
    count_share: float = 0.05
    rows_per_coefficient: float = 1.0

    def __post_init__(self):
        for name, domain, is_met in (
            ("epsilon", "a finite number above 0", 0 < self.epsilon < math.inf),
            ("delta", "between 0 and 1", 0 < self.delta < 1),
            ("rows_per_unit", "at least 1", self.rows_per_unit >= 1),
            ("check", f"one of {', '.join(Check)}", self.check in list(Check)),
            ("count_share", "between 0 and 1", 0 < self.count_share < 1),
            ("rows_per_coefficient", "a finite number above 0", 0 < self.rows_per_coefficient < math.inf),
        ):
            if not is_met:
                raise UsageError(f"`{name}` must be {domain}, got {getattr(self, name)}. Change it.")

    @property
    def has_private_count(self):
        """Whether neighbours differ in the number of rows."""
        return Neighbours(self.neighbours) == Neighbours.ADD_REMOVE

    @property
    def count_epsilon(self):
        """What the count costs, a float."""
        return self.epsilon * self.count_share if self.has_private_count else 0.0

    def sensitivity(self, norm):
        """Return the claim of the count, of the distance of the check and of a depth: 1 each."""
        return Sensitivity(1.0, norm, Neighbours(self.neighbours), Unit(self.unit), PROOF)


@dataclass(frozen=True)
class TukeyFit:
    """What the mechanism gives and costs.

    Attributes
    ----------
    weights : (d,) float64, or None if there is no model.
    status : Status
    n_models : int, public.
    events : tuple of LaplaceEvent and DepthEvent, of all that was paid for.
    """

    weights: np.ndarray | None
    status: Status
    n_models: int
    events: tuple


def private_tukey(X, y, *, request, noise):
    """Fit linear models on random parts of the rows and draw a point that lies deep among them.

    Parameters
    ----------
    X : (n_rows, d), with a column of ones where an intercept is wanted; rows of a unit one after the other.
    y : (n_rows,). A row with a value that is missing or infinite counts as a row of zeros.
    request : TukeyRequest
    noise : NoiseSource of a benchmark.

    Returns
    -------
    TukeyFit

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity 1 of the count of units, of the distance to an unsafe set of
    models and of a depth: docs/proofs/tukey.md. A LaplaceEvent of the count (not under replace-one), another
    of the check and a DepthEvent are together (epsilon, delta)-DP. Public: d and the request; the number of
    models, after the count. Not covered: relatives, and what the last bits of floats tell.

    Raises
    ------
    UsageError
        If the rows are not whole units or y is not as long, and in a release.
    """
    if X.ndim != 2 or y.shape != X.shape[:1] or len(X) % request.rows_per_unit:
        raise UsageError(
            f"The rows must be of whole units of {request.rows_per_unit} with an outcome each. Pass all rows."
        )
    n_units = len(X) // request.rows_per_unit
    n_low, events = n_units, ()
    if request.has_private_count:
        epsilon = request.count_epsilon
        n_low, *events = private_lower_count(n_units, epsilon=epsilon, request=request, noise=noise)
    n_models = number_of_models(n_low * request.rows_per_unit, X.shape[1], request=request)
    if n_models < SMALLEST_NUMBER:
        return TukeyFit(None, Status.TOO_FEW_MODELS, n_models, tuple(events))
    models = models_of_groups(X, y, n_models=n_models, request=request, noise=noise)
    epsilon = request.epsilon - request.count_epsilon
    fit = private_deep_point(models, epsilon=epsilon, request=request, noise=noise)
    return replace(fit, events=(*events, *fit.events))


def number_of_models(n_rows, n_coefficients, *, request):
    """Return m = floor(n/d) of public numbers, for groups of so many rows as requested.

    Parameters
    ----------
    n_rows : float, public or already released; may be negative.
    n_coefficients : int > 0
    request : TukeyRequest

    Returns
    -------
    int in [0, `LARGEST_NUMBER`]
    """
    number = math.floor(n_rows / (n_coefficients * request.rows_per_coefficient))
    return min(max(number, 0), LARGEST_NUMBER)


def models_of_groups(X, y, *, n_models, request, noise):
    """Assign every unit to a group at random, and fit least squares on each: not private by itself.

    Parameters
    ----------
    X, y : as in `private_tukey`.
    n_models : int > 0, public.
    request : TukeyRequest
    noise : NoiseSource of a benchmark.

    Returns
    -------
    (n_models, d) finite float64, of which one unit changes one.
    """
    generator = noise.generator("assignment of rows", *astuple(request), n_models)
    # By unit, not by row: then a person of two rows changes one model too.
    groups = generator.integers(n_models, size=len(X) // request.rows_per_unit)
    return fit_models(X, y, np.repeat(groups, request.rows_per_unit), n_models=n_models)


def private_lower_count(n_units, *, epsilon, request, noise):
    """Release a number that lies below the number of units, but for a probability of about `FAILURE`.

    n~ = n + Laplace(1/epsilon) - ln(1/(2 eta))/epsilon, eta = `FAILURE`.

    Parameters
    ----------
    n_units : int
    epsilon : float > 0
    request : TukeyRequest, for the unit and the neighbours.
    noise : NoiseSource

    Returns
    -------
    float, which may be negative, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity 1: docs/proofs/tukey.md. Event LaplaceEvent.
    """
    noisy, event = noise.laplace(
        np.int64(n_units),
        name="count of units",
        step=1.0,
        sensitivity=request.sensitivity("l1"),
        epsilon=epsilon,
    )
    return float(noisy) - count_margin(epsilon), event


def count_margin(epsilon):
    """Return by how much the noisy count of units is lowered, a float."""
    return math.log(1 / (2 * FAILURE)) / epsilon


def private_deep_point(models, *, epsilon, request, noise):
    """Draw a point that lies deep among models, if a noisy check finds it safe.

    Parameters
    ----------
    models : (n_models, d) finite float64
    epsilon : float > 0, one half for the check and one for the draw.
    request : TukeyRequest, for delta, the check, the unit and the neighbours.
    noise : NoiseSource of a benchmark.

    Returns
    -------
    TukeyFit

    Privacy
    -------
    Neighbours differ in one model. Sensitivity 1 of the distance to an unsafe set and of a depth:
    docs/proofs/tukey.md. A LaplaceEvent and a DepthEvent are together (epsilon, delta)-DP. Public: the number
    of models, d and the request. Not covered: what the last bits of floats tell.

    Raises
    ------
    UsageError
        In a release.
    """
    n_models, half = len(models), epsilon / 2
    if n_models < SMALLEST_NUMBER:
        return TukeyFit(None, Status.TOO_FEW_MODELS, n_models, ())
    terms = epsilon, *astuple(request), n_models
    generator = noise.generator("perturbation of models", *terms)
    models = models + PERTURBATION * generator.standard_normal(models.shape)
    log_volume, log_exact = log_volumes(models)
    rate, log_limit = safety_terms(half, request.delta)
    options = {"rate": rate, "log_limit": log_limit, "check": request.check}
    noisy_step, checked = noise.laplace(
        np.int64(largest_safe_step(log_volume, log_exact, **options)),
        name="safe step",
        step=1.0,
        sensitivity=request.sensitivity("l1"),
        epsilon=half,
    )
    # Paid for whether the check passes or not.
    drawn = DepthEvent(
        statistic="deep point",
        sensitivity=request.sensitivity("linf"),
        step=1.0,
        entries=models.shape[1],
        source=noise.source,
        epsilon=half,
        delta=float(request.delta),
    )
    point = None
    if noisy_step > smallest_passing(half, request.delta):
        generator = noise.generator("deep point", *terms)
        point = draw_deep_point(models, log_exact, rate=rate, generator=generator)
    status = Status.CHECK_FAILED if point is None else Status.RELEASED
    return TukeyFit(point, status, n_models, (checked, drawn))


def draw_deep_point(models, log_exact, *, rate, generator):
    """Draw a point of depth t = floor(n_models/4) or more with density e^(rate depth).

    Parameters
    ----------
    models : (n_models, d) finite float64
    log_exact : from `log_volumes`.
    rate : float
    generator : numpy Generator

    Returns
    -------
    (d,) float64, or None if no such depth has a volume.
    """
    q = draw_depth(log_exact, least=len(models) // 4, rate=rate, generator=generator)
    return None if q is None else draw_point(models, q, generator=generator)
