"""BLUP on public linkage disequilibrium: X'Y and counts alone are released, and have the whole budget.

The Gram matrix is that of a public panel, with the chance of its sample in the model
(docs/explanation/public_ld.md). How far the people of the panel are from those of the cohort, X'Y itself
tells.
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
# A steepness has to be plain to see: where it is not, to believe in one costs more than it gives.
PRIOR = np.array([0.9 if one.steepness == 0 else 0.1 / (len(STEEPNESSES) - 1) for one in MISMATCHES])
# Few strong effects are weighed against this one, too: a chance of 1/256 (docs/explanation/public_ld.md).
SLIGHT = 4
# Of what is told: no chance counts as much as all others, too. Where X'Y says little it is not to cry wolf.
PRIOR_OF_TOLD = PRIOR * [0.5 if one.chance == 0 else 0.5 / (len(CHANCES) - 1) for one in MISMATCHES]


@dataclass(frozen=True, kw_only=True)
class LdRequest(SteeredRequest):
    """The terms of a release without X'X: what counts leave is for steered X'Y."""

    has_gram = False


@lru_cache(maxsize=256)
def ld_request(request: "PrivacyRequest") -> LdRequest:
    """Return the terms of a release without X'X, for a PrivacyRequest; kept, as they are asked often."""
    return LdRequest(**asdict(request))


def fit_blup_ld(
    ld: "PublicLd",
    cross: np.ndarray,
    n: float,
    *,
    cross_sd: float,
    heritability: float | None = None,
    is_matched: bool = False,
    **known: Any,
) -> tuple[BlupFit, Mismatch]:
    """Estimate effects from noisy X'Y and public linkage disequilibrium.

    Parameters
    ----------
    ld : PublicLd
    cross, n, cross_sd, heritability : as in `dpgrs.methods.blup.fit_blup`.
    is_matched : bool, whether the public genotypes are of the cohort's population: the fit then models no
        mismatch, and the mismatch that is returned serves a warning only.
    **known : inflation, slopes, steering and effects, too. The mismatch is judged without public effects, and
        with these outcomes do not share causes.

    Returns
    -------
    BlupFit, without standard errors, averaged over mismatches by their likelihood, and with few strong
    effects (`dpgrs.methods.sparse_effects`); and the most probable Mismatch.

    Privacy
    -------
    Post-processing: costs nothing, if all that is passed is released or public.

    Raises
    ------
    UsageError
        As in `fit_blup`.
    """
    require_terms(n=n, gram_sd=0.0, cross_sd=cross_sd, heritability=heritability)
    spectrum = ld.spectrum(n)
    if spectrum.trace <= 0:
        nothing = np.zeros((len(cross), len(spectrum.first)))
        return BlupFit(nothing, None, nothing[:, 0]), Mismatch()
    known |= {"cross_sd": cross_sd, "heritability": heritability}
    return OverMismatches(OutcomesSeen.of(cross, spectrum, n, **known), is_matched=is_matched).fit()


