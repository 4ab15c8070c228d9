"""Public scores that are subtracted from phenotypes before their clip: what public effects predict.

In the notation of `dpgrs.methods.genome_public`, with the file's effects in standard deviations of the
phenotype, u's = x + N(0, w) for x = u'Sigma^1/2 theta of variance A p. Its posterior mean is

    E[x | s] = A p u's/(A p + w + A h2_b/n_panel),

averaged over A and w by their likelihood, for the half of the directions with the largest p. Sigma^-1/2 times
it are effects of standardised dosages. The unit of effects is known, hence A is twice the heritability that
the file shows. Weights are rounded to a public grid, on which scores of people are exact integers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product, starmap

import numpy as np
from scipy.special import softmax

from dpgrs.errors import UsageError
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, GenomeMap, score_rows
from dpgrs.linalg.genome_prior import GenomePrior, PublicScores, ReferenceChromosome
from dpgrs.linalg.genome_sums import ROW_STEP, require_exact_scores
from dpgrs.linalg.steering import HERITABILITY
from dpgrs.methods.blup_model import HERITABILITIES
from dpgrs.methods.genome_fit import GenomeEntries
from dpgrs.methods.genome_public import shown_entries

# The largest share of a phenotype's variance, and the largest probability of effects that explain over 1.
MOST_EXPLAINED, MOST_PROBABLE = 0.9, 0.99
# The variance that effects seem to explain: beyond 1 they are in other units.
SCALES = np.r_[HERITABILITIES, np.geomspace(1, 1e4, 25)]
# The shares of noise in the mean square of entries.
NOISE_SHARES = np.geomspace(1e-3, 1, 25)
NEGLIGIBLE = 1e-6


def public_scores(
    prior: GenomePrior,
    panel: Sequence[ReferenceChromosome],  # of which the prior was estimated
    # By phenotype, (n_variants,) float64, effects per copy of ALT in standard deviations of the phenotype, 0
    # where there is none.
    effects: Mapping[str, np.ndarray],
) -> PublicScores | None:
    """Return the scores of phenotypes, by effects of one variant at a time; None without any.

    It raises UsageError for effects that explain more of a phenotype than they can.
    """
    if not effects:
        return None
    weights, are_too_large = zip(*(_weights(prior, each) for each in effects.values()), strict=True)
    of_chromosomes = tuple(np.array(chromosome_weights) for chromosome_weights in zip(*weights, strict=True))
    require_exact_scores(of_chromosomes)
    scores = np.zeros((prior.n_panel, len(effects)), dtype=np.int64)
    for chromosome, of_chromosome in zip(panel, of_chromosomes, strict=True):
        for columns in starmap(slice, pairwise(chromosome.bounds.tolist())):
            scores += chromosome.centred(columns) @ of_chromosome[:, columns].T
    residuals = 1 - np.var(scores * ROW_STEP, axis=0)
    for name, residual, is_too_large in zip(effects, residuals.tolist(), are_too_large, strict=True):
        if is_too_large or 1 - residual > MOST_EXPLAINED:
            raise UsageError(
                "public-effects-too-large",
                f"The public effects of {name} must explain at most {MOST_EXPLAINED:g} of its variance in "
                "the public reference, got larger ones. Give effects per copy of an allele in standard "
                "deviations of the outcome, or leave it out of `public.subtract`.",
            )
    return PublicScores(tuple(effects), of_chromosomes, tuple(residuals.tolist()))


def _weights(prior: GenomePrior, effects: np.ndarray) -> tuple[list[np.ndarray], bool]:
    """Return the weights of dosages of each chromosome, and whether effects are too large.

    Weights are (n_variants,) int64 in units of `MAP_STEP`.
    """
    n_axes, cuts = prior.axes.shape[1], np.cumsum([len(block.variances) for block in prior.blocks])[:-1]
    p, chances = prior.spectrum.variances[n_axes:], prior.spectrum.chances[n_axes:]
    entries, shown = np.zeros((2, len(effects)))
    pairs = zip(prior.blocks, *(np.split(array, cuts) for array in (effects, entries, shown)), strict=True)
    for block, of_block, of_entries, of_shown in pairs:
        root, V = block.matrices().astype(np.float64)
        of_entries[:], of_shown[:] = shown_entries(root, V, of_block * block.deviations)
    # The LD of a panel is known best along the directions of large p.
    is_used = (shown > 0) & (p >= np.median(p))
    s = np.where(is_used, shown * entries, 0.0)
    shares, is_too_large = _shares(p[is_used], chances[is_used], s[is_used] ** 2 / shown[is_used])
    s[is_used] *= shares
    weights = []
    for block, x in zip(prior.blocks, np.split(s, cuts), strict=True):
        root, V = block.matrices().astype(np.float64)
        weights.append(np.rint(np.linalg.solve(root, V @ x) / block.deviations / MAP_STEP).astype(np.int64))
    sizes = np.cumsum([len(chromosome.centre) for chromosome in prior.chromosomes])[:-1]
    return np.split(np.concatenate(weights), sizes), is_too_large


def _shares(p: np.ndarray, chances: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return A p/(A p + w + A h2_b/n_panel), averaged over A and w, and whether effects are too large."""
    size = squares.mean() if len(p) else 0.0
    if not size > 0:
        return np.zeros_like(p), False
    # p is for a heritability of 1/2.
    pairs = [(h / HERITABILITY, noise * size) for h, noise in product(SCALES, NOISE_SHARES)]
    variances = (A * p + w for A, w in pairs)
    log_likelihood = np.array([-(np.log(of_pair) + squares / of_pair).sum() / 2 for of_pair in variances])
    is_possible = np.array([A * HERITABILITY < 1 for A, _ in pairs])
    is_too_large = softmax(log_likelihood)[~is_possible].sum() > MOST_PROBABLE
    posterior = softmax(np.where(is_possible, log_likelihood, -np.inf))
    shares = np.zeros_like(p)
    for (A, w), probability in zip(pairs, posterior.tolist(), strict=True):
        if probability > NEGLIGIBLE:
            shares += probability * A * p / (A * (p + chances) + w)
    return shares, bool(is_too_large)


def with_public_scores(seen: GenomeEntries, genome: GenomeMap, names: Sequence[str]) -> GenomeEntries:
    """Return entries of phenotypes of which scores were subtracted as entries of these phenotypes.

    A score x'w of dosages has the effects D w of standardised ones, and B'w of the axes. The noise of entries
    stays as it is.
    """
    rows = score_rows(genome.scored, names)
    has_score = rows >= 0
    blocks, of_axes = iter(seen.blocks), seen.of_axes.copy()
    is_used, added = np.isfinite(seen.axis_noise), []
    for chromosome in genome.chromosomes:
        weights = chromosome.score_weights[rows] * (has_score[:, np.newaxis] * MAP_STEP)
        of_axes[:, is_used] += weights @ (chromosome.axis_effects[:, is_used] * DOSAGE_STEP)
        for block in chromosome.blocks:
            theta, entries = weights[:, block.columns] * block.deviations, next(blocks)
            added.append(replace(entries, entries=entries.entries + theta @ block.loadings))
    return replace(seen, blocks=tuple(added), of_axes=of_axes)
