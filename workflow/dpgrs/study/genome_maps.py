"""Public maps of whole genomes: made from a panel for every request of a study, and kept in a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.io.files import spooled_arrays
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.genome_map import (
    DOSAGE_STEP,
    ChromosomeMap,
    GenomeMap,
    chromosome_arrays,
    chromosome_of,
)
from dpgrs.linalg.genome_prior import (
    MapMaking,
    ReferenceChromosome,
    Spectrum,
    genome_prior,
    residual_deviation,
    steered_noise,
)
from dpgrs.methods.genome_fit import ScoreVariances
from dpgrs.methods.genome_mechanism import map_terms, sensitivity_factor
from dpgrs.methods.genome_sums import public_digest
from dpgrs.methods.public_scores import public_scores
from dpgrs.privacy.noise.base import json_digest
from dpgrs.study.variant_terms import RAREST

if TYPE_CHECKING:
    from dpgrs.io.replicates import Labelled
    from dpgrs.io.variant_set import VariantSet
    from dpgrs.methods.requests import PrivacyRequest

DEFAULT_BUILD = "GRCh38"
OF_SPECTRUM = ("variances", "chances", "counts")
# Variants of a panel that are scored together.
SCORED_TOGETHER = 1024
# Arrays of the whole genome, which are in every chromosome's label.
OF_GENOME = ("axis_shares", "axis_variances", "attenuations")
# And what it says of public scores that are subtracted, if there are any.
OF_SCORES = ("scored", "residual_variances")


class PanelChromosomes(Sequence):
    """The chromosomes of a panel, in the order of the genome; genotypes are read when one is taken."""

    def __init__(self, variant_set: "VariantSet", size: int, *, genome_build: str | None) -> None:
        from dpgrs.genotypes.ld_blocks import LONG_RANGE_LD  # brings numba, which takes 0.3 s

        self._variant_set, self._columns = variant_set, columns_of_contigs(variant_set, size)
        self._regions = LONG_RANGE_LD[genome_build or DEFAULT_BUILD]
        self._cuts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        frequency = variant_set.frequency[variant_set.of_size(size)]
        rarest = float(np.minimum(frequency, 1 - frequency).min(initial=0.5))
        if rarest < RAREST:
            raise UsageError(
                f"`variants.maf` must be at least {RAREST} for a map of a genome, got variants of {rarest:g} "
                "in the public reference. Raise it."
            )

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: Any) -> ReferenceChromosome:
        contig, columns = list(self._columns.items())[index]
        dosages = panel_dosages(self._variant_set, columns)
        if contig not in self._cuts:
            position = self._variant_set.variants["position"].to_numpy()[columns]
            self._cuts[contig] = self._cut(contig, dosages, position)
        bounds, pruned = self._cuts[contig]
        return ReferenceChromosome(contig, dosages, self._variant_set.frequency[columns], bounds, pruned)

    def _cut(self, contig: str, dosages: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of LD blocks, and the variants of which axes of ancestry are made."""
        from dpgrs.genotypes.ld_blocks import ld_block_bounds, pruned_variants

        name = contig.removeprefix("chr")
        regions = [(first, last) for chromosome, first, last in self._regions if chromosome == name]
        mhc = self._regions[:1]
        mhc_regions = [(first, last) for chromosome, first, last in mhc if chromosome == name]
        bounds = ld_block_bounds(dosages, position, whole_regions=mhc_regions)
        return bounds, pruned_variants(dosages, position, left_out=regions)


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
        "The panel of a fit must be the people that the map of the genome was made from, got others. "
        "Take the variant set of which dpgrs measure-ld made it."
    )


