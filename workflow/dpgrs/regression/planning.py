"""What a fit can be expected to be worth, before anything is released: public quantities alone.

The real mechanism, with seeded noise, and the real solver run on the Gram matrix of a made-up cohort. Given
its noisy Gram matrix, a fit is linear in X'Y, so the means over effects, residuals and the noise of X'Y have
a closed form; the mean over Gram matrices is taken over few draws. docs/plan.md derives it all.
"""

from dataclasses import dataclass

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.regression.linear_fit import centred_gram, ridge_weights
from dpgrs.regression.reusecov import private_statistics
from dpgrs.regression.statistics import GRAM_STEP, column_moments
from dpgrs.types import Rows

# Of public draws, so that the same question always has the same answer; no release hangs on it.
SEED = 0
# The more variants, the less one draw differs from the next.
DRAWS_TIMES_VARIANTS, FEWEST_DRAWS, MOST_DRAWS = 1000, 2, 8
# Linear algebra differs in its last digits between processors; a statement must not.
STATED_DIGITS = 3
# Sites that are monomorphic all over would take part in nothing.
RAREST = 1e-6


@dataclass(frozen=True)
class ExpectedFit:
    """What to expect of an outcome's weights; standard deviations are root mean squares over variants.

    Attributes
    ----------
    weight_sd : float, of a weight of the fit without noise, about 0.
    noise_sd_gram, noise_sd_cross : float, what the noise of X'X (and of the count) and of X'Y adds to it.
    r2 : float, R^2 in new people of the same population.
    r2_sd : float, how far that differs between cohorts and draws of the noise of X'X.
    r2_without_noise : float, of the same fit without noise.
    """

    weight_sd: float
    noise_sd_gram: float
    noise_sd_cross: float
    r2: float
    r2_sd: float
    r2_without_noise: float

    @property
    def noise_sd(self):
        """Root mean square difference between a weight and what it would be without noise."""
        return float(np.hypot(self.noise_sd_gram, self.noise_sd_cross))


