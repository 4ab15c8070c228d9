"""What a budget buys: exact mu-GDP, and the split that the papers use.

A Gaussian mechanism of l2 sensitivity D and standard deviation sigma is mu-GDP with mu = D / sigma [1]_. mu^2
adds up under composition, so a budget is shared out as shares of mu^2.

References
----------
.. [1] Dong, Roth, Su (2022). Gaussian differential privacy. J. R. Stat. Soc. B 84(1).
"""

import math

from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from dpgrs.errors import UsageError
from dpgrs.types import Accounting

# Roots are sought for a delta that is smaller by far more than their error: claims stay on the safe side.
SAFE = 1 - 1e-10
# In this range of epsilon the trade-off is accurate to about 1e-13 of delta.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e4


def gdp_delta(mu, epsilon):
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

    Parameters
    ----------
    mu : float >= 0
    epsilon : float >= 0

    Returns
    -------
    float in [0, 1).

    Raises
    ------
    UsageError
        If an argument is out of its domain, here and in all functions below.

    Examples
    --------
    >>> round(gdp_delta(1.0, 1.0), 6)
    0.126937
    """
    _require("mu", mu, "a finite number >= 0", 0 <= mu < math.inf)
    _require("epsilon", epsilon, "a finite number >= 0", 0 <= epsilon < math.inf)
    if mu == 0:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    # phi(near) = e^epsilon phi(far): with Mills ratios the two terms share one factor and nothing cancels or
    # overflows, however small delta is.
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    if near > 0:
        return density * (_mills_ratio(near) - _mills_ratio(far))
    return float(ndtr(-near)) - density * _mills_ratio(far)


def gdp_mu(epsilon, delta):
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : float in [`SMALLEST_EPSILON`, `LARGEST_EPSILON`]
    delta : float in (0, 1)

    Returns
    -------
    float

    Examples
    --------
    >>> round(gdp_mu(1.0, 1e-6), 4)
    0.2367
    """
    _require_budget(epsilon, delta)
    is_accurate = SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON
    _require("epsilon", epsilon, f"between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}", is_accurate)
    return _root(lambda mu: gdp_delta(mu, epsilon) - SAFE * delta)


def gdp_epsilon(mu, delta):
    """Return the smallest epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float >= 0
    delta : float in (0, 1)

    Returns
    -------
    float

    Examples
    --------
    >>> round(gdp_epsilon(gdp_mu(1.0, 1e-6), 1e-6), 6)
    1.0
    """
    _require("delta", delta, "a number between 0 and 1", 0 < delta < 1)
    if gdp_delta(mu, 0.0) <= SAFE * delta:
        return 0.0
    return _root(lambda epsilon: SAFE * delta - gdp_delta(mu, epsilon))


def gdp_group_mu(mu, size):
    """Return the loss of a group of `size` rows, such as a person's two haplotypes, from that of a row."""
    return size * mu


def paper_noise_multiplier(epsilon, delta):
    """Return the papers' noise standard deviation per unit of l2 sensitivity for one Gaussian mechanism.

    c(epsilon, delta) = (sqrt(L + epsilon) + sqrt(L)) / (sqrt(2) epsilon),  L = ln(1/delta)

    Parameters
    ----------
    epsilon : float > 0, the share of the mechanism.
    delta : float in (0, 1), the share of the mechanism.

    Returns
    -------
    float

    Examples
    --------
    Half of (1, 1e-6):

    >>> round(paper_noise_multiplier(0.5, 5e-7), 1)
    10.9
    """
    _require_budget(epsilon, delta)
    log_term = -math.log(delta)
    return (math.sqrt(log_term + epsilon) + math.sqrt(log_term)) / (math.sqrt(2) * epsilon)


def split_budget(epsilon, delta, *, shares, accounting):
    """Share a budget out over Gaussian mechanisms.

    Parameters
    ----------
    epsilon : float > 0
    delta : float in (0, 1)
    shares : sequence of float >= 0 with sum 1, of mu^2 under `gdp`. Under `paper` epsilon and delta are cut
        in proportion to their square roots: noise is about proportional to 1/mu and to 1/epsilon, so the same
        shares mean about the same ratios of noise.
    accounting : Accounting

    Returns
    -------
    tuple of float, the mu of every mechanism; 0 for a share of 0.
    """
    _require_budget(epsilon, delta)
    _require("shares", shares, "numbers >= 0 with sum 1", min(shares) >= 0 and math.isclose(sum(shares), 1.0))
    if Accounting(accounting) == Accounting.GDP:
        mu = gdp_mu(epsilon, delta)
        return tuple(mu * math.sqrt(share) for share in shares)
    total = sum(map(math.sqrt, shares))
    cuts = [math.sqrt(share) / total for share in shares]
    return tuple(1 / paper_noise_multiplier(cut * epsilon, cut * delta) if cut else 0.0 for cut in cuts)


def _mills_ratio(x):
    """Return (1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _root(rising):
    """Return the positive root of a function that rises from below 0."""
    high = 1.0
    while rising(high) <= 0:
        high *= 2
    return brentq(rising, 0.0, high, xtol=1e-300, maxiter=1000)


def _require_budget(epsilon, delta):
    _require("epsilon", epsilon, "a finite number above 0", 0 < epsilon < math.inf)
    _require("delta", delta, "a number between 0 and 1", 0 < delta < 1)


def _require(name, value, domain, is_met):
    if not is_met:
        raise UsageError(f"`privacy.{name}` must be {domain}, got {value}. Set it in the configuration.")
