"""A variant set of common variants of real haplotypes, a random one for each replicate of an experiment."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.selection import select_variants
from dpgrs.io.store_writer import StoreWriter
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_writer import write_variant_set
from dpgrs.simulation.resampling import resample_store

MAF = 0.01


def make_variants(
    files: Sequence[Path],
    chromosomes: Sequence[str],
    folder: str,
    *,
    size: int,
    seed: int,
    people: int | None = None,
    make_people: Callable = resample_store,
) -> VariantSet:
    """Ingest phased VCFs and make a variant set."""
    stores = []
    for file, chromosome in zip(files, chromosomes, strict=True):
        store = f"{folder}/{chromosome}"
        ingest_chromosome(file, chromosome=chromosome, store=store, progress=False)
        if people is not None:
            make_people(store, f"{store}-made", people=people, seed=seed)
            store = f"{store}-made"
        stores.append(HaplotypeStore.open(store))
    selection = select_variants(stores, size=size, maf=MAF, seed=seed)
    write_variant_set(f"{folder}/variant_set", stores, selection)
    return VariantSet.open(f"{folder}/variant_set")


def variants_of_people(
    variant_set: VariantSet, is_taken: np.ndarray, path: Path | str, *, frequency: np.ndarray | None = None
) -> VariantSet:
    """Make a variant set of some people of another, with the same variants."""
    alleles = unpack(variant_set.haplotypes(), variant_set.n_haplotypes)[:, np.repeat(is_taken, 2)]
    with StoreWriter.create(path, sample_id=variant_set.sample_id[is_taken]) as writer:
        writer.append(variant_set.variants, pack(alleles))
        writer.add_variant_array("variant_rank", variant_set.variant_rank)
        writer.add_variant_array(
            "variant_frequency", alleles.mean(axis=1) if frequency is None else frequency
        )
        writer.attributes.update(variant_set.attributes)
    return VariantSet.open(path)
