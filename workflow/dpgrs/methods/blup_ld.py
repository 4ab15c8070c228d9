"""BLUP on public linkage disequilibrium: X'Y and counts alone are released, and have the whole budget.

The Gram matrix is that of a public panel, with the chance of its sample in the model (docs/public_ld.md). How
far the people of the panel are from those of the cohort, X'Y itself tells.
"""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import softmax

from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.blup import NEGLIGIBLE, BlupFit, OutcomesSeen
from dpgrs.methods.blup_model import require_terms
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import SHOWN_IN_FULL

# What the difference between two populations adds to squares, as the chance of a sample of 1/m rows would.
MISMATCHES = np.r_[0.0, np.geomspace(1 / 2048, 1, 12)]
# Of what is told: none counts as much as all others. Where X'Y says little it is not to cry wolf.
LOG_PRIOR = np.log(np.r_[0.5, np.full(12, 0.5 / 12)])
# From here on a warning: the panel is worth no more than so many random rows of the cohort's own population.
FEW_ROWS = 100
STEPS = (
    SHOWN_IN_FULL,
    "The Gram matrix is that of public genotypes: nothing about the cohort's own is released.",
    "How far these are from the cohort's is averaged over, by the likelihood of the released numbers.",
    "A noise-aware best linear unbiased prediction (docs/public_ld.md).",
)


@dataclass(frozen=True, kw_only=True)
class LdRequest(PrivacyRequest):
    """The terms of a release without X'X: what counts leave is for X'Y."""

    has_gram = False


@lru_cache(maxsize=256)
def ld_request(request):
    """Return the terms of a release without X'X, for a PrivacyRequest; kept, as they are asked often."""
    return LdRequest(**asdict(request))


def fit_blup_ld(ld, cross, n, *, cross_sd, heritability=None, inflation=None, slopes=None):
    """Estimate effects from noisy X'Y and public linkage disequilibrium.

    Parameters
    ----------
    ld : PublicLd
    cross, n, cross_sd, heritability, inflation, slopes : as in `dpgrs.methods.blup.fit_blup`.

    Returns
    -------
    BlupFit, without standard errors, averaged over mismatches by their likelihood; and the most probable
    mismatch, a float.

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
        return BlupFit(np.zeros(cross.shape), None, np.zeros(len(cross))), 0.0
    known = {"cross_sd": cross_sd, "heritability": heritability, "inflation": inflation, "slopes": slopes}
    seen = OutcomesSeen.of(cross, spectrum, n, **known)
    tried = [_with_mismatch(seen, mismatch) for mismatch in MISMATCHES]
    evidence = np.array([one.evidence for one in tried])
    weights, heritability = np.zeros(cross.shape), np.zeros(len(cross))
    for one, share in zip(tried, softmax(evidence), strict=True):
        if share > NEGLIGIBLE:
            fit = one.fit(has_errors=False)
            weights += share * fit.weights
            heritability += share * fit.heritability
    most_probable = MISMATCHES[np.argmax(LOG_PRIOR + evidence)]
    return BlupFit(weights, None, heritability), float(most_probable)


def _with_mismatch(seen, mismatch):
    spectrum = seen.spectrum
    second = spectrum.second + mismatch * spectrum.first * spectrum.trace
    return replace(seen, spectrum=replace(spectrum, second=second))


def blup_ld(noisy, *, request, terms):
    """Fit all outcomes from a release without a Gram matrix.

    Parameters
    ----------
    noisy : NoisyStatistics, whose `gram` is None.
    request : LdRequest
    terms : FitTerms, with linkage disequilibrium of the panel.

    Returns
    -------
    LinearFit
    """
    ld, known = terms.ld[request.n_variants], {"inflation": noisy.inflation, "slopes": noisy.slopes}
    known |= {"cross_sd": request.noise_sd["cross"], "heritability": terms.heritability}
    found, mismatch = fit_blup_ld(ld, noisy.cross, noisy.n, **known)
    n_outcomes, n_variants = found.weights.shape
    fit = LinearFit(found.weights, np.zeros(n_variants), np.zeros(n_outcomes), mismatch=np.array(mismatch))
    return fit.in_half_coding(noisy.origin)


def mismatch_in_words(mismatch):
    """Say what a mismatch was found to be, for a statement."""
    if not mismatch:
        return (
            "No difference between the public genotypes and the cohort's was seen, which does not say that "
            "there is none."
        )
    return (
        "The public genotypes were found to differ from the cohort's as much as those of "
        f"{1 / mismatch:.0f} random rows of its own population would."
    )


def misfit_in_words(fits):
    """Say how badly public genotypes fit the cohort, if they do: by the median of all fits.

    Parameters
    ----------
    fits : iterable of dict of arrays, as from `LinearFit.arrays`.

    Returns
    -------
    list of str: a line, or none.
    """
    found = [float(arrays["mismatch"]) for arrays in fits if "mismatch" in arrays]
    mismatch = np.median(found) if found else 0.0
    if mismatch * FEW_ROWS < 1:
        return []
    n_rows = f"{1 / mismatch:.0f}"
    return [
        f"Public genotypes differ from the cohort's as much as those of {n_rows} random rows of its own "
        "population would: they may be of another ancestry. `methods: blup`, which takes the cohort's own "
        "Gram matrix, may serve better."
    ]
