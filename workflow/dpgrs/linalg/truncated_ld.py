"""LD along the directions of a map with equal shares, so that tools for single variants can use its sums.

With L = Sigma^1/2 V of a block of such a map, and the entries c of `dpgrs.linalg.genome_prior`,

    r = L c = Sigma_K theta + N(0, Sigma_K/n_eff),    Sigma_K = LL',    1/n_eff = v/n + K tau/a^2,

for K directions of the genome and the attenuation a of its chromosome. These are the effects of single
standardised variants in a study of n_eff people whose LD is Sigma_K. The noise of a variant's effect is
noise_scale/n_eff, with noise_scale = (Sigma_K)_jj, and ld_score = (Sigma_K^2)_jj.
"""

from typing import NamedTuple

import numpy as np


class TruncatedLd(NamedTuple):
    """Sigma_K = U diag(e) U' of a block."""

    eigenvectors: np.ndarray  # (n_variants, n_directions) float32, U
    eigenvalues: np.ndarray  # (n_directions,) float64 > 0, ascending, e

    @property
    def noise_scale(self) -> np.ndarray:
        """The diagonal of Sigma_K, (n_variants,) float64."""
        return np.square(self.eigenvectors.astype(np.float64)) @ self.eigenvalues

    @property
    def ld_score(self) -> np.ndarray:
        """The diagonal of Sigma_K^2, (n_variants,) float64."""
        return np.square(self.eigenvectors.astype(np.float64)) @ np.square(self.eigenvalues)


def truncated_ld(loadings: np.ndarray) -> TruncatedLd:
    """Decompose LL' of (n_variants, n_directions) loadings L, whose columns are independent."""
    eigenvalues, W = np.linalg.eigh(loadings.T @ loadings)
    return TruncatedLd((loadings @ W / np.sqrt(eigenvalues)).astype(np.float32), eigenvalues)
