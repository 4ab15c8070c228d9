"""BLUP from a released and from a public Gram matrix, weighted by what the released numbers say of each fit.

X'X and X'Y are released as for BLUP. Weights w of an outcome explain

    R^2 = (2 w'G theta - w'G w)/n

of its variance, G = X'X, and the released numbers tell this of either fit without bias
(docs/explanation/public_ld.md):

- w'V~ is too large by the noise that w has followed. A fit that is w = U diag(P) U'V~ has followed
  sum_k P_k (s2 u_k'G u_k + s_A^2) of it (Stein 1981).
- w'G~w is unbiased if w does not depend on the noise of G~: for a fit on public genotypes it does not,
  however badly these fit. For BLUP's own fit G~ is thinned: with E' of the law of its noise, G~ + sqrt(g) E'
  and G~ - E'/sqrt(g) have independent noise. The first is fitted, the second judges, and draws of E' are
  averaged.

With v the difference of both weights and D that of what they explain, the average w + s v explains most at
s = 1/2 + D/(2q), q = v'G v/n. Weights take the share s of the public fit, between 0 and 1, of a D that is
smaller by one standard deviation of what all noise makes of it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.methods.blup import BlupFit, OutcomesSeen, fit_blup
from dpgrs.methods.blup_ld import OverMismatches
from dpgrs.methods.blup_shared import fit_blup_shared
from dpgrs.methods.sum_fits import SharedFitter, by_model
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.fits import FitTerms
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.reusecov import NoisyStatistics

# How the noise of G~ is split, and how often (docs/explanation/public_ld.md).
THINNING, DRAWS, SEED = 0.25, 8, 0


def fit_blup_hedged(
    gram: np.ndarray,
    cross: np.ndarray,
    n: float,
    *,
    ld: "PublicLd",  # of the same variants
    gram_sd: float,
    cross_sd: float,
    means: np.ndarray | None = None,
    heritability: float | None = None,
    **scaling: Any,  # inflation and slopes
) -> BlupFit:
    """Estimate effects from noisy statistics, with public linkage disequilibrium as far as it helps.

    All other arguments are as in `dpgrs.methods.blup.fit_blup`, and so are errors. The BlupFit has no
    standard errors; its `public_share` is from 0 to 1.
    """
    options = {"cross_sd": cross_sd, "heritability": heritability, **scaling}
    blup_options = {"means": means, **options}
    blup_fit = fit_blup_shared(gram, cross, n, gram_sd=gram_sd, **blup_options)
    spectrum = ld.spectrum(n)
    if spectrum.trace <= 0:
        return replace(blup_fit, public_share=np.array(0.0))
    public = OverMismatches(OutcomesSeen.of(cross, spectrum, n, **options))
    judged = Judged(public.seen, *public.average(_linearly))
    of_own, between = judged_beside(judged, gram, cross, n, gram_sd=gram_sd, **blup_options)
    spread = np.hypot(
        judged.spread(judged.weights - blup_fit.weights, gram),
        gram_spread(judged.weights, blup_fit.weights, gram_sd=gram_sd) / n,
    )
    share = best_share(judged.explained(gram).sum() - of_own - spread, between)
    # People of another ancestry can make outcomes seem to share causes.
    plain = fit_blup(gram, cross, n, gram_sd=gram_sd, **blup_options)
    fit, _ = public.fit(may_share=not np.array_equal(blup_fit.weights, plain.weights))
    weights = blup_fit.weights + share * (fit.weights - blup_fit.weights)
    heritability = blup_fit.heritability + share * (fit.heritability - blup_fit.heritability)
    return BlupFit(weights, None, heritability, public_share=np.array(share))


@dataclass(frozen=True)
class Judged:
    """A fit that is linear in X'Y, as far as what it explains is concerned."""

    seen: OutcomesSeen  # from which it is made
    # (n_outcomes, n_variants) float64, its weights, in their own basis.
    weights: np.ndarray
    # (n_outcomes, n_variants) float64, the factors P of the entries of X'Y in the weights, in the same basis.
    gains: np.ndarray
    heritability: np.ndarray  # (n_outcomes,) float64

    def explained(
        self,
        # (n_variants, n_variants) symmetric, X'X and noise of which the weights are independent.
        gram: np.ndarray,
    ) -> np.ndarray:
        """Estimate what the weights explain of each outcome, (n_outcomes,) float64."""
        U, residual = self.seen.spectrum.vectors, np.empty_like(self.weights)
        posterior, C = self.seen.posterior, self.seen.entries
        for alike in self.seen.alike:
            prior = self.seen.prior(alike)
            z = (posterior[alike.own] * prior.outcome_means(C[alike.own])).sum(axis=1)
            residual[alike.own] = C[alike.own] - np.outer(z, prior.loading)
        quadratic_forms = np.einsum("ik,ik->k", U, gram @ U)
        followed = (self.gains * self._noise(quadratic_forms)).sum(axis=1)
        products = (self.weights @ U * residual).sum(axis=1) - followed
        return (2 * products - (self.weights @ gram * self.weights).sum(axis=1)) / self.seen.n

    def spread(
        self,
        weights: np.ndarray,  # (n_outcomes, n_variants), w of each outcome
        gram: np.ndarray,  # as above
    ) -> float:
        """Return the standard deviation of w'X'Y, twice and over n, summed over outcomes, given effects."""
        U = self.seen.spectrum.vectors
        quadratic_forms = np.maximum(np.einsum("ik,ik->k", U, gram @ U), 0)
        return float(2 * np.sqrt(((weights @ U) ** 2 * self._noise(quadratic_forms)).sum()) / self.seen.n)

    def _noise(self, quadratic_forms: np.ndarray) -> np.ndarray:
        """Return the variances of the entries of X'Y given effects, (n_outcomes, n_variants) float64."""
        noise = np.empty_like(self.weights)
        for alike in self.seen.alike:
            residual_variances = alike.inflation - self.heritability[alike.own]
            noise[alike.own] = (
                np.outer(residual_variances, quadratic_forms) + (alike.factor * self.seen.cross_sd) ** 2
            )
        return noise


