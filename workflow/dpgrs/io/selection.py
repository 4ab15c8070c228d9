"""The choice of variants from the cohort's own stores: filters, then thinning, at random and by linkage."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.linkage import LinkageLimit, choose_unlinked
from dpgrs.io.haplotype_store import HaplotypeStore
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
from dpgrs.io.variant_set_writer import (
    StoredAlleles,
    VariantSelection,
    alternate_frequency,
    check_same_samples,
    chosen_alleles,
    fill_missing,
    site_names,
    thinning_rank,
)


def select_variants(
    stores: Sequence[HaplotypeStore],
    *,
    size: int,
    maf: float,
    seed: int,
    linkage: LinkageLimit | None = None,
    **filters: Any,
) -> VariantSelection:
    """Choose a variant set: variants that pass the filters, thinned at random.

    All usable variants have one random order, by their names and the public seed; the first `size`, or the
    first that are not linked with earlier ones, form the variant set. All is measured on the cohort: only for
    benchmarks.

    Stores are one per chromosome, in genome order, all of the same samples. `filters` are other fields of
    `VariantFilters`. Fewer variants than `size` raise a DpgrsError.
    """
    if size < 1:
        raise UsageError("size-not-positive", f"`size` must be at least 1, got {size}. Raise it.")
    conditions = VariantFilters(maf=maf, **filters)
    check_same_samples(stores)
    usable, reasons = usable_variants(stores, filters=conditions)
    rank, is_linked = thin(usable, stores, size=size, seed=seed, linkage=linkage)
    is_chosen = rank >= 0
    counts = _what_became(stores, reasons, usable, is_linked=is_linked, is_kept=is_chosen)
    if size > np.count_nonzero(is_chosen):
        line = too_few(counts, size=size, what="variants", fix="add chromosomes")
        raise DpgrsError("too-few-variants", " ".join([line, *poorly_called(counts)]))
    chosen = usable[is_chosen]
    by_store = [chosen[chosen["store"] == number] for number in range(len(stores))]
    return VariantSelection(
        alleles=tuple(
            StoredAlleles(store, rows["row"].to_numpy()) for store, rows in zip(stores, by_store, strict=True)
        ),
        variants=tuple(rows[["contig", "position", "id", "ref", "alt"]] for rows in by_store),
        rank=rank[is_chosen],
        frequency=chosen["frequency"].to_numpy(),
        n_usable=len(usable),
        options={
            "size": int(size),
            "seed": int(seed),
            **asdict(conditions),
            "linkage": linkage and asdict(linkage),
            "fill": "cohort frequency",
        },
        counts=counts,
    )


def usable_variants(
    stores: Sequence[HaplotypeStore], *, filters: VariantFilters
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the variants that pass filters, measured on the people of the stores, and `drop_reasons` by
    store.

    The table is that of `variant_filters.measured`, with the number of the `store` and the `row` in it; by
    position within a store, records of one position in file order.
    """
    tables, reasons = [], []
    for number, store in enumerate(stores):
        table = measured(store, alternate_frequency(store), filters=filters)
        reasons.append(drop_reasons(table, filters=filters))
        table = table.assign(store=number, row=np.arange(len(table)))[reasons[-1] == USABLE]
        tables.append(table.sort_values("position", kind="stable"))
    return pd.concat(tables, ignore_index=True), reasons


def thin(
    variants: pd.DataFrame,
    stores: Sequence[HaplotypeStore],
    *,
    size: int,
    seed: int,
    linkage: LinkageLimit | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Take `size` variants in the thinning order, by a public seed.

    Variants have contig, position, ref and alt; with `linkage` also frequency, store and row, and the stores
    are read.

    Return each taken variant's number in that order, (n_variants,) int32, -1 for the others; and which were
    passed over for an earlier one, (n_variants,) bool.
    """
    order = np.argsort(thinning_rank(site_names(variants), seed=seed), kind="stable")
    chosen, is_linked = order[:size], np.zeros(len(variants), dtype=bool)
    if linkage is not None:
        chosen, is_linked = choose_unlinked(
            pd.factorize(variants["contig"].str.removeprefix("chr"))[0],
            variants["position"].to_numpy(),
            partial(_filled_rows, stores, variants),
            order=order,
            size=size,
            limit=linkage,
            n_haplotypes=stores[0].n_haplotypes,
        )
    rank = np.full(len(variants), -1, dtype=np.int32)
    rank[chosen] = np.arange(len(chosen), dtype=np.int32)
    return rank, is_linked


def _what_became(
    stores: Sequence[HaplotypeStore],
    reasons: list[np.ndarray],
    usable: pd.DataFrame,
    *,
    is_linked: np.ndarray,
    is_kept: np.ndarray,
) -> pd.DataFrame:
    """Count the fates of all variants of the stores."""
    starts = np.cumsum([0, *map(len, reasons)])
    indices = starts[usable["store"]] + usable["row"].to_numpy()
    fate = np.zeros((2, starts[-1]), dtype=bool)
    fate[:, indices] = is_linked, is_kept
    contigs = [store.variants["contig"].iloc[0] for store in stores]
    counts = count_reasons(
        np.repeat(contigs, np.diff(starts)), np.concatenate(reasons), is_linked=fate[0], is_kept=fate[1]
    )
    return with_records(counts, stores)


def _filled_rows(stores: Sequence[HaplotypeStore], variants: pd.DataFrame, indices: np.ndarray) -> np.ndarray:
    """Return the (k, n_words) haplotypes of some variants of several stores, filled as in a variant set."""
    chosen = variants.iloc[indices]
    words = np.empty((len(indices), word_count(stores[0].n_haplotypes)), dtype=np.uint64)
    for number, store in enumerate(stores):
        is_here = (chosen["store"] == number).to_numpy()
        alleles = chosen_alleles(store, chosen["row"].to_numpy()[is_here])
        words[is_here] = fill_missing(*alleles, chosen["frequency"].to_numpy()[is_here])
    return words
