"""Noise-aware BLUP: a fit that knows how much noise its statistics carry, and tunes nothing.

The model is that of `dpgrs.methods.blup_model`. Everything here is post-processing. The measurements,
and where the standard errors hold, are in docs/explanation/blup.md.

References
----------
.. [1] Ledoit, Peche (2011). Eigenvectors of some large sample covariance matrix ensembles. PTRF 151.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import softmax

from dpgrs.linalg.denoising import NoisySpectrum, noisy_spectrum, resolvent
from dpgrs.methods.blup_model import (
    HERITABILITIES,
    Alike,
    PriorMoments,
    beta_priors,
    effect_moments,
    heritability_posterior,
    interval_scale,
    log_evidence,
    outcomes_alike,
    prior_moments,
    ratio_where,
    require_terms,
)
from dpgrs.methods.public_effects import PublicEffects, informed_fit

if TYPE_CHECKING:
    from dpgrs.linalg.steering import Steering

TRUST = (0.0, 0.25, 0.5, 0.75, 1.0)  # how far public outcomes are believed to tell where X'Y is large
NEGLIGIBLE = 1e-6  # of a posterior: not worth a matrix


@dataclass(frozen=True)
class BlupFit:
    """Weights of all outcomes."""

    weights: np.ndarray  # (n_outcomes, n_variants) float64
    # (n_outcomes, n_variants) float64, or None where they would not be calibrated. A weight's 95 % interval
    # is 1.96 of them to either side.
    standard_errors: np.ndarray | None
    heritability: np.ndarray  # (n_outcomes,) float64, estimated or as stated
    # (n_outcomes,) float64, mean genetic correlations with public effects; None without these.
    correlations: np.ndarray | None = None
    public_share: np.ndarray | None = None  # () float64, as in `dpgrs.linalg.linear_fit.LinearFit`


def fit_blup(
    gram: np.ndarray,  # (n_variants, n_variants) symmetric, centred X'X, noisy or exact
    cross: np.ndarray,  # (n_outcomes, n_variants), noisy X'Y of publicly standardised outcomes
    n: float,  # > 0, number of rows, noisy or exact
    *,
    gram_sd: float,  # >= 0, standard deviation of the noise of an entry; 0 where exact, here and below
    cross_sd: float,
    # (n_variants,) column means of X, where X'Y is not of centred columns; None takes 0.
    means: np.ndarray | None = None,
    heritability: float | None = None,  # in (0, 1), public; None estimates it for every outcome
    # (n_outcomes,) >= 1, all rows over those on which an outcome is known: only these were summed.
    inflation: np.ndarray | None = None,
    # (n_outcomes,) in (0, 1], of clipped outcomes (`dpgrs.linalg.attenuation`).
    slopes: np.ndarray | None = None,
    # Where columns of `cross` are directions, and then noise; None for X'Y itself.
    steering: "Steering | None" = None,
    effects: PublicEffects | None = None,  # from which the effects of outcomes may differ
) -> BlupFit:
    """Estimate effects from noisy statistics, under full or label protection; post-processing costs nothing.

    An exact Gram matrix is public only where the genotypes are: under label protection.

    Standard errors are returned where they were measured to be calibrated: with an exact Gram matrix, or
    with a stated heritability, and without public effects. An h2 estimated through the noise of the Gram
    matrix is not good enough. A stated one must be about right: where the truth is 0.8, stating 0.5 makes
    95 % intervals cover 88 %. Nor do they hold where rows were clipped and little but that is left of the
    variance of effects: `dpgrs.methods.fits` withholds them there.

    It raises UsageError for a number of rows, a standard deviation or a heritability out of its domain.
    """
    require_terms(n=n, gram_sd=gram_sd, cross_sd=cross_sd, heritability=heritability)
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    if spectrum.trace <= 0:
        return _nothing((len(cross), len(gram)), heritability)
    options = {"cross_sd": cross_sd, "heritability": heritability, "means": means}
    options |= {"steering": steering, "effects": effects}
    eigen_statistics = OutcomesSeen.of(cross, spectrum, n, inflation=inflation, slopes=slopes, **options)
    return eigen_statistics.fit(has_errors=gram_sd == 0 or heritability is not None)


@dataclass(frozen=True)
class OutcomesSeen:
    """Noisy X'Y in the eigenbasis of a Gram matrix: what the model says of it."""

    spectrum: NoisySpectrum  # whose trace is above 0
    entries: np.ndarray  # (n_outcomes, n_variants) float64, U'X'Y, undone of clips and of missing rows
    # n, heritability, means, inflation, slopes and effects: as in `fit_blup`. The properties are of the model
    # without public effects.
    n: float
    # Float or (n_variants,) float64, standard deviation of the noise of an entry; infinite where nothing was
    # released.
    cross_sd: float | np.ndarray
    heritability: float | None = None
    means: np.ndarray | None = None
    inflation: np.ndarray | None = None
    slopes: np.ndarray | None = None
    effects: PublicEffects | None = None

    @classmethod
    def of(
        cls,
        cross: np.ndarray,
        spectrum: NoisySpectrum,
        n: float,
        *,
        cross_sd: float,
        means: np.ndarray | None = None,
        inflation: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        steering: "Steering | None" = None,
        **options: Any,
    ) -> "OutcomesSeen":
        """Turn X'Y into the eigenbasis, if steering has not; parameters as in `fit_blup`."""
        is_steered, C = steering is not None, np.zeros((len(cross), len(spectrum.first)))
        for alike in outcomes_alike(inflation, slopes, len(cross)):
            scaled = cross[alike.own] * alike.factor
            if is_steered:
                C[np.ix_(alike.own, steering.places)] = scaled[:, : len(steering.places)] / steering.gains
            else:
                C[alike.own] = scaled @ spectrum.vectors
        options |= {"inflation": inflation, "slopes": slopes}
        if not is_steered:
            return cls(spectrum, C, n, cross_sd, means=means, **options)
        # Directions come from the draw, since eigenvectors differ by machine. Rows were centred.
        U, sd = spectrum.vectors.copy(), np.full(C.shape[1], np.inf)
        U[:, steering.places], sd[steering.places] = steering.directions.T, cross_sd / steering.gains
        return cls(replace(spectrum, vectors=U), C, n, sd, **options)

    @property
    def grid(self) -> np.ndarray:
        """The heritabilities that there may be, (n_grid,) float64."""
        return heritability_grid(self.heritability)

    @cached_property
    def log_likelihood(self) -> np.ndarray:
        """The log-likelihood of every outcome under every heritability, (n_outcomes, n_grid) float64."""
        log_likelihoods = np.empty((len(self.entries), len(self.grid)))
        for alike in self.alike:
            log_likelihoods[alike.own] = self.prior(alike).log_likelihood(self.entries[alike.own])
        return log_likelihoods

    @property
    def evidence(self) -> float:
        """The log-likelihood of all outcomes, averaged over heritabilities, up to a constant."""
        return log_evidence(self.log_likelihood, beta_priors(tuple(self.grid)))

    @cached_property
    def posterior(self) -> np.ndarray:
        """Each outcome's posterior of h2, (n_outcomes, n_grid) float64, of sum 1."""
        return heritability_posterior(self.log_likelihood, beta_priors(tuple(self.grid)))

    def fit(self, *, has_errors: bool) -> BlupFit:
        """Return the BlupFit."""
        if self.effects is not None:
            weights, heritability, correlations = informed_fit(self)
            return BlupFit(weights, None, heritability, correlations)
        C, U, posterior = self.entries, self.spectrum.vectors, self.posterior
        effects, errors = np.empty_like(C), np.empty_like(C) if has_errors else None
        for alike in self.alike:
            # The moments are computed for each group: those of all groups do not fit into memory.
            group, prior = alike.own, self.prior(alike)
            effects[group], variances = effect_moments(C[group], prior, posterior[group])
            if has_errors:
                errors[group] = _standard_errors(variances, prior, posterior[group], U)
        return BlupFit(effects @ U.T, errors, posterior @ self.grid)

    @property
    def alike(self) -> Iterator[Alike]:
        """The outcomes of one law, as from `outcomes_alike`."""
        return outcomes_alike(self.inflation, self.slopes, len(self.entries))

    def prior(self, alike: Alike, **options: Any) -> PriorMoments:
        """Return the PriorMoments of outcomes of one law."""
        options |= {"cross_sd": self.cross_sd, "means": self.means, "heritabilities": self.grid}
        return prior_moments(self.spectrum, self.n, inflation=alike.inflation, slope=alike.slope, **options)


