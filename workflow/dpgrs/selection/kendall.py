"""Kendall statistics of genotypes as exact integers (docs/explanation/screening.md).

A *score* sums a kernel over all pairs of rows, an integer in units of 1/range or 1/range^2. The range is
1 for haplotypes and 2 for people, of fractional dosages 2 alleles in steps (`range_of`).

- `bounded`, a genotype x against anything that has an order: (x_i - x_k)/range sign(y_i - y_k);
- `product`, two genotypes: (x_i - x_k) (z_i - z_k)/range^2.

The first is X'w with integer weights w_i = #{y_k < y_i} - #{y_k > y_i}, so all variants against all outcomes
are one matrix product. Features without a public range have the kernel `sign`: `dpgrs.selection.merge_sort`.
"""

from functools import partial

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack, phases_swapped
from dpgrs.genotypes.blocks import map_in_parts, variant_blocks
from dpgrs.genotypes.dosages import LARGEST_DOSAGE, STEPS_PER_ALLELE
from dpgrs.linalg.statistics import (
    VARIANT_BLOCK,
    is_fractional,
    outcome_parts,
    selected_haplotypes,
)
from dpgrs.types import Rows

# Integers up to here are exact, and so are sums of products of which no partial sum is larger, in any order.
LARGEST_EXACT = 2**53


def tied_runs(values):
    """Sort values, and say which of them are equal.

    Parameters
    ----------
    values : (n_rows,) float64, NaN where missing.

    Returns
    -------
    order : (n_known,) int64, rows with a value in ascending order.
    starts : (n_runs + 1,) int64, where in `order` each run of equal values starts, and n_known.
    """
    n_known = len(values) - np.count_nonzero(np.isnan(values))
    order = np.argsort(values)[:n_known]  # NaN is sorted to the end
    ordered = values[order]
    is_new = np.ones(n_known, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return order, np.append(np.flatnonzero(is_new), n_known)


def rank_weights(Y):
    """Return how many rows have a smaller value less how many have a larger one: 2 midrank - n - 1.

    Parameters
    ----------
    Y : (n_outcomes, n_rows) float64; NaN where missing, or where a row is not to take part.

    Returns
    -------
    (n_outcomes, n_rows) int64, 0 where missing. An outcome's weights add up to 0.

    Examples
    --------
    >>> rank_weights(np.array([[0.5, 2.0, 0.5, np.nan]])).tolist()
    [[-1, 2, -1, 0]]
    """
    Y = np.asarray(Y, dtype=np.float64)
    weights = np.zeros(Y.shape, dtype=np.int64)
    for outcome, values in zip(weights, Y, strict=True):
        order, starts = tied_runs(values)
        runs = starts[:-1] + starts[1:] - len(order)
        outcome[order] = np.repeat(runs, np.diff(starts))
    return weights


def range_of(genotypes, *, rows):
    """Return the public range of a genotype in the integers that scores are made of, an int.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages.
    rows : Rows
    """
    if is_fractional(genotypes):
        return LARGEST_DOSAGE
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


def genotype_scores(genotypes, weights, *, n_haplotypes, rows):
    """Compare variants with outcomes, kernel `bounded`.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages.
    weights : (n_outcomes, n_rows) int64, as `rank_weights` gives.
    n_haplotypes : int
    rows : Rows

    Returns
    -------
    (n_outcomes, n_variants) int64

    Raises
    ------
    UsageError
        Of dosages, if range n_rows^2/4 is above `LARGEST_EXACT`.
    """
    if is_fractional(genotypes):
        return _dosage_scores(genotypes, weights)
    from dpgrs.linalg._kernels import table_sums  # brings numba, which takes 0.3 s

    # Both haplotypes of a person have the weight: sum w (a1 + a2) is a sum over haplotypes.
    return table_sums(genotypes, weights if Rows(rows) == Rows.HAPLOTYPES else np.repeat(weights, 2, axis=1))


def scores_of_all(genotypes, Y, *, n_haplotypes, rows, n_threads=1):
    """Compare variants with outcomes, kernel `bounded`, with one look at the genotypes.

    Parameters
    ----------
    genotypes : as in `genotype_scores`, or StoredGenotypes.
    Y : (n_outcomes, n_rows) float64, as in `rank_weights`.
    n_threads : int, at least 1; it changes no score.

    Returns
    -------
    (n_outcomes, n_variants) int64; errors as of `genotype_scores`.
    """
    parts = list(outcome_parts(len(Y), n_haplotypes=n_haplotypes))
    # Below the number of rows, so that they take half the room of the outcomes.
    weights = [rank_weights(Y[part]).astype(np.int32) for part in parts]
    scores = np.empty((len(Y), len(genotypes)), dtype=np.int64)
    options = {"n_haplotypes": n_haplotypes, "rows": rows}
    for columns, block in variant_blocks(genotypes):
        for part, own in zip(parts, weights, strict=True):
            compare = partial(genotype_scores, weights=own.astype(np.int64), **options)
            scores[part, columns] = map_in_parts(compare, block, n_threads=n_threads)
    return scores


def _dosage_scores(genotypes, weights):
    """Compare dosages with outcomes in float64.

    Positive weights add up to n^2/4 at most, negative ones to -n^2/4: no partial sum lies beyond that.
    """
    if weights.shape[1] ** 2 * LARGEST_DOSAGE > 4 * LARGEST_EXACT:
        raise UsageError("Sums over all rows must be at most 2^53 to be exact. Choose fewer rows.")
    weights, scores = weights.astype(np.float64), np.empty((len(weights), len(genotypes)), dtype=np.int64)
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, start + VARIANT_BLOCK)
        scores[:, block] = weights @ (genotypes[block] + np.int16(STEPS_PER_ALLELE)).T.astype(np.float64)
    return scores


