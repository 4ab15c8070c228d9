"""Loadings of principal components from public people."""

from pathlib import Path

from dpgrs.io.loadings import write_loadings
from dpgrs.io.panel import Panel
from dpgrs.linalg.principal_components import reference_loadings
from dpgrs.linalg.statistics import coded_rows

READS = ("cohort.rows", "covariates.pcs")


def make_loadings(settings, panel: Path, *, output: Path):
    """Find the principal components of a panel of public people, over all of its variants, and write them.

    Parameters
    ----------
    settings : Settings; components are those of rows as in the study.
    panel : the panel of the public reference, or in a benchmark of the cohort itself as a stand-in.
    output : the table of loadings to write.
    """
    panel, rows, n_components = Panel.open(panel), settings.cohort.rows, settings.covariates.pcs
    X = coded_rows(panel.genotypes(), n_haplotypes=panel.n_haplotypes, rows=rows)
    found = reference_loadings(X, panel.frequency, n_components=n_components, rows=rows)
    write_loadings(output, panel.variants, panel.frequency, found)
