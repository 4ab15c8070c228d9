"""Noise-aware BLUP of outcomes that share causes: a few factors of effects, if the statistics show any.

In the notation of `dpgrs.methods.blup_model`, c_jk = u_k'v~_j of outcome j, less the part of its mean, is

    c_jk = sqrt(h2_j n/tr(G) b_k) (sum_r g_jr f_kr + eps_jk) + N(0, v_jk),
    f_kr ~ N(0, 1),  g_jr ~ N(0, tau_r),  eps_jk ~ N(0, psi),  v_jk = (s2_j + r_j - 1) a_k + s_A^2 + ...

with h2_j from BLUP: tau = 0, psi = 1 is BLUP itself, but for its mean over h2. The brackets are u_k'G theta_j
over its standard deviation. They include effects on other directions, b_k - a_k^2, which the noise of G mixes
in. G is the same for all outcomes, so that outcomes which share effects share this part as well. Hence b_k
stands there and no part of it in v_jk, which holds the variance that outcomes do not share: residuals,
missing rows, the noise of X'Y, and the uncertainty of an outcome's mean. Effects follow from the brackets by
a_k/b_k, their regression on u_k'G theta_j.

Mean-field variational Bayes [1]_ for g and f with eps integrated out, tau and psi by empirical Bayes: factors
that explain nothing get tau = 0. Directions are taken as independent, as in BLUP. Given the
noise of G they are slightly dependent, in the same way for all outcomes, which can look like a factor. The
bootstrap of `shows_factors` includes this dependence.

References
----------
.. [1] Bishop (1999). Variational principal components. ICANN.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigvalsh

from dpgrs.linalg.denoising import NoisySpectrum, noisy_spectrum
from dpgrs.methods.blup import BlupFit, OutcomesSeen, fit_blup
from dpgrs.methods.blup_model import outcomes_alike, ratio_where, require_terms
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpgrs.linalg.steering import Steering

# How often outcomes that share nothing are drawn, and by how much the largest singular values of these draws
# must be exceeded (docs/explanation/blup.md).
DRAWS, MARGIN, SEED = 10, 1.05, 0
MOST_FACTORS = 20
MOST_STEPS, TOLERANCE = 200, 1e-4
LEAST_SHARE = 1e-3  # of a prior variance of about 1: a smaller factor is dropped


@dataclass(frozen=True)
class Seen:
    """The estimates of BLUP from the statistics."""

    spectrum: NoisySpectrum
    residual: np.ndarray  # (n_outcomes, n_variants) float64, c_jk without the outcome's mean
    heritability: np.ndarray  # (n_outcomes,) float64, the means of their posteriors
    signal: np.ndarray  # (n_outcomes, n_variants) float64, the variance of u_k'G theta_j that BLUP expects
    rest: np.ndarray  # (n_outcomes, n_variants) float64, the remaining variance, v_jk
    own: np.ndarray  # (n_outcomes,) float64, the factor of a_k in v_jk
    # (n_outcomes, n_variants) float64, the part of v_jk from the noise of X'Y; infinite where nothing was
    # released.
    noise: np.ndarray

    @classmethod
    def of(cls, blup: OutcomesSeen) -> "Seen":
        """Compute the estimates from OutcomesSeen."""
        spectrum, C, posterior = blup.spectrum, blup.entries, blup.posterior
        h2, residual_factor, noise, of_mean = (
            posterior @ blup.grid,
            np.empty(len(C)),
            *np.empty((2, *C.shape)),
        )
        residual = np.empty_like(C)
        for alike in blup.alike:
            group, prior = alike.own, blup.prior(alike)
            z = (posterior[group] * prior.outcome_means(C[group])).sum(axis=1)
            residual[group] = C[group] - np.outer(z, prior.loading)
            residual_factor[group] = alike.inflation - h2[group]
            noise[group] = (alike.factor * blup.cross_sd) ** 2
            of_mean[group] = np.outer(posterior[group] @ (1 / prior.mean_precision), prior.loading**2)
        signal = np.outer(h2 * blup.n / spectrum.trace, spectrum.second)
        other_variance = of_mean + (np.outer(residual_factor, spectrum.first) + noise)
        return cls(spectrum, residual, h2, signal, other_variance, residual_factor, noise)

    @property
    def standardised(self) -> np.ndarray:
        """The residuals over the standard deviations that BLUP expects, times weights of directions.

        (n_outcomes, n_variants). A weight is the fourth root of the share of the signal, half way from equal
        weights to BLUP's estimates of the brackets. Either end misses factors that the other shows.
        """
        variance, where = self.signal + self.rest, self.signal > 0
        share = ratio_where(self.signal, variance, where=where)
        return ratio_where(self.residual * share**0.25, np.sqrt(variance), where=where)

    def drawn_alike(
        self,
        stream: "Generator",
        n: float,  # number of rows
        *,
        # (n_variants, n_variants) float64, G in the eigenbasis; None takes the eigenvalues sqrt(b_k).
        gram: np.ndarray | None = None,
        # (n_variants, n_directions) orthonormal, directions in the eigenbasis along which X'Y is drawn, with
        # the noise of the eigenvectors at `places`; None takes the eigenbasis.
        basis: np.ndarray | None = None,
        places: slice | np.ndarray = slice(None),  # (n_directions,) int64
    ) -> np.ndarray:
        """Draw outcomes of the same laws that share nothing, of mean 0, in the order of `order`.

        The result is (n_outcomes, n_directions) float64, X'Y along these, undone of clips and of missing
        rows; without noise where nothing was released.
        """
        order, eigenvalues = self.order, np.sqrt(self.spectrum.second)
        h2, residual_factor, noise = (
            self.heritability[order, np.newaxis],
            self.own[order, np.newaxis],
            self.noise[order],
        )
        normal = stream.standard_normal((3, *self.residual.shape))
        cross = np.sqrt(h2 * n / self.spectrum.trace) * normal[0]
        cross = cross * eigenvalues if gram is None else cross @ gram
        cross += np.sqrt(residual_factor * eigenvalues) * normal[1]
        by_noise = np.where(np.isfinite(noise), np.sqrt(noise), 0) * normal[2]
        return (cross if basis is None else cross @ basis) + by_noise[:, places]

    @property
    def order(self) -> np.ndarray:
        """The order of outcomes by their laws, (n_outcomes,) int64: draws do not depend on the listing."""
        return np.lexsort((self.heritability, self.noise.min(axis=1), self.own))


def fit_blup_shared(
    gram: np.ndarray, cross: np.ndarray, n: float, *, steering: "Steering | None" = None, **options: Any
) -> BlupFit:
    """Estimate effects from noisy statistics, under full or label protection, of outcomes that share causes.

    If the statistics show no factor, the weights are those of `fit_blup`, bit for bit. The heritabilities are
    always those of `fit_blup`; arguments and errors are as there. Standard errors are returned only for
    steered X'Y: no others were shown to be calibrated. The bootstrap uses only released numbers, and is
    seeded by a public constant.
    """
    options["steering"] = steering
    estimates = see(gram, cross, n, **options) if min(cross.shape) > 1 else None
    if estimates is None or not shows_factors(estimates, partial(seen_anew, estimates, n=n, **options)):
        fit = fit_blup(gram, cross, n, **options)
        return replace(fit, standard_errors=None) if steering is None else fit
    return BlupFit(shared_effects(estimates) @ estimates.spectrum.vectors.T, None, estimates.heritability)


def see(
    gram: np.ndarray,
    cross: np.ndarray,
    n: float,
    *,
    gram_sd: float,
    cross_sd: float,
    heritability: float | None = None,
    **options: Any,
) -> Seen | None:
    """Return the Seen of statistics, as in `fit_blup`; None where the noise leaves nothing to be seen."""
    require_terms(n=n, gram_sd=gram_sd, cross_sd=cross_sd, heritability=heritability)
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    if spectrum.trace <= 0:
        return None
    options |= {"cross_sd": cross_sd, "heritability": heritability}
    return Seen.of(OutcomesSeen.of(cross, spectrum, n, **options))


def shows_factors(
    seen: Seen,
    # Callable that takes a numpy Generator and returns the Seen of such outcomes, of the heritabilities that
    # BLUP found, or None where the noise leaves nothing of them to be seen.
    draw: "Callable[[Generator], Seen]",
) -> bool:
    """Tell whether outcomes which share nothing would hardly give such statistics.

    The result is whether the largest singular value, directions weighed as they tell, is above `MARGIN` times
    that of each draw; False where the noise leaves nothing of a draw to be seen.
    """
    largest = _largest_singular_value(seen.standardised)
    for number in range(DRAWS):
        null_estimates = draw(generator(SEED, "shared causes", number))
        if null_estimates is None or largest <= MARGIN * _largest_singular_value(null_estimates.standardised):
            return False
    return True


def seen_anew(
    seen: Seen,
    stream: "Generator",
    *,
    n: float,
    gram_sd: float,
    means: np.ndarray | None = None,
    inflation: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
    steering: "Steering | None" = None,
    **options: Any,
) -> Seen:
    """Return the Seen of outcomes that share nothing, and of new noise of X'X, through which BLUP sees them.

    Directions of the new matrix have the gains of the old directions, in the order of their eigenvalues.

    `n`, `gram_sd`, `means`, `inflation`, `slopes`, `steering` and `**options`: as in `fit_blup`.
    """
    spectrum, (n_outcomes, d) = seen.spectrum, seen.residual.shape
    each = {"inflation": inflation, "slopes": slopes}
    each = {name: None if values is None else values[seen.order] for name, values in each.items()}
    alike = list(outcomes_alike(**each, n_outcomes=n_outcomes))
    factor = sum(group.own * group.factor for group in alike)[:, np.newaxis]
    inflation = sum(group.own * group.inflation for group in alike)[:, np.newaxis]
    upper = np.triu(stream.standard_normal((d, d))) * gram_sd
    gram = np.diag(np.sqrt(spectrum.second)) + upper + np.triu(upper, 1).T
    if steering is not None:
        # Steered noise differs by direction, and rows were centred before.
        U = noisy_spectrum(gram, gram_sd=gram_sd).vectors[:, steering.places]
        cross = seen.drawn_alike(stream, n, basis=U, places=steering.places)
        steering = replace(steering, matrix=steering.gains[:, np.newaxis] * U.T)
        return see(
            gram, cross * steering.gains / factor, n, gram_sd=gram_sd, steering=steering, **each, **options
        )
    cross = seen.drawn_alike(stream, n)
    if means is not None:
        means = means @ spectrum.vectors
        cross += np.sqrt(n * inflation) * stream.standard_normal((n_outcomes, 1)) * means
    return see(gram, cross / factor, n, gram_sd=gram_sd, means=means, **each, **options)


def shared_effects(seen: Seen) -> np.ndarray:
    """Return U'theta, (n_outcomes, n_variants) float64, by the model of this module; parameters as above."""
    scale = np.sqrt(seen.signal)
    is_seen = scale > 0
    Y = ratio_where(seen.residual, scale, where=is_seen)
    noise = np.full_like(Y, np.inf)
    np.divide(seen.rest, seen.signal, out=noise, where=is_seen)
    n_factors = min(MOST_FACTORS, *Y.shape)
    _, _, Vt = np.linalg.svd(seen.standardised, full_matrices=False)
    shared, psi = factorise(Y, noise, Vt[:n_factors].T * np.sqrt(Y.shape[1]))
    values = shared + psi / (psi + noise) * (Y - shared)
    a, b = seen.spectrum.first, seen.spectrum.second
    return scale * values * ratio_where(a, b, where=b > 0)


