"""What all sources of noise share: the interface of the one door, and the check that comes before a draw."""

from copy import copy
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from numpy.random import Generator

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import (
    CHOICES,
    ChoiceEvent,
    GaussianEvent,
    LaplaceEvent,
    SubsetEvent,
)
from dpgrs.privacy.digests import json_digest, statistic_digest
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.depth_noise import DeepNoise
from dpgrs.privacy.noise.rounds import Rounds, answered, exact_scores, on_grid
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.types import Selection

# The choices, (n_choices,) int64 and different, in the order of choice.
Choice = tuple[np.ndarray, ChoiceEvent]
Additive = TypeVar("Additive", GaussianEvent, LaplaceEvent)
Chosen = TypeVar("Chosen", ChoiceEvent, SubsetEvent)


class NoiseSource(DeepNoise):
    """The check of a draw, which comes before it, for all sources."""

    # See `dpgrs.privacy.accounting.events.Event`; every source has its own.
    source: str = None  # type: ignore[assignment]
    _request_part: tuple[str, ...] = ()
    _data: str | None = None

    def of(self, *request_part: str) -> Self:
        """Return the source of one part of a release, with noise of its own.

        A part is public: ``genotypes``, or ``outcomes`` and their names. It is one request of the ledger, so
        that its contents are charged and repeated together.
        """
        scoped = copy(self)
        scoped._request_part = request_part
        return scoped

    def on(self, digest: str, *more: str) -> Self:
        """Return the source of draws that depend on earlier ones, all made of the same data.

        Later draws are made of data and of noise that no rehearsal knows. The ledger marks the data instead:
        changed ones are refused before any draw, and the same give the same draws again. The cost of a draw
        must not depend on earlier noise.

        Digests are those of `data_digest` of every private input. Data named before stay named.
        """
        scoped = copy(self)
        scoped._data = json_digest(["data", self._data, digest, *more]).hex()
        return scoped

    def gaussian(
        self, statistic: np.ndarray, *, name: str, step: float, sensitivity: Sensitivity, mu: float
    ) -> tuple[np.ndarray, GaussianEvent]:
        """Add normal noise of standard deviation sensitivity/mu, rounded to the grid.

        Parameters
        ----------
        statistic : (...) int64, exact, in units of `step`.
        step : a power of 2: width of the grid, in the units of the sensitivity.
        sensitivity : in l2 over all entries together.
        mu : > 0, the share of the budget.

        Returns
        -------
        noisy : (...) int64 in units of `step`.

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

    def laplace(
        self, statistic: np.ndarray, *, name: str, step: float, sensitivity: Sensitivity, epsilon: float
    ) -> tuple[np.ndarray, LaplaceEvent]:
        """Add discrete Laplace noise of scale sensitivity/epsilon on the grid.

        Parameters
        ----------
        statistic, step : as in `gaussian`.
        sensitivity : in l1 over all entries together.
        epsilon : > 0, the share of the budget.

        Returns
        -------
        noisy : (...) int64 in units of `step`.

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
        self,
        scores: np.ndarray,
        *,
        name: str,
        step: float,
        sensitivity: Sensitivity,
        epsilon: float,
        n_choices: int = 1,
        law: Selection | str = Selection.PERMUTE_AND_FLIP,
    ) -> Choice:
        """Choose entries of high score, one after the other.

        Parameters
        ----------
        scores : (n,) int64, exact, in units of `step`.
        step : as in `gaussian`.
        sensitivity : of every score, in linf.
        epsilon : > 0, the share of the budget, of all choices together.
        n_choices : in [1, n]

        Returns
        -------
        chosen : (n_choices,) int64, different indices into the scores, in the order of choice.

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
        self,
        *,
        n_entries: int,
        name: str,
        sensitivity: Sensitivity,
        epsilon: float,
        n_choices: int,
        law: Selection | str = Selection.PERMUTE_AND_FLIP,
    ) -> Rounds[Choice]:
        """Choose entries of high score, one after the other, by scores that depend on the choices before.

        The choice asks for the scores of each round, so that choices of several outcomes may go side by side:
        the draws of each depend only on its own key and scores. `rounds.answered` runs a single one.

        The source must be one of `on` all that the scores are made of. The ledger's mark holds the scores of
        the first round as well, so that data that `on` leaves out do not go unnoticed there; they must not
        depend on noise.

        Parameters
        ----------
        n_entries : public.
        sensitivity : of every score of every round for the same earlier choices, in linf.
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
            As `choose`, if the data are not named, or, once it runs, if the scores or their unit are of
            another form.
        """
        if self._data is None:
            raise UsageError(
                "choice-without-data",
                f"The {name} must be chosen on data. Name what the scores are made of by `on`.",
            )
        family = CHOICES[Selection(law)]
        return self._rounds(self._choice(family, n_entries, name, 1.0, sensitivity, epsilon, n_choices))

    def _rounds(self, event: ChoiceEvent) -> Rounds[Choice]:
        mark = self._marked(*exact_scores(event, (yield np.empty(0, dtype=np.int64))))
        return (yield from self._choose(event, mark))

    def _marked(self, scores: np.ndarray, unit: Fraction) -> str:
        return json_digest([self._data, statistic_digest(scores), str(unit)]).hex()

    def choose_set(
        self,
        scores: np.ndarray,
        *,
        name: str,
        step: float,
        sensitivity: Sensitivity,
        epsilon: float,
        n_choices: int,
        gamma: float = 0.5,
    ) -> tuple[np.ndarray, SubsetEvent]:
        """Choose a set of entries of high score at once, by the canonical Lipschitz mechanism.

        Parameters
        ----------
        scores, step, sensitivity : as in `choose`.
        epsilon : > 0, the share of the budget, of the whole set.
        n_choices : in [1, n]
        gamma : in [0, 1), how much the worst score inside counts against the best outside.

        Returns
        -------
        chosen : (n_choices,) int64, indices into the scores in ascending order, which tells nothing.

        Raises
        ------
        UsageError
            As `choose`, and for another gamma.
        """
        scores = on_grid(scores, name)
        if scores.ndim != 1:
            raise _too_few(name, n_choices, f"the shape {scores.shape}")
        if not 0 <= gamma < 1:
            raise UsageError(
                "gamma-out-of-range",
                f"`gamma` must be at least 0 and below 1, got {gamma}. Use the default, 0.5.",
            )
        claim = name, step, sensitivity, epsilon, n_choices
        event = self._choice(SubsetEvent, len(scores), *claim, gamma=float(gamma))
        return self._choose_set(scores, event)

    def poisson_sample(
        self,
        n_units: int,
        *,
        name: str,  # tells samples apart
        probability: float,  # in (0, 1], of every unit to be chosen
    ) -> np.ndarray:
        """Choose units at random, each by itself, in secret, (n_units,) bool; only `BenchmarkNoise` can.

        It is refused in a release: no ledger counts what sampling saves.
        """
        raise _no_sample(name)

    def sample_without_replacement(
        self,
        n_units: int,
        *,
        name: str,  # tells samples apart
        n_chosen: int,  # in [0, n_units]; all samples of so many units are equally likely
    ) -> np.ndarray:
        """Choose a given number of units at random, in secret, (n_units,) bool; only `BenchmarkNoise` can.

        It is refused in a release, as `poisson_sample`.
        """
        raise _no_sample(name)

    def generator(self, name: str, *parameters: str | float) -> Generator:
        """Return a source of random floats for what `name` draws; only `BenchmarkNoise` has one.

        The parameters of the mechanism, which are public, keep two mechanisms from sharing noise. The
        generator is new at every call, so that the same name and parameters give the same numbers. It is
        refused in a release, which draws no floats.
        """
        raise UsageError(
            "benchmark-noise-only",
            f"The {name} must be drawn in a benchmark: releases have no such noise. Use `mode: benchmark`.",
        )

    def _choice(
        self,
        family: type[Chosen],
        n_entries: int,
        name: str,
        step: float,
        sensitivity: Sensitivity,
        epsilon: float,
        n_choices: int,
        **parameters: Any,
    ) -> Chosen:
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
            **parameters,
        )

    def _common(
        self, statistic: np.ndarray, name: str, step: float, sensitivity: Sensitivity
    ) -> dict[str, Any]:
        return {
            "statistic": name,
            "sensitivity": sensitivity,
            "step": step,
            "entries": statistic.size,
            "source": self.source,
        }

    def _draw(self, statistic: np.ndarray, event: Additive) -> tuple[np.ndarray, Additive]:
        """Add the noise of an event to a statistic, and return both."""
        raise NotImplementedError

    def _choose(self, event: ChoiceEvent, digest: str) -> Rounds[Choice]:
        """Return the generator of a choice, as of `choose_in_rounds`; digest of the scores or their data."""
        raise NotImplementedError

    def _choose_set(self, scores: np.ndarray, event: SubsetEvent) -> tuple[np.ndarray, SubsetEvent]:
        """Choose a set by its scores, and return it with the event."""
        raise NotImplementedError


def _no_sample(name: str) -> UsageError:
    return UsageError(
        "sampling-in-release",
        f"The sample of {name} must be drawn in a benchmark: releases draw none. Use `mode: benchmark`.",
    )


def _too_few(name: str, n_choices: int, got: int | str) -> UsageError:
    return UsageError(
        "too-few-scores",
        f"The {name} must be one row of at least {n_choices} scores, got {got}. Choose fewer, or one.",
    )
