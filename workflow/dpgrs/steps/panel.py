"""The panel of a study from the stores of its chromosomes."""

from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.panel import select_panel, write_panel


def make_panel(stores, *, output, size, maf, seed):
    """Choose the variants and write the panel.

    Parameters
    ----------
    stores : list of paths, one store per chromosome, in genome order.
    output : path of the panel.
    size : int, variants of the largest panel.
    maf : float, smallest minor allele frequency.
    seed : int

    Returns
    -------
    dict of counts.
    """
    stores = [HaplotypeStore.open(store) for store in stores]
    return write_panel(output, stores, select_panel(stores, size=size, maf=maf, seed=seed))
