"""The naive baseline: every outcome pays for a Gram matrix of its own (docs/baselines.md)."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq

from dpgrs.errors import UsageError
from dpgrs.privacy.accountant import paper_noise_multiplier, split_budget
from dpgrs.regression.linear_fit import LinearFit
from dpgrs.regression.requests import PrivacyRequest
from dpgrs.regression.reusecov import NoisyStatistics, private_count, private_cross_product, private_gram
from dpgrs.types import Accounting

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
        """The mu of the ``count``, drawn once, and of ``gram`` and ``cross`` of every fit, a dict."""
        count = self.count_share if self.has_private_count else 0.0
        of_a_fit = (self.share_of_gram, 1 - self.share_of_gram)
        if Accounting(self.accounting) == Accounting.GDP:
            parts = [(1 - count) * share / self.n_fits for share in of_a_fit]
            terms = {"shares": (count, *parts * self.n_fits), "accounting": self.accounting}
            return _named(split_budget(self.epsilon, self.delta, **terms)[:3])
        paid = math.sqrt(count) / sum(
            map(math.sqrt, (count, (1 - count) * of_a_fit[0], (1 - count) * of_a_fit[1]))
        )
        mus = split_budget(
            *_even_part((1 - paid) * self.epsilon, (1 - paid) * self.delta, self.n_fits),
            shares=of_a_fit,
            accounting=self.accounting,
        )
        mu_count = 1 / paper_noise_multiplier(paid * self.epsilon, paid * self.delta) if paid else 0.0
        return _named((mu_count, *mus))


@dataclass(frozen=True)
class SeparateFits:
    """What the separate fits give and cost.

    Attributes
    ----------
    fit : LinearFit, with means of 0, since every outcome has noisy means of its own.
    shared_events : tuple of GaussianEvent, drawn once: the count, under add-remove.
    outcome_events : tuple of GaussianEvent of one outcome: its X'X and its X'y.
    n_outcomes : int, how often `outcome_events` were drawn.
    """

    fit: LinearFit
    shared_events: tuple
    outcome_events: tuple
    n_outcomes: int

    @property
    def events(self):
        """All draws, a tuple of GaussianEvent."""
        return self.shared_events + self.outcome_events * self.n_outcomes


@lru_cache(maxsize=256)
def separate_request(request):
    """Return the terms of one fit, for a PrivacyRequest of all outcomes that share a budget; kept."""
    return SeparateRequest(**asdict(request) | {"n_outcomes": 1}, n_fits=request.n_outcomes)


def private_separate_fits(gram, cross, n_rows, *, request, noise, fit, outcome_names=None):
    """Fit every outcome from an X'X and an X'y with noise of their own, one after the other.

    Parameters
    ----------
    gram, cross, n_rows, request, noise, outcome_names : as in `private_statistics`. The count is drawn in the
        part ``genotypes``, and all else in ``outcomes`` with the outcome's name.
    fit : function NoisyStatistics of one outcome -> LinearFit, post-processing such as `fit_reusecov` with
        its penalty.

    Returns
    -------
    SeparateFits

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_count` (docs/proofs/count.md), and of
    `private_gram` (docs/proofs/gram.md) and `private_cross_product` (docs/proofs/cross_product.md) once for
    every outcome, one GaussianEvent each, is (epsilon, delta)-DP for the outcomes of one budget. Public: all
    of the request; n under replace-one. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request.
    """
    names = outcome_names or [str(number) for number in range(len(cross))]
    _require_shapes(gram, cross, request)
    terms, shared = separate_request(request), []
    if terms.has_private_count:
        n_rows, event = private_count(n_rows, request=terms, noise=noise.of("genotypes"))
        shared.append(event)
    weights, at_zero = np.empty((len(cross), request.n_variants)), np.empty(len(cross))
    for number, name in enumerate(names):
        options = {"request": terms, "noise": noise.of("outcomes", name)}
        noisy_gram, gram_event = private_gram(gram, n_rows, **options)
        noisy_cross, cross_event = private_cross_product(cross[number : number + 1], **options)
        events = (gram_event, cross_event)
        one = fit(NoisyStatistics(noisy_gram, noisy_cross, n_rows, events))
        weights[number] = one.weights[0]
        at_zero[number] = one.intercept[0] - one.weights[0] @ one.means
    means = np.zeros(request.n_variants)
    return SeparateFits(LinearFit(weights, means, at_zero), tuple(shared), events, len(cross))


def _require_shapes(gram, cross, request):
    size = request.n_variants + 1
    if gram.shape != (size, size) or cross.shape[1] != size or len(cross) % request.n_outcomes:
        raise UsageError(
            f"The statistics must be of {request.n_variants} variants and {request.n_outcomes} outcomes a "
            f"budget, got {len(gram) - 1} and {len(cross)}. Recompute them for this study."
        )


def _named(mus):
    return dict(zip(("count", "gram", "cross"), mus, strict=True))


def _even_part(epsilon, delta, times):
    """Return the (epsilon, delta) of one of several equal mechanisms that compose to a whole.

    The better of basic and of advanced composition [1]_, as the PRIMO paper composes its baseline: k
    mechanisms of (e, delta/(2 k)) are together (sqrt(2 k ln(2/delta)) e + k e (exp(e) - 1), delta)-DP.

    References
    ----------
    .. [1] Dwork, Rothblum, Vadhan (2010). Boosting and differential privacy. FOCS.
    """
    slope = math.sqrt(2 * times * math.log(2 / delta))

    def excess(part):
        return slope * part + times * part * math.expm1(part) - epsilon

    # The root is found to a relative error of 1e-12 and rounded down by more.
    root = brentq(excess, 0.0, min(2 * epsilon / slope, _LARGEST_ADVANCED), xtol=1e-300, rtol=1e-12)
    candidates = [(epsilon / times, delta / times), (root * (1 - 1e-9), delta / (2 * times))]
    return min(candidates, key=lambda part: paper_noise_multiplier(*part))
