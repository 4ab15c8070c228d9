"""Membership inference: likelihood ratios of a target's having been in the data
(docs/measurements/attacks.md).

The attacker knows all that is public, a target's genotypes and outcomes, and a reference: people of the same
population who are known to be outside. Scores are larger for likelier members; a person's score is the sum
of the scores of their rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri

from dpgrs.linalg.linear_fit import LinearFit, Spectrum, centred_gram
from dpgrs.types import Rows

# Of those trained on and of those held out, so that the cost of an attack does not grow with a cohort.
MOST_PEOPLE = 2000
# Among these the attacker chooses the penalty, per row, of a fit to the reference.
PENALTIES = np.geomspace(1e-4, 10, 26)
# A row cannot determine its own prediction by more than this.
LARGEST_LEVERAGE = 0.999


@dataclass(frozen=True)
class Reference:
    """People outside the data whom the attacker knows in full, and a ridge regression fitted to them."""

    X: np.ndarray  # (n_rows, n_variants) float64, `half` coding
    Y: np.ndarray  # (n_outcomes, n_rows) float64, NaN where missing
    rows: Rows
    fit: LinearFit  # of the penalty with the least leave-one-out error over all outcomes
    # (n_outcomes, n_rows) float64, the leave-one-out residuals of that fit; NaN where missing.
    residuals: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray, *, rows: Rows) -> Self:
        """Fit the outcomes of the reference, with X, Y and rows as in its fields."""
        n = len(X)
        means, intercept = X.mean(axis=0), _mean_of_observed(Y)
        U, s, Vt = np.linalg.svd(X - means, full_matrices=False)
        missing = np.isnan(Y)
        centred = np.where(missing, 0.0, Y - intercept[:, np.newaxis])
        rotated = centred @ U
        best = (np.inf,)
        for penalty in PENALTIES:
            shrunk = s**2 / (s**2 + n * penalty)
            residuals = (centred - rotated * shrunk @ U.T) / (1 - 1 / n - U**2 @ shrunk)
            error = (residuals[~missing] ** 2).sum()
            if error < best[0]:
                best = error, penalty, residuals
        _, penalty, residuals = best
        weights = rotated * (s / (s**2 + n * penalty)) @ Vt
        fit = LinearFit(weights, means, intercept)
        return cls(X, Y, Rows(rows), fit, np.where(missing, np.nan, residuals))

    @cached_property
    def gram(self) -> np.ndarray:
        """The X'X of the centred rows, (n_variants, n_variants)."""
        centred = self.X - self.fit.means
        return centred.T @ centred

    @cached_property
    def spectrum(self) -> Spectrum:
        """The X'X of the centred rows, decomposed."""
        return Spectrum.of(self.gram, len(self.X))

    @cached_property
    def entries(self) -> "_Entries":
        """Moments of the released entries of X'X, `_Entries`."""
        return _Entries.of(_with_intercept(self.X), rows=self.rows)


@dataclass(frozen=True)
class Targets:
    """People to be scored, beside a reference; what all attacks on X'X share is computed once."""

    X: np.ndarray  # (n_targets, n_variants) float64, `half` coding
    Y: np.ndarray  # (n_outcomes, n_targets) float64, NaN where missing
    reference: Reference

    @cached_property
    def means(self) -> np.ndarray:
        """The (n_targets,) mean inner products of released entries with entries of the reference."""
        return self._cross.mean(axis=1)

    @cached_property
    def squares(self) -> np.ndarray:
        """The (n_targets,) squared norms of the deviations of released entries from the reference's mean."""
        norms = _squared_norms(_with_intercept(self.X), rows=self.reference.rows)
        return norms - 2 * self.means + self.reference.entries.mean

    @cached_property
    def rotated(self) -> np.ndarray:
        """Inner products of these deviations with the reference's deviations, times the eigenvectors of K."""
        entries = self.reference.entries
        deviations = self._cross - self.means[:, np.newaxis] - entries.means + entries.mean
        return deviations @ entries.U

    @cached_property
    def _cross(self) -> np.ndarray:
        reference_rows = _with_intercept(self.reference.X)
        return _inner(_with_intercept(self.X), reference_rows, rows=self.reference.rows)


