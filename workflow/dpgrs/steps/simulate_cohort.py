"""A simulated cohort, and in a release a second one that serves as public."""

from pathlib import Path

from dpgrs.simulation import cohorts

READS = ("seed", "cohort.chromosomes", "cohort.simulation")


def simulate_cohort(settings, directory: Path, *, reference: Path | None = None):
    """Simulate phased VCFs of people under a published demographic model.

    Parameters
    ----------
    settings : Settings
    directory : folder for ``{chrom}.vcf.gz``, indexes and ``populations.tsv``.
    reference : folder for the VCFs of a second cohort that is public.
    """
    cohort = settings.cohort
    options = {"chromosomes": cohort.chromosomes, "seed": settings.seed, "reference": reference}
    cohorts.simulate_cohort(directory, **options, **cohort.simulation)
