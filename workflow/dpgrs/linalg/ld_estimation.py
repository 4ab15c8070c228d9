"""Estimates of linkage disequilibrium from public rows."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse.linalg import svds

from dpgrs.linalg.public_ld import PublicLd

# Base pairs; linkage disequilibrium hardly reaches farther.
BLOCK_LENGTH = 2_000_000
MOST_COMPONENTS = 32


def public_ld(
    # (n_rows, n_variants) float64, centred at public frequencies and clipped as those of a cohort.
    rows: np.ndarray,
    *,
    contig: np.ndarray,  # (n_variants,), in genome order
    position: np.ndarray,  # (n_variants,), in genome order
    rows_per_person: int,  # of people one after the other
) -> PublicLd:
    """Estimate linkage disequilibrium from public rows."""
    starts, empty = block_starts(contig, position), np.empty((0, rows.shape[1]))
    without_components = PublicLd(starts, tuple(_products(rows, starts)), empty, len(rows))
    if len(starts) == 1:
        return without_components
    n_components = best_number(rows, without_components.of_blocks, rows_per_person=rows_per_person)
    return PublicLd(starts, without_components.blocks, principal_axes(rows, n_components), len(rows))


def block_starts(contig: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the first variant of every block, (n_blocks,) int64: none is longer than `BLOCK_LENGTH`."""
    starts = [0]
    for variant in range(1, len(position)):
        first = starts[-1]
        if contig[variant] != contig[first] or position[variant] - position[first] > BLOCK_LENGTH:
            starts.append(variant)
    return np.array(starts)


def principal_axes(rows: np.ndarray, n_components: int) -> np.ndarray:
    """Return principal axes times the roots of their variances, largest first: (n_components, n_variants)."""
    if n_components == 0 or not rows.any():
        return np.zeros((n_components, rows.shape[1]))
    # A start of its own, as a random one would differ from run to run; not ones, as centred columns sum to 0.
    _, values, axes = svds(rows, k=n_components, v0=np.cos(np.arange(min(rows.shape))))
    order = np.argsort(-values)
    return axes[order] * values[order, np.newaxis] / np.sqrt(len(rows))


def best_number(
    rows: np.ndarray,  # (n_rows, n_variants) float64, centred
    blocks: list[slice],  # the variants of each block
    *,
    rows_per_person: int,
) -> int:
    """Return how many components of half of the people come nearest to the others, between blocks.

    The squared distance of L'L to the products of the others is, but for a constant, |L'L|^2 less twice their
    inner product, each without what is within blocks.
    """
    is_even = np.arange(len(rows)) // rows_per_person % 2 == 0
    half, other_half = rows[is_even], rows[~is_even]
    most = min(MOST_COMPONENTS, *(size - 1 for size in half.shape))
    if most < 1 or not len(other_half):
        return 0
    L = principal_axes(half, most)
    overlap, squares = ((other_half @ L.T) ** 2).sum(axis=0), (L @ L.T) ** 2
    for columns in blocks:
        overlap -= ((other_half[:, columns] @ L[:, columns].T) ** 2).sum(axis=0)
        squares -= (L[:, columns] @ L[:, columns].T) ** 2
    numbers = range(most + 1)
    loss = [squares[:k, :k].sum() - 2 * overlap[:k].sum() / len(other_half) for k in numbers]
    return int(np.argmin(loss))


def _products(rows: np.ndarray, starts: np.ndarray) -> Iterator[np.ndarray]:
    for block_rows in np.split(rows, starts[1:], axis=1):
        yield block_rows.T @ block_rows / len(rows)
