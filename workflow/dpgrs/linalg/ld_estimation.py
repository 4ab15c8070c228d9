"""Estimates of linkage disequilibrium from public rows."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.linalg import svd
from scipy.sparse.linalg import eigsh, svds

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
    _, values, axes = svds(rows, k=n_components, v0=_start(min(rows.shape)))
    order = np.argsort(-values)
    return axes[order] * values[order, np.newaxis] / np.sqrt(len(rows))


def wide_axes(
    products: np.ndarray,  # (n_rows, n_rows) float64, of rows with each other
    blocks: Iterable[np.ndarray],  # (n_rows, n_block) float64, the rows a block of variants at a time
    n_components: int,  # >= 1
) -> np.ndarray:
    """Return what `principal_axes` gives of more variants than rows, in less memory; signs may differ."""
    _, vectors = eigsh(products, k=n_components, v0=_start(len(products)))
    vectors, _ = np.linalg.qr(vectors)
    U, values, _ = svd(np.concatenate([block.T @ vectors for block in blocks]), full_matrices=False)
    # An axis has no sign: its largest entry is positive, on any machine.
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(n_components)])
    return (U * signs * values).T / np.sqrt(len(products))


def _start(size: int) -> np.ndarray:
    # A start of its own, as a random one would differ from run to run; not ones, as centred columns sum to 0.
    return np.cos(np.arange(size))


def best_number(
    rows: np.ndarray,  # (n_rows, n_variants) float64, centred
    blocks: list[slice],  # the variants of each block
    *,
    rows_per_person: int,
) -> int:
    """Return how many components of half of the people come nearest to the others, between blocks."""
    is_even = np.arange(len(rows)) // rows_per_person % 2 == 0
    half, other_half = rows[is_even], rows[~is_even]
    most = most_components(*half.shape)
    if most < 1 or not len(other_half):
        return 0
    L = principal_axes(half, most)
    return nearest_number((other_half[:, columns], L[:, columns]) for columns in blocks)


def most_components(n_rows: int, n_variants: int) -> int:
    """Return how many components of so many rows are compared at most."""
    return min(MOST_COMPONENTS, n_rows - 1, n_variants - 1)


def nearest_number(blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> int:
    """Return how many components come nearest to the products of rows, between blocks.

    Each block is (n_rows, n_block) rows and (n_components, n_block) axes L of other rows. The squared
    distance of L'L to the products is, but for a constant, |L'L|^2 less twice their inner product, each
    without what is within blocks.
    """
    scores, products, overlap, squares = 0.0, 0.0, 0.0, 0.0
    for rows, L in blocks:
        block_scores, block_products = rows @ L.T, L @ L.T
        scores, products = scores + block_scores, products + block_products
        overlap, squares = overlap - (block_scores**2).sum(axis=0), squares - block_products**2
    overlap, squares = overlap + (scores**2).sum(axis=0), squares + products**2
    numbers = range(len(overlap) + 1)
    loss = [squares[:k, :k].sum() - 2 * overlap[:k].sum() / len(scores) for k in numbers]
    return int(np.argmin(loss))


def _products(rows: np.ndarray, starts: np.ndarray) -> Iterator[np.ndarray]:
    for block_rows in np.split(rows, starts[1:], axis=1):
        yield block_rows.T @ block_rows / len(rows)
