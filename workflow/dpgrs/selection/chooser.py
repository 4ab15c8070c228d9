"""What chooses variants for each outcome: a class for each selector, which its row names as `code`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpgrs.methods.chosen_requests import ScreenedRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.screening_data import ScreeningData


class ExactChooser(ABC):
    """The choice of a selector without noise, which a selector that is not private has only."""

    @abstractmethod
    def choose_exactly(
        self, data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float
    ) -> np.ndarray:
        """Choose without noise for one outcome of a study, by its number."""


class Chooser(ExactChooser):
    """The private choice of a selector, its request, and its twin without noise."""

    @abstractmethod
    def request(self, screened: "ScreenedRequest", **options: Any) -> Any:
        """Return the request for one outcome of a study, with n_choices, epsilon_of_choices and family.

        `options` are the terms that all selectors share.
        """

    @abstractmethod
    def choose(
        self, data: "ScreeningData", number: int, *, request: Any, noise: "NoiseSource", outcome_bound: float
    ) -> tuple:
        """Choose for one outcome of a study, by its number: the variants, and the events."""

    def choose_for_all(
        self,
        data: "ScreeningData",
        sources: "Sequence[NoiseSource]",
        *,
        request: Any,
        outcome_bound: float,
    ) -> list[tuple]:
        """Choose for the first outcomes of a study, with a source of noise for each."""
        options = {"request": request, "outcome_bound": outcome_bound}
        return [self.choose(data, number, noise=noise, **options) for number, noise in enumerate(sources)]

    def choose_as_paper(
        self, data: "ScreeningData", number: int, *, request: Any, noise: "NoiseSource", outcome_bound: float
    ) -> tuple:
        """Choose in the scaling of a paper, which promises nothing: no events."""
        raise NotImplementedError

    def request_of_table(self, terms: Any, *, epsilon: float, n_low: float) -> Any:
        """Return the request for a plain table of at least `n_low` rows, by its TableRequest."""
        raise NotImplementedError

    @abstractmethod
    def audit_cases(self) -> "list[AuditCase]":
        """Return the audits of what draws for it."""
