"""Exact sums of the people held out, from which charged metrics are drawn."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.evaluation.private_metrics import AccuracyRequest, accuracy_sums
from dpgrs.evaluation.rows import joined_rows, selected_units
from dpgrs.io.variant_set import check_same_people

if TYPE_CHECKING:
    from dpgrs.io.covariates import Covariates
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.variant_set import VariantSet


def held_out_sums(
    variant_set: "VariantSet",
    size: int,
    outcomes: "Outcomes",
    covariates: "Covariates | None",
    weights: np.ndarray,  # (n_outcomes, n_columns) int64
    request: AccuracyRequest,
) -> np.ndarray:
    """Return the exact sums of the held-out rows, for as many outcomes as there are weights."""
    check_same_people(variant_set, outcomes, covariates)
    is_test = ~outcomes.is_training
    units = selected_units(covariates, is_test)
    if variant_set.has_dosages:
        # Dosages count as whole steps, like covariates: in float64 only predictions from calls are exact.
        dosages = variant_set.genotypes(variant_set.of_size(size))[:, is_test]
        X, units = np.empty((dosages.shape[1], 0)), np.vstack([dosages, *([] if units is None else [units])])
    else:
        X = joined_rows(variant_set, size, rows=outcomes.rows, is_selected=is_test)
    return accuracy_sums(
        outcomes.values[size][: len(weights), is_test],
        X,
        weights,
        outcome_bound=request.outcome_bound,
        residual_bound=request.residual_bound,
        covariates=units,
    )
