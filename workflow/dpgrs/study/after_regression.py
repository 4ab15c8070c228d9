"""What a release draws after a regression on covariates, as far as it is known before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from dpgrs.linalg.genome_moments import MOMENT_STEP
from dpgrs.methods.genome_moments import private_genome_moments
from dpgrs.methods.genome_sums import GenomeRequest, map_terms
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.events import Event, GaussianEvent
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.charging import require_unchanged
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.genome_people import people_moments, sums_digest
from dpgrs.study.later_draws import LaterDraws, ids_by_identity
from dpgrs.study.release_cost import later_cost
from dpgrs.study.requests import requests_of
from dpgrs.study.training_data import TrainingData

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.ledger.entries import Account
    from dpgrs.privacy.ledger.ledger import Book
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.draws import Draw

MOST_REHEARSED = 512  # variants or directions: scales of the noise of more are checked apart


class AfterRegression(LaterDraws):
    """The statistics of adjusted outcomes, and their accuracies, if they are charged."""

    def __init__(self, planned_draw: "Draw", settings: "StudyConfig | None") -> None:
        super().__init__(planned_draw, settings)
        self._later, self._has_genotypes = after_regression(planned_draw), False

    @property
    def mechanism(self) -> "SharedStatistics":
        return self._later.mechanism

    @property
    def request(self) -> "PrivacyRequest":
        return self._later.request

    def require_unchanged(self, *, identify: Callable[..., dict[str, Any]], **charging: Any) -> None:
        self._has_genotypes = require_same_genotypes(
            self._planned_draw, self._later, identify=identify, **charging
        )

    def _rehearse(self, rehearsal: Rehearsal) -> list[str]:
        return rehearse_later(self._planned_draw, self._later, rehearsal)

    def cost(
        self,
        identities: Sequence[Mapping[str, Any]],
        *,
        book: "Book",
        account: "Account",
        identify: Callable[..., dict[str, Any]],
    ) -> Cost:
        """Return the least later charge; after a new regression, adjusted outcomes are new."""
        earlier, settings = ids_by_identity(book, account), self._settings
        n_new = sum(digest(identity) not in earlier for identity in identities)
        count = settings.outcomes.count or [len(self._planned_draw.data.outcomes.names)]
        counts = {"covariates": n_new, "genotypes": int(not self._has_genotypes)}
        return later_cost(settings.changed(outcomes={"count": count}), book, n_new=counts)


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


def rehearse_later(planned_draw: "Draw", later: LaterRequest, rehearsal: Rehearsal) -> list[str]:
    """Rehearse the draws after a regression; return the names of statistics that are checked apart."""
    mechanism, request, data = later.mechanism, later.request, planned_draw.data
    names = data.outcomes.drawn_names
    if {"statistics", "chromosomes"}.isdisjoint(mechanism.takes):
        options = {"data": data, "names": names[: later.n_outcomes], "settings": planned_draw.settings}
        mechanism.draw(**mechanism.exact(request, **options), noise=rehearsal)
    else:
        # The grid of an eigenvalue depends on the number of variants.
        few = request if "eigenvalue" in mechanism.draws["genotypes"] else _of_few_variants(request)
        mechanism.draw(**mechanism.zeros(few, later.n_outcomes), request=few, noise=rehearsal)
        _require_scales(request, [event for event, _ in chain(*rehearsal.draws.values())])
    return _genome_statistics(request) if isinstance(request, GenomeRequest) else []


def require_same_genotypes(
    planned_draw: "Draw", later: LaterRequest, *, identify: Callable[..., dict[str, Any]], **charging: Any
) -> bool:
    """Refuse a regression on covariates if the ledger has what is drawn of genotypes next on other people, or
    by another version of the mechanisms.

    The number of rows, X'X and second moments of rows do not depend on the regression. They are summed here
    only if the ledger may have them. `identify` takes a part, a mechanism and its request; `charging` are
    account, ledger and study key. The result is whether the ledger has their request. Without a map, as in a
    step that runs by itself, second moments are not compared.
    """
    mechanism, request, data = later.mechanism, later.request, planned_draw.data
    identity = identify(("genotypes",), mechanism, request)
    requests = charging["ledger"].read().requests.values()
    if not any(earlier.identity | identity == earlier.identity for earlier in requests):
        return False
    if request.ld_share is not None and not data.has_ld:
        return True
    gram, moments = None, None
    if request.ld_share is not None:
        stored = data.genome(map_terms(request))
        moments = people_moments(data.variant_set, data.outcomes, stored)
    if "gram" in mechanism.draws["genotypes"]:
        exact = exact_statistics(planned_draw.settings, data.variant_set, data.outcomes)
        gram = exact.clipped[request.n_variants, later.n_outcomes].gram

    def rehearsed(noise: "NoiseSource") -> None:
        mechanism.draw_genotypes(gram, data.n_training, request=request, noise=noise)
        if moments is not None:
            options = {
                "request": request,
                "noise": noise.of("genotypes"),
                "made_with": sums_digest(stored, None),
            }
            private_genome_moments(moments, stored.genome, **options)

    return require_unchanged(rehearsed, identify=lambda release_part: identity, **charging)


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
