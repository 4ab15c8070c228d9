"""What makes a variant set of the chromosomes' stores: their chosen variants, without missing alleles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.dosages import fill_dosages, missing_people
from dpgrs.io.haplotype_store import HaplotypeStore, rows_per_batch
from dpgrs.io.store_writer import StoreWriter
from dpgrs.public_random import uniforms

if TYPE_CHECKING:
    from dpgrs.io.site_variants import SiteAlleles


@dataclass(frozen=True)
class VariantSelection:
    """The variants of each store that form a variant set, in genome order."""

    alleles: tuple["StoredAlleles | SiteAlleles", ...]  # one per store, of its variants
    variants: tuple[pd.DataFrame, ...]  # one per store: contig, position, id, ref and alt of these variants
    rank: np.ndarray  # (n_variants,) int32, thinning order over all stores
    frequency: np.ndarray  # (n_variants,) float64, of ALT: the cohort's own among known alleles, or public
    n_usable: int  # variants that the filters left
    options: dict[str, Any]  # how they were chosen
    # The fates of all variants, by `variant_filters.with_records`; None of a public list
    counts: pd.DataFrame | None = None


class StoredAlleles:
    """Alleles of the `rows`, (n,) int64 in ascending order, of a store, which are read some at a time."""

    def __init__(self, store: HaplotypeStore, rows: np.ndarray) -> None:
        self._store, self._rows = store, rows

    def blocks(self) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray, np.ndarray | None]]]:
        """Yield the slice of some variants and their `chosen_genotypes`, in order."""
        for block in batches(self._store, len(self._rows)):
            yield block, chosen_genotypes(self._store, self._rows[block])


def batches(store: HaplotypeStore, n_variants: int) -> Iterator[slice]:
    """Yield the slices of variants that are read and written together."""
    step = rows_per_batch(store.n_samples, has_dosages=store.has_dosages)
    for start in range(0, n_variants, step):
        yield slice(start, min(start + step, n_variants))


def alternate_frequency(store: HaplotypeStore) -> np.ndarray:
    """Return the (n_variants,) ALT allele frequencies among known alleles; NaN if none is known."""
    frequency = np.full(store.n_variants, np.nan)
    for chunk in store.chunks():
        n_alternate = np.bitwise_count(store.haplotypes(chunk)).sum(axis=1, dtype=np.int64)
        n_known = np.full_like(n_alternate, store.n_haplotypes)
        missing = store.missing(chunk)
        if missing is not None:
            n_known -= np.bitwise_count(missing).sum(axis=1, dtype=np.int64)
        np.divide(n_alternate, n_known, out=frequency[chunk], where=n_known > 0)
    return frequency


def site_names(variants: pd.DataFrame) -> list[str]:
    """Return the names of variants by contig (without ``chr``), position, ref and alt."""
    contigs = variants["contig"].str.removeprefix("chr")
    columns = (contigs, variants["position"], variants["ref"], variants["alt"])
    return [":".join(map(str, site)) for site in zip(*columns, strict=True)]


def thinning_rank(sites: Sequence[str], *, seed: int) -> np.ndarray:
    """Return the (n_sites,) int32 numbers of sites in a random order that no other site can change."""
    rank = np.empty(len(sites), dtype=np.int32)
    rank[np.argsort(uniforms(seed, sites, "thinning"), kind="stable")] = np.arange(len(sites), dtype=np.int32)
    return rank


def write_variant_set(
    path: Path | str, stores: Sequence[HaplotypeStore], selection: VariantSelection
) -> dict[str, int]:
    """Write the chosen variants of stores as one store, missing alleles filled with the more frequent one.

    The folder must be new or empty. The result has n_variants, n_usable and n_filled (alleles), which are
    also in the variant set's attributes.
    """
    sizes = [len(table) for table in selection.variants]
    frequencies = np.split(selection.frequency, np.cumsum(sizes)[:-1])
    n_filled = 0
    first = stores[0]
    with StoreWriter.create(path, sample_id=first.sample_id, has_dosages=first.has_dosages) as writer:
        for alleles, variants, frequency in zip(
            selection.alleles, selection.variants, frequencies, strict=True
        ):
            for block, (haplotypes, missing, dosages) in alleles.blocks():
                block_frequency = frequency[block]
                if dosages is not None:
                    is_missing = missing_people(missing, n_samples=first.n_samples)
                    dosages = fill_dosages(dosages, is_missing, block_frequency)
                filled = fill_missing(haplotypes, missing, block_frequency)
                writer.append(variants.iloc[block], filled, dosages=dosages)
                n_filled += int(np.bitwise_count(missing).sum())
        writer.add_variant_array("variant_rank", selection.rank)
        writer.add_variant_array("variant_frequency", selection.frequency)
        counts = {"n_variants": writer.n_variants, "n_usable": selection.n_usable, "n_filled": n_filled}
        writer.attributes.update(
            source=[store.attributes["source"] for store in stores],
            options=selection.options,
            counts=counts,
        )
    return counts


def fill_missing(haplotypes: np.ndarray, missing: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Fill missing alleles of (n_variants, n_words) uint64 haplotypes with the more frequent one.

    The frequency is (n_variants,), of ALT; at exactly 1/2, REF is taken.
    """
    is_alternate = (frequency > 0.5)[:, np.newaxis]
    return haplotypes | np.where(is_alternate, missing, np.uint64(0))


def chosen_alleles(store: HaplotypeStore, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the alleles of rows of a store, and where they are missing, each (n_rows, n_words) uint64."""
    haplotypes, missing = store.haplotypes(rows), store.missing(rows)
    return haplotypes, np.zeros_like(haplotypes) if missing is None else missing


def chosen_genotypes(
    store: HaplotypeStore, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return what `chosen_alleles` does, and (n_rows, n_samples) uint16 dosages, 0 if missing, or None."""
    return *chosen_alleles(store, rows), store.dosages(rows) if store.has_dosages else None


def check_same_samples(stores: Sequence[HaplotypeStore]) -> None:
    """Refuse stores that do not hold the same people in the same order."""
    first = stores[0]
    for store in stores[1:]:
        if not np.array_equal(store.sample_id, first.sample_id):
            raise DpgrsError(
                "samples-differ",
                f"`{store.path}` must have the samples of `{first.path}` in the same order, got others or "
                "another order. Subset all VCFs alike: bcftools view -S samples.txt",
            )
