"""The prior of a genome's effects along its LD, from a reference panel, and the map that follows from it.

In an LD block, theta are effects of standardised dosages, of covariance Q, and Sigma is the covariance of the
dosages, shrunken as by Ledoit and Wolf [1]_. Let P = Sigma^1/2 Q Sigma^1/2 = V diag(p) V'. The statistics are
S = sum_i z_i y_i' + N(0, sigma^2), with rows z of mean square 1 and phenotypes clipped at C, which leaves the
slope sl of an effect and the variance v sl^2. They depend on effects through

    c_k = S_k/(sqrt(q_k) n sl) = v_k'Sigma^1/2 theta + N(0, v/n + h2_b/n_panel + tau/q_k),

tau = (C/(mu n sl))^2. A fit explains sum_k p_k^2 q_k/((p_k + v/n + h2_b/n_panel) q_k + tau) of a phenotype's
variance of 1. Phenotypes of which a public score was subtracted have another variance r^2 < 1: C is in
proportion to r, the slope is that of C/r, and v falls with r^2. Under sum q = 1 R^2 is largest at

    q_k = max(0, c p_k - tau)/(p_k + v/n + h2_b/n_panel).

With shares that are equal, 1/K on the K leading directions, V c of a block has noise in proportion to
Sigma^1/2 V V' Sigma^1/2, which costs some R^2 and is of use to other tools (`dpgrs.linalg.truncated_ld`).

Rows are clipped by chromosome, or where that costs too much once for all chromosomes.

References
----------
.. [1] Ledoit, Wolf (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
   Multivariate Analysis 88(2).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import eigh

from dpgrs.linalg.ancestry_axes import axis_loadings, panel_axes
from dpgrs.linalg.attenuation import LARGEST_NORMAL, clip_moments
from dpgrs.linalg.genome_map import (
    DOSAGE_STEP,
    MAP_STEP,
    ChromosomeMap,
    GenomeMap,
    LdBlock,
    MapDigest,
    mapped_axes,
    mapped_block,
    short_rows,
)
from dpgrs.linalg.steering import HERITABILITY

# The variance of an effect per allele is taken to go with (2 p (1 - p))^a; the fit estimates a anew.
STEERING_EXPONENT = -0.25
# Of directions that a plan takes as one: the largest ratio of their variances, and how many bins at most.
BIN_RATIO, MOST_BINS = 1.05, 400
# Rows of all chromosomes are clipped together if the panel's rows of any of them are shortened further.
LEAST_FACTOR = 0.985
# Clips that are compared, in standard deviations of a phenotype, times the root of the number of phenotypes.
CLIPS = np.arange(2, 25) / 8
# What a shrinkage leaves of a covariance at least, where it is undone.
LEAST_LEFT = 1e-6
# Of numbers of directions with equal shares that are compared.
STEP_OF_NUMBERS = 1.05


@dataclass(frozen=True, eq=False)
class ReferenceChromosome:
    """A chromosome of the people of a reference panel."""

    contig: str
    dosages: np.ndarray  # (n_panel, n_variants), 0 to 2, none missing
    frequency: np.ndarray  # (n_variants,) float64, of the counted allele in the panel
    bounds: np.ndarray  # (n_blocks + 1,) int64, of LD blocks, 0 first
    pruned: np.ndarray  # (n_pruned,) int64 ascending, variants of which axes of ancestry are made
    # (n_variants,) float64 > 0, relative prior variances of effects of standardised dosages, which may come
    # from annotations; None takes those of `STEERING_EXPONENT`.
    effect_variances: np.ndarray | None = None

    @property
    def centre(self) -> np.ndarray:
        """The centre of dosages in units of `DOSAGE_STEP`, (n_variants,) int64."""
        return np.rint(2 * self.frequency / DOSAGE_STEP).astype(np.int64)

    def centred(self, columns: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return dosages less their centres in units of `DOSAGE_STEP`, (n_panel, n_columns) int64."""
        on_grid = np.rint(self.dosages[:, columns] / DOSAGE_STEP).astype(np.int64)
        return on_grid - self.centre[columns]

    @property
    def deviations(self) -> np.ndarray:
        """The standard deviations of dosages in Hardy-Weinberg equilibrium, (n_variants,) float64."""
        return np.sqrt(2 * self.frequency * (1 - self.frequency))

    @property
    def relative_variances(self) -> np.ndarray:
        """The prior variances of effects of standardised dosages but for a factor, (n_variants,) float64."""
        if self.effect_variances is not None:
            return self.effect_variances
        return self.deviations ** (2 + 2 * STEERING_EXPONENT)


