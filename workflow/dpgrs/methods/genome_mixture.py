"""A mixture prior of a genome's effects, none, small, middle or large, by Gibbs sampling over variants.

In the notation of `dpgrs.methods.genome_fit`, theta_j = sqrt(h2 Q_j) b_j, where b_j is 0 or normal with a
variance of `SIZES` times s2 [1]_. The chances of the four sizes, and s2, are the same for all phenotypes and
are drawn as well. With the rows g_j = sqrt(h2 Q_j) N^-1/2 L_j of a block and r = N^-1/2 c - sum_j g_j b_j, an
effect is drawn given all others from g_j'r and |g_j|^2, which takes K steps a variant in a block of K
directions.

Sums are taken in a fixed order without BLAS, and the seed is public.

References
----------
.. [1] Erbe et al. (2012). Improving accuracy of genomic predictions within and between dairy cattle breeds
   with imputed high-density single nucleotide polymorphism panels. Journal of Dairy Science 95(7).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numba
import numpy as np

from dpgrs.methods.genome_fit import EXPONENTS, BlockEntries, GenomeEntries, VarianceModel
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from numpy.random import Generator

SEED = 0
SIZES = np.array([0.0, 0.01, 0.1, 1.0])
# Where draws of the chances begin.
FIRST_CHANCES = np.array([0.95, 0.03, 0.015, 0.005])
SWEEPS, BURN_IN = 300, 100
# The inner loop sums this many numbers at once.
LANES = 8
# Numbers of single precision, 1 GiB.
LARGEST_GROUP = 2**28


@dataclass(frozen=True, eq=False)
class MixturePrior:
    """Chances of the four sizes, and the variance of large effects b."""

    chances: np.ndarray  # (4,) float64 of sum 1
    variance: float  # s2

    @classmethod
    def first(cls) -> "MixturePrior":
        """Return the prior at which draws begin, of a mean square of 1."""
        return cls(FIRST_CHANCES, float(1 / (FIRST_CHANCES @ SIZES)))


def mixture_effects(
    seen: GenomeEntries,
    model: VarianceModel,
    *,
    prior: MixturePrior | None = None,  # None draws it along with the effects, for all rows together
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,  # first sweeps, which the means leave out
    largest: int = LARGEST_GROUP,  # entries of the matrices of blocks that are in memory together
) -> tuple[tuple[np.ndarray, ...], MixturePrior]:
    """Return the posterior means of effects of standardised dosages, and the mean of the prior.

    The effects are (n_rows, n_variants) float64 for each block. If the matrices of all blocks are larger, the
    prior is drawn with evenly spaced blocks, and effects are drawn of one group of blocks after another.
    """
    groups = _groups(seen.blocks, largest)
    options = {"sweeps": sweeps, "burn_in": burn_in}
    if len(groups) == 1:
        return _effects_of_group(seen.blocks, seen, model, prior, ("genome mixture",), **options)
    if prior is None:
        spaced = seen.blocks[:: len(groups)]
        _, prior = _effects_of_group(spaced, seen, model, None, ("genome mixture",), **options)
    effects: list[np.ndarray] = []
    for number, group in enumerate(groups):
        key = ("genome mixture", number)
        effects += _effects_of_group(group, seen, model, prior, key, **options)[0]
    return tuple(effects), prior


def _groups(blocks: Sequence[BlockEntries], largest: int) -> list[Sequence[BlockEntries]]:
    """Cut blocks into groups of consecutive ones with at most so many entries, or of one block."""
    cuts, total = [0], 0
    for number, block in enumerate(blocks):
        size = block.n_variants * _width(block)
        if total and total + size > largest:
            cuts.append(number)
            total = 0
        total += size
    return [blocks[first:stop] for first, stop in pairwise([*cuts, len(blocks)])]


def _width(block: BlockEntries) -> int:
    """Return the number of directions of a block, padded to `LANES`."""
    return -(-len(block.noise) // LANES) * LANES


def _effects_of_group(
    blocks: Sequence[BlockEntries],
    entries: GenomeEntries,
    model: VarianceModel,
    prior: MixturePrior | None,
    key: tuple[str | int, ...],  # of the random numbers
    *,
    sweeps: int,
    burn_in: int,
) -> tuple[tuple[np.ndarray, ...], MixturePrior]:
    exponent, scale = EXPONENTS[model.best], model.scales[model.best]
    h2 = model.mean_heritability
    roots = [np.sqrt(scale * block.relative_variances(exponent)) for block in blocks]
    first_variant = np.cumsum([0, *(len(root) for root in roots)])
    widths = [_width(block) for block in blocks]
    first_direction = np.cumsum([0, *widths])
    first_entry = np.cumsum([0, *(len(root) * width for root, width in zip(roots, widths, strict=True))])
    G = np.zeros(first_entry[-1], dtype=np.float32)
    r = np.zeros((len(h2), first_direction[-1]))
    for number, (block, root, width) in enumerate(zip(blocks, roots, widths, strict=True)):
        rows = G[first_entry[number] : first_entry[number + 1]].reshape(len(root), width)
        rows[:, : len(block.noise)] = root[:, np.newaxis] * block.loadings / np.sqrt(block.noise)
        directions = slice(first_direction[number], first_direction[number] + len(block.noise))
        # G is for h2 = 1: b below is sqrt(h2) times as long.
        r[:, directions] = block.entries / np.sqrt(block.noise) / np.sqrt(h2)[:, np.newaxis]
    start = MixturePrior.first() if prior is None else prior
    bounds = (first_variant, first_direction, first_entry)
    precision = h2 / entries.factors
    draws = (start.chances, start.variance, prior is None, sweeps, burn_in, generator(SEED, *key))
    means, chances, variance = sample_mixture(G, r, precision, *bounds, *draws)
    means *= np.sqrt(h2)[:, np.newaxis]
    effects = [
        means[:, first_variant[number] : first_variant[number + 1]] * root
        for number, root in enumerate(roots)
    ]
    return tuple(effects), MixturePrior(chances, variance)


@numba.njit(nogil=True, cache=True)
def sample_mixture(
    G: np.ndarray,  # (n_entries,) float32, g_j of all variants, block after block, padded to `LANES`
    r: np.ndarray,  # (n_rows, n_directions) float64, changed in place
    precision: np.ndarray,  # (n_rows,) float64 > 0, of an entry of r
    first_variant: np.ndarray,  # (n_blocks + 1,) int64, as are the next two
    first_direction: np.ndarray,
    first_entry: np.ndarray,
    chances: np.ndarray,  # (4,) float64 > 0
    variance: float,
    is_drawn: bool,  # whether chances and variance are drawn, too
    sweeps: int,
    burn_in: int,
    rng: "Generator",
) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw effects by turns; return their means, (n_rows, n_variants), and those of chances and variance."""
    n_rows, n_variants, n_blocks = len(r), first_variant[-1], len(first_variant) - 1
    b, means = np.zeros((n_rows, n_variants)), np.zeros((n_rows, n_variants))
    squares = np.zeros(n_variants)
    for block in range(n_blocks):
        width = first_direction[block + 1] - first_direction[block]
        for j in range(first_variant[block], first_variant[block + 1]):
            at = first_entry[block] + (j - first_variant[block]) * width
            for k in range(at, at + width):
                squares[j] += np.float64(G[k]) * np.float64(G[k])
    mean_chances, mean_variance = np.zeros(4), 0.0
    current, log_chances = chances.copy(), np.log(chances)
    weights, centres, scales = np.zeros(4), np.zeros(4), np.zeros(4)
    sums = np.zeros(LANES)
    for sweep in range(sweeps):
        counts, total = np.zeros(4), 0.0
        for row in range(n_rows):
            for block in range(n_blocks):
                start = first_direction[block]
                width = first_direction[block + 1] - start
                for j in range(first_variant[block], first_variant[block + 1]):
                    at = first_entry[block] + (j - first_variant[block]) * width
                    sums[:] = 0.0
                    for k in range(0, width, LANES):
                        for lane in range(LANES):
                            sums[lane] += np.float64(G[at + k + lane]) * r[row, start + k + lane]
                    product = 0.0
                    for lane in range(LANES):
                        product += sums[lane]
                    information = precision[row] * squares[j]
                    pull = precision[row] * product + information * b[row, j]
                    weights[0], largest = log_chances[0], log_chances[0]
                    for size in range(1, 4):
                        v = SIZES[size] * variance
                        scales[size] = v / (1 + v * information)
                        centres[size] = scales[size] * pull
                        weights[size] = (
                            log_chances[size] - 0.5 * np.log(1 + v * information) + 0.5 * centres[size] * pull
                        )
                        largest = max(largest, weights[size])
                    weight_sum = 0.0
                    for size in range(4):
                        weights[size] = np.exp(weights[size] - largest)
                        weight_sum += weights[size]
                    if sweep >= burn_in:
                        mean = 0.0
                        for size in range(1, 4):
                            mean += weights[size] * centres[size]
                        means[row, j] += mean / weight_sum
                    left, size = rng.random() * weight_sum - weights[0], 0
                    while left >= 0 and size < 3:
                        size += 1
                        left -= weights[size]
                    effect = 0.0
                    if size > 0:
                        effect = centres[size] + np.sqrt(scales[size]) * rng.standard_normal()
                        total += effect * effect / SIZES[size]
                    counts[size] += 1
                    change = effect - b[row, j]
                    if change != 0:
                        for k in range(width):
                            r[row, start + k] -= np.float64(G[at + k]) * change
                        b[row, j] = effect
        if is_drawn:
            gamma_sum = 0.0
            for size in range(4):
                current[size] = rng.standard_gamma(counts[size] + 1)
                gamma_sum += current[size]
            current /= gamma_sum
            log_chances = np.log(current)
            n_effects = counts[1] + counts[2] + counts[3]
            variance = (total + 2.0) / (2 * rng.standard_gamma((n_effects + 2.0) / 2))
        if sweep >= burn_in:
            mean_chances += current / (sweeps - burn_in)
            mean_variance += variance / (sweeps - burn_in)
    return means / (sweeps - burn_in), mean_chances, mean_variance
