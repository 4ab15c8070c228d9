"""The results of functions for notebooks: frozen, and each states its guarantee in one line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Self

import numpy as np

from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.composition import Totals, totals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.accounting.events import Event


@dataclass(frozen=True)
class Terms:
    """The public terms of the draws.

    Attributes
    ----------
    epsilon, delta : float, the budget that was asked for.
    protection, unit, neighbours : str, as in the section ``privacy`` of the settings.
    events : tuple of events, a draw each.
    is_counted : bool, whether the events are all that a ledger counts: not where a sample stays secret, as in
        DP-SGD, nor of what a release cannot draw.
    is_private : False, always: the seed of the noise is public. A release draws secret noise
        (docs/how-to/use_release.md).
    """

    epsilon: float
    delta: float
    protection: str
    unit: str
    neighbours: str
    events: "tuple[Event, ...]" = field(repr=False)
    is_counted: bool = field(repr=False)
    is_private = False

    @classmethod
    def of(cls, request: "PrivacyRequest", events: "Iterable[Event]", *, method: str) -> Self:
        """Take them from a PrivacyRequest and the events of the draws for a method."""
        names = ("epsilon", "delta", "protection", "unit", "neighbours")
        public_terms = {name: getattr(request, name) for name in names}
        words = {
            name: str(public_term)
            for name, public_term in public_terms.items()
            if name not in ("epsilon", "delta")
        }
        return cls(**public_terms | words, events=tuple(events), is_counted=METHODS[method].may_be_released)

    @property
    def totals(self) -> Totals | None:
        """What the events would cost together in a release, as Totals; None where they are not counted."""
        return totals(self.events, delta=self.delta) if self.is_counted else None

    def __str__(self) -> str:
        budget = f"epsilon {self.epsilon:g} and delta {self.delta:g} for one {self.unit}"
        return f"{budget}, {self.neighbours}, {self.protection} protection. Benchmark: not private"


class Shown:
    """A result with `terms` and a `size` in words."""

    def __repr__(self) -> str:
        return f"<{self.size}: noise of {self.terms}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}.</p>"


@dataclass(frozen=True, eq=False, repr=False)
class ArrayFit(Shown):
    """Linear predictors, one for each outcome: intercept + X @ weights.T, in the outcomes' own units.

    Attributes
    ----------
    weights : (n_outcomes, n_variants) float64, per copy of the counted allele.
    intercept : (n_outcomes,) float64, the prediction of a row without a copy.
    standard_errors : (n_outcomes, n_variants) float64; None where the method gives none that hold.
    chosen : (n_outcomes, n_chosen) int64, the variants that were chosen; None where the method chooses none.
    statuses : tuple of str, how the fit of each outcome ended: ``ok``, or why there is no model.
    method : str
    terms : Terms
    """

    weights: np.ndarray
    intercept: np.ndarray
    standard_errors: np.ndarray | None
    chosen: np.ndarray | None
    statuses: tuple
    method: str
    terms: Terms

    @property
    def size(self) -> str:
        n_outcomes, n_variants = self.weights.shape
        return f"weights of {n_outcomes} outcomes x {n_variants} variants by {self.method}"

    def predict(self, X: "ArrayLike") -> np.ndarray:
        """Predict all outcomes.

        Parameters
        ----------
        X : (n_rows, n_variants) of 0 and 1, or 0, 1 and 2, as the rows that were fitted.

        Returns
        -------
        (n_rows, n_outcomes) float64
        """
        return self.intercept + np.asarray(X, dtype=float) @ self.weights.T
