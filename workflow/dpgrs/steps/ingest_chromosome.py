"""One chromosome of the cohort, or of the public reference, as a haplotype store."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import UsageError
from dpgrs.io import ingest
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = (
    "mode",
    "cohort.rows",
    "cohort.keep_filtered",
    "cohort.field",
    "cohort.fixed_sites",
    "people",
    "release.genome_build",
)


def ingest_chromosome(
    settings: "StudyConfig",
    genotypes: list[Path],
    *,
    chromosome: str,
    people: Path | None = None,
    sites: Path | None = None,
    is_reference: bool = False,
    is_copied: bool = False,
    threads: int = 2,
    output: Path,
    progress: bool | None = None,  # by default a running count is shown where standard error is a terminal
) -> dict[str, Any]:
    """Read one chromosome of a VCF, BCF, .bed, .pgen or .bgen, or of its parts, into a haplotype store.

    Returns a dict of counts, as of `dpgrs.io.ingest.ingest_chromosome`. Raises UsageError if there are sites
    without `cohort.fixed_sites`, or the reverse.

    Parameters
    ----------
    genotypes : genotype files of the chromosome.
    chromosome : the contig to read, with or without `chr`.
    people : list of the people to read, one id a line; all people if left out.
    sites : public sites of a release, the only ones to read, with `cohort.fixed_sites`.
    is_reference : the people are public: hard calls are read, and REF alleles may be provisional.
    is_copied : the store will be a source of copied haplotypes, which need phased calls.
    threads : threads that read a VCF.
    output : the store to write.
    """
    cohort = settings.cohort
    is_fixed = cohort.fixed_sites and not is_reference
    if is_fixed != (sites is not None):
        raise UsageError(
            "fixed-sites-without-sites",
            f"`cohort.fixed_sites` must be true if and only if public sites are given, got {is_fixed}. "
            "Name them: --sites public/sites.tsv",
        )
    if sites:
        from dpgrs.io.sites import read_chosen_sites  # brings pandas, which takes 0.2 s; a VCF does without

    return ingest.ingest_chromosome(
        genotypes,
        chromosome=chromosome,
        store=output,
        phased="required" if is_copied or cohort.rows == Rows.HAPLOTYPES else "any",
        keep_filtered=cohort.keep_filtered,
        known_ref=settings.mode == "release" and not (is_reference or is_fixed),
        field="GT" if is_reference else cohort.field,
        sites=read_chosen_sites(sites) if sites else None,
        people=people,
        genome_build=settings.release.genome_build,
        threads=threads,
        progress=progress,
    )
