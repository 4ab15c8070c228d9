"""The public terms of fits, and the fit of a method from what was drawn for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.fit_keys import regression_keys
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.methods.registry import fitter_of
from dpgrs.types import Penalty

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.requests import PrivacyRequest


@dataclass(frozen=True)
class FitTerms:
    """The public terms of fits, beside the statistics."""

    penalty: float  # >= 0, lambda per row, for `Penalty.FIXED`
    rule: Penalty = Penalty.FIXED  # the rule that sets lambda
    heritability: float | None = None  # in (0, 1), stated for BLUP; None estimates it
    # Whether projections share one ball over all outcomes or variants, as the paper does.
    is_joint: bool = False
    # Dict of number of variants to PublicLd, for fits on public linkage disequilibrium.
    ld: dict = field(default_factory=dict)
    # Function of `dpgrs.methods.genome_sums.map_terms` that returns the GenomeMap, for fits of genomes.
    genome: Callable[[Mapping[str, Any]], Any] | None = None
    # Function of a GenomeMap and the weights of each chromosome, (n_rows, n_variants), that returns the
    # ScoreVariances among the people of its panel, for fits of genomes.
    panel_variances: Callable[[Any, Sequence[np.ndarray]], Any] | None = None
    same_ancestry: bool = False  # whether the people of `ld` are stated to be of the cohort's ancestry
    # For fits that take them, of outcomes and variant set of one fit; None goes without.
    effects: PublicEffects | None = None
    # Dict of the keys of ``regression`` that have no attribute here (`dpgrs.fit_keys`).
    further: dict = field(default_factory=dict)

    @classmethod
    def of(cls, regression: Mapping[str, Any], **public: Any) -> "FitTerms":
        """Build the terms from the section ``regression`` of a study's settings, and from public files."""
        keys = regression_keys()
        attributes = {key.fit_field: regression[name] for name, key in keys.items() if key.fit_field}
        further = {name: regression[name] for name, key in keys.items() if not key.fit_field}
        return cls(**attributes, further=further, **public)


def fit_released(
    method: str,
    drawn: Any,
    *,
    request: "PrivacyRequest",
    terms: FitTerms,
    outcomes: np.ndarray | None = None,
) -> "LinearFit":
    """Fit all outcomes by a private method, as its `Fitter.fit` does."""
    return fitter_of(method).fit(drawn, request=request, terms=terms, outcomes=outcomes)
