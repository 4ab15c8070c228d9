"""Synthetic cohorts, which a plan sums instead of people; they use only public quantities.

A cohort of independent rows is drawn by its moments, so that its cost does not grow with the number of rows;
its variants are independent, too, or have the correlations of a public panel. What a clip at a norm does to
rows is a mean over few synthetic rows. docs/explanation/plan.md derives it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from dpgrs.errors import UsageError
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.coding import column_moments, grid_frequency
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.methods.reusecov import (
    NoisyStatistics,
    private_count,
    private_gram,
    private_outcome_counts,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.types import Coding, Rows

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpgrs.methods.requests import PrivacyRequest

# The seed of public draws, so that a plan always repeats; no release depends on it.
SEED = 0
# Monomorphic sites would contribute nothing.
RAREST = 1e-6
# The shrinkage of rows differs by about 10 %; this many rows give its mean to half a percent.
ROWS_TO_CLIP = 1000
CLIPS_KEPT = 64


@dataclass(frozen=True)
class SyntheticCohort:
    """Sums over the rows of a cohort, in the coding and within the bounds of a request, over their number n.

    Given effects theta, X'Y/n is A theta + R g sqrt((1 - h2)/n) with g standard normal, for all columns and
    the intercept.
    """

    n: int  # number of rows
    gram: np.ndarray  # (n_variants + 1, n_variants + 1) float64, X'X/n, the intercept last
    slope: np.ndarray  # (n_variants + 1, n_variants) float64, A
    root: np.ndarray  # (n_variants + 1, k) float64, R
    mean: np.ndarray  # (n_variants,) float64, of the population's columns, in `half` coding and not clipped
    covariance: np.ndarray  # (n_variants, n_variants) float64, likewise
    # (n_variants,) float64, the zero of the request's coding in `half` coding, or None.
    origin: np.ndarray | None

    @property
    def variance(self) -> np.ndarray:
        """The variances of the population's columns, (n_variants,) float64."""
        return self.covariance.diagonal()

    def explained(self, weights: np.ndarray) -> np.ndarray:
        """Return the variance of what weights predict in the population, one for each row of them."""
        return ((weights @ self.covariance) * weights).sum(axis=-1)

    @property
    def coded_mean(self) -> np.ndarray:
        """The means of the columns in the population, in the coding of the request."""
        return self.mean if self.origin is None else self.mean - self.origin


def require_domain(
    request: "PrivacyRequest", *, n_rows: int, frequency: np.ndarray, heritability: float
) -> None:
    """Raise a UsageError if there are no rows, or not one frequency a variant, or h2 is not from 0 to 1."""
    frequencies = np.asarray(frequency, dtype=np.float64)
    if frequencies.shape != (request.n_variants,) or not np.all((frequencies >= 0) & (frequencies <= 1)):
        raise UsageError(
            "frequency-array-invalid",
            f"`frequency` must be {request.n_variants} numbers from 0 to 1, got {frequencies.size} from "
            f"{frequencies.min(initial=np.inf):g} to {frequencies.max(initial=-np.inf):g}. Correct it.",
        )
    if n_rows < 1:
        raise UsageError(
            "n-rows-not-positive", f"`n_rows` must be at least 1, got {n_rows}. Assume more people."
        )
    if not 0 <= heritability <= 1:
        raise UsageError(
            "heritability-out-of-range",
            f"`heritability` must be from 0 to 1, got {heritability}. Correct it.",
        )


