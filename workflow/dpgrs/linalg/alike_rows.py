"""Sums over rows of calls that take one factor: entries are b_j + s_j a_j, so that counts of bits tell them.

a_j are the ALT alleles of variant j, b_j the entry without one, rounded as `scale_rows` does, s_j what one
adds. A second one of people adds the same where nothing is rounded, which is where the factor is 1.
"""

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.linalg.statistics import phases_swapped
from dpgrs.types import Rows

LEAST = 256  # rows of one factor that counts of bits add up sooner than products do


def alike_rows(factors, *, rows):
    """Group rows by their factor.

    Parameters
    ----------
    factors : (n_rows,) float64, 0 where a row is not wanted.
    rows : Rows

    Returns
    -------
    list of (factor, (n_own,) int64 their rows), by factor; without small groups, and people who are shrunk.
    """
    order = np.argsort(factors, kind="stable")
    found, starts, counts = np.unique(factors[order], return_index=True, return_counts=True)
    least = 0 if Rows(rows) == Rows.HAPLOTYPES else 1
    return [
        (factor, order[start : start + n])
        for factor, start, n in zip(found.tolist(), starts, counts, strict=True)
        if factor > 0 and factor >= least and n >= LEAST
    ]


def add_alike_rows(genotypes, groups, values, Y, G, V, *, rows, intercept):
    """Add the sums over groups of rows.

    Parameters
    ----------
    genotypes : (n_variants, n_words) uint64
    groups : list, as from `alike_rows`.
    values : (n_variants, 2) int16, entries of a row that is not shrunk, without and with one ALT allele.
    Y : (n_outcomes, n_rows) int64, of all rows.
    G : (n_variants + 1,) * 2 int64, of which the upper triangle is added to; None where it is not wanted.
    V : (n_outcomes, n_variants + 1) int64
    rows : Rows
    intercept : int, the last entry of each row.
    """
    from dpgrs.linalg._bit_counts import joint_counts  # brings numba, which takes 0.3 s
    from dpgrs.linalg._kernels import add_counted, scale_rows, table_sums

    n_alleles, entries = 1 if Rows(rows) == Rows.HAPLOTYPES else 2, np.empty_like(values)
    for factor, own in groups:
        bits, _ = rows_alone(genotypes, own, rows=rows)
        scale_rows(values, np.arange(2), np.full(2, factor), entries)
        base = entries[:, 0].astype(np.int64)
        step = entries[:, 1] - base
        if G is not None:
            counts = joint_counts(bits)
            if n_alleles == 2:
                counts += joint_counts(bits, phases_swapped(bits))
            alleles = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
            add_counted(G, counts, alleles, base, step, len(own), intercept)
        if len(Y):
            y = Y[:, own]
            totals, of_alleles = y.sum(axis=1), table_sums(bits, np.repeat(y, n_alleles, axis=1))
            V[:, :-1] += np.multiply.outer(totals, base) + step * of_alleles
            V[:, -1] += intercept * totals


def rows_alone(genotypes, chosen, *, rows):
    """Return the genotypes of chosen rows alone, (n_variants, n_words) uint64, and of how many haplotypes."""
    from dpgrs.linalg._bit_counts import chosen_bits

    if Rows(rows) == Rows.PEOPLE:
        chosen = (2 * chosen[:, np.newaxis] + np.arange(2)).ravel()
    order = np.pad(chosen, (0, -len(chosen) % WORD_BITS), constant_values=-1)
    return chosen_bits(genotypes, order), len(chosen)
