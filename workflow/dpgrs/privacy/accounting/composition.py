"""What many releases cost together, by every route that is proven, and what that means to a group of rows.

Costs are added up as exact fractions and rounded up once, so the order of events never changes a total. A
sensitivity is claimed for one relation of neighbours and holds any factor that the relation brings; losses
are therefore those of noise that is moved by the sensitivity, whatever the relation
(docs/explanation/accounting.md).

References
----------
.. [1] Bun, Steinke (2016). Concentrated differential privacy. TCC. arXiv 1605.02065.
.. [2] Canonne, Kamath, Steinke (2020). The discrete Gaussian for differential privacy. NeurIPS.
.. [3] Zhu, Dong, Wang (2022). Optimal accounting via the characteristic function. AISTATS. arXiv 2106.08567.
.. [4] Cesar, Rogers (2021). Bounding, concentrating, and truncating: unifying privacy loss composition for
   data analytics. ALT. arXiv 2004.07223.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Protocol

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import MARGIN, SMALLEST_DELTA, SMALLEST_MU, gdp_delta, gdp_epsilon
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.exact_numbers import float_below, root_above
from dpgrs.types import Composition, Selection

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# The loss is put on a grid this fine, relative to the total; beyond the largest no tight total is sought.
GRID_POINTS = 2**16
LARGEST_TIGHT_EPSILON = 100
# The error of a delta by Fourier transforms, per mechanism; a thousand times the largest that was seen.
NUMERIC_ERROR = 1e-14
# Smaller losses count as this.
SMALLEST_RHO = SMALLEST_MU**2 / 2
# e to this power voids any delta that is not 0.
_LARGEST_EXPONENT = 700


class Charged(Protocol):
    """An event, a charge or a request."""

    @property
    def cost(self) -> Cost:
        """The exact cost, of a ledger's two counters."""


@dataclass(frozen=True)
class Totals:
    """Bounds on the epsilon of all events together, at one delta, each rounded up."""

    delta: float
    mu: float  # of the Gaussian events together
    rho: float  # of all events together as zero-concentrated differential privacy [1]_
    basic: float  # the sum of each event's own (epsilon, delta), delta shared evenly by the Gaussian ones
    zcdp: float  # from `rho`; if any Gaussian noise is discrete, only this one holds
    ledger: float  # epsilon(mu, delta) + the pure epsilons: what a ledger counts and shows
    tight: float  # the smallest of these and of the privacy-loss distribution of the whole


@dataclass(frozen=True)
class StudyTotals:
    """Totals of a study whose outcomes share some releases."""

    outcomes: dict[str, Totals]  # by name: what the results of that outcome tell about a unit
    study: Totals  # what all results tell together


@dataclass(frozen=True)
class Guarantee:
    """The (epsilon, delta)-differential privacy of a group of rows."""

    epsilon: float
    delta: float  # in [0, 1]; of 1 it is void, as any mechanism is (epsilon, 1)-DP


def total_cost(
    events: Iterable[Charged],
    *,
    group_size: int = 1,  # units that change together, such as 2 haplotype rows of a person; here and below
) -> Cost:
    """Return the two counters of a ledger for events that are all released."""
    return sum((event.cost for event in events), Cost()).for_group(group_size)


def totals(events: Iterable[Charged], *, delta: float | Fraction, group_size: int = 1) -> Totals:
    """Bound the privacy loss of events that are all released.

    A release may depend on earlier results, but the parameters that set its cost are taken as fixed in
    advance. If they are not, go by `Totals.ledger`, which holds all the same
    (docs/explanation/accounting.md).

    Parameters
    ----------
    events, group_size : as in `total_cost`.
    delta : in [`SMALLEST_DELTA`, 1)

    Raises
    ------
    UsageError
        If delta is out of its domain, by itself or shared by the events, or mu is beyond `LARGEST_MU`.

    Examples
    --------
    The same statistics of epsilon 1, released twice:

    >>> import dpgrs, numpy as np
    >>> X, Y = np.tile([[0], [1]], (50, 2)), np.zeros(100)
    >>> noisy = dpgrs.noisy_statistics(1.0, X, Y, frequency=[0.5, 0.5], seed=1)
    >>> once, twice = (dpgrs.totals(noisy.terms.events * n, delta=1e-6) for n in (1, 2))
    >>> round(once.tight, 3), round(twice.tight, 3), round(twice.basic, 3)
    (1.0, 1.455, 2.938)
    """
    costs = [event.cost.for_group(group_size) for event in events]
    gaussian = Counter(cost.mu_squared for cost in costs if cost.mu_squared)
    pure = Counter(cost.pure_epsilon for cost in costs if cost.pure_epsilon)
    return _totals(_by_size(gaussian), _by_size(pure), float(delta))


