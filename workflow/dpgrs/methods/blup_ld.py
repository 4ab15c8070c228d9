"""BLUP on public linkage disequilibrium: only X'Y and counts are released, and have the whole budget.

The Gram matrix comes from a public panel, and the model includes the sampling error of the panel
(docs/explanation/public_ld.md). The fit estimates from X'Y how far the panel differs from the cohort.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.blup import NEGLIGIBLE, BlupFit, OutcomesSeen
from dpgrs.methods.blup_model import ratio_where, require_terms
from dpgrs.methods.blup_shared import Seen, shared_effects, shows_factors
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.methods.steered import SteeredRequest
from dpgrs.types import Rows

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpgrs.linalg.denoising import NoisySpectrum
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.fits import FitTerms
    from dpgrs.methods.requests import PrivacyRequest


class Mismatch(NamedTuple):
    """How the population of public genotypes differs from the cohort's."""

    # >= 0, what the difference adds to squares: as the chance of a sample of 1/chance rows.
    chance: float = 0.0
    # >= 0, the eigenvalues of the cohort are as the public ones to the power of 1 + steepness: above 0 it has
    # more linkage disequilibrium.
    steepness: float = 0.0


CHANCES, STEEPNESSES = np.r_[0.0, np.geomspace(1 / 2048, 1, 12)], (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
MISMATCHES = [Mismatch(float(chance), steep) for steep, chance in product(STEEPNESSES, CHANCES)]
# Steepness has a small prior: without clear evidence for it, assuming it costs more than it gives.
PRIOR = np.array(
    [0.9 if mismatch.steepness == 0 else 0.1 / (len(STEEPNESSES) - 1) for mismatch in MISMATCHES]
)
# The model of few strong effects is also compared with this mismatch: a chance of 1/256
# (docs/explanation/public_ld.md).
SLIGHT = 4
# The prior of the reported mismatch: no chance has half the mass, so that weak evidence reports none.
PRIOR_OF_TOLD = PRIOR * [0.5 if mismatch.chance == 0 else 0.5 / (len(CHANCES) - 1) for mismatch in MISMATCHES]


@dataclass(frozen=True, kw_only=True)
class LdRequest(SteeredRequest):
    """The terms of a release without X'X: what counts leave is for steered X'Y."""

    has_gram = False


@lru_cache(maxsize=256)
def ld_request(request: "PrivacyRequest") -> LdRequest:
    """Return the terms of a release without X'X for a PrivacyRequest, cached because they are used often."""
    return LdRequest(**asdict(request))


def fit_blup_ld(
    ld: "PublicLd",
    cross: np.ndarray,
    n: float,
    *,
    cross_sd: float,
    heritability: float | None = None,
    # Whether the public genotypes are of the cohort's population: the fit then models no mismatch, and the
    # mismatch that is returned serves a warning only.
    is_matched: bool = False,
    **options: Any,  # inflation, slopes, steering and effects
) -> tuple[BlupFit, Mismatch]:
    """Estimate effects from noisy X'Y and public linkage disequilibrium.

    All other arguments are as in `dpgrs.methods.blup.fit_blup`, and so are errors. The mismatch is estimated
    without public effects; with these, outcomes do not share causes. The BlupFit has no standard errors. It
    is averaged over mismatches by their likelihood, and with few strong effects
    (`dpgrs.methods.sparse_effects`); the second result is the most probable Mismatch.
    """
    require_terms(n=n, gram_sd=0.0, cross_sd=cross_sd, heritability=heritability)
    spectrum = ld.spectrum(n)
    if spectrum.trace <= 0:
        nothing = np.zeros((len(cross), len(spectrum.first)))
        return BlupFit(nothing, None, nothing[:, 0]), Mismatch()
    options |= {"cross_sd": cross_sd, "heritability": heritability}
    return OverMismatches(OutcomesSeen.of(cross, spectrum, n, **options), is_matched=is_matched).fit()


@dataclass(frozen=True)
class OverMismatches:
    """The model of X'Y on public linkage disequilibrium under every mismatch."""

    seen: OutcomesSeen  # without a mismatch
    is_matched: bool = False  # whether the fit models no mismatch

    @cached_property
    def tried(self) -> list[OutcomesSeen]:
        """The statistics under each of `MISMATCHES`, a list of OutcomesSeen."""
        return [_with_mismatch(self.seen, mismatch) for mismatch in MISMATCHES]

    @cached_property
    def evidence(self) -> np.ndarray:
        """The log-likelihood of each mismatch, (n_mismatches,) float64."""
        return np.array([candidate.evidence for candidate in self.tried])

    def average(self, of: Callable[[OutcomesSeen], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Average over mismatches what a function returns of an OutcomesSeen: arrays, as a tuple."""
        if self.is_matched:
            return of(self.tried[0])
        total = None
        for candidate, share in zip(self.tried, softmax(self.evidence + np.log(PRIOR)), strict=True):
            if share > NEGLIGIBLE:
                weighted = [share * array for array in of(candidate)]
                total = (
                    weighted if total is None else [sum(pair) for pair in zip(total, weighted, strict=True)]
                )
        return tuple(total)

    def fit(
        self,
        *,
        may_share: bool = True,  # whether outcomes may share causes
    ) -> tuple[BlupFit, Mismatch]:
        """Return the BlupFit and the most probable Mismatch, as `fit_blup_ld` does."""
        eigen_statistics, evidence = self.seen, self.evidence
        likely = MISMATCHES[np.argmax(evidence + np.log(PRIOR_OF_TOLD))]
        if eigen_statistics.effects is not None:
            weights, heritability, correlations = self.average(_fitted)
            return BlupFit(weights, None, heritability, correlations), likely
        best = 0 if self.is_matched else np.argmax(evidence + np.log(PRIOR))
        shared = shared_fit(self.tried[best]) if may_share else None
        if shared is not None:
            return shared, likely
        weights, heritability = self.average(_fitted)
        log_rivals = logsumexp((evidence + np.log(PRIOR))[1:])
        from dpgrs.methods.sparse_effects import sparse_effects  # brings numba, which takes 0.2 s

        sparse, shares, fits = sparse_effects(self.tried[0], self.tried[SLIGHT], log_rivals=log_rivals)
        weights += shares[:, np.newaxis] * (sparse - weights)
        # A model of many small effects takes few strong ones for a mismatch.
        return BlupFit(weights, None, heritability), MISMATCHES[0] if fits > 0.5 else likely


def shared_fit(blup: OutcomesSeen) -> BlupFit | None:
    """Fit outcomes that share causes (`dpgrs.methods.blup_shared`) on public linkage disequilibrium.

    The result is BlupFit, or None if the statistics show no more shared causes than outcomes which share
    nothing would.
    """
    if min(blup.entries.shape) < 2:
        return None
    estimates = Seen.of(blup)
    each = {"inflation": blup.inflation, "slopes": blup.slopes}
    each = {name: None if values is None else values[estimates.order] for name, values in each.items()}

    a, chance = blup.spectrum.first, _by_chance(blup.spectrum) / (2 * blup.spectrum.trace)

    def draw(stream: "Generator") -> Seen:
        gram = _drawn_gram(stream, a, chance)
        return Seen.of(replace(blup, entries=estimates.drawn_alike(stream, blup.n, gram=gram), **each))

    if not shows_factors(estimates, draw):
        return None
    return BlupFit(shared_effects(estimates) @ estimates.spectrum.vectors.T, None, estimates.heritability)


def _drawn_gram(stream: "Generator", a: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Draw G in the eigenbasis, with the sampling error of the panel and the squares b_k.

    All outcomes share one G. It is filled in place, row by row: a second matrix may not fit into memory.
    """
    gram = stream.standard_normal((len(a), len(a)))
    for k, row in enumerate(gram):
        row[k:] *= np.sqrt(a[k] * a[k:] * (chance[k:] + chance[k]))
        gram[k:, k] = row[k:]
    gram[np.diag_indices_from(gram)] += a
    return gram


def _fitted(eigen_statistics: OutcomesSeen) -> tuple[np.ndarray, ...]:
    fit = eigen_statistics.fit(has_errors=False)
    estimates = (fit.weights, fit.heritability)
    return estimates if fit.correlations is None else (*estimates, fit.correlations)


def _with_mismatch(eigen_statistics: OutcomesSeen, mismatch: Mismatch) -> OutcomesSeen:
    spectrum = eigen_statistics.spectrum
    first = (spectrum.first / spectrum.first.max()) ** (1 + mismatch.steepness)
    first *= spectrum.first.sum() / first.sum()
    # The sampling error is proportional to the eigenvalues.
    second = first**2 + first * (_by_chance(spectrum) + mismatch.chance * spectrum.trace)
    return replace(eigen_statistics, spectrum=replace(spectrum, first=first, second=second))


def _by_chance(spectrum: "NoisySpectrum") -> np.ndarray:
    """Return what chance adds to squares over eigenvalues, (n_variants,) float64."""
    a = spectrum.first
    return ratio_where(spectrum.second - a**2, a, where=a > 0)


def blup_ld(
    noisy: NoisyStatistics,  # whose `gram` is None
    *,
    request: "PrivacyRequest",
    terms: "FitTerms",  # with linkage disequilibrium of the panel
) -> LinearFit:
    """Fit all outcomes from a release without a Gram matrix."""
    ld, options = terms.ld[request.n_variants], dict(noisy.model_terms)
    options |= {"cross_sd": request.noise_sd["cross"], "heritability": terms.heritability}
    options |= {"steering": noisy.steering, "effects": terms.effects}
    n_people = ld.n_rows / (2 if Rows(request.rows) == Rows.HAPLOTYPES else 1)
    options["is_matched"] = terms.same_ancestry and n_people >= MATCHED_PEOPLE
    blup_fit, mismatch = fit_blup_ld(ld, noisy.cross, noisy.n, **options)
    n_outcomes, n_variants = blup_fit.weights.shape
    optional_fields = {"mismatch": np.array(mismatch), "correlations": blup_fit.correlations}
    fit = LinearFit(blup_fit.weights, np.zeros(n_variants), np.zeros(n_outcomes), **optional_fields)
    return fit.in_half_coding(noisy.origin).of_outcomes(noisy.loadings)