@dataclass(frozen=True)
class OverMismatches:
    """What the model says of X'Y on public linkage disequilibrium under every mismatch."""

    seen: OutcomesSeen  # without one
    is_matched: bool = False  # whether the fit models no mismatch

    @cached_property
    def tried(self) -> list[OutcomesSeen]:
        """Those under each of `MISMATCHES`, a list of OutcomesSeen."""
        return [_with_mismatch(self.seen, mismatch) for mismatch in MISMATCHES]

    @cached_property
    def evidence(self) -> np.ndarray:
        """Their log-likelihoods, (n_mismatches,) float64."""
        return np.array([one.evidence for one in self.tried])

    def average(self, of: Callable[[OutcomesSeen], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Average over mismatches what a function returns of an OutcomesSeen: arrays, as a tuple."""
        if self.is_matched:
            return of(self.tried[0])
        total = None
        for one, share in zip(self.tried, softmax(self.evidence + np.log(PRIOR)), strict=True):
            if share > NEGLIGIBLE:
                parts = [share * part for part in of(one)]
                total = parts if total is None else [sum(pair) for pair in zip(total, parts, strict=True)]
        return tuple(total)

    def fit(
        self,
        *,
        may_share: bool = True,  # whether outcomes may share causes
    ) -> tuple[BlupFit, Mismatch]:
        """Return the BlupFit and the most probable Mismatch, as `fit_blup_ld` does."""
        seen, evidence = self.seen, self.evidence
        likely = MISMATCHES[np.argmax(evidence + np.log(PRIOR_OF_TOLD))]
        if seen.effects is not None:
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
        # Few strong effects pass for a mismatch where all are taken to be small.
        return BlupFit(weights, None, heritability), MISMATCHES[0] if fits > 0.5 else likely


def shared_fit(blup: OutcomesSeen) -> BlupFit | None:
    """Fit outcomes that share causes (`dpgrs.methods.blup_shared`) on public linkage disequilibrium.

    The result is BlupFit, or None where no more is seen of shared causes than of outcomes which share
    nothing.
    """
    if min(blup.entries.shape) < 2:
        return None
    seen = Seen.of(blup)
    each = {"inflation": blup.inflation, "slopes": blup.slopes}
    each = {name: None if values is None else values[seen.order] for name, values in each.items()}

    a, chance = blup.spectrum.first, _by_chance(blup.spectrum) / (2 * blup.spectrum.trace)

    def draw(stream: "Generator") -> Seen:
        gram = _drawn_gram(stream, a, chance)
        return Seen.of(replace(blup, entries=seen.drawn_alike(stream, blup.n, gram=gram), **each))

    if not shows_factors(seen, draw):
        return None
    return BlupFit(shared_effects(seen) @ seen.spectrum.vectors.T, None, seen.heritability)


def _drawn_gram(stream: "Generator", a: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Draw G in the eigenbasis: what the panel does not tell of it, of chance, with the squares b_k.

    It is the same for all outcomes. Made in place, row by row: of many variants no second matrix has room.
    """
    gram = stream.standard_normal((len(a), len(a)))
    for k, row in enumerate(gram):
        row[k:] *= np.sqrt(a[k] * a[k:] * (chance[k:] + chance[k]))
        gram[k:, k] = row[k:]
    gram[np.diag_indices_from(gram)] += a
    return gram


def _fitted(seen: OutcomesSeen) -> tuple[np.ndarray, ...]:
    fit = seen.fit(has_errors=False)
    found = (fit.weights, fit.heritability)
    return found if fit.correlations is None else (*found, fit.correlations)


def _with_mismatch(seen: OutcomesSeen, mismatch: Mismatch) -> OutcomesSeen:
    spectrum = seen.spectrum
    first = (spectrum.first / spectrum.first.max()) ** (1 + mismatch.steepness)
    first *= spectrum.first.sum() / first.sum()
    # The chance of samples goes with the eigenvalues.
    second = first**2 + first * (_by_chance(spectrum) + mismatch.chance * spectrum.trace)
    return replace(seen, spectrum=replace(spectrum, first=first, second=second))


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
    ld, known = terms.ld[request.n_variants], dict(noisy.model_terms)
    known |= {"cross_sd": request.noise_sd["cross"], "heritability": terms.heritability}
    known |= {"steering": noisy.steering, "effects": terms.effects}
    n_people = ld.n_rows / (2 if Rows(request.rows) == Rows.HAPLOTYPES else 1)
    known["is_matched"] = terms.same_ancestry and n_people >= MATCHED_PEOPLE
    found, mismatch = fit_blup_ld(ld, noisy.cross, noisy.n, **known)
    n_outcomes, n_variants = found.weights.shape
    seen = {"mismatch": np.array(mismatch), "correlations": found.correlations}
    fit = LinearFit(found.weights, np.zeros(n_variants), np.zeros(n_outcomes), **seen)
    return fit.in_half_coding(noisy.origin).of_outcomes(noisy.loadings)
