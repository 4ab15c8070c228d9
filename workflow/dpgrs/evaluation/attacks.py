"""Membership inference: likelihood ratios of a target's having been in the data (docs/attacks.md).

The attacker knows all that is public, a target's genotypes and outcomes, and a reference: people of the same
population who are known to be outside. Scores are larger for likelier members; a person's score is the sum
of the scores of their rows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from dpgrs.linalg.linear_fit import LinearFit, centred_gram, ridge_weights
from dpgrs.types import Rows

# Among these the attacker chooses the penalty, per row, of a fit to the reference.
PENALTIES = np.geomspace(1e-4, 10, 26)
# A row cannot determine its own prediction by more than this.
LARGEST_LEVERAGE = 0.999


@dataclass(frozen=True)
class Reference:
    """People outside the data whom the attacker knows in full, and a ridge regression fitted to them.

    Attributes
    ----------
    X : (n_rows, n_variants) float64, `half` coding.
    Y : (n_outcomes, n_rows) float64, NaN where missing.
    fit : LinearFit, of the penalty with the least leave-one-out error over all outcomes.
    residuals : (n_outcomes, n_rows) float64, the leave-one-out residuals of that fit; NaN where missing.
    """

    X: np.ndarray
    Y: np.ndarray
    fit: LinearFit
    residuals: np.ndarray

    @classmethod
    def of(cls, X, Y):
        """Fit the outcomes of the reference; parameters as the attributes."""
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
        return cls(X, Y, LinearFit(weights, means, intercept), np.where(missing, np.nan, residuals))

    @property
    def gram(self):
        """X'X of the centred rows, (n_variants, n_variants)."""
        centred = self.X - self.fit.means
        return centred.T @ centred


def gram_scores(X, gram, n, reference, *, rows, sigma=0.0):
    """Score targets by the Gaussian likelihood ratio of a released X'X; outcomes play no part.

    Parameters
    ----------
    X : (n_targets, n_variants) float64, `half` coding.
    gram : (n_variants + 1, n_variants + 1) float64 symmetric, exact or noisy, intercept last.
    n : int, rows that were summed, exact or as released.
    reference : Reference
    rows : Rows
    sigma : float, standard deviation of the noise of an entry.

    Returns
    -------
    (n_targets,) float64, log likelihood ratios.
    """
    targets, known = _with_intercept(X), _with_intercept(reference.X)
    m = len(known)
    entries = _Entries.of(known, rows=rows)
    cross = _inner(targets, known, rows=rows)
    # Inner products of deviations from the reference's mean, of every target and of every row known ...
    K_t = cross - cross.mean(axis=1, keepdims=True) - entries.means + entries.mean
    squares = _squared_norms(targets, rows=rows) - 2 * cross.mean(axis=1) + entries.mean
    # ... with the deviation of the release from what the reference lets expect of it.
    expected = _released(known, gram, rows=rows).mean() - n * entries.mean
    b_t = _released(targets, gram, rows=rows) - n * cross.mean(axis=1) - expected
    b_r = _released(known, gram, rows=rows) - n * entries.means - expected
    spread = _spread(n, m)
    alpha = spread * (1 - entries.shrinkage) / m
    beta = spread * entries.shrinkage * entries.variance + sigma**2
    if beta == 0:  # nothing varies and nothing was added
        return np.zeros(len(X))
    # C = alpha Phi'Phi + beta I, inverted on the m rows that are known (Woodbury).
    factor = cho_factor(alpha * entries.K + beta * np.eye(m))
    linear = b_t - alpha * K_t @ cho_solve(factor, b_r)
    quadratic = squares - alpha * (K_t * cho_solve(factor, K_t.T).T).sum(axis=1)
    return (linear - quadratic / 2) / beta


def statistics_scores(X, Y, gram, cross, n, reference, *, rows, gram_sigma=0.0, cross_sigma=0.0):
    """Score targets by released X'X and X'Y: the residuals of the fit that the attacker makes of them.

    X'X is averaged with what the reference lets expect, each weighted by its precision. The fit has the
    penalty cross_sigma^2/n, at which the contribution of one row stands out most from the noise.

    Parameters
    ----------
    X, Y : (n_targets, n_variants), (n_outcomes, n_targets) float64, NaN where an outcome is missing.
    gram : (n_variants + 1, n_variants + 1) float64 symmetric, exact or noisy, intercept last.
    cross : (n_outcomes, n_variants) float64, exact and centred, or noisy.
    n : int
    reference : Reference
    rows : Rows
    gram_sigma, cross_sigma : float, standard deviation of the noise of an entry.

    Returns
    -------
    (n_targets,) float64
    """
    m = len(reference.X)
    variance = _Entries.of(_with_intercept(reference.X), rows=rows).variance * _spread(n, m)
    trust = variance / (variance + gram_sigma**2) if variance > 0 else 1.0
    G_c, means = centred_gram(gram, n)
    G_c = trust * G_c + (1 - trust) * n / m * reference.gram
    means = trust * means + (1 - trust) * reference.fit.means
    penalty = cross_sigma**2 / n
    fit = LinearFit(ridge_weights(G_c, cross, n, penalty=penalty), means, np.zeros(len(cross)))
    leverage = _leverage(X - means, G_c, n, penalty=penalty) + 1 / n
    return residual_scores(X, Y, fit, leverage, reference)


def weights_scores(X, Y, fit, n, reference, *, penalty):
    """Score targets by released weights alone: the residuals of the fit, with the leverage estimated.

    Parameters
    ----------
    X, Y : (n_targets, n_variants), (n_outcomes, n_targets) float64, NaN where an outcome is missing.
    fit : LinearFit, as released, for the first outcomes of `Y`.
    n : int, rows that were fitted.
    reference : Reference
    penalty : float, per row, of the fit; 0 for least squares.

    Returns
    -------
    (n_targets,) float64
    """
    leverage = _expected_leverage(X, n, reference, penalty=penalty)
    return residual_scores(X, Y, fit, leverage + 1 / n, reference)


