"""The one door: all private quantities leave through here, and only here is noise drawn.

A noise source takes an exact integer statistic, the claim about its sensitivity and a share of the budget. It
returns integers on the same grid, or a choice among the entries, and the event that the accountant charges.
`BenchmarkNoise` is seeded and protects nobody; `ReleaseNoise` is exact, secret and charged to a ledger before
it is drawn (`dpgrs.privacy.charging`).
"""

import hashlib
import json
import math
from copy import copy
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.events import ChoiceEvent, GaussianEvent, LaplaceEvent
from dpgrs.privacy.samplers import LARGEST_SCALE, discrete_laplace, permute_and_flip, rounded_normal
from dpgrs.privacy.stream import KeyStream


class NoiseSource:
    """What all sources share: the check of a draw, which comes before it.

    Attributes
    ----------
    source : str, see `dpgrs.privacy.events.Event`.
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
            If the statistic is not of integers, the claim in another norm, or the share of the budget not
            positive or too small for the grid.
        """
        statistic = _on_grid(statistic, name)
        sigma = _scale(sensitivity, share=mu, norm=GaussianEvent.norm, step=step, name=name)
        return self._draw(
            statistic,
            GaussianEvent(mu=float(mu), sigma=sigma, **self._common(statistic, name, step, sensitivity)),
        )

    def laplace(self, statistic, *, name, step, sensitivity, epsilon):
        """Add discrete Laplace noise of scale sensitivity/epsilon on the grid.

        Parameters
        ----------
        statistic, name, step : as in `gaussian`.
        sensitivity : Sensitivity, in l1 over all entries together.
        epsilon : float > 0, the share of the budget.

        Returns
        -------
        noisy : (...) int64 in units of `step`.
        event : LaplaceEvent

        Raises
        ------
        UsageError
            As `gaussian`.
        """
        statistic = _on_grid(statistic, name)
        scale = _scale(sensitivity, share=epsilon, norm=LaplaceEvent.norm, step=step, name=name)
        return self._draw(
            statistic,
            LaplaceEvent(
                epsilon=float(epsilon), scale=scale, **self._common(statistic, name, step, sensitivity)
            ),
        )

    def choose(self, scores, *, name, step, sensitivity, epsilon, n_choices=1):
        """Choose entries of high score by permute-and-flip, one after the other.

        Parameters
        ----------
        scores : (n,) int64, exact, in units of `step`.
        name, step : as in `gaussian`.
        sensitivity : Sensitivity, of every score, in linf.
        epsilon : float > 0, the share of the budget, of all choices together.
        n_choices : int in [1, n]

        Returns
        -------
        chosen : (n_choices,) int64, different indices into the scores, in the order of choice.
        event : ChoiceEvent

        Raises
        ------
        UsageError
            As `gaussian`, and if there are fewer scores than choices.
        """
        scores = _on_grid(scores, name)
        if scores.ndim != 1 or not 1 <= n_choices <= len(scores):
            raise UsageError(
                f"The {name} must be one row of at least {n_choices} scores, got the shape {scores.shape}. "
                "Choose fewer."
            )
        _scale(sensitivity, share=epsilon, norm=ChoiceEvent.norm, step=step, name=name)
        common = self._common(scores, name, step, sensitivity)
        return self._draw(scores, ChoiceEvent(epsilon=float(epsilon), n_choices=int(n_choices), **common))

    def poisson_sample(self, n_units, *, name, probability):
        """Choose units at random, each by itself, in secret; only benchmarks can, see `BenchmarkNoise`.

        Parameters
        ----------
        n_units : int
        name : str, tells samples apart.
        probability : float in (0, 1], of every unit to be chosen.

        Returns
        -------
        (n_units,) bool

        Raises
        ------
        UsageError
            In a release: no ledger counts what sampling saves.
        """
        raise _no_sample(name)

    def sample_without_replacement(self, n_units, *, name, n_chosen):
        """Choose a given number of units at random, in secret; only benchmarks can, see `BenchmarkNoise`.

        Parameters
        ----------
        n_units : int
        name : str, tells samples apart.
        n_chosen : int in [0, n_units]; all samples of so many units are equally likely.

        Returns
        -------
        (n_units,) bool, `n_chosen` of them True.

        Raises
        ------
        UsageError
            In a release, as `poisson_sample`.
        """
        raise _no_sample(name)

    def generator(self, name, *terms):
        """Return a source of random floats; only benchmarks have one, see `BenchmarkNoise`.

        Parameters
        ----------
        name : str, what it draws.
        *terms : str, int or float, public: the parameters of the mechanism, so that two never share noise.

        Returns
        -------
        numpy Generator, new at every call, so that the same name and terms give the same numbers.

        Raises
        ------
        UsageError
            In a release, which draws no floats.
        """
        raise UsageError(
            f"The {name} must be drawn in a benchmark: releases have no such noise. Use `mode: benchmark`."
        )

    def _common(self, statistic, name, step, sensitivity):
        return {
            "statistic": name,
            "sensitivity": sensitivity,
            "step": step,
            "entries": statistic.size,
            "source": self.source,
        }

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

    def poisson_sample(self, n_units, *, name, probability):
        """Choose units at random; parameters as in `NoiseSource.poisson_sample`."""
        return self._generator(["sample", name, probability]).random(n_units) < probability

    def sample_without_replacement(self, n_units, *, name, n_chosen):
        """Choose units at random; parameters as in `NoiseSource.sample_without_replacement`."""
        generator = self._generator(["sample without replacement", name, n_units, n_chosen])
        return generator.permutation(n_units) < n_chosen

    def generator(self, name, *terms):
        """Return a source of random floats; parameters as in `NoiseSource.generator`."""
        return self._generator(["generator", name, *terms])

    def _draw(self, statistic, event):
        return _seeded(event, statistic, self._generator(asdict(event))), event

    def _generator(self, identity):
        digest = _digest([self._key, self._part, identity])
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


