"""Rows as fits predict from: genotypes, then covariates."""

import numpy as np

from dpgrs.linalg.clipped_statistics import GENOTYPE_STEP
from dpgrs.linalg.statistics import coded_rows


def joined_rows(variant_set, size, *, rows, covariates=None, is_selected=None, columns=None):
    """Return X as fits predict from: genotypes in `half` coding, then covariates, without a clip of rows.

    Parameters
    ----------
    variant_set : VariantSet or VariantSetPart
    size : int, of the variant set.
    rows : Rows
    covariates : Covariates or None.
    is_selected : (n_rows,) bool, the rows to return; None returns all.
    columns : (n_columns,) int64, those of its variants to return; None returns all.

    Returns
    -------
    (n_selected, n_columns + n_covariates) float64.
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


def selected_variants(variant_set, size, *, columns=None):
    """Return the ascending indices in a variant set of the variants of a size of it, or of some of these."""
    variants = variant_set.of_size(size)
    return variants if columns is None else variants[columns]


def selected_units(covariates, is_selected):
    """Return the (n_covariates, n_selected) int16 units of selected rows, all if None; None without any."""
    if covariates is None:
        return None
    return covariates.units if is_selected is None else covariates.units[:, is_selected]
