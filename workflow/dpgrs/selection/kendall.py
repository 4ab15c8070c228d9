"""Kendall statistics of genotypes as exact integers (docs/explanation/screening.md).

A *score* sums a kernel over all pairs of rows, an integer in units of 1/range or 1/range^2. The range is
1 for haplotypes and 2 for people, of fractional dosages 2 alleles in steps (`range_of`).

- `bounded`, a genotype x against anything that has an order: (x_i - x_k)/range sign(y_i - y_k);
- `product`, two genotypes: (x_i - x_k) (z_i - z_k)/range^2.

The first is X'w with integer weights w_i = #{y_k < y_i} - #{y_k > y_i}, so all variants against all outcomes
are one matrix product. Features without a public range have the kernel `sign`: `dpgrs.selection.merge_sort`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from dpgrs.io.stored_genotypes import StoredGenotypes

# Integers up to here are exact, and so are sums of products of which no partial sum is larger, in any order.
LARGEST_EXACT = 2**53


def tied_runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort values, (n_rows,) float64, NaN if missing, and find equal ones.

    The first result, (n_known,) int64, are rows with a value in ascending order; the second, (n_runs + 1,)
    int64, where in it each run of equal values starts, and n_known.
    """
    n_known = len(values) - np.count_nonzero(np.isnan(values))
    order = np.argsort(values)[:n_known]  # NaN is sorted to the end
    ordered = values[order]
    is_new = np.ones(n_known, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return order, np.append(np.flatnonzero(is_new), n_known)


def rank_weights(Y: np.ndarray) -> np.ndarray:
    """Return how many rows have a smaller value less how many have a larger one: 2 midrank - n - 1.

    Outcomes are (n_outcomes, n_rows) float64, NaN if missing, or if a row is not to take part. Weights are
    int64 of this shape, 0 if missing; an outcome's weights add up to 0.

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


def range_of(genotypes: "np.ndarray | StoredGenotypes", *, rows: Rows | str) -> int:
    """Return the public range of a genotype in the integers that scores are made of."""
    if is_fractional(genotypes):
        return LARGEST_DOSAGE
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


def genotype_scores(
    genotypes: np.ndarray, weights: np.ndarray, *, n_haplotypes: int, rows: Rows | str
) -> np.ndarray:
    """Compare variants with outcomes, kernel `bounded`: (n_outcomes, n_variants) int64.

    Genotypes are bits, (n_variants, n_words) uint64, or dosages, (n_variants, n_rows) int16; weights are
    (n_outcomes, n_rows) int64 from `rank_weights`. Dosages of too many rows for exact sums are refused.
    """
    if is_fractional(genotypes):
        return _dosage_scores(genotypes, weights)
    from dpgrs.linalg._kernels import table_sums  # brings numba, which takes 0.3 s

    # Both haplotypes of a person have the weight: sum w (a1 + a2) is a sum over haplotypes.
    return table_sums(genotypes, weights if Rows(rows) == Rows.HAPLOTYPES else np.repeat(weights, 2, axis=1))


def scores_of_all(
    genotypes: "np.ndarray | StoredGenotypes",
    Y: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows | str,
    n_threads: int = 1,
) -> np.ndarray:
    """Compare variants with outcomes, kernel `bounded`, with one look at the genotypes.

    Outcomes are as in `rank_weights`, the result as in `genotype_scores`; the number of threads changes no
    score.
    """
    outcome_groups = list(outcome_parts(len(Y), n_haplotypes=n_haplotypes))
    # Below the number of rows, so that they take half the room of the outcomes.
    weights = [rank_weights(Y[group]).astype(np.int32) for group in outcome_groups]
    scores = np.empty((len(Y), len(genotypes)), dtype=np.int64)
    options = {"n_haplotypes": n_haplotypes, "rows": rows}
    for columns, block in variant_blocks(genotypes):
        for group, group_weights in zip(outcome_groups, weights, strict=True):
            compare = partial(genotype_scores, weights=group_weights.astype(np.int64), **options)
            scores[group, columns] = map_in_parts(compare, block, n_threads=n_threads)
    return scores


def _dosage_scores(genotypes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compare dosages with outcomes in float64.

    Positive weights add up to n^2/4 at most, negative ones to -n^2/4: no partial sum lies beyond that.
    """
    if weights.shape[1] ** 2 * LARGEST_DOSAGE > 4 * LARGEST_EXACT:
        raise UsageError(
            "sums-not-exact", "Sums over all rows must be at most 2^53 to be exact. Choose fewer rows."
        )
    weights, scores = weights.astype(np.float64), np.empty((len(weights), len(genotypes)), dtype=np.int64)
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, start + VARIANT_BLOCK)
        scores[:, block] = weights @ (genotypes[block] + np.int16(STEPS_PER_ALLELE)).T.astype(np.float64)
    return scores


