"""PRIMO's bounds on the error of ReuseCov (arXiv 2303.04195), with constants
(docs/measurements/primo_bounds.md).

The excess is what a fit's mean squared error on its own rows is above that of least squares W*,

    (||X W - Y||^2 - ||X W* - Y||^2)/(n l),    W = (G + penalty I)^-1 V,

with G the noisy X'X, whose negative eigenvalues count as 0, and V the noisy X'Y. Where the noise of G is
within g (spectral norm) and V within e of X'Y (Frobenius norm), for all data

    excess <= (e + (2 g + penalty) ||W*||)^2/(n l penalty) = 4 ||W*|| (2 g ||W*|| + e)/(n l)

at penalty = 2 g + e/||W*||. The paper leaves constants and logarithms open; these are of that page's proof.
Numbers that are not finite and above 0, and chances not between 0 and 1, are a UsageError everywhere.
"""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

from dpgrs.errors import UsageError
from dpgrs.types import Protection


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The sizes and public bounds that the theorems suppose."""

    n_rows: int  # n
    n_variants: int  # d
    n_outcomes: int  # l
    row_norm: float  # public bound R on the norm of a row of X
    outcome_bound: float  # public bound B on an entry of Y
    # The Frobenius norm of W*: as sqrt(l) for like outcomes. It is private, and so is a penalty that depends
    # on it: only theory may take it.
    weights_norm: float

    def __post_init__(self) -> None:
        _require_positive(**asdict(self))


class Bound(NamedTuple):
    """A bound, and the penalty on the scale of X'X at which it holds; over n it is one per row."""

    excess: float
    penalty: float


def leading_excess(protection: Protection, setting: Setting, *, epsilon: float) -> float:
    """Return the terms of Table 1 with constant 1 and without logarithms: for exponents, no bound.

    - full, ReuseCovGauss: sqrt(d) R ||W*|| (R ||W*||/l + B)/(n epsilon);
    - feature, ReuseCovProj: sqrt(d) R^2 ||W*||^2/(l n epsilon) + d^(1/4) R B ||W*||/sqrt(l n epsilon);
    - label, ReuseCovProj: R B ||W*||/(l^(1/4) sqrt(n epsilon)).
    """
    _require_positive(epsilon=epsilon)
    noised, d, count = setting.n_rows * epsilon, setting.n_variants, setting.n_outcomes
    of_gram = math.sqrt(d) * (setting.row_norm * setting.weights_norm) ** 2 / (count * noised)
    scale = setting.row_norm * setting.outcome_bound * setting.weights_norm
    if protection == Protection.FULL:
        return of_gram + math.sqrt(d) * scale / noised
    if protection == Protection.FEATURE:
        return of_gram + d**0.25 * scale / math.sqrt(count * noised)
    if protection == Protection.LABEL:
        return scale / (count**0.25 * math.sqrt(noised))
    raise UsageError(
        "protection-unknown",
        f"`protection` must be full, feature or label, got {protection}. Take one of them.",
    )


def gauss_excess(setting: Setting, *, gram_sd: float, cross_sd: float, chance: float = 0.05) -> Bound:
    """Bound the excess of ReuseCovGauss (Theorem 1): only Gaussian noise.

        g = 2 s_G (sqrt(d) + sqrt(ln(4/chance))),    e = s_V (sqrt(d l) + sqrt(2 ln(2/chance)))

    s_G and s_V are standard deviations of the noise on an entry of X'X and X'Y. The bound may fail with the
    chance.
    """
    chance = _share(chance, 2)
    return _bound(setting, _gram_error(setting, gram_sd, chance), _cross_error(setting, cross_sd, chance))