def expected_fit(request, *, n_rows, frequency, penalty, heritability):
    """Work out the noise of a weight and R^2 of `fit_reusecov` under a model of the cohort.

    Rows are independent, variants too (linkage equilibrium), y = (x - mean)'theta + e with theta normal, of
    one variance for all variants, and Var(x'theta) = `heritability` = 1 - Var(e).

    Parameters
    ----------
    request : PrivacyRequest
    n_rows : int >= 1, rows to train on: assumed, public, or released with noise.
    frequency : (n_variants,) float64 in [0, 1], public ALT allele frequencies.
    penalty : float >= 0, per row.
    heritability : float in [0, 1], share of an outcome's variance that the variants explain.

    Returns
    -------
    ExpectedFit

    Raises
    ------
    UsageError
        If an argument is out of its domain.

    Privacy
    -------
    No data are read and nothing is spent: made-up rows meet seeded noise.
    """
    _require_domain(request, n_rows=n_rows, frequency=frequency, heritability=heritability)
    frequency = np.clip(np.asarray(frequency, dtype=np.float64), RAREST, 1 - RAREST)
    n_draws = min(max(DRAWS_TIMES_VARIANTS // request.n_variants, FEWEST_DRAWS), MOST_DRAWS)
    terms = {"penalty": penalty, "heritability": heritability}
    draws = np.array(
        [_expected_of_draw(request, int(n_rows), frequency, key=("plan", i), **terms) for i in range(n_draws)]
    )
    *squares, r2, r2_without_noise = draws.mean(axis=0).tolist()
    # Rounding may leave a square of 0 just below it.
    deviations = np.sqrt(np.maximum(squares, 0)).tolist()
    return ExpectedFit(*deviations, r2, float(draws[:, 3].std(ddof=1)), r2_without_noise)


def expected_noise_sd(request, *, n_rows, frequency, penalty, heritability=0.5):
    """Return the expected noise sd of a weight, to `STATED_DIGITS` significant digits, for a statement.

    Parameters
    ----------
    request, n_rows, frequency, penalty, heritability : as in `expected_fit`; in a statement `n_rows` is the
        released count.

    Returns
    -------
    float
    """
    fit = expected_fit(
        request, n_rows=n_rows, frequency=frequency, penalty=penalty, heritability=heritability
    )
    return float(f"{fit.noise_sd:.{STATED_DIGITS}g}")


def neutral_frequencies(n_variants, *, rarest):
    """Return ALT allele frequencies of neutral variants: density proportional to 1/p from `rarest` on.

    Parameters
    ----------
    n_variants : int
    rarest : float in (0, 0.5), least minor-allele frequency.

    Returns
    -------
    (n_variants,) float64, the quantiles at (i + 1/2)/n_variants.
    """
    quantiles = (np.arange(n_variants) + 0.5) / n_variants
    return rarest * ((1 - rarest) / rarest) ** quantiles


def _require_domain(request, *, n_rows, frequency, heritability):
    found = np.asarray(frequency, dtype=np.float64)
    if found.shape != (request.n_variants,) or not np.all((found >= 0) & (found <= 1)):
        raise UsageError(
            f"`frequency` must be {request.n_variants} numbers from 0 to 1, got {found.size} from "
            f"{found.min(initial=np.inf):g} to {found.max(initial=-np.inf):g}. Correct it."
        )
    if n_rows < 1:
        raise UsageError(f"`n_rows` must be at least 1, got {n_rows}. Assume more people.")
    if not 0 <= heritability <= 1:
        raise UsageError(f"`heritability` must be from 0 to 1, got {heritability}. Correct it.")


def _expected_of_draw(request, n, frequency, *, penalty, heritability, key):
    """Average over outcomes and the noise of X'Y, for one cohort and one draw of the other noise.

    V/n = A theta + X'e/n with A = X'(X - 1 mean')/n, so that C below is its covariance over outcomes, and
    w = P (V + E_V)/n for a matrix P that hangs on the noisy Gram matrix alone.

    Returns
    -------
    tuple of the first three of `ExpectedFit`, squared, and R^2 with and without noise.
    """
    mean, variance = column_moments(frequency, rows=request.rows)
    Q, sample_mean = _made_up_gram(frequency, n, rows=request.rows, key=key)
    noisy, sigma = _noisy_statistics(request, Q, sample_mean, n, key=key)
    P, shift = _solution(noisy.gram, noisy.n, n, mean, penalty=penalty)
    P_exact, shift_exact = _solution(_with_intercept(Q, sample_mean) * n, n, n, mean, penalty=penalty)

    effect_variance = heritability / variance.sum()
    A = Q - np.outer(sample_mean, mean)
    C = effect_variance * A @ A.T + (1 - heritability) / n * Q

    def r2(P, shift, C):
        """Subtract the expected squared error from the variance of an outcome, which is 1."""
        explained = 2 * effect_variance * np.sum(variance[:, np.newaxis] * P * A.T)
        return explained - np.sum(P @ C * P, axis=1) @ variance - shift @ P @ C @ P @ shift

    difference, noise_variance = P - P_exact, (sigma / n) ** 2
    return (
        np.sum(P_exact @ C * P_exact) / len(C),
        np.sum(difference @ C * difference) / len(C),
        noise_variance * np.sum(P * P) / len(C),
        r2(P, shift, C + noise_variance * np.eye(len(C))),
        r2(P_exact, shift_exact, C),
    )


def _made_up_gram(frequency, n, *, rows, key):
    """Draw X'X/n and the column means of n independent rows of independent variants.

    Allele counts are binomial; the correlations between columns, of order 1/sqrt(n), are those of normal
    columns (Bartlett's decomposition of the Wishart distribution), so the cost does not grow with n.

    Returns
    -------
    Q : (n_variants, n_variants)
    sample_mean : (n_variants,)
    """
    stream = generator(SEED, "cohort", *key)
    n_alleles = n * (1 if Rows(rows) == Rows.HAPLOTYPES else 2)
    sample_mean, sample_variance = column_moments(
        stream.binomial(n_alleles, frequency) / n_alleles, rows=rows
    )
    d, degrees = len(frequency), max(n - 1, 1)
    L = stream.standard_normal((d, min(d, degrees)))
    if degrees >= d:
        L = np.tril(L, -1) + np.diag(np.sqrt(stream.chisquare(degrees - np.arange(d))))
    # Unit rows make it a correlation matrix.
    L *= np.sqrt(sample_variance / np.sum(L * L, axis=1))[:, np.newaxis]
    return L @ L.T + np.outer(sample_mean, sample_mean), sample_mean


def _with_intercept(Q, sample_mean):
    """Append the intercept x = 1/2 to X'X/n."""
    return np.block([[Q, sample_mean[:, np.newaxis] / 2], [sample_mean / 2, 1 / 4]])


def _noisy_statistics(request, Q, sample_mean, n, *, key):
    """Run the mechanism on a made-up Gram matrix; return its output and the noise sd of X'Y."""
    gram = np.rint(_with_intercept(Q, sample_mean) * (n / GRAM_STEP)).astype(np.int64)
    cross = np.zeros((request.n_outcomes, len(gram)), dtype=np.int64)
    noisy = private_statistics(gram, cross, n, request=request, noise=BenchmarkNoise(SEED, *key))
    return noisy, noisy.events[-1].sigma


def _solution(G, n_used, n, mean, *, penalty):
    """Return P with w = P V/n, and how far the means that are subtracted lie from the true ones."""
    G_c, used_mean = centred_gram(G, n_used)
    return ridge_weights(G_c, np.eye(len(mean)) * n, n_used, penalty=penalty), used_mean - mean