def factorise(
    Y: np.ndarray,  # (n_outcomes, n_variants)
    noise: np.ndarray,  # (n_outcomes, n_variants) >= 0, variances; inf where nothing was released
    F: np.ndarray,  # (n_variants, n_factors), where f starts
) -> tuple[np.ndarray, np.ndarray]:
    """Fit Y_jk = sum_r g_jr f_kr + eps_jk + N(0, noise_jk).

    The results are `shared`, (n_outcomes, n_variants) float64, the mean of the sum; `psi`, >= 0, the variance
    of eps.
    """
    (n_outcomes, n_variants), n_factors = Y.shape, F.shape[1]
    tau, psi, before = np.full(n_factors, 0.8 / n_factors), 0.2, 0.0
    of_F = np.zeros((n_variants, n_factors, n_factors))
    for _ in range(MOST_STEPS):
        R, precision = len(tau), 1 / (psi + noise)
        weighted = precision * Y
        G, of_G = _posterior(weighted @ F, precision @ _squares(F, of_F), 1 / tau)
        F, of_F = _posterior(weighted.T @ G, precision.T @ _squares(G, of_G), np.ones(R))
        # F A and G A^-T give the same product for any A: here f gets unit covariance, and g a diagonal one.
        root = np.linalg.cholesky(_squares(F, of_F).mean(axis=0).reshape(R, R))
        tau, Q = np.linalg.eigh(root.T @ _squares(G, of_G).mean(axis=0).reshape(R, R) @ root)
        is_large = tau > min(LEAST_SHARE, tau[-1] / 2)
        A, B, tau = (np.linalg.inv(root).T @ Q)[:, is_large], (root @ Q)[:, is_large], tau[is_large]
        F, of_F, G, of_G = F @ A, A.T @ of_F @ A, G @ B, B.T @ of_G @ B
        shared = G @ F.T
        misfit = (Y - shared) ** 2 - shared**2 + _squares(G, of_G) @ _squares(F, of_F).T
        assert misfit.shape == (n_outcomes, n_variants)
        # Fisher scoring; a step lowers psi at most to a quarter.
        weight = precision**2
        step = (np.vdot(weight, misfit) - precision.sum()) / weight.sum()
        moved, psi = psi, max(psi + step, psi / 4)
        change, before = np.abs(shared - before).max(), shared
        if change <= TOLERANCE * np.abs(shared).max() and abs(psi - moved) <= TOLERANCE:
            break
    return shared, psi


def _posterior(
    linear: np.ndarray, squares: np.ndarray, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of normals, from sums of products and the precisions of their priors."""
    R = len(precision)
    covariance = np.linalg.inv(squares.reshape(-1, R, R) + np.diag(precision))
    return np.einsum("irs,is->ir", covariance, linear), covariance


def _squares(means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Return the second moments of normals, (n, R^2)."""
    return (np.einsum("ir,is->irs", means, means) + covariances).reshape(len(means), -1)


def _largest_singular_value(W: np.ndarray) -> float:
    smaller = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
    return np.sqrt(eigvalsh(smaller)[-1])
