"""Simulated outcomes: linear in the genotypes, or by a network, with normal noise, or cut to 0/1."""

import math
from statistics import NormalDist

import numpy as np

from dpgrs.public_random import generator
from dpgrs.simulation.network import GeneticValues, network_values

# Effects on this grid make every x'theta exact in float64, so that no BLAS blocking can change an outcome.
EFFECT_STEP = 2.0**-20
# Products of a factor and its loading are on it.
FACTOR_STEP = 2.0**-10


def simulate_outcomes(
    X,
    *,
    row_id,
    variant_rank,
    n_outcomes,
    heritability,
    causal_share=1.0,
    n_factors=None,
    width=None,
    prevalence=None,
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
    n_factors : int >= 1: effects of all outcomes are sums of so many normal ones, of the same causal
        variants, with normal loadings of each outcome's own; and so is the noise. None lets outcomes share
        nothing.
    width : int >= 1: in place of x'theta comes a network of the outcome's own with so many hidden units,
        rectified and normal (`dpgrs.simulation.network`); without factors and prevalence. None: x'theta.
    prevalence : float in (0, 1): y is 0/1, whether the above is beyond the normal quantile of this share, and
        standardised by it. None leaves y as it is.
    public_moments : ((n_variants,), (n_variants,)) float64, public means and variances of the columns of X,
        from which mean and sd of x'theta follow as if the columns were independent: an outcome then depends
        on its own row alone. None takes mean and sd over the rows given, so that each depends on all.
    seed : int, public.
    key : tuple of str and int, tells trials apart.
    first : int, number of the first outcome, for chunks.

    Returns
    -------
    Y : (n_outcomes, n_rows) float64 of variance about 1.
    effects : (n_outcomes, n_variants) float64, on the scale of Y: y = x'effects + constant + noise; of 0/1
        outcomes those of the best linear fit, if genetic values are normal, and of networks likewise.
    """
    n_rows, n_variants = X.shape
    numbers = range(first, first + n_outcomes)
    if width is not None:
        genetic = _networks(X, variant_rank, numbers, width, causal_share, public_moments, seed, key)
    elif n_factors is None:
        drawn = [_raw_effects(n_variants, causal_share, seed, key, i)[variant_rank] for i in numbers]
        genetic = _linear(X, np.array(drawn).reshape(n_outcomes, n_variants), public_moments)
    else:
        theta = _shared_effects(n_variants, numbers, n_factors, causal_share, seed, key)[:, variant_rank]
        genetic = _linear(X, theta, public_moments)
    if n_factors is None:
        noise = _environment(row_id, numbers, seed=seed, key=key)
    else:
        noise = _shared_environment(row_id, numbers, n_factors, seed, key)
    Y = np.empty((n_outcomes, n_rows))
    effects = np.empty((n_outcomes, n_variants))
    for i, found in enumerate(genetic):
        explained = heritability if found.sd > 0 else 0.0
        scale = np.sqrt(explained) / found.sd if found.sd > 0 else 0.0
        Y[i] = scale * (found.values - found.mean) + np.sqrt(1 - explained) * noise[i]
        effects[i] = scale * found.slopes
    return (Y, effects) if prevalence is None else _cut(Y, effects, prevalence)


def _cut(liability, effects, prevalence):
    """Return 0/1 outcomes, standardised, and their effects, by Stein's lemma."""
    normal, sd = NormalDist(), math.sqrt(prevalence * (1 - prevalence))
    threshold = -normal.inv_cdf(prevalence)
    return ((liability > threshold) - prevalence) / sd, normal.pdf(threshold) / sd * effects


def _linear(X, theta, public_moments):
    """Yield the GeneticValues x'theta of each outcome."""
    for values, effects in zip(theta @ X.T, theta, strict=True):
        mean, sd = _moments(values, effects, public_moments)
        yield GeneticValues(values, mean, sd, effects)


def _networks(X, variant_rank, numbers, width, causal_share, public_moments, seed, key):
    """Yield the GeneticValues of the network of each outcome, whose weights are drawn by rank."""
    n_variants = X.shape[1]
    for i in numbers:
        inner = _normals(n_variants, range(width), seed, "hidden units", *key, i)
        inner = (_on_effect_grid(inner) * _is_causal(n_variants, causal_share, seed, key, i))[:, variant_rank]
        outer = _loadings([i], width, seed, "hidden units", *key)[0]
        yield network_values(X, inner=inner, outer=outer, public_moments=public_moments)


def _raw_effects(n_variants, causal_share, seed, key, outcome):
    """Draw the effects of an outcome, by rank: longer draws extend shorter ones."""
    theta = generator(seed, "effects", *key, outcome).standard_normal(n_variants)
    return _on_effect_grid(theta) * _is_causal(n_variants, causal_share, seed, key, outcome)


def _is_causal(n_variants, causal_share, seed, key, outcome):
    return generator(seed, "causal", *key, outcome).random(n_variants) < causal_share


def _shared_effects(n_variants, numbers, n_factors, causal_share, seed, key):
    """Draw the (n_outcomes, n_variants) effects, by rank: exact products of loadings and factors."""
    factors = _normals(n_variants, range(n_factors), seed, "shared effects", *key)
    is_causal = generator(seed, "shared causal", *key).random(n_variants) < causal_share
    return _loadings(numbers, n_factors, seed, "effects", *key) @ (_on_grid(factors) * is_causal)


def _shared_environment(row_id, numbers, n_factors, seed, key):
    """Draw the (n_outcomes, n_rows) noise likewise, from a stream for every row."""
    factors = _normals(n_factors, [str(name) for name in row_id], seed, "shared environment", *key)
    loadings = _loadings(numbers, n_factors, seed, "environment", *key)
    return loadings @ _on_grid(factors).T / np.sqrt((loadings**2).sum(axis=1, keepdims=True))


def _loadings(numbers, n_factors, seed, *key):
    """Draw the (n_outcomes, n_factors) loadings, on the grid and none of them 0."""
    drawn = _normals(n_factors, numbers, seed, "loadings", *key)
    return np.copysign(np.ceil(np.abs(drawn) / FACTOR_STEP) * FACTOR_STEP, drawn)


def _normals(n, names, seed, *key):
    """Draw n standard normal numbers for each name, (n_names, n)."""
    drawn = [generator(seed, *key, name).standard_normal(n) for name in names]
    return np.array(drawn).reshape(len(names), n)


def _on_effect_grid(effects):
    return np.rint(effects / EFFECT_STEP) * EFFECT_STEP


def _on_grid(factors):
    return np.rint(factors / FACTOR_STEP) * FACTOR_STEP


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
