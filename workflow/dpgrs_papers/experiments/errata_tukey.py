"""Defects of the Tukey mechanism as published, and what they lose (docs/explanation/tukey.md)."""

import math
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.privacy.noise.depth_sampler import DepthRegions
from dpgrs_papers.experiments.errata_defect import Defect, loss_of_chances
from dpgrs_papers.experiments.tukey_check import whole_tail
from dpgrs_papers.methods.tukey import TukeyFit, TukeyRequest, private_deep_point
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms, smallest_passing
from dpgrs_papers.methods.tukey_models import models_on_grid

EPSILON, DELTA = 1.0, 1e-5
HALF = EPSILON / 2  # for the check, and for the draw
STEP = 2.0**-40
REQUEST = TukeyRequest(epsilon=EPSILON, delta=DELTA, rows_per_coefficient=1.0, neighbours="replace-one")
TERMS = {"epsilon": EPSILON, "delta": DELTA}
# Of one coordinate: far models hold the safe step down, and a thin interval beside a wide one is a step less
# deep. The neighbour has one far model less and one on the right more.
FAR, THIN = -1e50, 0.0824
ON_A_LINE = {FAR: 76, 0.0: 124, 1.0: 1, 1.0 + THIN: 199}, {FAR: 75, 0.0: 124, 1.0: 1, 1.0 + THIN: 200}
FEWEST_ON_A_SIDE, MOST_ON_A_SIDE = 100, 300
# One point of hundreds of models takes 0.1 s.
SHARE = 0.05


def models_at(counts: dict[float, int]) -> np.ndarray:
    """Return models of one coefficient, so many at each place, (n_models, 1) whole numbers of `STEP`."""
    return models_on_grid(np.repeat(list(counts), list(counts.values()))[:, np.newaxis], STEP)


def published_points(
    models: np.ndarray, depths: np.ndarray, rng: Generator, *, skipped: int = 0
) -> np.ndarray:
    """Draw a point of each depth as the public code does, (n, d) float64.

    One coordinate has exactly the depth. Coordinates before it are deeper, and those after it at least as
    deep. The code chooses this coordinate by the lengths of the next smaller box in all others, also in those
    after it. Depths are at most half of the models, which are even in number. The code takes depths from one
    slice of the sorted models and points from another: `skipped` outermost models are left out for points.
    """
    low, high = np.sort(models, axis=0)[skipped:], np.sort(models, axis=0)[::-1][skipped:]
    outer, inner = np.asarray(depths) - 1, np.asarray(depths)
    pieces = np.stack([low[inner] - low[outer], high[outer] - high[inner]])
    lengths = pieces.sum(axis=0)
    # Half of the models on either side leave a box of which low and high are swapped.
    smaller = np.abs(high[inner] - low[inner])
    other_lengths = [np.delete(smaller, j, axis=1).prod(axis=1) for j in range(models.shape[1])]
    weights = lengths * np.stack(other_lengths, axis=1)
    ends = np.cumsum(weights, axis=1)
    rows = np.arange(len(outer))
    j = (rng.random(len(outer)) * ends[:, -1] >= ends.T).sum(axis=0).clip(max=ends.shape[1] - 1)
    is_after = np.arange(models.shape[1]) > j[:, np.newaxis]
    ends_of_box = np.where(is_after, low[outer], low[inner]), np.where(is_after, high[outer], high[inner])
    points = rng.uniform(np.minimum(*ends_of_box), np.maximum(*ends_of_box))
    is_left = rng.random(len(outer)) * lengths[rows, j] < pieces[0][rows, j]
    starts = np.where(is_left, low[outer, j], high[inner, j])
    stops = np.where(is_left, low[inner, j], high[outer, j])
    points[rows, j] = rng.uniform(starts, stops)
    return points


def drawn_depths(models: np.ndarray, *, rate: float | Fraction, n_draws: int, rng: Generator) -> np.ndarray:
    """Draw depths t and more by B_q e^(rate q), (n_draws,) int."""
    regions = DepthRegions(models)
    p = np.arange(regions.least, regions.deepest + 1)
    shells = regions.shells[regions.least - 1 :]
    logs = np.array([math.log(shell) if shell else -math.inf for shell in shells]) + float(rate) * p
    return rng.choice(p, size=n_draws, p=np.exp(logs - np.logaddexp.reduce(logs)))


def passes(step: int, *, n_draws: int, rng: Generator) -> np.ndarray:
    """Draw whether a safe step passes by continuous Laplace noise of the right scale, (n_draws,) bool."""
    return step + rng.laplace(scale=1 / HALF, size=n_draws) > smallest_passing(HALF, DELTA)


