"""One chromosome of copies of the people of a cohort."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io.files import write_table
from dpgrs.simulation.resampling import CopyingModel, resample_store

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("seed", "cohort.copies.people", "cohort.copies.effective_size", "cohort.copies.mutation")


def resample_chromosome(
    settings: "StudyConfig",
    source: Path,
    *,
    populations: Path | None = None,
    genetic_map: Path | None = None,
    table: Path | None = None,
    threads: int = 2,
    output: Path,
) -> None:
    """Make many people from the few of a store, as mosaics of their haplotypes.

    Parameters
    ----------
    source : the store of a chromosome.
    populations : table of sample and population; copies mix haplotypes of one population only.
    genetic_map : genetic map of the chromosome; 1 cM/Mb if left out.
    table : table to write of the populations of the copied people, the same for all chromosomes.
    threads : number of threads; the result does not depend on it.
    output : the store of the copies to write.
    """
    copies = settings.cohort.copies
    copied_populations = resample_store(
        source,
        output,
        people=copies.people,
        seed=settings.seed,
        populations=populations,
        genetic_map=genetic_map,
        model=CopyingModel(effective_size=copies.effective_size, mutation=copies.mutation),
        n_threads=threads,
    )
    if table is not None:
        write_table(table, copied_populations)
