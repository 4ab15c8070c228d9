"""Public effects as the mean of BLUP's prior: scores of the same or related traits, as far as they tell.

In the notation of `dpgrs.methods.blup_model`, with p the effects of a public file, on a scale on which they
explain a variance of 1, p'Gp = n, and r the genetic correlation of an outcome with that score,

    theta ~ N(r sqrt(h2) p, (1 - r^2) t2 I),
    c_k ~ N(r sqrt(h2) f_k, t2 (b_k - r^2 a_k^2) + s2 a_k + s_A^2) given h2 and r,  f_k = a_k u_k'p.

h2 is that of all effects: p explains its part r^2. p is known, but G is not: what its noise hides of u_k'Gp
has the mean 0 and, as that of other effects, the variance b_k - a_k^2, so that f_k is the mean of u_k'Gp, and
the variance of c_k loses only r^2 t2 a_k^2. p'Gp is sum a_k (u_k'p)^2.

Effects of one variant at a time, m, are no theta: v = diag(G) m is about Gp, with noise like q a_k. Then
u_k'p and f_k are a_k and b_k times u_k'v/(b_k + q a_k), on the scale on which f has the length that it is
expected to have, with each of `PENALTIES` times the mean of a_k for q, as if it were a file of its own. That
takes a G without noise, of public genotypes: errors of u_k and of v are the same otherwise.

r lies on a grid. An outcome has no correlation, or one of a law that all outcomes share: any, or normal
about one value. All outcomes together show the share that has one and its law, as they show h2; that
none has any has the prior probability `NONE`. Of several files an outcome follows one; all
are alike before, and averaged over.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from dpgrs.methods.blup_model import beta_priors, ratio_where

if TYPE_CHECKING:
    from dpgrs.methods.blup import OutcomesSeen

SIZES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.98)
CORRELATIONS = np.array([*(-size for size in reversed(SIZES)), 0.0, *SIZES])
# Useless files should cost nothing, even for one outcome (docs/explanation/public_effects.md).
NONE = 0.8
SHARES, SPREADS = (0.1, 0.5, 0.95), (0.07, 0.2)
PENALTIES = (0.03, 0.3, 3.0, 30.0)
NEGLIGIBLE = 1e-6
BLOCK = 64  # outcomes at a time, to bound memory


@dataclass(frozen=True)
class PublicEffects:
    """The effects on outcomes in public files."""

    # (n_files, n_variants) float64, per copy of ALT, 0 where a file has none; each of any scale.
    values: np.ndarray
    # (n_files,) bool, whether they are of one variant at a time, as those of summary statistics.
    is_marginal: np.ndarray
    is_for: np.ndarray  # (n_outcomes, n_files) bool, which outcomes may follow a file
    names: tuple[str, ...] = ()  # of the outcomes; a map names the ones whose public score it subtracts


@dataclass(frozen=True)
class Told:
    """The effects of files in the eigenbasis, row 0 none, and the rows that each outcome may follow."""

    effects: np.ndarray  # (n_told, n_variants) float64, u_k'p
    products: np.ndarray  # (n_told, n_variants) float64, f_k
    outcome: np.ndarray  # (n_pairs,) int64, ascending; every outcome is there
    row: np.ndarray  # (n_pairs,) int64, the row that the outcome of the pair may follow


def informed_fit(seen: "OutcomesSeen") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate effects with public effects as their prior mean, from OutcomesSeen with PublicEffects.

    The results are weights, (n_outcomes, n_variants), and of each outcome the heritability and the mean
    genetic correlation with the public effects.
    """
    file_effects = read_files(seen)
    log_likelihoods = _log_likelihoods(seen, file_effects)
    starts = np.flatnonzero(np.diff(file_effects.outcome, prepend=-1))
    n_rows = np.diff(starts, append=len(log_likelihoods))
    together = np.logaddexp.reduceat(log_likelihoods, starts, axis=0)
    posterior = _posterior(together - np.log(n_rows)[:, np.newaxis, np.newaxis], seen.grid)
    together[np.isneginf(together)] = 0.0
    of_pairs = posterior[file_effects.outcome] * np.exp(log_likelihoods - together[file_effects.outcome])
    weights = _effects(seen, file_effects, of_pairs) @ seen.spectrum.vectors.T
    return weights, posterior.sum(axis=2) @ seen.grid, posterior.sum(axis=1) @ CORRELATIONS


def read_files(
    outcomes: "OutcomesSeen",  # as in `informed_fit`
) -> Told:
    """Return the effects of files in the eigenbasis."""
    effects, U, a = outcomes.effects, outcomes.spectrum.vectors, outcomes.spectrum.first
    values = np.zeros((len(effects.values), len(a)))  # 0 for covariates, which no file has
    values[:, : effects.values.shape[1]] = effects.values
    rows, files = [np.zeros((2, len(a)))], []
    for number, (file_values, is_marginal) in enumerate(zip(values, effects.is_marginal, strict=True)):
        file_rows = (
            _of_marginal(file_values, outcomes) if is_marginal else [_scaled(file_values @ U, outcomes)]
        )
        rows, files = rows + file_rows, files + [number] * len(file_rows)
    P, F = np.stack(rows, axis=1)
    may_follow = np.zeros((len(outcomes.entries), len(rows)), dtype=bool)
    may_follow[:, 1:] = effects.is_for[:, files] & F[1:].any(axis=1)
    may_follow[:, 0] = ~may_follow.any(axis=1)
    return Told(P, F, *np.nonzero(may_follow))


