"""Loadings of principal components from public people."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.io.loadings import write_loadings
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.principal_components import MOST_SQUARED, reference_loadings, wide_loadings
from dpgrs.linalg.statistics import coded_rows
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("cohort.rows", "covariates.pcs")


def make_loadings(settings: "StudyConfig", variant_set: Path, *, output: Path) -> None:
    """Find the principal components of a panel of public people, over all of its variants, and write them.

    Components are those of rows as in the study.

    Parameters
    ----------
    variant_set : the variant set of the public reference, or in a benchmark of the cohort itself as a
        stand-in.
    output : the table of loadings to write.
    """
    variant_set, rows, n_components = (
        VariantSet.open(variant_set),
        settings.cohort.rows,
        settings.covariates.pcs,
    )
    n_haplotypes, frequency = variant_set.n_haplotypes, variant_set.frequency
    component_terms = {"n_components": n_components, "rows": rows}

    def columns(variants: slice) -> np.ndarray:
        return coded_rows(variant_set.genotypes(variants), n_haplotypes=n_haplotypes, rows=rows)

    if len(frequency) > MOST_SQUARED:
        n_rows = n_haplotypes // (1 if rows == Rows.HAPLOTYPES else 2)
        loadings = wide_loadings(columns, frequency, n_rows=n_rows, **component_terms)
    else:
        loadings = reference_loadings(columns(slice(None)), frequency, **component_terms)
    write_loadings(output, variant_set.variants, variant_set.frequency, loadings)