def gram_scores(targets: Targets, gram: np.ndarray, n: int, *, sigma: float = 0.0) -> np.ndarray:
    """Score targets by the Gaussian likelihood ratio of a released X'X; outcomes are not used.

    `gram` is (n_variants + 1, n_variants + 1) float64 symmetric, exact or noisy, intercept last, of n rows,
    exact or as released; `sigma` is the standard deviation of the noise of an entry. Scores are (n_targets,)
    float64 log likelihood ratios.
    """
    reference = targets.reference
    entries, rows, m = reference.entries, reference.rows, len(reference.X)
    # The deviation of the release from what the reference lets expect of it, by the entries of every row.
    of_reference = _released(_with_intercept(reference.X), gram, rows=rows)
    expected = of_reference.mean() - n * entries.mean
    b_t = _released(_with_intercept(targets.X), gram, rows=rows) - n * targets.means - expected
    b_r = of_reference - n * entries.means - expected
    spread = _spread(n, m)
    alpha = spread * (1 - entries.shrinkage) / m
    beta = spread * entries.shrinkage * entries.variance + sigma**2
    if beta == 0:  # nothing varies and nothing was added
        return np.zeros(len(targets.X))
    # C = alpha Phi'Phi + beta I, inverted on the m rows that are known (Woodbury).
    inverse = 1 / (alpha * entries.eigenvalues + beta)
    linear = b_t - alpha * targets.rotated @ (inverse * (entries.U.T @ b_r))
    quadratic = targets.squares - alpha * targets.rotated**2 @ inverse
    return (linear - quadratic / 2) / beta


def statistics_scores(
    targets: Targets,
    gram: np.ndarray,
    cross: np.ndarray,
    n: int,
    *,
    gram_sigma: float = 0.0,
    cross_sigma: float = 0.0,
) -> np.ndarray:
    """Score targets by released X'X and X'Y: the residuals of the fit that the attacker makes of them.

    `gram` is (n_variants + 1, n_variants + 1) float64 symmetric, exact or noisy, intercept last; `cross` is
    (n_outcomes, n_variants) float64, exact and centred, or noisy; sigmas are standard deviations of the noise
    of an entry. Scores are (n_targets,) float64.

    X'X is averaged with its expectation by the reference, each weighted by its precision. The fit has the
    penalty cross_sigma^2/n, at which the contribution of one row stands out most from the noise.
    """
    reference = targets.reference
    m = len(reference.X)
    variance = reference.entries.variance * _spread(n, m)
    trust = variance / (variance + gram_sigma**2) if variance > 0 else 1.0
    G_c, means = centred_gram(gram, n)
    G_c = trust * G_c + (1 - trust) * n / m * reference.gram
    means = trust * means + (1 - trust) * reference.fit.means
    penalty, spectrum = cross_sigma**2 / n, Spectrum.of(G_c, n)
    fit = LinearFit(spectrum.ridge_weights(cross, penalty=penalty), means, np.zeros(len(cross)))
    return residual_scores(targets, fit, spectrum.leverage(targets.X - means, penalty=penalty) + 1 / n)


def weights_scores(targets: Targets, fit: LinearFit, n: int, *, penalty: float) -> np.ndarray:
    """Score targets by released weights only: the residuals of the fit to n rows, with the leverage
    estimated.

    The fit is as released, for the first outcomes of the targets; its penalty is per row, 0 for least
    squares. Scores are (n_targets,) float64.
    """
    leverage = _expected_leverage(targets.X, n, targets.reference, penalty=penalty)
    return residual_scores(targets, fit, leverage + 1 / n)


def residual_scores(targets: Targets, fit: LinearFit, leverage: np.ndarray) -> np.ndarray:
    """Score targets by the Gaussian likelihood ratio of two residuals: of the fit, and of the reference's.

    The fit is for the first n_fitted <= n_outcomes outcomes; the others are not used. The leverage,
    (n_targets,) float64, is how far a row, if fitted, moves its own prediction. With (r, q) ~ N(0, S) for
    people outside, a member's pair is distributed as ((1 - leverage) r, q): the leave-one-out identity of
    least squares and ridge regression. S is the reference's. Scores are (n_targets,) float64 log
    likelihood ratios summed over outcomes.
    """
    X, reference, count = targets.X, targets.reference, len(fit.weights)
    Y, q_known = targets.Y[:count], reference.residuals[:count]
    r = Y - fit.predict(X)
    q = Y - reference.fit.predict(X)[:count]
    r_known = reference.Y[:count] - fit.predict(reference.X)
    S_rr, S_rq, S_qq = (_mean_of_observed(product) for product in (r_known**2, r_known * q_known, q_known**2))
    determinant = S_rr * S_qq - S_rq**2
    is_usable = determinant > np.finfo(float).eps * S_rr * S_qq
    inverse = np.divide(1.0, determinant, where=is_usable, out=np.zeros_like(determinant))
    remaining = 1 - np.clip(leverage, 0.0, LARGEST_LEVERAGE)
    squares = (S_qq * inverse) @ np.nan_to_num(r**2) * (1 / remaining**2 - 1)
    joint = (-S_rq * inverse) @ np.nan_to_num(r * q) * (1 / remaining - 1)
    n_used = is_usable.astype(float) @ np.isfinite(r)
    return -squares / 2 - joint - n_used * np.log(remaining)