def study_totals(
    # Events that serve all outcomes: the count, the Gram matrix, and the cross products if they are released
    # at once, under a joint budget.
    shared: Iterable[Charged],
    # Events that serve only one outcome, by its name: its cross product if each outcome has a separate
    # budget, else nothing.
    by_outcome: Mapping[str, Iterable[Charged]],
    *,
    delta: float | Fraction,
    group_size: int = 1,
) -> StudyTotals:
    """Bound the privacy loss of a study, and of the results of each outcome."""
    for_all = tuple(shared)
    for_one = {name: tuple(events) for name, events in by_outcome.items()}
    return StudyTotals(
        {
            name: totals(for_all + events, delta=delta, group_size=group_size)
            for name, events in for_one.items()
        },
        totals(chain(for_all, *for_one.values()), delta=delta, group_size=group_size),
    )


def group_guarantee(
    epsilon: float,  # >= 0
    delta: float,  # 0 or in [`SMALLEST_DELTA`, 1)
    *,
    size: int = 2,  # >= 1
    cost: Cost | None = None,  # of a row; None if only (epsilon, delta) is known
) -> Guarantee:
    """Return the guarantee that one of a row gives to a group of rows, such as a person's two haplotypes.

    Any (epsilon, delta) of a row is (size epsilon, delta (e^(size epsilon) - 1)/(e^epsilon - 1)) of the
    group: (2 epsilon, (1 + e^epsilon) delta) for two rows. If the cost is known, the group's mu and pure
    epsilon are `size` times the row's, which mostly gives a far smaller delta at the same epsilon. The better
    of the two is returned, rounded up; void if e^epsilon has eaten up delta.

    Examples
    --------
    >>> group_guarantee(0.5, 0)
    Guarantee(epsilon=1.0, delta=0.0)
    """
    if not (0 <= epsilon < math.inf and (delta == 0 or SMALLEST_DELTA <= delta < 1) and size >= 1):
        raise UsageError(
            "guarantee-invalid",
            f"A guarantee must have a finite `epsilon` >= 0, a `delta` of 0 or from {SMALLEST_DELTA:g} to "
            f"below 1, and a `size` >= 1, got {epsilon}, {delta} and {size}. Correct it.",
        )
    group_epsilon = _float_above(size * Fraction(epsilon))
    deltas = [1.0, delta * _delta_growth(epsilon, size) * (1 + MARGIN)]
    if cost is not None:
        group = cost.for_group(size)
        unspent = float_below(Fraction(group_epsilon) - group.pure_epsilon)
        if unspent >= 0:
            deltas.append(gdp_delta(root_above(group.mu_squared), unspent))
    return Guarantee(group_epsilon, min(deltas))


@lru_cache(maxsize=4096)
def epsilon_of_choices(
    epsilon: float,  # > 0
    delta: float,  # in [0, 1); zCDP spends it, basic composition does not
    *,
    n_choices: int,  # >= 1, all of the same epsilon_t
    law: Selection | str,
    composition: Composition | str,
) -> float:
    """Return the cost n_choices epsilon_t of choices one by one that together are (epsilon, delta)-DP.

    By zCDP a choice of epsilon_t counts epsilon_t^2/8 if it is of bounded range, as Gumbel's is, and
    epsilon_t^2/2 if it is not, as permute-and-flip's [4]_. Few choices may cost no more by zCDP than by
    adding up; then epsilon itself is returned, which needs no delta. The result is never below epsilon.
    """
    if not (0 < epsilon < math.inf and isinstance(n_choices, Integral) and n_choices >= 1):
        raise UsageError(
            "choices-invalid",
            "Choices must have a finite `epsilon` > 0 and a whole number `n_choices` >= 1, "
            f"got {epsilon} and {n_choices}. Correct them.",
        )
    if Composition(composition) == Composition.BASIC:
        return epsilon
    if not 0 < delta < 1:
        raise UsageError(
            "delta-out-of-range",
            f"`delta` must be between 0 and 1 for zCDP, got {delta}. Give one, or add epsilons up.",
        )
    low, high = 0.0, epsilon  # rho-zCDP is never (rho, delta)-DP for a small delta
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    share = 8 if Selection(law) == Selection.GUMBEL else 2
    return max(epsilon, n_choices * math.sqrt(share * low / n_choices) * (1 - MARGIN))


