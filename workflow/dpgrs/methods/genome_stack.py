"""BLUP and mixture of a whole genome in one fit, with shares and a scale that the released entries support.

A public seed makes four thinned copies of the entries c, with noise N: c1 = c + sqrt(a N) e and
c2 = c - sqrt(N/a) e, e ~ N(0, I), a = 1/4. The noises of c1 and c2 are independent. Two copies take the e of
the other two with the opposite sign, so that sums over copies have less noise. Fits on c1 are compared with
c2: the share of the mixture minimises |Sigma^1/2 theta|^2 - 2 (V'Sigma^1/2 theta)'c2, summed over phenotypes
and copies. The fit itself uses c. Entries along the LD of the cohort (`dpgrs.methods.genome_cohort_ld`) are
turned, and their products use `score_loadings`.

The scale of the score is the sum of (V'Sigma^1/2 theta)'c2 over the sum of the score's variances among the
people of the panel, for theta from c1. Its prior mean is 1. The variances of the chromosomes' parts of a
score count in full, and their covariance as far as it is more than chance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpgrs.linalg.genome_map import ScoreVariances
from dpgrs.methods.genome_fit import GenomeEffects, GenomeEntries, blup_effects, fit_variances
from dpgrs.methods.genome_mixture import MixturePrior, mixture_effects
from dpgrs.public_random import generator

COPIES, THINNING, SEED = 4, 0.25, 0
# The standard deviation of the scale's prior, whose mean is 1.
SCALE_SD = 0.1
# For the mixture on copies: its prior is fixed, and the fit compares only sums of its means.
SWEEPS, BURN_IN = 120, 40


@dataclass(frozen=True, eq=False)
class GenomeFit:
    """Effects of a whole genome on phenotypes, and the model behind them."""

    effects: GenomeEffects  # a row for each phenotype; so in the two fits that are blended
    of_blup: GenomeEffects
    of_mixture: GenomeEffects
    heritability: np.ndarray  # (n_phenotypes,) float64, posterior means
    exponent_shares: np.ndarray  # (n_exponents,) float64, of `dpgrs.methods.genome_fit.EXPONENTS`
    mixture: MixturePrior
    mixture_share: float  # in [0, 1]
    scale: float  # >= 0, the factor that effects include


def fit_genome(
    seen: GenomeEntries,
    *,
    heritability: float | np.ndarray | None = None,  # in (0, 1), of all rows or of each, where it is stated
    # Function of effects that returns the variances of rows' scores; None leaves the scale at 1.
    panel_variances: Callable[[GenomeEffects], ScoreVariances] | None = None,
) -> GenomeFit:
    """Estimate effects of all variants from released entries; post-processing, which costs nothing."""
    n = len(seen.of_axes)
    model = fit_variances(seen, heritability=heritability)
    first, second = thinned_copies(seen)
    rows = np.tile(np.arange(n), COPIES)
    of_copies = model.of_rows(rows)
    blup, blup_copies = blup_effects(seen, model), blup_effects(first, of_copies)
    of_blocks, prior = mixture_effects(seen, model)
    mixture = replace(blup, of_blocks=of_blocks)
    of_blocks, _ = mixture_effects(first, of_copies, prior=prior, sweeps=SWEEPS, burn_in=BURN_IN)
    mixture_copies = replace(blup_copies, of_blocks=of_blocks)
    share = _mixture_share(first, second, blup_copies, mixture_copies)
    effects = _blended(blup, mixture, share)
    scale = 1.0
    if panel_variances is not None:
        copies = _blended(blup_copies, mixture_copies, share)
        scale = _scale(first, second, copies, _total_variance(panel_variances(copies)))
        effects = GenomeEffects(
            tuple(scale * block_effects for block_effects in effects.of_blocks), scale * effects.of_axes
        )
    return GenomeFit(
        effects, blup, mixture, model.mean_heritability, model.exponent_shares, prior, share, scale
    )


def thinned_copies(seen: GenomeEntries) -> tuple[GenomeEntries, GenomeEntries]:
    """Return c1 and c2 of all copies, rows of one copy after those of another."""
    first, second, factors = [], [], np.tile(seen.factors, COPIES)
    roots = np.sqrt(factors)[:, np.newaxis]
    for number, block in enumerate(seen.blocks):
        entries, e = _tiled(block.entries), roots * _normal(block.entries.shape, number)
        sd = np.sqrt(block.noise)
        first.append(replace(block, entries=entries + np.sqrt(THINNING) * sd * e))
        second.append(replace(block, entries=entries - sd * e / np.sqrt(THINNING)))
    axes, e = _tiled(seen.of_axes), roots * _normal(seen.of_axes.shape, len(seen.blocks))
    sd = np.sqrt(np.where(np.isfinite(seen.axis_noise), seen.axis_noise, 0))
    first_fields = (
        tuple(first),
        axes + np.sqrt(THINNING) * sd * e,
        seen.axis_noise,
        factors * (1 + THINNING),
    )
    second_fields = (
        tuple(second),
        axes - sd * e / np.sqrt(THINNING),
        seen.axis_noise,
        factors * (1 + 1 / THINNING),
    )
    return GenomeEntries(*first_fields), GenomeEntries(*second_fields)


def _tiled(entries: np.ndarray) -> np.ndarray:
    return np.tile(entries, (COPIES, 1))


def _normal(shape: tuple[int, int], number: int) -> np.ndarray:
    n, width = shape
    e = generator(SEED, "thinned copies", number).standard_normal((COPIES * n // 2, width))
    return np.concatenate([e, -e])


def _blended(blup: GenomeEffects, mixture: GenomeEffects, share: float) -> GenomeEffects:
    pairs = zip(blup.of_blocks, mixture.of_blocks, strict=True)
    return replace(blup, of_blocks=tuple(a + share * (b - a) for a, b in pairs))


def _mixture_share(
    first: GenomeEntries, second: GenomeEntries, blup: GenomeEffects, mixture: GenomeEffects
) -> float:
    """Return the share of the mixture in [0, 1] that fits c2 best."""
    product = square = 0.0
    by_block = zip(first.blocks, second.blocks, blup.of_blocks, mixture.of_blocks, strict=True)
    for block, other, of_blup, of_mixture in by_block:
        root = block.root
        change = (of_mixture - of_blup) @ root
        product += np.vdot((of_mixture - of_blup) @ block.score_loadings, other.entries)
        product -= np.vdot(change, of_blup @ root)
        square += np.vdot(change, change)
    return float(np.clip(product / square, 0, 1)) if square > 0 else 0.0


def _scale(first: GenomeEntries, second: GenomeEntries, effects: GenomeEffects, total: float) -> float:
    """Return the scale of scores, from effects on c1 and the sum of the scores' variances."""
    projections = [
        (effects.of_axes, second.of_axes, np.where(np.isfinite(first.axis_noise), first.axis_noise, 0))
    ]
    for block, other, of_block in zip(first.blocks, second.blocks, effects.of_blocks, strict=True):
        projections.append((of_block @ block.score_loadings, other.entries, block.noise))
    product = sum(np.vdot(projected, entries) for projected, entries, _ in projections)
    if not total > 0:
        return 1.0
    factors, noise = first.factors.reshape(COPIES, -1)[0] / (1 + THINNING), 0.0
    for projected, _, N in projections:
        sums = projected.reshape(COPIES, len(factors), len(N)).sum(axis=0)
        noise += factors @ (np.square(sums) @ N)
    # The noise of e in products with c2 is no larger than the noise of c.
    variance = 2 * noise / total**2
    distance = product / total - 1
    # A distance of more than two standard deviations calls for a wider prior.
    prior = max(distance**2 - 4 * variance, SCALE_SD**2)
    return float(max(0.0, 1 + distance * prior / (prior + variance)))


def _total_variance(variances: ScoreVariances) -> float:
    """Return the sum of scores' variances, with less of the panel's chance covariance."""
    of_phenotypes = variances.of_chromosomes.reshape(COPIES, -1).sum(axis=0)
    covariance = (variances.of_scores - variances.of_chromosomes).sum()
    # The variance of the covariance if chromosomes are independent.
    chance = 2 * np.square(of_phenotypes).sum() / variances.n_people
    # A covariance of less than two standard deviations counts as chance.
    share = max(0.0, 1 - 4 * chance / covariance**2) if covariance else 0.0
    return float(of_phenotypes.sum() + share * covariance)
