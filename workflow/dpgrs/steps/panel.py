"""The panel of a study from the stores of its chromosomes, and the public sites of a release."""

from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.panel import select_panel, take_sites, write_panel
from dpgrs.io.sites import choose_sites, read_chosen_sites, read_sites, reference_sites, write_sites


def choose_public_sites(stores, *, sites, frequencies, chromosomes, output, **options):
    """Choose the sites of a release and write them.

    Parameters
    ----------
    stores : list of paths, stores of a public reference panel, or none.
    sites, frequencies : paths of public tables, or None; one of stores and sites is given.
    chromosomes : list of str
    output : path of the table.
    **options : size, maf and seed of `choose_sites`.
    """
    if sites is None:
        candidates = reference_sites([HaplotypeStore.open(store) for store in stores])
    else:
        candidates = read_sites(sites, frequencies=frequencies)
    write_sites(output, choose_sites(candidates, chromosomes=chromosomes, **options))


def make_panel(stores, *, output, sites=None, **options):
    """Choose the variants and write the panel.

    Parameters
    ----------
    stores : list of paths, one store per chromosome, in genome order.
    output : path of the panel.
    sites : path of the public sites of a release; None chooses by the cohort's own frequencies.
    **options : without sites, size, maf and seed of `select_panel`.

    Returns
    -------
    dict of counts.
    """
    stores = [HaplotypeStore.open(store) for store in stores]
    if sites is None:
        return write_panel(output, stores, select_panel(stores, **options))
    return write_panel(output, stores, take_sites(stores, read_chosen_sites(sites)))
