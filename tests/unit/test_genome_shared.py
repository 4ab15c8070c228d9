"""Outcomes of a genome that share causes: the check, the rows that are fitted, and what they gain."""

import numpy as np
import pytest

from dpgrs.methods.genome_fit import (
    BlockEntries,
    GenomeEffects,
    GenomeEntries,
    blup_effects,
    fit_variances,
)
from dpgrs.methods.genome_shared import MOST_HERITABILITY, genetic_covariance, shared_causes
from dpgrs.methods.genome_stack import fit_genome
from genome_data import block_of_loadings

N, N_BLOCKS, N_VARIANTS, N_DIRECTIONS, N_PANEL = 8, 30, 12, 8, 2000
SAMPLING, TAU = 2e-4, 6e-3
LOADINGS = np.sqrt(0.75) * np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(-0.6, 0.6, N)])
SHARED = 0.5 * (LOADINGS @ LOADINGS.T + 0.25 * np.eye(N))
INDEPENDENT = 0.5 * np.eye(N)


class Genome:
    """Entries of outcomes of a genetic covariance, in the model of the fit, and their effects."""

    def __init__(self, G, *, seed=1, correlation=0.0, factors=None, sampling=SAMPLING, tau=TAU):
        rng, n = np.random.default_rng(seed), len(G)
        factors = np.ones(n) if factors is None else factors
        R = G + (np.eye(n) + correlation * (1 - np.eye(n))) * (1 - np.diag(G))
        roots, of_effects = [np.linalg.cholesky(matrix) for matrix in (R, G)], 1 / (N_BLOCKS * N_VARIANTS)
        blocks, self.effects = [], []
        for _ in range(N_BLOCKS):
            X = rng.standard_normal((3 * N_VARIANTS, N_VARIANTS)) + rng.standard_normal((3 * N_VARIANTS, 1))
            values, vectors = np.linalg.eigh(np.corrcoef(X.T))
            root, V = (vectors * np.sqrt(values)) @ vectors.T, vectors[:, -N_DIRECTIONS:]
            block = block_of_loadings(root @ V, root, np.full(N_VARIANTS, 0.6))
            # p, of h2 = 1/2, and tau over shares that fall with it.
            p = values[-N_DIRECTIONS:] * of_effects / 2
            vars(block).update(variances=p, heritability=float(p.sum()))
            t = tau * np.sqrt(p.max() / p)
            self.effects.append(roots[1] @ rng.standard_normal((n, N_VARIANTS)) * np.sqrt(of_effects))
            of_people = roots[0] @ rng.standard_normal((n, N_DIRECTIONS)) * np.sqrt(sampling)
            noise = of_people + rng.standard_normal((n, N_DIRECTIONS)) * np.sqrt(t)
            c = self.effects[-1] @ block.loadings + np.sqrt(factors)[:, np.newaxis] * noise
            N_k = sampling + t + block.heritability / N_PANEL
            blocks.append(BlockEntries(block, N_k, c, np.zeros((N_VARIANTS, 0))))
        none, self._sampling = np.zeros((n, 0)), sampling
        self.seen = GenomeEntries(tuple(blocks), none, none[0], factors.astype(float))

    def causes(self, seen=None, **options):
        return shared_causes(seen or self.seen, sampling=self._sampling, n_panel=N_PANEL, **options)

    def r2(self, effects):
        """Return the squared correlation of scores with genetic values, of each outcome."""
        pairs = zip(effects.of_blocks, self.effects, self.seen.blocks, strict=True)
        scores, genetic = (
            np.hstack(parts)
            for parts in zip(*((w @ block.root, b @ block.root) for w, b, block in pairs), strict=True)
        )
        products = np.einsum("jk,jk->j", scores, genetic)
        return products**2 / np.square(scores).sum(axis=1) / np.square(genetic).sum(axis=1)


def blup_of(seen, causes=None):
    rows = seen if causes is None else causes.entries(seen)
    effects = blup_effects(rows, fit_variances(rows))
    return effects if causes is None else causes.effects(effects)


@pytest.fixture(scope="module")
def genome():
    return Genome(SHARED)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shared_causes__gain_r2(seed):
    genome = Genome(SHARED, seed=seed)
    causes = genome.causes()
    apart, shared = genome.r2(blup_of(genome.seen)), genome.r2(blup_of(genome.seen, causes))
    assert causes.n_factors >= 1
    assert shared.mean() > 1.15 * apart.mean()


def test_fit_genome__of_rows_gains_r2_and_has_slopes_near_1(genome):
    """The stack of a release, whose effects are turned back to outcomes."""
    causes = genome.causes()
    apart, fit = fit_genome(genome.seen), fit_genome(causes.entries(genome.seen))
    effects = causes.effects(fit.effects)
    assert genome.r2(effects).mean() > 1.15 * genome.r2(apart.effects).mean()
    product = square = 0.0
    for w, b, block in zip(effects.of_blocks, genome.effects, genome.seen.blocks, strict=True):
        product += np.vdot(w @ block.root, b @ block.root)
        square += np.square(w @ block.root).sum()
    assert product / square == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(("correlation", "sampling", "tau"), [(0.0, SAMPLING, TAU), (0.6, 4e-3, 2e-3)])
