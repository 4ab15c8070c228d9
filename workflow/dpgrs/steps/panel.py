"""The panel of a study from the stores of its chromosomes, and the public sites of a release."""

from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.panel import take_sites, write_panel
from dpgrs.io.selection import select_panel
from dpgrs.io.sites import choose_sites, read_chosen_sites, read_sites, reference_sites, write_sites
from dpgrs.io.variant_filters import MUCH_MISSING, VariantFilters, poorly_called, write_counts


def choose_public_sites(
    stores,
    *,
    sites,
    frequencies,
    chromosomes,
    output,
    qc=None,
    ld_r2=None,
    ld_window=None,
    rows=None,
    **options,
):
    """Choose the sites of a release and write them.

    Parameters
    ----------
    stores : list of paths, stores of a public reference panel, or none.
    sites, frequencies : paths of public tables, or None; one of stores and sites is given.
    chromosomes : list of str
    output : path of the table.
    qc : path of the table of what became of all sites, or None.
    ld_r2, ld_window, rows : of a `LinkageLimit`; without ld_r2 sites are thinned at random alone.
    **options : size, maf, seed and other filters of `choose_sites`.
    """
    stores = [HaplotypeStore.open(store) for store in stores] if sites is None else []
    if stores:
        filters = {name: options[name] for name in ("missing", "hwe") if name in options}
        candidates = reference_sites(stores, filters=VariantFilters(**filters))
    else:
        candidates = read_sites(sites, frequencies=frequencies)
    linkage = _linkage(ld_r2, ld_window, rows)
    chosen, counts = choose_sites(
        candidates, chromosomes=chromosomes, stores=stores, linkage=linkage, **options
    )
    write_sites(output, chosen)
    if qc:
        write_counts(qc, counts)


def make_panel(stores, *, output, sites=None, qc=None, ld_r2=None, ld_window=None, rows=None, **options):
    """Choose the variants and write the panel.

    Parameters
    ----------
    stores : list of paths, one store per chromosome, in genome order.
    output : path of the panel.
    sites : path of the public sites of a release; None chooses by the cohort's own genotypes.
    qc : path of the table of what became of all variants, or None; without sites alone.
    ld_r2, ld_window, rows : of a `LinkageLimit`, without sites; without ld_r2 variants are thinned at random
        alone.
    **options : without sites, size, maf, seed and other filters of `select_panel`.

    Returns
    -------
    dict of counts, in a benchmark with `warnings` about missing alleles, if there are any.
    """
    stores = [HaplotypeStore.open(store) for store in stores]
    if sites is not None:
        return write_panel(output, stores, take_sites(stores, read_chosen_sites(sites)))
    selection = select_panel(stores, linkage=_linkage(ld_r2, ld_window, rows), **options)
    if qc:
        write_counts(qc, selection.counts)
    found = write_panel(output, stores, selection)
    share = found["n_filled"] / (found["n_variants"] * stores[0].n_haplotypes)
    warnings = poorly_called(selection.counts)
    if share > MUCH_MISSING:
        warnings.append(f"Missing: {100 * share:.0f} % of the panel's alleles; `panel.missing` lowers it.")
    return found | ({"warnings": warnings} if warnings else {})


def _linkage(r2, window, rows):
    return None if r2 is None else LinkageLimit(r2, window, rows)
