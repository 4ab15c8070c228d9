"""Accuracies that the ledger has are measured again before a further outcome is charged."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpgrs.evaluation.private_metrics import AccuracyRequest, grid_weights
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.study.held_out import held_out_sums
from dpgrs.study.later_draws import LaterDraws
from dpgrs.study.people_terms import has_same_ancestry

if TYPE_CHECKING:
    from dpgrs.privacy.ledger.ledger import Ledger


class MeasuredAgain(LaterDraws):
    """The accuracies of outcomes that have a budget each.

    Weights of one outcome depend on no draw of another, and on no public file, as these fits have one budget.
    """

    def require_same_accuracy(
        self,
        noisy: Any,
        requests: Mapping[tuple[str, ...], str],
        *,
        identify: Callable[..., dict[str, Any]],
        ledger: "Ledger",
        **charging: Any,
    ) -> None:
        """Refuse people held out whose sums changed; these follow from weights, which are fitted here."""
        if not any(kind == "outcomes" for kind, *_ in requests):
            return
        planned_draw, settings, request = self._planned_draw, self._settings, self.request
        data, mechanism = planned_draw.data, planned_draw.mechanism
        terms = FitTerms.of(settings.regression.as_dict(), same_ancestry=has_same_ancestry(settings))
        # As the file of the draw has it.
        noisy = mechanism.restore(planned_draw.label(noisy), mechanism.arrays(noisy))
        fit_options = {"request": request, "terms": terms, "outcomes": planned_draw.public_outcomes}
        fit = fit_released(settings.methods[0], noisy, **fit_options)
        files = {"outcomes": data.outcomes, "weights": grid_weights(fit)}
        files["covariates"] = data.covariates if settings.covariates.has_any else None
        accuracy = AccuracyRequest.of(request, settings.evaluation)
        sums = held_out_sums(data.variant_set, request.n_variants, **files, request=accuracy)
        options = {"book": ledger.read(), "identify": identify}
        ledger.find_unchanged(self._accuracy_orders(sums, [*requests.items()], **options), **charging)