def synthetic_cohort(
    request: "PrivacyRequest",  # its coding and norms say how rows are summed
    *,
    n_rows: int,  # >= 1
    frequency: np.ndarray,  # (n_variants,) float64 in [0, 1], public ALT allele frequencies
    number: int,  # tells cohorts apart; all requests see the same people in the cohort of a number
    # The population has its correlations; coding and clip of the panel do not matter. None takes variants as
    # independent.
    ld: PublicLd | None = None,
    name: str = "cohort",  # tells cohorts of other people apart
) -> SyntheticCohort:
    """Sum a synthetic cohort as a request asks for it.

    Allele counts are binomial; the correlations between columns are those of normal columns (Bartlett's
    decomposition of the Wishart distribution), of order 1/sqrt(n) where variants are independent.
    """
    frequency = np.clip(np.asarray(frequency, dtype=np.float64), RAREST, 1 - RAREST)
    mean, variance = column_moments(frequency, rows=request.rows)
    F = None if ld is None else ld.correlation_root
    stream = generator(SEED, name, "plan", number)
    L, sample_mean = _sample(frequency, n_rows, F, rows=request.rows, stream=stream)
    deviation = sample_mean - mean
    if request.coding == Coding.HALF:
        origin, scale, slope_scale, summed_mean = None, np.ones_like(mean), np.ones_like(mean), sample_mean
    else:
        origin = column_moments(grid_frequency(frequency), rows=request.rows)[0]
        clip = _row_clip(tuple(frequency.tolist()), Rows(request.rows), request.row_norm)
        scale, slope_scale = clip.scale, clip.slope
        summed_mean = clip.mean + slope_scale * deviation
    of_outcomes, of_squares = outcome_clip(request)
    # The intercept is x = 1/2.
    means = np.append(summed_mean, 1 / 2)
    varying = np.vstack([slope_scale[:, np.newaxis] * (L @ L.T), np.zeros_like(mean)])
    root = np.column_stack([np.vstack([scale[:, np.newaxis] * L, np.zeros(L.shape[1])]), means])
    sd = np.sqrt(variance)[:, np.newaxis]
    return SyntheticCohort(
        n=n_rows,
        gram=root @ root.T,
        slope=of_outcomes * (varying + np.outer(means, deviation)),
        root=np.sqrt(of_squares) * root,
        mean=mean,
        covariance=np.diag(variance) if F is None else (sd * F) @ (sd * F).T,
        origin=origin,
    )


def synthetic_panel(
    request: "PrivacyRequest",
    ld: PublicLd,  # of the panel: as many components are taken
    *,
    frequency: np.ndarray,
    number: int,
) -> PublicLd:
    """Estimate linkage disequilibrium from as many synthetic rows as a public panel has, of its population.

    `request`, `frequency` and `number`: as in `synthetic_cohort`, whose rows are other people.
    """
    model = {"n_rows": ld.n_rows, "frequency": frequency, "number": number, "ld": ld}
    G = synthetic_cohort(request, **model, name="panel").gram[:-1, :-1]
    d, k = len(G), len(ld.components)
    values, axes = eigh(G, subset_by_index=[d - k, d - 1]) if k else (np.empty(0), np.empty((d, 0)))
    components = (axes * np.sqrt(np.maximum(values, 0))).T
    return PublicLd(ld.starts, tuple(G[columns, columns] for columns in ld.of_blocks), components, ld.n_rows)


def noisy_statistics(
    request: "PrivacyRequest",
    cohort: SyntheticCohort,
    *,
    n_outcomes: int,  # all of which are known of everyone; they are counted if the request counts them
    key: tuple[str | int, ...],  # tuple of str and int, tells draws apart
) -> NoisyStatistics:
    """Run the mechanisms on the Gram matrix of a synthetic cohort, and on its counts, with seeded noise.

    The result is NoisyStatistics whose X'Y are 0.
    """
    gram = np.rint(cohort.gram * (cohort.n / request.gram_step)).astype(np.int64)
    noise, n, observed = BenchmarkNoise(SEED, *key).of("genotypes"), cohort.n, None
    if request.has_private_outcome_counts:
        n_known = np.full(n_outcomes, n)
        observed, _ = private_outcome_counts(n_known, request=request, noise=noise.of("outcomes"))
    if request.has_private_count:
        n, _ = private_count(n, request=request, noise=noise)
    noisy = gram * request.gram_step
    if request.has_private_gram:
        noisy, _ = private_gram(gram, n, request=request, noise=noise)
    elif not request.has_gram:
        noisy = None
    cross = np.zeros((n_outcomes, request.n_variants))
    slopes = None if request.outcome_norm is None else np.full(n_outcomes, outcome_clip(request)[0])
    return NoisyStatistics(noisy, cross, n, origin=cohort.origin, observed=observed, slopes=slopes)


