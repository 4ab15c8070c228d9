"""Public maps of whole genomes in a file, one for every request of a study, and the people of their panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.genome_map import DOSAGE_STEP, ChromosomeMap, GenomeMap, ScoreVariances, chromosome_of
from dpgrs.privacy.digests import json_digest

if TYPE_CHECKING:
    from dpgrs.io.replicates import Labelled
    from dpgrs.io.variant_set import VariantSet

# Variants of a panel that are scored together.
SCORED_TOGETHER = 1024
# Arrays of the whole genome, which are in every chromosome's label.
OF_GENOME = ("axis_shares", "axis_variances", "attenuations")
# And what it says of public scores that are subtracted, if there are any.
OF_SCORES = ("scored", "residual_variances")


def columns_of_contigs(variant_set: "VariantSet", size: int) -> dict[str, np.ndarray]:
    """Return the columns of a number of variants by contig, in the order of the genome."""
    columns = variant_set.of_size(size)
    contigs = variant_set.variants["contig"].to_numpy()[columns]
    return {contig: columns[contigs == contig] for contig in dict.fromkeys(contigs.tolist())}


def panel_dosages(variant_set: "VariantSet", columns: np.ndarray) -> np.ndarray:
    """Return the dosages of all people of a variant set, (n_people, n_variants) from 0 to 2."""
    if variant_set.has_dosages:
        return (variant_set.dosages(columns) / np.float32(STEPS_PER_ALLELE)).T
    alleles = unpack(variant_set.genotypes(columns), variant_set.n_haplotypes)
    return (alleles[:, ::2] + alleles[:, 1::2]).T


def panel_variances(
    variant_set: "VariantSet",  # of the panel that the map was made from, at the sites of the study
    genome: GenomeMap,
    weights: Sequence[np.ndarray],  # of each chromosome (n_rows, n_variants) float64, as dosages are counted
) -> ScoreVariances:
    """Return the variances of scores among the people of a panel."""
    columns = columns_of_contigs(variant_set, genome.n_variants)
    centre = np.concatenate([chromosome.centre for chromosome in genome.chromosomes])
    frequency = variant_set.frequency[np.concatenate(list(columns.values()))]
    is_same = np.array_equal(np.rint(2 * frequency / DOSAGE_STEP), centre)
    if not is_same or variant_set.n_samples != genome.n_panel:
        raise _other_panel()
    scores = np.zeros((len(weights[0]), variant_set.n_samples))
    of_chromosomes = np.zeros(len(scores))
    for of_contig, of_chromosome in zip(columns.values(), weights, strict=True):
        contig_scores = np.zeros_like(scores)
        for first in range(0, len(of_contig), SCORED_TOGETHER):
            together = slice(first, first + SCORED_TOGETHER)
            dosages = panel_dosages(variant_set, of_contig[together])
            contig_scores += of_chromosome[:, together] @ dosages.T.astype(np.float64)
        of_chromosomes += contig_scores.var(axis=1)
        scores += contig_scores
    return ScoreVariances(scores.var(axis=1), of_chromosomes, variant_set.n_samples)


def people_digest(sample_ids: Sequence[str]) -> str:
    """Return the SHA-256 of the ids of a public panel, which identifies its people to a fit."""
    return json_digest(["people of a panel", *map(str, sample_ids)]).hex()


def require_panel(variant_set: "VariantSet", maps: Sequence["StoredMap"]) -> None:
    """Refuse a variant set that is not of the people of whom maps were made, such as the cohort."""
    people = people_digest(variant_set.sample_id)
    if any(stored.label.get("people") != people for stored in maps):
        raise _other_panel()


def _other_panel() -> DpgrsError:
    return DpgrsError(
        "panel-of-another-map",
        "The panel of a fit must be the people that the map of the genome was made from, got others. "
        "Take the variant set of which dpgrs measure-ld made it.",
    )


def map_label(
    genome: GenomeMap,
    request_terms: Mapping[str, Any],  # of the request that it is for
    *,
    planned_rows: int,
    n_summed: int,  # outcomes that are summed along it
) -> dict[str, Any]:
    """Return what the label of every chromosome says of the whole map, as JSON values."""
    return {
        "terms": request_terms,
        "digest": genome.digest,
        "n_rows": genome.n_panel,
        "level": genome.level,
        "clip": genome.clip,
        "is_clipped_jointly": genome.is_clipped_jointly,
        "n_axes": genome.n_axes,
        "planned_rows": planned_rows,
        "n_summed": n_summed,
        **({name: list(getattr(genome, name)) for name in OF_SCORES} if genome.scored else {}),
    } | {name: getattr(genome, name).tolist() for name in OF_GENOME}


@dataclass(frozen=True, eq=False)
class StoredMap:
    """One map of a file: what its labels say, and its chromosomes, which are read when they are taken."""

    label: dict[str, Any]  # of its first chromosome
    _file: "Labelled"

    @property
    def contigs(self) -> list[str]:
        """The names of its chromosomes, in the order of the genome."""
        return [self._file.labels[index]["contig"] for index in self._indices]

    @property
    def digest(self) -> str:
        """The digest of what sums along it use, as of `GenomeMap.digest`."""
        return self.label["digest"]

    @property
    def planned_rows(self) -> float:
        """The number of people who were planned to be trained on when it was made."""
        return self.label["planned_rows"]

    @property
    def scored(self) -> tuple[str, ...]:
        """The outcomes of which a public score is subtracted."""
        return tuple(self.label.get("scored", ()))

    @property
    def attenuations(self) -> np.ndarray:
        """Those of `GenomeMap`."""
        return np.array(self.label["attenuations"])

    def chromosome(self, contig: str) -> ChromosomeMap:
        """Return the map of a chromosome, whose matrices are read whenever they are taken."""
        (index,) = (i for i in self._indices if self._file.labels[i]["contig"] == contig)
        return chromosome_of(self._file.lazily(index))

    @cached_property
    def genome(self) -> GenomeMap:
        """The whole map; one that is not what its digest says is refused."""
        genome_arrays = {name: np.array(self.label[name], dtype=np.float64) for name in OF_GENOME}
        genome = GenomeMap(
            chromosomes=tuple(map(self.chromosome, self.contigs)),
            n_panel=self.label["n_rows"],
            level=self.label["level"],
            clip=self.label["clip"],
            is_clipped_jointly=self.label["is_clipped_jointly"],
            **{name: tuple(self.label.get(name, ())) for name in OF_SCORES},
            **genome_arrays,
        )
        if genome.digest != self.digest:
            raise DpgrsError(
                "genome-map-changed",
                "The map of the genome must be as it was made, got another. Make it again.",
            )
        return genome

    @property
    def _indices(self) -> list[int]:
        """The places of its chromosomes in the file."""
        labels = enumerate(self._file.labels)
        return [index for index, label in labels if label.get("terms") == self.label["terms"]]


def stored_maps(path: Path | str) -> list[StoredMap]:
    """Return all maps of a file that `map_items` filled, in order."""
    file, maps = load_labelled(path), []
    for label in file.labels:
        if "terms" in label and not any(stored.label["terms"] == label["terms"] for stored in maps):
            maps.append(StoredMap(label, file))
    return maps


def stored_map(path: Path | str, request_terms: Mapping[str, Any]) -> StoredMap:
    """Return the map for the terms of a request; a file without it is refused."""
    for stored in stored_maps(path):
        if stored.label["terms"] == request_terms:
            return stored
    raise DpgrsError(
        "genome-map-of-another-request",
        f"`{path}` must hold a map of the genome for this request, got others. Make it again: dpgrs "
        "measure-ld",
    )
