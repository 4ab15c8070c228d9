"""Linkage disequilibrium as public genotypes show it, instead of a Gram matrix of the cohort's own.

The matrix of mean products of two columns is taken as it is within blocks of neighbouring variants. Beyond
them nothing but ancestry makes variants go together: there it is that of few principal components, as many as
predict the people who were left out best. All of it is public (docs/explanation/public_ld.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from dpgrs.linalg.denoising import NoisySpectrum

# Base pairs; linkage disequilibrium hardly reaches farther.
BLOCK_LENGTH = 2_000_000
MOST_COMPONENTS = 32


@dataclass(frozen=True)
class PublicLd:
    """Mean products of the columns of public rows."""

    starts: np.ndarray  # (n_blocks,) int64, the first variant of each block, 0 first
    blocks: tuple  # tuple of (n_block, n_block) float64 symmetric, for each block
    # (n_components, n_variants) float64, principal axes times the roots of their variances, from which
    # follows all between blocks.
    components: np.ndarray
    n_rows: int  # public rows

    @property
    def of_blocks(self) -> list[slice]:
        """The variants of each block, a list of slice."""
        ends = [*self.starts[1:].tolist(), self.components.shape[1]]
        return [slice(start, end) for start, end in zip(self.starts.tolist(), ends, strict=True)]

    def spectrum(
        self,
        n: float,  # > 0
    ) -> NoisySpectrum:
        """Decompose n times the matrix, as an estimate of X'X of n other rows of the same population.

        The result is whose `second` has what the chance of n rows adds to squares, a_k tr(G)/n, and as much
        again for that of the public rows, of which only the entries within blocks were estimated.
        """
        eigenvalues, U, of_public, trace = self._decomposed
        first = n * np.maximum(eigenvalues, 0)
        second = first**2 + first * trace + n**2 * of_public / self.n_rows
        return NoisySpectrum(n * eigenvalues, U, first, second, n * trace)

    @cached_property
    def correlation_root(self) -> np.ndarray:
        """A root F of the correlations, FF', of what is no less than 0: (n_variants, k) float64."""
        eigenvalues, U, *_ = self._decomposed
        rounding = len(eigenvalues) * np.finfo(float).eps * eigenvalues[-1]
        is_positive = eigenvalues > rounding
        F = U[:, is_positive] * np.sqrt(eigenvalues[is_positive])
        squares = np.sum(F * F, axis=1, keepdims=True)
        # A variant that does not vary goes with no other.
        return np.divide(F, np.sqrt(squares), out=np.zeros_like(F), where=squares > rounding)

    @cached_property
    def _decomposed(self) -> Any:
        """Eigenvalues, eigenvectors, what the chance of one public row adds to squares, and the trace."""
        if not any(block.any() for block in self.blocks):
            nothing = np.zeros(self.components.shape[1])
            return nothing, np.eye(len(nothing)), nothing, 0.0  # of a rehearsal, say
        G = self.components.T @ self.components
        for columns, block in zip(self.of_blocks, self.blocks, strict=True):
            G[columns, columns] = block
        # Symmetric, but LAPACK would copy what is in the order of rows.
        eigenvalues, U = eigh(G.T, overwrite_a=True)
        of_public = np.zeros_like(eigenvalues)
        for columns, block in zip(self.of_blocks, self.blocks, strict=True):
            of_public += np.trace(block) * ((block @ U[columns]) * U[columns]).sum(axis=0)
        trace = float(sum(np.trace(block) for block in self.blocks))
        return eigenvalues, U, np.maximum(of_public, 0), trace


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
