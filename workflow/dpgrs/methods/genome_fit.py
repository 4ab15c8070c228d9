"""BLUP of a whole genome from noisy sums along public directions, LD block by LD block.

The entries of a block, c_k = S_k/(a sqrt(q_k) n sl) with the attenuation a of the clip of rows, are

    c = V' Sigma^1/2 theta + N(0, diag N),   N_k = v/n + tau/q_k + h2_b/n_panel,

as in `dpgrs.linalg.genome_prior`. Effects theta of standardised dosages have the prior covariance h2 Q, with
Q_j proportional to (2 p_j (1 - p_j))^(1 + e) and a genetic variance of h2 in all. The exponent e is one of
`EXPONENTS` and h2 one of `HERITABILITIES`. Both are averaged over by their marginal likelihood, which pools
phenotypes: the exponent is the same for all, and heritabilities share a Beta prior.

With L = Sigma^1/2 V and the decomposition N^-1/2 L'QL N^-1/2 = U diag(l) U' of each block,

    log p(c | e, h2) = -1/2 sum_k (log(1 + h2 l_k) + x_k^2/(1 + h2 l_k)),   x = U'N^-1/2 c,
    E[theta | c, e, h2] = Q L N^-1/2 U diag(h2/(1 + h2 l)) x.

The axes of ancestry are a block of their own, whose entries are effects of the axes with independent noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, GenomeMap, LdBlock
from dpgrs.methods.blup import NEGLIGIBLE
from dpgrs.methods.blup_model import HERITABILITIES, beta_priors, heritability_posterior, log_evidence

# e: effects of standardised dosages alike, half way, and effects per allele alike.
EXPONENTS = (-1.0, -0.5, 0.0)


@dataclass(frozen=True, eq=False)
class BlockEntries:
    """The entries of an LD block; each access to a matrix reads it anew."""

    block: LdBlock
    noise: np.ndarray  # (n_directions,) float64 > 0, N
    # (n_rows, n_directions) float64, c: a row for each phenotype, combination of phenotypes, or copy of one
    entries: np.ndarray
    axis_effects: np.ndarray  # (n_variants, n_axes) float64, of the axes on standardised dosages

    @property
    def n_variants(self) -> int:
        """The number of variants of the block."""
        return len(self.deviations)

    @property
    def loadings(self) -> np.ndarray:
        """L, (n_variants, n_directions) float64."""
        return self.block.loadings

    @property
    def score_loadings(self) -> np.ndarray:
        """As in `LdBlock`, (n_variants, n_directions) float64."""
        return self.block.score_loadings

    @property
    def root(self) -> np.ndarray:
        """Sigma^1/2, (n_variants, n_variants) float64."""
        return self.block.root

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of dosages, (n_variants,) float64."""
        return self.block.deviations

    def relative_variances(self, exponent: float) -> np.ndarray:
        """Return Q but for a factor that is the same in all blocks, (n_variants,) float64."""
        return self.deviations ** (2 + 2 * exponent)

    def decomposed(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return l and U at the prior variances Q of effects."""
        scaled = self.loadings / np.sqrt(self.noise)
        eigenvalues, U = np.linalg.eigh((scaled.T * Q) @ scaled)
        return np.maximum(eigenvalues, 0), U


@dataclass(frozen=True, eq=False)
class GenomeEntries:
    """The entries of a whole genome."""

    blocks: tuple[BlockEntries, ...]
    of_axes: np.ndarray  # (n_rows, n_axes) float64, entries of the axes; 0 where an axis has no share
    axis_noise: np.ndarray  # (n_axes,) float64, N of the axes; infinite where an axis has no share
    # (n_rows,) float64 > 0, the noise of a row over N.
    factors: np.ndarray

    @property
    def n_variants(self) -> int:
        """The number of variants of the genome."""
        return sum(block.n_variants for block in self.blocks)

    def of_rows(self, rows: np.ndarray) -> "GenomeEntries":
        """Return the entries of the rows with these indices."""
        blocks = tuple(replace(block, entries=block.entries[rows]) for block in self.blocks)
        return replace(self, blocks=blocks, of_axes=self.of_axes[rows], factors=self.factors[rows])

    def scales(self) -> np.ndarray:
        """Return the factors that give Q a genetic variance of 1 under each exponent."""
        totals = np.zeros(len(EXPONENTS))
        for block in self.blocks:
            squares = np.square(block.root).sum(axis=1) + np.square(block.axis_effects).sum(axis=1)
            totals += [block.relative_variances(exponent) @ squares for exponent in EXPONENTS]
        return 1 / totals


@dataclass(frozen=True, eq=False)
class VarianceModel:
    """The probability of each exponent and heritability."""

    scales: np.ndarray  # (n_exponents,) float64, of Q
    exponent_shares: np.ndarray  # (n_exponents,) float64 of sum 1
    heritability: np.ndarray  # (n_exponents, n_rows, n_grid) float64, each of sum 1

    @property
    def mean_heritability(self) -> np.ndarray:
        """The posterior mean of h2, (n_rows,) float64."""
        return self.exponent_shares @ (self.heritability @ HERITABILITIES)

    @property
    def best(self) -> int:
        """The index of the most probable exponent."""
        return int(np.argmax(self.exponent_shares))

    def of_rows(self, rows: np.ndarray) -> "VarianceModel":
        """Return the model of rows that are copies of the rows with these indices."""
        return replace(self, heritability=self.heritability[:, rows])


@dataclass(frozen=True, eq=False)
class GenomeEffects:
    """Effects of standardised dosages by block, (n_rows, n_variants) float64 each, and of the axes."""

    of_blocks: tuple[np.ndarray, ...]
    of_axes: np.ndarray  # (n_rows, n_axes) float64


def genome_entries(
    genome: GenomeMap,
    sums: Sequence[np.ndarray],  # of each chromosome (n_phenotypes, n_directions) float64, noisy S
    n: float,  # > 0, people, public or released
    *,
    noise_sd: float,  # >= 0, of each entry of S
    slope: float,  # sl, of phenotypes after their clip, in (0, 1]
    residual: float,  # v: the mean square of clipped phenotypes over slope^2
) -> GenomeEntries:
    """Return the entries of noisy sums along the directions of a public map."""
    blocks, tau = [], (noise_sd / (n * slope)) ** 2
    of_axes, axis_noise = np.zeros((len(sums[0]), genome.n_axes)), np.full(genome.n_axes, np.inf)
    for chromosome, attenuation, S in zip(genome.chromosomes, genome.attenuations, sums, strict=True):
        scale = attenuation * n * slope
        if len(chromosome.axis_gains):
            gains = chromosome.axis_gains * MAP_STEP
            is_used = gains > 0
            of_axes[:, is_used] = S[:, : len(gains)][:, is_used] / (gains[is_used] * scale)
            axis_noise[is_used] = residual / n + tau / (gains[is_used] * attenuation) ** 2
        for block, columns in zip(chromosome.blocks, chromosome.entries(), strict=True):
            noise = residual / n + block.heritability / genome.n_panel
            B = chromosome.axis_effects[block.columns] * DOSAGE_STEP / block.deviations[:, np.newaxis]
            blocks.append(
                BlockEntries(
                    block,
                    noise + tau / (block.shares * attenuation**2),
                    S[:, columns] / (np.sqrt(block.shares) * scale),
                    B,
                )
            )
    return GenomeEntries(tuple(blocks), of_axes, axis_noise, np.ones(len(sums[0])))


def fit_variances(
    seen: GenomeEntries,
    *,
    heritability: float | np.ndarray | None = None,  # in (0, 1), of all rows or of each, where it is stated
) -> VarianceModel:
    """Return how probable exponents and heritabilities are, by their marginal likelihood over all blocks."""
    scales = seen.scales()
    log_likelihood = np.zeros((len(EXPONENTS), len(seen.of_axes), len(HERITABILITIES)))
    for block in seen.blocks:
        for exponent_index, (exponent, scale) in enumerate(zip(EXPONENTS, scales, strict=True)):
            eigenvalues, U = block.decomposed(scale * block.relative_variances(exponent))
            X = block.entries / np.sqrt(block.noise) @ U
            log_likelihood[exponent_index] += _log_likelihood(eigenvalues, X, seen.factors)
    for exponent_index, (exponent, scale) in enumerate(zip(EXPONENTS, scales, strict=True)):
        is_used = np.isfinite(seen.axis_noise)
        ratios = _axis_variances(seen, exponent, scale)[is_used] / seen.axis_noise[is_used]
        X = seen.of_axes[:, is_used] / np.sqrt(seen.axis_noise[is_used])
        log_likelihood[exponent_index] += _log_likelihood(ratios, X, seen.factors)
    if heritability is not None:
        nearest = np.abs(HERITABILITIES - np.reshape(heritability, (-1, 1))).argmin(axis=1)
        rows, posterior = np.arange(len(seen.factors)), np.zeros_like(log_likelihood)
        posterior[:, rows, nearest] = 1
        shares = softmax(log_likelihood[:, rows, nearest].sum(axis=1))
        return VarianceModel(scales, shares, posterior)
    priors = beta_priors(tuple(HERITABILITIES))
    posterior = np.array([heritability_posterior(each, priors) for each in log_likelihood])
    shares = softmax([log_evidence(each, priors) for each in log_likelihood])
    return VarianceModel(scales, shares, posterior)


def blup_effects(seen: GenomeEntries, model: VarianceModel) -> GenomeEffects:
    """Return posterior means of effects under normal priors, averaged over exponents and heritabilities."""
    of_blocks, of_axes = [], np.zeros_like(seen.of_axes)
    is_used = np.isfinite(seen.axis_noise)
    by_exponent = zip(EXPONENTS, model.scales, model.exponent_shares, model.heritability, strict=True)
    used = [each for each in by_exponent if each[2] > NEGLIGIBLE]
    for block in seen.blocks:
        loadings, effects = block.loadings, np.zeros((len(block.entries), block.n_variants))
        for exponent, scale, share, posterior in used:
            Q = scale * block.relative_variances(exponent)
            eigenvalues, U = block.decomposed(Q)
            X = block.entries / np.sqrt(block.noise) @ U
            X *= _shrinkage(eigenvalues, posterior, seen.factors)
            effects += share * Q * (X @ U.T / np.sqrt(block.noise) @ loadings.T)
        of_blocks.append(effects)
    for exponent, scale, share, posterior in used:
        variances = _axis_variances(seen, exponent, scale)[is_used]
        ratios = variances / seen.axis_noise[is_used]
        shrinkage = _shrinkage(ratios, posterior, seen.factors) * ratios
        of_axes[:, is_used] += share * shrinkage * seen.of_axes[:, is_used]
    return GenomeEffects(tuple(of_blocks), of_axes)


def variant_weights(genome: GenomeMap, effects: GenomeEffects) -> list[np.ndarray]:
    """Return one weight a variant and dosage for each chromosome, (n_rows, n_variants) float64.

    A score is (x - B f)'w + f'gamma with f = A (x - a), hence x'(w + A'(gamma - B'w)) but for a constant.
    """
    blocks, weights = iter(effects.of_blocks), []
    of_axes = effects.of_axes.copy()
    for chromosome in genome.chromosomes:
        block_weights = [next(blocks) / block.deviations for block in chromosome.blocks]
        weights.append(np.concatenate(block_weights, axis=1))
        of_axes -= weights[-1] @ (chromosome.axis_effects * DOSAGE_STEP)
    for chromosome, of_chromosome in zip(genome.chromosomes, weights, strict=True):
        of_chromosome[:, chromosome.pruned] += of_axes @ (chromosome.axis_loadings * MAP_STEP).T
    return weights


def _log_likelihood(eigenvalues: np.ndarray, X: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the log-likelihood under every heritability, (n_rows, n_grid), from l, x and noise factors."""
    variances = factors[:, np.newaxis, np.newaxis] + HERITABILITIES[:, np.newaxis] * eigenvalues
    return -0.5 * (np.log(variances) + np.square(X)[:, np.newaxis] / variances).sum(axis=-1)


def _shrinkage(eigenvalues: np.ndarray, posterior: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return h2/(factor + h2 l) averaged over h2, (n_rows, n_directions)."""
    variances = factors[:, np.newaxis, np.newaxis] + HERITABILITIES[:, np.newaxis] * eigenvalues
    return (posterior[:, np.newaxis] @ (HERITABILITIES[:, np.newaxis] / variances))[:, 0]


def _axis_variances(entries: GenomeEntries, exponent: float, scale: float) -> np.ndarray:
    """Return the prior variances of effects of the axes over h2, (n_axes,)."""
    block_variances: Iterator[np.ndarray] = (
        block.relative_variances(exponent) @ np.square(block.axis_effects) for block in entries.blocks
    )
    return scale * sum(block_variances)
