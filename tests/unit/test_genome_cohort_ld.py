"""Fits of a genome along the LD of the cohort, from noisy second moments, against a dense model."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.linalg.genome_map import ChromosomeMap, GenomeMap, LdBlock, ScoreVariances
from dpgrs.methods.genome_cohort_ld import shared_variance, shrunk_moments, with_cohort_ld
from dpgrs.methods.genome_fit import EXPONENTS, blup_effects, fit_variances, genome_entries
from dpgrs.methods.genome_stack import fit_genome

N, RESIDUAL = 1000, 2.0


def covariance(rng, size):
    A = rng.standard_normal((size, 3 * size))
    return A @ A.T / (3 * size)


@pytest.fixture
def genome():
    """Return a map of two blocks, with fewer directions than variants."""
    rng, blocks = np.random.default_rng(1), []
    for first, stop, n_directions in ((0, 6, 4), (6, 11, 3)):
        size = stop - first
        eigenvalues, U = np.linalg.eigh(covariance(rng, size))
        root = (U * np.sqrt(eigenvalues)) @ U.T
        V = np.linalg.qr(rng.standard_normal((size, size)))[0][:, :n_directions]
        shares = rng.uniform(0.05, 0.2, n_directions)
        deviations = rng.uniform(0.3, 0.7, size)
        nothing = np.empty((0, 0))
        blocks.append(LdBlock(first, stop, nothing, shares, shares, root @ V, root, deviations, 0.25))
    none, no_axes = np.zeros(0, dtype=np.int64), np.zeros((11, 0), dtype=np.int64)
    chromosome = ChromosomeMap(
        "1", np.zeros(11, np.int64), tuple(blocks), no_axes, none, 1.0, none, no_axes[:0]
    )
    return GenomeMap((chromosome,), 500, 1.0, 1.0, np.zeros(0), np.zeros(0), False, np.ones(1))


@pytest.fixture
def seen(genome):
    sums = [np.random.default_rng(2).standard_normal((2, 7)) * 30]
    return genome_entries(genome, sums, N, noise_sd=10.0, slope=0.8, residual=RESIDUAL)


def moments_of(genome, matrices):
    """Return second moments of M, in the order of a release, as sums over people."""
    parts = []
    for block, M in zip(genome.chromosomes[0].blocks, matrices, strict=True):
        A = N * M * np.sqrt(np.outer(block.shares, block.shares))
        parts.append(A[np.triu_indices(len(A))])
    return np.concatenate(parts)


def test_entries__are_those_of_a_dense_model(genome, seen):
    """Of a cohort of other LD, without noise of moments."""
    rng = np.random.default_rng(3)
    matrices = [0.4 * covariance(rng, size) for size in (4, 3)]
    turned = with_cohort_ld(seen, genome, moments_of(genome, matrices), N, moment_sd=0.0, residual=RESIDUAL)
    model = replace(fit_variances(seen, heritability=0.4), exponent_shares=np.array([0.0, 1.0, 0.0]))
    effects = blup_effects(turned, model)
    h2 = model.mean_heritability[0]
    for block, M, of_block in zip(seen.blocks, matrices, effects.of_blocks, strict=True):
        Q = h2 * model.scales[1] * block.relative_variances(EXPONENTS[1])
        loadings = block.loadings @ M
        noise = np.diag(block.noise - RESIDUAL / N) + RESIDUAL / N * M
        expected = Q * (loadings @ np.linalg.solve((loadings.T * Q) @ loadings + noise, block.entries.T)).T
        np.testing.assert_allclose(of_block, expected, rtol=1e-6, atol=1e-12)


def test_root__is_of_the_covariance_of_the_cohort(genome, seen):
    rng = np.random.default_rng(3)
    matrices = [0.4 * covariance(rng, size) for size in (4, 3)]
    turned = with_cohort_ld(seen, genome, moments_of(genome, matrices), N, moment_sd=0.0, residual=RESIDUAL)
    for block, before, M in zip(turned.blocks, seen.blocks, matrices, strict=True):
        V = np.linalg.solve(before.root, before.loadings)
        whole = np.eye(len(V)) + V @ (M - np.eye(len(M))) @ V.T
        np.testing.assert_allclose(block.root @ block.root.T, before.root @ whole @ before.root, atol=1e-10)


def test_score_loadings__give_the_covariance_of_scores_and_phenotypes(genome, seen):
    """Of entries without noise, also where rows are longer and the clip leaves less."""
    rng, blocks = np.random.default_rng(7), genome.chromosomes[0].blocks
    matrices = [30 * covariance(rng, size) for size in (4, 3)]
    total = sum(np.diag(M) @ block.shares for M, block in zip(matrices, blocks, strict=True))
    theta, other = ([rng.standard_normal(block.stop - block.first) for block in blocks] for _ in range(2))
    shown = 1 / np.sqrt(total)
    assert shown < 1
    exact = [
        replace(block, entries=shown * (M @ block.loadings.T @ t)[np.newaxis])
        for block, M, t in zip(seen.blocks, matrices, theta, strict=True)
    ]
    seen = replace(seen, blocks=tuple(exact), of_axes=seen.of_axes[:1], factors=seen.factors[:1])
    turned = with_cohort_ld(seen, genome, moments_of(genome, matrices), N, moment_sd=0.0, residual=RESIDUAL)
    for block, before, M, t, s in zip(turned.blocks, seen.blocks, matrices, theta, other, strict=True):
        expected = s @ before.loadings @ M @ before.loadings.T @ t
        assert s @ block.score_loadings @ block.entries[0] == pytest.approx(expected)


def test_longer_rows__show_less_of_effects(genome, seen):
    """Of four times the moments, the clip leaves half: c is of 2 M, and effects are half as large."""
    rng, blocks = np.random.default_rng(6), genome.chromosomes[0].blocks
    matrices = [covariance(rng, size) for size in (4, 3)]
    total = sum(np.diag(M) @ block.shares for M, block in zip(matrices, blocks, strict=True))
    options = {"n": N, "moment_sd": 0.0, "residual": 0.0}
    seen = replace(seen, blocks=tuple(replace(b, noise=1e-9 * np.ones(len(b.noise))) for b in seen.blocks))
    model = fit_variances(seen, heritability=0.4)
    same, longer = (
        blup_effects(
            with_cohort_ld(seen, genome, moments_of(genome, [s * M for M in matrices]), **options), model
        )
        for s in (1 / total, 4 / total)
    )
    for a, b in zip(same.of_blocks, longer.of_blocks, strict=True):
        np.testing.assert_allclose(2 * b, a, rtol=1e-4)


def test_moments__that_are_only_noise_change_nothing(genome, seen):
    rng = np.random.default_rng(4)
    sd = 1e4
    moments = moments_of(genome, [np.eye(4), np.eye(3)]) + sd / 10 * rng.standard_normal(16)
    turned = with_cohort_ld(seen, genome, moments, N, moment_sd=sd, residual=RESIDUAL)
    model = fit_variances(seen, heritability=0.4)
    pairs = zip(blup_effects(turned, model).of_blocks, blup_effects(seen, model).of_blocks, strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


def test_stack__along_moments_that_are_only_noise_has_the_same_share_and_scale(genome):
    sums = [np.random.default_rng(5).standard_normal((2, 7)) * 30]
    seen = genome_entries(genome, sums, N, noise_sd=10.0, slope=0.8, residual=RESIDUAL)
    moments = moments_of(genome, [np.eye(4), np.eye(3)])
    turned = with_cohort_ld(seen, genome, moments, N, moment_sd=1e4, residual=RESIDUAL)

    def panel_variances(effects):
        pairs = zip(effects.of_blocks, seen.blocks, strict=True)
        variances = 1.5 * sum(np.square(part @ block.root).sum(axis=1) for part, block in pairs)
        return ScoreVariances(variances, variances, 500)

    stacked, before = (fit_genome(each, panel_variances=panel_variances) for each in (turned, seen))
    assert 0.1 < before.mixture_share < 0.9
    assert stacked.mixture_share == pytest.approx(before.mixture_share, rel=1e-6)
    assert 0.3 < before.scale < 0.9
    assert stacked.scale == pytest.approx(before.scale, rel=1e-6)


@pytest.mark.parametrize("n_directions", [0, 1])
def test_entries__of_blocks_with_few_directions_or_none_are_fitted(genome, n_directions):
    """As where noise leaves no more than these."""
    (chromosome,) = genome.chromosomes
    few = [
        replace(
            block,
            shares=block.shares[:n],
            variances=block.variances[:n],
            loadings=block.loadings[:, :n],
        )
        for block, n in zip(chromosome.blocks, (n_directions, 1), strict=True)
    ]
    genome = replace(genome, chromosomes=(replace(chromosome, blocks=tuple(few)),))
    sums = [np.random.default_rng(5).standard_normal((2, n_directions + 1)) * 30]
    seen = genome_entries(genome, sums, N, noise_sd=10.0, slope=0.8, residual=RESIDUAL)
    moments = moments_of(genome, [np.eye(n_directions), np.eye(1)])
    turned = with_cohort_ld(seen, genome, moments, N, moment_sd=1.0, residual=RESIDUAL)
    first, second = fit_genome(turned).effects.of_blocks
    assert first.any() == bool(n_directions)
    assert second.any()


@pytest.mark.parametrize("variance", [0.0, 0.04, 0.3])
def test_shared_variance__is_found_behind_noise_of_all_sizes(variance):
    rng, estimates = np.random.default_rng(5), []
    for _ in range(60):
        noise = rng.uniform(0.01, 0.5, 30)
        noise = np.outer(noise, noise)
        M = rng.standard_normal((30, 30)) * np.sqrt(variance + noise)
        estimates.append((np.triu(M) + np.triu(M, 1).T, noise))
    assert shared_variance(estimates) == pytest.approx(variance, rel=0.05, abs=0.002)


def test_shrunk_moments__are_between_the_identity_and_what_was_seen():
    M, noise = np.array([[1.5, 0.5], [0.5, 2.0]]), np.full((2, 2), 0.1)
    one = np.eye(2)
    np.testing.assert_allclose(shrunk_moments(M, noise, 0.3), one + 0.75 * (M - one))
    np.testing.assert_allclose(shrunk_moments(M, noise, 0.0), one)
    np.testing.assert_allclose(shrunk_moments(M, 0 * noise, 0.0), one)
    negative = shrunk_moments(np.array([[1.0, 3.0], [3.0, 1.0]]), 0 * noise, 1.0)
    assert np.linalg.eigvalsh(negative).min() > -1e-12
