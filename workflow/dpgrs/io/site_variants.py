"""The variant set of public sites, whatever the cohort's own genotypes are."""

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import word_count
from dpgrs.io.variant_set import (
    VariantSelection,
    batches,
    check_same_samples,
    chosen_alleles,
    chosen_genotypes,
    site_names,
)


def take_sites(stores, sites):
    """Take a variant set of public sites, whatever the cohort: the list is not filtered by its data.

    Parameters
    ----------
    stores : list of HaplotypeStore, one per chromosome, in genome order, all of the same samples.
    sites : DataFrame of contig, position, id, ref, alt, public frequency and rank, in the same order.

    Returns
    -------
    VariantSelection

    Raises
    ------
    DpgrsError
        If stores hold different samples, or there is no record of a site at which ALT is the more frequent
        allele: to take REF for everyone there would make rows depend on each other. Of dosages, if a site has
        no record or several.
    """
    check_same_samples(stores)
    contig = sites["contig"].str.removeprefix("chr")
    own = [sites[contig == store.variants["contig"].iloc[0].removeprefix("chr")] for store in stores]
    alleles = tuple(SiteAlleles(store, wanted) for store, wanted in zip(stores, own, strict=True))
    taken = pd.concat(own)
    has_record = np.concatenate([one.has_record for one in alleles])
    absent = taken[~has_record & (taken["frequency"].to_numpy() > 0.5)]
    if len(absent):
        raise DpgrsError(
            "The cohort must have a record of every public site whose ALT allele is the more frequent one, "
            f"got none of {', '.join(site_names(absent)[:3])}. Take it out of the public sites."
        )
    variants = tuple(table[["contig", "position", "id", "ref", "alt"]] for table in own)
    rank, frequency = taken["rank"].to_numpy(dtype=np.int32), taken["frequency"].to_numpy()
    return VariantSelection(alleles, variants, rank, frequency, len(taken), {"fill": "public frequency"})


class SiteAlleles:
    """Alleles of public sites in a store, which are read some at a time.

    Of several records of one site, an allele is ALT if any says so, and missing is what is missing in all. A
    site without a record has REF throughout. Of dosages every site has one record.

    Parameters
    ----------
    store : HaplotypeStore
    sites : DataFrame of contig, position, ref and alt.

    Attributes
    ----------
    has_record : (n_sites,) bool

    Raises
    ------
    DpgrsError
        Of dosages, if a site has no record or several.
    """

    def __init__(self, store, sites):
        self._store = store
        self._rows, self._places = _find_sites(store, sites)
        n_records = np.bincount(self._places, minlength=len(sites))
        if store.has_dosages:
            _require_one_record(sites, n_records)
        self.has_record = n_records > 0

    def blocks(self):
        """Yield as `StoredAlleles.blocks`."""
        order = np.argsort(self._places, kind="stable")
        for block in batches(self._store, len(self.has_record)):
            ends = np.searchsorted(self._places, (block.start, block.stop), sorter=order)
            found = np.sort(order[slice(*ends)])  # the store takes rows that ascend
            yield block, self._of_block(block, self._rows[found], self._places[found] - block.start)

    def _of_block(self, block, rows, places):
        if self._store.has_dosages:
            order = np.argsort(places)
            return tuple(plane[order] for plane in chosen_genotypes(self._store, rows))
        shape = (block.stop - block.start, word_count(self._store.n_haplotypes))
        haplotypes, unknown = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
        bits, missing = chosen_alleles(self._store, rows)
        unknown[places] = ~np.uint64(0)
        np.bitwise_or.at(haplotypes, places, bits)
        np.bitwise_and.at(unknown, places, missing)
        return haplotypes, unknown & ~haplotypes, None


def _find_sites(store, sites):
    """Return, for each site, the rows of a store that speak of it: (rows, the places of their sites).

    Records are compared in their shortest form: who has a deletion may turn everybody's ``A>G`` into
    ``AT>GT``, and a row must not depend on that.
    """
    variants = store.variants
    may_be_padded = (variants["ref"].str.len() > 1) & (variants["alt"].str.len() > 1)
    near = np.flatnonzero(variants["position"].isin(sites["position"]) | may_be_padded)
    place = {name: i for i, name in enumerate(site_names(_shortest(sites)))}
    found = [place.get(name, -1) for name in site_names(_shortest(variants.iloc[near]))]
    found = np.array(found, dtype=np.int64)
    return near[found >= 0], found[found >= 0]


def _shortest(variants):
    """Cut what REF and ALT have in common at their ends, so that one variant has one name.

    Parameters
    ----------
    variants : DataFrame of contig, position, ref and alt, and perhaps more.

    Returns
    -------
    DataFrame, the same with upper-case alleles, and position, ref and alt of the shortest form.
    """
    variants = variants.assign(ref=variants["ref"].str.upper(), alt=variants["alt"].str.upper())
    is_long = ((variants["ref"].str.len() > 1) & (variants["alt"].str.len() > 1)).to_numpy()
    if not is_long.any():
        return variants
    cut = [_cut(*site) for site in variants.loc[is_long, ["position", "ref", "alt"]].itertuples(index=False)]
    variants.loc[is_long, ["position", "ref", "alt"]] = cut
    return variants


def _cut(position, ref, alt):
    while len(ref) > 1 and len(alt) > 1 and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        position, ref, alt = position + 1, ref[1:], alt[1:]
    return position, ref, alt


def _require_one_record(sites, n_records):
    """Refuse sites without a record of dosages, or with several.

    Whether there is a record may hang on one person. Of calls it then makes no difference to the others, who
    have REF with it or without; their dosages are seldom 0, and a missing one becomes twice the frequency.
    """
    for is_wrong, got, remedy in (
        (n_records == 0, "none", "Give unfiltered files, or public sites that were imputed"),
        (n_records > 1, "several", "Drop all but one, or take it out of the public sites"),
    ):
        if is_wrong.any():
            raise DpgrsError(
                "The cohort must have one record of every public site with `cohort.field: DS`, got "
                f"{got} of {', '.join(site_names(sites[is_wrong])[:3])}. {remedy}."
            )
