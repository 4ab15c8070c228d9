"""Linkage disequilibrium as public genotypes show it, instead of a Gram matrix of the cohort's own.

The matrix of mean products of two columns is taken as it is within blocks of neighbouring variants. Beyond
them nothing but ancestry makes variants go together: there it is that of few principal components, as many as
predict the people who were left out best. All of it is public (docs/explanation/public_ld.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from dpgrs.linalg.denoising import NoisySpectrum


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
