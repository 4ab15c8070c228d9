"""What fits a method: a class each, which its row names as `code`."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.fits import FitTerms
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.audit.audit import AuditCase


class Fitter(ABC):
    """The mechanism that draws for a method, and the method's fit from what was drawn."""

    mechanism_of_benchmark: "type[SharedStatistics] | None" = None  # where a benchmark has another

    def __init__(self, method: str) -> None:
        self.method = method

    @property
    @abstractmethod
    def mechanism(self) -> "type[SharedStatistics]":
        """The class of the mechanism, an attribute of each fitter's class."""

    @abstractmethod
    def fit(
        self,
        drawn: Any,  # what the mechanism drew, or restored
        *,
        request: "PrivacyRequest",  # under which it was drawn
        terms: "FitTerms",
        # (n_outcomes, n_rows) float64, clipped, NaN where missing; public, only under feature protection.
        outcomes: np.ndarray | None = None,
    ) -> "LinearFit":
        """Fit all outcomes; this is post-processing, which costs nothing."""

    @abstractmethod
    def audit_cases(self) -> "list[AuditCase]":
        """Return the audits of what draws for the method, in a release or in a benchmark."""
