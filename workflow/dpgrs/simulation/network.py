"""Genetic values of a two-layer network: what a linear score cannot see all of."""

import math

import numpy as np

# Hidden values are on this grid, so that their weighted sums are exact in float64.
HIDDEN_STEP = 2.0**-20


class Network:
    """Genetic values f(x) = sum_k outer_k max(0, inner_k'(x - mean)) of one outcome.

    Parameters
    ----------
    inner : (width, n_variants) float64, on a grid on which every inner'x is exact.
    outer : (width,) float64, on a grid of 2^-10.

    Attributes
    ----------
    slopes : (n_variants,) float64, effects of the best linear fit, if what goes into units is normal.
    """

    def __init__(self, inner, outer):
        self.inner, self.outer = inner, outer
        self.slopes = outer @ inner / 2  # Stein's lemma: a unit passes on half of the slope

    def values(self, entering, *, centres):
        """Return f of rows, exact whatever the order of sums in BLAS.

        Parameters
        ----------
        entering : (width, n_rows) float64, inner'x of each row.
        centres : (width,) float64, the means of inner'x.

        Returns
        -------
        (n_rows,) float64
        """
        values = self.outer @ _on_grid(np.maximum(entering - _on_grid(centres)[:, np.newaxis], 0))
        assert values.shape == entering.shape[1:]
        return values

    def public_terms(self, means, variances):
        """Return centres, mean and sd of f as if what enters units were normal: the arc-cosine kernel [1]_.

        Parameters
        ----------
        means, variances : (n_variants,) float64, of columns that are independent.

        References
        ----------
        .. [1] Cho, Saul (2009). Kernel methods for deep learning. NeurIPS. Its kernel of order 1.
        """
        # Without BLAS, in which a row's place in a block could change a last digit.
        centres = (self.inner * means).sum(axis=1)
        covariance = np.einsum("kv,mv,v->km", self.inner, self.inner, variances)
        sds = np.sqrt(np.diag(covariance))
        mean = float((self.outer * sds).sum()) / math.sqrt(2 * math.pi)
        second = (np.outer(self.outer, self.outer) * _mean_products(covariance, sds)).sum()
        return centres, mean, math.sqrt(max(second - mean**2, 0.0))


def _mean_products(covariance, sds):
    """Return E[max(0, z_k) max(0, z_m)] of normal z, (width, width)."""
    products = np.outer(sds, sds)
    cosine = np.divide(covariance, products, out=np.zeros_like(products), where=products > 0)
    angle = np.arccos(np.clip(cosine, -1, 1))
    return products * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / (2 * math.pi)


def _on_grid(values):
    return np.rint(values / HIDDEN_STEP) * HIDDEN_STEP
