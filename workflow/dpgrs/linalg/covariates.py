"""Covariates as further columns of X: clipped by public constants, on the grid of clipped genotypes.

A standardised value z becomes x = b/B clip(z, -B, B), B the public bound and b = 1/2 where rows are
haplotypes and 1 where they are people, rounded towards zero onto `GENOTYPE_STEP`. Hence |x| <= b, and two
entries of a column differ at most as two entries of a variant do: docs/proofs/clipped_gram.md, "Covariates".
"""

from typing import Any

import numpy as np

from dpgrs.linalg.clipped_statistics import clipped_cross_product, clipped_gram
from dpgrs.linalg.coding import (
    CLIPPED_CROSS_STEP,
    CLIPPED_GRAM_STEP,
    CROSS_STEP,
    GENOTYPE_STEP,
    GRAM_STEP,
    entry_scale,
)
from dpgrs.linalg.statistics import cross_product
from dpgrs.types import Rows

# The unit of a product of a covariate with a genotype or the intercept, in half units of the latter.
CROSS_UNITS = round(GENOTYPE_STEP / 2 / CLIPPED_GRAM_STEP)


def covariate_units(
    Z: np.ndarray,  # (n_covariates, n_rows) float64, publicly standardised; NaN where missing
    *,
    bound: float,  # > 0, public, in standard deviations
    rows: Rows,  # what a row is
) -> np.ndarray:
    """Clip standardised covariates and round them towards zero onto the grid, each entry by itself.

    The result is (n_covariates, n_rows) int16 in units of `GENOTYPE_STEP`; 0, the public centre, where
    missing. It raises UsageError if the bound is not a finite number above 0.
    """
    scale = entry_scale(bound=bound, rows=rows)
    x = np.nan_to_num(np.clip(Z, -bound, bound)) * scale
    return np.trunc(x / GENOTYPE_STEP).astype(np.int16)


def fractional_statistics(
    dosages: np.ndarray,  # (n_variants, n_rows) int16, as from `dpgrs.io.variant_set.VariantSet.genotypes`
    *,
    covariates: np.ndarray | None,  # (n_covariates, n_rows) int16, as from `covariate_units`, or None
    # By number of variants, (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    Y: dict[int, np.ndarray],
    columns: dict[int, Any],  # of each number of variants, the indices of these
    is_selected: np.ndarray,  # (n_rows,) bool
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Sum the exact statistics of dosages, with covariates before the intercept.

    The result is `gram`, `cross`, as from `with_covariates`. It raises UsageError with more rows than
    `clipped_gram` can sum exactly.
    """
    covariate_rows = dosages[:0] if covariates is None else covariates
    X = np.vstack([dosages, covariate_rows])[:, is_selected].T
    last = len(dosages) + np.arange(len(covariate_rows))
    cross = {
        size: clipped_cross_product(X[:, np.append(columns[size], last)], values[:, is_selected])
        for size, values in Y.items()
    }
    return clipped_gram(X), cross


def with_covariates(
    gram: np.ndarray,  # (n_variants + 1, n_variants + 1) int64 in units of `GRAM_STEP`, the intercept last
    # By number of variants, (n_outcomes, size + 1) int64 in units of `CROSS_STEP`, likewise.
    cross: dict[int, np.ndarray],
    *,
    bits: np.ndarray,  # (n_variants, n_words) uint64
    covariates: np.ndarray,  # (n_covariates, n_rows) int16, as from `covariate_units`
    # By number of variants, (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    Y: dict[int, np.ndarray],
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray,
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Append covariates to the exact statistics of variants, before the intercept.

    `n_haplotypes`, `rows` and `is_selected`: as in `dpgrs.linalg.statistics.gram`, without None. The results
    are `gram`, (n_variants + n_covariates + 1,) * 2 int64 in units of `CLIPPED_GRAM_STEP`; `cross`, dict of
    number of variants to (n_outcomes, size + n_covariates + 1) int64 in units of `CLIPPED_CROSS_STEP`. It
    raises UsageError with more rows than `clipped_gram` can sum exactly.
    """
    chosen = covariates[:, is_selected]
    d, c = len(gram) - 1, len(chosen)
    options = {"n_haplotypes": n_haplotypes, "rows": rows, "is_selected": is_selected}
    # Of variants and the intercept, in half units of the genotypes.
    of_variants = cross_product(bits, covariates.astype(np.int64), **options) * CROSS_UNITS
    among = clipped_gram(chosen.T)[:-1, :-1]
    finer = gram * round(GRAM_STEP / CLIPPED_GRAM_STEP)
    joined = np.zeros((d + c + 1,) * 2, dtype=np.int64)
    first, covariate_entries = np.append(np.arange(d), d + c), np.arange(d, d + c)
    joined[np.ix_(first, first)] = finer
    joined[np.ix_(covariate_entries, covariate_entries)] = among
    joined[np.ix_(covariate_entries, first)], joined[np.ix_(first, covariate_entries)] = (
        of_variants,
        of_variants.T,
    )
    finer_cross = {}
    for size, sums in cross.items():
        coarse = sums * round(CROSS_STEP / CLIPPED_CROSS_STEP)
        of_covariates = clipped_cross_product(chosen.T, Y[size][:, is_selected])[:, :-1]
        finer_cross[size] = np.hstack([coarse[:, :-1], of_covariates, coarse[:, -1:]])
    return joined, finer_cross
