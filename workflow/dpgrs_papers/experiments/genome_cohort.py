"""A simulated cohort whose LD, people and variants have the ratios of a biobank's whole genome."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msprime
import numpy as np
import stdpopsim

from dpgrs.io.files import replacing
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from numpy.random import Generator

LENGTH = 10_000_000
# The model's present-day populations of the cohort, and of a panel of other ancestry.
POPULATION, OTHER_POPULATION = "CEU", "CHB"
RECOMBINATION, COLD_SHARE = 1.15e-8, 0.25
HOTSPOT_WIDTH, HOTSPOT_SPACING, HOTSPOT_SHAPE = 2_000, 50_000, 0.5
# Fewer mutations than in humans: variants are thinned to the density of HapMap3 in any case.
MUTATION = 1.2e-8
# HapMap3 has 1.03 million variants with a minor allele frequency of at least 1 %.
VARIANTS_PER_BASE = 345e-6
LEAST_FREQUENCY = 0.01
# A variant's chance to be typed is proportional to this power of its minor allele frequency.
TYPING_EXPONENT = 0.25
# What a simulated chromosome depends on, beside its length, seed and people.
MODEL_TERMS = (
    *(POPULATION, OTHER_POPULATION, RECOMBINATION, COLD_SHARE, HOTSPOT_WIDTH, HOTSPOT_SPACING, HOTSPOT_SHAPE),
    *(MUTATION, VARIANTS_PER_BASE, LEAST_FREQUENCY, TYPING_EXPONENT),
)


class CohortSizes(NamedTuple):
    """Numbers of people, in the order of their genotypes."""

    train: int
    panel: int
    test: int
    other_panel: int  # of `OTHER_POPULATION`


class SimulatedChromosome(NamedTuple):
    """Genotypes of all people, in the order of `CohortSizes`."""

    typed: np.ndarray  # (n_variants, n_people) int8, counts 0 to 2 of variants that a study knows
    untyped: np.ndarray  # (n_variants, n_people) int8, of as many other variants
    typed_positions: np.ndarray  # (n_variants,) float64, base pairs
    untyped_positions: np.ndarray  # (n_variants,) float64, base pairs


class CommonVariants(NamedTuple):
    """Trees of all people, and places of sites that are common in the panel."""

    trees: Any  # a tskit.TreeSequence
    typed: np.ndarray  # (n_variants,) places of the sites that a study knows
    untyped: np.ndarray  # (n_variants,) of as many others


def simulate_chromosome(
    number: int, *, seed: int, sizes: CohortSizes, length: int = LENGTH
) -> SimulatedChromosome:
    """Simulate counts of alleles of people, as `simulate_variants` does."""
    trees, typed, untyped = simulate_variants(number, seed=seed, sizes=sizes, length=length)
    calls = np.empty((trees.num_sites, trees.num_individuals), np.int8)
    for variant in trees.variants(copy=False):
        calls[variant.site.id] = variant.genotypes[::2] + variant.genotypes[1::2]
    positions = trees.tables.sites.position
    return SimulatedChromosome(calls[typed], calls[untyped], positions[typed], positions[untyped])


def simulate_variants(number: int, *, seed: int, sizes: CohortSizes, length: int = LENGTH) -> CommonVariants:
    """Simulate people of two populations under Gutenkunst's model of human history, with hotspots.

    Variants have a minor allele frequency of at least 1 % in the cohort's panel. Common variants are typed
    more often, as in HapMap3. The seed is public.
    """
    rng = generator(seed, "genome", number)
    model = stdpopsim.get_species("HomSap").get_demographic_model("OutOfAfrica_3G09").model
    trees = msprime.sim_ancestry(
        {POPULATION: sizes.train + sizes.panel + sizes.test, OTHER_POPULATION: sizes.other_panel},
        demography=model,
        recombination_rate=hotspot_map(length, rng),
        random_seed=int(rng.integers(1, 2**31)),
    )
    trees = msprime.sim_mutations(
        trees, rate=MUTATION, random_seed=int(rng.integers(1, 2**31)), model=msprime.BinaryMutationModel()
    )
    of_panel = trees.samples()[2 * sizes.train : 2 * (sizes.train + sizes.panel)]
    # One tree at a time: counts of the panel's carriers without genotypes.
    p = trees.sample_count_stat(
        [of_panel],
        lambda carriers: carriers / len(of_panel),
        1,
        windows="sites",
        polarised=True,
        strict=False,
        span_normalise=False,
    )[:, 0]
    frequency = np.minimum(p, 1 - p)
    common = np.flatnonzero(frequency >= LEAST_FREQUENCY)
    n_variants = round(VARIANTS_PER_BASE * length)
    chances = frequency[common] ** TYPING_EXPONENT
    typed = np.sort(rng.choice(common, n_variants, replace=False, p=chances / chances.sum()))
    untyped = np.sort(rng.choice(np.setdiff1d(common, typed), n_variants, replace=False))
    chosen = np.union1d(typed, untyped)
    trees = trees.delete_sites(np.setdiff1d(np.arange(trees.num_sites), chosen))
    return CommonVariants(trees, np.searchsorted(chosen, typed), np.searchsorted(chosen, untyped))


def hotspot_map(length: int, rng: "Generator") -> msprime.RateMap:
    """Put all recombination but `COLD_SHARE` of it into hotspots of unequal strength."""
    gaps = rng.exponential(HOTSPOT_SPACING, size=3 * length // HOTSPOT_SPACING + 10)
    starts = np.cumsum(gaps + HOTSPOT_WIDTH)
    starts = starts[starts + HOTSPOT_WIDTH < length]
    strength = rng.gamma(HOTSPOT_SHAPE, size=len(starts))
    ends = np.stack([starts, starts + HOTSPOT_WIDTH], axis=1).ravel()
    rates = np.full(len(ends) + 1, COLD_SHARE * RECOMBINATION)
    total = (1 - COLD_SHARE) * RECOMBINATION * length
    rates[1::2] += strength / strength.sum() * total / HOTSPOT_WIDTH
    return msprime.RateMap(position=np.concatenate([[0.0], ends, [length]]), rate=rates)


def write_chromosome(path: Path, chromosome: SimulatedChromosome) -> None:
    """Write an uncompressed .npz file."""
    with replacing(path) as new, new.open("wb") as file:
        np.savez(file, **chromosome._asdict())


def read_chromosome(path: Path) -> SimulatedChromosome:
    """Read a file of `write_chromosome`."""
    with np.load(path) as arrays:
        return SimulatedChromosome(**{name: arrays[name] for name in SimulatedChromosome._fields})
