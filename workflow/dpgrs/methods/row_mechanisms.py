"""Mechanisms that draw from rows: of variants that are chosen for each outcome."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.methods.chosen import ChosenStatistics, fit_chosen, private_chosen_statistics
from dpgrs.methods.chosen_requests import ScreenedRequest
from dpgrs.methods.drawn_choices import READS_OF_CHOICES, DrawnChoices, asked_of_choices, draw_choices
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.registry import METHODS
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.selection.screening_data import ScreeningData

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.fits import FitTerms
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.separate_statistics import SeparateRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.training_data import TrainingData


class OfChoices:
    """The common part of mechanisms that first choose variants for each outcome."""

    takes, reads = ("variant_set", "choices"), READS_OF_CHOICES
    request_kind = ScreenedRequest

    def asked(
        self,
        request: "PrivacyRequest",
        *,
        method: str,
        data: "TrainingData",
        n_outcomes: int,
        settings: "StudyConfig",
    ) -> "PrivacyRequest":
        return asked_of_choices(request, METHODS[method].selector, data=data, settings=settings)

    def exact(
        self, request: ScreenedRequest, *, data: "TrainingData", names: Sequence[str], settings: "StudyConfig"
    ) -> dict[str, Any]:
        return exact_rows(request, data=data, names=names) | {"choices": data.choices(request, len(names))}

    def pure_budget(self, request: ScreenedRequest) -> tuple[float, ...]:
        return (request.choices.epsilon_of_choices,)

    def draw(
        self,
        data: ScreeningData,
        *,
        request: ScreenedRequest,
        noise: "NoiseSource",
        outcome_names: Sequence[str],
        # Earlier DrawnChoices of the same request, in a benchmark.
        choices: DrawnChoices | None = None,
        **options: Any,
    ) -> Any:
        """Choose, then draw the rest.

        `noise` and `outcome_names`: as in `private_choices`; **options of the draws after the choices.
        """
        options |= {"noise": noise, "outcome_names": outcome_names}
        if choices is None:
            choices = draw_choices(data, request=request, noise=noise, outcome_names=outcome_names)
        statistics = self._draw_rest(data, choices.chosen, request=request, **options)
        return replace(statistics, events=(*choices.events, *statistics.events), note=choices.note)


class ChosenFits(OfChoices, OwnStatistics):
    """The count, and for every outcome by itself the variants chosen for it, their X'X and X'y, and rows."""

    name = "chosen-statistics"
    audited = ("private_gram", "private_cross_product", "private_chosen_statistics")
    kind = ChosenStatistics
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("gram", "observed", "cross")})

    def remarks(self, drawn: Any) -> dict[str, Any]:
        return {"note": drawn.note} if drawn.note else {}

    def terms(self, request: ScreenedRequest) -> "SeparateRequest":
        return request.statistics

    def _draw_rest(
        self, data: ScreeningData, chosen: np.ndarray, *, request: ScreenedRequest, **options: Any
    ) -> ChosenStatistics:
        return private_chosen_statistics(data, chosen, request=request.statistics, **options)

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        return super().arrays(drawn) | {"chosen": drawn.chosen}

    def outputs(
        self, drawn: Any, names: Sequence[str], request: "PrivacyRequest"
    ) -> dict[tuple[str, ...], tuple]:
        counts = [()] * len(names) if drawn.observed is None else drawn.observed[:, np.newaxis]
        of_each = zip(names, counts, drawn.gram, drawn.cross, drawn.chosen, strict=True)
        by_part = {("outcomes", name): (drawn.n, *count, *arrays) for name, count, *arrays in of_each}
        return ({("genotypes",): (drawn.n,)} if request.has_private_count else {}) | by_part

    def requests_of_outcomes(self, n_outcomes: int, request: "PrivacyRequest") -> int:
        return n_outcomes


class ChosenBlup(Fitter):
    """Noise-aware BLUP of each outcome on the variants that were chosen for it."""

    mechanism = ChosenFits

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.methods.audits.chosen import chosen_cases

        return chosen_cases()

    def fit(
        self,
        drawn: ChosenStatistics,
        *,
        request: ScreenedRequest,
        terms: "FitTerms",
        outcomes: np.ndarray | None = None,
    ) -> "LinearFit":
        method_selector, selector = METHODS[self.method].selector, request.screening.selector
        if method_selector != selector:
            raise DpgrsError(
                "choices-of-another-selector",
                f"The chosen variants must be by {method_selector} for `methods: {self.method}`, got "
                f"{selector}. Run the study again.",
            )
        options = {"request": request.statistics, "terms": terms, "n_variants": request.n_variants}
        return fit_chosen(drawn, "blup", **options)


def exact_rows(request: "PrivacyRequest", *, data: "TrainingData", names: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of draws from rows; parameters as in `SharedStatistics.exact`."""
    size = request.n_variants
    public = {"request": request, "outcome_names": names, "frequency": data.frequency(size)}
    return {"data": data.rows(size)} | public
