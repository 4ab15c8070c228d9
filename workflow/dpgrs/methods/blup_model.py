"""The model of the noise-aware BLUP, in the eigenbasis of a noisy Gram matrix.

An outcome of public variance 1 [1]_: v~ = G theta + X'e + N(0, s_A^2 I), with theta ~ N(0, t2 I),
e ~ N(0, s2), h2 = t2 tr(G)/n and s2 = 1 - h2. G itself is seen through noise, G~ = G + E, E symmetric and
of standard deviation s_G. Let u_k be the eigenvectors of G~ and

    a_k = u_k'G u_k,  b_k = u_k'G^2 u_k,

which are estimated from the eigenvalues of G~ (`dpgrs.linalg.denoising`). Then c_k = u_k'v~ has the
variance t2 b_k + s2 a_k + s_A^2 and the covariance t2 a_k with u_k'theta, so that

    u_k'theta^ = slope_k c_k,   Var(u_k'theta | c) = t2 - t2 a_k slope_k,
    slope_k = t2 a_k / (t2 b_k + s2 a_k + s_A^2).

Columns of X that are not centred, of means m, add n m ybar to X'Y, with ybar ~ N(0, 1/n) the outcome's mean.
With D the diagonal matrix of the variances above and q = sqrt(n) U'm, c then has the covariance D + qq'. The
mean of z = sqrt(n) ybar is z^ = q'D^-1 c/k, k = 1 + q'D^-1 q. The formulas hold with c - q z^ for c, and
(slope q)(slope q)'/k, of the elementwise product, adds to the covariance.

For an outcome that is known on n/r random rows, v~ is X'Y times r. Row i then counts o_i r times, o_i = 1
where it is known and 0 elsewhere, of mean 1 and variance r - 1, so that beside e the rows that are lacking
add (r - 1) h2 a_k to the variance of c_k, and e r s2 a_k: together (s2 + r - 1) a_k. The noise is r s_A, and
the mean of the outcome has the variance r/n, so that q is sqrt(r) times as long.

For an outcome whose clip leaves a slope s of all effects (`dpgrs.linalg.attenuation`), v~ is X'Y over s,
and the noise is s_A/s. A clipped 0/1 outcome, over s, is the outcome itself up to a constant; a normal
one keeps its variance within a few percent.

h2 lies on a grid. Its prior is a Beta distribution of mean m and concentration c, cut into the cells of the
grid; (m, c) lie on a grid too, all points alike before the outcomes are seen, and are averaged over with

    p(m, c | c_1, c_2, ...) ~ prod over outcomes i of sum_h p(c_i | h) p(h | m, c).

Given h2 an effect is normal. Averaged over h2 it is a mixture, which is not: see `interval_scale`.

References
----------
.. [1] Bernstein, Sheldon (2019). Differentially private Bayesian linear regression. NeurIPS 32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, erfc, logsumexp, ndtri, softmax

from dpgrs.errors import UsageError

if TYPE_CHECKING:
    from dpgrs.linalg.denoising import NoisySpectrum

HERITABILITIES = np.r_[1e-3, np.arange(0.0125, 1.0, 0.025)]
# From outcomes that each have h2 near 0 or 1 to outcomes that share one h2; chosen by measurements.
CONCENTRATIONS = (0.25, 1.0, 4.0, 16.0, 64.0)
COVERAGE = 0.95


@dataclass(frozen=True)
class PriorMoments:
    """Moments of c_k and u_k'theta under each heritability."""

    effect: np.ndarray  # (n_grid,) float64, the variance t2 of an effect
    signal: np.ndarray  # (n_variants, n_grid) float64, the covariance of u_k'theta and c_k
    variance: np.ndarray  # (n_variants, n_grid) float64, the variance of c_k without the outcome's mean
    loading: np.ndarray  # (n_variants,) float64, what a mean of 1/sqrt(n) adds to c_k: q
    # (n_variants,) bool, False where c_k has neither signal nor noise, or was not released.
    is_informative: np.ndarray

    @cached_property
    def slope(self) -> np.ndarray:
        """The factor of c_k in the mean of u_k'theta, (n_variants, n_grid) float64."""
        return ratio_where(self.signal, self.variance, where=self.is_informative[:, np.newaxis])

    @cached_property
    def mean_precision(self) -> np.ndarray:
        """The precision of z given c, 1 over its variance: k, (n_grid,) float64."""
        return 1 + self.loading @ self._loading_by_variance

    @cached_property
    def mean_variance(self) -> np.ndarray:
        """The variance of an effect given c, averaged over variants, (n_grid,) float64."""
        variance_given_mean = np.maximum(self.effect - self.slope * self.signal, 0)
        of_mean = (self.slope * self.loading[:, np.newaxis]) ** 2 / self.mean_precision
        return (variance_given_mean + of_mean).mean(axis=0)

    def outcome_means(self, C: np.ndarray) -> np.ndarray:
        """Return the (n_outcomes, n_grid) means of z given the entries of (n_outcomes, n_variants) C."""
        return C @ self._loading_by_variance / self.mean_precision

    def log_likelihood(
        self,
        C: np.ndarray,  # (n_outcomes, n_variants), X'Y in the eigenbasis
    ) -> np.ndarray:
        """Return the log-likelihoods of every outcome under every heritability, up to a constant.

        The result is (n_outcomes, n_grid) float64.
        """
        usable, k = self.is_informative, self.mean_precision
        variance = self.variance[usable]
        of_mean = np.log(k) - k * self.outcome_means(C) ** 2
        return -0.5 * (np.log(variance).sum(axis=0) + C[:, usable] ** 2 @ (1 / variance) + of_mean)

    @cached_property
    def _loading_by_variance(self) -> np.ndarray:
        usable = self.is_informative[:, np.newaxis]
        return ratio_where(self.loading[:, np.newaxis], self.variance, where=usable)


