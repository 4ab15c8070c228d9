"""The choice of variants from the cohort's own stores: filters, then thinning, at random and by linkage."""

from dataclasses import asdict
from functools import partial

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.linkage import choose_unlinked
from dpgrs.io.variant_filters import (
    USABLE,
    VariantFilters,
    count_reasons,
    drop_reasons,
    measured,
    poorly_called,
    too_few,
    with_records,
)
from dpgrs.io.variant_set import (
    StoredAlleles,
    VariantSelection,
    alternate_frequency,
    check_same_samples,
    chosen_alleles,
    fill_missing,
    site_names,
    thinning_rank,
)


def select_variants(stores, *, size, maf, seed, linkage=None, **filters):
    """Choose a variant set: variants that pass the filters, thinned at random.

    Every one of them gets a place in one random order, by its name and the seed; the first `size`, or the
    first that are not linked with earlier ones, form the variant set. All is measured on the cohort, so this
    is for benchmark mode.

    Parameters
    ----------
    stores : list of HaplotypeStore, one per chromosome, in genome order, all of the same samples.
    size : int >= 1
    maf : float in [0, 0.5]
    seed : int, the study's public seed.
    linkage : LinkageLimit, or None to thin at random alone.
    **filters : other fields of `VariantFilters`.

    Returns
    -------
    VariantSelection

    Raises
    ------
    DpgrsError
        Fewer variants left than `size`, or stores of different samples.
    """
    if size < 1:
        raise UsageError(f"`size` must be at least 1, got {size}.")
    filters = VariantFilters(maf=maf, **filters)
    check_same_samples(stores)
    usable, reasons = usable_variants(stores, filters=filters)
    rank, is_linked = thin(usable, stores, size=size, seed=seed, linkage=linkage)
    is_chosen = rank >= 0
    counts = _what_became(stores, reasons, usable, is_linked=is_linked, is_kept=is_chosen)
    if size > np.count_nonzero(is_chosen):
        line = too_few(counts, size=size, what="variants", fix="add chromosomes")
        raise DpgrsError(" ".join([line, *poorly_called(counts)]))
    chosen = usable[is_chosen]
    own = [chosen[chosen["store"] == place] for place in range(len(stores))]
    return VariantSelection(
        alleles=tuple(
            StoredAlleles(store, rows["row"].to_numpy()) for store, rows in zip(stores, own, strict=True)
        ),
        variants=tuple(rows[["contig", "position", "id", "ref", "alt"]] for rows in own),
        rank=rank[is_chosen],
        frequency=chosen["frequency"].to_numpy(),
        n_usable=len(usable),
        options={
            "size": int(size),
            "seed": int(seed),
            **asdict(filters),
            "linkage": linkage and asdict(linkage),
            "fill": "cohort frequency",
        },
        counts=counts,
    )


def usable_variants(stores, *, filters):
    """List the variants that pass filters, measured on the people of the stores.

    Parameters
    ----------
    stores : list of HaplotypeStore, in genome order.
    filters : VariantFilters

    Returns
    -------
    usable : DataFrame as from `variant_filters.measured`, with the place of the `store` and the `row` in it;
        by position within a store, records of one position in file order.
    reasons : list with the (n_variants,) `drop_reasons` of every store.
    """
    tables, reasons = [], []
    for place, store in enumerate(stores):
        table = measured(store, alternate_frequency(store), filters=filters)
        reasons.append(drop_reasons(table, filters=filters))
        table = table.assign(store=place, row=np.arange(len(table)))[reasons[-1] == USABLE]
        tables.append(table.sort_values("position", kind="stable"))
    return pd.concat(tables, ignore_index=True), reasons


def thin(variants, stores, *, size, seed, linkage=None):
    """Take variants in the thinning order.

    Parameters
    ----------
    variants : DataFrame of contig, position, ref, alt; with `linkage` also frequency, store and row.
    stores : list of HaplotypeStore; used with `linkage` alone.
    size : int, how many to take.
    seed : int, public.
    linkage : LinkageLimit, or None.

    Returns
    -------
    rank : (n_variants,) int32, each taken variant's place among those taken; -1 for the others.
    is_linked : (n_variants,) bool, passed over for an earlier one.
    """
    order = np.argsort(thinning_rank(site_names(variants), seed=seed), kind="stable")
    taken, is_linked = order[:size], np.zeros(len(variants), dtype=bool)
    if linkage is not None:
        taken, is_linked = choose_unlinked(
            pd.factorize(variants["contig"].str.removeprefix("chr"))[0],
            variants["position"].to_numpy(),
            partial(_filled_rows, stores, variants),
            order=order,
            size=size,
            limit=linkage,
            n_haplotypes=stores[0].n_haplotypes,
        )
    rank = np.full(len(variants), -1, dtype=np.int32)
    rank[taken] = np.arange(len(taken), dtype=np.int32)
    return rank, is_linked


def _what_became(stores, reasons, usable, *, is_linked, is_kept):
    """Count what became of all variants of the stores."""
    starts = np.cumsum([0, *map(len, reasons)])
    places = starts[usable["store"]] + usable["row"].to_numpy()
    fate = np.zeros((2, starts[-1]), dtype=bool)
    fate[:, places] = is_linked, is_kept
    contigs = [store.variants["contig"].iloc[0] for store in stores]
    counts = count_reasons(
        np.repeat(contigs, np.diff(starts)), np.concatenate(reasons), is_linked=fate[0], is_kept=fate[1]
    )
    return with_records(counts, stores)


def _filled_rows(stores, variants, places):
    """Return the (k, n_words) haplotypes of some variants of several stores, filled as in a variant set."""
    chosen = variants.iloc[places]
    words = np.empty((len(places), word_count(stores[0].n_haplotypes)), dtype=np.uint64)
    for place, store in enumerate(stores):
        is_own = (chosen["store"] == place).to_numpy()
        alleles = chosen_alleles(store, chosen["row"].to_numpy()[is_own])
        words[is_own] = fill_missing(*alleles, chosen["frequency"].to_numpy()[is_own])
    return words