@dataclass(frozen=True, eq=False)
class BlockPrior:
    """The prior of a block, as in `LdBlock`; variances are not yet scaled to the genome's heritability."""

    first: int
    stop: int
    # Function that returns Sigma^1/2 and all of V, two matrices (n_variants, n_variants) float64.
    matrices: Callable[[], np.ndarray]
    variances: np.ndarray  # (n_variants,) ascending
    deviations: np.ndarray
    # (n_variants,) p with the spread that p have in the population.
    population_variances: np.ndarray


@dataclass(frozen=True, eq=False)
class ChromosomePrior:
    """The priors of a chromosome's blocks, and its part of the axes; as in `ChromosomeMap`."""

    contig: str
    centre: np.ndarray
    blocks: tuple[BlockPrior, ...]
    axis_effects: np.ndarray
    pruned: np.ndarray
    axis_loadings: np.ndarray
    axis_variances: np.ndarray  # (n_axes,) float64, what the chromosome adds to the variances of the axes


@dataclass(frozen=True, eq=False)
class GenomePrior:
    """The prior of a genome."""

    chromosomes: tuple[ChromosomePrior, ...]
    axes: np.ndarray  # (n_panel, n_axes) int64 in units of `DOSAGE_STEP`, of the people of the panel

    @property
    def n_panel(self) -> int:
        """The number of people of the panel."""
        return len(self.axes)

    @property
    def blocks(self) -> list[BlockPrior]:
        """The blocks of all chromosomes."""
        return [block for chromosome in self.chromosomes for block in chromosome.blocks]

    @cached_property
    def spectrum(self) -> "Spectrum":
        """Its directions: axes first, then block after block."""
        # The panel's chance in other directions of the same block.
        return self._spectrum([block.variances for block in self.blocks], chance=1 / self.n_panel)

    @cached_property
    def population_spectrum(self) -> "Spectrum":
        """Its directions as the population has them, for plans."""
        return self._spectrum([block.population_variances for block in self.blocks], chance=0.0)

    def _spectrum(self, of_blocks: list[np.ndarray], *, chance: float) -> "Spectrum":
        of_axes = sum(chromosome.axis_variances for chromosome in self.chromosomes)
        variance_groups = [of_axes, *of_blocks]
        scale = HERITABILITY / sum(group.sum() for group in variance_groups)
        chances = [np.zeros(len(of_axes))]
        chances += [np.full(len(group), scale * group.sum() * chance) for group in of_blocks]
        return Spectrum(scale * np.concatenate(variance_groups), np.concatenate(chances))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Directions of a genome, with what is expected of each."""

    variances: np.ndarray  # (n_directions,) float64 >= 0, p_k
    chances: np.ndarray  # (n_directions,) float64 >= 0, h2_b/n_panel
    # (n_directions,) float64 > 0, how many directions of the genome each stands for; 1 for all is one each.
    counts: np.ndarray | float = 1.0

    def binned(self) -> "Spectrum":
        """Return it with a direction for all of about the same variance, which is their mean."""
        least = self.variances.max(initial=0) * BIN_RATIO**-MOST_BINS
        steps = np.log(np.maximum(self.variances, least)) / np.log(BIN_RATIO)
        _, bins = np.unique(np.floor(steps).astype(np.int64), return_inverse=True)
        weights = np.broadcast_to(self.counts, self.variances.shape)
        counts = np.bincount(bins, weights)
        means = (
            np.bincount(bins, weights * quantities) / counts for quantities in (self.variances, self.chances)
        )
        return Spectrum(*means, counts)

    def scaled(self, factor: float) -> "Spectrum":
        """Return it with as many times the heritability."""
        return replace(self, variances=factor * self.variances, chances=factor * self.chances)


@dataclass(frozen=True, eq=False)
class PublicScores:
    """Public scores of people that are subtracted from phenotypes before their clip."""

    names: tuple[str, ...]  # of the phenotypes
    weights: tuple[np.ndarray, ...]  # of each chromosome, `ChromosomeMap.score_weights`
    residual_variances: tuple[float, ...]  # 1 less the variance of each score among the panel's people


def residual_deviation(residual_variances: Sequence[float], n_phenotypes: int) -> float:
    """Return the root mean variance that is left of so many phenotypes, those with public scores first."""
    explained = sum(1 - left for left in residual_variances[:n_phenotypes])
    return float(np.sqrt(1 - explained / n_phenotypes))


@dataclass(frozen=True, eq=False)
class SteeredNoise:
    """The shares of all directions at a number of people and a budget, and what a fit may expect."""

    clip: float  # C
    slope: float  # sl
    residual: float  # v
    tau: float  # noise over shares
    level: float  # c; 0 where shares are equal
    shares: np.ndarray  # (n_directions,) float64 >= 0, q_k
    expected_r2: float


def _in_memory(array: np.ndarray) -> Callable[[], np.ndarray]:
    return lambda: array


def genome_prior(
    # In the order of the genome. Each is used up to three times: a sequence that reads one at a time will do.
    chromosomes: Sequence[ReferenceChromosome],
    *,
    n_axes: int | None = None,  # k; None takes as many as predict people who were left out best
    # Function that keeps an array of single precision and returns a function that gives it back.
    keep: Callable[[np.ndarray], Callable[[], np.ndarray]] = _in_memory,
) -> GenomePrior:
    """Estimate the prior along the LD of a panel."""
    loadings = axis_loadings(chromosomes, n_axes)
    axes = panel_axes(chromosomes, loadings)
    n_variants = sum(len(chromosome.frequency) for chromosome in chromosomes)
    factor = n_variants / sum(chromosome.relative_variances.sum() for chromosome in chromosomes)
    priors = [
        _chromosome_prior(chromosome, A, axes, factor / n_variants, keep)
        for chromosome, A in zip(chromosomes, loadings, strict=True)
    ]
    return GenomePrior(tuple(priors), axes)


def steered_noise(
    spectrum: Spectrum,
    n: float,  # > 0, people, public or released
    *,
    mu: float,  # > 0, of Gaussian differential privacy, that S is released with
    n_phenotypes: int = 1,
    sensitivity: float = 1.0,  # in units of R C: 1 under add-remove, 2 under replace-one
    clip: float | None = None,  # None takes the best of `CLIPS`
    is_equal: bool = False,  # whether directions with a share have the same one
    deviation: float = 1.0,  # r, of phenotypes as they are clipped
) -> SteeredNoise:
    """Choose the clip of rows of phenotypes, and the shares of all directions."""
    best = None
    for candidate in deviation * np.sqrt(n_phenotypes) * CLIPS if clip is None else [clip]:
        slope, square = _normal_moments(n_phenotypes, float(candidate / deviation))
        tau = (sensitivity * candidate / (mu * n * slope)) ** 2
        residual = deviation**2 * square / slope**2
        noise = spectrum.variances + residual / n + spectrum.chances
        choose = equal_shares if is_equal else best_shares
        shares, level = choose(spectrum.variances, noise, tau, spectrum.counts)
        r2 = expected_r2(spectrum.variances, noise, shares, tau, spectrum.counts)
        if best is None or r2 > best.expected_r2:
            fields = (candidate, slope, residual, tau, level)
            best = SteeredNoise(*map(float, fields), shares, r2)
    return best


@lru_cache(maxsize=1024)
def _normal_moments(n_phenotypes: int, norm: float) -> tuple[float, float]:
    """Return the slope and the mean square of one of so many normal phenotypes, clipped together."""
    unknown = np.full(n_phenotypes, np.nan)
    moments = clip_moments(unknown, bound=LARGEST_NORMAL, norm=norm, n_shared=n_phenotypes)
    return float(moments[0, 0]), float(moments[1, 0])


def best_shares(
    variances: np.ndarray, noise: np.ndarray, tau: float, counts: np.ndarray | float = 1.0
) -> tuple[np.ndarray, float]:
    """Return the shares q of most expected R^2 and their level c, from p, p + v/n + h2_b/n_panel and tau.

    The shares are (n_directions,) float64 >= 0, of sum 1 over as many directions as `counts` says of each.
    """
    order = np.argsort(-variances, kind="stable")
    counts = np.broadcast_to(counts, variances.shape)
    p, D, w = variances[order], noise[order], counts[order]
    # The level at which the first k directions have all: the last k whose least direction has any is right.
    levels = (1 + tau * np.cumsum(w / D)) / np.cumsum(w * p / D)
    last = int(np.flatnonzero(levels * p > tau).max(initial=0))
    level = float(levels[last])
    shares = np.zeros_like(variances)
    shares[order[: last + 1]] = np.maximum(level * p - tau, 0)[: last + 1] / D[: last + 1]
    total = (counts * shares).sum()
    if not total > 0:  # one direction, whose share is lost in rounding behind much noise
        shares[order[0]], total = 1.0, counts[order[0]]
    return shares / total, level


def equal_shares(
    variances: np.ndarray, noise: np.ndarray, tau: float, counts: np.ndarray | float = 1.0
) -> tuple[np.ndarray, float]:
    """Return shares 1/K on the K directions of largest p, for the best K, and a level of 0.

    Parameters and shares are as in `best_shares`. Numbers K that differ by less than `STEP_OF_NUMBERS` are
    not compared.
    """
    order = np.argsort(-variances, kind="stable")
    p, D, w = variances[order], noise[order], np.broadcast_to(counts, variances.shape)[order]
    K = np.cumsum(w)
    most = max(1, int((p > 0).sum()))
    n_numbers = 2 + int(np.log(most) / np.log(STEP_OF_NUMBERS))
    numbers = np.unique(np.rint(np.geomspace(1, most, n_numbers)).astype(np.int64))
    best = max(numbers, key=lambda k: (w[:k] * np.square(p[:k]) / (D[:k] + K[k - 1] * tau)).sum())
    shares = np.zeros_like(variances)
    shares[order[:best]] = 1 / K[best - 1]
    return shares, 0.0


def expected_r2(
    variances: np.ndarray,
    noise: np.ndarray,
    shares: np.ndarray,
    tau: float,
    counts: np.ndarray | float = 1.0,
) -> float:
    """Return the share of a phenotype's variance that a fit explains; parameters as in `best_shares`."""
    explained = np.zeros_like(variances)
    np.divide(variances**2 * shares, noise * shares + tau, out=explained, where=shares > 0)
    return float((counts * explained).sum())


