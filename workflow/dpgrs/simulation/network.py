"""Genetic values of a two-layer network: what a linear score cannot see all of."""

import math

import numpy as np

# Hidden values are on this grid, so that their weighted sums are exact in float64.
HIDDEN_STEP = 2.0**-20


class Network:
    """Genetic values f(x) = sum_k outer_k max(0, inner_k'(x - mean)) of one outcome.

    `inner` is (width, n_variants) float64, on a grid on which every inner'x is exact; `outer` is (width,)
    float64, on a grid of 2^-10. `slopes`, (n_variants,) float64, are the effects of the best linear fit if
    the inputs of units are normal.
    """

    def __init__(self, inner: np.ndarray, outer: np.ndarray) -> None:
        self.inner, self.outer = inner, outer
        self.slopes = outer @ inner / 2  # Stein's lemma: a unit passes on half of the slope

    def values(self, entering: np.ndarray, *, centres: np.ndarray) -> np.ndarray:
        """Return f of rows, (n_rows,) float64, exact for any order of sums in BLAS.

        `entering`, (width, n_rows), is inner'x of each row; `centres`, (width,), are the means of inner'x.
        """
        values = self.outer @ _on_grid(np.maximum(entering - _on_grid(centres)[:, np.newaxis], 0))
        assert values.shape == entering.shape[1:]
        return values

    def public_terms(self, means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return centres, mean and sd of f as if the inputs of units were normal: the arc-cosine kernel of
        order 1.

        Means and variances are (n_variants,) float64, of columns that are independent. The kernel is that of
        Cho, Saul (2009), Kernel methods for deep learning, NeurIPS.
        """
        # Without BLAS, in which a row's place in a block could change a last digit.
        centres = (self.inner * means).sum(axis=1)
        covariance = np.einsum("kv,mv,v->km", self.inner, self.inner, variances)
        sds = np.sqrt(np.diag(covariance))
        mean = float((self.outer * sds).sum()) / math.sqrt(2 * math.pi)
        second = (np.outer(self.outer, self.outer) * _mean_products(covariance, sds)).sum()
        return centres, mean, math.sqrt(max(second - mean**2, 0.0))


def _mean_products(covariance: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Return E[max(0, z_k) max(0, z_m)] of normal z, (width, width)."""
    products = np.outer(sds, sds)
    cosine = np.divide(covariance, products, out=np.zeros_like(products), where=products > 0)
    angle = np.arccos(np.clip(cosine, -1, 1))
    return products * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / (2 * math.pi)


def _on_grid(values: np.ndarray) -> np.ndarray:
    return np.rint(values / HIDDEN_STEP) * HIDDEN_STEP