def _scaled(P: np.ndarray, outcomes: "OutcomesSeen") -> np.ndarray:
    """Return u_k'p and f_k of joint effects."""
    a = outcomes.spectrum.first
    P = P / (np.sqrt(P**2 @ a / outcomes.n) or 1.0)
    return np.array([P, a * P])


def _of_marginal(effects: np.ndarray, outcomes: "OutcomesSeen") -> list[np.ndarray]:
    """Return u_k'p and f_k of effects of one variant at a time, for each penalty."""
    U, a, b = outcomes.spectrum.vectors, outcomes.spectrum.first, outcomes.spectrum.second
    v, rows = (effects * (U**2 @ a)) @ U, []
    for penalty in PENALTIES:
        share = ratio_where(1.0, b + penalty * a.mean() * a, where=a > 0)
        expected = outcomes.n / outcomes.spectrum.trace * (b**2 * share).sum()
        size = np.sqrt(((b * share * v) ** 2).sum() / expected)
        rows.append(np.array([a, b]) * share * v / (size or 1.0))
    return rows


def _log_likelihoods(outcomes: "OutcomesSeen", file_effects: Told) -> np.ndarray:
    """Return the log-likelihood of every pair, (n_pairs, n_grid, n_correlations)."""
    C, F, root = outcomes.entries, file_effects.products, np.sqrt(outcomes.grid)
    log_likelihood = np.full((len(file_effects.row), len(root), len(CORRELATIONS)), -np.inf)
    for alike in outcomes.alike:
        is_alike = alike.own[file_effects.outcome]
        c, f = file_effects.outcome[is_alike], file_effects.row[is_alike]
        for size in (0.0, *SIZES):
            prior = outcomes.prior(alike, foretold=size**2)
            precision = ratio_where(1.0, prior.variance, where=prior.is_informative[:, np.newaxis])
            k, z = prior.mean_precision, prior.outcome_means(F)
            product = (C[c] * F[f]) @ precision - k * prior.outcome_means(C)[c] * z[f]
            square = (F**2 @ precision - k * z**2)[f]
            alone = prior.log_likelihood(C)[c]
            for r in (-size, size):
                slope, column = r * root, np.searchsorted(CORRELATIONS, r)
                log_likelihood[is_alike, :, column] = alone + slope * product - slope**2 * square / 2
    log_likelihood[np.ix_(file_effects.row == 0, np.full(len(root), True), CORRELATIONS != 0)] = -np.inf
    return log_likelihood


def _posterior(log_likelihood: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return the posterior of h2 and r, (n_outcomes, n_grid, n_correlations) float64, of sum 1."""
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=(1, 2), keepdims=True))
    of_grid, (laws, before) = beta_priors(tuple(grid)), correlation_laws()
    blocks = [slice(start, start + BLOCK) for start in range(0, len(likelihood), BLOCK)]

    def evidence(block: slice) -> np.ndarray:
        # A law without mass where an outcome's likelihood is above 0 must lose, not fail.
        return np.maximum(of_grid.T @ likelihood[block] @ laws.T, np.finfo(float).tiny)

    shares = softmax(np.log(before) + sum(np.log(evidence(block)).sum(axis=0) for block in blocks))
    for block in blocks:
        likelihood[block] *= of_grid @ (shares / evidence(block)) @ laws
    return likelihood / likelihood.sum(axis=(1, 2), keepdims=True)


@cache
def correlation_laws() -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of r that are averaged over, (n_laws, n_correlations), and their shares before."""
    laws, is_none = [(CORRELATIONS != 0) / (2 * len(SIZES))], (CORRELATIONS == 0).astype(float)
    for centre in CORRELATIONS:
        for spread in SPREADS:
            law = np.exp(-0.5 * ((CORRELATIONS - centre) / spread) ** 2)
            laws.append(law / law.sum())
    mixed = [share * law + (1 - share) * is_none for law in laws for share in SHARES]
    return np.array([is_none, *mixed]), np.r_[NONE, np.full(len(mixed), (1 - NONE) / len(mixed))]


def _effects(outcomes: "OutcomesSeen", file_effects: Told, posterior: np.ndarray) -> np.ndarray:
    """Return the mean of U'theta, (n_outcomes, n_variants), from the posterior of pairs, h2 and r."""
    C, P, F, root = outcomes.entries, file_effects.effects, file_effects.products, np.sqrt(outcomes.grid)
    effects = np.zeros_like(C)
    for alike in outcomes.alike:
        is_alike = alike.own[file_effects.outcome]
        c, f = file_effects.outcome[is_alike], file_effects.row[is_alike]
        for r, share in zip(CORRELATIONS, np.moveaxis(posterior[is_alike], 2, 0), strict=True):
            if share.max(initial=0) < NEGLIGIBLE:
                continue
            prior, slope = outcomes.prior(alike, foretold=r**2), share * r * root
            z = share * prior.outcome_means(C)[c] - slope * prior.outcome_means(F)[f]
            mean = (share @ prior.slope.T) * C[c] - (slope @ prior.slope.T) * F[f]
            mean += slope.sum(axis=1, keepdims=True) * P[f] - (z @ prior.slope.T) * prior.loading
            np.add.at(effects, c, mean)
    return effects