def genome_map(
    prior: GenomePrior,
    noise: SteeredNoise,
    chromosomes: Sequence[ReferenceChromosome],  # of which the prior was estimated
    scores: PublicScores | None = None,  # that are subtracted from phenotypes
) -> GenomeMap:
    """Make the public map of a genome at the shares of `steered_noise`."""
    making = MapMaking(prior, noise, chromosomes, scores)
    maps = [replace(chromosome, blocks=tuple(blocks)) for chromosome, blocks in making.chromosomes()]
    return making.genome(maps)


class MapMaking:
    """The public map of a genome as it is made, with the matrices of one block in memory at a time."""

    def __init__(
        self,
        prior: GenomePrior,
        noise: SteeredNoise,
        panel: Sequence[ReferenceChromosome],
        scores: PublicScores | None = None,
    ) -> None:
        """Parameters are as of `genome_map`."""
        self._prior, self._noise, self._panel, self._scores = prior, noise, panel, scores
        self._digest = MapDigest(noise.clip, prior.axes.shape[1], () if scores is None else scores.names)
        self._squares: list[np.ndarray] = []  # by chromosome (n_panel,), of the panel's rows

    def chromosomes(self) -> Iterator[tuple[ChromosomeMap, Iterator[LdBlock]]]:
        """Yield each chromosome, whose blocks have no matrices, and its blocks with them.

        All blocks are to be taken before the next chromosome.
        """
        n_axes = first = self._prior.axes.shape[1]
        variances, shares = self._prior.spectrum.variances, self._noise.shares
        for number, chromosome in enumerate(self._prior.chromosomes):
            blocks, shares_of_blocks = [], []
            for block in chromosome.blocks:
                directions = slice(first, first + len(block.variances))
                shares_of_blocks.append(shares[directions])
                blocks.append(_ld_block(block, variances[directions], shares[directions]))
                first = directions.stop
            of_axes = shares[: n_axes if number == 0 else 0]
            square = of_axes.sum() + sum(block.shares.sum() for block in blocks)
            fields = (chromosome.contig, chromosome.centre, tuple(blocks), chromosome.axis_effects)
            gains = np.rint(np.sqrt(of_axes) / MAP_STEP).astype(np.int64)
            loadings = (chromosome.pruned, chromosome.axis_loadings)
            weights = None if self._scores is None else self._scores.weights[number]
            chromosome_map = ChromosomeMap(*fields, gains, float(np.sqrt(square)), *loadings, weights)
            matrices = map(_matrices, chromosome.blocks, shares_of_blocks)
            yield chromosome_map, self._blocks(chromosome_map, matrices, self._panel[number])

    def _blocks(
        self,
        chromosome: ChromosomeMap,
        matrices: Iterator[dict[str, np.ndarray]],
        panel: ReferenceChromosome,
    ) -> Iterator[LdBlock]:
        axes = self._prior.axes
        self._digest.add_chromosome(chromosome)
        squares = np.square(mapped_axes(chromosome, axes)).sum(axis=1)
        for block, of_block in zip(chromosome.blocks, matrices, strict=True):
            ld_block, effects = replace(block, **of_block), chromosome.axis_effects[block.columns]
            self._digest.add_matrix(ld_block.matrix)
            z = mapped_block(ld_block.matrix, panel.centred(block.columns), axes, effects)
            squares += np.square(z).sum(axis=1)
            yield ld_block
        self._squares.append(squares)

    def genome(self, chromosomes: Sequence[ChromosomeMap]) -> GenomeMap:
        """Return the whole map, of chromosomes that may lack their matrices."""
        norms = [chromosome.row_norm for chromosome in chromosomes]
        is_joint, attenuations = _clip_of_panel(np.array(self._squares), np.array(norms))
        n_axes, noise = self._prior.axes.shape[1], self._noise
        axes = noise.shares[:n_axes], self._prior.spectrum.variances[:n_axes]
        fields = (self._prior.n_panel, noise.level, noise.clip, *axes, is_joint, attenuations)
        of_scores = () if self._scores is None else (self._scores.names, self._scores.residual_variances)
        genome = GenomeMap(tuple(chromosomes), *fields, *of_scores)
        vars(genome)["digest"] = self._digest.of_clip(is_joint=is_joint)  # as it would be, with matrices
        return genome


