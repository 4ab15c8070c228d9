"""A panel of common variants of real haplotypes, a random one for each trial of an experiment."""

from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.panel import Panel, write_panel
from dpgrs.io.selection import select_panel

MAF = 0.01


def make_panel(files, chromosomes, folder, *, size, seed):
    """Ingest phased VCFs and make a panel.

    Parameters
    ----------
    files : paths, a VCF for each of the chromosomes.
    chromosomes : list of str
    folder : path, to write stores and panel to.
    size : int, variants.
    seed : int, names them.

    Returns
    -------
    Panel
    """
    stores = []
    for file, chromosome in zip(files, chromosomes, strict=True):
        store = f"{folder}/{chromosome}"
        ingest_chromosome(file, chromosome=chromosome, store=store, progress=False)
        stores.append(HaplotypeStore.open(store))
    selection = select_panel(stores, size=size, maf=MAF, seed=seed)
    write_panel(f"{folder}/panel", stores, selection)
    return Panel.open(f"{folder}/panel")
