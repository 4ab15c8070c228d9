"""The LD spectrum of a simulated population, which plans of whole genomes use before a panel is measured.

Chromosomes of many people are simulated, and the prior along their LD is estimated as from a reference panel,
at several densities of variants. Directions of about the same variance are one line of the table.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.genotypes.ld_blocks import ld_block_bounds
from dpgrs.io.files import replacing
from dpgrs.linalg.genome_prior import HERITABILITY, ReferenceChromosome, genome_prior
from dpgrs.planning.ld_spectrum import TABLE
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import (
    LENGTH,
    VARIANTS_PER_BASE,
    CohortSizes,
    simulate_chromosome,
)

# Variants a megabase: all that are simulated, those of HapMap3's density, and fewer of these.
SPARSE = (100, 30, 10, 3)
DENSITIES = (2 * VARIANTS_PER_BASE * 1e6, VARIANTS_PER_BASE * 1e6, *SPARSE)


def chromosomes_of_density(chromosome, number, *, seed, length):
    """Yield a density in variants a megabase, and a ReferenceChromosome with as many."""
    X = np.vstack([chromosome.typed, chromosome.untyped])
    position = np.concatenate([chromosome.typed_positions, chromosome.untyped_positions])
    rng, n_typed = generator(seed, "LD spectrum", number), len(chromosome.typed)
    random_order = rng.permutation(n_typed)
    for density in DENSITIES:
        n = round(density * length / 1e6)
        chosen = np.arange(n) if n >= n_typed else random_order[:n]
        chosen = chosen[np.argsort(position[chosen], kind="stable")]
        dosages = X[chosen].T
        bounds = ld_block_bounds(dosages, position[chosen])
        no_axes = np.empty(0, dtype=np.int64)
        yield (
            density,
            ReferenceChromosome(str(number), dosages, dosages.mean(axis=0) / 2, bounds, no_axes),
        )


def main(arguments=None):
    """Simulate, and write the table of the spectrum."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=TABLE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chromosomes", type=int, default=6)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=LENGTH, help="of a chromosome, in base pairs")
    given = parser.parse_args(arguments)
    spectra = {density: [] for density in DENSITIES}
    for number in range(1, given.chromosomes + 1):
        started, sizes = time.monotonic(), CohortSizes(train=0, panel=given.people, test=0, other_panel=0)
        chromosome = simulate_chromosome(number, seed=given.seed, length=given.length, sizes=sizes)
        parts = chromosomes_of_density(chromosome, number, seed=given.seed, length=given.length)
        for density, part in parts:
            spectra[density].append(genome_prior([part], n_axes=0).spectrum)
        print(f"chromosome {number}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    lines = []
    for density, parts in spectra.items():
        variances, chances = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("variances", "chances")
        )
        spectrum = replace(parts[0], variances=variances, chances=chances).binned()
        share = spectrum.counts / spectrum.counts.sum()
        # Of a variant's mean variance.
        relative = spectrum.variances * len(variances) / len(parts) / HERITABILITY
        lines.append(pd.DataFrame({"density": density, "share": share, "variance": relative}))
    with replacing(given.output) as new:
        pd.concat(lines).to_csv(new, sep="\t", index=False, float_format="%.5g")
    return 0


if __name__ == "__main__":
    sys.exit(main())
