"""Private scores of a simulated genome: phenotypes, noisy sums, and what scores explain of other people.

Noise of the right size is added to sums in floating point, for measurements of accuracy only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpgrs.genotypes.ld_blocks import ld_block_bounds, pruned_variants
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, ChromosomeMap, GenomeMap, genome_axes
from dpgrs.linalg.genome_prior import (
    HERITABILITY,
    GenomePrior,
    ReferenceChromosome,
    SteeredNoise,
    genome_prior,
)
from dpgrs.methods.genome_fit import (
    GenomeEffects,
    blup_effects,
    fit_variances,
    genome_entries,
    variant_weights,
)
from dpgrs.methods.genome_mixture import mixture_effects
from dpgrs.methods.genome_stack import fit_genome
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import SimulatedChromosome, read_chromosome

# The variance of an effect per allele goes with (2 p (1 - p)) to this power.
EFFECT_EXPONENT = -0.25
PEOPLE_TOGETHER = 2_000


class Architecture(NamedTuple):
    """Which variants are causal."""

    share: float  # of all variants
    is_typed: bool = True  # False: all causal variants are unknown to the study


@dataclass(frozen=True, eq=False)
class GenomeCohort:
    """A simulated cohort in files of chromosomes: training people, panel, test people."""

    files: tuple[Path, ...]
    n_simulated: int  # people to train on
    n_panel: int
    n_test: int
    n_train: int  # of these the first, which are trained on

    @property
    def train(self) -> slice:
        """The places of training people."""
        return slice(0, self.n_train)

    @property
    def panel(self) -> slice:
        """The places of people of the panel."""
        return slice(self.n_simulated, self.n_simulated + self.n_panel)

    @property
    def test(self) -> slice:
        """The places of test people."""
        return slice(self.panel.stop, self.panel.stop + self.n_test)

    def chromosomes(self) -> Iterator[SimulatedChromosome]:
        """Read chromosome after chromosome."""
        return map(read_chromosome, self.files)

    @cached_property
    def reference(self) -> list[ReferenceChromosome]:
        """The chromosomes of the panel."""
        return [self._of_panel(f"{i + 1}", chromosome) for i, chromosome in enumerate(self.chromosomes())]

    @cached_property
    def of_test(self) -> list[np.ndarray]:
        """The dosages of test people for each chromosome."""
        return [np.array(chromosome.typed[self.test]) for chromosome in self.chromosomes()]

    def _of_panel(self, contig: str, chromosome: SimulatedChromosome) -> ReferenceChromosome:
        X = np.array(chromosome.typed[self.panel])
        bounds = ld_block_bounds(X, chromosome.typed_positions)
        pruned = pruned_variants(X, chromosome.typed_positions)
        return ReferenceChromosome(contig, X, X.mean(axis=0) / 2, bounds, pruned)

    @cached_property
    def prior(self) -> GenomePrior:
        """The prior along the LD of the panel."""
        return genome_prior(self.reference)


class Phenotype(NamedTuple):
    """A standardised phenotype of training people, and genetic values of test people."""

    of_train: np.ndarray  # (n_train,) float64
    genetic_of_test: np.ndarray  # (n_test,) float64


class Accuracy(NamedTuple):
    """What the score of a phenotype explains of test people."""

    r2: float  # squared correlation with the genetic value, times h2
    slope: float  # of the genetic value on the score


def simulate_phenotypes(
    cohort: GenomeCohort, architectures: Sequence[Architecture], *, seed: int, n_replicates: int
) -> list[list[Phenotype]]:
    """Simulate phenotypes of `HERITABILITY`: for each architecture as many as there are replicates."""
    shape = (len(architectures), n_replicates)
    genetic = np.zeros((*shape, cohort.test.stop), dtype=np.float32)
    for number, chromosome in enumerate(cohort.chromosomes()):
        for is_typed, dosages in ((True, chromosome.typed), (False, chromosome.untyped)):
            rows = [
                place for place, architecture in enumerate(architectures) if architecture.is_typed == is_typed
            ]
            if not rows:
                continue
            p = dosages[cohort.panel].mean(axis=0) / 2
            deviations = (2 * p * (1 - p)) ** (EFFECT_EXPONENT / 2)
            effects = np.zeros((len(rows), n_replicates, len(p)), dtype=np.float32)
            for row, place in enumerate(rows):
                rng = generator(seed, "genome effects", *architectures[place], number)
                chances = rng.random((n_replicates, len(p)))
                # At least one of a chromosome.
                limit = np.maximum(architectures[place].share, chances.min(axis=1, keepdims=True))
                is_causal = chances <= limit
                effects[row] = is_causal * deviations * rng.standard_normal((n_replicates, len(p)))
            X = dosages.astype(np.float32)
            genetic[rows] += (effects.reshape(-1, len(p)) @ X.T).reshape(len(rows), n_replicates, -1)
    genetic -= genetic.mean(axis=-1, keepdims=True)
    genetic *= np.sqrt(HERITABILITY) / genetic.std(axis=-1, keepdims=True)
    phenotypes = []
    for architecture, values in zip(architectures, genetic.astype(np.float64), strict=True):
        rng = generator(seed, "genome residuals", *architecture)
        residuals = np.sqrt(1 - HERITABILITY) * rng.standard_normal((n_replicates, cohort.n_simulated))
        phenotypes.append(
            [
                Phenotype((value[: cohort.n_simulated] + residual)[cohort.train], value[cohort.test])
                for value, residual in zip(values, residuals, strict=True)
            ]
        )
    return phenotypes


def exact_sums(
    cohort: GenomeCohort,
    genome: GenomeMap,
    Y: np.ndarray,  # (n_phenotypes, n_train), clipped phenotypes
    *,
    is_clipped: bool = True,  # whether rows are clipped
) -> list[np.ndarray]:
    """Return S without noise for each chromosome, (n_phenotypes, n_directions) float64."""
    axes = _axes_of_train(cohort, genome)
    factors = np.ones((len(genome.chromosomes), cohort.n_train))
    if is_clipped:
        squares = np.array(
            [
                np.concatenate([np.square(rows).sum(axis=1) for _, rows in parts])
                for parts in _rows_of_train(cohort, genome, axes)
            ]
        )
        bounds = np.square([chromosome.row_norm for chromosome in genome.chromosomes])[:, np.newaxis]
        if genome.is_clipped_jointly:
            squares, bounds = squares.sum(axis=0, keepdims=True), bounds.sum(axis=0, keepdims=True)
        factors *= np.minimum(1, np.sqrt(bounds / squares))
    return [
        sum((Y[:, people] * factor[people]) @ rows for people, rows in parts)
        for factor, parts in zip(factors, _rows_of_train(cohort, genome, axes), strict=True)
    ]


def _axes_of_train(cohort: GenomeCohort, genome: GenomeMap) -> np.ndarray:
    if genome.n_axes == 0:
        return np.zeros((cohort.n_train, 0), dtype=np.int64)
    pairs = zip(genome.chromosomes, cohort.chromosomes(), strict=True)
    dosages = (
        simulated.typed[cohort.train][:, chromosome.pruned].astype(np.int64) * round(1 / DOSAGE_STEP)
        - chromosome.centre[chromosome.pruned]
        for chromosome, simulated in pairs
    )
    return genome_axes((chromosome.axis_loadings for chromosome in genome.chromosomes), dosages)


def _rows_of_train(
    cohort: GenomeCohort, genome: GenomeMap, axes: np.ndarray
) -> Iterator[Iterator[tuple[slice, np.ndarray]]]:
    """Yield for each chromosome slices of training people with their rows before the clip."""
    for chromosome, simulated in zip(genome.chromosomes, cohort.chromosomes(), strict=True):
        yield _rows_by_people(chromosome, simulated.typed[cohort.train], axes)


def _rows_by_people(
    chromosome: ChromosomeMap, typed: np.ndarray, axes: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the rows of `dpgrs.linalg.genome_map.mapped_rows` in single precision, which is fast."""
    maps = []
    for block in chromosome.blocks:
        T = block.matrix.T * MAP_STEP
        of_axes = (chromosome.axis_effects[block.columns].T * DOSAGE_STEP) @ T
        offset = (chromosome.centre[block.columns] * DOSAGE_STEP) @ T
        maps.append((block.columns, T.astype(np.float32), of_axes, offset))
    for start in range(0, len(typed), PEOPLE_TOGETHER):
        people = slice(start, min(start + PEOPLE_TOGETHER, len(typed)))
        f = axes[people] * DOSAGE_STEP
        parts = [f[:, : len(chromosome.axis_gains)] * (chromosome.axis_gains * MAP_STEP)]
        for columns, T, of_axes, offset in maps:
            parts.append(typed[people, columns].astype(np.float32) @ T - offset - f @ of_axes)
        yield people, np.hstack(parts)