def heritability_grid(heritability: float | None) -> np.ndarray:
    """Return the (n_grid,) heritabilities that a fit takes into account: the stated one, or all."""
    return HERITABILITIES if heritability is None else np.array([heritability])


def _standard_errors(
    variances: np.ndarray, prior: PriorMoments, posterior: np.ndarray, U: np.ndarray
) -> np.ndarray:
    """Return standard errors of the weights, from the variances of U'theta."""
    # The unknown mean of the outcome adds a term that is not diagonal in the eigenbasis.
    of_mean = posterior / prior.mean_precision @ (U @ (prior.slope * prior.loading[:, np.newaxis])).T ** 2
    variances = variances @ (U**2).T + of_mean
    scale = interval_scale(posterior, prior.mean_variance, variances.mean(axis=1))
    return np.sqrt(variances) * scale[:, np.newaxis]


def fit_blup_public_outcomes(
    gram: np.ndarray,
    cross: np.ndarray,
    n: float,
    *,
    outcomes: np.ndarray,  # (n_outcomes, n_rows), public: the clipped outcomes that were summed
    gram_sd: float,
    cross_sd: float,
    means: np.ndarray | None = None,
    heritability: float | None = None,
    inflation: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
) -> BlupFit:
    """Estimate effects from noisy statistics where the outcomes are public: feature protection.

    Heritable outcomes lie along the principal axes of the genotypes, so public outcomes tell where X'Y is
    large. With Y = P S Q', the prior variance of an entry of U'X'YQ is S_k^2 a_i times the mean squared
    overlap of p_k with an eigenvector of the population covariance t2 XX' + s2 I (`sample_overlaps`). The law
    is one of many outcomes: with few, and where outcomes share more than genes, the evidence decides between
    it and the variance of `fit_blup`, which knows nothing of Y, by geometric steps. The mean weights given
    X'Y are linear in it, so that the shrunk X'Y goes into them as if it were exact. No standard error is
    returned: none was shown to be calibrated. Nor is the heritability one to report.

    All other arguments are as in `fit_blup`, and so are errors; h2 is common to all outcomes. The model is
    that of outcomes that are 0 where they are missing, and as they were clipped; their weights are multiplied
    by `inflation` and divided by `slopes`.
    """
    require_terms(n=n, gram_sd=gram_sd, cross_sd=cross_sd, heritability=heritability)
    grid, spectrum = heritability_grid(heritability), noisy_spectrum(gram, gram_sd=gram_sd)
    squares, Q = eigh(outcomes @ outcomes.T)
    squares = np.maximum(squares, 0)
    if spectrum.trace <= 0 or squares[-1] == 0:
        return _nothing(cross.shape, heritability)
    if means is not None:
        cross = cross - np.outer(outcomes.sum(axis=1), means)
    U, a = spectrum.vectors, spectrum.first
    C = Q.T @ cross @ U
    sample = squares / len(squares)
    transform = stieltjes_transform(sample, n=n)
    ratio = ratio_where(spectrum.second, a, where=a > 0)

    def priors(t2: float, s2: float) -> Iterator[np.ndarray]:
        """Yield the prior variances of C for every step between blind (0) and trusting (1)."""
        overlap = sample_overlaps(sample, t2 * ratio + s2, noise=s2, n=n, transform=transform)
        blind, trusting = t2 * spectrum.second + s2 * a, squares[:, np.newaxis] * overlap * a
        assert trusting.shape == C.shape
        for trust in TRUST:
            yield blind ** (1 - trust) * trusting**trust

    variance_components = [(h2 * n / spectrum.trace, 1 - h2) for h2 in grid]
    posterior = softmax(
        [[_log_evidence(C, prior + cross_sd**2) for prior in priors(*t)] for t in variance_components]
    )
    shrinkage = np.zeros_like(C)
    for (t2, s2), shares in zip(variance_components, posterior, strict=True):
        if shares.max() < NEGLIGIBLE:
            continue
        ridge = ratio_where(t2, t2 * ratio + s2, where=a > 0)
        for prior, share in zip(priors(t2, s2), shares, strict=True):
            variance = prior + cross_sd**2
            shrinkage += share * ridge * ratio_where(prior, variance, where=variance > 0)
    mean_h2 = posterior.sum(axis=1) @ grid
    weights = Q @ (shrinkage * C) @ U.T
    for alike in outcomes_alike(inflation, slopes, len(cross)):
        weights[alike.own] *= alike.factor
    return BlupFit(weights, None, np.full(len(cross), mean_h2))


