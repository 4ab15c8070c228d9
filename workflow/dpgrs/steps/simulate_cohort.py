"""A simulated cohort, and in a release a second one that serves as public."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import UsageError
from dpgrs.simulation import cohorts

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("seed", "cohort.simulation")
WRITES = ("output", "reference")
ENDING = ".vcf.gz"


def simulate_cohort(
    settings: "StudyConfig", *, populations: Path, reference: Path | None = None, output: Path
) -> None:
    """Simulate a chromosome of people under a published demographic model, as phased VCF.

    It does not depend on which other chromosomes there are.

    Parameters
    ----------
    populations : table to write of sample and population, the same for all chromosomes.
    reference : VCF to write of a second, public cohort, with the name of the first in another folder.
    output : VCF to write, which is named by the chromosome, as in 21.vcf.gz; its index lies beside it.
    """
    for path in filter(None, (output, reference)):
        if path.name != output.name or not path.name.endswith(ENDING):
            raise UsageError(
                "simulated-vcf-name",
                f"A simulated VCF must be named by its chromosome, as in 21{ENDING}, and so must the VCF of "
                f"the reference, got {path.name}. Name the chromosome.",
            )
    options = {"chromosomes": [output.name.removesuffix(ENDING)], "seed": settings.seed}
    options |= {"reference": reference and reference.parent, "populations": populations}
    cohorts.simulate_cohort(output.parent, **options, **settings.cohort.simulation.as_dict())