class Score(NamedTuple):
    """Weights of a fit's score on one phenotype, by chromosome, and what the fit found."""

    fit: str
    weights: list[np.ndarray]  # (n_variants,) float64 each
    heritability: float
    mixture_share: float
    scale: float


def scores_of(
    cohort: GenomeCohort,
    genome: GenomeMap,
    noise: SteeredNoise,
    sums: Sequence[np.ndarray],
    *,
    noise_sd: float,
) -> Iterator[list[Score]]:
    """Yield the scores of each fit of one release, a list with one for each phenotype."""
    seen = genome_entries(
        genome, sums, cohort.n_train, noise_sd=noise_sd, slope=noise.slope, residual=noise.residual
    )
    model = fit_variances(seen)
    blup = blup_effects(seen, model)
    mixture = replace(blup, of_blocks=mixture_effects(seen, model)[0])

    of_panel = [chromosome.dosages for chromosome in cohort.reference]

    def panel_variances(effects: GenomeEffects) -> np.ndarray:
        return people_scores(of_panel, variant_weights(genome, effects)).var(axis=1)

    whole = fit_genome(seen, panel_variances=panel_variances)
    fits = ("BLUP", blup, 0.0, 1.0), ("mixture", mixture, 1.0, 1.0)
    for name, effects, share, scale in (*fits, ("stack", whole.effects, whole.mixture_share, whole.scale)):
        weights = variant_weights(genome, effects)
        yield [
            Score(name, [part[place] for part in weights], float(h2), share, scale)
            for place, h2 in enumerate(model.mean_heritability)
        ]


def accuracies(cohort: GenomeCohort, weights: Sequence[np.ndarray], genetic: np.ndarray) -> list[Accuracy]:
    """Return what scores of test people explain of their genetic values, row by row.

    `weights` are (n_rows, n_variants) for each chromosome, `genetic` is (n_rows, n_test).
    """
    scores, results = people_scores(cohort.of_test, weights), []
    for score, value in zip(scores, genetic, strict=True):
        covariance = np.cov(score, value)
        slope = covariance[0, 1] / covariance[0, 0] if covariance[0, 0] > 0 else 0.0
        results.append(Accuracy(HERITABILITY * slope * covariance[0, 1] / covariance[1, 1], slope))
    return results


def people_scores(dosages: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return scores of people from dosages and weights by chromosome, (n_rows, n_people) float64."""
    pairs = zip(dosages, weights, strict=True)
    return sum((w.astype(np.float32) @ X.T.astype(np.float32)).astype(np.float64) for X, w in pairs)
