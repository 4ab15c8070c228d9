"""A cohort is called jointly, again with one person changed: everybody else's rows stay as they are."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.site_variants import take_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_writer import write_variant_set
from vcf_files import record, vcf_text, write_text

SAMPLES = ("A", "B", "C", "D")
POSITIONS = range(100, 40_000, 100)
# What a haplotype carries: the genome's A before T, two SNPs, a deletion of the T, or no call.
GENOME, PUBLIC, OTHER, DELETION, NO_CALL = "A", "G", "C", "", "."
SITES = pd.DataFrame({"position": POSITIONS}).assign(contig="1", id=".", ref=GENOME, alt=PUBLIC)
SITES = SITES.assign(frequency=0.3, rank=range(len(POSITIONS)))


def draw_person(rng):
    """Return two alleles for each site, or no call."""
    alleles = rng.choice([GENOME, GENOME, PUBLIC, OTHER, DELETION], size=(len(POSITIONS), 2))
    alleles[rng.random(len(POSITIONS)) < 0.1] = NO_CALL
    return alleles.tolist()


def joint_records(cohort, *, splits):
    """Return the records of all people together, as callers write them.

    A site that nobody varies at has no record, a deletion in anybody makes all alleles longer, and an allele
    that few have is filtered.
    """
    for position, calls in zip(POSITIONS, zip(*cohort, strict=True), strict=True):
        seen = [allele for pair in calls for allele in pair]
        alts = [allele for allele in (PUBLIC, OTHER, DELETION) if allele in seen]
        end = "T" if DELETION in alts else ""
        for group in [[alt] for alt in alts] if splits else [alts] * bool(alts):
            numbers = {alt: str(k) for k, alt in enumerate(group, start=1)} | {NO_CALL: NO_CALL}
            yield record(
                position,
                " ".join("|".join(numbers.get(allele, "0") for allele in pair) for pair in calls),
                ref=GENOME + end,
                alt=",".join("A" if alt == DELETION else alt + end for alt in group),
                filter_="PASS" if len(seen) - seen.count(GENOME) > 2 else "rare",
            )


def rows_of(records):
    """Return (n_people, 2, n_sites) alleles as a release has them, by way of a store and public sites."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        # The last record is always there: of none no store can be made.
        text = vcf_text(*records, record(50_000, "0|1 0|0 0|0 0|0"), samples=SAMPLES)
        ingest_chromosome(
            write_text(folder / "a.vcf", text),
            chromosome=1,
            store=folder / "1.zarr",
            keep_filtered=True,
            known_ref=True,
        )
        stores = [HaplotypeStore.open(folder / "1.zarr")]
        write_variant_set(folder / "variants.zarr", stores, take_sites(stores, SITES))
        variant_set = VariantSet.open(folder / "variants.zarr")
        return unpack(variant_set.haplotypes(), variant_set.n_haplotypes).T.reshape(len(SAMPLES), 2, -1)


@pytest.mark.parametrize("splits", [True, False])
def test_rows__one_person_changed(splits):
    rng = np.random.default_rng(1)
    first, second, *others = (draw_person(rng) for _ in range(5))
    rows = [rows_of(joint_records([person, *others], splits=splits)) for person in (first, second)]
    assert (rows[0][1:] == rows[1][1:]).all()
    for person, found in zip((first, second), rows, strict=True):
        assert found[0].T.tolist() == [[allele == PUBLIC for allele in pair] for pair in person]


def test_rows__of_ref_that_hangs_on_the_people_are_refused():
    """PLINK 1 has the more frequent allele as REF: G if the first person carries it, and A if not."""
    moved = []
    for calls in ("1|1 1|1 0|1 0|0", "0|0 1|1 0|1 0|0"):
        is_exchanged = calls.count("1") > 4
        exchanged = calls.translate(str.maketrans("01", "10")) if is_exchanged else calls
        alleles = {"ref": "G", "alt": "A"} if is_exchanged else {}
        line = record(100, exchanged, **{"ref": "A", "alt": "G"} | alleles)
        moved.append(rows_of([line])[1:, :, 0].tolist())
        with pytest.raises(DpgrsError, match="REF must be that of the genome, got `INFO/PR`"):
            rows_of([line.replace("\tPASS\t.\t", "\tPASS\tPR\t")])
    assert moved == [[[0, 0]] * 3, [[1, 1], [0, 1], [0, 0]]]
