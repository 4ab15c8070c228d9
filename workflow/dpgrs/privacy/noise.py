"""The one door: all private quantities leave through here, and only here is noise drawn.

A noise source takes an exact integer statistic, the claim about its sensitivity and a share of the budget. It
returns integers on the same grid and the event that the accountant charges. `BenchmarkNoise` is seeded and
protects nobody; `ReleaseNoise` is exact, secret and charged to a ledger before it is drawn
(`dpgrs.privacy.charging`).
"""

import hashlib
import json
import math
from copy import copy
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.samplers import LARGEST_SCALE, rounded_normal
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.privacy.stream import KeyStream

MECHANISM_VERSION = 1


@dataclass(frozen=True)
class GaussianEvent:
    """One draw of normal noise, rounded to the statistic's grid.

    Release noise is the exactly rounded normal, which is mu-GDP exactly (docs/proofs/exact_noise.md). Seeded
    noise is float64 and only resembles it.

    Attributes
    ----------
    statistic : str, what was released.
    sensitivity : Sensitivity
    mu : float, the share of the budget.
    sigma : float, standard deviation, in the units of the sensitivity.
    step : float, width of the grid, in the same units.
    entries : int, numbers released.
    source : str, ``benchmark`` for seeded noise, which protects nobody, ``release`` for secret noise.
    request : str, id of the ledger's request; empty in a benchmark.
    version : int, `MECHANISM_VERSION`.
    """

    statistic: str
    sensitivity: Sensitivity
    mu: float
    sigma: float
    step: float
    entries: int
    source: str
    request: str = ""
    version: int = MECHANISM_VERSION


class NoiseSource:
    """What all sources share: the check of a draw, which comes before it.

    Attributes
    ----------
    source : str, see `GaussianEvent`.
    """

    source = None
    _part = ()

    def of(self, *part):
        """Return the source of one part of a release, with noise of its own.

        Parameters
        ----------
        *part : str, public: ``genotypes``, or ``outcomes`` and their names. A part is one request of the
            ledger, so that what it holds is charged and repeated together.
        """
        scoped = copy(self)
        scoped._part = part
        return scoped

    def gaussian(self, statistic, *, name, step, sensitivity, mu):
        """Add normal noise of standard deviation sensitivity/mu, rounded to the grid.

        Parameters
        ----------
        statistic : (...) int64, exact, in units of `step`.
        name : str, what it is.
        step : float, a power of 2: width of the grid, in the units of the sensitivity.
        sensitivity : Sensitivity, in l2 over all entries together.
        mu : float > 0, the share of the budget.

        Returns
        -------
        noisy : (...) int64 in units of `step`.
        event : GaussianEvent

        Raises
        ------
        UsageError
            If the statistic is not of integers, or the share of the budget not positive or too small for the
            grid.
        """
        statistic = np.asarray(statistic)
        if not np.issubdtype(statistic.dtype, np.integer):
            raise UsageError(
                f"The {name} must be integers on its grid, got {statistic.dtype}. Round it by row."
            )
        statistic = statistic.astype(np.int64, copy=False)
        sigma = _sigma(sensitivity, mu=mu, step=step, name=name)
        event = GaussianEvent(name, sensitivity, mu, sigma, step, statistic.size, self.source)
        return self._draw(statistic, event)

    def _draw(self, statistic, event):
        raise NotImplementedError


class BenchmarkNoise(NoiseSource):
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

    def _draw(self, statistic, event):
        normal = self._generator(event).standard_normal(statistic.shape)
        return statistic + np.rint(normal * (event.sigma / event.step)).astype(np.int64), event

    def _generator(self, event):
        digest = _digest([self._key, self._part, asdict(event)])
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


class Rehearsal(NoiseSource):
    """Learns what a mechanism will draw, without drawing: its answers are zeros.

    Attributes
    ----------
    draws : dict of part to a list of (event, digest of the exact statistic), in order.
    """

    source = "release"

    def __init__(self):
        self.draws = {}

    def _draw(self, statistic, event):
        self.draws.setdefault(self._part, []).append((event, statistic_digest(statistic)))
        return np.zeros_like(statistic), event


class ReleaseNoise(NoiseSource):
    """Secret noise, exactly normal before its rounding: reserved draws alone, each in its turn.

    Parameters
    ----------
    study_key : StudyKey
    draws : dict of part to its draws, see `Rehearsal`.
    requests : dict of part to the id of its request in the ledger.

    Attributes
    ----------
    outputs : dict of part to a list of the digests of its noisy statistics, in order.
    """

    source = "release"

    def __init__(self, study_key, *, draws, requests):
        self._study_key, self._requests = study_key, requests
        self._waiting = {part: list(enumerate(listed)) for part, listed in draws.items()}
        self.outputs = {part: [] for part in draws}

    def require_exhausted(self):
        """Raise DpgrsError if something that was reserved has not been drawn."""
        if any(self._waiting.values()):
            raise DpgrsError("Not all reserved noise was drawn, so the release is not whole. Start it again.")

    def _draw(self, statistic, event):
        reserved = self._waiting.get(self._part)
        if not reserved or reserved[0][1] != (event, statistic_digest(statistic)):
            raise DpgrsError(
                f"The noise of the {event.statistic} was not reserved in the ledger as it is asked for now. "
                "Nothing was drawn. Start the release again."
            )
        number, (_, digest) = reserved.pop(0)
        event = replace(event, request=self._requests[self._part])
        identity = _digest(["noise", self._part, number, asdict(event), digest])
        sigma = Fraction(event.sigma) / Fraction(event.step)
        noise = rounded_normal(KeyStream(self._study_key.secret, identity), statistic.size, sigma)
        noisy = statistic + noise.reshape(statistic.shape)
        self.outputs[self._part].append(statistic_digest(noisy))
        return noisy, event


def statistic_digest(statistic):
    """Digest an integer array: SHA-256 of its shape and values, in hexadecimal."""
    statistic = np.asarray(statistic)
    shape = json.dumps(statistic.shape).encode()
    return hashlib.sha256(shape + statistic.astype("<i8").tobytes()).hexdigest()


def _digest(identity):
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()


def _sigma(sensitivity, *, mu, step, name):
    """Return the standard deviation, rounded up, so that the loss is never above mu."""
    if math.frexp(step)[0] != 0.5:
        raise UsageError(f"The grid of the {name} must be a power of 2 wide, got {step}. Choose another.")
    if not 0 < mu < math.inf:
        raise UsageError(
            f"The budget of the {name} must be a finite number above 0, got {mu}. Give it a share."
        )
    sigma = math.nextafter(sensitivity.value / mu, math.inf)
    # Beyond this many grid steps neither sampler reaches every integer.
    if sigma > LARGEST_SCALE * step:
        raise UsageError(
            f"The noise of the {name} must be at most {LARGEST_SCALE:.0e} grid steps, "
            f"got {sigma / step:.0e}. Raise `privacy.epsilon` or the share."
        )
    return sigma