def prior_moments(
    spectrum: "NoisySpectrum",  # whose trace is above 0
    n: float,  # > 0, number of rows
    *,
    # Float or (n_variants,) float64 >= 0, standard deviation of the noise of an entry of X'Y in the
    # eigenbasis; infinite where nothing was released.
    cross_sd: float | np.ndarray,
    # (n_variants,) column means of X, where X'Y is not of centred columns; None takes 0.
    means: np.ndarray | None = None,
    heritabilities: np.ndarray = HERITABILITIES,  # (n_grid,) float64, in (0, 1)
    inflation: float = 1.0,  # >= 1, by what X'Y and its noise were multiplied, since outcomes are missing
    slope: float = 1.0,  # in (0, 1], by what they were divided, since outcomes were clipped
    # In [0, 1), share of the variance of effects that public effects explain; the moments are of the
    # remaining variance (`dpgrs.methods.public_effects`).
    foretold: float = 0.0,
) -> PriorMoments:
    """Return the PriorMoments of the model in the eigenbasis of a noisy Gram matrix."""
    t2, s2 = heritabilities * n / spectrum.trace, 1 - heritabilities
    a, b = spectrum.first[:, np.newaxis], spectrum.second[:, np.newaxis]
    noise = (inflation / slope * np.reshape(cross_sd, (-1, 1))) ** 2
    variance = t2 * (b - foretold * a**2) + (s2 + (inflation - 1)) * a + noise
    assert variance.shape == (len(a), len(heritabilities))
    loading = np.zeros(len(a)) if means is None else np.sqrt(n * inflation) * (means @ spectrum.vectors)
    is_released = np.isfinite(variance[:, 0])
    largest = variance[is_released].max(initial=0)
    is_informative = is_released & (variance[:, 0] > np.finfo(float).eps * largest)
    t2 = (1 - foretold) * t2
    return PriorMoments(t2, t2 * a, variance, loading, is_informative)


@cache
def beta_priors(
    # Tuple of n_grid ascending values of h2 in (0, 1), which are also the means. Each has the mass of the
    # cell around it, which ends half way to the next.
    grid: tuple[float, ...],
) -> np.ndarray:
    """Return the priors of h2 that are averaged over: Beta(m c, (1 - m) c), of mean m and concentration c.

    The result is (n_grid, n_priors) float64, columns of sum 1, all above 0.
    """
    grid = np.array(grid)
    means, concentrations = (axis.ravel() for axis in np.meshgrid(grid, CONCENTRATIONS))
    ends = np.r_[0.0, (grid[1:] + grid[:-1]) / 2, 1.0]
    cumulative = betainc(means * concentrations, (1 - means) * concentrations, ends[:, np.newaxis])
    return np.maximum(np.diff(cumulative, axis=0), np.finfo(float).tiny)


def heritability_posterior(
    log_likelihood: np.ndarray,  # (n_outcomes, n_grid)
    priors: np.ndarray,  # (n_grid, n_priors) float64 > 0, of `beta_priors`
) -> np.ndarray:
    """Return each outcome's posterior of h2, averaged over priors weighted by the evidence of all outcomes.

    The result is (n_outcomes, n_grid) float64, of sum 1.
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    evidence = likelihood @ priors
    shares = softmax(np.log(evidence).sum(axis=0))
    return likelihood * (shares / evidence @ priors.T)


def log_evidence(log_likelihood: np.ndarray, priors: np.ndarray) -> float:
    """Return the log-likelihood of all outcomes, averaged over h2 and its priors; parameters as above."""
    largest = log_likelihood.max(axis=1, keepdims=True)
    of_outcomes = np.log(np.exp(log_likelihood - largest) @ priors) + largest
    return float(logsumexp(of_outcomes.sum(axis=0)))


def effect_moments(
    C: np.ndarray,  # (n_outcomes, n_variants), X'Y in the eigenbasis
    prior: PriorMoments,
    posterior: np.ndarray,  # (n_outcomes, n_grid), of `heritability_posterior`
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and variances of U'theta, averaged over the posterior of h2.

    The result is `means`, `variances`, (n_outcomes, n_variants) float64. The caller adds the variance from
    the unknown mean of an outcome, a matrix that is not diagonal.
    """
    slope, q, z = prior.slope, prior.loading, prior.outcome_means(C)
    squares = slope**2
    effects = (posterior @ slope.T) * C - (posterior * z) @ slope.T * q
    assert effects.shape == C.shape
    # Law of total variance: within a value of h2, and between values.
    within = posterior @ np.maximum(prior.effect - slope * prior.signal, 0).T
    square = posterior @ squares.T * C**2 - 2 * ((posterior * z) @ squares.T * C * q)
    square += (posterior * z**2) @ squares.T * q**2
    return effects, within + np.maximum(square - effects**2, 0)


