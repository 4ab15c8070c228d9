"""Made-up cohorts: what a plan sums in place of people. Public quantities alone.

A cohort of independent rows and variants is drawn by its moments, so that its cost does not grow with the
number of rows. What a clip at a norm does to rows is a mean over few synthetic rows. docs/plan.md derives it.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.clipped_statistics import grid_frequency
from dpgrs.linalg.statistics import column_moments
from dpgrs.methods.reusecov import (
    NoisyStatistics,
    private_count,
    private_gram,
    private_outcome_counts,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.types import Coding, Rows

# Of public draws, so that the same question always has the same answer; no release hangs on it.
SEED = 0
# Sites that are monomorphic all over would take part in nothing.
RAREST = 1e-6
# The mean shrinkage of a row differs by some 10 % between rows, so this tells it to half a percent.
ROWS_TO_CLIP = 1000
CLIPS_KEPT = 64


@dataclass(frozen=True)
class SyntheticCohort:
    """Sums over the rows of a cohort, in the coding and within the bounds of a request, over their number n.

    Given effects theta, X'Y/n is A theta + R g sqrt((1 - h2)/n) with g standard normal.

    Attributes
    ----------
    n : int, number of rows.
    gram : (n_variants + 1, n_variants + 1) float64, X'X/n, the intercept last.
    slope : (n_variants, n_variants) float64, A.
    root : (n_variants, k) float64, R.
    mean, variance : (n_variants,) float64, of the population's columns, in `half` coding and not clipped.
    origin : (n_variants,) float64, the zero of the request's coding in `half` coding, or None.
    """

    n: int
    gram: np.ndarray
    slope: np.ndarray
    root: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    origin: np.ndarray | None

    @property
    def coded_mean(self):
        """The means of the columns in the population, in the coding of the request."""
        return self.mean if self.origin is None else self.mean - self.origin


def require_domain(request, *, n_rows, frequency, heritability):
    """Raise a UsageError if there are no rows, or not one frequency a variant, or h2 is not from 0 to 1."""
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


def synthetic_cohort(request, *, n_rows, frequency, number):
    """Sum a synthetic cohort as a request asks for it.

    Allele counts are binomial; the correlations between columns, of order 1/sqrt(n), are those of normal
    columns (Bartlett's decomposition of the Wishart distribution).

    Parameters
    ----------
    request : PrivacyRequest; its coding and norms say how rows are summed.
    n_rows : int >= 1
    frequency : (n_variants,) float64 in [0, 1], public ALT allele frequencies.
    number : int, tells cohorts apart; all requests see the same people in the cohort of a number.

    Returns
    -------
    SyntheticCohort
    """
    frequency = np.clip(np.asarray(frequency, dtype=np.float64), RAREST, 1 - RAREST)
    mean, variance = column_moments(frequency, rows=request.rows)
    L, sample_mean = _sample(frequency, n_rows, rows=request.rows, number=number)
    deviation = sample_mean - mean
    if request.coding == Coding.HALF:
        origin, scale, slope_scale, summed_mean = None, np.ones_like(mean), np.ones_like(mean), sample_mean
    else:
        origin = column_moments(grid_frequency(frequency), rows=request.rows)[0]
        clip = _row_clip(tuple(frequency.tolist()), Rows(request.rows), request.row_norm)
        scale, slope_scale = clip.scale, clip.slope
        summed_mean = clip.mean + slope_scale * deviation
    of_outcomes, of_squares = outcome_clip(request)
    Q = L @ L.T
    gram = scale[:, np.newaxis] * Q * scale + np.outer(summed_mean, summed_mean)
    return SyntheticCohort(
        n=n_rows,
        gram=_with_intercept(gram, summed_mean),
        slope=of_outcomes * (slope_scale[:, np.newaxis] * Q + np.outer(summed_mean, deviation)),
        root=np.sqrt(of_squares) * np.column_stack([scale[:, np.newaxis] * L, summed_mean]),
        mean=mean,
        variance=variance,
        origin=origin,
    )


def noisy_statistics(request, cohort, *, n_outcomes, key):
    """Run the mechanisms on the Gram matrix of a synthetic cohort, and on its counts, with seeded noise.

    Parameters
    ----------
    request : PrivacyRequest
    cohort : SyntheticCohort
    n_outcomes : int, all of which are known of everyone; they are counted if the request counts them.
    key : tuple of str and int, tells draws apart.

    Returns
    -------
    NoisyStatistics whose X'Y are 0.
    """
    gram = np.rint(cohort.gram * (cohort.n / request.gram_step)).astype(np.int64)
    noise, n, observed = BenchmarkNoise(SEED, *key).of("genotypes"), cohort.n, None
    if request.has_private_outcome_counts:
        known = np.full(n_outcomes, n)
        observed, _ = private_outcome_counts(known, request=request, noise=noise.of("outcomes"))
    if request.has_private_count:
        n, _ = private_count(n, request=request, noise=noise)
    noisy = gram * request.gram_step
    if request.has_private_gram:
        noisy, _ = private_gram(gram, n, request=request, noise=noise)
    cross = np.zeros((n_outcomes, request.n_variants))
    slopes = None if request.outcome_norm is None else np.full(n_outcomes, outcome_clip(request)[0])
    return NoisyStatistics(noisy, cross, n, origin=cohort.origin, observed=observed, slopes=slopes)


def _sample(frequency, n, *, rows, number):
    """Draw a cohort: a factor L, L L' the covariance of its columns over n, and their means."""
    stream = generator(SEED, "cohort", "plan", number)
    n_alleles = n * _alleles(rows)
    sample_mean, sample_variance = column_moments(
        stream.binomial(n_alleles, frequency) / n_alleles, rows=rows
    )
    d, degrees = len(frequency), max(n - 1, 1)
    L = stream.standard_normal((d, min(d, degrees)))
    if degrees >= d:
        L = np.tril(L, -1) + np.diag(np.sqrt(stream.chisquare(degrees - np.arange(d))))
    # Unit rows make it a correlation matrix.
    L *= np.sqrt(sample_variance / np.sum(L * L, axis=1))[:, np.newaxis]
    return L, sample_mean


def _alleles(rows):
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


def _with_intercept(Q, mean):
    """Append the intercept x = 1/2 to X'X/n."""
    return np.block([[Q, mean[:, np.newaxis] / 2], [mean / 2, 1 / 4]])


@dataclass(frozen=True)
class _RowClip:
    """What the clip z of rows x, of mean 0, does to a column: E z, sd(z)/sd(x), and E zx / E x^2."""

    mean: np.ndarray
    scale: np.ndarray
    slope: np.ndarray


@lru_cache(maxsize=CLIPS_KEPT)
def _row_clip(frequency, rows, row_norm):
    """Average the clip of each genotype over the rest of synthetic rows, and over the genotype exactly."""
    frequency, n_alleles = np.array(frequency), _alleles(rows)
    values = np.arange(n_alleles + 1)[:, np.newaxis] - n_alleles * frequency
    p, q = frequency, 1 - frequency
    shares = np.array([q, p] if n_alleles == 1 else [q * q, 2 * p * q, p * p])
    stream = generator(SEED, "clip")
    squares = (stream.binomial(n_alleles, p, (ROWS_TO_CLIP, len(p))) - n_alleles * p) ** 2
    others = squares.sum(axis=1, keepdims=True) - squares
    factors = [np.minimum(1, row_norm / np.sqrt(np.maximum(others + x * x, RAREST))) for x in values]
    first = np.array([factor.mean(axis=0) for factor in factors])
    second = np.array([(factor**2).mean(axis=0) for factor in factors])
    square = (shares * values**2).sum(axis=0)
    mean = (shares * values * first).sum(axis=0)
    scale = np.sqrt(((shares * values**2 * second).sum(axis=0) - mean**2) / square)
    return _RowClip(mean, scale, (shares * values**2 * first).sum(axis=0) / square)


def outcome_clip(request):
    """Return E gy/E y^2 and E g^2/E y^2 of standard normal outcomes y that are clipped to g."""
    if request.outcome_norm is None:
        return 1.0, 1.0
    return _outcome_clip(request.n_outcomes, request.outcome_bound, request.outcome_norm)


@lru_cache(maxsize=CLIPS_KEPT)
def _outcome_clip(n_outcomes, bound, norm):
    squares = generator(SEED, "clip", "outcomes").chisquare(n_outcomes, ROWS_TO_CLIP * 10)
    factor = np.minimum(1, norm / np.sqrt(squares))
    normal = np.full(n_outcomes, np.nan)
    slope = clip_slopes(normal, bound=bound, norm=norm, n_shared=n_outcomes)[0]
    return float(slope), float(factor**2 @ squares / squares.sum())
