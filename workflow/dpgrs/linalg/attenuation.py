"""How much clips attenuate outcomes, from public constants only (docs/explanation/methods.md).

Linear effects on an outcome y of mean 0 are seen through its clip g at E[y g]/E[y^2] of their size:
of 0/1 outcomes exactly, whose clip is a line through two points, and of normal ones where effects are small,
by Stein's lemma. A fit that divides X'Y by it is not attenuated.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.norms import budget_groups

# Points of the law of the squared norm of a row, and of half a normal law.
N_POINTS, N_NODES = 4096, 200
# Standard deviations, beyond which an outcome has 1e-4 of its variance.
LARGEST_NORMAL = 4.5


def clip_slopes(
    # (n_outcomes,) float64, public, of 0/1 outcomes; NaN for normal ones. All are standardised.
    prevalence: np.ndarray,
    *,
    bound: float,  # > 0, at which every outcome is clipped
    # > 0, at which a row of the outcomes of one budget is clipped after that; None clips no row.
    norm: float | None,
    n_shared: int,  # outcomes that share a budget
    # (n_outcomes,) float64 > 0, of normal outcomes that are less than standardised; None for 1 of all.
    deviations: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return the slope of each clipped outcome on the outcome itself.

    Outcomes are taken as independent of each other and as known of all people: those that go together are
    attenuated more, and those of which others are missing less.

    The result is (n_outcomes,) float64 in (0, 1]. It raises UsageError if a prevalence is not between 0 and
    1.
    """
    options = {"bound": bound, "norm": norm, "n_shared": n_shared, "deviations": deviations}
    return _expected(prevalence, _Law.slope, **options)


def clip_moments(
    prevalence: np.ndarray,
    *,
    bound: float,
    norm: float | None,
    n_shared: int,
    deviations: np.ndarray | None = None,
) -> np.ndarray:
    """Return the slope and the mean square E[g(y)^2] of each clipped outcome, for standard errors.

    Parameters and errors as of `clip_slopes`, whose grid wide bounds make coarse: here normal outcomes are
    bounded at `LARGEST_NORMAL`, which changes less than that.

    The result is (2, n_outcomes) float64 in (0, 1].
    """
    options = {"bound": bound, "norm": norm, "n_shared": n_shared, "deviations": deviations}
    options["largest"] = LARGEST_NORMAL
    return np.array([_expected(prevalence, mean, **options) for mean in (_Law.slope, _Law.square)])


def _expected(
    prevalence: np.ndarray,
    mean: Callable,
    *,
    bound: float,
    norm: float | None,
    n_shared: int,
    deviations: np.ndarray | None,
    largest: float = math.inf,
) -> np.ndarray | None:
    """Return a mean of each outcome's law, `mean` of it and of how its values are shrunk."""
    prevalence = np.asarray(prevalence, dtype=np.float64)
    wrong = prevalence[~np.isnan(prevalence) & ~((prevalence > 0) & (prevalence < 1))]
    if wrong.size:
        raise UsageError(
            "prevalence-out-of-range", f"A prevalence must be between 0 and 1, got {wrong[0]}. Correct it."
        )
    deviations = np.ones(len(prevalence)) if deviations is None else deviations
    normal = {sd: _normal(min(bound, largest * sd), sd) for sd in set(deviations.tolist())}
    means = np.empty(len(prevalence))
    for group in budget_groups(len(prevalence), n_shared=n_shared):
        pairs = zip(prevalence[group], deviations[group].tolist(), strict=True)
        laws = [normal[sd] if math.isnan(p) else _binary(p, bound) for p, sd in pairs]
        means[group] = _means(laws, math.inf if norm is None else norm, mean)
    return means


class _Law(NamedTuple):
    """An outcome: the values that it takes, up to their sign, with their shares, and those values clipped."""

    shares: np.ndarray
    values: np.ndarray
    clipped: np.ndarray
    variance: float = 1.0

    @property
    def squares(self) -> np.ndarray:
        return self.clipped**2

    def points(self, step: float) -> np.ndarray:
        """Return the law of the clipped square on a grid, which keeps its mean."""
        positions, fractions = np.divmod(self.squares / step, 1.0)
        below = np.minimum(positions.astype(np.int64), N_POINTS - 2)
        fractions += positions - below
        masses = np.bincount(below, self.shares * (1 - fractions), N_POINTS)
        return masses + np.bincount(below + 1, self.shares * fractions, N_POINTS)

    def slope(self, shrinkage: Callable[[int], np.ndarray]) -> float:
        """Return E[y g(y)]/E[y^2], given a function of a power to each value's mean shrinkage to it."""
        return float((self.shares * self.values * self.clipped) @ shrinkage(1)) / self.variance

    def square(self, shrinkage: Callable[[int], np.ndarray]) -> float:
        """Return E[g(y)^2], likewise."""
        return float((self.shares * self.squares) @ shrinkage(2))


def _binary(prevalence: float, bound: float) -> _Law:
    odds = math.sqrt(prevalence / (1 - prevalence))
    values = np.array([odds, 1 / odds])
    return _Law(np.array([1 - prevalence, prevalence]), values, np.minimum(values, bound))


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on [-1, 1], which take an eigendecomposition to find."""
    return np.polynomial.legendre.leggauss(N_NODES)


def _normal(bound: float, deviation: float = 1.0) -> _Law:
    """Return a normal law of a standard deviation: nodes within the bound, and all that is beyond it."""
    nodes, weights = _quadrature()
    limit = bound / deviation
    values = (nodes + 1) * limit / 2
    shares = np.sqrt(2 / np.pi) * np.exp(-(values**2) / 2) * weights * limit / 2
    beyond = math.erfc(limit / math.sqrt(2))
    # E |y| beyond the bound, which may be too rare for floats.
    mean = math.sqrt(2 / math.pi) * math.exp(-(limit**2) / 2) / beyond if beyond else limit
    values, clipped = (deviation * np.append(values, last) for last in (mean, limit))
    return _Law(np.append(shares, beyond), values, clipped, deviation**2)


def _means(laws: list[_Law], norm: float | None, mean: Callable) -> list[float]:
    """Return a mean of each of the outcomes that are shrunk together."""
    largest = sum(law.squares.max() for law in laws)
    if norm**2 >= largest:
        return [mean(law, lambda power, law=law: np.ones_like(law.shares)) for law in laws]
    step = largest / (N_POINTS - 1)
    # An outcome is shrunk with its row: the law of the squares of all others is a product of transforms.
    transforms = [np.fft.rfft(law.points(step)) for law in laws]
    before, after = [1.0], [1.0]
    for first, last in zip(transforms, transforms[::-1], strict=True):
        before.append(before[-1] * first)
        after.append(after[-1] * last)
    squares, means = step * np.arange(N_POINTS), []
    for number, law in enumerate(laws):
        product = before[number] * after[len(laws) - 1 - number] * np.ones_like(transforms[0])
        other_shares = np.fft.irfft(product, N_POINTS)
        means.append(mean(law, partial(_mean_shrinkage, law.squares, other_shares, squares, norm)))
    return means


def _mean_shrinkage(
    law_squares: np.ndarray, other_shares: np.ndarray, squares: np.ndarray, norm: float | None, power: int
) -> np.ndarray:
    """Return by how much rows with an outcome of some square are shrunk, to a power, on average."""
    shares = other_shares[other_shares > 1e-12]
    rows = law_squares[:, np.newaxis] + squares[other_shares > 1e-12]
    return np.minimum(1, norm / np.sqrt(np.maximum(rows, norm**2))) ** power @ shares / shares.sum()
