"""People along the public map of a genome: axes of ancestry, public scores, and sums by chromosome.

All of it is exact and private.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.io.people_slabs import people_slabs
from dpgrs.io.variant_set import check_same_people
from dpgrs.io.variant_set_parts import people_parts
from dpgrs.linalg.components import components_of
from dpgrs.linalg.genome_map import genome_axes, score_rows
from dpgrs.linalg.genome_moments import ChromosomeMoments, MomentSums, chromosome_moments
from dpgrs.linalg.genome_sums import (
    ChromosomeSums,
    chromosome_scores,
    chromosome_sums,
    joint_factors,
    less_scores,
    require_exact_scores,
    row_squares,
)
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.methods.genome_sums import public_digest
from dpgrs.study.genome_maps import StoredMap, columns_of_contigs

if TYPE_CHECKING:
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.variant_set import VariantSet

# People and pruned variants whose dosages are in memory together.
AXIS_PEOPLE, AXIS_VARIANTS = 2**12, 2**10


def people_axes(variant_set: "VariantSet", stored: StoredMap) -> np.ndarray:
    """Return all people's axes of ancestry, (n_axes, n_people) int64 in units of `DOSAGE_STEP`."""
    n_people = variant_set.n_samples
    axes = np.zeros((stored.label["n_axes"], n_people), dtype=np.int64)
    if not len(axes):
        return axes
    columns_by_contig = columns_of_contigs(variant_set, stored.label["terms"]["n_variants"])
    loadings, centres, columns = [], [], []
    for contig in stored.contigs:
        chromosome = stored.chromosome(contig)
        for first in range(0, len(chromosome.pruned), AXIS_VARIANTS):
            together = slice(first, first + AXIS_VARIANTS)
            pruned = chromosome.pruned[together]
            loadings.append(chromosome.axis_loadings[together])
            centres.append(chromosome.centre[pruned])
            columns.append(columns_by_contig[contig][pruned])
    for people in people_parts(slice(0, n_people), AXIS_PEOPLE):
        centred = (
            (_steps(variant_set, chunk_columns, people) - centre[:, np.newaxis]).T
            for chunk_columns, centre in zip(columns, centres, strict=True)
        )
        axes[:, people] = genome_axes(loadings, centred).T
    return axes


def measured_people(
    variant_set: "VariantSet", stored: StoredMap, *, n_threads: int = 1
) -> dict[str, np.ndarray]:
    """Return what all chromosomes together say of people: their axes, public scores, and what shrinks rows.

    Where rows are clipped by chromosome nothing shrinks them here, and scores are there only if the map has
    weights of some.
    """
    axes = people_axes(variant_set, stored)
    measured = {"axes": axes}
    if stored.scored:
        measured["scores"] = people_scores(variant_set, stored, n_threads=n_threads)
    if not stored.label["is_clipped_jointly"]:
        return measured
    columns = columns_of_contigs(variant_set, stored.label["terms"]["n_variants"])
    squares = []
    for contig in stored.contigs:
        chromosome = stored.chromosome(contig)
        slabs = people_slabs(variant_set, columns[contig], chromosome.centre)
        squares.append(row_squares(slabs, chromosome, axes=axes, n_threads=n_threads))
    return measured | {"factors": joint_factors(squares, stored.genome)}


def people_scores(variant_set: "VariantSet", stored: StoredMap, *, n_threads: int = 1) -> np.ndarray:
    """Return people's public scores over all chromosomes, (n_scores, n_people) int64 in `ROW_STEP`."""
    columns = columns_of_contigs(variant_set, stored.label["terms"]["n_variants"])
    chromosomes = [stored.chromosome(contig) for contig in stored.contigs]
    require_exact_scores([chromosome.score_weights for chromosome in chromosomes])
    scores = np.zeros((len(stored.scored), variant_set.n_samples), dtype=np.int64)
    for chromosome in chromosomes:
        slabs = people_slabs(variant_set, columns[chromosome.contig], chromosome.centre)
        scores += chromosome_scores(slabs, chromosome, n_people=variant_set.n_samples, n_threads=n_threads)
    return scores


