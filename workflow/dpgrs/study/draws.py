"""What a study asks of a mechanism, draw by draw: for a job that keeps what it drew, and in one process."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError, must
from dpgrs.methods.mechanisms import fitted_from
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.study.requests import requests_of
from dpgrs.study.training_data import TrainingData
from dpgrs.study.training_rows import public_outcomes

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.privacy.noise.base import NoiseSource


@dataclass(frozen=True)
class Draw:
    """One request to a mechanism."""

    settings: "StudyConfig"
    mechanism: SharedStatistics
    method: str | None  # for which it is drawn; None if all methods of the mechanism share it
    data: TrainingData
    request: PrivacyRequest
    names: tuple[str, ...]  # of the outcomes or of their components

    @property
    def key(self) -> tuple[str, ...]:
        """The text that separates its noise from the noise of other draws; terms do so by themselves."""
        return self.mechanism.key(self.method)

    @property
    def fitted(self) -> list[str]:
        """The methods of the study that are fitted from it."""
        draw_options = {"method": self.method, "protection": self.request.protection}
        return fitted_from(self.mechanism, self.settings.methods, **draw_options)

    @property
    def public_outcomes(self) -> np.ndarray | None:
        """The outcomes of the training rows if they are public, as from `public_outcomes`; else None."""
        return public_outcomes(self.data.outcomes, self.request, count=len(self.names))

    def draw(self, noise: "NoiseSource") -> Any:
        """Return the result of the mechanism."""
        draw_inputs = {"data": self.data, "names": self.names, "settings": self.settings}
        return self.mechanism.draw(**self.mechanism.exact(self.request, **draw_inputs), noise=noise)

    def label(self, result: Any) -> dict[str, Any]:
        """Describe a result: the request with its events."""
        label = {"mechanism": self.mechanism.name, "request": asdict(self.request), "n": result.n}
        label |= {"n_outcomes": len(self.names), "outcomes": self.names}
        if (outcomes := self.data.outcomes).components is not None:
            outcome_fields = {"n_outcomes": len(outcomes.names), "outcomes": outcomes.names}
            label |= outcome_fields | {"components": self.names}
        label |= {"events": [event.as_dict() for event in result.events]}
        return label | self.mechanism.remarks(result)


def draws_of(
    settings: "StudyConfig", mechanism: SharedStatistics, methods: Sequence[str | None], data: TrainingData
) -> Iterator[Draw]:
    """Yield every Draw that settings request from a mechanism.

    The settings have the keys of `dpgrs.study.requests.reads_of_draw`; `methods` are those with draws of
    their own, or [None] if all share one. Counting cases with a mechanism that counts none is a UsageError,
    before anything is charged.
    """
    share, outcome_statistics = settings.privacy.case_share, mechanism.draws.get("outcomes", ())
    if share is not None and mechanism.methods and "cases" not in outcome_statistics:
        requirement = f"be null for `{mechanism.name}`, which counts no cases"
        raise UsageError(
            "case-share-not-needed", must("privacy.case_share", requirement, share, "Leave it out.")
        )
    outcomes = data.outcomes
    counts = outcomes.drawn_counts(settings.outcomes.count)
    grid = requests_of(settings, rows=outcomes.rows, counts=counts)
    if "moments" not in mechanism.draws.get("genotypes", ()):
        grid = [(replace(request, ld_share=None), count) for request, count in grid]
    for method in methods:
        for request, count in grid:
            if mechanism.serves(method, request):
                request_inputs = {"method": method, "data": data, "n_outcomes": count, "settings": settings}
                drawn_request = mechanism.asked(request, **request_inputs)
                yield Draw(settings, mechanism, method, data, drawn_request, outcomes.drawn_names[:count])