def _clip_of_panel(squares: np.ndarray, norms: np.ndarray) -> tuple[bool, np.ndarray]:
    """Return whether rows of all chromosomes are clipped together, and the attenuation of each.

    `squares` are (n_chromosomes, n_panel), of the panel's rows.
    """
    bounds = np.square(norms)[:, np.newaxis]
    factors = _clip_factors(squares, bounds)
    is_joint = bool(factors.mean(axis=1).min() < LEAST_FACTOR)
    if is_joint:
        factors = np.broadcast_to(_clip_factors(squares.sum(axis=0), bounds.sum()), squares.shape)
    totals = squares.sum(axis=1)
    # A chromosome without any share has rows of 0, which no clip shortens.
    attenuations = np.ones(len(norms))
    np.divide((factors * squares).sum(axis=1), totals, out=attenuations, where=totals > 0)
    return is_joint, attenuations


def _clip_factors(squares: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return np.sqrt(np.divide(bounds, squares, out=np.ones_like(squares), where=squares > bounds))


def _chromosome_prior(
    chromosome: ReferenceChromosome,
    loadings: np.ndarray,  # (n_pruned, n_axes) int64
    axes: np.ndarray,  # (n_panel, n_axes) int64 in units of `DOSAGE_STEP`
    factor: float,  # of relative prior variances of effects
    keep: Callable[[np.ndarray], Callable[[], np.ndarray]],  # as of `genome_prior`
) -> ChromosomePrior:
    blocks, effects = [], []
    n_axes, of_axes, f = axes.shape[1], np.zeros(axes.shape[1]), axes * DOSAGE_STEP
    for first, stop in zip(chromosome.bounds[:-1].tolist(), chromosome.bounds[1:].tolist(), strict=True):
        columns = slice(first, stop)
        D, Q = chromosome.deviations[columns], factor * chromosome.relative_variances[columns]
        X = (chromosome.dosages[:, columns] - 2 * chromosome.frequency[columns]).astype(np.float64)
        B = np.zeros((stop - first, n_axes), dtype=np.int64)
        if n_axes:
            B = np.rint(np.linalg.lstsq(f, X, rcond=None)[0].T / DOSAGE_STEP).astype(np.int64)
            X -= f @ (B * DOSAGE_STEP).T
        X /= D
        effects.append(B)
        of_axes += Q @ np.square(B * DOSAGE_STEP / D[:, np.newaxis])
        covariance, shrinkage = shrunken_covariance(X)
        p, *matrices = _decomposed(covariance, Q)
        of_population = _population_variances(p, matrices[1], Q, np.trace(covariance), shrinkage)
        stored_matrices = keep(np.array(matrices, dtype=np.float32))
        blocks.append(BlockPrior(first, stop, stored_matrices, p, D, of_population))
    grids = (np.concatenate(effects), chromosome.pruned, loadings)
    return ChromosomePrior(chromosome.contig, chromosome.centre, tuple(blocks), *grids, of_axes)


def _decomposed(covariance: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p, Sigma^1/2 and V of Sigma and prior variances of effects.

    P is of Sigma^1/2 in single precision, in which it is stored.
    """
    eigenvalues, U = eigh(covariance, driver="evd")
    root = _in_single_precision((U * np.sqrt(np.maximum(eigenvalues, 0))) @ U.T)
    p, V = eigh((root * Q) @ root, driver="evd")
    return np.maximum(p, 0), root, V


def _population_variances(
    p: np.ndarray, V: np.ndarray, Q: np.ndarray, trace: float, shrinkage: float
) -> np.ndarray:
    """Return p with the spread that p have in the population, (n_variants,).

    Where Sigma = m I they would be m v'Q v. A covariance that is shrunken by s is on average nearer to m I
    than the population covariance is, by the factor sqrt(1 - s).
    """
    alike = trace / len(p) * (np.square(V).T @ Q)
    return np.maximum(alike + (p - alike) / np.sqrt(max(1 - shrinkage, LEAST_LEFT)), 0)


def shrunken_covariance(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the covariance S of (n_rows, n_variants) centred rows, shrunken to m I [1]_, and by how much.

    The shrinkage s is the variance of S, sum_i |x_i x_i' - S|^2/n^2, over |S - m I|^2, at most 1.
    """
    n, d = X.shape
    S = X.T @ X / n
    mean, square = np.trace(S) / d, np.vdot(S, S)
    variance = (np.square(np.square(X).sum(axis=1)).mean() - square) / n
    distance = square - d * mean**2
    shrinkage = min(1.0, variance / distance) if distance > 0 else 0.0
    S *= 1 - shrinkage
    S[np.diag_indices(d)] += shrinkage * mean
    return S, float(shrinkage)


def _in_single_precision(matrix: np.ndarray) -> np.ndarray:
    return matrix.astype(np.float32).astype(np.float64)


def _ld_block(block: BlockPrior, variances: np.ndarray, shares: np.ndarray) -> LdBlock:
    """Return the block of a map but for its matrices."""
    is_used, none = shares > 0, np.empty((0, 0))
    directions = (none, shares[is_used], variances[is_used], none, none)
    return LdBlock(block.first, block.stop, *directions, block.deviations, float(variances.sum()))


def _matrices(block: BlockPrior, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Return the matrices of the block of a map."""
    root, vectors = block.matrices().astype(np.float64)
    is_used = shares > 0
    # T' = diag(1/D) Sigma^-1/2 V diag(sqrt q); an eigenvector has no sign: its largest entry is positive.
    V = vectors[:, is_used]
    V = V * np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)
    directions = np.linalg.solve(root, V * np.sqrt(shares[is_used]))
    matrix = np.rint((directions / block.deviations[:, np.newaxis]).T / MAP_STEP).astype(np.int64)
    return {"matrix": short_rows(matrix), "loadings": _in_single_precision(root @ V), "root": root}
