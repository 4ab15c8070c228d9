"""BLUP of a genome block by block against one dense BLUP, and weights of variants."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal

from dpgrs.linalg.genome_map import ChromosomeMap, GenomeMap, LdBlock
from dpgrs.methods.blup_model import HERITABILITIES
from dpgrs.methods.genome_fit import (
    EXPONENTS,
    GenomeEffects,
    blup_effects,
    fit_variances,
    genome_entries,
    variant_weights,
)
from genome_data import entries_of_blocks

H2 = HERITABILITIES[16]


def dense_model(seen, exponent):
    """L and Q of the whole genome, whose effects have a genetic variance of 1, and N."""
    L = block_diag(*(block.loadings for block in seen.blocks))
    Q = np.concatenate([block.deviations ** (2 + 2 * exponent) for block in seen.blocks])
    variances = np.concatenate([np.diag(block.root @ block.root) for block in seen.blocks])
    axes = np.concatenate([np.square(block.axis_effects).sum(axis=1) for block in seen.blocks])
    Q = Q / (Q @ (variances + axes))
    return L, Q, np.concatenate([block.noise for block in seen.blocks])


@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_blup_effects__of_blocks_are_those_of_the_whole_genome(factor):
    seen = entries_of_blocks([(6, 4), (5, 5), (7, 2)], n_rows=2, factor=factor)
    model = fit_variances(seen, heritability=H2)
    c = np.concatenate([block.entries for block in seen.blocks], axis=1)
    effects, log_shares = [], []
    for exponent in EXPONENTS:
        L, Q, N = dense_model(seen, exponent)
        covariance = H2 * (L.T * Q) @ L + factor * np.diag(N)
        effects.append(c @ np.linalg.solve(covariance, H2 * L.T * Q))
        log_shares.append(multivariate_normal(np.zeros(len(N)), covariance).logpdf(c).sum())
    shares = np.exp(log_shares - np.max(log_shares))
    shares /= shares.sum()
    np.testing.assert_allclose(model.exponent_shares, shares)
    np.testing.assert_allclose(model.mean_heritability, [H2, H2])
    blockwise = np.concatenate(blup_effects(seen, model).of_blocks, axis=1)
    np.testing.assert_allclose(blockwise, np.tensordot(shares, effects, 1), rtol=1e-3)


def test_fit_variances__finds_the_heritability():
    def normal(rng, shape):
        return rng.standard_normal(shape) * np.sqrt(0.3 / (12 * shape[1]))

    seen = entries_of_blocks([(40, 40)] * 12, n_rows=2, effects=normal, noise=1e-4)
    assert fit_variances(seen).mean_heritability == pytest.approx(np.full(2, 0.3), abs=0.06)


def test_blup_effects__of_axes_are_shrunken_by_their_noise():
    seen = entries_of_blocks([(6, 4), (5, 5)], n_axes=2)
    model = replace(fit_variances(seen, heritability=H2), exponent_shares=np.array([0.0, 1.0, 0.0]))
    Q = [model.scales[1] * block.deviations for block in seen.blocks]
    B = [block.axis_effects[:, 0] for block in seen.blocks]
    p = H2 * sum(q @ b**2 for q, b in zip(Q, B, strict=True))
    effects = blup_effects(seen, model).of_axes[0]
    assert effects[0] == pytest.approx(p / (p + seen.axis_noise[0]) * seen.of_axes[0, 0])
    assert effects[1] == 0


@pytest.fixture
def genome():
    rng = np.random.default_rng(6)
    chromosomes = []
    for number in range(2):
        blocks = []
        for first, stop in ((0, 4), (4, 7)):
            size = stop - first
            V = np.linalg.qr(rng.standard_normal((size, size)))[0][:, :2]
            root, shares = np.eye(size) + 0.2, rng.uniform(0.1, 0.2, size=2)
            part = (np.ones((2, size), np.int64), shares, shares, V, root, rng.uniform(0.3, 0.7, size=size))
            blocks.append(LdBlock(first, stop, *part, 0.1))
        effects, loadings = rng.integers(-900, 900, size=(7, 2)), rng.integers(-(2**22), 2**22, size=(3, 2))
        gains = np.array([2**22, 0]) if number == 0 else np.empty(0, np.int64)
        whole = (np.full(7, 4096), tuple(blocks), effects, gains, 0.7, np.array([0, 2, 5]), loadings)
        chromosomes.append(ChromosomeMap(str(number), *whole))
    axes = np.array([1 / 16, 0]), np.array([0.1, 0.1])
    return GenomeMap(tuple(chromosomes), 500, 1.0, 1.0, *axes, False, np.array([0.9, 0.8]))


def test_genome_entries__are_means_and_noise_of_the_model(genome):
    rng = np.random.default_rng(7)
    n, slope, residual, sigma = 1000, 0.8, 1.1, 2.0
    theta = [rng.standard_normal((2, 4)), rng.standard_normal((2, 3))] * 2
    blocks = [block for chromosome in genome.chromosomes for block in chromosome.blocks]
    pairs = zip(blocks, theta, strict=True)
    means = [t @ block.loadings * np.sqrt(block.shares) * n * slope for block, t in pairs]
    of_axes = np.array([[0.25 * n * slope * 3, 0.0]] * 2)
    sums = [np.hstack([of_axes, *means[:2]]) * 0.9, np.hstack(means[2:]) * 0.8]
    seen = genome_entries(genome, sums, n, noise_sd=sigma, slope=slope, residual=residual)
    for block, entries, t in zip(blocks, seen.blocks, theta, strict=True):
        np.testing.assert_allclose(entries.entries, t @ block.loadings)
    last = sigma**2 / (blocks[3].shares * (0.8 * n * slope) ** 2) + residual / n + 0.1 / 500
    np.testing.assert_allclose(seen.blocks[3].noise, last)
    np.testing.assert_allclose(seen.of_axes, [[3, 0]] * 2)
    assert seen.axis_noise[0] == pytest.approx(residual / n + (sigma / (0.25 * 0.9 * n * slope)) ** 2)
    assert np.isinf(seen.axis_noise[1])


def test_variant_weights__score_like_axes_and_blocks(genome):
    rng = np.random.default_rng(8)
    parts = tuple(rng.standard_normal((3, size)) for size in (4, 3, 4, 3))
    effects = GenomeEffects(parts, rng.standard_normal((3, 2)))
    weights = variant_weights(genome, effects)
    x = rng.standard_normal((2, 7))
    pairs = list(zip(genome.chromosomes, x, strict=True))
    f = sum(row[chromosome.pruned] @ chromosome.axis_loadings * 2.0**-24 for chromosome, row in pairs)
    expected, place = effects.of_axes @ f, 0
    for chromosome, row in pairs:
        rest = row - chromosome.axis_effects * 2.0**-12 @ f
        for block in chromosome.blocks:
            expected = expected + parts[place] @ (rest[block.columns] / block.deviations)
            place += 1
    np.testing.assert_allclose(sum(w @ row for w, row in zip(weights, x, strict=True)), expected)