def _sample(
    frequency: np.ndarray, n: int, F: np.ndarray | None, *, rows: Rows, stream: "Generator"
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a cohort of correlations FF': a factor L, L L' the covariance of its columns over n, and means."""
    n_alleles, d = n * _alleles(rows), len(frequency)
    if F is None:
        sample_frequency = stream.binomial(n_alleles, frequency) / n_alleles
    else:
        d = F.shape[1]
        sd = np.sqrt(frequency * (1 - frequency) / n_alleles)
        sample_frequency = np.clip(frequency + sd * (F @ stream.standard_normal(d)), 0, 1)
    sample_mean, sample_variance = column_moments(sample_frequency, rows=rows)
    degrees = max(n - 1, 1)
    L = stream.standard_normal((d, min(d, degrees)))
    if degrees >= d:
        L = np.tril(L, -1) + np.diag(np.sqrt(stream.chisquare(degrees - np.arange(d))))
    if F is None:
        # Unit rows make it a correlation matrix.
        L *= np.sqrt(sample_variance / np.sum(L * L, axis=1))[:, np.newaxis]
    else:
        # A variant that is constant in the population is constant in any sample.
        L = np.sqrt(column_moments(frequency, rows=rows)[1] / n)[:, np.newaxis] * (F @ L)
    return L, sample_mean


def _alleles(rows: Rows) -> int:
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


@dataclass(frozen=True)
class _RowClip:
    """What the clip z of rows x, of mean 0, does to a column: E z, sd(z)/sd(x), and E zx / E x^2."""

    mean: np.ndarray
    scale: np.ndarray
    slope: np.ndarray


@lru_cache(maxsize=CLIPS_KEPT)
def _row_clip(frequency: np.ndarray, rows: Rows, row_norm: float) -> _RowClip:
    """Average the clip of each genotype over the rest of synthetic rows, and over the genotype exactly."""
    frequency, n_alleles = np.array(frequency), _alleles(rows)
    values = np.arange(n_alleles + 1)[:, np.newaxis] - n_alleles * frequency
    p, q = frequency, 1 - frequency
    shares = np.array([q, p] if n_alleles == 1 else [q * q, 2 * p * q, p * p])
    stream = generator(SEED, "clip")
    squares = (stream.binomial(n_alleles, p, (ROWS_TO_CLIP, len(p))) - n_alleles * p) ** 2
    other_squares = squares.sum(axis=1, keepdims=True) - squares
    factors = [np.minimum(1, row_norm / np.sqrt(np.maximum(other_squares + x * x, RAREST))) for x in values]
    first = np.array([factor.mean(axis=0) for factor in factors])
    second = np.array([(factor**2).mean(axis=0) for factor in factors])
    square = (shares * values**2).sum(axis=0)
    mean = (shares * values * first).sum(axis=0)
    scale = np.sqrt(((shares * values**2 * second).sum(axis=0) - mean**2) / square)
    return _RowClip(mean, scale, (shares * values**2 * first).sum(axis=0) / square)


def outcome_clip(request: "PrivacyRequest") -> tuple[float, float]:
    """Return E gy/E y^2 and E g^2/E y^2 of standard normal outcomes y that are clipped to g."""
    if request.outcome_norm is None:
        return 1.0, 1.0
    return _outcome_clip(request.n_outcomes, request.outcome_bound, request.outcome_norm)


@lru_cache(maxsize=CLIPS_KEPT)
def _outcome_clip(n_outcomes: int, bound: float, norm: float | None) -> tuple[float, float]:
    squares = generator(SEED, "clip", "outcomes").chisquare(n_outcomes, ROWS_TO_CLIP * 10)
    factor = np.minimum(1, norm / np.sqrt(squares))
    normal = np.full(n_outcomes, np.nan)
    slope = clip_slopes(normal, bound=bound, norm=norm, n_shared=n_outcomes)[0]
    return float(slope), float(factor**2 @ squares / squares.sum())
