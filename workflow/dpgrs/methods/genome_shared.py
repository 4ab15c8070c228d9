"""Outcomes of a genome that share causes: combinations of outcomes that share none are fitted one by one.

In the notation of `dpgrs.methods.genome_fit`, the entries of all outcomes in direction k, over the roots of
their factors, are

    y_k ~ N(0, a_k G + v/n R + t_k I),   a_k = 2 (p_k + h2_b/n_panel),   t_k = tau/q_k,

with the genetic covariance G of the outcomes, whose diagonal has heritabilities, and the correlations R of
phenotypes; p_k is for a heritability of 1/2. Least squares of y_jk y_lk on a_k and v/n give G and R, as in LD
score regression between traits [1]_, weighted by 1/(h a_k + v/n + t_k)^2 at the mean h. Hence what outcomes
have in common beside genes is in R, and not in G.

The check: outcomes share causes if the largest eigenvalue of G without its diagonal is above `MARGIN` times
those of all `DRAWS`, in which the entries of an outcome change their sign, or not, block by block. Draws keep
the effects and the LD within blocks. If entries of outcomes are independent, draws and entries are equally
probable; the margin is for residuals that are not. Draws also show sigma, the error of an entry of G. G then
is a diagonal and factors, whose eigenvalues l are shrunken to sqrt(l^2 - 4 n sigma^2) [2]_.

With the eigenvectors U of G, U'y has independent genetic parts, and independent privacy noise. The rows that
are fitted are U'y, each over the root of its noise.

References
----------
.. [1] Bulik-Sullivan et al. (2015). An atlas of genetic correlations across human diseases and traits.
   Nature Genetics 47.
.. [2] Benaych-Georges, Nadakuditi (2011). The eigenvalues and eigenvectors of finite, low rank perturbations
   of large random matrices. Advances in Mathematics 227.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpgrs.methods.genome_fit import GenomeEffects, GenomeEntries
from dpgrs.public_random import generator

# Measured on independent effects (docs/measurements/genome.md).
DRAWS, MARGIN, SEED = 50, 1.2, 0
# The standard deviation of a correlation of phenotypes before entries show it.
CORRELATION_SD = 0.3
ROUNDS = 50  # for the diagonal of factors, and for the mean h
LEAST_HERITABILITY = 1e-3
# The least share of its heritability that an outcome has for itself, and of sampling noise that a row has.
LEAST_REST, LEAST_SAMPLING = 0.02, 0.1
# The heritability of a row, which leaves the fit room to find a larger one.
MOST_HERITABILITY = 0.5


@dataclass(frozen=True, eq=False)
class SharedCauses:
    """Combinations of outcomes that share no causes, a row each."""

    rows: np.ndarray  # (n_rows, n_outcomes) float64: entries of rows are these times those of outcomes
    outcomes: np.ndarray  # (n_outcomes, n_rows) float64, the inverse
    factors: np.ndarray  # (n_rows,) float64 > 0, of the noise of rows
    heritability: np.ndarray  # (n_rows,) float64 in (0, 1), what G gives rows
    n_factors: int

    def entries(self, seen: GenomeEntries) -> GenomeEntries:
        """Return the entries of rows from those of outcomes."""
        blocks = tuple(replace(block, entries=self.rows @ block.entries) for block in seen.blocks)
        return replace(seen, blocks=blocks, of_axes=self.rows @ seen.of_axes, factors=self.factors)

    def effects(self, of_rows: GenomeEffects) -> GenomeEffects:
        """Return effects on outcomes from those on rows."""
        blocks = tuple(self.outcomes @ of_block for of_block in of_rows.of_blocks)
        return GenomeEffects(blocks, self.outcomes @ of_rows.of_axes)


class _Directions(NamedTuple):
    """The variances that entries should have along the directions of all blocks."""

    signal: np.ndarray  # (n_directions,) float64, a_k
    noise: np.ndarray  # (n_directions,) float64, t_k
    chance: np.ndarray  # (n_directions,) float64, h2_b/n_panel
    bounds: np.ndarray  # (n_blocks - 1,) int64, where blocks meet


class _Covariances(NamedTuple):
    """What products of entries show, (n_outcomes, n_outcomes) float64."""

    off_diagonals: np.ndarray  # G without its diagonal
    heritability: np.ndarray  # (n_outcomes,) float64, the diagonal of G
    correlations: np.ndarray  # R without its diagonal
    draws: np.ndarray  # (n_draws, n_outcomes, n_outcomes) float64, `off_diagonals` if signs change


def shared_causes(
    seen: GenomeEntries,  # along the directions of the map
    *,
    sampling: float,  # v/n, as of `genome_entries`
    n_panel: int,  # people of the map's panel
    heritability: float | None = None,  # in (0, 1), of outcomes, where it is stated
) -> SharedCauses | None:
    """Return rows for outcomes that share causes, and None if entries do not show that they do."""
    if min(len(seen.factors), len(seen.blocks)) < 2:
        return None
    directions = _directions(seen, sampling, n_panel)
    weights = _weights(seen, directions, sampling)
    shown = _covariances(seen, directions, weights, sampling)
    if not _largest(shown.off_diagonals) > MARGIN * _largest(shown.draws).max():
        return None
    of_outcomes = shown.heritability if heritability is None else heritability / seen.factors
    n = len(seen.factors)
    sigma = np.sqrt(np.square(shown.draws).sum() / (len(shown.draws) * n * (n - 1)))
    G, n_factors = genetic_covariance(shown.off_diagonals, of_outcomes, sigma)
    if not n_factors:
        return None
    eigenvalues, U = np.linalg.eigh(G)
    U *= np.where(U[np.abs(U).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0)
    # The noise of rows over that of outcomes, of the mean direction.
    shares = weights * np.square(directions.signal) / (weights @ np.square(directions.signal))
    noise, chance = shares @ directions.noise, shares @ directions.chance
    of_sampling = 1 + np.einsum("jr,jl,lr->r", U, shown.correlations, U)
    of_rows = noise + sampling * np.maximum(of_sampling, LEAST_SAMPLING) + 2 * chance * eigenvalues
    of_rows /= noise + sampling + chance
    # Rows have the noise of outcomes, or are shorter, with as much less of it.
    factors = 1 / np.maximum(1, eigenvalues / of_rows / MOST_HERITABILITY)
    lengths, roots = np.sqrt(of_rows / factors), np.sqrt(seen.factors)
    return SharedCauses(
        U.T / lengths[:, np.newaxis] / roots,
        roots[:, np.newaxis] * U * lengths,
        factors,
        eigenvalues * factors / of_rows,
        n_factors,
    )


def genetic_covariance(
    off_diagonals: np.ndarray,  # (n_outcomes, n_outcomes) float64 symmetric, of diagonal 0
    heritability: np.ndarray,  # (n_outcomes,) float64 > 0
    sigma: float,  # the standard error of an entry
) -> tuple[np.ndarray, int]:
    """Return a positive definite G, of factors and a diagonal, and the number of its factors."""
    factors = np.zeros_like(off_diagonals)
    for _ in range(ROUNDS):
        eigenvalues, U = np.linalg.eigh(off_diagonals + np.diag(np.diag(factors)))
        squares = np.square(np.maximum(eigenvalues, 0)) - 4 * len(U) * sigma**2
        of_factors = np.sqrt(np.maximum(squares, 0))
        factors = (U * of_factors) @ U.T
    specific_variances = np.maximum(heritability - np.diag(factors), LEAST_REST * heritability)
    return factors + np.diag(specific_variances), int((of_factors > 0).sum())


def _directions(entries: GenomeEntries, sampling: float, n_panel: int) -> _Directions:
    chances = [np.full(len(block.noise), block.block.heritability / n_panel) for block in entries.blocks]
    chance = np.concatenate(chances)
    variances = np.concatenate([block.block.variances for block in entries.blocks])
    noise = np.concatenate([block.noise for block in entries.blocks]) - sampling - chance
    bounds = np.cumsum([len(of_block) for of_block in chances])[:-1]
    return _Directions(2 * (variances + chance), noise, chance, bounds)


def _weights(entries: GenomeEntries, directions: _Directions, sampling: float) -> np.ndarray:
    """Return the weights of products of entries, (n_directions,)."""
    a, noise = directions.signal, directions.noise + sampling
    squares = np.concatenate([(1 / entries.factors) @ np.square(block.entries) for block in entries.blocks])
    excess, h = squares / len(entries.factors) - noise, MOST_HERITABILITY
    for _ in range(ROUNDS):
        weights = np.square(1 / (h * a + noise))
        h = np.clip((weights * a) @ excess / (weights @ np.square(a)), LEAST_HERITABILITY, 1)
    return weights


def _covariances(
    entries: GenomeEntries, directions: _Directions, weights: np.ndarray, sampling: float
) -> _Covariances:
    a, noise, n = directions.signal, directions.noise + sampling, len(entries.factors)
    square, mixed = weights @ np.square(a), weights @ a * sampling
    normal = np.array([[square, mixed], [mixed, weights.sum() * sampling**2 + CORRELATION_SD**-2]])
    # Sums of products with these are the coefficients.
    of_products = np.linalg.inv(normal) @ (weights * np.array([a, np.full(len(a), sampling)]))
    of_squares = weights * a / square
    diagonal = np.zeros(n)
    for block, square_weights in zip(entries.blocks, np.split(of_squares, directions.bounds), strict=True):
        diagonal += np.square(block.entries) @ square_weights / entries.factors
    # Draws do not depend on the order of outcomes.
    order = np.argsort(diagonal)
    G, R, draws = np.zeros((n, n)), np.zeros((n, n)), np.zeros((DRAWS, n, n))
    signs = [
        generator(SEED, "shared causes of genomes", draw).choice([-1.0, 1.0], size=(len(entries.blocks), n))
        for draw in range(DRAWS)
    ]
    scale = 1 / np.sqrt(np.outer(entries.factors, entries.factors))
    np.fill_diagonal(scale, 0)
    product_weights = np.split(of_products, directions.bounds, axis=1)
    for number, (block, (of_G, of_R)) in enumerate(zip(entries.blocks, product_weights, strict=True)):
        of_block = scale * ((block.entries * of_G) @ block.entries.T)
        G += of_block
        R += scale * ((block.entries * of_R) @ block.entries.T)
        for total, of_draw in zip(draws, signs, strict=True):
            s = np.empty(n)
            s[order] = of_draw[number]
            total += of_block * np.outer(s, s)
    heritability = np.clip(diagonal - of_squares @ noise, LEAST_HERITABILITY, 1)
    return _Covariances(G, heritability, R, draws)


def _largest(matrices: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of each of (..., n, n) matrices."""
    return np.linalg.eigvalsh(matrices)[..., -1]
