"""Entries of a genome as the LD of the cohort shows effects, from noisy second moments within LD blocks.

Along the directions of the map, entries of norm q_k over q_k have the second moments M in the cohort, which
are the identity in the panel but for its chance. The entries of a block are then

    c = M V' Sigma^1/2 theta + N(0, v/n M + diag(N - v/n)),

in the notation of `dpgrs.methods.genome_fit`, with the panel's Sigma. M is seen through noise: moments A over
n sqrt(q_k q_l) are M_kl + N(0, s_kl^2). Off the diagonal M_kl is N(0, V), with a V that all blocks share and
that is estimated from the moments. M is shrunk to the identity by V/(V + s_kl^2). If the panel is like the
cohort, V is small, and the fit hardly changes.

A root F of the covariance of the noise turns the entries to independent ones. The covariance of a score with
effects t and a phenotype, as far as the directions show it, is t'Sigma^1/2 V M V'Sigma^1/2 theta. Its
estimate is (V'Sigma^1/2 t)'c: `score_loadings` are Sigma^1/2 V F.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from dpgrs.linalg.genome_map import GenomeMap, LazyBlock, LdBlock
from dpgrs.methods.genome_fit import BlockEntries, GenomeEntries

ROUNDS = 50  # of weighted means for V
OF_BLOCK = ("first", "stop", "shares", "variances", "deviations", "heritability")


class TurnedBlock(LazyBlock):
    """A block whose entries have independent noise; products of effects with them use other loadings."""

    @property
    def score_loadings(self) -> np.ndarray:
        return self._take("score_loadings")


def with_cohort_ld(
    seen: GenomeEntries,  # of all phenotypes, before entries of public effects join them
    genome: GenomeMap,
    moments: np.ndarray,  # (n_moments,) float64, of `dpgrs.methods.genome_moments`
    n: float,  # > 0, people, public or released
    *,
    moment_sd: float,  # >= 0, standard deviation of the noise of a moment of two directions
    residual: float,  # v, as of `genome_entries`
) -> GenomeEntries:
    """Return entries whose means and noise follow the second moments of people's rows."""
    estimates = list(_estimates(genome, moments, n, moment_sd))
    variance = shared_variance(estimates)
    matrices = [shrunk_moments(M, noise, variance) for M, noise in estimates]
    pairs = list(zip(seen.blocks, matrices, strict=True))
    # Rows that are longer than the panel's are shrunk further, with the effects that sums show.
    square = sum(float(np.diag(M) @ block.block.shares) for block, M in pairs)
    shown = 1 / np.sqrt(max(1.0, square))
    return replace(seen, blocks=tuple(_turned(block, M, shown, residual / n) for block, M in pairs))


def _estimates(
    genome: GenomeMap, moments: np.ndarray, n: float, moment_sd: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield M with its noise and the variances s^2, (n_directions, n_directions) float64 each, by block."""
    first = 0
    for chromosome in genome.chromosomes:
        for block in chromosome.blocks:
            rows, columns = np.triu_indices(block.n_directions)
            products = np.outer(block.shares, block.shares)
            M = np.zeros_like(products)
            M[rows, columns] = M[columns, rows] = moments[first : first + len(rows)]
            first += len(rows)
            yield M / (n * np.sqrt(products)), (moment_sd / n) ** 2 / products


def shared_variance(estimates: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return V, by means of M_kl^2 - s_kl^2 off the diagonal, weighted by 1/(V + s_kl^2)^2."""
    uppers = [np.triu_indices(len(M), 1) for M, _ in estimates]
    pairs = list(zip(estimates, uppers, strict=True))
    squares = np.concatenate([np.square(M[upper]) for (M, _), upper in pairs])
    noise = np.concatenate([s2[upper] for (_, s2), upper in pairs])
    variance = 1.0
    for _ in range(ROUNDS):
        weights = 1 / np.square(variance + noise) if variance or noise.all() else np.ones_like(noise)
        total = weights.sum()
        variance = max(0.0, float(weights @ (squares - noise) / total)) if total > 0 else 0.0
    return variance


def shrunk_moments(M: np.ndarray, noise: np.ndarray, variance: float) -> np.ndarray:
    """Return M shrunk to the identity, with no eigenvalue below 0."""
    identity = np.eye(len(M))
    shares = np.divide(variance, variance + noise, out=np.zeros_like(noise), where=noise + variance > 0)
    eigenvalues, U = np.linalg.eigh(identity + shares * (M - identity))
    return (U * np.maximum(eigenvalues, 0)) @ U.T


def _turned(block: BlockEntries, M: np.ndarray, shown: float, sampling: float) -> BlockEntries:
    """Return a block's entries with independent noise of variance 1 and the loadings that go with them."""
    F = np.linalg.cholesky(np.diag(block.noise - sampling) + sampling * M)
    fields = {name: getattr(block.block, name) for name in OF_BLOCK}
    turned = TurnedBlock(partial(_matrix, block.block, M, np.linalg.solve(F, shown * M), F / shown), **fields)
    return replace(block, block=turned, noise=np.ones(len(M)), entries=np.linalg.solve(F, block.entries.T).T)


def _matrix(block: LdBlock, M: np.ndarray, turned: np.ndarray, back: np.ndarray, name: str) -> np.ndarray:
    """Return a matrix of a block by its name, with the loadings and a root of the cohort's covariance.

    The covariance is Sigma^1/2 (I + V (M - I) V') Sigma^1/2.
    """
    if name == "score_loadings":
        return block.loadings @ back
    if name == "loadings":
        return block.loadings @ turned.T
    if name != "root":
        return getattr(block, name)
    root, loadings = block.root, block.loadings
    eigenvalues, U = np.linalg.eigh(M)
    half = (U * np.sqrt(np.maximum(eigenvalues, 0))) @ U.T
    return root + loadings @ (half - np.eye(len(M))) @ np.linalg.solve(root, loadings).T
