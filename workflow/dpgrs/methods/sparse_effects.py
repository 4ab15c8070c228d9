"""Few strong effects: a prior of spike and slab beside the normal one of BLUP, if X'Y supports it.

In the notation of `dpgrs.methods.blup_model`, c_k = a_k u_k'theta + N(0, r_k), where r_k is the variance of
c_k but for its own effects': r_k = t2 (b_k - a_k^2) + (s2 + r - 1) a_k + s_A^2, at the h2 nearest to BLUP's.
Under BLUP's prior theta ~ N(0, t2 I). Here a variant has an effect with probability p, of variance s t2/p,
and else none; p and s lie on grids, all points alike. With Lambda = sum_k a_k^2/r_k u_k u_k' and
m = sum_k a_k/r_k c_k u_k, up to a constant,

    log p(c | theta) = m'theta - theta'Lambda theta/2.

Effects are drawn by turns, each given all others [1]_, and then p and s. The draws begin with the likelihood
to a small power, which rises to 1. This finds effects that go together, and the evidence [2]_: the
logarithm of the Bayes factor against normal effects, of the same s, is the integral over the power of how far
apart the mean log-likelihoods are. Those of normal effects are known in closed form.

A variant that is rarer among the public people than in the cohort passes for one of strong effect, and what
is then predicted may be worse than nothing. Therefore, few effects must be far more probable than a
mismatch of the public genotypes.

References
----------
.. [1] George, McCulloch (1993). Variable selection via Gibbs sampling. JASA 88(423).
.. [2] Gelman, Meng (1998). Simulating normalizing constants. Statistical Science 13(2).
"""

from typing import TYPE_CHECKING

import numba
import numpy as np
from scipy.special import expit, logsumexp, softmax

from dpgrs.methods.blup import NEGLIGIBLE, OutcomesSeen
from dpgrs.methods.blup_model import ratio_where
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from numpy.random import Generator

SEED = 0
# A larger share of causal variants is hard to tell from normal effects.
MOST_CAUSAL, N_CAUSAL = 0.1, 12
SCALES = np.array([0.25, 0.5, 1.0, 2.0])
POWERS = np.linspace(0.1, 1, 10) ** 3
SWEEPS, LAST_SWEEPS = 20, 300  # at each power below 1; at 1, where effects are read off
BURN_IN = 0.25  # of the sweeps at each power
SPARSE_SHARES = np.linspace(0, 1, 11)  # of the outcomes
# Against any mismatch: smaller, and much of the gain is lost; larger, and a wrong panel costs R^2.
PRIOR_ODDS = 0.001
# The most of an outcome's variance that a prior can explain unless the public genotypes mislead it. No
# outcome counts as having few effects if this share of those that seem to is misled.
MOST_EXPLAINED, MOST_MISLED = 0.85, 0.1


def sparse_effects(
    seen: OutcomesSeen,  # of public genotypes that fit the cohort
    slightly_off: OutcomesSeen,  # of the same with a mismatch
    *,
    log_rivals: float,  # the log-likelihood of normal effects and a mismatch
) -> tuple[np.ndarray, np.ndarray, float]:
    """Estimate effects under a prior of spike and slab, and how far to believe in them.

    The results are `weights`, (n_outcomes, n_variants) float64, posterior means; `shares`, (n_outcomes,)
    float64, the probability that the effects of each outcome are sparse and the public genotypes fit; 0 where
    it is negligible; `fits`, the probability that the public genotypes fit, and some effects are sparse. All
    are estimated by draws from a public seed, the same for every outcome.
    """
    weights, log_factors = spike_and_slab(seen, last_sweeps=LAST_SWEEPS)
    shares, log_pooled = posterior_of_sparse(log_factors)
    explained = (weights @ seen.spectrum.vectors) ** 2 @ seen.spectrum.first / seen.n
    explained = np.maximum(explained, seen.posterior @ seen.grid)
    is_sparse, is_too_much = shares > 0.5, explained > MOST_EXPLAINED
    is_misled = MOST_MISLED * max(is_sparse.sum(), 1) <= (is_sparse & is_too_much).sum()
    if is_misled or shares.max() <= NEGLIGIBLE:
        return weights, np.zeros_like(shares), 0.0
    _, log_other = posterior_of_sparse(spike_and_slab(slightly_off, last_sweeps=SWEEPS)[1])
    log_rivals = np.logaddexp(log_rivals, slightly_off.evidence + log_other)
    fits = float(expit(np.log(PRIOR_ODDS) + seen.evidence + log_pooled - log_rivals))
    shares *= fits
    return weights, np.where((shares > NEGLIGIBLE) & ~is_too_much, shares, 0), fits


