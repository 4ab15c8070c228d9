"""The variant set: the variants of the study, drawn from the chromosomes' stores, without missing alleles."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD, unpack
from dpgrs.genotypes.dosages import fill_dosages, half_coded
from dpgrs.io.haplotype_store import HaplotypeStore, StoreWriter, rows_per_batch
from dpgrs.public_random import uniforms
from dpgrs.types import Rows

TABLE_KIND = "table"  # of the options of a variant set that `dpgrs.io.table_variants` wrote


class VariantSet(HaplotypeStore):
    """A haplotype store of the study's variants, in genome order, from which smaller sets are taken.

    Attributes
    ----------
    variant_rank : (n_variants,) int32, each variant's place in the thinning order.
    frequency : (n_variants,) float64, ALT allele frequency among the known alleles of the cohort.
    """

    @classmethod
    def open(cls, path):
        variant_set = super().open(path)
        if "variant_rank" not in variant_set._group:
            raise DpgrsError(
                f"`{path}` is a haplotype store, but not of a study's variants. Make one: dpgrs make-variants"
            )
        return variant_set

    @cached_property
    def variant_rank(self):
        return self._read("variant_rank")

    @cached_property
    def frequency(self):
        return self._read("variant_frequency")

    @property
    def is_table(self):
        """Whether its columns are those of a table of real numbers."""
        return self.attributes.get("options", {}).get("kind") == TABLE_KIND

    def genotypes(self, selection=slice(None), people=slice(None)):
        """Return the genotypes of variants as `dpgrs.linalg` takes them.

        Parameters
        ----------
        selection : slice or array of variant indices.
        people : slice of the people, from a whole word of haplotypes on, as of `people_parts`.

        Returns
        -------
        (n_selected, n_words) uint64 bits; of a variant set with dosages (n_selected, n_samples) int16 in
        `half` coding, in units of `dpgrs.genotypes.dosages.DOSAGE_STEP`.
        """
        if self.has_dosages:
            return half_coded(self.dosages(selection, people))
        first, last, _ = people.indices(self.n_samples)
        assert first % PEOPLE_OF_WORD == 0
        return self.haplotypes(selection, slice(first // PEOPLE_OF_WORD, -(-last // PEOPLE_OF_WORD)))

    def of_size(self, size):
        """Return the (size,) indices of the variant set of `size` variants, in genome order.

        Variant sets are nested: the variant set of one size is part of every larger one.
        """
        if not 1 <= size <= self.n_variants:
            raise DpgrsError(
                f"`size` must be from 1 to {self.n_variants}, the variants of `{self.path}`, got {size}."
            )
        return np.flatnonzero(self.variant_rank < size)


@dataclass(frozen=True)
class VariantSelection:
    """Which variants of which store form a variant set, in genome order.

    Attributes
    ----------
    alleles : tuple with StoredAlleles or `site_variants.SiteAlleles` per store, of its variants.
    variants : tuple with a DataFrame per store: contig, position, id, ref and alt of these variants.
    rank : (n_variants,) int32, thinning order over all stores.
    frequency : (n_variants,) float64, ALT allele frequency: the cohort's own among known alleles, or public.
    n_usable : int, variants that the filters left.
    options : dict, how they were chosen.
    counts : DataFrame of `variant_filters.with_records`: what became of all variants; None of a public list.
    """

    alleles: tuple
    variants: tuple
    rank: np.ndarray
    frequency: np.ndarray
    n_usable: int
    options: dict
    counts: pd.DataFrame | None = None


class StoredAlleles:
    """Alleles of variants of a store, which are read some at a time.

    Parameters
    ----------
    store : HaplotypeStore
    rows : (n,) int64, the variants in the store, in ascending order.
    """

    def __init__(self, store, rows):
        self._store, self._rows = store, rows

    def blocks(self):
        """Yield the slice of some variants and what `chosen_genotypes` returns of them, in order."""
        for block in batches(self._store, len(self._rows)):
            yield block, chosen_genotypes(self._store, self._rows[block])


def batches(store, n_variants):
    """Yield the slices of variants that are read and written together."""
    step = rows_per_batch(store.n_samples, has_dosages=store.has_dosages)
    for start in range(0, n_variants, step):
        yield slice(start, min(start + step, n_variants))


def alternate_frequency(store):
    """Return the (n_variants,) ALT allele frequencies among known alleles; NaN where none is known."""
    frequency = np.full(store.n_variants, np.nan)
    for chunk in store.chunks():
        n_alternate = np.bitwise_count(store.haplotypes(chunk)).sum(axis=1, dtype=np.int64)
        n_known = np.full_like(n_alternate, store.n_haplotypes)
        missing = store.missing(chunk)
        if missing is not None:
            n_known -= np.bitwise_count(missing).sum(axis=1, dtype=np.int64)
        np.divide(n_alternate, n_known, out=frequency[chunk], where=n_known > 0)
    return frequency


def site_names(variants):
    """Name the variants of a table by contig (without ``chr``), position and alleles.

    Parameters
    ----------
    variants : DataFrame with contig, position, ref and alt.

    Returns
    -------
    list of str
    """
    contigs = variants["contig"].str.removeprefix("chr")
    columns = (contigs, variants["position"], variants["ref"], variants["alt"])
    return [":".join(map(str, site)) for site in zip(*columns, strict=True)]


def thinning_rank(sites, *, seed):
    """Return the (n_sites,) int32 places of sites in a random order that no other site can change."""
    rank = np.empty(len(sites), dtype=np.int32)
    rank[np.argsort(uniforms(seed, sites, "thinning"), kind="stable")] = np.arange(len(sites), dtype=np.int32)
    return rank


def write_variant_set(path, stores, selection):
    """Write the chosen variants as one store, missing alleles filled with the more frequent one.

    Parameters
    ----------
    path : the variant set's folder; new, or empty.
    stores : list of HaplotypeStore, those that the variants were chosen from.
    selection : VariantSelection

    Returns
    -------
    dict of n_variants, n_usable and n_filled (alleles), also kept in the variant set's attributes.
    """
    sizes = [len(table) for table in selection.variants]
    frequencies = np.split(selection.frequency, np.cumsum(sizes)[:-1])
    n_filled = 0
    options = {"sample_id": stores[0].sample_id, "has_dosages": stores[0].has_dosages}
    with StoreWriter.create(path, **options) as writer:
        for alleles, variants, frequency in zip(
            selection.alleles, selection.variants, frequencies, strict=True
        ):
            for block, (haplotypes, missing, dosages) in alleles.blocks():
                own = frequency[block]
                if dosages is not None:
                    is_missing = missing_people(missing, n_samples=stores[0].n_samples)
                    dosages = fill_dosages(dosages, is_missing, own)
                filled = fill_missing(haplotypes, missing, own)
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


def fill_missing(haplotypes, missing, frequency):
    """Fill missing alleles with the more frequent one.

    Parameters
    ----------
    haplotypes, missing : (n_variants, n_words) uint64
    frequency : (n_variants,) ALT allele frequencies; at 1/2 exactly, REF is taken.

    Returns
    -------
    (n_variants, n_words) uint64
    """
    is_alternate = (frequency > 0.5)[:, np.newaxis]
    return haplotypes | np.where(is_alternate, missing, np.uint64(0))


def missing_people(missing, *, n_samples):
    """Tell whose dosages are missing: (n_variants, n_samples) bool."""
    return unpack(missing, 2 * n_samples)[:, ::2].astype(bool)


def chosen_alleles(store, rows):
    """Return the alleles of rows of a store, and where they are missing, each (n_rows, n_words) uint64."""
    haplotypes, missing = store.haplotypes(rows), store.missing(rows)
    return haplotypes, np.zeros_like(haplotypes) if missing is None else missing


def chosen_genotypes(store, rows):
    """Return what `chosen_alleles` does, and (n_rows, n_samples) uint16 dosages, 0 where missing, or None."""
    return *chosen_alleles(store, rows), store.dosages(rows) if store.has_dosages else None


def check_same_samples(stores):
    """Refuse stores that do not hold the same people in the same order, with a `DpgrsError`."""
    first = stores[0]
    for store in stores[1:]:
        if not np.array_equal(store.sample_id, first.sample_id):
            raise DpgrsError(
                f"`{store.path}` must have the samples of `{first.path}` in the same order, got others or "
                "another order. Subset all VCFs alike: bcftools view -S samples.txt"
            )


def check_same_people(variant_set, outcomes, covariates=None):
    """Refuse outcomes and covariates of more or fewer people than a variant set, before numpy tells how many.

    Parameters
    ----------
    variant_set : VariantSet
    outcomes : dpgrs.io.outcomes.Outcomes
    covariates : dpgrs.io.covariates.Covariates or None.

    Raises
    ------
    DpgrsError
        Without a number: they are of people.
    """
    n_rows = (
        variant_set.n_haplotypes if Rows(outcomes.rows) == Rows.HAPLOTYPES else variant_set.n_haplotypes // 2
    )
    found = {len(outcomes.is_training)} | ({covariates.units.shape[1]} if covariates is not None else set())
    if found != {n_rows}:
        raise DpgrsError(
            "Variants, outcomes and covariates must be of the same people, got others. Make them again from "
            "the same genotypes: dpgrs make-variants, make-outcomes, make-covariates"
        )
