"""Exact sums of people's rows along the public map of a genome, one chromosome or several."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.study.genome_maps import stored_maps
from dpgrs.study.genome_people import contig_moments, contig_sums, moments_item, sums_item

if TYPE_CHECKING:
    import numpy as np

    from dpgrs.config.study import StudyConfig

READS = ("outcomes.bound", "privacy.ld_share")


def sum_genome(
    settings: "StudyConfig",
    variant_set: Path,
    outcomes: Path,
    people: Path,
    *,
    ld: Path,
    shard: int = 1,
    shards: int = 1,
    threads: int = 1,
    output: Path,
) -> None:
    """Sum rows of the training people along a public map, on one of the genome's chromosomes, or on several.

    With a share of the budget for them, second moments of rows within LD blocks are summed in the same pass.

    Raises UsageError for a group that does not exist. Raises DpgrsError if the files are not of the same
    people, or people were measured along another map. The message has no number.

    Parameters
    ----------
    variant_set : store of the study's variants.
    outcomes : outcomes and split of a replicate.
    people : what all chromosomes together say of people, from `dpgrs measure-people`.
    ld : public maps of the genome.
    shard : number of the group of chromosomes, from 1.
    shards : number of groups; the first chromosome is in the first group, the second in the next, and so on.
    threads : number of threads; the result does not depend on it.
    output : the sums to write.
    """
    if shard > shards:
        raise UsageError(
            "shard-out-of-range", f"`--shard` must be at most `--shards`, {shards}, got {shard}. Correct it."
        )
    maps, measured = stored_maps(ld), {label["map"]: arrays for label, arrays in load_labelled(people)}
    if not {stored.digest for stored in maps} <= measured.keys():
        raise DpgrsError(
            "people-of-another-map",
            f"`{people}` must be of people along the maps of `{ld}`, got others. Measure them again: dpgrs "
            "measure-people",
        )
    genotypes, phenotypes = VariantSet.open(variant_set), Outcomes.load(outcomes)

    def sums() -> "Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]":
        for stored in maps:
            options = {"measured": measured[stored.digest], "outcome_bound": settings.outcomes.bound}
            for contig in stored.contigs[shard - 1 :: shards]:
                moments = None
                if settings.privacy.ld_share is not None:
                    moments = contig_moments(phenotypes, stored, contig, n_threads=threads)
                options |= {"moments": moments, "n_threads": threads}
                yield sums_item(contig_sums(genotypes, phenotypes, stored, contig, **options))
                if moments is not None:
                    yield moments_item(moments.moments())

    save_labelled(output, sums())
