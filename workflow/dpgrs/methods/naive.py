"""The naive baseline: every outcome pays for a Gram matrix of its own (docs/explanation/baselines.md)."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import (
    NoisyStatistics,
    fit_reusecov,
    private_count,
    private_cross_product,
    private_gram,
    private_outcome_counts,
    require_counts,
)
from dpgrs.privacy.accounting.accountant import paper_noise_multiplier, split_budget
from dpgrs.types import Accounting

# Entries of all X'X of a release, which are kept: 2 GiB of float64.
# Beyond this epsilon of one fit, advanced composition never beats basic composition.
_LARGEST_ADVANCED = 100.0


@dataclass(frozen=True, kw_only=True)
class SeparateRequest(PrivacyRequest):
    """The terms of one of several separate fits that share a budget: `n_outcomes` is 1.

    Attributes
    ----------
    n_fits : int, outcomes that share (epsilon, delta).
    """

    n_fits: int

    @cached_property
    def budget(self):
        """The mu of the ``count``, drawn once, and of ``observed``, ``gram`` and ``cross`` of every fit."""
        count, observed = self.shares_of_counts
        observed /= 1 - count
        of_a_fit = (
            observed,
            (1 - observed) * self.share_of_gram,
            (1 - observed) * (1 - self.share_of_gram),
        )
        if Accounting(self.accounting) == Accounting.GDP:
            parts = [(1 - count) * share / self.n_fits for share in of_a_fit]
            terms = {"shares": (count, *parts * self.n_fits), "accounting": self.accounting}
            return _named(split_budget(self.epsilon, self.delta, **terms)[:4])
        paid = math.sqrt(count) / sum(map(math.sqrt, (count, *((1 - count) * share for share in of_a_fit))))
        mus = split_budget(
            *even_part((1 - paid) * self.epsilon, (1 - paid) * self.delta, self.n_fits),
            shares=of_a_fit,
            accounting=self.accounting,
        )
        mu_count = 1 / paper_noise_multiplier(paid * self.epsilon, paid * self.delta) if paid else 0.0
        return _named((mu_count, *mus))


@dataclass(frozen=True)
class SeparateStatistics:
    """The statistics of all separate fits: all that follows is post-processing.

    Attributes
    ----------
    gram : (n_outcomes, n_variants + 1, n_variants + 1) float64, the noisy X'X of every outcome.
    cross, n, events, observed, slopes : as in `NoisyStatistics`.
    origin : (n_variants,) float64 or None, as there; the same for all.
    """

    gram: np.ndarray
    cross: np.ndarray
    n: int
    events: tuple = ()
    origin: np.ndarray | None = None
    observed: np.ndarray | None = None
    slopes: np.ndarray | None = None

    def by_outcome(self):
        """Yield the NoisyStatistics of one outcome after the other, without events."""
        for number, (gram, cross) in enumerate(zip(self.gram, self.cross, strict=True)):
            own = {"observed": self.observed, "slopes": self.slopes}
            own = {name: array[number : number + 1] for name, array in own.items() if array is not None}
            yield NoisyStatistics(gram, cross[np.newaxis], self.n, **own)


@lru_cache(maxsize=256)
def separate_request(request):
    """Return the terms of one fit, for a PrivacyRequest of all outcomes that share a budget; kept."""
    return SeparateRequest(**asdict(request) | {"n_outcomes": 1}, n_fits=request.n_outcomes)


def private_separate_statistics(gram, cross, n_rows, *, request, noise, outcome_names=None, observed=None):
    """Release an X'X and an X'y with noise of their own for every outcome, one after the other.

    Parameters
    ----------
    gram, cross, n_rows, request, noise, outcome_names, observed : as in `private_statistics`. The count is
        drawn in the part ``genotypes``, and all else in ``outcomes`` with the outcome's name.

    Yields
    ------
    NoisyStatistics of one outcome, with the events of what is drawn for it; the first has that of the count
    too.

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_count` (docs/proofs/count.md), and of
    `private_outcome_counts`, where outcomes may be missing, `private_gram` (docs/proofs/gram.md,
    docs/proofs/clipped_gram.md) and `private_cross_product` (docs/proofs/cross_product.md) once for every
    outcome, one GaussianEvent each, is (epsilon, delta)-DP for the outcomes of one budget; with several
    budgets the whole costs more (docs/explanation/accounting.md). Public: all of the request; n under
    replace-one. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request, before anything is drawn.
    """
    names = outcome_names or [str(number) for number in range(len(cross))]
    _require_shapes(gram, cross, names, request)
    terms, events = separate_request(request), ()
    if terms.has_private_outcome_counts:
        require_counts(observed, n_outcomes=len(names))
    if terms.has_private_count:
        n_rows, event = private_count(n_rows, request=terms, noise=noise.of("genotypes"))
        events = (event,)
    for number, name in enumerate(names):
        options, own, known = {"request": terms, "noise": noise.of("outcomes", name)}, [number], None
        noisy_gram, event = private_gram(gram, n_rows, **options)
        events = (*events, event)
        if terms.has_private_outcome_counts:
            known, event = private_outcome_counts(observed[own], **options)
            events = (*events, event)
        noisy_cross, event = private_cross_product(cross[own], **options)
        yield NoisyStatistics(noisy_gram, noisy_cross, n_rows, (*events, event), observed=known)
        events = ()


def collect(drawn, n_outcomes):
    """Put the statistics of all outcomes into one.

    Parameters
    ----------
    drawn : iterable of NoisyStatistics of one outcome each, as from `private_separate_statistics`.
    n_outcomes : int, how many there are.

    Returns
    -------
    SeparateStatistics
    """
    grams, crosses, events, known = None, None, [], []
    for number, one in enumerate(drawn):
        if grams is None:
            grams = np.empty((n_outcomes, *one.gram.shape))
            crosses = np.empty((n_outcomes, one.cross.shape[1]))
        grams[number], crosses[number], n = one.gram, one.cross[0], one.n
        events += one.events
        known += [] if one.observed is None else one.observed.tolist()
    observed = np.array(known) if known else None
    return SeparateStatistics(grams, crosses, n, tuple(events), observed=observed)


def fit_separately(drawn, *, penalty, origin=None, is_row_centred=False):
    """Fit every outcome from statistics of its own, as `fit_reusecov` does.

    Parameters
    ----------
    drawn : iterable of NoisyStatistics of one outcome each.
    penalty : float >= 0, per row.
    origin : (n_variants,) float64 or None, as in `NoisyStatistics`.
    is_row_centred : bool, whether rows were centred by their own mean, as in the PRIMO paper.

    Returns
    -------
    LinearFit, whose means are of each outcome.

    Privacy
    -------
    Post-processing: costs nothing, if `penalty` is public.
    """
    fits = [fit_reusecov(noisy, penalty=penalty, keeps_negative=is_row_centred) for noisy in drawn]
    together = LinearFit(
        weights=np.concatenate([fit.weights for fit in fits]),
        means=np.array([fit.means for fit in fits]),
        intercept=np.concatenate([fit.intercept for fit in fits]),
    )
    return together.of_centred_rows() if is_row_centred else together.in_half_coding(origin)


def _require_shapes(gram, cross, names, request):
    size = request.n_columns + 1
    if (
        gram.shape != (size, size)
        or cross.shape != (len(names), size)
        or len(cross) % request.n_outcomes
        or not len(cross)
    ):
        raise UsageError(
            f"The statistics must be of {request.n_columns} variants and {request.n_outcomes} outcomes a "
            f"budget, got {len(gram) - 1} and {len(cross)}. Recompute them for this study."
        )


def _named(mus):
    return dict(zip(("count", "observed", "gram", "cross"), mus, strict=True))


def even_part(epsilon, delta, times):
    """Return the (epsilon, delta) of one of several equal mechanisms that compose to a whole.

    The better of basic and of advanced composition [1]_, as the PRIMO paper composes its baseline: k
    mechanisms of (e, delta/(2 k)) are together (sqrt(2 k ln(2/delta)) e + k e (exp(e) - 1), delta)-DP.

    References
    ----------
    .. [1] Dwork, Rothblum, Vadhan (2010). Boosting and differential privacy. FOCS.
    """
    from scipy.optimize import brentq  # takes 0.4 s, which most steps do without

    slope = math.sqrt(2 * times * math.log(2 / delta))

    def excess(part):
        return slope * part + times * part * math.expm1(part) - epsilon

    # The root is found to a relative error of 1e-12 and rounded down by more.
    root = brentq(excess, 0.0, min(2 * epsilon / slope, _LARGEST_ADVANCED), xtol=1e-300, rtol=1e-12)
    candidates = [(epsilon / times, delta / times), (root * (1 - 1e-9), delta / (2 * times))]
    return min(candidates, key=lambda part: paper_noise_multiplier(*part))
