"""Sources of noise that an audit must catch: too small by a factor, or absent, in all draws or in one."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.privacy.accounting.events import LaplaceEvent
from dpgrs.privacy.audit.audit import ENOUGH_TO_VARY, N_DRAWS, alarm_probability, audit
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.steps.audit import noise_of


class SpoiledNoise(NoiseSource):
    """The draws of an honest source, with noise too small by a factor; without any if it is infinite.

    Parameters
    ----------
    noise : NoiseSource
    factor : float > 1
    number : int, of the one draw that is spoiled; None spoils all. Draws are counted over a run.
    """

    def __init__(self, noise, factor, *, number=None):
        self.source = noise.source
        self._noise, self._factor, self._number, self._done = noise, factor, number, []

    def _draw(self, statistic, event):
        factor = self._next_factor()
        if math.isinf(factor):
            return statistic, event
        scale = "scale" if isinstance(event, LaplaceEvent) else "sigma"
        return self._honest()._draw(statistic, replace(event, **{scale: getattr(event, scale) / factor}))

    def _choose(self, event, digest):
        factor = self._next_factor()
        if math.isfinite(factor):
            return (yield from self._honest()._choose(_weaker(event, factor), digest))
        chosen = np.empty(0, dtype=np.int64)
        for _ in range(event.n_choices):
            scores, _ = yield chosen
            left = np.array(scores, dtype=float)
            left[chosen] = -math.inf
            chosen = np.append(chosen, np.argmax(left))
        return chosen, event

    def _choose_set(self, scores, event):
        factor = self._next_factor()
        if math.isfinite(factor):
            return self._honest()._choose_set(scores, _weaker(event, factor))
        return np.sort(np.argsort(-scores, kind="stable")[: event.n_choices]), event

    def _assign(self, n_units, name, n_groups):
        return self._honest()._assign(n_units, name, n_groups)

    def _deep_point(self, models, event, is_safe):
        factor = self._next_factor()
        if math.isfinite(factor):
            return self._honest()._deep_point(models, _weaker(event, factor), is_safe)
        return [int(one) for one in np.median(models, axis=0)] if is_safe else None, event

    def _honest(self):
        noise = self._noise.of(*self._request_part)
        noise._data = self._data
        return noise

    def _next_factor(self):
        self._done.append(None)
        return self._factor if self._number in (None, len(self._done) - 1) else 1


def _weaker(event, factor):
    sensitivity = event.sensitivity
    return replace(event, sensitivity=replace(sensitivity, value=sensitivity.value / factor))


def run_audit(case, *, mode="benchmark", **options):
    """Audit a case with seeded noise, or that of a release where it draws any; always the same result."""
    with_noise = noise_of(case, 7, mode=mode)
    return audit(case, lambda run, draw: with_noise(run, case.name, draw), **options)


def broken(case, control, *terms, **options):
    """Return a case whose mechanism spoils its noise; the claim stays."""
    return replace(case, run=lambda exact, noise: case.run(exact, control(noise, *terms, **options)))


def require_error_rates(result, error_rates=None):
    """Require that guesses are false as often as exact laws say: those of the claim if none are given.

    Within 5.5 standard errors: 4,000 draws of an input fail that once in 10^7.
    """
    error_rates = error_rates or result.case.claim.error_rates()
    for expected, wrong in zip(error_rates, result.false_guesses, strict=True):
        sd = math.sqrt(result.n_draws * expected * (1 - expected))
        assert wrong == pytest.approx(result.n_draws * expected, abs=5.5 * sd)


def of_each_mechanism(cases):
    """Return of each mechanism the name of one case, of those with most draws the last: what runs by day."""
    by_draws = sorted(cases.items(), key=lambda item: len(item[1].parts))
    return list({case.mechanism: name for name, case in by_draws}.values())


def with_each_noise(cases):
    """Return names of cases, each with "release" if a release can draw its noise, and with "benchmark"."""
    modes = {True: ["release", "benchmark"], False: ["benchmark"]}
    return [(name, mode) for name, case in cases.items() for mode in modes[case.is_for_releases]]


def with_noise_of_most(cases, names):
    """Return of `with_each_noise` the first for each name: noise of a release where there is any."""
    return [(name, "release" if cases[name].is_for_releases else "benchmark") for name in names]


def draws_that_show_halved(case):
    """Return how many draws catch a case with halved noise, with a probability of at least 1 - 1e-9."""
    rates = case.claim.error_rates(2.0)
    sizes = [ENOUGH_TO_VARY] if case.parts else [N_DRAWS // 2, N_DRAWS]
    return next(n for n in sizes if 1 - alarm_probability(case.claim, rates, n_draws=n) < 1e-9)
