"""What all sources of noise share: the interface of the one door, and the check that comes before a draw."""

import hashlib
import json
from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import CHOICES, GaussianEvent, LaplaceEvent, SubsetEvent
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.depth_noise import DeepNoise
from dpgrs.privacy.noise.rounds import answered, exact_scores, on_grid
from dpgrs.types import Selection


class NoiseSource(DeepNoise):
    """What all sources share: the check of a draw, which comes before it.

    Attributes
    ----------
    source : str, see `dpgrs.privacy.accounting.events.Event`.
    """

    source = None
    _part = ()
    _data = None

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

    def on(self, digest, *more):
        """Return the source of draws that hang on earlier ones, all made of the same data.

        What is drawn later is made of data and of noise that no rehearsal knows. The ledger marks the data
        instead: changed ones are refused before any draw, and the same give the same draws again. What a draw
        costs must not hang on earlier noise.

        Parameters
        ----------
        digest, *more : str, `data_digest` of every private input. Data named before stay named.
        """
        scoped = copy(self)
        scoped._data = json_digest(["data", self._data, digest, *more]).hex()
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
        statistic = on_grid(statistic, name)
        sigma = scale_of(sensitivity, share=mu, norm=GaussianEvent.norm, step=step, name=name)
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
        statistic = on_grid(statistic, name)
        scale = scale_of(sensitivity, share=epsilon, norm=LaplaceEvent.norm, step=step, name=name)
        return self._draw(
            statistic,
            LaplaceEvent(
                epsilon=float(epsilon), scale=scale, **self._common(statistic, name, step, sensitivity)
            ),
        )

    def choose(
        self, scores, *, name, step, sensitivity, epsilon, n_choices=1, law=Selection.PERMUTE_AND_FLIP
    ):
        """Choose entries of high score, one after the other.

        Parameters
        ----------
        scores : (n,) int64, exact, in units of `step`.
        name, step : as in `gaussian`.
        sensitivity : Sensitivity, of every score, in linf.
        epsilon : float > 0, the share of the budget, of all choices together.
        n_choices : int in [1, n]
        law : Selection

        Returns
        -------
        chosen : (n_choices,) int64, different indices into the scores, in the order of choice.
        event : ChoiceEvent

        Raises
        ------
        UsageError
            As `gaussian`, and if there are fewer scores than choices.
        """
        scores = on_grid(scores, name)
        if scores.ndim != 1:
            raise _too_few(name, n_choices, f"the shape {scores.shape}")
        unit = Fraction(step)
        family = CHOICES[Selection(law)]
        event = self._choice(family, len(scores), name, step, sensitivity, epsilon, n_choices)
        choice = self._choose(event, self._data or statistic_digest(scores))
        return answered(choice, lambda chosen: (scores, unit))

    def choose_in_rounds(
        self, *, n_entries, name, sensitivity, epsilon, n_choices, law=Selection.PERMUTE_AND_FLIP
    ):
        """Choose entries of high score, one after the other, by scores that hang on the choices before.

        The choice asks for the scores of each round, so that choices of several outcomes may go side by side:
        what each draws hangs on nothing but its own key and scores. `rounds.answered` runs a single one.

        The source must be that of `on` all that the scores are made of. The ledger's mark holds the scores of
        the first round as well, so that data that `on` leaves out do not go unnoticed there; they must not
        hang on noise.

        Parameters
        ----------
        n_entries : int, public.
        name : str, what it is.
        sensitivity : Sensitivity, of every score of every round for the same earlier choices, in linf.
        epsilon, n_choices, law : as in `choose`.

        Returns
        -------
        generator that yields the (n_chosen,) int64 indices chosen so far and takes the (n_entries,) int64
        scores of all entries, those chosen included, and their unit: a Fraction > 0 in the units of the
        sensitivity. The unit may be private, say by a number of rows in its denominator. It asks once more
        than there are rounds, and keeps no scores between them. It returns

        chosen : (n_choices,) int64, different, in the order of choice.
        event : ChoiceEvent

        Raises
        ------
        UsageError
            As `choose`, where the data are not named, or, once it runs, if the scores or their unit are of
            another form.
        """
        if self._data is None:
            raise UsageError(f"The {name} must be chosen on data. Name what the scores are made of by `on`.")
        family = CHOICES[Selection(law)]
        return self._rounds(self._choice(family, n_entries, name, 1.0, sensitivity, epsilon, n_choices))

    def _rounds(self, event):
        mark = self._marked(*exact_scores(event, (yield np.empty(0, dtype=np.int64))))
        return (yield from self._choose(event, mark))

    def _marked(self, scores, unit):
        return json_digest([self._data, statistic_digest(scores), str(unit)]).hex()

    def choose_set(self, scores, *, name, step, sensitivity, epsilon, n_choices, gamma=0.5):
        """Choose a set of entries of high score at once, by the canonical Lipschitz mechanism.

        Parameters
        ----------
        scores, name, step, sensitivity : as in `choose`.
        epsilon : float > 0, the share of the budget, of the whole set.
        n_choices : int in [1, n]
        gamma : float in [0, 1), how much the worst score inside counts against the best outside.

        Returns
        -------
        chosen : (n_choices,) int64, indices into the scores in ascending order, which tells nothing.
        event : SubsetEvent

        Raises
        ------
        UsageError
            As `choose`, and for another gamma.
        """
        scores = on_grid(scores, name)
        if scores.ndim != 1:
            raise _too_few(name, n_choices, f"the shape {scores.shape}")
        if not 0 <= gamma < 1:
            raise UsageError(f"`gamma` must be at least 0 and below 1, got {gamma}. Use the default, 0.5.")
        terms = name, step, sensitivity, epsilon, n_choices
        event = self._choice(SubsetEvent, len(scores), *terms, gamma=float(gamma))
        return self._choose_set(scores, event)

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

    def _choice(self, family, n_entries, name, step, sensitivity, epsilon, n_choices, **terms):
        """Check a choice and return its event."""
        if not 1 <= n_choices <= n_entries:
            raise _too_few(name, n_choices, n_entries)
        scale_of(sensitivity, share=epsilon, norm=family.norm, step=step, name=name)
        return family(
            statistic=name,
            sensitivity=sensitivity,
            step=step,
            entries=int(n_entries),
            source=self.source,
            epsilon=float(epsilon),
            n_choices=int(n_choices),
            **terms,
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
        """Add the noise of an event to a statistic, and return both."""
        raise NotImplementedError

    def _choose(self, event, digest):
        """Return the generator of a choice, as of `choose_in_rounds`; digest of the scores or their data."""
        raise NotImplementedError

    def _choose_set(self, scores, event):
        """Choose a set by its scores, and return it with the event."""
        raise NotImplementedError

    def _assign(self, n_units, name, n_groups):
        """Return a group for each of so many units."""
        raise NotImplementedError

    def _deep_point(self, models, event, is_safe):
        """Draw a point by its depth if it is safe, and return it, or None, with the event."""
        raise NotImplementedError


def statistic_digest(statistic):
    """Digest an integer array: SHA-256 of its shape and values, in hexadecimal."""
    statistic = np.asarray(statistic)
    shape = json.dumps(statistic.shape).encode()
    return hashlib.sha256(shape + statistic.astype("<i8").tobytes()).hexdigest()


class InBlocks(NamedTuple):
    """An array that is not in memory as a whole.

    Attributes
    ----------
    dtype : numpy dtype
    shape : tuple of int
    blocks : iterator of arrays of that type: its rows, in order.
    """

    dtype: np.dtype
    shape: tuple
    blocks: Iterator


def data_digest(*arrays):
    """Digest arrays of integers, floats or truth values: SHA-256 of their types, shapes and bytes.

    InBlocks has the digest of the array that it is.
    """
    total = hashlib.sha256()
    for array in arrays:
        # Numbers count as arrays of one, as they always did: marks of earlier releases rest on it.
        whole = array if isinstance(array, InBlocks) else np.ascontiguousarray(array)
        total.update(json.dumps([whole.dtype.str, whole.shape]).encode())
        for block in whole.blocks if isinstance(array, InBlocks) else [whole]:
            own = np.ascontiguousarray(block)
            total.update(own.view(np.uint8).data if own.size else b"")
    return total.hexdigest()


def json_digest(identity):
    """Digest JSON values: SHA-256, as bytes."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()


def _no_sample(name):
    return UsageError(
        f"The sample of {name} must be drawn in a benchmark: releases draw none. Use `mode: benchmark`."
    )


def _too_few(name, n_choices, got):
    return UsageError(
        f"The {name} must be one row of at least {n_choices} scores, got {got}. Choose fewer, or one."
    )