def map_items(
    variant_set: "VariantSet",  # of a public panel, at the sites of the study
    requests: Sequence["PrivacyRequest"],
    *,
    planned_rows: int,  # n~, people who are planned to be trained on; public
    n_summed: int,  # outcomes of the study
    genome_build: str | None = None,
    has_equal_shares: bool = False,
    # By number of variants, of outcomes of which a public score is subtracted, the effects per copy of ALT.
    subtracted: Mapping[int, Mapping[str, np.ndarray]] | None = None,
    folder: Path | None = None,  # for matrices meanwhile; None takes that of temporary files
) -> Iterator[tuple[dict[str, Any], Mapping[str, np.ndarray] | Iterator[tuple[str, np.ndarray]]]]:
    """Yield a spectrum for every number of variants, and the map of every request.

    A map is a label and arrays for each chromosome. Labels are complete when all are taken.
    """
    # Keys that would publish nothing if no direction of a block had a share.
    along_blocks = ["privacy.direction_shares"] * has_equal_shares
    along_blocks += ["privacy.ld_share"] * any(request.ld_share is not None for request in requests)
    by_size: dict[int, list[dict[str, Any]]] = {}
    for request_terms in map(map_terms, requests):
        terms_of_size = by_size.setdefault(request_terms["n_variants"], [])
        terms_of_size += [] if request_terms in terms_of_size else [request_terms]
    for size, terms_of_size in by_size.items():
        panel = PanelChromosomes(variant_set, size, genome_build=genome_build)
        with spooled_arrays(folder) as keep:
            prior = genome_prior(panel, keep=keep)
            scores = public_scores(prior, panel, subtracted[size]) if subtracted else None
            residuals = () if scores is None else scores.residual_variances
            yield spectrum_item(
                prior.population_spectrum, size, n_panel=prior.n_panel, residual_variances=residuals
            )
            for request_terms in terms_of_size:
                noise = steered_noise(
                    prior.spectrum,
                    planned_rows,
                    mu=request_terms["mu"],
                    n_phenotypes=request_terms["n_outcomes"],
                    sensitivity=sensitivity_factor(request_terms["neighbours"]),
                    is_equal=has_equal_shares,
                    deviation=residual_deviation(residuals, request_terms["n_outcomes"]),
                )
                making, labels, chromosomes = MapMaking(prior, noise, panel, scores), [], []
                for chromosome, blocks in making.chromosomes():
                    labels.append({"contig": chromosome.contig})
                    chromosomes.append(chromosome)
                    yield labels[-1], chromosome_arrays(chromosome, blocks)
                n_outcomes = n_summed if request_terms["n_outcomes"] == 1 else request_terms["n_outcomes"]
                options = {"planned_rows": planned_rows, "n_summed": n_outcomes}
                genome = making.genome(chromosomes)
                if along_blocks and np.isclose(genome.axis_shares.sum(), 1):
                    raise UsageError(
                        f"`{along_blocks[0]}` must leave a share to LD blocks, got so much noise that axes "
                        "of ancestry have all. Raise `privacy.epsilon` or `cohort.planned_people`, or leave "
                        "the key out."
                    )
                of_genome = map_label(genome, request_terms, **options)
                of_genome["people"] = people_digest(variant_set.sample_id)
                for label in labels:
                    label |= of_genome


def spectrum_item(
    spectrum: Spectrum, size: int, *, n_panel: int, residual_variances: Sequence[float] = ()
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the spectrum of a number of variants as a label and arrays, for plans.

    The variances are those that public scores leave of outcomes.
    """
    binned, label = spectrum.binned(), {"spectrum_of": size, "n_rows": n_panel}
    label |= {"residual_variances": list(residual_variances)} if residual_variances else {}
    return label, {name: getattr(binned, name) for name in OF_SPECTRUM}


def stored_spectra(path: Path | str) -> dict[int, tuple[Spectrum, int]]:
    """Return the spectra of a file that `map_items` filled and the people of the panel, by size."""
    items = load_labelled(path).of(lambda label: "spectrum_of" in label)
    return {label["spectrum_of"]: (Spectrum(**arrays), label["n_rows"]) for label, arrays in items}


def stored_residuals(path: Path | str) -> dict[int, tuple[float, ...]]:
    """Return the variances that public scores leave of outcomes by size, as `spectrum_item` wrote them."""
    labels = [label for label in load_labelled(path).labels if "spectrum_of" in label]
    return {label["spectrum_of"]: tuple(label.get("residual_variances", ())) for label in labels}


def map_label(
    genome: GenomeMap,
    terms: Mapping[str, Any],  # of the request that it is for
    *,
    planned_rows: int,
    n_summed: int,  # outcomes that are summed along it
) -> dict[str, Any]:
    """Return what the label of every chromosome says of the whole map, as JSON values."""
    return {
        "terms": terms,
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

    def made_with(self, covariate_effects: np.ndarray | None) -> str:
        """Return the digest that sums of outcomes along it carry, as from `public_digest`."""
        return public_digest(self.digest, n=self.label["planned_rows"], covariate_effects=covariate_effects)

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
            raise DpgrsError("The map of the genome must be as it was made, got another. Make it again.")
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


def stored_map(path: Path | str, terms: Mapping[str, Any]) -> StoredMap:
    """Return the map for the terms of a request; a file without it is refused."""
    for stored in stored_maps(path):
        if stored.label["terms"] == terms:
            return stored
    raise DpgrsError(
        f"`{path}` must hold a map of the genome for this request, got others. Make it again: dpgrs "
        "measure-ld"
    )
