"""The public terms of screening, and the split of its budget between choices and statistics."""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.separate_statistics import SeparateRequest
from dpgrs.selection.registry import SELECTORS, chooser_of
from dpgrs.types import Coding, Composition, Rows, Selection

# Shares are rounded down slightly, so that their sum never exceeds the budget.
ROUNDING = 1 - 1e-12


@dataclass(frozen=True, kw_only=True)
class ScreeningTerms:
    """How variants are chosen, for each outcome by itself; all of it is public.

    It raises UsageError for a share that leaves one side without a budget, or no choice.
    """

    n_choices: int  # variants chosen
    share: float = 0.05  # in (0, 1), of epsilon, and of delta if the composition spends delta
    selector: str = "kendall"  # one of `dpgrs.selection.registry.SELECTORS`
    # Only DPKendall uses the law and the composition.
    law: Selection = Selection.PERMUTE_AND_FLIP
    composition: Composition = Composition.BASIC
    # In (0, 1), of epsilon, for the private number of people, which two-stage needs.
    count_share: float = 0.05

    @classmethod
    def of(cls, screening: Any, selector: str) -> "ScreeningTerms":
        """Take them from the section ``screening`` of the settings of a study."""
        names = ("share", "law", "composition")
        names = (*names, "count_share") if SELECTORS[selector].counts_units else names
        named = {name: getattr(screening, name) for name in names}
        return cls(n_choices=screening.size, selector=selector, **named)

    def __post_init__(self) -> None:
        if self.n_choices < 1:
            raise UsageError(
                "screening-size-not-positive",
                f"`screening.size` must be at least 1, got {self.n_choices}. Choose some.",
            )
        if not 0 < self.share < 1:
            raise UsageError(
                "screening-share-out-of-range",
                f"`screening.share` must be between 0 and 1, got {self.share}. Change it.",
            )
        if not 0 < self.count_share < 1:
            raise UsageError(
                "count-share-out-of-range",
                f"`screening.count_share` must be between 0 and 1, got {self.count_share}. Change it.",
            )

    @property
    def delta_share(self) -> float:
        """The share of delta that choices spend."""
        spends_delta = SELECTORS[self.selector].is_composed and self.composition == Composition.ZCDP
        return self.share if spends_delta else 0.0


@dataclass(frozen=True, kw_only=True)
class ScreenedRequest(PrivacyRequest):
    """All public terms of fits of chosen variants: `n_variants` can be chosen, `row_norm` is of the chosen.

    Here `outcome_norm` is of a single outcome: each is summed by itself.
    """

    screening: ScreeningTerms

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.screening, dict):  # as ``asdict`` and a file give it
            object.__setattr__(self, "screening", ScreeningTerms(**self.screening))

    @property
    def share_of_count(self) -> float:
        """The share of epsilon for the private number of people, where the selector needs it."""
        is_counted = SELECTORS[self.screening.selector].counts_units and self.has_private_count
        return self.screening.count_share if is_counted else 0.0

    @property
    def share_of_choices(self) -> float:
        """The share of epsilon that choices spend, with that count."""
        return self.screening.share + self.share_of_count

    @property
    def choices(self) -> Any:
        """The request of one outcome's choice, such as a KendallRequest: all of a budget have equal parts."""
        screening = self.screening
        options = {"n_choices": screening.n_choices, "epsilon": self.epsilon_of_one(screening.share)}
        return chooser_of(screening.selector).request(self, **options, protection=self.protection)

    def epsilon_of_one(self, share: float) -> float:
        """Return the epsilon of one outcome within a share of epsilon."""
        return share * self.epsilon / self.n_outcomes * ROUNDING

    @property
    def choosing(self) -> dict[str, Any]:
        """The arguments of `private_choices` that define the choice."""
        named = {"selector": self.screening.selector, "outcome_bound": self.outcome_bound}
        return {"request": self.choices, **named}

    @cached_property
    def rest(self) -> PrivacyRequest:
        """The PrivacyRequest of what follows the choices, of the chosen variants."""
        shared = {name: value for name, value in vars(self).items() if name in _SHARED}
        remaining = {
            "epsilon": (1 - self.share_of_choices) * self.epsilon * ROUNDING,
            "delta": (1 - self.screening.delta_share) * self.delta,
            "n_variants": self.screening.n_choices,
        }
        return PrivacyRequest(**shared | remaining)

    @cached_property
    def statistics(self) -> SeparateRequest:
        """The SeparateRequest of the count, and of an X'X and an X'y of each outcome's chosen variants."""
        return SeparateRequest(**asdict(self.rest) | {"n_outcomes": 1}, n_fits=self.n_outcomes)


_SHARED = {field.name for field in fields(PrivacyRequest)}


def screened_request(
    request: PrivacyRequest,  # of all variants
    terms: ScreeningTerms,
    *,
    # (n_variants,) public frequencies, for tight bounds on the chosen variants; None keeps to `half` coding.
    frequency: np.ndarray | None = None,
    factor: float = 1.0,  # as in `tight_row_norm`
) -> ScreenedRequest:
    """Return the terms of fits of chosen variants."""
    bounds = {"coding": Coding.HALF, "row_norm": None, "outcome_norm": None}
    if frequency is not None:
        options = {"n_choices": terms.n_choices, "rows": request.rows, "factor": factor}
        bounds |= {"coding": Coding.FREQUENCY, "row_norm": row_norm_of_any(frequency, **options)}
    return ScreenedRequest(**asdict(request) | bounds, screening=terms)


def request_of_rows(
    request: PrivacyRequest,
    terms: ScreeningTerms | None = None,  # None takes all variants
    *,
    frequency: np.ndarray | None = None,
    factor: float = 1.0,
) -> PrivacyRequest:
    """Return the terms of a release that draws from rows.

    `request`, `frequency` and `factor`: as in `screened_request`. The result is PrivacyRequest, or a
    ScreenedRequest.
    """
    if terms is not None:
        return screened_request(request, terms, frequency=frequency, factor=factor)
    if frequency is None:
        return replace(request, coding=Coding.HALF, row_norm=None, outcome_norm=None)
    norm = tight_row_norm(frequency, rows=request.rows, factor=factor)
    return replace(request, coding=Coding.FREQUENCY, row_norm=norm, outcome_norm=None)


def row_norm_of_any(
    frequency: np.ndarray,  # (n_variants,) public ALT allele frequencies
    *,
    n_choices: int,
    rows: Rows,
    factor: float,
) -> float:
    """Return a norm for rows of any chosen variants: the norm of the variants of largest public variance.

    `rows` and `factor`: as in `tight_row_norm`.
    """
    variance = column_moments(frequency, rows=rows)[1]
    return tight_row_norm(frequency[variance.argsort()[-n_choices:]], rows=rows, factor=factor)


def row_norm_of_half(n_variants: int, *, rows: Rows) -> float:
    """Return the largest norm of a row in `half` coding, a float."""
    return math.sqrt(n_variants) * (0.5 if Rows(rows) == Rows.HAPLOTYPES else 1.0)
