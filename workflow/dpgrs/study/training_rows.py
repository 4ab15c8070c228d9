"""The training rows of a replicate, for methods that take rows or public outcomes."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.io.stored_genotypes import genotypes_of
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.variant_set import VariantSet
    from dpgrs.methods.requests import PrivacyRequest


def training_rows(
    outcomes: "Outcomes",
    variant_set: "VariantSet",  # of the same people
    n_variants: int,
    *,
    n_threads: int = 1,
) -> ScreeningData:
    """Return the rows of so many variants and all outcomes."""
    # The array is changed in place: a second one would be as large as all else.
    Y = np.array(outcomes.values[n_variants])
    Y[:, ~outcomes.is_training] = np.nan
    return ScreeningData(
        genotypes_of(variant_set, variant_set.of_size(n_variants)),
        Y,
        is_training=outcomes.is_training,
        n_haplotypes=variant_set.n_haplotypes,
        rows=outcomes.rows,
        sample_id=variant_set.sample_id,
        prevalence=outcomes.prevalence,
        is_table=variant_set.is_table,
        n_threads=n_threads,
    )


def public_outcomes(public: "Outcomes", request: "PrivacyRequest", *, count: int) -> np.ndarray | None:
    """Return the first outcomes of the training rows as they were summed, NaN if missing, if they are public.

    They are (count, n_training) float64; None under other protection than feature protection.
    """
    if request.protection != Protection.FEATURE:
        return None
    values = public.values[request.n_variants][:count, public.is_training]
    clip_options = {"norm": request.outcome_norm, "n_shared": request.n_outcomes}
    clipped = clipped_outcomes(values, bound=request.outcome_bound, **clip_options) * OUTCOME_STEP
    return np.where(np.isnan(values), np.nan, clipped)
