"""What a release draws after a draw: it is refused before the first is charged."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.methods.registry import REGRESSION
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.charging import orders_of
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.fit_identity import fit_settings, weights_origin
from dpgrs.study.requests import is_measured_again
from dpgrs.types import Metrics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.ledger.entries import Account
    from dpgrs.privacy.ledger.ledger import Book, Order
    from dpgrs.study.draws import Draw

# The classes of mechanisms after which others draw; places as in `Method.code`.
LATER_DRAWS = {REGRESSION: "dpgrs.study.after_regression:AfterRegression"}


class LaterDraws:
    """What a release draws after the last of its mechanisms: its accuracies, if they are charged."""

    def __init__(
        self,
        planned_draw: "Draw",
        settings: "StudyConfig | None",  # all of the study; None for a step that runs by itself
    ) -> None:
        self._planned_draw, self._settings = planned_draw, settings

    @property
    def mechanism(self) -> "SharedStatistics":
        """The last mechanism of the release."""
        return self._planned_draw.mechanism

    @property
    def request(self) -> "PrivacyRequest":
        """The request to the last mechanism."""
        return self._planned_draw.request

    def require_unchanged(self, *, identify: Callable[..., dict[str, Any]], **charging: Any) -> None:
        """Refuse later draws that the ledger has on other data; `charging` as in `release`."""

    def require_same_accuracy(
        self,
        noisy: Any,  # what the mechanism drew, without the noise of new requests
        requests: Mapping[tuple[str, ...], str],  # ids of the requests that the ledger has, by their parts
        *,
        identify: Callable[..., dict[str, Any]],  # as in `cost`
        **charging: Any,
    ) -> None:
        """Refuse a draw if people held out changed since the ledger measured an outcome of it."""

    def statistics(self) -> list[str]:
        """Return the names of the statistics that are drawn later; noise out of its range is refused."""
        rehearsal = Rehearsal()
        names = self._rehearse(rehearsal)
        if self._settings is not None and self._settings.evaluation.metrics == Metrics.CHARGED:
            accuracy = AccuracyRequest.of(self.request, self._settings.evaluation)
            names_of_outcomes = self._planned_draw.names
            options = {"request": accuracy, "noise": rehearsal, "outcome_names": names_of_outcomes}
            private_accuracy(_no_sums(names_of_outcomes), **options)
        return names + [event.statistic for event, _ in chain(*rehearsal.draws.values())]

    def _rehearse(self, rehearsal: Rehearsal) -> list[str]:
        """Rehearse later mechanisms; return the names of statistics whose noise is checked apart."""
        return []

    def cost(
        self,
        identities: Sequence[Mapping[str, Any]],  # of all requests of the draw
        *,
        book: "Book",
        account: "Account",
        # Takes names of outcomes, and `residual_bound` and `weights`.
        identify: Callable[..., dict[str, Any]],
    ) -> Cost:
        """Return the least later charge: the accuracies that the ledger does not have.

        An accuracy is new if one of its statistics is, or if these outcomes were never measured by such a
        fit. Public files need no comparison: fits that take some have one budget (`pools_outcomes`), so that
        with a new outcome every accuracy is new.
        """
        settings = self._settings
        if settings.evaluation.metrics != Metrics.CHARGED:
            return Cost()
        earlier, sums = ids_by_identity(book, account), _no_sums(self._planned_draw.names)
        requests = [(identity["part"], earlier.get(digest(identity))) for identity in identities]
        orders = self._accuracy_orders(sums, requests, book=book, identify=identify)
        new = [order.charges for order in orders if digest(order.identity) not in earlier]
        return sum((charge.cost for charge in chain(*new)), Cost())

    def _accuracy_orders(
        self,
        sums: np.ndarray,  # (3, n_outcomes) int64
        # Parts of the draw and their ids, None of new ones.
        requests: Sequence[tuple[Sequence[str], str | None]],
        *,
        book: "Book",
        identify: Callable[..., dict[str, Any]],
    ) -> list["Order"]:
        """Return the requests for the accuracy of all outcomes of a draw."""
        accuracy, rehearsal = AccuracyRequest.of(self.request, self._settings.evaluation), Rehearsal()
        names, fit = self._planned_draw.names, fit_settings(self._settings)
        private_accuracy(sums, request=accuracy, noise=rehearsal, outcome_names=names)

        def identify_accuracy(release_part: tuple[str, ...]) -> dict[str, Any]:
            weights = weights_origin({"requests": requests}, release_part[1:], fit=fit, book=book)
            return identify(release_part[1:], residual_bound=accuracy.residual_bound, weights=weights)

        return orders_of(rehearsal, identify_accuracy)


def later_draws_of(planned_draw: "Draw", settings: "StudyConfig | None") -> LaterDraws:
    """Return what a release draws after a draw; parameters as in `LaterDraws`."""
    code = LATER_DRAWS.get(planned_draw.mechanism.name)
    if settings is not None and is_measured_again(settings):
        code = "dpgrs.study.measured_again:MeasuredAgain"
    return (resolve_name(code) if code else LaterDraws)(planned_draw, settings)


def _no_sums(names: Sequence[str]) -> np.ndarray:
    return np.zeros((3, len(names)), dtype=np.int64)


def ids_by_identity(book: "Book", account: "Account") -> dict[str, str]:
    """Map the digests of the identities of all requests to an account to their ids."""
    return {
        digest(request.identity): request_id
        for request_id, request in book.requests.items()
        if request.account == account
    }
