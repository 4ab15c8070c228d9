"""A simulated cohort, and in a release a second one that serves as public."""

from pathlib import Path

from dpgrs.simulation import cohorts

READS = ("seed", "cohort.simulation")


def simulate_cohort(
    settings, directory: Path, *, chromosome: str, populations: Path, reference: Path | None = None
):
    """Simulate a chromosome of people under a published demographic model, as phased VCF.

    It does not depend on which other chromosomes there are.

    Parameters
    ----------
    settings : StudyConfig
    directory : folder for ``{chrom}.vcf.gz`` and its index.
    chromosome : the chromosome to simulate.
    populations : table to write of sample and population, the same for all chromosomes.
    reference : folder for the VCF of a second, public cohort.
    """
    options = {"chromosomes": [chromosome], "seed": settings.seed}
    options |= {"reference": reference, "populations": populations}
    cohorts.simulate_cohort(directory, **options, **settings.cohort.simulation.as_dict())
