"""Private scores of a simulated genome: phenotypes, noisy sums, and what scores explain of other people.

Noise of the right size is added to sums in floating point, for measurements of accuracy only. Releases along
one public map share its decompositions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from dpgrs.genotypes.ld_blocks import ld_block_bounds
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, ChromosomeMap, GenomeMap, ScoreVariances
from dpgrs.linalg.genome_moments import PRODUCT_WEIGHT, SQUARE_WEIGHT, moment_norm
from dpgrs.linalg.genome_prior import (
    HERITABILITY,
    GenomePrior,
    ReferenceChromosome,
    SteeredNoise,
    genome_prior,
)
from dpgrs.methods.genome_cohort_ld import with_cohort_ld
from dpgrs.methods.genome_fit import (
    BlockEntries,
    GenomeEffects,
    GenomeEntries,
    blup_effects,
    fit_variances,
    genome_entries,
    variant_weights,
)
from dpgrs.methods.genome_mixture import mixture_effects
from dpgrs.methods.genome_moments import joint_moment_norm
from dpgrs.methods.genome_public import public_entries, with_public_entries
from dpgrs.methods.genome_shared import SharedCauses, shared_causes
from dpgrs.methods.genome_stack import fit_genome
from dpgrs.methods.public_scores import with_public_scores
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import (
    LEAST_FREQUENCY,
    CohortSizes,
    SimulatedChromosome,
    read_chromosome,
)

# The variance of an effect per allele goes with (2 p (1 - p)) to this power.
EFFECT_EXPONENT = -0.25
# Of fits that take outcomes as if they shared no causes.
APART = ", apart"
# Of phenotypes that share causes: how many factors, their share of the genetic variance, and the largest
# angle of a phenotype between them, in radians. Genetic correlations are .61 to .8 times chance.
N_FACTORS, OF_FACTORS, LARGEST_ANGLE = 2, 0.8, 0.35


class Architecture(NamedTuple):
    """Which variants are causal."""

    share: float  # of all variants
    is_typed: bool = True  # False: all causal variants are unknown to the study


@dataclass(frozen=True, eq=False)
class GenomeCohort:
    """A simulated cohort in files of chromosomes."""

    files: tuple[Path, ...]
    sizes: CohortSizes  # of the files
    n_train: int  # of the people to train on the first, who are trained on

    @property
    def people(self) -> CohortSizes:
        """The places of people, as slices."""
        stops = np.cumsum(self.sizes).tolist()
        slices = map(slice, [0, *stops[:-1]], stops)
        return CohortSizes(*slices)._replace(train=slice(0, self.n_train))

    def chromosomes(self) -> Iterator[SimulatedChromosome]:
        """Read chromosome after chromosome."""
        return map(read_chromosome, self.files)


@dataclass(frozen=True, eq=False)
class ReferencePanel:
    """A reference panel, of variants that are common in it."""

    chromosomes: tuple[ReferenceChromosome, ...]
    variants: tuple[np.ndarray, ...]  # the places of each chromosome's variants among the typed ones

    @cached_property
    def prior(self) -> GenomePrior:
        """The prior along the LD of the panel, which is of one population: it has no axes of ancestry."""
        return genome_prior(self.chromosomes, n_axes=0)


def reference_panel(cohort: GenomeCohort, people: slice) -> ReferencePanel:
    """Make a panel of some people."""
    chromosomes, variants = [], []
    for number, simulated in enumerate(cohort.chromosomes(), 1):
        p = simulated.typed[:, people].mean(axis=1) / 2
        common = np.flatnonzero(np.minimum(p, 1 - p) >= LEAST_FREQUENCY)
        X, position = simulated.typed[common, people].T.copy(), simulated.typed_positions[common]
        bounds, pruned = ld_block_bounds(X, position), np.empty(0, dtype=np.int64)
        chromosomes.append(ReferenceChromosome(f"{number}", X, p[common], bounds, pruned))
        variants.append(common)
    return ReferencePanel(tuple(chromosomes), tuple(variants))


@dataclass(frozen=True, eq=False)
class Phenotypes:
    """Standardised phenotypes of heritability `HERITABILITY`."""

    genetic: np.ndarray  # (n_architectures, n_replicates, n_people) float32, genetic values of all people
    of_train: np.ndarray  # (n_architectures, n_replicates, n_train) float32

    def sharing_causes(self, architecture: int, first: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return genetic values and phenotypes of people to train on, of n phenotypes that share factors.

        They have the residuals of n replicates from the first on. The last replicates of all are factors.
        """
        replicates = slice(first, first + n)
        last = self.genetic.shape[1] - N_FACTORS * (first // n)
        factors = self.genetic[architecture, last - N_FACTORS : last]
        genetic = self.genetic[architecture, replicates]
        angles = np.linspace(-LARGEST_ANGLE, LARGEST_ANGLE, n, dtype=np.float32)[:, np.newaxis]
        loadings = np.sqrt(np.float32(OF_FACTORS)) * np.hstack([np.cos(angles), np.sin(angles)])
        shared = loadings @ factors + np.sqrt(np.float32(1 - OF_FACTORS)) * genetic
        n_train = self.of_train.shape[-1]
        residuals = self.of_train[architecture, replicates] - genetic[:, :n_train]
        return shared, shared[:, :n_train] + residuals


def simulate_phenotypes(
    cohort: GenomeCohort, architectures: Sequence[Architecture], *, seed: int, n_replicates: int
) -> Phenotypes:
    """Simulate phenotypes: for each architecture as many as there are replicates.

    Genetic values are standardised in the cohort, and have the same effects in the other population.
    """
    n_people = sum(cohort.sizes)
    genetic = np.zeros((len(architectures), n_replicates, n_people), dtype=np.float32)
    for number, chromosome in enumerate(cohort.chromosomes()):
        for is_typed, dosages in ((True, chromosome.typed), (False, chromosome.untyped)):
            p = dosages[:, cohort.people.panel].mean(axis=1) / 2
            deviations = (2 * p * (1 - p)) ** (EFFECT_EXPONENT / 2)
            X = None
            for index, architecture in enumerate(architectures):
                if architecture.is_typed != is_typed:
                    continue
                X = dosages.astype(np.float32) if X is None else X
                effects = np.zeros((n_replicates, len(p)), dtype=np.float32)
                for replicate in range(n_replicates):
                    rng = generator(seed, "genome effects", *architecture, replicate, number)
                    chances = rng.random(len(p))
                    # At least one of a chromosome.
                    is_causal = chances <= max(architecture.share, chances.min())
                    effects[replicate] = is_causal * deviations * rng.standard_normal(len(p))
                genetic[index] += effects @ X
    of_cohort = genetic[:, :, : cohort.people.other_panel.start]
    genetic -= of_cohort.mean(axis=-1, keepdims=True)
    genetic *= np.sqrt(HERITABILITY) / of_cohort.std(axis=-1, keepdims=True)
    of_train = genetic[:, :, cohort.people.train].copy()
    for index, architecture in enumerate(architectures):
        for replicate in range(n_replicates):
            rng = generator(seed, "genome residuals", *architecture, replicate)
            residuals = rng.standard_normal(cohort.sizes.train)[: cohort.n_train]
            of_train[index, replicate] += np.sqrt(1 - HERITABILITY) * residuals
    return Phenotypes(genetic, of_train)


def others_phenotypes(
    cohort: GenomeCohort,
    phenotypes: Phenotypes,
    architecture: Architecture,
    replicate: int,
    architectures: Sequence[Architecture],  # as in `phenotypes`
    people: slice,  # of the people to train on, who are not trained on
    *,
    seed: int,
) -> np.ndarray:
    """Return one phenotype of people who are not trained on, (n_people,) float64."""
    rng = generator(seed, "genome residuals", *architecture, replicate)
    residuals = rng.standard_normal(cohort.sizes.train)[people]
    genetic = phenotypes.genetic[architectures.index(architecture), replicate, people]
    return genetic + np.sqrt(1 - HERITABILITY) * residuals


def marginal_effects(cohort: GenomeCohort, panel: ReferencePanel, Y: np.ndarray, people: slice) -> np.ndarray:
    """Return the slope of a phenotype on each variant of a panel by itself, (n_variants,) float64."""
    effects = []
    for variants, chromosome in zip(panel.variants, cohort.chromosomes(), strict=True):
        X = chromosome.typed[variants, people].astype(np.float64)
        X -= X.mean(axis=1, keepdims=True)
        squares = np.square(X).sum(axis=1)
        effects.append(X @ Y / np.where(squares > 0, squares, np.inf))
    return np.concatenate(effects)


def public_part(cohort: GenomeCohort, panel: ReferencePanel, genome: GenomeMap, people: slice) -> np.ndarray:
    """Return people's public scores, (n_scores, n_people), as a release subtracts them."""
    dosages = (
        simulated.typed[variants, people] for _, variants, simulated in _by_chromosome(cohort, panel, genome)
    )
    weights = [chromosome.score_weights * MAP_STEP for chromosome in genome.chromosomes]
    centres = [chromosome.centre * DOSAGE_STEP for chromosome in genome.chromosomes]
    offsets = sum(w @ centre for w, centre in zip(weights, centres, strict=True))
    return people_scores(dosages, weights) - offsets[:, np.newaxis]


def exact_sums(
    cohort: GenomeCohort,
    panel: ReferencePanel,
    genome: GenomeMap,
    Y: np.ndarray,  # (n_phenotypes, n_train), clipped phenotypes
    *,
    is_clipped: bool = True,  # whether rows are clipped
) -> list[np.ndarray]:
    """Return S without noise for each chromosome, (n_phenotypes, n_directions) float64.

    Genotypes are summed in single precision, which is fast.
    """
    people = cohort.people.train
    factors = np.ones((len(genome.chromosomes), cohort.n_train))
    if is_clipped:
        squares = np.array(
            [
                _row_squares(chromosome, simulated.typed[variants, people])
                for chromosome, variants, simulated in _by_chromosome(cohort, panel, genome)
            ]
        )
        bounds = np.square([chromosome.row_norm for chromosome in genome.chromosomes])[:, np.newaxis]
        if genome.is_clipped_jointly:
            squares, bounds = squares.sum(axis=0, keepdims=True), bounds.sum(axis=0, keepdims=True)
        factors *= np.minimum(1, np.sqrt(bounds / squares))
    sums = []
    for factor, (chromosome, variants, simulated) in zip(
        factors, _by_chromosome(cohort, panel, genome), strict=True
    ):
        W = (Y * factor).astype(np.float32)
        offset = W.sum(axis=1, keepdims=True, dtype=np.float64)
        block_sums = []
        for block in chromosome.blocks:
            X = simulated.typed[variants[block.columns], people].astype(np.float32)
            of_variants = W @ X.T - offset * (chromosome.centre[block.columns] * DOSAGE_STEP)
            block_sums.append(of_variants @ block.matrix.T * MAP_STEP)
        sums.append(np.hstack(block_sums))
    return sums


def noisy_moments(
    cohort: GenomeCohort,
    panel: ReferencePanel,
    genome: GenomeMap,
    *,
    mu: float,  # of their noise
    seed: int,
) -> tuple[np.ndarray, float]:
    """Return noisy second moments of people's rows within LD blocks, and the noise of one of two directions.

    They are summed in single precision.
    """
    people, entries, squares = cohort.people.train, [], []
    for chromosome, variants, simulated in _by_chromosome(cohort, panel, genome):
        rows, fourths = [], np.zeros(cohort.n_train)
        for block in chromosome.blocks:
            T = block.matrix * MAP_STEP
            offset = (T @ (chromosome.centre[block.columns] * DOSAGE_STEP)).astype(np.float32)
            X = simulated.typed[variants[block.columns], people].astype(np.float32)
            rows.append(T.astype(np.float32) @ X - offset[:, np.newaxis])
            fourths += np.square(np.square(rows[-1]).sum(axis=0))
        factors = np.sqrt(np.minimum(1, moment_norm(chromosome) / np.sqrt(fourths))).astype(np.float32)
        for z in rows:
            u = z * factors
            upper = np.triu_indices(len(u))
            entries.append((u @ u.T)[upper].astype(np.float64))
            squares.append(np.equal(*upper))
    square_sd = joint_moment_norm(genome) / mu
    product_sd = square_sd * SQUARE_WEIGHT / PRODUCT_WEIGHT
    noise = generator(seed, "genome moments", cohort.n_train).standard_normal(sum(map(len, entries)))
    return np.concatenate(entries) + np.where(
        np.concatenate(squares), square_sd, product_sd
    ) * noise, product_sd


def _by_chromosome(
    cohort: GenomeCohort, panel: ReferencePanel, genome: GenomeMap
) -> Iterator[tuple[ChromosomeMap, np.ndarray, SimulatedChromosome]]:
    """Yield each chromosome's map, the panel's variants among the typed ones, and genotypes."""
    return zip(genome.chromosomes, panel.variants, cohort.chromosomes(), strict=True)


def _row_squares(chromosome: ChromosomeMap, typed: np.ndarray) -> np.ndarray:
    """Return the squared norms of people's rows before the clip, (n_people,), in single precision."""
    squares = np.zeros(typed.shape[1])
    for block in chromosome.blocks:
        T = block.matrix * MAP_STEP
        rows = T.astype(np.float32) @ typed[block.columns].astype(np.float32)
        rows -= (T @ (chromosome.centre[block.columns] * DOSAGE_STEP)).astype(np.float32)[:, np.newaxis]
        squares += np.einsum("kp,kp->p", rows, rows)
    return squares


@dataclass(frozen=True, eq=False)
class DecomposedBlock(BlockEntries):
    """Entries of a block whose decompositions, of single precision, all releases along its map share."""

    decompositions: dict[bytes, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def decomposed(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = Q.tobytes()
        if key not in self.decompositions:
            scaled = (self.loadings / np.sqrt(self.noise)).astype(np.float32)
            eigenvalues, U = eigh((scaled.T * Q.astype(np.float32)) @ scaled, driver="evd")
            self.decompositions[key] = np.maximum(eigenvalues, 0).astype(np.float64), U
        return self.decompositions[key]


class MapFits:
    """Fits of releases along one map."""

    def __init__(
        self,
        cohort: GenomeCohort,
        panel: ReferencePanel,
        genome: GenomeMap,
        noise: SteeredNoise,
        *,
        noise_sd: float,
    ) -> None:
        self._panel, self._genome = panel, genome
        self._terms = {
            "n": cohort.n_train,
            "noise_sd": noise_sd,
            "slope": noise.slope,
            "residual": noise.residual,
        }
        self._decompositions = [{} for chromosome in genome.chromosomes for _ in chromosome.blocks]
        self._moments: tuple[np.ndarray, float] | None = None
        self._effects: np.ndarray | None = None

    def take_moments(self, moments: np.ndarray, moment_sd: float) -> None:
        """Take the LD of the cohort from noisy second moments in all fits that follow."""
        self._moments = moments, moment_sd

    def take_effects(self, effects: np.ndarray) -> None:
        """Start all fits that follow from public effects on their one phenotype."""
        self._effects = effects

    def scores(self, sums: Sequence[np.ndarray], fits: Sequence[str]) -> "Iterator[Score]":
        """Yield the score of each fit of one release, from its noisy sums."""
        entries, causes = self._entries(sums), None
        if self._moments is None and self._effects is None:
            sampling = self._terms["residual"] / self._terms["n"]
            causes = shared_causes(entries, sampling=sampling, n_panel=self._genome.n_panel)
        if causes is None:
            yield from self._scores(entries, None, fits)
            return
        yield from self._scores(entries, causes, [fit for fit in fits if not fit.endswith(APART)])
        apart = [fit for fit in fits if fit.endswith(APART)]
        if apart:
            yield from self._scores(entries, None, apart)

    def _scores(
        self, entries: GenomeEntries, causes: SharedCauses | None, fits: Sequence[str]
    ) -> "Iterator[Score]":
        """Do the work of `scores`, of fits that share these causes."""
        rows = entries if causes is None else causes.entries(entries)
        names = [fit.removesuffix(APART) for fit in fits]
        if "stack" in names:
            # As in a release, moments leave no scale from the panel.
            variances = self._panel_variances if self._moments is None else None
            genome_fit = fit_genome(rows, panel_variances=variances)
            h2, mixture_share, scale = genome_fit.heritability, genome_fit.mixture_share, genome_fit.scale
            effects = {
                "BLUP": genome_fit.of_blup,
                "mixture": genome_fit.of_mixture,
                "stack": genome_fit.effects,
            }
        else:
            model = fit_variances(rows)
            h2, mixture_share, scale = model.mean_heritability, np.nan, 1.0
            effects = {"BLUP": blup_effects(rows, model)}
            if "mixture" in names:
                effects["mixture"] = replace(effects["BLUP"], of_blocks=mixture_effects(rows, model)[0])
        n_factors = 0
        if causes is not None:
            # Rows are no phenotypes.
            h2, n_factors = np.full(len(h2), np.nan), causes.n_factors
            effects = {name: causes.effects(of_rows) for name, of_rows in effects.items()}
        for fit, name in zip(fits, names, strict=True):
            weights = variant_weights(self._genome, effects[name])
            yield Score(fit, weights, h2, mixture_share, scale, n_factors)

    def _entries(self, sums: Sequence[np.ndarray]) -> GenomeEntries:
        entries = genome_entries(self._genome, sums, **self._terms)
        if self._genome.scored:
            entries = with_public_scores(entries, self._genome, self._genome.scored)
        if self._effects is not None:
            files = [public_entries(self._genome, self._effects)]
            return with_public_entries(entries, self._genome, files)[0]  # along directions of their own
        if self._moments is not None:
            moments, moment_sd = self._moments
            moment_options = {"moment_sd": moment_sd, "residual": self._terms["residual"]}
            entries = with_cohort_ld(entries, self._genome, moments, self._terms["n"], **moment_options)
        pairs = zip(entries.blocks, self._decompositions, strict=True)
        return replace(
            entries, blocks=tuple(DecomposedBlock(**vars(block), decompositions=of) for block, of in pairs)
        )

    def _panel_variances(self, effects: GenomeEffects) -> ScoreVariances:
        pairs = zip(variant_weights(self._genome, effects), self._panel.chromosomes, strict=True)
        chromosome_scores = [people_scores(iter([chromosome.dosages.T]), [w]) for w, chromosome in pairs]
        of_chromosomes = sum(scores.var(axis=1) for scores in chromosome_scores)
        return ScoreVariances(
            sum(chromosome_scores).var(axis=1), of_chromosomes, len(chromosome_scores[0][0])
        )


class Score(NamedTuple):
    """Weights of a fit's scores on the phenotypes of one release, and what the fit found."""

    fit: str
    weights: list[np.ndarray]  # (n_phenotypes, n_variants) float64 of each chromosome
    heritability: np.ndarray  # (n_phenotypes,)
    mixture_share: float
    scale: float
    n_factors: int  # that effects on phenotypes share


class Accuracy(NamedTuple):
    """What the score of a phenotype explains of people."""

    r2: float  # squared correlation with the genetic value, times h2
    slope: float  # of the genetic value on the score


def accuracies(scores: np.ndarray, genetic: np.ndarray) -> list[Accuracy]:
    """Return what scores of people explain of their genetic values, both (n_rows, n_people), row by row."""
    results = []
    for score, value in zip(scores, genetic, strict=True):
        covariance = np.cov(score, value)
        slope = covariance[0, 1] / covariance[0, 0] if covariance[0, 0] > 0 else 0.0
        results.append(Accuracy(HERITABILITY * slope * covariance[0, 1] / covariance[1, 1], slope))
    return results


def people_scores(dosages: "Iterator[np.ndarray]", weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return scores from (n_variants, n_people) dosages and weights by chromosome, (n_rows, n_people)."""
    pairs = zip(dosages, weights, strict=True)
    return sum((w.astype(np.float32) @ X.astype(np.float32)).astype(np.float64) for X, w in pairs)