def projection_error(
    setting: Setting, *, protection: Protection, cross_sd: float, chance: float = 0.05
) -> float:
    """Bound the squared error of X'Y, all entries together, after its projection (Theorem 2).

        2 n R B sqrt(l) s_V (sqrt(m) + sqrt(2 ln(1/chance)))

    with m = d points that are moved where Y is public, and m = l where X is. It holds for separate balls and
    for the joint one. Without a projection the error is d l s_V^2 in the mean. Under full protection nothing
    is public to project by.
    """
    _require_positive(cross_sd=cross_sd)
    chance = _share(chance, 1)
    moved = {Protection.FEATURE: setting.n_variants, Protection.LABEL: setting.n_outcomes}
    if protection not in moved:
        raise UsageError(
            "protection-unknown",
            f"`protection` must be feature or label, got {protection}. Take one of them.",
        )
    # The radius of the set times the norm of the public matrix: the same, whichever of X and Y is public.
    size = setting.n_rows * setting.row_norm * setting.outcome_bound * math.sqrt(setting.n_outcomes)
    return 2 * size * cross_sd * (math.sqrt(moved[protection]) + math.sqrt(2 * math.log(1 / chance)))


def feature_excess(setting: Setting, *, gram_sd: float, cross_sd: float, chance: float = 0.05) -> Bound:
    """Bound the excess of ReuseCovProj where Y is public (Theorem 3): g of Theorem 1, e^2 of Theorem 2.

    Parameters and result as in `gauss_excess`.
    """
    chance = _share(chance, 2)
    squared = projection_error(setting, protection=Protection.FEATURE, cross_sd=cross_sd, chance=chance)
    return _bound(setting, _gram_error(setting, gram_sd, chance), math.sqrt(squared))


def label_excess(setting: Setting, *, cross_sd: float, chance: float = 0.05) -> Bound:
    """Bound the excess of ReuseCovProj where X is public (Theorem 4): g = 0, e^2 of Theorem 2.

    Parameters and result as in `gauss_excess`.
    """
    squared = projection_error(setting, protection=Protection.LABEL, cross_sd=cross_sd, chance=chance)
    return _bound(setting, 0.0, math.sqrt(squared))


def sketch_excess(
    setting: Setting, *, n_chosen: int, gram_sd: float, cross_sd: float, chance: float = 0.05
) -> Bound:
    """Bound the excess of ReuseCov with X'X of a sample of rows (Theorem 6).

        g = g of Theorem 1 + n R^2 (sqrt(2 L/s) + 2 L/(3 s)),    L = ln(6 d/chance)

    The second term is the error of a sample of s rows, by a matrix Bernstein inequality. The noise of X'X is
    on an entry scaled up to all rows. The bounds on the noise hold with chance/3 each.
    """
    _require_positive(n_chosen=n_chosen)
    chance = _share(chance, 3)
    gram_error = _gram_error(setting, gram_sd, chance)
    share = math.log(2 * setting.n_variants / chance) / n_chosen
    gram_error += setting.n_rows * setting.row_norm**2 * (math.sqrt(2 * share) + 2 * share / 3)
    return _bound(setting, gram_error, _cross_error(setting, cross_sd, chance))


def _gram_error(setting: Setting, sd: float, chance: float) -> float:
    """Bound the spectral norm of symmetric noise; on the diagonal there may be less of it."""
    _require_positive(gram_sd=sd)
    return 2 * sd * (math.sqrt(setting.n_variants) + math.sqrt(math.log(2 / chance)))


def _cross_error(setting: Setting, sd: float, chance: float) -> float:
    """Bound the Frobenius norm of independent noise."""
    _require_positive(cross_sd=sd)
    return sd * (math.sqrt(setting.n_variants * setting.n_outcomes) + math.sqrt(2 * math.log(1 / chance)))


def _bound(setting: Setting, gram_error: float, cross_error: float) -> Bound:
    penalty = 2 * gram_error + cross_error / setting.weights_norm
    return Bound(4 * setting.weights_norm**2 * penalty / (setting.n_rows * setting.n_outcomes), penalty)


def _require_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise UsageError(
                "not-positive", f"`{name}` must be a finite number above 0, got {number}. Correct it."
            )


def _share(chance: float, n_parts: int) -> float:
    """Share a chance among bounds that are all to hold."""
    if not 0 < chance < 1:
        raise UsageError("chance-out-of-range", f"`chance` must be between 0 and 1, got {chance}. Take 0.05.")
    return chance / n_parts
