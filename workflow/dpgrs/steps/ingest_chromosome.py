"""One chromosome of the cohort, or of the public reference, as a haplotype store."""

from pathlib import Path

from dpgrs.io import ingest
from dpgrs.types import Rows

READS = ("mode", "cohort.rows", "cohort.keep_filtered", "cohort.field", "people", "release.genome_build")


def ingest_chromosome(
    settings,
    genotypes: list[Path],
    *,
    chromosome: str,
    people: Path | None = None,
    is_reference: bool = False,
    is_copied: bool = False,
    threads: int = 2,
    output: Path,
    progress=None,
):
    """Read one chromosome of a VCF, BCF, .bed, .pgen or .bgen, or of its parts, into a haplotype store.

    Parameters
    ----------
    settings : StudyConfig
    genotypes : genotype files of the chromosome.
    chromosome : the contig to read, with or without `chr`.
    people : list of the people to read, one id a line; all people if left out.
    is_reference : the people are public: hard calls are read, and REF alleles may be provisional.
    is_copied : the store will be a source of copied haplotypes, which need phased calls.
    threads : threads that read a VCF.
    output : the store to write.
    progress : bool, whether to show a running count; by default where standard error is a terminal.

    Returns
    -------
    dict of counts, as of `dpgrs.io.ingest.ingest_chromosome`.
    """
    cohort = settings.cohort
    return ingest.ingest_chromosome(
        genotypes,
        chromosome=chromosome,
        store=output,
        phased="required" if is_copied or cohort.rows == Rows.HAPLOTYPES else "any",
        keep_filtered=cohort.keep_filtered,
        known_ref=settings.mode == "release" and not is_reference,
        field="GT" if is_reference else cohort.field,
        people=people,
        genome_build=settings.release.genome_build,
        threads=threads,
        progress=progress,
    )