@lru_cache(maxsize=4096)
def _totals(
    gaussian: tuple[tuple[Fraction, int], ...], pure: tuple[tuple[Fraction, int], ...], delta: float
) -> Totals:
    """Bound the loss of (mu^2, times) and (epsilon, times), each a tuple in the order of size."""
    cost = Cost(_sum(gaussian), _sum(pure))
    mu = root_above(cost.mu_squared)
    rho = _float_above((cost.mu_squared + _sum((epsilon**2, times) for epsilon, times in pure)) / 2)
    ledger = _float_above(Fraction(gdp_epsilon(mu, delta)) + cost.pure_epsilon)
    zcdp = _zcdp_epsilon(rho, delta)
    basic = _basic_epsilon(gaussian, cost.pure_epsilon, delta)
    loss = _loss_epsilon(mu, pure, delta, scale=min(ledger, zcdp)) if pure else math.inf
    return Totals(delta, mu, rho, basic, zcdp, ledger, min(basic, zcdp, ledger, loss))


def _basic_epsilon(gaussian: tuple[tuple[Fraction, int], ...], pure_epsilon: Fraction, delta: float) -> float:
    """Add up the epsilons, each Gaussian mechanism's at an even share of delta."""
    share = delta / max(1, sum(times for _, times in gaussian))
    epsilons = ((Fraction(gdp_epsilon(root_above(square), share)), times) for square, times in gaussian)
    return _float_above(_sum(epsilons) + pure_epsilon)


def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.

    rho alpha + ln(1/delta)/(alpha - 1) + ln(1 - 1/alpha) - ln(alpha)/(alpha - 1) holds for every alpha > 1
    [2]_; alpha = 1 + sqrt(ln(1/delta)/rho) makes the first two terms smallest.
    """
    if rho == 0:
        return 0.0
    rho = max(rho, SMALLEST_RHO)
    order = math.sqrt(-math.log(delta) / rho)  # alpha - 1
    leading = (rho + 2 * rho * order) * (1 + MARGIN)
    return max(0.0, leading + math.log(order / (1 + order)) - math.log1p(order) / order)


def _loss_epsilon(
    mu: float,  # >= 0
    pure: tuple[tuple[Fraction, int], ...],  # (epsilon, times)
    delta: float,
    *,
    scale: float,  # about the result
) -> float:
    """Return epsilon by the privacy-loss distribution of a Gaussian and pure mechanisms, never too small.

    Each mechanism stands for the pair of distributions that dominates it; such pairs compose, in both
    directions at once as each is symmetric [3]_. A pure one is taken as randomised response, the worst there
    is. The result is infinite if the numbers would not carry the claim.
    """
    # Every start of the workflow imports this module, few compose losses, and these take half a second.
    from dp_accounting.pld import privacy_loss_distribution as pld

    certain = delta - NUMERIC_ERROR * (10 + sum(times for _, times in pure))
    if certain <= 0 or scale > LARGEST_TIGHT_EPSILON:
        return math.inf
    width = _grid_width(pure, scale / GRID_POINTS)
    losses = [_pure_loss(epsilon, width).self_compose(times) for epsilon, times in pure]
    if mu:
        losses.append(pld.from_gaussian_mechanism(1.0, sensitivity=mu, value_discretization_interval=width))
    return reduce(pld.PrivacyLossDistribution.compose, losses).get_epsilon_for_delta(certain)


def _pure_loss(epsilon: Fraction, width: float) -> "PrivacyLossDistribution":
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    return pld.from_privacy_parameters(DifferentialPrivacyParameters(_float_above(epsilon), 0.0), width)


def _grid_width(pure: tuple[tuple[Fraction, int], ...], widest: float) -> float:
    """Return a width of the grid on which the most frequent loss lies: rounding it up would add up."""
    most_frequent, _ = max(pure, key=lambda entry: entry[1])
    epsilon = _float_above(most_frequent)
    return epsilon / 2 ** math.ceil(math.log2(epsilon / widest)) if epsilon > widest else widest


def _delta_growth(epsilon: float, size: int) -> float:
    """Return (e^(size epsilon) - 1)/(e^epsilon - 1), or a number that is large enough to void a guarantee."""
    if epsilon == 0:
        return size
    growth = math.exp(min((size - 1) * epsilon, _LARGEST_EXPONENT))
    return growth * math.expm1(-size * epsilon) / math.expm1(-epsilon)


def _by_size(counts: Counter[Fraction]) -> tuple[tuple[Fraction, int], ...]:
    return tuple(sorted(counts.items()))


def _sum(weighted: Iterable[tuple[Fraction, int]]) -> Fraction:
    return sum((value * times for value, times in weighted), Fraction(0))


def _float_above(value: Fraction) -> float:
    """Return a float that is not below a fraction, without the sign of a zero."""
    return 0.0 - float_below(-value)