def interval_scale(
    posterior: np.ndarray,  # (n_outcomes, n_grid), of `heritability_posterior`
    # (n_grid,) mean variance of an effect given h2 and the data: `PriorMoments.mean_variance`.
    given: np.ndarray,
    total: np.ndarray,  # (n_outcomes,) mean variance of an effect given the data
) -> np.ndarray:
    """Return by how much the 95 % interval of an outcome's effects is wider than 1.96 standard deviations.

    An effect is a mixture over h2 of normals. Where h2 is far from certain, a normal of the same variance is
    not wide enough: of outcomes with h2 near 0 or 0.8, and nothing to tell them apart, it covers 0.92. The
    half width x solves sum_h p(h) P(|N(0, v_h)| > x) = 0.05, v_h the variance of an effect given h, averaged
    over variants, plus the variance of its mean over h. The interval is never narrower than for the normal.

    The result is (n_outcomes,) float64 >= 1.
    """
    from scipy.optimize.elementwise import find_root  # takes 0.4 s, which most steps do without

    tiny = np.finfo(float).tiny
    between = np.maximum(total - posterior @ given, 0)
    scales = np.sqrt(2 * np.maximum(given + between[:, np.newaxis], tiny))

    def excess(x: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        return (posterior[outcome] * erfc(x[:, np.newaxis] / scales[outcome])).sum(axis=1) - (1 - COVERAGE)

    ends = np.zeros(len(scales)), 2 * scales.max(axis=1)
    width = find_root(excess, ends, args=(np.arange(len(scales)),)).x
    return np.maximum(width / (ndtri((1 + COVERAGE) / 2) * np.sqrt(np.maximum(total, tiny))), 1)


def require_terms(*, n: float, gram_sd: float, cross_sd: float, heritability: float | None = None) -> None:
    """Raise UsageError if a term of `fit_blup` is out of its domain; n may be private and is not shown."""
    for name, value in (("gram_sd", gram_sd), ("cross_sd", cross_sd)):
        if not 0 <= value < np.inf:
            raise UsageError(
                "model-term-negative",
                f"`{name}` must be a finite number >= 0, got {value}. Take it from the event of the release.",
            )
    if not 0 < n < np.inf:
        raise UsageError(
            "n-not-positive", "`n` must be a finite number above 0. Bound the released count from below by 1."
        )
    if heritability is not None and not 0 < heritability < 1:
        raise UsageError(
            "heritability-out-of-range",
            f"`heritability` must be between 0 and 1, got {heritability}. Leave it out to estimate it.",
        )


@dataclass(frozen=True)
class Alike:
    """Outcomes of the same inflation and slope."""

    own: np.ndarray  # (n_outcomes,) bool, True for these outcomes
    inflation: float
    slope: float

    @property
    def factor(self) -> float:
        """The factor of their X'Y, inflation over slope."""
        return self.inflation / self.slope


def outcomes_alike(
    inflation: np.ndarray | None,  # (n_outcomes,) float64, as in `dpgrs.methods.blup.fit_blup`, or None
    slopes: np.ndarray | None,  # (n_outcomes,) float64, as in `dpgrs.methods.blup.fit_blup`, or None
    n_outcomes: int,
) -> Iterator[Alike]:
    """Yield the Alike of outcomes of one slope; each outcome by itself where inflations are given.

    Inflations follow from noisy counts. If they grouped outcomes, the last bits of weights would depend on
    the draws of other outcomes, which may have budgets of their own.
    """
    slopes = np.ones(n_outcomes) if slopes is None else slopes
    if inflation is not None:
        for number, is_member in enumerate(np.eye(n_outcomes, dtype=bool)):
            yield Alike(is_member, float(inflation[number]), float(slopes[number]))
        return
    for slope in np.unique(slopes):
        yield Alike(slopes == slope, 1.0, float(slope))


def ratio_where(numerator: float | np.ndarray, denominator: np.ndarray, *, where: np.ndarray) -> np.ndarray:
    """Return numerator/denominator as float64, 0 where the mask `where` is False."""
    shape = np.broadcast_shapes(np.shape(numerator), denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=where)
