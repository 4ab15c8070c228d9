"""The LD spectrum of a genome whose reference panel is not measured yet: of a simulated population.

`config/experiments/ld_spectrum.py` makes the table: how the variance of a phenotype spreads over directions
of LD blocks, in 10,000 people of European ancestry under Gutenkunst's model with recombination hotspots, for
several densities of variants with a minor allele frequency of at least 1 %.
"""

from functools import cache
from pathlib import Path

import numpy as np

from dpgrs.linalg.genome_prior import HERITABILITY, Spectrum

TABLE = Path(__file__).with_name("ld_spectrum.tsv")
# Length of an LD block, and the fewest variants of one (`dpgrs.genotypes.ld_blocks`, which brings numba).
BLOCK_MEGABASES, FEWEST_VARIANTS = 2.0, 150


def assumed_spectrum(
    n_variants: int,
    *,
    megabases: float,  # > 0, that the variants are spread over
    n_panel: int,  # >= 1, people of the reference panel
) -> Spectrum:
    """Return the spectrum of a genome with so many variants, at the heritability of `HERITABILITY`.

    Variants beyond the largest density of the table add nothing. Between two densities, directions are taken
    from both.
    """
    spectra = _simulated_spectra()
    densities = list(spectra)
    density = min(n_variants / megabases, densities[-1])
    n_directions = density * megabases
    upper = int(np.clip(np.searchsorted(densities, density), 1, len(densities) - 1))
    steps = np.log(np.clip(density, densities[0], densities[-1]) / densities[upper - 1 : upper + 1])
    share = steps[0] / (steps[0] - steps[1])
    variances, counts = [], []
    for weight, index in ((1 - share, upper - 1), (share, upper)):
        shares, relative = spectra[densities[index]]
        variances.append(relative * HERITABILITY / n_directions)
        counts.append(shares * weight * n_directions)
    counts, variances = np.concatenate(counts), np.concatenate(variances)
    n_blocks = max(min(megabases / BLOCK_MEGABASES, n_directions / FEWEST_VARIANTS), 1)
    is_there = counts > 0
    chances = np.full(is_there.sum(), HERITABILITY / n_blocks / n_panel)
    return Spectrum(variances[is_there], chances, counts[is_there])


@cache
def _simulated_spectra() -> dict[float, tuple[np.ndarray, np.ndarray]]:
    """Return shares of directions and their variances, relative to a variant's, by density, ascending."""
    table = np.loadtxt(TABLE, skiprows=1)
    return {density: tuple(table[table[:, 0] == density, 1:].T) for density in np.unique(table[:, 0])}