def feature_scores(
    genotypes: "np.ndarray | StoredGenotypes",
    feature: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows | str,
    is_selected: np.ndarray | None = None,
) -> np.ndarray:
    """Compare variants with one variant, kernel `product`: a column of the centred Gram matrix.

    The one variant is (n_words,) uint64 or (n_rows,) int16. Selected are the rows with the outcome that
    features are chosen for; None takes all. The result is (n_variants,) int64.
    """
    compare = comparison_with([feature], n_haplotypes=n_haplotypes, rows=rows, are_selected=[is_selected])
    return np.concatenate([compare(block)[0] for _, block in variant_blocks(genotypes)])


def comparison_with(
    features: Sequence[np.ndarray] | np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows | str,
    are_selected: Sequence[np.ndarray | None],
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of some genotypes that returns their scores with each of some variants at once.

    The variants are as in `feature_scores`, one at least, and for each of them there are the selected rows.
    Of (n_variants, ...) genotypes the function returns (n_features, n_variants) int64.
    """
    from dpgrs.linalg._bit_counts import counts_within  # brings numba, which takes 0.3 s

    if is_fractional(features[0]):
        row_choices = [slice(None) if mask is None else mask for mask in are_selected]
        return lambda genotypes: np.array(
            [_dosage_products(genotypes, *pair) for pair in zip(features, row_choices, strict=True)]
        )
    options = {"n_haplotypes": n_haplotypes, "rows": rows}
    selected = np.array([pack(selected_haplotypes(mask, **options)) for mask in are_selected])
    features = np.array(features) & selected
    # Where nothing is missing all look at the same rows, so that how many carry a variant is counted once.
    row_sets, of_feature = np.unique(selected, axis=0, return_inverse=True)
    factors = [row_sets, features]
    if Rows(rows) == Rows.PEOPLE:
        # sum (a1 + a2)(b1 + b2): the two alleles of a person meet straight and crosswise.
        factors.append(phases_swapped(features))
    masks = np.concatenate(factors)
    n_rows, n_carried = (np.bitwise_count(bits).sum(axis=1, dtype=np.int64) for bits in (selected, features))
    n_rows //= len(factors) - 1

    def compare(genotypes: np.ndarray) -> np.ndarray:
        of_rows, joint = np.split(counts_within(genotypes, masks), [len(row_sets)])
        joint = joint.reshape(-1, *features.shape[:1], len(genotypes)).sum(axis=0)
        return n_rows[:, np.newaxis] * joint - n_carried[:, np.newaxis] * of_rows[of_feature]

    return compare


def _dosage_products(genotypes: np.ndarray, feature: np.ndarray, keep: np.ndarray | slice) -> np.ndarray:
    other = feature[keep].astype(np.float64)
    scores = np.empty(len(genotypes), dtype=np.int64)
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, start + VARIANT_BLOCK)
        dosages = genotypes[block][:, keep].astype(np.float64)
        # Entries are at most 2^12: integers below 2^53, exact in every order.
        joint, sums = (dosages @ other).astype(np.int64), dosages.sum(axis=1).astype(np.int64)
        scores[block] = len(other) * joint - int(other.sum()) * sums
    return scores


def correlations(scores: np.ndarray, n_rows: int | np.ndarray, *, pair_range: int) -> np.ndarray:
    """Return Kendall's correlation in the scale that has a bounded sensitivity, tau^ = S/(n - 1).

    It is for reading and plotting: a mechanism compares the integers. Rows are those with the outcome, an int
    or (n_outcomes, 1); `pair_range` is what one pair adds at most in the units of the scores: range, range^2,
    or 1 for `sign`. Values of the shape of the scores lie between -n/2 and n/2; 0 of fewer than two rows.
    """
    return scores / (pair_range * np.maximum(np.asarray(n_rows) - 1, 1))
