"""BLUP and mixture in one fit: thinned copies, the share of the mixture, and the scale."""

import numpy as np
import pytest

from dpgrs.methods.genome_fit import blup_effects, fit_variances
from dpgrs.methods.genome_stack import COPIES, THINNING, fit_genome, thinned_copies
from genome_data import entries_of_blocks

SHAPES = [(30, 20)] * 3


def few(rng, shape):
    return np.where(rng.random(shape) < 0.05, rng.standard_normal(shape), 0)


def many(rng, shape):
    return rng.standard_normal(shape) * 0.05


def test_thinned_copies__have_independent_noise_of_the_stated_size():
    seen = entries_of_blocks([(30, 25)], n_rows=20)
    first, second = thinned_copies(seen)
    block = seen.blocks[0]
    changes = [
        (copy.blocks[0].entries - np.tile(block.entries, (COPIES, 1))) / np.sqrt(block.noise)
        for copy in (first, second)
    ]
    assert changes[0].shape == (20 * COPIES, 25)
    # With the noise N of c they have the variances N (1 + a) and N (1 + 1/a), and no covariance.
    np.testing.assert_allclose(changes[1], -changes[0] / THINNING)
    assert np.var(changes[0]) == pytest.approx(THINNING, rel=0.1)
    assert set(first.factors) == {1 + THINNING}
    assert set(second.factors) == {1 + 1 / THINNING}
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
        return factor * sum(np.square(part @ block.root).sum(axis=1) for part, block in pairs)

    fit, unscaled = fit_genome(seen, panel_variances=panel_variances), fit_genome(seen)
    assert fit.scale == pytest.approx(1 / factor, rel=0.1)
    np.testing.assert_allclose(fit.effects.of_blocks[0], fit.scale * unscaled.effects.of_blocks[0])
