"""What a release draws after its first draw: it is refused before the first is charged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.linalg.genome_moments import MOMENT_STEP
from dpgrs.methods.genome_sums import GenomeRequest
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.events import Event, GaussianEvent
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.charging import orders_of
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.fit_identity import fit_settings, weights_origin
from dpgrs.study.release_cost import later_cost
from dpgrs.study.requests import requests_of
from dpgrs.study.training_data import TrainingData
from dpgrs.types import Metrics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.ledger.entries import Account
    from dpgrs.privacy.ledger.ledger import Book
    from dpgrs.study.draws import Draw

MOST_REHEARSED = 512  # variants or directions: scales of the noise of more are checked apart


@dataclass(frozen=True)
class LaterRequest:
    """The request for statistics of outcomes that a regression on covariates adjusts first."""

    mechanism: "SharedStatistics"
    request: "PrivacyRequest"
    n_outcomes: int


def after_regression(planned_draw: "Draw") -> LaterRequest:
    """Return the statistics that are drawn after a regression, as far as they are known before it."""
    settings, data = planned_draw.settings, planned_draw.data
    outcomes, variant_set = data.outcomes, data.variant_set
    method, counts = settings.methods[0], outcomes.drawn_counts(settings.outcomes.count)
    ((request, count),) = requests_of(settings, rows=outcomes.rows, counts=counts)
    mechanism = mechanism_of(method)
    if "moments" not in mechanism.draws["genotypes"]:
        request = replace(request, ld_share=None)
    options = {"method": method, "n_outcomes": count, "settings": settings}
    if METHODS[method].takes_map:
        # A step that runs by itself may have no map.
        request = mechanism.asked(request, data=data, **options) if data.has_ld else mechanism.terms(request)
        return LaterRequest(mechanism, request, count)
    nobody = exact_statistics(settings, variant_set, outcomes, without_gram=True, people=slice(0, 0))
    columns = TrainingData(outcomes, statistics=nobody, variant_set=variant_set)
    return LaterRequest(mechanism, mechanism.asked(request, data=columns, **options), count)


def later_statistics(
    planned_draw: "Draw",
    later: LaterRequest | None,  # None without a regression on covariates
    settings: "StudyConfig | None",  # all of the study; None for a step that runs by itself
) -> list[str]:
    """Return the names of the statistics that are drawn after a draw; noise out of its range is refused."""
    rehearsal, statistics, data = Rehearsal(), [], planned_draw.data
    if later is not None:
        mechanism, request, names = later.mechanism, later.request, data.outcomes.drawn_names
        if {"statistics", "chromosomes"}.isdisjoint(mechanism.takes):
            options = {"data": data, "names": names[: later.n_outcomes], "settings": planned_draw.settings}
            mechanism.draw(**mechanism.exact(request, **options), noise=rehearsal)
        else:
            # The grid of an eigenvalue depends on the number of variants.
            few = request if "eigenvalue" in mechanism.draws["genotypes"] else _of_few_variants(request)
            mechanism.draw(**mechanism.zeros(few, later.n_outcomes), request=few, noise=rehearsal)
            _require_scales(request, [event for event, _ in chain(*rehearsal.draws.values())])
        if isinstance(request, GenomeRequest):
            statistics += _genome_statistics(request)
    if settings is not None and settings.evaluation.metrics == Metrics.CHARGED:
        request = planned_draw.request if later is None else later.request
        accuracy = AccuracyRequest.of(request, settings.evaluation)
        _rehearse_accuracy(accuracy, planned_draw.names, rehearsal)
    return statistics + [event.statistic for event, _ in chain(*rehearsal.draws.values())]


def _of_few_variants(request: "PrivacyRequest") -> "PrivacyRequest":
    """Return a request of few variants, without second moments, of which the map decides."""
    few = {
        name: min(getattr(request, name), MOST_REHEARSED)
        for name in ("n_variants", "n_directions")
        if hasattr(request, name)
    }
    return replace(request, **few, ld_share=None)


def _require_scales(request: "PrivacyRequest", events: Sequence[Event]) -> None:
    """Refuse noise of X'X or X'Y out of the range of its grid, where all variants are drawn for."""
    claims = {"gram": ("gram", "gram_claim"), "cross product": ("cross", "cross_claim")}
    for event in events:
        if event.statistic in claims:
            budget, claim = claims[event.statistic]
            share = float(request.budget[budget])
            scale_of(
                getattr(request, claim), share=share, norm=event.norm, step=event.step, name=event.statistic
            )


def _genome_statistics(request: GenomeRequest) -> list[str]:
    """Return the names of sums along a map and of second moments, whose scales are checked at their share."""
    claims = [("genome sums", "cross", request.cross_claim, request.cross_step)]
    if request.ld_share is not None:
        claims.append(("genome moments", "moments", request.moment_claim, MOMENT_STEP))
    for statistic, budget, claim, step in claims:
        share = float(request.budget[budget])
        scale_of(claim, share=share, norm=GaussianEvent.norm, step=step, name=statistic)
    return [statistic for statistic, *_ in claims]


def cost_after_regression(
    planned_draw: "Draw",
    identities: Sequence[Mapping[str, Any]],  # of all requests of the regression
    *,
    settings: "StudyConfig",  # all of the study
    book: "Book",
    account: "Account",
    has_new_genotypes: bool,
) -> Cost:
    """Return what a release costs at least after a regression on covariates."""
    earlier = _ids_by_identity(book, account)
    n_new = sum(digest(identity) not in earlier for identity in identities)
    count = settings.outcomes.count or [len(planned_draw.data.outcomes.names)]
    counts = {"covariates": n_new, "genotypes": int(has_new_genotypes)}
    return later_cost(settings.changed(outcomes={"count": count}), book, n_new=counts)


def cost_of_accuracy(
    planned_draw: "Draw",
    identities: Sequence[Mapping[str, Any]],  # of all requests of the draw
    *,
    settings: "StudyConfig",
    book: "Book",
    account: "Account",
    identify: Callable[..., dict[str, Any]],  # takes names of outcomes, and `residual_bound` and `weights`
) -> Cost:
    """Return what the accuracies cost that the ledger does not have, of all outcomes of a draw.

    An accuracy is new if one of its statistics is, or if these outcomes were never measured by such a fit.
    Public files need no comparison: fits that take some have one budget (`pools_outcomes`), so that with a
    new outcome every accuracy is new.
    """
    if settings.evaluation.metrics != Metrics.CHARGED:
        return Cost()
    earlier, rehearsal = _ids_by_identity(book, account), Rehearsal()
    label = {"requests": [(identity["part"], earlier.get(digest(identity))) for identity in identities]}
    request = AccuracyRequest.of(planned_draw.request, settings.evaluation)
    _rehearse_accuracy(request, planned_draw.names, rehearsal)
    fit = fit_settings(settings)

    def identify_accuracy(release_part: tuple[str, ...]) -> dict[str, Any]:
        weights = weights_origin(label, release_part[1:], fit=fit, book=book)
        return identify(release_part[1:], residual_bound=request.residual_bound, weights=weights)

    orders = orders_of(rehearsal, identify_accuracy)
    new = [order.charges for order in orders if digest(order.identity) not in earlier]
    return sum((charge.cost for charge in chain(*new)), Cost())


def _rehearse_accuracy(request: AccuracyRequest, names: Sequence[str], rehearsal: Rehearsal) -> None:
    sums = np.zeros((3, len(names)), dtype=np.int64)
    private_accuracy(sums, request=request, noise=rehearsal, outcome_names=names)


def _ids_by_identity(book: "Book", account: "Account") -> dict[str, str]:
    """Map the digests of the identities of all requests to an account to their ids."""
    return {
        digest(request.identity): request_id
        for request_id, request in book.requests.items()
        if request.account == account
    }