def _linearly(eigen_statistics: OutcomesSeen) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, gains and heritabilities of a fit, as `Judged` takes them."""
    fit, gains = eigen_statistics.fit(has_errors=False), np.empty_like(eigen_statistics.entries)
    for alike in eigen_statistics.alike:
        gains[alike.own] = eigen_statistics.posterior[alike.own] @ eigen_statistics.prior(alike).slope.T
    return fit.weights, gains, fit.heritability


def best_share(
    difference: float,  # what the second explains more than the first
    between: float,  # estimate of v'G v/n, v the difference of their weights, in the sum over outcomes, too
) -> float:
    """Return the share of the second of two fits at which their average explains most, from 0 to 1."""
    if between <= 0:  # noise hides the difference
        return float(difference > 0)
    return float(np.clip(0.5 + difference / (2 * between), 0, 1))


def gram_spread(
    public: np.ndarray,  # (n_outcomes, n_variants), weights
    own: np.ndarray,  # (n_outcomes, n_variants), weights
    *,
    gram_sd: float,  # >= 0, of an entry of the noise of G~, which is symmetric
) -> float:
    """Return the standard deviation of the sum over outcomes of w'G~w of two fits, the first less the second.

    The sum of the second uses the judges of the thinned matrix, whose noise is larger.
    """
    of_own = own.T @ own
    difference = public.T @ public - of_own
    variances = [2 * (form**2).sum() - (np.diag(form) ** 2).sum() for form in (difference, of_own)]
    return float(gram_sd * np.sqrt(variances[0] + variances[1] / (THINNING * DRAWS)))


def judged_beside(
    public: Judged,  # the other fit
    gram: np.ndarray,
    cross: np.ndarray,
    n: float,
    *,
    gram_sd: float,
    **options: Any,  # further arguments of `fit_blup`
) -> tuple[float, float]:
    """Estimate what BLUP's own fit explains, and how far from it another one is.

    `gram`, `cross`, `n` and `gram_sd`: as in `fit_blup`. The result is `of_own`, `between`, in the sum over
    outcomes: R^2 of BLUP's own fit, and v'G v/n, v the difference of the weights of both.
    """
    of_own, between, upper = 0.0, 0.0, np.triu_indices(len(gram))
    for number in range(DRAWS):
        noise = np.zeros_like(gram)
        noise[upper] = gram_sd * generator(SEED, "hedged", number).standard_normal(len(upper[0]))
        noise += np.triu(noise, 1).T
        spectrum = noisy_spectrum(gram + np.sqrt(THINNING) * noise, gram_sd=gram_sd * np.sqrt(1 + THINNING))
        judge, v = gram - noise / np.sqrt(THINNING), public.weights
        if spectrum.trace > 0:  # else the weights are 0
            eigen_statistics = OutcomesSeen.of(cross, spectrum, n, **options)
            judged = Judged(eigen_statistics, *_linearly(eigen_statistics))
            of_own += judged.explained(judge).sum() / DRAWS
            v = v - judged.weights
        between += (v @ judge * v).sum() / (n * DRAWS)
    return of_own, between


class BlupHedged(SharedFitter):
    """The average of BLUP from a noisy and from a public Gram matrix."""

    def fit_noisy(
        self,
        noisy: "NoisyStatistics",
        request: "PrivacyRequest",
        terms: "FitTerms",
        outcomes: np.ndarray | None,
    ) -> "LinearFit":
        return by_model(fit_blup_hedged, noisy, request, terms, ld=terms.ld[request.n_variants])