def _residuals(
    values: np.ndarray, outcomes: "Outcomes", stored: StoredMap, measured: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the first outcomes, (n_outcomes, n_people) float64, less the public scores that some have."""
    if not stored.scored:
        return values
    names = outcomes.names[: len(values)]
    is_binary = ~np.isnan(outcomes.prevalence[: len(values)])
    refused_names = set(stored.scored) - {
        name for name, is_0_1 in zip(names, is_binary, strict=True) if not is_0_1
    }
    if refused_names:
        raise DpgrsError(
            "subtracted-outcomes",
            "`public.subtract` must name outcomes that are summed and are not 0/1, got "
            f"{', '.join(sorted(refused_names))}. Leave it out.",
        )
    return less_scores(values, measured["scores"], score_rows(stored.scored, names))


def sums_digest(stored: StoredMap, covariate_effects: np.ndarray | None) -> str:
    """Return the digest that sums of outcomes along a map carry, as from `public_digest`."""
    return public_digest(stored.digest, n=stored.planned_rows, covariate_effects=covariate_effects)


def contig_sums(
    variant_set: "VariantSet",
    outcomes: "Outcomes",
    stored: StoredMap,
    contig: str,
    *,
    measured: dict[str, np.ndarray],  # of `measured_people`
    outcome_bound: float,
    moments: MomentSums | None = None,  # of `contig_moments`, filled in the same pass
    n_threads: int = 1,
) -> ChromosomeSums:
    """Sum people's rows on a chromosome times their outcomes, which are 0 of all who are not trained on."""
    check_same_people(variant_set, outcomes)
    map_terms = stored.label["terms"]
    values = outcomes.values[map_terms["n_variants"]][:, :]
    if outcomes.loadings is not None:
        values = components_of(values, outcomes.loadings, bound=outcome_bound)
    values = values[: stored.label["n_summed"]]
    values = _residuals(values, outcomes, stored, measured)
    values = np.where(outcomes.is_training, values, np.nan)
    norm = {"norm": stored.label["clip"], "n_shared": map_terms["n_outcomes"]}
    chromosome, columns = stored.chromosome(contig), columns_of_contigs(variant_set, map_terms["n_variants"])
    return chromosome_sums(
        people_slabs(variant_set, columns[contig], chromosome.centre),
        chromosome,
        clipped_outcomes(values, bound=outcome_bound, **norm),
        axes=measured["axes"],
        outcome_norm=stored.label["clip"],
        n_shared=map_terms["n_outcomes"],
        made_with=sums_digest(stored, outcomes.covariate_effects),
        factors=measured.get("factors"),
        add_people=None if moments is None else moments.add,
        n_threads=n_threads,
    )


def contig_moments(outcomes: "Outcomes", stored: StoredMap, contig: str, *, n_threads: int = 1) -> MomentSums:
    """Return sums for the second moments of people's rows on a chromosome, of all who are trained on."""
    return MomentSums(
        stored.chromosome(contig),
        is_counted=outcomes.is_training,
        made_with=sums_digest(stored, outcomes.covariate_effects),
        n_threads=n_threads,
    )


def people_moments(
    variant_set: "VariantSet", outcomes: "Outcomes", stored: StoredMap
) -> list[ChromosomeMoments]:
    """Sum second moments of the rows of all who are trained on, for outcomes that are not adjusted."""
    check_same_people(variant_set, outcomes)
    columns = columns_of_contigs(variant_set, stored.label["terms"]["n_variants"])
    options = {"axes": people_axes(variant_set, stored), "is_counted": outcomes.is_training}
    chromosomes = map(stored.chromosome, stored.contigs)
    return [
        chromosome_moments(
            people_slabs(variant_set, columns[chromosome.contig], chromosome.centre),
            chromosome,
            made_with=sums_digest(stored, None),
            **options,
        )
        for chromosome in chromosomes
    ]


def sums_item(sums: ChromosomeSums) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return sums of a chromosome as a label and arrays for a file."""
    arrays = sums.arrays()
    label = {name: arrays.pop(name) for name in ("contig", "made_with", "is_clipped_jointly")}
    return label, arrays


def moments_item(moments: ChromosomeMoments) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return second moments of a chromosome as a label and arrays for a file, beside its sums."""
    arrays = moments.arrays()
    return {name: arrays.pop(name) for name in ("contig", "made_with", "norm")}, arrays


def _steps(variant_set: "VariantSet", columns: np.ndarray, people: slice) -> np.ndarray:
    """Return dosages of some people, (n_variants, n_people) int64 in units of `DOSAGE_STEP`."""
    if variant_set.has_dosages:
        return variant_set.dosages(columns, people).astype(np.int64)
    alleles = unpack(variant_set.genotypes(columns, people), 2 * (people.stop - people.start))
    return STEPS_PER_ALLELE * (alleles[:, ::2] + alleles[:, 1::2]).astype(np.int64)