def stieltjes_transform(
    # (n_outcomes,) eigenvalues of Y'Y/l; the others of YY'/l are 0 (and some of these, if l > n).
    eigenvalues: np.ndarray,
    *,
    n: float,  # number of rows
) -> np.ndarray:
    """Return the mean of 1/(z - eigenvalue) over all n eigenvalues of YY'/l, next to those that are given.

    The result is (n_outcomes,) complex128.
    """
    offset = np.maximum(eigenvalues, 1e-3 * eigenvalues.max()) / np.sqrt(n)
    among = len(eigenvalues) * resolvent(eigenvalues, eigenvalues, offset=offset)
    return (among + (n - len(eigenvalues)) / (eigenvalues - 1j * offset)) / n


def sample_overlaps(
    sample: np.ndarray,  # (n_outcomes,) eigenvalues of YY'/l
    population: np.ndarray,  # (n_variants,) eigenvalues of t2 XX' + s2 I along the genotypes
    *,
    noise: float,  # the eigenvalue of all other directions, s2
    n: float,  # number of rows
    transform: np.ndarray,  # (n_outcomes,) complex128, of `stieltjes_transform`
) -> np.ndarray:
    """Return mean squared overlaps of the eigenvectors of sample and population covariances [1]_.

    With q = n/l and g the Stieltjes transform of the sample, the overlap of the eigenvectors of lambda in the
    sample and of m in the population is, up to a factor that depends only on lambda,

        m lambda / |m (1 - q) - lambda + q m lambda g(lambda)|^2.

    Over all n directions, of which those outside the genotypes have eigenvalue `noise`, they add up to 1.

    The result is (n_outcomes, n_variants) float64.
    """
    q = n / len(sample)

    def density(m: np.ndarray) -> np.ndarray:
        lam, g = sample[:, np.newaxis], transform[:, np.newaxis]
        return lam * m / np.abs(m * (1 - q) - lam + q * m * lam * g) ** 2

    values = density(population[np.newaxis])
    outside = max(n - len(population), 0) * density(np.array([[noise]]))
    total = values.sum(axis=1, keepdims=True) + outside
    return ratio_where(values, total, where=total > 0)


def _log_evidence(C: np.ndarray, variance: np.ndarray) -> float:
    """Return the log-likelihood of independent normal entries, up to a constant."""
    is_informative = variance > np.finfo(float).eps * variance.max()
    entries, spread = C[is_informative], variance[is_informative]
    return -0.5 * float((np.log(spread) + entries**2 / spread).sum())


def _nothing(shape: tuple[int, int], heritability: float | None) -> BlupFit:
    """Return weights of 0: the noise left no variance of the genotypes to be seen."""
    return BlupFit(np.zeros(shape), None, np.full(shape[0], 0.0 if heritability is None else heritability))
