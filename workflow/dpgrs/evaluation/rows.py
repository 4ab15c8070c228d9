"""Rows as fits predict from: genotypes, then covariates."""

from typing import Any

import numpy as np

from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.statistics import coded_rows
from dpgrs.types import Rows


def joined_rows(
    variant_set: Any,
    size: int,
    *,
    rows: Rows,
    covariates: Any = None,
    is_selected: np.ndarray | None = None,
    columns: np.ndarray | None = None,
) -> np.ndarray:
    """Return X as fits predict from: genotypes in `half` coding, then covariates, without a clip of rows.

    It is (n_selected, n_columns + n_covariates) float64. The variant set may be a part of one; `size` is that
    of the variant set, `covariates` are Covariates. `is_selected` is (n_rows,) bool and `columns`
    (n_columns,) int64 of its variants; None returns all.
    """
    X = coded_rows(
        variant_set.genotypes(selected_variants(variant_set, size, columns=columns)),
        n_haplotypes=variant_set.n_haplotypes,
        rows=rows,
        is_selected=is_selected,
    )
    if covariates is None:
        return X
    return np.hstack([X, selected_units(covariates, is_selected).T * GENOTYPE_STEP])


def selected_variants(variant_set: Any, size: int, *, columns: np.ndarray | None = None) -> np.ndarray:
    """Return the ascending indices in a variant set of the variants of a size of it, or of some of these."""
    variants = variant_set.of_size(size)
    return variants if columns is None else variants[columns]


def selected_units(covariates: Any, is_selected: np.ndarray | None) -> np.ndarray | None:
    """Return the (n_covariates, n_selected) int16 units of selected rows, all if None; None without any."""
    if covariates is None:
        return None
    return covariates.units if is_selected is None else covariates.units[:, is_selected]
