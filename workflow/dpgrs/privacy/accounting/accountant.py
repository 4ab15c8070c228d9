"""What a budget buys: exact mu-GDP, and the split that the papers use.

A Gaussian mechanism of l2 sensitivity D and standard deviation sigma is mu-GDP with mu = D / sigma [1]_. mu^2
adds up under composition, so a budget is shared out as shares of mu^2. Whatever is rounded here is rounded to
the safe side: delta and epsilon up, mu down (docs/explanation/accounting.md).

References
----------
.. [1] Dong, Roth, Su (2022). Gaussian differential privacy. J. R. Stat. Soc. B 84(1).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from scipy.special import erfcx, expit, ndtr

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import float_below
from dpgrs.types import Accounting

# Where the trade-off was held against 80 digits: relative errors below 1e-13 up to mu = 100, 5e-12 beyond.
SMALLEST_MU, LARGEST_MU = 1e-9, 1e4
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e4
SMALLEST_DELTA = float_below(Fraction("1e-30"))
# Far above that error and the one that finding a root adds.
MARGIN = 1e-9

# Below this mu the two terms of the trade-off nearly cancel; their difference is integrated instead.
_NARROW = 0.1
_FURTHEST = 37.0
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)


def gdp_delta(
    mu: float,  # in [0, `LARGEST_MU`]; below `SMALLEST_MU` it counts as that
    epsilon: float,  # >= 0
) -> float:
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP, rounded up.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

    It is 0 for mu = 0, else in [`SMALLEST_DELTA`, 1]. Here and in all functions below an argument out of its
    domain is refused.

    Examples
    --------
    >>> round(gdp_delta(1.0, 1.0), 6)
    0.126937
    """
    _require_mu(mu)
    _require("epsilon", epsilon, "a finite number >= 0", 0 <= epsilon < math.inf)
    if mu == 0:
        return 0.0
    return min(1.0, max(SMALLEST_DELTA, _trade_off(mu, epsilon) * (1 + MARGIN)))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : in [`SMALLEST_EPSILON`, `LARGEST_EPSILON`]
    delta : in [`SMALLEST_DELTA`, 1)

    Raises
    ------
    UsageError
        If an argument is out of its domain.

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-6), 4)
    0.2367
    """
    _require_budget(epsilon, delta)
    is_accurate = SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON
    _require("epsilon", epsilon, f"between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}", is_accurate)
    return _root(lambda mu: _trade_off(mu, epsilon) - _safe(delta))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : in [0, `LARGEST_MU`]; below `SMALLEST_MU` it counts as that.
    delta : in [`SMALLEST_DELTA`, 1)

    Raises
    ------
    UsageError
        If an argument is out of its domain.

    Examples
    --------
    >>> round(gdp_epsilon(gdp_mu(1.0, 1e-6), 1e-6), 6)
    1.0
    """
    _require_mu(mu)
    _require_delta(delta)
    if mu == 0 or _trade_off(mu, 0.0) <= _safe(delta):
        return 0.0
    return _root(lambda epsilon: _safe(delta) - _trade_off(mu, epsilon))


def right_share(
    mu: float,  # in [0, `LARGEST_MU`]
    pure_epsilon: float = 0.0,  # >= 0
) -> float:
    """Bound how often a guess between two equally likely neighbours is right: in [1/2, 1], rounded up.

    p Phi(mu/2 + e/mu) + (1 - p) Phi(mu/2 - e/mu), p = 1/(1 + exp(-e)), for mu-GDP and mechanisms of the pure
    epsilon e, whatever is made of the results (docs/proofs/odds.md).

    Examples
    --------
    >>> round(right_share(gdp_mu(2.0, 1e-6)), 3)
    0.589
    """
    _require_mu(mu)
    _require("pure_epsilon", pure_epsilon, "a finite number >= 0", 0 <= pure_epsilon < math.inf)
    if mu == pure_epsilon == 0:
        return 0.5
    right = float(expit(pure_epsilon))
    if mu > 0:
        ratio = pure_epsilon / mu
        right = right * float(ndtr(mu / 2 + ratio)) + float(expit(-pure_epsilon)) * float(
            ndtr(mu / 2 - ratio)
        )
    return min(1.0, right * (1 + MARGIN))


def right_share_of_terms(epsilon: float, delta: float) -> float:
    """Return this bound from (epsilon, delta)-DP only: (e^epsilon + delta)/(e^epsilon + 1), rounded up."""
    _require("epsilon", epsilon, "a finite number >= 0", 0 <= epsilon < math.inf)
    return min(1.0, float(expit(epsilon) + delta * expit(-epsilon)) * (1 + MARGIN))


def odds_chance(
    mu: float,  # in [0, `LARGEST_MU`]; below `SMALLEST_MU` it counts as that
    epsilon: float,  # the bound is 1 for one of 0 or less
) -> float:
    """Return a bound on the chance that odds of the truth rise by more than e^epsilon, rounded up.

    The smallest delta(t)/(1 - e^(t - epsilon)) over 0 <= t < epsilon, at most 1. That odds fall by more has
    no greater chance, e^-epsilon of it (docs/proofs/odds.md). It is 0 for mu = 0 and epsilon >= 0, else above
    `SMALLEST_DELTA`.

    Examples
    --------
    Over fifty times the delta:

    >>> round(odds_chance(gdp_mu(1.0, 1e-6), 1.0), 6)
    5.2e-05
    """
    _require_mu(mu)
    _require("epsilon", epsilon, "a finite number", -math.inf < epsilon < math.inf)
    if mu == 0 and epsilon >= 0:
        return 0.0
    if epsilon <= 0:
        return 1.0
    width = max(mu, SMALLEST_MU)

    def bound(position: float) -> float:
        # t on the scale of normal noise, where the best lies about 1/position below epsilon. Any t will do.
        t = min(max(width * position + width**2 / 2, 0.0), math.nextafter(epsilon, 0.0))
        return gdp_delta(mu, t) / -math.expm1(t - epsilon)

    lowest, highest = -width / 2, min(epsilon / width - width / 2, _FURTHEST)
    from scipy.optimize import minimize_scalar  # takes 0.4 s, which most steps do without

    minimum = minimize_scalar(bound, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-9})
    return min(1.0, float(minimum.fun) * (1 + MARGIN))


