"""The mixture prior of effects against all of its configurations, and its draws."""

from itertools import product

import numpy as np
import pytest

from dpgrs.methods.genome_mixture import SIZES, MixturePrior, mixture_effects
from genome_data import entries_of_blocks, stated


def exact_means(block, Q, prior, factor):
    """The posterior means of effects over the sizes of all variants, of the first row."""
    L, N, c = block.loadings, np.diag(block.noise) * factor, block.entries[0]
    means, whole = 0, 0
    for sizes in product(range(4), repeat=len(L)):
        D = Q * SIZES[list(sizes)] * prior.variance
        covariance = (L.T * D) @ L + N
        solved = np.linalg.solve(covariance, c)
        weight = np.prod(prior.chances[list(sizes)]) * np.exp(-c @ solved / 2)
        weight /= np.sqrt(np.linalg.det(covariance))
        means, whole = means + weight * D * (L @ solved), whole + weight
    return means / whole


@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_mixture_effects__are_those_of_exact_enumeration(factor):
    seen = entries_of_blocks([(5, 3), (4, 4)], factor=factor)
    prior, model = MixturePrior(np.array([0.5, 0.2, 0.2, 0.1]), 8.0), stated(seen, 0.4)
    effects, same = mixture_effects(seen, model, prior=prior, sweeps=20_000, burn_in=100)
    for block, of_block in zip(seen.blocks, effects, strict=True):
        Q = model.mean_heritability[0] * model.scales[1] * block.relative_variances(-0.5)
        expected = exact_means(block, Q, prior, factor)
        np.testing.assert_allclose(of_block[0], expected, atol=0.03 * np.abs(expected).max())
    np.testing.assert_allclose(same.chances, prior.chances)
    assert same.variance == pytest.approx(8.0)


def test_mixture_effects__find_few_effects():
    def few(rng, shape):
        return np.where(rng.random(shape) < 0.03, rng.standard_normal(shape), 0)

    seen = entries_of_blocks([(100, 80)] * 4, n_rows=3, effects=few, noise=0.005)
    effects, prior = mixture_effects(seen, stated(seen, 0.9), sweeps=200, burn_in=100)
    assert prior.chances[0] > 0.9
    assert prior.chances.sum() == pytest.approx(1)
    again, _ = mixture_effects(seen, stated(seen, 0.9), sweeps=200, burn_in=100)
    assert all(np.array_equal(a, b) for a, b in zip(effects, again, strict=True))


@pytest.mark.parametrize("is_given", [True, False])
def test_mixture_effects__in_groups_are_those_of_all_blocks_but_for_chance(is_given):
    def few(rng, shape):
        return np.where(rng.random(shape) < 0.1, rng.standard_normal(shape), 0)

    seen = entries_of_blocks([(40, 32)] * 12, n_rows=2, effects=few, noise=0.05)
    model, options = stated(seen, 0.9), {"sweeps": 3000, "burn_in": 500}
    prior = MixturePrior(np.array([0.85, 0.05, 0.05, 0.05]), 10.0) if is_given else None
    whole, of_whole = mixture_effects(seen, model, prior=prior, **options)
    # Three blocks a group.
    parts, of_parts = mixture_effects(seen, model, prior=prior, largest=3 * 40 * 32, **options)
    whole, parts = (np.concatenate(effects, axis=1) for effects in (whole, parts))
    assert parts.shape == whole.shape
    assert not np.array_equal(whole, parts)
    assert np.corrcoef(whole.ravel(), parts.ravel())[0, 1] > 0.99
    if is_given:
        np.testing.assert_allclose(of_parts.chances, of_whole.chances)
        np.testing.assert_allclose(parts, whole, atol=0.1 * np.abs(whole).max())
