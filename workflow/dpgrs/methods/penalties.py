"""Ridge penalties of ReuseCov that come from public terms and released statistics: nothing is tuned.

References
----------
.. [1] Wang (2018). Revisiting differentially private linear regression. UAI. arXiv 1803.02596.
"""

import math

import numpy as np
from scipy.special import softmax

from dpgrs.errors import UsageError
from dpgrs.linalg.denoising import noisy_spectrum
from dpgrs.methods.adassp import FAILURE
from dpgrs.methods.blup_model import outcomes_alike, prior_moments, require_terms

N_PENALTIES = 400  # in the first search, evenly on the log scale
NEGLIGIBLE = 1e-6  # of the smallest eigenvalue that counts: a penalty below it is none
TOLERANCE = 1e-9  # of the logarithm of the penalty


def evidence_penalty(
    gram: np.ndarray,
    cross: np.ndarray,
    n: float,
    *,
    gram_sd: float,
    cross_sd: float,
    means: np.ndarray | None = None,
    inflation: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
) -> float:
    """Return the penalty with which ridge comes closest to the noise-aware BLUP, one for all outcomes.

    In the notation of `dpgrs.methods.blup_model`, let w_k be the eigenvalues of G~, cut off at 0, and V_k
    the variance of c_k, t2 b_k + s2 a_k + s_A^2 + q_k^2. Ridge takes f_k c_k with f_k = 1/(w_k + n lambda)
    for u_k'theta. By the model the squared error of its predictions is

        sum_k a_k E(f_k c_k - u_k'theta)^2 = constant + sum_k a_k V_k (f_k - t2 a_k/V_k)^2,

    which lambda minimises. For a single k the best n lambda is V_k/(t2 a_k) - w_k, that is s2/t2 +
    s_A^2/(t2 a_k) and a remainder from noise; the common one lies among these. V_k of an outcome depends on
    its number of known rows, and the error is the mean over outcomes. t2 and V_k are means over the
    posterior of an h2 that all outcomes share, under a flat prior. With exact statistics of centred columns
    and a known h2, ridge with this penalty is BLUP.

    Arguments and errors are as in `dpgrs.methods.blup.fit_blup`, for X'X as the ridge solves it. The result
    is at least 0, per row, as `penalty` of `fit_reusecov`; inf, which makes all weights 0, where the noise
    leaves nothing of the Gram matrix to be seen.
    """
    require_terms(n=n, gram_sd=gram_sd, cross_sd=cross_sd)
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    if spectrum.trace <= 0:
        return math.inf
    is_usable, log_likelihood = spectrum.first > 0, 0.0
    groups, cross_terms = (
        list(outcomes_alike(inflation, slopes, len(cross))),
        {"cross_sd": cross_sd, "means": means},
    )
    for alike in groups:
        prior = prior_moments(spectrum, n, inflation=alike.inflation, slope=alike.slope, **cross_terms)
        is_usable &= prior.is_informative
        log_likelihood += prior.log_likelihood(cross[alike.own] * alike.factor @ spectrum.vectors).sum(axis=0)
    posterior = softmax(log_likelihood)
    variance = np.empty((len(groups), np.count_nonzero(is_usable)))
    for number, alike in enumerate(groups):
        prior = prior_moments(spectrum, n, inflation=alike.inflation, slope=alike.slope, **cross_terms)
        variance[number] = prior.variance[is_usable] @ posterior + prior.loading[is_usable] ** 2
    signal = prior.signal[is_usable] @ posterior
    eigenvalues = np.maximum(spectrum.eigenvalues, 0)[is_usable]
    share = np.array([alike.own.mean() for alike in groups])
    importance = share[:, np.newaxis] * spectrum.first[is_usable] * variance

    def excess(log_penalty: float) -> float:
        """Return the expected squared error above that of BLUP."""
        ridge = 1 / (eigenvalues + math.exp(log_penalty))
        return float(np.vdot(importance, (ridge - signal / variance) ** 2))

    # Each term falls up to the best penalty of its own direction and rises from there.
    inverse = variance / signal
    best = np.maximum(inverse - eigenvalues, 0)
    low, high = max(best.min(), NEGLIGIBLE * inverse.min()), best.max()
    if high <= low:
        return low / n
    grid = np.linspace(math.log(low), math.log(high), N_PENALTIES)
    best_index = int(np.argmin([excess(point) for point in grid]))
    around = grid[max(best_index - 1, 0)], grid[min(best_index + 1, N_PENALTIES - 1)]
    from scipy.optimize import minimize_scalar  # takes 0.4 s, which most steps do without

    nearest = minimize_scalar(excess, bounds=around, method="bounded", options={"xatol": TOLERANCE})
    return math.exp(nearest.x) / n


def adassp_penalty(
    n_variants: int,  # >= 1
    *,
    gram_sd: float,  # > 0, standard deviation of the noise of an entry of X'X
    n: float,  # > 0, number of rows, noisy or public
) -> float:
    """Return AdaSSP's penalty [1]_ with the smallest eigenvalue of X'X taken as 0, which is always safe.

    lambda = sqrt(d ln(2 d^2/rho)) s_G / n: but for a probability of rho = `FAILURE` no eigenvalue of the
    noise of X'X is further from 0. `fit_adassp` pays for the smallest eigenvalue of X'X and lowers the
    penalty by it; this one costs nothing. It ignores the noise of X'Y, which decides the best penalty if
    X'X is exact.

    The result is above 0, per row, as `penalty` of `fit_reusecov`. It raises UsageError for a number out of
    its domain.
    """
    require_terms(n=n, gram_sd=gram_sd, cross_sd=0.0)
    if gram_sd == 0:
        raise UsageError(
            "gram-sd-not-positive",
            "`gram_sd` must be above 0, got 0. Take `evidence_penalty` where the Gram matrix is exact.",
        )
    if n_variants < 1:
        raise UsageError(
            "n-variants-not-positive", f"`n_variants` must be at least 1, got {n_variants}. Choose variants."
        )
    return math.sqrt(n_variants * math.log(2 * n_variants**2 / FAILURE)) * gram_sd / n
