"""What a release draws after a regression on covariates, as far as it is known before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from dpgrs.methods.genome_moments import private_genome_moments
from dpgrs.methods.genome_sums import map_terms
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.charging import require_unchanged
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.genome_people import people_moments, sums_digest
from dpgrs.study.later_draws import LaterDraws, ids_by_identity
from dpgrs.study.rehearsed_sums import rehearsed_sums
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
        return LaterRequest(mechanism, mechanism.asked(request, data=data, **options), count)
    nobody = exact_statistics(settings, variant_set, outcomes, without_gram=True, people=slice(0, 0))
    columns = TrainingData(outcomes, statistics=nobody, variant_set=variant_set)
    return LaterRequest(mechanism, mechanism.asked(request, data=columns, **options), count)


def rehearse_later(planned_draw: "Draw", later: LaterRequest, rehearsal: Rehearsal) -> list[str]:
    """Rehearse the draws after a regression; return the names of statistics of sums."""
    mechanism, request, data = later.mechanism, later.request, planned_draw.data
    names = data.outcomes.drawn_names
    if {"statistics", "chromosomes"}.isdisjoint(mechanism.takes):
        options = {"data": data, "names": names[: later.n_outcomes], "settings": planned_draw.settings}
        mechanism.draw(**mechanism.exact(request, **options), noise=rehearsal)
        return []
    events = chain(*rehearsed_sums(mechanism, request, later.n_outcomes).values())
    return [event.statistic for event in events]


def require_same_genotypes(
    planned_draw: "Draw", later: LaterRequest, *, identify: Callable[..., dict[str, Any]], **charging: Any
) -> bool:
    """Refuse a regression on covariates if the ledger has what is drawn of genotypes next on other people, or
    by another version of the mechanisms.

    The number of rows, X'X and second moments of rows do not depend on the regression. They are summed here
    only if the ledger may have them. `identify` takes a part, a mechanism and its request; `charging` are
    account, ledger and study key. The result is whether the ledger has their request.
    """
    mechanism, request, data = later.mechanism, later.request, planned_draw.data
    identity = identify(("genotypes",), mechanism, request)
    requests = charging["ledger"].read().requests.values()
    if not any(earlier.identity | identity == earlier.identity for earlier in requests):
        return False
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