def feature_scores(genotypes, feature, *, n_haplotypes, rows, is_selected=None):
    """Compare variants with one variant, kernel `product`: a column of the centred Gram matrix.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages, or StoredGenotypes.
    feature : (n_words,) uint64 or (n_rows,) int16, the one variant.
    n_haplotypes : int
    rows : Rows
    is_selected : (n_rows,) bool, rows that take part: those with the outcome that features are chosen for.
        None takes all.

    Returns
    -------
    (n_variants,) int64
    """
    compare = comparison_with([feature], n_haplotypes=n_haplotypes, rows=rows, are_selected=[is_selected])
    return np.concatenate([compare(block)[0] for _, block in variant_blocks(genotypes)])


def comparison_with(features, *, n_haplotypes, rows, are_selected):
    """Return a function of some genotypes that returns their scores with each of some variants at once.

    Parameters
    ----------
    features : sequence of (n_words,) uint64 or (n_rows,) int16, the variants, one at least.
    n_haplotypes, rows : as in `feature_scores`.
    are_selected : sequence, for each of them, of `is_selected` as in `feature_scores`.

    Returns
    -------
    function of (n_variants, ...) genotypes that returns (n_features, n_variants) int64.
    """
    from dpgrs.linalg._bit_counts import counts_within  # brings numba, which takes 0.3 s

    if is_fractional(features[0]):
        kept = [slice(None) if one is None else one for one in are_selected]
        return lambda genotypes: np.array(
            [_dosage_products(genotypes, *own) for own in zip(features, kept, strict=True)]
        )
    options = {"n_haplotypes": n_haplotypes, "rows": rows}
    selected = np.array([pack(selected_haplotypes(one, **options)) for one in are_selected])
    features = np.array(features) & selected
    # Where nothing is missing all look at the same rows, so that how many carry a variant is counted once.
    row_sets, of_feature = np.unique(selected, axis=0, return_inverse=True)
    factors = [row_sets, features]
    if Rows(rows) == Rows.PEOPLE:
        # sum (a1 + a2)(b1 + b2): the two alleles of a person meet straight and crosswise.
        factors.append(phases_swapped(features))
    masks = np.concatenate(factors)
    n_rows, n_carried = (np.bitwise_count(own).sum(axis=1, dtype=np.int64) for own in (selected, features))
    n_rows //= len(factors) - 1

    def compare(genotypes):
        of_rows, joint = np.split(counts_within(genotypes, masks), [len(row_sets)])
        joint = joint.reshape(-1, *features.shape[:1], len(genotypes)).sum(axis=0)
        return n_rows[:, np.newaxis] * joint - n_carried[:, np.newaxis] * of_rows[of_feature]

    return compare


def _dosage_products(genotypes, feature, keep):
    other = feature[keep].astype(np.float64)
    scores = np.empty(len(genotypes), dtype=np.int64)
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, start + VARIANT_BLOCK)
        own = genotypes[block][:, keep].astype(np.float64)
        # Entries are at most 2^12: integers below 2^53, exact in every order.
        joint, sums = (own @ other).astype(np.int64), own.sum(axis=1).astype(np.int64)
        scores[block] = len(other) * joint - int(other.sum()) * sums
    return scores


def correlations(scores, n_rows, *, pair_range):
    """Return Kendall's correlation in the scale that has a bounded sensitivity, tau^ = S/(n - 1).

    For reading and plotting: a mechanism compares the integers.

    Parameters
    ----------
    scores : (n_outcomes, n_variants) or (n_variants,) int64
    n_rows : int, or (n_outcomes, 1): rows that take part, those with the outcome.
    pair_range : int, what one pair adds at most in the units of the scores: range, range^2, or 1 for `sign`.

    Returns
    -------
    float64 of the shape of the scores, between -n/2 and n/2; 0 where fewer than two rows take part.
    """
    return scores / (pair_range * np.maximum(np.asarray(n_rows) - 1, 1))
