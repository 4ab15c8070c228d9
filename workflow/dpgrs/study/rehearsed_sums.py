"""Draws from sums, rehearsed on few variants: their events follow for any number."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dpgrs.methods.genome_sums import LARGEST_JOINT_NORM
from dpgrs.methods.reusecov import n_noisy_entries
from dpgrs.privacy.accounting.events import Event, GaussianEvent
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.sources import Rehearsal, RequestPart
from dpgrs.study.array_sizes import MOST_VARIANTS

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics

# No X'X of more variants, and no sums of more directions, are made.
MOST_REHEARSED = 512
# The epsilon at which few variants are rehearsed: noise that all have in its range may be beyond it for few.
AMPLE = 1.0
# The share of the budget that each statistic has, by its name in events.
BUDGET_NAMES = {
    "count": "count",
    "outcome counts": "observed",
    "case counts": "cases",
    "gram": "gram",
    "cross product": "cross",
    "genome sums": "cross",
    "genome moments": "moments",
}


def rehearsed_sums(
    mechanism: "SharedStatistics", request: "PrivacyRequest", n_outcomes: int
) -> Mapping[RequestPart, list[Event]]:
    """Return the events of a mechanism that draws from sums, by part; noise out of its range is refused."""
    rehearsal = Rehearsal()
    # Zeros have no map, by which second moments have a smaller norm.
    is_few = request.n_variants > MOST_REHEARSED or getattr(request, "moment_norm", None) is not None
    # AdaSSP's eigenvalue has a grid that depends on the number of variants, of which it takes few.
    is_few &= "eigenvalue" not in mechanism.draws["genotypes"]
    rehearsed = _of_few_variants(request) if is_few else request
    mechanism.draw(**mechanism.zeros(rehearsed, n_outcomes), request=rehearsed, noise=rehearsal)
    terms = mechanism.terms(request)
    return {
        request_part: [_event_of_all_variants(event, terms) if is_few else event for event, _ in draws]
        for request_part, draws in rehearsal.draws.items()
    }


def _of_few_variants(request: "PrivacyRequest") -> "PrivacyRequest":
    sizes = ("n_variants", "n_directions")
    few = {name: min(getattr(request, name), MOST_REHEARSED) for name in sizes if hasattr(request, name)}
    few |= {"moment_norm": LARGEST_JOINT_NORM} if getattr(request, "moment_norm", None) is not None else {}
    return replace(request, **few, epsilon=AMPLE)


def _event_of_all_variants(event: GaussianEvent, terms: "PrivacyRequest") -> GaussianEvent:
    """Return the event of a statistic that was rehearsed on fewer variants than the terms have."""
    name = BUDGET_NAMES[event.statistic]
    claims = {"gram": terms.gram_claim, "cross": terms.cross_claim}
    if name == "moments":
        claims["moments"] = terms.moment_claim
    entries = {"gram": n_noisy_entries(terms), "cross": terms.n_outcomes * terms.n_columns}
    # At most as many as if all variants of the largest blocks had a direction each.
    entries["moments"] = terms.n_variants * (min(terms.n_variants, MOST_VARIANTS) + 1) // 2
    mu, sensitivity = float(terms.budget[name]), claims.get(name, event.sensitivity)
    sigma = scale_of(sensitivity, share=mu, norm=GaussianEvent.norm, step=event.step, name=event.statistic)
    changed = {"mu": mu, "sigma": sigma, "sensitivity": sensitivity}
    return replace(event, **changed, entries=entries.get(name, event.entries))