def paper_noise_multiplier(
    epsilon: float,  # > 0, the share of the mechanism
    delta: float,  # in (0, 1), the share of the mechanism; a closed form, so no smaller one is refused
) -> float:
    """Return the papers' noise standard deviation per unit of l2 sensitivity for one Gaussian mechanism.

    c(epsilon, delta) = (sqrt(L + epsilon) + sqrt(L)) / (sqrt(2) epsilon),  L = ln(1/delta)

    Examples
    --------
    Half of (1, 1e-6):

    >>> round(paper_noise_multiplier(0.5, 5e-7), 1)
    10.9
    """
    _require_epsilon(epsilon)
    _require("delta", delta, "a number between 0 and 1", 0 < delta < 1)
    log_term = -math.log(delta)
    return (math.sqrt(log_term + epsilon) + math.sqrt(log_term)) / (math.sqrt(2) * epsilon)


def split_budget(
    epsilon: float,  # > 0
    delta: float,  # in [`SMALLEST_DELTA`, 1)
    *,
    shares: Sequence[float],  # >= 0, with sum 1 up to rounding
    accounting: Accounting | str,
) -> tuple[float, ...]:
    """Share a budget out over Gaussian mechanisms, which together never cost more, and return the mu of each.

    Shares are of mu^2 under `gdp`. Under `paper` epsilon and delta are cut in proportion to the square roots
    of shares: noise is about proportional to 1/mu and to 1/epsilon, so the same shares mean about the same
    ratios of noise. The mu of a share of 0 is 0.
    """
    _require_budget(epsilon, delta)
    is_whole = min(shares) >= 0 and math.isclose(math.fsum(shares), 1.0, rel_tol=1e-14)
    _require("shares", shares, "numbers >= 0 with sum 1", is_whole)
    if Accounting(accounting) == Accounting.GDP:
        square = Fraction(gdp_mu(epsilon, delta)) ** 2 / sum(map(Fraction, shares))
        return tuple(_root_below(square * Fraction(share)) for share in shares)
    total = sum(map(math.sqrt, shares))
    cuts = [math.sqrt(share) / total for share in shares]
    return tuple(1 / paper_noise_multiplier(cut * epsilon, cut * delta) if cut else 0.0 for cut in cuts)


def split_mu(
    mu: float,  # > 0, of any accounting
    *,
    share: float | Fraction,  # in (0, 1), of mu^2, of the second
) -> tuple[float, float]:
    """Share a Gaussian mechanism's budget out over two, which together are mu-GDP."""
    square, share = Fraction(mu) ** 2, Fraction(share)
    return _root_below(square * (1 - share)), _root_below(square * share)


def _trade_off(mu: float, epsilon: float) -> float:
    """Return delta(epsilon) for mu > 0, to a relative error far below `MARGIN`, or 0 below 1e-300.

    phi(near) = e^epsilon phi(far): with Mills ratios m the two terms share one factor, and nothing overflows.
    As m' = x m - 1, their difference over a narrow gap is an integral in which nothing cancels.
    """
    mu = max(mu, SMALLEST_MU)
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > _FURTHEST:
        return 0.0
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    if mu < _NARROW:
        x = epsilon / mu + mu / 2 * _NODES
        return density * mu / 2 * float(_NODE_WEIGHTS @ (1 - x * _mills_ratio(x)))
    if near > 0:
        return density * float(_mills_ratio(near) - _mills_ratio(far))
    return float(ndtr(-near) - density * _mills_ratio(far))


def _mills_ratio(x: float | np.ndarray) -> float | np.ndarray:
    """Return (1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _safe(delta: float) -> float:
    """Return the delta to find roots for: twice the margin, so that `gdp_delta` of a root is within delta."""
    return delta / (1 + MARGIN) ** 2


def _root(rising: Callable[[float], float]) -> float:
    """Return the positive root of a function that rises from below 0."""
    from scipy.optimize import brentq  # takes 0.4 s, which most steps do without

    high = 1.0
    while rising(high) <= 0:
        high *= 2
    return brentq(rising, 0.0, high, xtol=1e-300, maxiter=1000)


def _root_below(square: Fraction) -> float:
    """Return a float that is not above the root of a fraction."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    return root


def _require_mu(mu: float) -> None:
    _require("mu", mu, f"a number from 0 to {LARGEST_MU:g}", 0 <= mu <= LARGEST_MU)


def _require_budget(epsilon: float, delta: float) -> None:
    _require_epsilon(epsilon)
    _require_delta(delta)


def _require_epsilon(epsilon: float) -> None:
    _require("epsilon", epsilon, "a finite number above 0", 0 < epsilon < math.inf)


def _require_delta(delta: float) -> None:
    _require("delta", delta, f"at least {SMALLEST_DELTA:g} and below 1", SMALLEST_DELTA <= delta < 1)


def _require(name: str, value: float | Sequence[float], domain: str, is_met: bool) -> None:
    if not is_met:
        raise UsageError(
            "budget-out-of-range",
            f"`privacy.{name}` must be {domain}, got {value}. Set it in the configuration.",
        )
