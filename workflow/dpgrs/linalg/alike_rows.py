"""Sums over rows of calls that take one factor: entries are b_j + s_j a_j, so that counts of bits tell them.

a_j are the ALT alleles of variant j, b_j the entry without one, rounded as `scale_rows` does, s_j what one
adds. A second one of people adds the same where nothing is rounded, which is where the factor is 1.
"""

from collections.abc import Sequence

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.types import Rows

LEAST = 32  # rows of one factor that counts of bits add up sooner than products do
PIECE, TOGETHER = 2**13, 16  # rows of one factor, and groups, whose bits are copied at a time


def alike_rows(
    factors: np.ndarray,  # (n_rows,) float64, 0 where a row is not wanted
    *,
    rows: Rows,
) -> list[tuple[float, np.ndarray]]:
    """Group rows by their factor.

    The result is a list of (factor, (n_alike,) int64 their rows), by factor; without small groups, and people
    who are shrunk.
    """
    order = np.argsort(factors, kind="stable")
    distinct_factors, starts, counts = np.unique(factors[order], return_index=True, return_counts=True)
    least = 0 if Rows(rows) == Rows.HAPLOTYPES else 1
    return [
        (factor, order[start : start + n])
        for factor, start, n in zip(distinct_factors.tolist(), starts, counts, strict=True)
        if factor > 0 and factor >= least and n >= LEAST
    ]


def row_squares(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64
    values: np.ndarray,  # (n_variants, 2) int16, as in `add_alike_rows`
    *,
    rows: Rows,
) -> np.ndarray:
    """Return the squares of rows of calls that are not shrunk, exactly.

    The result is (n_rows,) int64, rows of all bits.
    """
    from dpgrs.linalg._bit_counts import row_weights

    base, step = values[:, 0].astype(np.int64), np.diff(values.astype(np.int64))[:, 0]
    first = step * (2 * base + step)
    squares = row_weights(genotypes, first)
    if Rows(rows) == Rows.PEOPLE:
        # (b + 2 s)^2 - b^2 is twice what one allele adds, and 2 s^2 more.
        both = row_weights(genotypes & genotypes >> np.uint64(1), 2 * step**2)
        squares = squares[::2] + squares[1::2] + both[::2]
    return squares + base @ base


def add_alike_rows(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64
    groups: Sequence[tuple[float, np.ndarray]],  # list, as from `alike_rows`
    # (n_variants, 2) int16, entries of a row that is not shrunk, without and with one ALT allele.
    values: np.ndarray,
    Y: np.ndarray,  # (n_outcomes, n_rows) int64, of all rows
    # (n_variants + 1,) * 2 int64, of which the upper triangle is added to; None where it is not wanted.
    G: np.ndarray,
    V: np.ndarray,  # (n_outcomes, n_variants + 1) int64
    *,
    rows: Rows,
    intercept: int,  # the last entry of each row
) -> None:
    """Add the sums over groups of rows."""
    from dpgrs.linalg._bit_counts import add_products_of_calls  # brings numba, which takes 0.3 s
    from dpgrs.linalg._kernels import scale_rows, table_sums

    n_alleles = 1 if Rows(rows) == Rows.HAPLOTYPES else 2
    pieces = [
        (factor, indices[first : first + PIECE])
        for factor, indices in groups
        for first in range(0, len(indices), PIECE)
    ]
    for first in range(0, len(pieces), TOGETHER):
        factors, chosen = zip(*pieces[first : first + TOGETHER], strict=True)
        entries = np.empty((len(values), 2 * len(factors)), dtype=values.dtype)
        scale_rows(values, np.tile([0, 1], len(factors)), np.repeat(factors, 2), entries)
        base = entries[:, ::2].T.astype(np.int64)
        step = entries[:, 1::2].T - base
        words, group = rows_apart(genotypes, chosen, rows=rows)
        if G is not None:
            n_rows = np.array([len(indices) for indices in chosen])
            add_products_of_calls(words, group, base, step, n_rows, intercept, G, rows=rows)
        for k, indices in enumerate(chosen if len(Y) else []):
            y = Y[:, indices]
            totals = y.sum(axis=1)
            of_alleles = table_sums(words[:, group == k], np.repeat(y, n_alleles, axis=1))
            V[:, :-1] += np.multiply.outer(totals, base[k]) + step[k] * of_alleles
            V[:, -1] += intercept * totals


def rows_apart(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64
    groups: Sequence[np.ndarray],  # sequence of (n_own,) int64, rows
    *,
    rows: Rows,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the genotypes of groups of rows, each from a new word on.

    The results are `words`, (n_variants, n_chosen_words) uint64, 0 behind the last row of a group; `group`,
    (n_chosen_words,) int64, the number of each word's group.
    """
    from dpgrs.linalg._bit_counts import chosen_bits

    orders = []
    for chosen in groups:
        if Rows(rows) == Rows.PEOPLE:
            chosen = (2 * chosen[:, np.newaxis] + np.arange(2)).ravel()
        orders.append(np.pad(chosen, (0, -len(chosen) % WORD_BITS), constant_values=-1))
    group = np.repeat(np.arange(len(orders)), [len(order) // WORD_BITS for order in orders])
    return chosen_bits(genotypes, np.concatenate(orders)), group
