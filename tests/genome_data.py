"""Entries of small genomes in the model of their fits."""

import numpy as np

from dpgrs.linalg.genome_map import LdBlock
from dpgrs.methods.blup_model import HERITABILITIES
from dpgrs.methods.genome_fit import EXPONENTS, BlockEntries, GenomeEntries, VarianceModel


def entries_of_blocks(shapes, *, n_rows=1, n_axes=0, factor=1.0, seed=1, effects=None, noise=0.05):
    """Entries of blocks of (n_variants, n_directions), of given or of normal effects.

    `effects` is a function of a random generator and (n_rows, n_variants).
    """
    rng = np.random.default_rng(seed)
    effects = effects or (lambda rng, shape: rng.standard_normal(shape) / 3)
    blocks = []
    for n_variants, n_directions in shapes:
        X = rng.standard_normal((3 * n_variants, n_variants)) + rng.standard_normal((3 * n_variants, 1))
        values, vectors = np.linalg.eigh(np.corrcoef(X.T))
        root, V = (vectors * np.sqrt(values)) @ vectors.T, vectors[:, -n_directions:]
        N = noise * rng.uniform(0.5, 2, size=n_directions)
        L = root @ V
        theta = effects(rng, (n_rows, n_variants))
        c = theta @ L + rng.standard_normal((n_rows, n_directions)) * np.sqrt(factor * N)
        B = rng.standard_normal((n_variants, n_axes)) / 10
        block = block_of_loadings(L, root, rng.uniform(0.3, 0.7, size=n_variants))
        blocks.append(BlockEntries(block, N, c, B))
    axis_noise = np.full(n_axes, noise)
    axis_noise[1:] = np.inf
    of_axes = np.where(np.isfinite(axis_noise), rng.standard_normal((n_rows, n_axes)), 0)
    return GenomeEntries(tuple(blocks), of_axes, axis_noise, np.full(n_rows, factor))


def block_of_loadings(loadings, root, deviations):
    """Return a block of a map as only a fit takes it, without T."""
    n_variants, n_directions = loadings.shape
    shares, none = np.full(n_directions, 1 / n_directions), np.empty((0, n_variants), dtype=np.int64)
    return LdBlock(0, n_variants, none, shares, shares, loadings, root, deviations, 1.0)


def stated(seen, heritability):
    """A model in which effects half way between both exponents have the stated heritability."""
    posterior = np.zeros((len(EXPONENTS), len(seen.of_axes), len(HERITABILITIES)))
    posterior[:, :, np.abs(HERITABILITIES - heritability).argmin()] = 1
    return VarianceModel(seen.scales(), np.array([0.0, 1.0, 0.0]), posterior)
