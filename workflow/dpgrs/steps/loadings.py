"""Loadings of principal components from public people."""

from dpgrs.io.loadings import write_loadings
from dpgrs.io.panel import Panel
from dpgrs.regression.principal_components import reference_loadings
from dpgrs.regression.statistics import coded_rows


def make_loadings(panel, *, output, rows, n_components):
    """Find the principal components of a panel of public people, over all of its variants, and write them.

    Parameters
    ----------
    panel : path of the panel: of the public reference, or in a benchmark of the cohort itself as a stand-in.
    output : path of the table of loadings.
    rows : Rows of the study; components are those of such rows.
    n_components : int
    """
    panel = Panel.open(panel)
    X = coded_rows(panel.genotypes(), n_haplotypes=panel.n_haplotypes, rows=rows)
    found = reference_loadings(X, panel.frequency, n_components=n_components, rows=rows)
    write_loadings(output, panel.variants, panel.frequency, found)