def chance_to_pass(step: int) -> float:
    """Return the probability that a safe step passes by our whole noise, a float."""
    return whole_tail(math.floor(smallest_passing(HALF, DELTA)) + 1 - step, epsilon=HALF)


def step_of(models: np.ndarray, *, rate: Fraction, limit: Fraction) -> int:
    """Return k* of the tight check, an int."""
    return largest_safe_step(DepthRegions(models), rate=rate, limit=limit)


def _our_fit(models: np.ndarray, noise: NoiseSource) -> TukeyFit:
    return private_deep_point(models, epsilon=EPSILON, request=REQUEST, noise=noise)


def check_noise() -> Defect:
    """The check's Laplace noise has the scale epsilon where 1/epsilon is needed."""
    rate, limit = safety_terms(HALF, DELTA)
    threshold = smallest_passing(HALF, DELTA)
    # Half of the models on either side, or one more on one: the safe steps are the last two that do not pass
    # without noise.
    pairs = (
        [models_at({0.0: left, 1.0: 2 * side - left}) for left in (side - 1, side)]
        for side in range(FEWEST_ON_A_SIDE, MOST_ON_A_SIDE)
    )
    pair = next(
        model_pair
        for model_pair in pairs
        if step_of(model_pair[1], rate=rate, limit=limit) == math.floor(threshold)
    )
    steps = [step_of(model_pair, rate=rate, limit=limit) for model_pair in pair]

    def published(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        noisy = steps[is_second] + rng.laplace(scale=HALF, size=n_draws)
        return noisy > threshold

    return Defect(
        fault="check: Laplace noise of scale epsilon, not 1/epsilon",
        source="Tukey, public code",
        share=SHARE,
        epsilon=HALF,
        delta=0.0,
        published=published,
        ours=lambda noise, is_second: _our_fit(pair[is_second], noise).weights is not None,
        exact=(
            loss_of_chances(*(0.5 * math.exp((step - threshold) / HALF) for step in steps)),
            loss_of_chances(*map(chance_to_pass, steps)),
        ),
    )


def draw_weights() -> Defect:
    """Depths are weighted by e^(epsilon q), as if a record could only add a model."""
    pair = [models_at(counts) for counts in ON_A_LINE]
    ours = dict(zip(("rate", "limit"), safety_terms(HALF, DELTA), strict=True))
    # The limit d0 e^(2 rate) with the same d0.
    published = {"rate": Fraction(HALF), "limit": Fraction(DELTA / 8 * math.exp(HALF))}
    steps = [step_of(models, **published) for models in pair]

    def draw(rng: Generator, n_draws: int, is_second: bool) -> np.ndarray:
        models = pair[is_second]
        depths = drawn_depths(models, rate=HALF, n_draws=n_draws, rng=rng)
        points = published_points(models, depths, rng)[:, 0] * STEP
        return (points > 1) & passes(steps[is_second], n_draws=n_draws, rng=rng)

    def draw_ours(noise: NoiseSource, is_second: bool) -> bool:
        weights = _our_fit(pair[is_second], noise).weights
        return weights is not None and weights[0] > 1

    def laplace_tail(gap: float) -> float:
        return math.exp(-HALF * gap) / 2 if gap >= 0 else 1 - math.exp(HALF * gap) / 2

    threshold = smallest_passing(HALF, DELTA)
    return Defect(
        fault="draw: weights e^(epsilon q), not e^(epsilon q/2)",
        source="Tukey and DPKendall, proofs and code",
        share=SHARE,
        **TERMS,
        published=draw,
        ours=draw_ours,
        exact=tuple(
            loss_of_chances(*chances, delta=DELTA)
            for chances in (
                [
                    laplace_tail(threshold - step) * thin_chance(models, rate=HALF)
                    for step, models in zip(steps, pair, strict=True)
                ],
                [
                    chance_to_pass(step_of(models, **ours)) * thin_chance(models, rate=ours["rate"])
                    for models in pair
                ],
            )
        ),
    )


def thin_chance(models: np.ndarray, *, rate: float | Fraction) -> float:
    """Return the probability of the thin interval of models on a line, a float."""
    sides = [np.sum(models <= point / STEP) for point in (0.5, 1 + THIN / 2)]
    wide, thin = (min(below, len(models) - below) for below in sides)
    return float(expit(math.log(THIN) + float(rate) * (thin - wide)))
