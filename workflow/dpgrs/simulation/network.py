"""Genetic values of a two-layer network: what a linear score cannot see all of."""

import math
from dataclasses import dataclass

import numpy as np

# Hidden values are on this grid, so that their weighted sums are exact in float64.
HIDDEN_STEP = 2.0**-20


@dataclass(frozen=True)
class GeneticValues:
    """The genetic values of one outcome.

    Attributes
    ----------
    values : (n_rows,) float64
    mean, sd : float, what centres and scales them.
    slopes : (n_variants,) float64, effects of the best linear fit, if what goes into units is normal.
    """

    values: np.ndarray
    mean: float
    sd: float
    slopes: np.ndarray


def network_values(X, *, inner, outer, public_moments=None):
    """Return f(x) = sum_k outer_k max(0, inner_k'(x - mean)), exact whatever the order of sums in BLAS.

    Parameters
    ----------
    X : (n_rows, n_variants) float64, `half` coding.
    inner : (width, n_variants) float64, on a grid on which every inner'x is exact.
    outer : (width,) float64, on a grid of 2^-10.
    public_moments : as in `simulate_outcomes`; mean and sd of f then follow as if what goes into units were
        normal, by the arc-cosine kernel [1]_.

    Returns
    -------
    GeneticValues

    References
    ----------
    .. [1] Cho, Saul (2009). Kernel methods for deep learning. NeurIPS. Its kernel of order 1.
    """
    entering = inner @ X.T
    # Without BLAS, in which a row's place in a block could change a last digit.
    centres = entering.mean(axis=1) if public_moments is None else (inner * public_moments[0]).sum(axis=1)
    hidden = _on_grid(np.maximum(entering - _on_grid(centres)[:, np.newaxis], 0))
    values = outer @ hidden
    assert values.shape == (len(X),)
    slopes = outer @ inner / 2  # Stein's lemma: a unit passes on half of the slope
    if public_moments is None:
        return GeneticValues(values, values.mean(), values.std(), slopes)
    covariance = np.einsum("kv,mv,v->km", inner, inner, public_moments[1])
    sds = np.sqrt(np.diag(covariance))
    mean = float((outer * sds).sum()) / math.sqrt(2 * math.pi)
    second = (np.outer(outer, outer) * _mean_products(covariance, sds)).sum()
    return GeneticValues(values, mean, math.sqrt(max(second - mean**2, 0.0)), slopes)


def _mean_products(covariance, sds):
    """Return E[max(0, z_k) max(0, z_m)] of normal z, (width, width)."""
    products = np.outer(sds, sds)
    cosine = np.divide(covariance, products, out=np.zeros_like(products), where=products > 0)
    angle = np.arccos(np.clip(cosine, -1, 1))
    return products * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / (2 * math.pi)


def _on_grid(values):
    return np.rint(values / HIDDEN_STEP) * HIDDEN_STEP
