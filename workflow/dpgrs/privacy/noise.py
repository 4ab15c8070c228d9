"""The one door: all private quantities leave through here, and only here is noise drawn.

A noise source takes an exact integer statistic, the claim about its sensitivity and a share of the budget. It
returns integers on the same grid and the event that the accountant charges.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.sensitivity import Sensitivity

MECHANISM_VERSION = 1

# Beyond this many grid steps a normal in float64 no longer reaches every integer.
LARGEST_SIGMA_STEPS = 2.0**48


@dataclass(frozen=True)
class GaussianEvent:
    """One draw of normal noise, rounded to the statistic's grid: mu-GDP exactly.

    Attributes
    ----------
    statistic : str, what was released.
    sensitivity : Sensitivity
    mu : float, the share of the budget.
    sigma : float, standard deviation, in the units of the sensitivity.
    step : float, width of the grid, in the same units.
    entries : int, numbers released.
    source : str, ``benchmark`` for seeded noise, which protects nobody.
    version : int, `MECHANISM_VERSION`.
    """

    statistic: str
    sensitivity: Sensitivity
    mu: float
    sigma: float
    step: float
    entries: int
    source: str
    version: int = MECHANISM_VERSION


class BenchmarkNoise:
    """Seeded noise for benchmarks: anyone with the seed can take it off again.

    Parameters
    ----------
    seed : int, public.
    *key : str or int, tells trials and requests apart. The parameters of a mechanism are part of its key, so
        two mechanisms never share noise.
    """

    source = "benchmark"

    def __init__(self, seed, *key):
        self._key = (int(seed), *key)

    def gaussian(self, statistic, *, name, step, sensitivity, mu):
        """Add normal noise of standard deviation sensitivity/mu, rounded to the grid.

        Parameters
        ----------
        statistic : (...) int64, exact, in units of `step`.
        name : str, what it is.
        step : float, width of the grid, in the units of the sensitivity.
        sensitivity : Sensitivity, in l2 over all entries together.
        mu : float > 0, the share of the budget.

        Returns
        -------
        noisy : (...) int64 in units of `step`.
        event : GaussianEvent

        Raises
        ------
        UsageError
            If the share of the budget is not positive, or too small for the grid.
        """
        statistic = np.asarray(statistic, dtype=np.int64)
        sigma = _sigma(sensitivity, mu=mu, step=step, name=name)
        event = GaussianEvent(name, sensitivity, mu, sigma, step, statistic.size, self.source)
        normal = self._generator(event).standard_normal(statistic.shape)
        return statistic + np.rint(normal * (sigma / step)).astype(np.int64), event

    def _generator(self, event):
        identity = json.dumps([self._key, asdict(event)], sort_keys=True)
        digest = hashlib.sha256(identity.encode()).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def _sigma(sensitivity, *, mu, step, name):
    """Return the standard deviation, rounded up, so that the loss is never above mu."""
    if not 0 < mu < math.inf:
        raise UsageError(
            f"The budget of the {name} must be a finite number above 0, got {mu}. Give it a share."
        )
    sigma = math.nextafter(sensitivity.value / mu, math.inf)
    if sigma > LARGEST_SIGMA_STEPS * step:
        raise UsageError(
            f"The noise of the {name} must be at most {LARGEST_SIGMA_STEPS:.0e} grid steps, "
            f"got {sigma / step:.0e}. Raise `privacy.epsilon` or the share."
        )
    return sigma
