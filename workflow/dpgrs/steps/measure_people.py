"""People along the public map of a genome, before they are summed."""

from pathlib import Path

from dpgrs.io.replicates import save_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.study.genome_maps import stored_maps
from dpgrs.study.genome_people import measured_people


def measure_people(variant_set: Path, *, ld: Path, threads: int = 1, output: Path) -> None:
    """Measure the axes of ancestry of all people, and the lengths of their rows on all chromosomes.

    Parameters
    ----------
    variant_set : store of the study's variants.
    ld : public maps of the genome.
    threads : number of threads; the result does not depend on it.
    output : file to write of what all chromosomes together say of people.
    """
    people = VariantSet.open(variant_set)
    save_labelled(
        output,
        (
            ({"map": stored.digest}, measured_people(people, stored, n_threads=threads))
            for stored in stored_maps(ld)
        ),
    )