class Rehearsal(NoiseSource):
    """Learns what a mechanism will draw, without drawing: its answers are zeros, or the first entries.

    Attributes
    ----------
    draws : dict of part to a list of (event, digest of the exact statistic), in order.
    """

    source = "release"

    def __init__(self):
        self.draws = {}

    def _draw(self, statistic, event):
        if event.exactness is None:
            raise UsageError(
                f"The noise of the {event.statistic} is not drawn exactly, so it is for benchmarks alone. "
                "Use `mode: benchmark`."
            )
        self.draws.setdefault(self._part, []).append((event, statistic_digest(statistic)))
        if isinstance(event, ChoiceEvent):
            return np.arange(event.n_choices), event
        return np.zeros_like(statistic), event


class ReleaseNoise(NoiseSource):
    """Secret noise of exactly the laws that are claimed: reserved draws alone, each in its turn.

    Parameters
    ----------
    study_key : StudyKey
    draws : dict of part to its draws, see `Rehearsal`.
    requests : dict of part to the id of its request in the ledger.

    Attributes
    ----------
    outputs : dict of part to a list of the digests of its noisy statistics and choices, in order.
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
                "Nothing was released. Start the release again."
            )
        number, (_, digest) = reserved.pop(0)
        event = replace(event, request=self._requests[self._part])
        identity = _digest(["noise", self._part, number, asdict(event), digest])
        noisy = _exact(event, statistic, KeyStream(self._study_key.secret, identity))
        self.outputs[self._part].append(statistic_digest(noisy))
        return noisy, event


def statistic_digest(statistic):
    """Digest an integer array: SHA-256 of its shape and values, in hexadecimal."""
    statistic = np.asarray(statistic)
    shape = json.dumps(statistic.shape).encode()
    return hashlib.sha256(shape + statistic.astype("<i8").tobytes()).hexdigest()


def _no_sample(name):
    return UsageError(
        f"The sample of {name} must be drawn in a benchmark: releases draw none. Use `mode: benchmark`."
    )


def _digest(identity):
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()


def _exact(event, statistic, stream):
    """Draw by the exact law: integers alone decide."""
    step = Fraction(event.step)
    if isinstance(event, ChoiceEvent):
        moved = Fraction(event.sensitivity.value) / step
        terms = {"epsilon": event.epsilon_each, "sensitivity": moved, "n_choices": event.n_choices}
        return permute_and_flip(stream, statistic, **terms)
    if isinstance(event, LaplaceEvent):
        noise = discrete_laplace(stream, statistic.size, Fraction(event.scale) / step)
    else:
        noise = rounded_normal(stream, statistic.size, Fraction(event.sigma) / step)
    return statistic + noise.reshape(statistic.shape)


def _seeded(event, statistic, generator):
    """Draw by numpy's laws: the same but for float64."""
    if isinstance(event, ChoiceEvent):
        scale = 2 * event.sensitivity.value / event.step / float(event.epsilon_each)
        return _peel(statistic - statistic.max(), generator, scale, n_choices=event.n_choices)
    if isinstance(event, LaplaceEvent):
        # The difference of two geometric numbers is discrete Laplace.
        tails = -math.expm1(-event.step / event.scale)
        first, second = generator.geometric(tails, size=(2, *statistic.shape))
        return statistic + first - second
    normal = generator.standard_normal(statistic.shape)
    return statistic + np.rint(normal * (event.sigma / event.step)).astype(np.int64)


def _peel(scores, generator, scale, *, n_choices):
    """Choose by the highest of scores with exponential noise, which is permute-and-flip's law."""
    chosen = np.empty(n_choices, dtype=np.int64)
    left = np.arange(len(scores))
    for number in range(n_choices):
        place = np.argmax(scores[left] + generator.exponential(scale, size=len(left)))
        chosen[number] = left[place]
        left = np.delete(left, place)
    return chosen


def _on_grid(statistic, name):
    statistic = np.asarray(statistic)
    is_grid = np.issubdtype(statistic.dtype, np.integer) and np.can_cast(statistic.dtype, np.int64)
    if not is_grid:
        raise UsageError(f"The {name} must be integers on its grid, got {statistic.dtype}. Round it by row.")
    return statistic.astype(np.int64, copy=False)


def _scale(sensitivity, *, share, norm, step, name):
    """Return sensitivity/share, rounded up, so that the loss is never above the share."""
    if sensitivity.norm != norm:
        raise UsageError(
            f"The sensitivity of the {name} must be in {norm}, got {sensitivity.norm}. Claim it in that norm."
        )
    if math.frexp(step)[0] != 0.5:
        raise UsageError(f"The grid of the {name} must be a power of 2 wide, got {step}. Choose another.")
    if not 0 < share < math.inf:
        raise UsageError(
            f"The budget of the {name} must be a finite number above 0, got {share}. Give it a share."
        )
    scale = math.nextafter(sensitivity.value / share, math.inf)
    # Beyond this many grid steps no sampler reaches every integer.
    if scale > LARGEST_SCALE * step:
        raise UsageError(
            f"The noise of the {name} must be at most {LARGEST_SCALE:.0e} grid steps, "
            f"got {scale / step:.0e}. Raise `privacy.epsilon` or the share."
        )
    return scale
