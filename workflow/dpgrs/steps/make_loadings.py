"""Loadings of principal components from public people."""

from pathlib import Path

from dpgrs.io.loadings import write_loadings
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.principal_components import reference_loadings
from dpgrs.linalg.statistics import coded_rows

READS = ("cohort.rows", "covariates.pcs")


def make_loadings(settings, variant_set: Path, *, output: Path):
    """Find the principal components of a panel of public people, over all of its variants, and write them.

    Parameters
    ----------
    settings : Settings; components are those of rows as in the study.
    variant_set : the variant set of the public reference, or in a benchmark of the cohort itself as a
        stand-in.
    output : the table of loadings to write.
    """
    variant_set, rows, n_components = (
        VariantSet.open(variant_set),
        settings.cohort.rows,
        settings.covariates.pcs,
    )
    X = coded_rows(variant_set.genotypes(), n_haplotypes=variant_set.n_haplotypes, rows=rows)
    found = reference_loadings(X, variant_set.frequency, n_components=n_components, rows=rows)
    write_loadings(output, variant_set.variants, variant_set.frequency, found)