def spike_and_slab(seen: OutcomesSeen, *, last_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of `sparse_effects`, and the logarithms of Bayes factors, (n_outcomes,) float64."""
    U, n_variants = seen.spectrum.vectors, len(seen.spectrum.vectors)
    causal = np.geomspace(min(MOST_CAUSAL, 1 / n_variants), MOST_CAUSAL, N_CAUSAL)
    h2_index = np.abs(seen.grid - (seen.posterior @ seen.grid)[:, np.newaxis]).argmin(axis=1)
    weights, log_factors = np.empty_like(seen.entries), np.empty(len(h2_index))
    for alike in seen.alike:
        prior = seen.prior(alike)
        for h2 in np.unique(h2_index[alike.own]):
            effect = prior.effect[h2]
            gain = prior.signal[:, h2] / effect
            residual_variance = prior.variance[:, h2] - effect * gain**2
            slope = ratio_where(gain, residual_variance, where=prior.is_informative & (residual_variance > 0))
            curvature = gain * slope
            # Unreleased directions show nothing: with many variants, these are most directions.
            is_shown = curvature > 0
            root = U[:, is_shown]
            root *= np.sqrt(curvature[is_shown])
            precision = root @ root.T
            del root  # as large as U where all tell
            for outcome in np.flatnonzero(alike.own & (h2_index == h2)):
                score, rng = slope * seen.entries[outcome], generator(SEED, "sparse effects")
                grids = (causal, SCALES, POWERS, SWEEPS, last_sweeps, BURN_IN)
                weights[outcome], likelihood = _sample(precision, U @ score, effect, *grids, rng)
                excess = likelihood - _normal_likelihood(curvature, score, effect)
                log_factors[outcome] = np.trapezoid(np.append(0, excess), np.append(0, POWERS))
            del precision  # before the next, as large, is made
    return weights, log_factors


def posterior_of_sparse(
    log_factors: np.ndarray,  # (n_outcomes,) float64, logarithms of Bayes factors
) -> tuple[np.ndarray, float]:
    """Average over how many outcomes have sparse effects: a share of 0, 0.1, ... or 1, all alike at first.

    The result is (n_outcomes,) float64, the probability that each has; and the logarithm of their joint Bayes
    factor.
    """
    share = SPARSE_SHARES[:, np.newaxis]
    with np.errstate(divide="ignore"):
        sparse, normal = np.log(share) + log_factors, np.log(1 - share) + np.zeros_like(log_factors)
    joint = np.logaddexp(sparse, normal).sum(axis=1)
    log_total = logsumexp(joint)
    return np.exp(joint - log_total) @ expit(sparse - normal), log_total - np.log(len(share))


def _normal_likelihood(curvature: np.ndarray, score: np.ndarray, effect: float) -> np.ndarray:
    """Return the mean log-likelihoods under the normal prior at every power, (n_powers,) float64."""
    variance, power = (SCALES * effect)[:, np.newaxis, np.newaxis], POWERS[:, np.newaxis]
    precision = power * curvature + 1 / variance
    evidence = (power * score) ** 2 / precision - np.log(variance * precision)
    mean = power * score**2 / precision
    mean -= ((power * score / precision) ** 2 + 1 / precision) * curvature / 2
    return (softmax(evidence.sum(axis=-1) / 2, axis=0) * mean.sum(axis=-1)).sum(axis=0)


@numba.njit(nogil=True, cache=True)
def _sample(
    precision: np.ndarray,  # (n_variants, n_variants) float64, Lambda
    linear: np.ndarray,  # (n_variants,) float64, m
    effect: float,  # t2
    causal: np.ndarray,
    scales: np.ndarray,
    powers: np.ndarray,
    sweeps: int,
    last_sweeps: int,
    burn_in: float,  # in [0, 1), the share of them that is not counted
    rng: "Generator",
) -> tuple[np.ndarray, np.ndarray]:
    """Draw effects by turns.

    `causal`, `scales` and `powers`: float64, grids of p and s, and ascending powers of the likelihood, the
    last 1. `sweeps` and `last_sweeps`: at each power below 1, and at 1. The results are `means`,
    (n_variants,) float64, of the effects; `likelihood`, (n_powers,) float64, mean log-likelihoods.
    """
    n_variants, n_scales = len(linear), len(scales)
    theta, residual = np.zeros(n_variants), linear.copy()  # m - Lambda theta
    means, likelihood = np.zeros(n_variants), np.zeros(len(powers))
    log_prior = np.empty(len(causal) * n_scales)
    p, variance = causal[len(causal) // 2], effect / causal[len(causal) // 2]
    for step, power in enumerate(powers):
        n_sweeps = last_sweeps if step == len(powers) - 1 else sweeps
        first = int(burn_in * n_sweeps)
        for sweep in range(n_sweeps):
            odds = p / (1 - p)
            n_causal, squares, log_likelihood = 0, 0.0, 0.0
            for i in range(n_variants):
                effect_precision = power * precision[i, i] + 1 / variance
                pull = power * (residual[i] + precision[i, i] * theta[i])
                mean = pull / effect_precision
                chance = odds / (odds + np.sqrt(variance * effect_precision) * np.exp(-pull * mean / 2))
                if step == len(powers) - 1 and sweep >= first:
                    means[i] += chance * mean
                new_effect = 0.0
                if rng.random() < chance:
                    new_effect = mean + rng.standard_normal() / np.sqrt(effect_precision)
                if new_effect != theta[i]:
                    change = new_effect - theta[i]
                    for k in range(n_variants):
                        residual[k] -= precision[i, k] * change
                    theta[i] = new_effect
            for i in range(n_variants):
                if theta[i] != 0:
                    n_causal += 1
                    squares += theta[i] ** 2
                    log_likelihood += theta[i] * (linear[i] + residual[i]) / 2
            if sweep >= first:
                likelihood[step] += log_likelihood / (n_sweeps - first)
            for grid_index in range(len(log_prior)):
                p = causal[grid_index // n_scales]
                variance = scales[grid_index % n_scales] * effect / p
                log_prior[grid_index] = n_causal * np.log(p) + (n_variants - n_causal) * np.log(1 - p)
                log_prior[grid_index] -= (n_causal * np.log(variance) + squares / variance) / 2
            shares = np.cumsum(np.exp(log_prior - log_prior.max()))
            grid_index = np.searchsorted(shares, rng.random() * shares[-1], side="right")
            p = causal[grid_index // n_scales]
            variance = scales[grid_index % n_scales] * effect / p
    return means / (last_sweeps - int(burn_in * last_sweeps)), likelihood
