"""The variant set of public sites, whatever the cohort's own genotypes are."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import word_count
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.variant_set_writer import (
    VariantSelection,
    batches,
    check_same_samples,
    chosen_alleles,
    chosen_genotypes,
    site_names,
)


def take_sites(stores: Sequence[HaplotypeStore], sites: pd.DataFrame) -> VariantSelection:
    """Take a variant set of public sites, whatever the cohort: the list is not filtered by its data.

    Stores are one per chromosome, in genome order, all of the same samples; sites (contig, position, id, ref,
    alt, public frequency and rank) have the same order.

    A site without a record at which ALT is the more frequent allele is refused: to take REF for everyone
    there would make rows depend on each other. With dosages, a site without a record or with several is
    refused.
    """
    check_same_samples(stores)
    contig = sites["contig"].str.removeprefix("chr")
    by_store = [sites[contig == _contig_of(store)] for store in stores]
    alleles = tuple(SiteAlleles(store, table) for store, table in zip(stores, by_store, strict=True))
    chosen = pd.concat(by_store)
    has_record = np.concatenate([site_alleles.has_record for site_alleles in alleles])
    absent = chosen[~has_record & (chosen["frequency"].to_numpy() > 0.5)]
    if len(absent):
        raise DpgrsError(
            "public-sites-absent",
            "The cohort must have a record of every public site whose ALT allele is the more frequent one, "
            f"got none of {', '.join(site_names(absent)[:3])}. Take it out of the public sites.",
        )
    variants = tuple(table[["contig", "position", "id", "ref", "alt"]] for table in by_store)
    rank, frequency = chosen["rank"].to_numpy(dtype=np.int32), chosen["frequency"].to_numpy()
    return VariantSelection(alleles, variants, rank, frequency, len(chosen), {"fill": "public frequency"})


def _contig_of(store: HaplotypeStore) -> str:
    """Return the contig of a store without ``chr``; of one without variants its chromosome in settings."""
    contigs = store.variants["contig"]
    contig = contigs.iloc[0] if len(contigs) else store.attributes["options"]["chromosome"]
    return contig.removeprefix("chr")


class SiteAlleles:
    """Alleles of public sites (contig, position, ref and alt) in a store, which are read some at a time.

    If a site has several records, an allele is ALT if any says so, and missing if it is missing in all. A
    site without a record has REF throughout. With dosages every site must have one record.
    """

    def __init__(self, store: HaplotypeStore, sites: pd.DataFrame) -> None:
        self._store = store
        self._rows, self._sites = _find_sites(store, sites)
        n_records = np.bincount(self._sites, minlength=len(sites))
        if store.has_dosages:
            _require_one_record(sites, n_records)
        self.has_record = n_records > 0  # (n_sites,) bool

    def blocks(self) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray, np.ndarray | None]]]:
        """Yield as `StoredAlleles.blocks` does."""
        order = np.argsort(self._sites, kind="stable")
        for block in batches(self._store, len(self.has_record)):
            first, last = np.searchsorted(self._sites, (block.start, block.stop), sorter=order)
            records = np.sort(order[first:last])  # the store takes rows that ascend
            yield block, self._of_block(block, self._rows[records], self._sites[records] - block.start)

    def _of_block(
        self, block: slice, rows: np.ndarray, site: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        if self._store.has_dosages:
            order = np.argsort(site)
            haplotypes, missing, dosages = chosen_genotypes(self._store, rows)
            return haplotypes[order], missing[order], dosages[order]
        shape = (block.stop - block.start, word_count(self._store.n_haplotypes))
        haplotypes, unknown = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
        bits, missing = chosen_alleles(self._store, rows)
        unknown[site] = ~np.uint64(0)
        np.bitwise_or.at(haplotypes, site, bits)
        np.bitwise_and.at(unknown, site, missing)
        return haplotypes, unknown & ~haplotypes, None


def _find_sites(store: HaplotypeStore, sites: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a store that are records of sites, and the numbers of their sites.

    Records are compared in their shortest form: a person with a deletion may turn everybody's ``A>G`` into
    ``AT>GT``, and a row must not depend on that.
    """
    variants = store.variants
    may_be_padded = (variants["ref"].str.len() > 1) & (variants["alt"].str.len() > 1)
    near = np.flatnonzero(variants["position"].isin(sites["position"]) | may_be_padded)
    number_of = {name: i for i, name in enumerate(site_names(_shortest(sites)))}
    numbers = [number_of.get(name, -1) for name in site_names(_shortest(variants.iloc[near]))]
    site = np.array(numbers, dtype=np.int64)
    return near[site >= 0], site[site >= 0]


def _shortest(variants: pd.DataFrame) -> pd.DataFrame:
    """Cut what REF and ALT have in common at their ends, so that one variant has one name.

    The result has upper-case alleles, and position, ref and alt of the shortest form; other columns stay.
    """
    variants = variants.assign(ref=variants["ref"].str.upper(), alt=variants["alt"].str.upper())
    is_long = ((variants["ref"].str.len() > 1) & (variants["alt"].str.len() > 1)).to_numpy()
    if not is_long.any():
        return variants
    cut = [_cut(*site) for site in variants.loc[is_long, ["position", "ref", "alt"]].itertuples(index=False)]
    variants.loc[is_long, ["position", "ref", "alt"]] = cut
    return variants


def _cut(position: int, ref: str, alt: str) -> tuple[int, str, str]:
    while len(ref) > 1 and len(alt) > 1 and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        position, ref, alt = position + 1, ref[1:], alt[1:]
    return position, ref, alt


def _require_one_record(sites: pd.DataFrame, n_records: np.ndarray) -> None:
    """Refuse sites without a record of dosages, or with several.

    Whether there is a record may depend on one person. With calls it then makes no difference to the others,
    who have REF with it or without; their dosages are seldom 0, and a missing one becomes twice the
    frequency.
    """
    for is_wrong, got, remedy in (
        (n_records == 0, "none", "Give unfiltered files, or public sites that were imputed"),
        (n_records > 1, "several", "Drop all but one, or take it out of the public sites"),
    ):
        if is_wrong.any():
            raise DpgrsError(
                "public-site-not-once",
                "The cohort must have one record of every public site with `cohort.field: DS`, got "
                f"{got} of {', '.join(site_names(sites[is_wrong])[:3])}. {remedy}.",
            )
