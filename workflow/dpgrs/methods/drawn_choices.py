"""Variants chosen for each outcome; a benchmark chooses once for all methods that are fitted on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.methods.chosen import private_choices
from dpgrs.methods.chosen_requests import ScreenedRequest, ScreeningTerms, request_of_rows
from dpgrs.methods.registry import METHODS
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.selection.registry import SELECTORS
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.types import Bounds, Protection

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.training_data import TrainingData

READS_OF_CHOICES = (
    "screening.size",
    "screening.share",
    "screening.law",
    "screening.composition",
    "screening.count_share",
    "privacy.bounds",
    "privacy.genotype_clip",
)


@dataclass(frozen=True)
class DrawnChoices:
    """The variants that were chosen for each outcome."""

    chosen: np.ndarray  # (n_outcomes, n_choices) int64
    events: tuple  # tuple of events
    selector: str
    note: str = ""  # how they were chosen if that was not private
    n = None  # the rows are not counted


def asked_of_choices(
    request: "PrivacyRequest",  # PrivacyRequest of all variants
    selector: str | None,  # None takes all
    *,
    data: "TrainingData",  # for the public frequencies
    settings: "StudyConfig",  # with `READS_OF_CHOICES`; with only the bounds, of all variants
) -> "PrivacyRequest":
    """Return the request for chosen variants, or for all.

    The result is ScreenedRequest, or a PrivacyRequest.
    """
    is_tight = settings.privacy.bounds == Bounds.TIGHT
    frequency = data.frequency(request.n_variants) if is_tight else None
    bounds = {"frequency": frequency, "factor": settings.privacy.genotype_clip}
    return request_of_rows(request, selector and ScreeningTerms.of(settings.screening, selector), **bounds)


def draw_choices(
    data: ScreeningData,
    *,
    request: ScreenedRequest,
    noise: "NoiseSource",
    outcome_names: Sequence[str],
    is_papers: bool = False,  # whether to choose in the scaling of a paper, which is not private
) -> DrawnChoices:
    """Choose variants for each outcome; parameters as in `private_choices`."""
    selector, options = request.screening.selector, {"noise": noise, "outcome_names": outcome_names}
    # In the scaling of a paper, epsilon and accounting set only the noise.
    note = f"paper scaling, {request.accounting} noise of epsilon {request.epsilon:g}" if is_papers else ""
    choices = private_choices(data, **request.choosing, **options, is_papers=is_papers)
    return DrawnChoices(*choices, selector, note)


class Choices(OwnStatistics):
    """The choices of every selector, only for benchmarks: a release draws its choices with the statistics."""

    name = "choices"
    methods = ()
    draws = MappingProxyType({"genotypes": (), "outcomes": ()})
    takes = ("variant_set",)
    reads = (*READS_OF_CHOICES, *(row.paper_key for row in SELECTORS.values() if row.paper_key))
    request_kind = ScreenedRequest

    def drawn_for(self, methods: Sequence[str]) -> list[str | None]:
        """Return one private method of each selector in use, in the order of `SELECTORS`."""
        private = [name for name in methods if METHODS[name].is_screened and not METHODS[name].is_non_private]
        of_selector = {METHODS[name].selector: name for name in reversed(private)}
        return [of_selector[selector] for selector in SELECTORS if selector in of_selector]

    def serves(self, method: str | None, request: "PrivacyRequest") -> bool:
        return request.protection == Protection.FULL

    def key(self, method: str | None) -> tuple[str, ...]:
        return (self.name,)

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
        key = SELECTORS[request.screening.selector].paper_key
        return {
            "data": data.rows(request.n_variants),
            "request": request,
            "outcome_names": names,
            "is_papers": key is not None and settings.value(key) == "paper",
        }

    def draw(self, data: ScreeningData, **options: Any) -> DrawnChoices:
        return draw_choices(data, **options)

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        return {"chosen": drawn.chosen}

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> DrawnChoices:
        return DrawnChoices(arrays["chosen"], (), label["selector"], label.get("note", ""))

    def remarks(self, drawn: Any) -> dict[str, Any]:
        return {"selector": drawn.selector} | ({"note": drawn.note} if drawn.note else {})