def advantage_bound(mu: float) -> float:
    """Return the largest TPR - FPR of any attack on a mu-GDP release: 2 Phi(mu/2) - 1."""
    return 2 * ndtr(mu / 2) - 1


def true_positive_bound(mu: float, fpr: float) -> float:
    """Return the largest TPR at a given FPR of any attack on a mu-GDP release: Phi(Phi^-1(fpr) + mu)."""
    return ndtr(ndtri(fpr) + mu)


def area_bound(mu: float) -> float:
    """Return the largest area under the ROC curve of any attack on a mu-GDP release: Phi(mu/sqrt(2))."""
    return ndtr(mu / np.sqrt(2))


@dataclass(frozen=True)
class _Entries:
    """The released entries of z z' over the rows of a reference: their moments, from inner products."""

    means: np.ndarray  # (m,), mean inner product of every row's entries with those of all rows
    mean: float  # of these
    eigenvalues: np.ndarray  # (m,), of the inner products K of the deviations from the mean
    U: np.ndarray  # (m, m), eigenvectors of K
    variance: float  # mean variance of an entry
    shrinkage: float  # in [0, 1], of the covariance towards variance * I (Ledoit and Wolf 2004)

    @classmethod
    def of(cls, Z: np.ndarray, *, rows: Rows) -> Self:
        m, width = Z.shape
        inner = _inner(Z, Z, rows=rows)
        means = inner.mean(axis=0)
        K = inner - means - means[:, np.newaxis] + means.mean()
        n_entries = width * (width - 1) / 2 if Rows(rows) == Rows.HAPLOTYPES else width * (width + 1) / 2 - 1
        variance = np.trace(K) / (m * n_entries)
        square = (K**2).sum() / m**2
        distance = square - variance**2 * n_entries
        error = ((np.diag(K) ** 2).sum() / m - square) / m
        shrinkage = min(error, distance) / distance if distance > 0 else 1.0
        eigenvalues, U = eigh(K)
        return cls(means, means.mean(), np.maximum(eigenvalues, 0.0), U, variance, shrinkage)


def _with_intercept(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.full(len(X), 0.5)])


def _inner(A: np.ndarray, B: np.ndarray, *, rows: Rows) -> np.ndarray:
    """Return, for every two rows a and b, the inner product of the released entries of a a' and b b'.

    Haplotypes: the strict upper triangle. People: the upper triangle; the intercept's own entry, which is not
    released, is the same for all and drops out.
    """
    return ((A @ B.T) ** 2 + _diagonal_sign(rows) * A**2 @ (B**2).T) / 2


def _squared_norms(A: np.ndarray, *, rows: Rows) -> np.ndarray:
    return ((A**2).sum(axis=1) ** 2 + _diagonal_sign(rows) * (A**4).sum(axis=1)) / 2


def _released(A: np.ndarray, gram: np.ndarray, *, rows: Rows) -> np.ndarray:
    """Return, for every row a, the inner product of the released entries of a a' and of `gram`."""
    return ((A @ gram * A).sum(axis=1) + _diagonal_sign(rows) * A**2 @ np.diag(gram)) / 2


def _diagonal_sign(rows: Rows) -> int:
    return -1 if Rows(rows) == Rows.HAPLOTYPES else 1


def _spread(n: int, m: int) -> float:
    """Return the variance of a sum over n rows about n times the mean of m others, in variances of a row."""
    return n * (1 + n / m)


def _expected_leverage(X: np.ndarray, n: int, reference: Reference, *, penalty: float) -> np.ndarray:
    """Estimate the leverage of rows among n of the population, whose X'X is not known.

    The mean is the reference's, times m/n. About it, h/(1 - h) varies as the leverage of a row that is
    added to the reference.
    """
    means = reference.fit.means
    of_reference = reference.spectrum.leverage(reference.X - means, penalty=penalty)
    of_reference = np.minimum(of_reference, LARGEST_LEVERAGE)
    mean = min(of_reference.sum() / n, LARGEST_LEVERAGE)
    if mean <= 0:  # nothing varies
        return np.zeros(len(X))
    relative = (
        reference.spectrum.leverage(X - means, penalty=penalty) / (of_reference / (1 - of_reference)).mean()
    )
    odds = mean / (1 - mean) * relative
    return odds / (1 + odds)


def _mean_of_observed(values: np.ndarray) -> np.ndarray:
    """Return the mean of each row over values that are not NaN; 0 if there are none."""
    return np.nansum(values, axis=1) / np.maximum(np.isfinite(values).sum(axis=1), 1)
