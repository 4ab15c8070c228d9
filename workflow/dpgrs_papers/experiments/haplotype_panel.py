"""A panel of common variants of real haplotypes, a random one for each replicate of an experiment."""

import numpy as np

from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.haplotype_store import HaplotypeStore, StoreWriter
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.panel import Panel, write_panel
from dpgrs.io.selection import select_panel
from dpgrs.simulation.resampling import resample_store

MAF = 0.01


def make_panel(files, chromosomes, folder, *, size, seed, people=None, make_people=resample_store):
    """Ingest phased VCFs and make a panel."""
    stores = []
    for file, chromosome in zip(files, chromosomes, strict=True):
        store = f"{folder}/{chromosome}"
        ingest_chromosome(file, chromosome=chromosome, store=store, progress=False)
        if people is not None:
            make_people(store, f"{store}-made", people=people, seed=seed)
            store = f"{store}-made"
        stores.append(HaplotypeStore.open(store))
    selection = select_panel(stores, size=size, maf=MAF, seed=seed)
    write_panel(f"{folder}/panel", stores, selection)
    return Panel.open(f"{folder}/panel")


def panel_of_people(panel, is_taken, path, *, frequency=None):
    """Make a panel of some people of another, with the same variants."""
    alleles = unpack(panel.haplotypes(), panel.n_haplotypes)[:, np.repeat(is_taken, 2)]
    with StoreWriter.create(path, sample_id=panel.sample_id[is_taken]) as writer:
        writer.append(panel.variants, pack(alleles))
        writer.add_variant_array("variant_rank", panel.variant_rank)
        writer.add_variant_array(
            "variant_frequency", alleles.mean(axis=1) if frequency is None else frequency
        )
        writer.attributes.update(panel.attributes)
    return Panel.open(path)
