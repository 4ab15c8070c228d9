"""People simulated under a published model of human history, written as VCFs like those of real cohorts."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pysam
import stdpopsim

from dpgrs.errors import UsageError
from dpgrs.io.files import replacing, write_table
from dpgrs.public_random import generator

SPECIES = "HomSap"


def simulate_cohort(
    directory: Path | str,
    *,
    chromosomes: Sequence[str | int],
    seed: int,
    model: str = "OutOfAfrica_3G09",
    people: int = 2504,
    length: int = 1_000_000,
    reference: Path | str | None = None,
    reference_people: int = 1000,
    populations: Path | str | None = None,
) -> pd.DataFrame:
    """Simulate people and write ``{chrom}.vcf.gz``, its index, and a table of populations.

    Chromosomes are human autosomes such as 21 or ``chr21``; they name files and contigs. The seed is public;
    same arguments, same bytes. `model` is the id of a stdpopsim model of human history, over whose
    present-day populations people are spread as evenly as can be. `length` base pairs of each chromosome are
    simulated, three quarters of the way along it. `reference` is a folder for the VCFs of a second cohort of
    other people of the same populations, which may serve as public. `populations` is the path of the table of
    all chromosomes; None is ``populations.tsv``.

    Return sample, population and super_population (the same label), a row per person. An unknown model or
    chromosome, fewer people than populations, and a region longer than there is room for are refused.
    """
    species = stdpopsim.get_species(SPECIES)
    demography = _demographic_model(species, model)
    regions = {str(name): _region(species, demography, name, length) for name in chromosomes}
    cohorts = [(Path(directory), "sim", _samples_by_population(demography, people))]
    if reference is not None:
        cohorts.append((Path(reference), "ref", _samples_by_population(demography, reference_people)))
    tables = [_population_table(samples, prefix=prefix) for _, prefix, samples in cohorts]
    samples = {name: sum(counts[name] for *_, counts in cohorts) for name in cohorts[0][-1]}
    everyone = pd.concat([table.assign(cohort=i) for i, table in enumerate(tables)])
    # The simulation holds population after population, each with the people of both cohorts.
    by_population = everyone.sort_values(
        "population", key=lambda names: names.map(list(samples).index), kind="stable"
    )
    for name, region in regions.items():
        trees = stdpopsim.get_engine("msprime").simulate(
            demography, region, samples, seed=int(generator(seed, "cohort", name).integers(1, 2**31))
        )
        for i, (folder, *_) in enumerate(cohorts):
            # For each cohort separately: a site that nobody in it carries must not show that others do.
            nodes = np.repeat(by_population["cohort"].to_numpy() == i, 2)
            write_bgzipped_vcf(
                folder / f"{name}.vcf.gz",
                trees.simplify(trees.samples()[nodes]) if len(cohorts) > 1 else trees,
                contig=name,
                sample_id=tables[i]["sample"].tolist(),
            )
    write_table(populations or Path(directory) / "populations.tsv", tables[0])
    return tables[0]


def write_bgzipped_vcf(path: Path, trees: Any, *, contig: str, sample_id: Sequence[str]) -> None:
    """Write a tskit.TreeSequence as a BGZF-compressed VCF with a tabix index beside it."""
    index = path.with_name(path.name + ".tbi")
    with replacing(index) as new_index, replacing(path) as new_path:
        with io.TextIOWrapper(pysam.BGZFile(str(new_path), "wb")) as file:
            trees.write_vcf(
                file,
                contig_id=contig,
                individual_names=sample_id,
                # VCF counts from 1. The bound matters only for the contig's length, which also comes here.
                position_transform=lambda x: np.minimum(np.add(x, 1), trees.sequence_length).astype(int),
            )
        pysam.tabix_index(str(new_path), preset="vcf", index=str(new_index), keep_original=True)


def _demographic_model(species: Any, model: str) -> Any:
    model_ids = [known_model.id for known_model in species.demographic_models]
    if model not in model_ids:
        raise UsageError(
            "demographic-model-unknown",
            f"`model` must be one of {', '.join(model_ids)}, got {model}. Take one of them.",
        )
    return species.get_demographic_model(model)


def _region(species: Any, demography: Any, name: str | int, length: int) -> Any:
    """Place the region on the long arm of a human autosome, with the rates that the model was fitted with."""
    autosomes = [
        chromosome for chromosome in species.genome.chromosomes if chromosome.id.removeprefix("chr").isdigit()
    ]
    matching = [c for c in autosomes if c.id.removeprefix("chr") == str(name).removeprefix("chr")]
    if not matching:
        raise UsageError(
            "not-an-autosome",
            f"`chromosomes` must be human autosomes, 1 to {len(autosomes)}, got {name}. Leave it out.",
        )
    left = 3 * matching[0].length // 4
    room = matching[0].length - left
    if not 1 <= length <= room:
        raise UsageError(
            "length-out-of-range",
            f"`length` must be from 1 to {room} base pairs on chromosome {name}, got {length}. Change it.",
        )
    return species.get_contig(
        matching[0].id,
        left=left,
        right=left + length,
        mutation_rate=demography.mutation_rate,
        recombination_rate=demography.recombination_rate,
    )


def _samples_by_population(demography: Any, people: int) -> dict[str, int]:
    names = [p.name for p in demography.populations if p.allow_samples and p.default_sampling_time == 0]
    if people < len(names):
        raise UsageError(
            "people-fewer-than-populations",
            f"`people` must be at least {len(names)}, one per population of the model, got {people}. "
            "Give more.",
        )
    share, remainder = divmod(people, len(names))
    return {name: share + (i < remainder) for i, name in enumerate(names)}


def _population_table(samples: dict[str, int], *, prefix: str) -> pd.DataFrame:
    population = [name for name, count in samples.items() for _ in range(count)]
    width = max(4, len(str(len(population))))
    sample_id = [f"{prefix}{i:0{width}d}" for i in range(1, len(population) + 1)]
    return pd.DataFrame({"sample": sample_id, "population": population, "super_population": population})
