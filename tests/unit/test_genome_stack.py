"""BLUP and mixture in one fit: thinned copies, the share of the mixture, and the scale."""

import numpy as np
import pytest

from dpgrs.linalg.genome_map import ScoreVariances
from dpgrs.methods.genome_fit import BlockEntries, GenomeEntries, blup_effects, fit_variances
from dpgrs.methods.genome_stack import COPIES, THINNING, _total_variance, fit_genome, thinned_copies
from genome_data import block_of_loadings, entries_of_blocks

SHAPES = [(30, 20)] * 3


def few(rng, shape):
    return np.where(rng.random(shape) < 0.05, rng.standard_normal(shape), 0)


def many(rng, shape):
    return rng.standard_normal(shape) * 0.05


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_thinned_copies__have_independent_noise_of_the_stated_size(factor):
    seen = entries_of_blocks([(30, 25)], n_rows=20, factor=factor)
    first, second = thinned_copies(seen)
    block = seen.blocks[0]
    changes = [
        (copy.blocks[0].entries - np.tile(block.entries, (COPIES, 1))) / np.sqrt(factor * block.noise)
        for copy in (first, second)
    ]
    assert changes[0].shape == (20 * COPIES, 25)
    # With the noise N of c they have the variances N (1 + a) and N (1 + 1/a), and no covariance.
    np.testing.assert_allclose(changes[1], -changes[0] / THINNING)
    assert np.var(changes[0]) == pytest.approx(THINNING, rel=0.1)
    assert set(first.factors) == {factor * (1 + THINNING)}
    assert set(second.factors) == {factor * (1 + 1 / THINNING)}
    assert len(np.unique(changes[0])) == changes[0].size


@pytest.mark.parametrize(("effects", "bounds"), [(few, (0.5, 1)), (many, (0, 1))])
def test_fit_genome__mixes_in_as_much_of_the_mixture_as_entries_support(effects, bounds):
    seen = entries_of_blocks(SHAPES, n_rows=3, effects=effects, noise=0.02)
    fit = fit_genome(seen)
    truth = entries_of_blocks(SHAPES, n_rows=3, effects=effects, noise=1e-12)
    blup = blup_effects(seen, fit_variances(seen))

    def loss(parts):
        blocks = zip(parts, truth.blocks, strict=True)
        return sum(np.square(part @ block.loadings - block.entries).sum() for part, block in blocks)

    assert bounds[0] <= fit.mixture_share <= bounds[1]
    assert loss(fit.effects.of_blocks) < 1.03 * loss(blup.of_blocks)
    assert fit.scale == 1


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_fit_genome__scale_follows_the_panel(factor):
    """Where the panel has a score's variance the scale is near 1; where it has more, it is less."""
    seen = entries_of_blocks(SHAPES, n_rows=3, effects=many, noise=2e-4)

    def panel_variances(effects):
        pairs = zip(effects.of_blocks, seen.blocks, strict=True)
        variances = factor * sum(np.square(part @ block.root).sum(axis=1) for part, block in pairs)
        return ScoreVariances(variances, variances, 500)

    fit, unscaled = fit_genome(seen, panel_variances=panel_variances), fit_genome(seen)
    assert fit.scale == pytest.approx(1 / factor, rel=0.1)
    np.testing.assert_allclose(fit.effects.of_blocks[0], fit.scale * unscaled.effects.of_blocks[0])


@pytest.mark.parametrize(("covariance", "total"), [(2, 4), (-2, 4), (4, 7), (-3, 7 / 3)])
def test_total_variance__covariance_of_chromosomes_is_taken_off_as_far_as_it_is_chance(covariance, total):
    """A variance of 4 in all, of 32 people: by chance their covariance is 0 ± 1."""
    of_chromosomes = np.full(COPIES, 1.0)
    variances = ScoreVariances(of_chromosomes + covariance / COPIES, of_chromosomes, 32)
    assert _total_variance(variances) == pytest.approx(total)


N_VARIANTS, N_ROWS = 30, 40


def test_fit_genome__scaled_slopes_are_1_where_blocks_are_in_ld():
    """Both blocks show the same signal, which a fit of single blocks counts twice."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, N_VARIANTS)) + rng.standard_normal((200, 1))
    within = np.corrcoef(X.T)
    population = np.kron([[1, 0.9], [0.9, 1]], within)
    panel = rng.multivariate_normal(np.zeros(2 * N_VARIANTS), population, size=2000)
    values, V = np.linalg.eigh(within)
    root = (V * np.sqrt(values)) @ V.T
    effects = rng.standard_normal((N_ROWS, 2 * N_VARIANTS)) * 0.05
    products = np.split(effects @ population, 2, axis=1)
    blocks, N = [], np.full(N_VARIANTS, 0.002)
    for of_block in products:
        c = of_block @ np.linalg.inv(root) @ V + rng.normal(scale=np.sqrt(N), size=(N_ROWS, N_VARIANTS))
        block = block_of_loadings(root @ V, root, np.full(N_VARIANTS, 0.6))
        blocks.append(BlockEntries(block, N, c, np.zeros((N_VARIANTS, 0))))
    none = np.zeros((N_ROWS, 0))
    seen = GenomeEntries(tuple(blocks), none, none[0], np.ones(N_ROWS))

    def panel_variances(effects):
        variances = (np.hstack(effects.of_blocks) @ panel.T).var(axis=1)
        return ScoreVariances(variances, variances, len(panel))

    def slope(fit):
        """That of genetic values on scores in the population, of all phenotypes together."""
        weights = np.hstack(fit.effects.of_blocks)
        return np.vdot(weights, effects @ population) / np.vdot(weights, weights @ population)

    assert slope(fit_genome(seen)) < 0.7
    assert 0.95 < slope(fit_genome(seen, panel_variances=panel_variances)) < 1.05
