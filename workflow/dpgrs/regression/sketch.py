"""Sketched ReuseCov (PRIMO, Algorithm 4): X'X from a secret sample of the rows, which costs less.

Replace-one only. The loss of the sampled step is no mu-GDP, so the two steps compose by adding up their
(epsilon, delta) (docs/proofs/sketch.md).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgrs.bits import pack, unpack
from dpgrs.errors import UsageError
from dpgrs.privacy.accountant import LARGEST_EPSILON, gdp_mu, paper_noise_multiplier
from dpgrs.regression.requests import PrivacyRequest
from dpgrs.regression.reusecov import private_gram
from dpgrs.regression.statistics import VARIANT_BLOCK, gram
from dpgrs.types import Accounting, Neighbours, Rows, Unit

# A base mechanism of a larger delta would promise next to nothing; a smaller delta is only safer.
LARGEST_BASE_DELTA = 0.5
# Relative, far above the rounding errors of the formulas here.
MARGIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class SketchRequest(PrivacyRequest):
    """The terms of sketched ReuseCov.

    Attributes
    ----------
    n_units : int, public under replace-one: people, or haplotypes where they are the unit.
    n_chosen : int in [1, n_units], units in the sample.

    Raises
    ------
    UsageError
        Under add-remove, or for a sample of another size, and as `PrivacyRequest`.
    """

    n_units: int
    n_chosen: int

    def __post_init__(self):
        super().__post_init__()
        if Neighbours(self.neighbours) != Neighbours.REPLACE_ONE:
            raise UsageError(
                f"`privacy.neighbours` must be {Neighbours.REPLACE_ONE} for a sketch, got {self.neighbours}. "
                "Change it, or use reusecov."
            )
        if not 1 <= self.n_chosen <= self.n_units:
            raise UsageError(
                f"The sample must be of 1 to {self.n_units} units, got {self.n_chosen}. Change its size."
            )

    @property
    def sampling_rate(self):
        """The chance of a unit to be in the sample, a float."""
        return self.n_chosen / self.n_units

    @cached_property
    def shares(self):
        """The (epsilon, delta) of ``gram`` and ``cross``, a dict: cut as `split_budget` does for `paper`."""
        roots = math.sqrt(self.share_of_gram), math.sqrt(1 - self.share_of_gram)
        cuts = [root / sum(roots) * (1 - MARGIN) for root in roots]
        return {
            name: (cut * self.epsilon, cut * self.delta)
            for name, cut in zip(("gram", "cross"), cuts, strict=True)
        }

    @cached_property
    def budget(self):
        """The mu of ``cross``, and of ``gram`` as if its sample were public, a dict."""
        base = base_terms(*self.shares["gram"], sampling_rate=self.sampling_rate)
        return {"gram": self._mu(*base), "cross": self._mu(*self.shares["cross"])}

    def _mu(self, epsilon, delta):
        if Accounting(self.accounting) == Accounting.GDP:
            return gdp_mu(epsilon, delta)
        return 1 / paper_noise_multiplier(epsilon, delta)


def base_terms(epsilon, delta, *, sampling_rate):
    """Return the (epsilon, delta) that a mechanism may have on a sample, to have the one given on the whole.

    A mechanism of (epsilon0, delta0) on a uniform sample without replacement of a share q of the units is
    (log(1 + q (exp(epsilon0) - 1)), q delta0)-DP under replace-one [1]_.

    Parameters
    ----------
    epsilon : float > 0
    delta : float in (0, 1)
    sampling_rate : float in (0, 1], q.

    Returns
    -------
    epsilon0, delta0 : float, rounded down; at most `LARGEST_EPSILON` and `LARGEST_BASE_DELTA`, or delta if
        that is larger.

    References
    ----------
    .. [1] Balle, Barthe, Gaboardi (2018). Privacy amplification by subsampling. NeurIPS. arXiv 1807.01647.

    Examples
    --------
    >>> epsilon0, delta0 = base_terms(0.5, 5e-7, sampling_rate=0.1)
    >>> round(epsilon0, 3), round(delta0, 9)
    (2.013, 5e-06)
    """
    q = sampling_rate
    # log(1 + (exp(epsilon) - 1)/q), without overflow.
    epsilon0 = epsilon - math.log(q) + math.log1p((q - 1) * math.exp(-epsilon))
    delta0 = max(delta, min(delta / q, LARGEST_BASE_DELTA))
    return min(max(epsilon, epsilon0 * (1 - MARGIN)), LARGEST_EPSILON), delta0 * (1 - MARGIN)


def sketched_gram(bits, is_row_chosen, *, n_haplotypes, rows, n_threads=1):
    """Sum t t' over the chosen rows alone: the others cost no time in the product.

    Parameters
    ----------
    bits : (n_variants, n_words) uint64
    is_row_chosen : (n_rows,) bool
    n_haplotypes, rows, n_threads : as in `dpgrs.regression.statistics.gram`.

    Returns
    -------
    (n_variants + 1, n_variants + 1) int64 symmetric, in units of `GRAM_STEP`, the intercept last.
    """
    chosen = is_row_chosen if Rows(rows) == Rows.HAPLOTYPES else np.repeat(is_row_chosen, 2)
    blocks = [bits[start : start + VARIANT_BLOCK] for start in range(0, len(bits), VARIANT_BLOCK)]
    sample = np.vstack([pack(unpack(block, n_haplotypes)[:, chosen]) for block in blocks])
    return gram(sample, n_haplotypes=int(chosen.sum()), rows=rows, n_threads=n_threads)


def private_sketched_gram(bits, is_unit_chosen, *, n_haplotypes, request, noise, n_threads=1):
    """Release X'X of a sample with noise, scaled up to all rows.

    Parameters
    ----------
    bits : (n_variants, n_words) uint64
    is_unit_chosen : (n_units,) bool, a secret uniform sample without replacement. A person is in it with both
        haplotypes or not at all.
    n_haplotypes, n_threads : as in `sketched_gram`.
    request : SketchRequest
    noise : as in `private_statistics`.

    Returns
    -------
    (n_variants + 1, n_variants + 1) float64 symmetric, and the event.

    Privacy
    -------
    Unit as requested, neighbours replace-one. Sensitivity `gram_sensitivity`, of the sample's sum:
    docs/proofs/gram.md. Event GaussianEvent, as if the sample were public; as it is secret, the step is
    (epsilon, delta)-DP with its part of the request's `shares`: docs/proofs/sketch.md. Public: n and the size
    of the sample. Not covered: relatives, and loss to those who know the sample.

    Raises
    ------
    UsageError
        If the sample is not of the size of the request.
    """
    if len(is_unit_chosen) != request.n_units or np.count_nonzero(is_unit_chosen) != request.n_chosen:
        raise UsageError(
            f"The sample must be {request.n_chosen} of {request.n_units} units, as requested. Draw it again."
        )
    has_two_rows = request.rows == Rows.HAPLOTYPES and request.unit == Unit.PERSON
    is_row_chosen = np.repeat(is_unit_chosen, 2) if has_two_rows else np.asarray(is_unit_chosen)
    exact = sketched_gram(
        bits, is_row_chosen, n_haplotypes=n_haplotypes, rows=request.rows, n_threads=n_threads
    )
    G, event = private_gram(exact, int(is_row_chosen.sum()), request=request, noise=noise)
    return G / request.sampling_rate, event
