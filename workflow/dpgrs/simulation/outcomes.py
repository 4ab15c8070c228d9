"""Simulated outcomes: linear in the genotypes, with normal effects and normal noise."""

import numpy as np

from dpgrs.public_random import generator

# Effects on this grid make every x'theta exact in float64, so that no BLAS blocking can change an outcome.
EFFECT_STEP = 2.0**-20


def simulate_outcomes(
    X,
    *,
    row_id,
    variant_rank,
    n_outcomes,
    heritability,
    causal_share=1.0,
    public_moments=None,
    seed,
    key=(),
    first=0,
):
    """Simulate y = sqrt(h2) (x - mean)'theta / sd + sqrt(1 - h2) noise (docs/methods.md).

    Every outcome has its own random streams: it does not depend on how many outcomes are asked for, nor in
    which chunks. Effects are drawn in the order of `variant_rank`: a larger panel keeps the raw effects of
    the smaller one inside it, and the noise of a row, drawn by its name, is the same for all panels and
    whoever else is there. Without genetic variance (constant variants, or none causal) an outcome is
    standard normal noise.

    Parameters
    ----------
    X : (n_rows, n_variants) float64, `half` coding.
    row_id : (n_rows,) str, all different.
    variant_rank : (n_variants,) int, a permutation of 0, ..., n_variants - 1.
    n_outcomes : int
    heritability : float in [0, 1], h2: the share of variance that the genotypes explain.
    causal_share : float in [0, 1], probability that a variant has an effect.
    public_moments : ((n_variants,), (n_variants,)) float64, public means and variances of the columns of X,
        from which mean and sd of x'theta follow as if the columns were independent: an outcome then depends
        on its own row alone. None takes mean and sd over the rows given, so that each depends on all.
    seed : int, public.
    key : tuple of str and int, tells trials apart.
    first : int, number of the first outcome, for chunks.

    Returns
    -------
    Y : (n_outcomes, n_rows) float64 of variance about 1.
    effects : (n_outcomes, n_variants) float64, on the scale of Y: y = x'effects + constant + noise.
    """
    n_rows, n_variants = X.shape
    numbers = range(first, first + n_outcomes)
    theta = np.array([_raw_effects(n_variants, causal_share, seed, key, i)[variant_rank] for i in numbers])
    theta = theta.reshape(n_outcomes, n_variants)
    noise = _environment(row_id, range(first, first + n_outcomes), seed=seed, key=key)
    Y = np.empty((n_outcomes, n_rows))
    effects = np.empty((n_outcomes, n_variants))
    for i, values in enumerate(theta @ X.T):
        mean, sd = _moments(values, theta[i], public_moments)
        explained = heritability if sd > 0 else 0.0
        scale = np.sqrt(explained) / sd if sd > 0 else 0.0
        Y[i] = scale * (values - mean) + np.sqrt(1 - explained) * noise[i]
        effects[i] = scale * theta[i]
    return Y, effects


def _raw_effects(n_variants, causal_share, seed, key, outcome):
    """Draw the effects of an outcome, by rank: longer draws extend shorter ones."""
    theta = generator(seed, "effects", *key, outcome).standard_normal(n_variants)
    is_causal = generator(seed, "causal", *key, outcome).random(n_variants) < causal_share
    return np.rint(theta / EFFECT_STEP) * EFFECT_STEP * is_causal


def _environment(row_id, numbers, *, seed, key):
    """Draw the (n_outcomes, n_rows) noise: a stream for every row, in the order of the outcomes."""
    noise = np.empty((len(row_id), len(numbers)))
    for row, name in zip(noise, row_id, strict=True):
        row[:] = generator(seed, "environment", *key, str(name)).standard_normal(numbers.stop)[
            numbers.start :
        ]
    return noise.T


def _moments(values, theta, public_moments):
    """Return mean and sd of the genetic values of an outcome."""
    if public_moments is None:
        return values.mean(), values.std()
    means, variances = public_moments
    return means @ theta, np.sqrt(variances @ theta**2)