def test_shared_causes__of_independent_effects_are_seldom_found(correlation, sampling, tau):
    """Phenotypes may be correlated by what they share beside genes, with more sampling noise than privacy."""
    options = {"correlation": correlation, "sampling": sampling, "tau": tau}
    found = [Genome(INDEPENDENT, seed=seed, **options).causes() for seed in range(100, 160)]
    assert sum(causes is not None for causes in found) <= 1


def test_shared_causes__of_few_outcomes_or_blocks_are_not_found(genome):
    assert genome.causes(genome.seen.of_rows(np.array([0]))) is None
    one_block = GenomeEntries(genome.seen.blocks[:1], *list(vars(genome.seen).values())[1:])
    assert genome.causes(one_block) is None


def test_rows__have_the_noise_of_their_factors(genome):
    causes = genome.causes()
    np.testing.assert_allclose(causes.rows @ causes.outcomes, np.eye(N), atol=1e-12)
    of_privacy = causes.rows @ causes.rows.T
    np.testing.assert_allclose(of_privacy, np.diag(np.diag(of_privacy)), atol=1e-12)
    # Most of the noise is of privacy; the first factor has more of the sampling noise.
    np.testing.assert_allclose(np.diag(of_privacy), causes.factors, rtol=0.3)
    truth = causes.rows @ SHARED @ causes.rows.T
    np.testing.assert_allclose(causes.heritability[-1], truth[-1, -1], rtol=0.2)
    assert causes.heritability.max() <= MOST_HERITABILITY + 1e-12
    assert causes.factors[-1] < 0.5


def test_shared_causes__do_not_depend_on_the_order_of_outcomes(genome):
    order = np.random.default_rng(5).permutation(N)
    causes, permuted = genome.causes(), genome.causes(genome.seen.of_rows(order))
    np.testing.assert_allclose(permuted.rows, causes.rows[:, order], atol=1e-8)
    effects = causes.effects(fit_genome(causes.entries(genome.seen)).effects)
    of_permuted = permuted.effects(fit_genome(permuted.entries(genome.seen.of_rows(order))).effects)
    for one, other in zip(effects.of_blocks, of_permuted.of_blocks, strict=True):
        np.testing.assert_allclose(other, one[order], atol=1e-6 * np.abs(one).max())


def test_shared_causes__of_outcomes_with_other_noise():
    """An outcome that few people have learns most from others."""
    factors = np.where(np.arange(N) == 2, 6.0, 1.0)
    genome = Genome(SHARED, factors=factors)
    causes = genome.causes()
    np.testing.assert_allclose(causes.outcomes @ causes.rows, np.eye(N), atol=1e-12)
    of_privacy = causes.rows * factors @ causes.rows.T
    np.testing.assert_allclose(of_privacy, np.diag(np.diag(of_privacy)), atol=1e-12)
    gains = genome.r2(blup_of(genome.seen, causes)) / genome.r2(blup_of(genome.seen))
    assert gains.argmax() == 2
    assert gains[2] > 1.5


def test_shared_causes__take_stated_heritabilities(genome):
    causes = genome.causes(heritability=0.5)
    of_outcomes = causes.outcomes * causes.heritability @ causes.outcomes.T
    np.testing.assert_allclose(np.diag(of_outcomes), 0.5, rtol=0.15)
    model = fit_variances(causes.entries(genome.seen), heritability=causes.heritability)
    np.testing.assert_allclose(model.mean_heritability, causes.heritability, atol=0.013)


def test_genetic_covariance__is_factors_and_a_diagonal():
    rng = np.random.default_rng(1)
    off_diagonals = SHARED - np.diag(np.diag(SHARED))
    exact, n_factors = genetic_covariance(off_diagonals, np.diag(SHARED), 1e-9)
    assert n_factors >= 2
    np.testing.assert_allclose(exact, SHARED, atol=0.01)
    error = np.triu(0.03 * rng.standard_normal((N, N)), 1)
    G, n_factors = genetic_covariance(off_diagonals + error + error.T, np.diag(SHARED), 0.03)
    assert 1 <= n_factors <= 2
    np.testing.assert_allclose(G, SHARED, atol=0.12)
    assert np.linalg.eigvalsh(G)[0] > 0
    nothing, n_factors = genetic_covariance(error + error.T, np.diag(SHARED), 0.03)
    assert n_factors == 0
    np.testing.assert_allclose(nothing, np.diag(np.diag(SHARED)))


def test_effects__of_axes_are_turned_back_as_those_of_blocks(genome):
    of_axes = np.arange(2.0 * N).reshape(N, 2)
    seen = GenomeEntries(genome.seen.blocks, of_axes, np.ones(2), np.ones(N))
    causes = genome.causes(seen)
    rows = causes.entries(seen)
    effects = causes.effects(GenomeEffects(tuple(block.entries for block in rows.blocks), rows.of_axes))
    np.testing.assert_allclose(effects.of_axes, of_axes, atol=1e-12)
    for of_block, block in zip(effects.of_blocks, seen.blocks, strict=True):
        np.testing.assert_allclose(of_block, block.entries, atol=1e-12)