def residual_scores(X, Y, fit, leverage, reference):
    """Score targets by the Gaussian likelihood ratio of two residuals: of the fit, and of the reference's.

    With (r, q) ~ N(0, S) for people outside, a member's pair is distributed as ((1 - leverage) r, q): the
    leave-one-out identity of least squares and ridge regression. S is that of the reference.

    Parameters
    ----------
    X, Y : (n_targets, n_variants), (n_outcomes, n_targets) float64, NaN where an outcome is missing.
    fit : LinearFit, for the first n_fitted <= n_outcomes outcomes; the others are not used.
    leverage : (n_targets,) float64, how far a row, if fitted, moves its own prediction.
    reference : Reference

    Returns
    -------
    (n_targets,) float64, log likelihood ratios summed over outcomes.
    """
    count = len(fit.weights)
    Y, known = Y[:count], reference.residuals[:count]
    r = Y - fit.predict(X)
    q = Y - reference.fit.predict(X)[:count]
    r_known = reference.Y[:count] - fit.predict(reference.X)
    S_rr, S_rq, S_qq = (_mean_of_observed(product) for product in (r_known**2, r_known * known, known**2))
    determinant = S_rr * S_qq - S_rq**2
    is_usable = determinant > np.finfo(float).eps * S_rr * S_qq
    inverse = np.divide(1.0, determinant, where=is_usable, out=np.zeros_like(determinant))
    remaining = 1 - np.clip(leverage, 0.0, LARGEST_LEVERAGE)
    own = (S_qq * inverse) @ np.nan_to_num(r**2) * (1 / remaining**2 - 1)
    joint = (-S_rq * inverse) @ np.nan_to_num(r * q) * (1 / remaining - 1)
    n_used = is_usable.astype(float) @ np.isfinite(r)
    return -own / 2 - joint - n_used * np.log(remaining)


def advantage_bound(mu):
    """Return the largest TPR - FPR of any attack on a mu-GDP release: 2 Phi(mu/2) - 1."""
    return 2 * ndtr(mu / 2) - 1


def true_positive_bound(mu, fpr):
    """Return the largest TPR at a given FPR of any attack on a mu-GDP release: Phi(Phi^-1(fpr) + mu)."""
    return ndtr(ndtri(fpr) + mu)


def area_bound(mu):
    """Return the largest area under the ROC curve of any attack on a mu-GDP release: Phi(mu/sqrt(2))."""
    return ndtr(mu / np.sqrt(2))


@dataclass(frozen=True)
class _Entries:
    """The released entries of z z' over the rows of a reference: their moments, by inner products alone.

    Attributes
    ----------
    means : (m,), mean inner product of every row's entries with those of all rows.
    mean : float, their mean.
    K : (m, m), inner products of the deviations from the mean.
    variance : float, mean variance of an entry.
    shrinkage : float in [0, 1], of the covariance towards variance * I (Ledoit and Wolf 2004).
    """

    means: np.ndarray
    mean: float
    K: np.ndarray
    variance: float
    shrinkage: float

    @classmethod
    def of(cls, Z, *, rows):
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
        return cls(means, means.mean(), K, variance, shrinkage)


def _with_intercept(X):
    return np.column_stack([X, np.full(len(X), 0.5)])


def _inner(A, B, *, rows):
    """Return, for every two rows a and b, the inner product of the released entries of a a' and b b'.

    Haplotypes: the strict upper triangle. People: the upper triangle; the intercept's own entry, which is not
    released, is the same for all and drops out.
    """
    return ((A @ B.T) ** 2 + _diagonal_sign(rows) * A**2 @ (B**2).T) / 2


def _squared_norms(A, *, rows):
    return ((A**2).sum(axis=1) ** 2 + _diagonal_sign(rows) * (A**4).sum(axis=1)) / 2


def _released(A, gram, *, rows):
    """Return, for every row a, the inner product of the released entries of a a' and of `gram`."""
    return ((A @ gram * A).sum(axis=1) + _diagonal_sign(rows) * A**2 @ np.diag(gram)) / 2


def _diagonal_sign(rows):
    return -1 if Rows(rows) == Rows.HAPLOTYPES else 1


def _spread(n, m):
    """Variance of a sum over n rows about n times the mean of m others, in units of the variance of a row."""
    return n * (1 + n / m)


def _leverage(X_c, G_c, n, *, penalty):
    """Return x'(G_c + n penalty I)^-1 x of every row x."""
    return (ridge_weights(G_c, X_c, n, penalty=penalty) * X_c).sum(axis=1)


def _expected_leverage(X, n, reference, *, penalty):
    """Guess the leverage of rows among n of the population, whose X'X is not known.

    The mean is that of the reference, times m/n. About it, h/(1 - h) varies as the leverage of a row that is
    added to the reference.
    """
    m, means = len(reference.X), reference.fit.means
    known = np.minimum(_leverage(reference.X - means, reference.gram, m, penalty=penalty), LARGEST_LEVERAGE)
    mean = min(known.sum() / n, LARGEST_LEVERAGE)
    if mean <= 0:  # nothing varies
        return np.zeros(len(X))
    relative = _leverage(X - means, reference.gram, m, penalty=penalty) / (known / (1 - known)).mean()
    odds = mean / (1 - mean) * relative
    return odds / (1 + odds)


def _mean_of_observed(values):
    """Return the mean of each row over what is not NaN; 0 where nothing is left."""
    return np.nansum(values, axis=1) / np.maximum(np.isfinite(values).sum(axis=1), 1)
