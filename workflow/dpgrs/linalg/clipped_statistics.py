"""Exact statistics in `frequency` coding, with rows clipped at a public norm (docs/proofs/clipped_gram.md).

A row holds t = x/GENOTYPE_STEP with x = a - p for haplotypes and x = a1 + a2 - 2 p for people, p a public
frequency on the grid, shrunk where the row is longer than its norm. The intercept column is the constant
x = 1/2, appended last.

A fit predicts from rows that are not clipped, and these differ from `half` coding by a public constant a
variant: once `column_moments(grid_frequency(frequency), rows=rows)[0]` is added to its means, it predicts the
same from `dpgrs.linalg.statistics.coded_rows`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.linalg.alike_rows import add_alike_rows, alike_rows, row_squares, rows_apart
from dpgrs.linalg.coding import GENOTYPE_STEP, column_moments, grid_frequency
from dpgrs.linalg.outcome_grid import HALF_BITS, LARGEST_OUTCOME, clip_norms, long_rows, longer, shrinking
from dpgrs.linalg.statistics import VARIANT_BLOCK, half_units, is_fractional
from dpgrs.types import Rows

HALF = 2**11  # x = 1/2 in grid steps, the intercept
LARGEST_GENOTYPE = 2**13  # x = 2 in grid steps

# Sums stay exact in int64 whatever the data: 2^23 rows of products up to 2^13 * 2^26 are at most 2^62. Within
# a block they are at most 2^51, so BLAS is exact in float64.
LARGEST_CLIPPED_ROWS = 2**23
ROW_BLOCK = 2**12
# Rows are shrunk by factors of few bits, so that many have the same one.
GRID = {"step": GENOTYPE_STEP, "factor_bits": 8}
CACHED_VARIANTS = 64  # in float64 at a time


def frequency_rows(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages
    frequency: np.ndarray,  # (n_variants,) ALT allele frequencies of a public panel
    *,
    row_norm: float,  # > 0, public bound on the norm of a row, without the intercept
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,  # (n_rows,) bool, the rows to return; None returns all
    # (n_covariates, n_rows) int16 in units of `GENOTYPE_STEP`, of all rows, as from
    # `dpgrs.linalg.covariates`; None where there are none.
    covariates: np.ndarray | None = None,
) -> np.ndarray:
    """Code, clip and round rows, each by itself.

    The result is (n_selected, n_variants + n_covariates) int16 in units of `GENOTYPE_STEP`, rounded towards
    zero where clipped; no row is longer than ``row_norm / GENOTYPE_STEP``. It raises UsageError if there is
    not one frequency a variant, or the norm is not a finite number above 0.
    """
    options = {"n_haplotypes": n_haplotypes, "rows": rows, "is_selected": is_selected}
    T = _frequency_units(genotypes, frequency, covariates=covariates, **options)
    clip_norms(T, norm=row_norm, **GRID)
    return T.T


def _frequency_units(
    genotypes: np.ndarray,
    frequency: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray,
    covariates: np.ndarray | None = None,
) -> np.ndarray:
    """Code rows without a clip, (n_variants + n_covariates, n_selected) int16."""
    keep = slice(None) if is_selected is None else is_selected
    frequency = grid_frequency(frequency)
    if frequency.shape != (len(genotypes),):
        raise UsageError(
            "frequency-array-length",
            f"There must be one public frequency a variant, got {frequency.size} for {len(genotypes)} "
            "variants. "
            "Take both from the same list of sites.",
        )
    means = _means(frequency, rows=rows).astype(np.int16)
    n_rows = n_haplotypes if Rows(rows) == Rows.HAPLOTYPES else n_haplotypes // 2
    n_selected = n_rows if is_selected is None else np.count_nonzero(is_selected)
    n_covariates = 0 if covariates is None else len(covariates)
    T = np.empty((len(genotypes) + n_covariates, n_selected), dtype=np.int16)
    if n_covariates:
        T[len(genotypes) :] = covariates[:, keep]
    for start in range(0, len(genotypes), VARIANT_BLOCK):
        block = slice(start, min(start + VARIANT_BLOCK, len(genotypes)))
        half = half_coded(genotypes[block], n_haplotypes=n_haplotypes, rows=rows, is_selected=is_selected)
        T[block] = half - means[block, np.newaxis]
    return T


def half_coded(genotypes: np.ndarray, *, is_selected: np.ndarray | None = None, **options: Any) -> np.ndarray:
    """Return rows in `half` coding, all or the selected: (n_variants, n_rows) int16 in `GENOTYPE_STEP`."""
    if is_fractional(genotypes):
        return genotypes if is_selected is None else genotypes[:, is_selected]
    return half_units(genotypes, is_selected=is_selected, **options) * np.int16(HALF)


def clipped_gram(
    # (n_rows, n_variants) int16 in units of `GENOTYPE_STEP`, as `frequency_rows` gives; covariates count as
    # variants, here and below.
    X: np.ndarray,
) -> np.ndarray | None:
    """Sum the outer products of rows with their intercept.

    The result is (n_variants + 1, n_variants + 1) int64 symmetric, in units of `CLIPPED_GRAM_STEP`, the
    intercept last. It raises UsageError with more than `LARGEST_CLIPPED_ROWS` rows or a genotype beyond
    `LARGEST_GENOTYPE`.
    """
    from dpgrs.linalg._kernels import mirror  # brings numba, which takes 0.3 s

    G = np.zeros((X.shape[1] + 1,) * 2, dtype=np.int64)
    _add_gram(X, G)
    mirror(G)
    return G


def _add_gram(X: np.ndarray, G: np.ndarray) -> None:
    """Add to the upper triangle of G."""
    from dpgrs.linalg._kernels import add_joint_products

    _check_exact(len(X), X)
    for start in range(0, len(X), ROW_BLOCK):
        add_joint_products(X[start : start + ROW_BLOCK].T, G)
    G[:-1, -1] += HALF * X.sum(axis=0, dtype=np.int64)
    G[-1, -1] += HALF**2 * len(X)


def clipped_cross_product(
    X: np.ndarray,  # (n_rows, n_variants) int16 in units of `GENOTYPE_STEP`, as `frequency_rows` gives
    # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, as `grid_outcomes` gives, of the same rows.
    Y: np.ndarray,
) -> np.ndarray:
    """Sum the products of outcomes and rows with their intercept.

    The result is (n_outcomes, n_variants + 1) int64 in units of `CLIPPED_CROSS_STEP`, the intercept last. It
    raises UsageError with more than `LARGEST_CLIPPED_ROWS` rows, or a genotype or an outcome beyond
    `LARGEST_GENOTYPE` or `LARGEST_OUTCOME`.
    """
    _check_exact(len(X), X, Y)
    V = np.zeros((len(Y), X.shape[1] + 1), dtype=np.int64)
    V[:, -1] = HALF * Y.sum(axis=1)
    for start in range(0, len(X) if len(Y) else 0, ROW_BLOCK):
        rows = slice(start, start + ROW_BLOCK)
        outcomes = Y[:, rows].astype(np.float64)
        for first in range(0, X.shape[1], CACHED_VARIANTS):
            columns = slice(first, min(first + CACHED_VARIANTS, X.shape[1]))
            V[:, columns] += (outcomes @ X[rows, columns].astype(np.float64)).astype(np.int64)
    return V


def clipped_statistics(
    genotypes: np.ndarray,
    frequency: np.ndarray,
    # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, as `grid_outcomes` gives, of all rows.
    Y: np.ndarray,
    *,
    row_norm: float,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    has_gram: bool = True,  # whether X'X is wanted; otherwise it is None
) -> tuple[np.ndarray, np.ndarray]:
    """Sum both statistics over the selected rows, a block of people at a time.

    `genotypes`, `frequency`, `row_norm`, `n_haplotypes`, `rows`, `is_selected` and `covariates`: as in
    `frequency_rows`. The result is `gram`, `cross`, as `clipped_gram` and `clipped_cross_product` give for
    all these rows together. It raises UsageError as `frequency_rows` and `clipped_cross_product`.
    """
    from dpgrs.linalg._kernels import mirror

    _check_exact(Y.shape[1], Y=Y)
    is_selected = np.ones(Y.shape[1], dtype=bool) if is_selected is None else is_selected
    size = len(genotypes) + (0 if covariates is None else len(covariates)) + 1
    G = np.zeros((size, size), dtype=np.int64) if has_gram else None
    V = np.zeros((len(Y), size), dtype=np.int64)
    row_options = {"n_haplotypes": n_haplotypes, "rows": rows, "covariates": covariates}
    if not is_fractional(genotypes) and covariates is None:
        factors = _factors(genotypes, frequency, row_norm=row_norm, is_selected=is_selected, rows=rows)
        groups = alike_rows(factors, rows=rows)
        if groups:
            values = _values_of_calls(frequency, rows=rows)
            add_alike_rows(genotypes, groups, values, Y, G, V, rows=rows, intercept=HALF)
            factors[np.concatenate([indices for _, indices in groups])] = 0
            remaining = np.flatnonzero(factors)
            genotypes, _ = rows_apart(genotypes, [remaining], rows=rows)
            row_options["n_haplotypes"] = len(remaining) * (1 if Rows(rows) == Rows.HAPLOTYPES else 2)
            Y, is_selected = Y[:, remaining], np.ones(len(remaining), dtype=bool)
    for block_genotypes, block, options in row_blocks(genotypes, is_selected, **row_options):
        X = frequency_rows(block_genotypes, frequency, row_norm=row_norm, **options)
        if has_gram:
            _add_gram(X, G)
        V += clipped_cross_product(X, Y[:, block][:, options["is_selected"]])
    if has_gram:
        mirror(G)
    return G, V


def _factors(
    bits: np.ndarray, frequency: np.ndarray, *, row_norm: float, is_selected: np.ndarray, rows: Rows
) -> np.ndarray:
    """Return the factors that shrink selected rows, (n_rows,) float64; 1 for short rows, 0 for other rows."""
    factors = is_selected.astype(np.float64)
    squares = row_squares(bits, _values_of_calls(frequency, rows=rows), rows=rows)[: len(factors)]
    is_long, length = longer(*divmod(squares, 2**HALF_BITS), norm=row_norm, step=GENOTYPE_STEP)
    factors[is_long] *= shrinking(length, norm=row_norm, **GRID)
    return factors


def _values_of_calls(frequency: np.ndarray, *, rows: Rows) -> np.ndarray:
    """Return entries of rows that are not shrunk, without and with one ALT allele, (n_variants, 2) int16."""
    halves = np.array([-1, 1] if Rows(rows) == Rows.HAPLOTYPES else [-2, 0])
    return (HALF * halves - _means(grid_frequency(frequency), rows=rows)[:, np.newaxis]).astype(np.int16)


def _means(frequency: np.ndarray, *, rows: Rows) -> np.ndarray:
    """Return what is taken from rows in `half` coding, in units of `GENOTYPE_STEP`, (n_variants,) int64."""
    return (column_moments(frequency, rows=rows)[0] / GENOTYPE_STEP).astype(np.int64)


def count_long_rows(
    genotypes: np.ndarray,
    frequency: np.ndarray,
    *,
    row_norm: float,
    n_haplotypes: int,
    rows: Rows,
    is_selected: np.ndarray,  # (n_rows,) bool
    covariates: np.ndarray | None = None,
) -> int:
    """Count the rows that `frequency_rows` shrinks: an exact number about the data, only for benchmarks.

    `genotypes`, `frequency`, `row_norm`, `n_haplotypes`, `rows` and `covariates`: as in `frequency_rows`.
    """
    count = 0
    row_options = {"n_haplotypes": n_haplotypes, "rows": rows, "covariates": covariates}
    for block_genotypes, _, options in row_blocks(genotypes, is_selected, **row_options):
        T = _frequency_units(block_genotypes, frequency, **options)
        count += int(long_rows(T, norm=row_norm, step=GENOTYPE_STEP)[0].sum())
    return count


def row_blocks(
    genotypes: np.ndarray,
    is_selected: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows,
    covariates: np.ndarray | None,
) -> Iterator[tuple[np.ndarray, slice, dict]]:
    """Yield the genotypes of a block of people, the slice of their rows, and the options of its coding."""
    n_alleles = 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    for first in range(0, n_haplotypes, ROW_BLOCK):
        last = min(first + ROW_BLOCK, n_haplotypes)
        block = slice(first // n_alleles, last // n_alleles)
        columns = block if is_fractional(genotypes) else slice(first // WORD_BITS, -(-last // WORD_BITS))
        options = {"n_haplotypes": last - first, "rows": rows, "is_selected": is_selected[block]}
        block_covariates = None if covariates is None else covariates[:, block]
        yield genotypes[:, columns], block, options | {"covariates": block_covariates}


def _check_exact(n_rows: int, X: np.ndarray | tuple = (), Y: np.ndarray | tuple = ()) -> None:
    is_small = _largest(X) <= LARGEST_GENOTYPE and _largest(Y) <= LARGEST_OUTCOME
    if n_rows > LARGEST_CLIPPED_ROWS or not is_small:
        raise UsageError(
            "sums-not-exact",
            f"Sums are exact for at most {LARGEST_CLIPPED_ROWS} rows of genotypes of at most "
            f"{LARGEST_GENOTYPE} and outcomes of at most {LARGEST_OUTCOME} grid steps. Put both onto their "
            "grids, and split the rows.",
        )


def _largest(entries: np.ndarray | tuple) -> int:
    """Return the largest absolute value; the absolute value of the least int16 does not fit into int16."""
    return max(int(np.max(entries, initial=0)), -int(np.min(entries, initial=0)))
