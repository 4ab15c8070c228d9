"""People simulated under a published model of human history, written as VCFs like those of real cohorts."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pysam
import stdpopsim

from dpgrs.errors import UsageError
from dpgrs.io.files import replacing, write_table
from dpgrs.public_random import generator

SPECIES = "HomSap"


def simulate_cohort(
    directory,
    *,
    chromosomes,
    seed,
    model="OutOfAfrica_3G09",
    people=2504,
    length=1_000_000,
    reference=None,
    reference_people=1000,
    populations=None,
):
    """Simulate people and write ``{chrom}.vcf.gz``, its index, and a table of populations.

    Parameters
    ----------
    directory : folder to write to.
    chromosomes : list of str or int, human autosomes such as 21 or ``chr21``; they name files and contigs.
    seed : int, the study's public seed. Same arguments, same bytes.
    model : str, id of a stdpopsim model of human history.
    people : int, spread over the model's present-day populations as evenly as can be.
    length : int, base pairs simulated of each chromosome, three quarters of the way along it.
    reference : folder to write the VCFs of a second cohort to, of other people of the same populations, which
        may serve as public; None simulates none.
    reference_people : int, people of the second cohort.
    populations : path of the table of populations, that of all chromosomes; None is ``populations.tsv``.

    Returns
    -------
    data frame of sample, population and super_population (the same label), one row per person.

    Raises
    ------
    UsageError
        Unknown model or chromosome, fewer people than populations, region longer than there is room for.
    """
    species = stdpopsim.get_species(SPECIES)
    demography = _demographic_model(species, model)
    regions = {str(name): _region(species, demography, name, length) for name in chromosomes}
    parts = [(Path(directory), "sim", _samples_by_population(demography, people))]
    if reference is not None:
        parts.append((Path(reference), "ref", _samples_by_population(demography, reference_people)))
    tables = [_population_table(samples, prefix=prefix) for _, prefix, samples in parts]
    samples = {name: sum(part[name] for *_, part in parts) for name in parts[0][-1]}
    everyone = pd.concat([table.assign(part=i) for i, table in enumerate(tables)])
    # The simulation holds population after population, each with the people of both cohorts.
    part = everyone.sort_values("population", key=lambda names: names.map(list(samples).index), kind="stable")
    for name, region in regions.items():
        trees = stdpopsim.get_engine("msprime").simulate(
            demography, region, samples, seed=int(generator(seed, "cohort", name).integers(1, 2**31))
        )
        for i, (folder, *_) in enumerate(parts):
            # Of each cohort alone: a site that nobody in it carries must not show that others do.
            nodes = np.repeat(part["part"].to_numpy() == i, 2)
            write_bgzipped_vcf(
                folder / f"{name}.vcf.gz",
                trees.simplify(trees.samples()[nodes]) if len(parts) > 1 else trees,
                contig=name,
                sample_id=tables[i]["sample"].tolist(),
            )
    write_table(populations or Path(directory) / "populations.tsv", tables[0])
    return tables[0]


def write_bgzipped_vcf(path, trees, *, contig, sample_id):
    """Write a tskit.TreeSequence as a BGZF-compressed VCF with a tabix index beside it."""
    index = path.with_name(path.name + ".tbi")
    with replacing(index) as new_index, replacing(path) as new_path:
        with io.TextIOWrapper(pysam.BGZFile(str(new_path), "wb")) as file:
            trees.write_vcf(
                file,
                contig_id=contig,
                individual_names=sample_id,
                # VCF counts from 1. The bound matters to the contig's length alone, which goes this way, too.
                position_transform=lambda x: np.minimum(np.add(x, 1), trees.sequence_length).astype(int),
            )
        pysam.tabix_index(str(new_path), preset="vcf", index=str(new_index), keep_original=True)


def _demographic_model(species, model):
    known = [known.id for known in species.demographic_models]
    if model not in known:
        raise UsageError(f"`model` must be one of {', '.join(known)}, got {model}.")
    return species.get_demographic_model(model)


def _region(species, demography, name, length):
    """Place the region on the long arm of a human autosome, with the rates that the model was fitted with."""
    autosomes = [
        chromosome for chromosome in species.genome.chromosomes if chromosome.id.removeprefix("chr").isdigit()
    ]
    matching = [c for c in autosomes if c.id.removeprefix("chr") == str(name).removeprefix("chr")]
    if not matching:
        raise UsageError(f"`chromosomes` must be human autosomes, 1 to {len(autosomes)}, got {name}.")
    left = 3 * matching[0].length // 4
    room = matching[0].length - left
    if not 1 <= length <= room:
        raise UsageError(f"`length` must be from 1 to {room} base pairs on chromosome {name}, got {length}.")
    return species.get_contig(
        matching[0].id,
        left=left,
        right=left + length,
        mutation_rate=demography.mutation_rate,
        recombination_rate=demography.recombination_rate,
    )


def _samples_by_population(demography, people):
    names = [p.name for p in demography.populations if p.allow_samples and p.default_sampling_time == 0]
    if people < len(names):
        raise UsageError(
            f"`people` must be at least {len(names)}, one per population of the model, got {people}."
        )
    share, rest = divmod(people, len(names))
    return {name: share + (i < rest) for i, name in enumerate(names)}


def _population_table(samples, *, prefix):
    population = [name for name, count in samples.items() for _ in range(count)]
    width = max(4, len(str(len(population))))
    sample_id = [f"{prefix}{i:0{width}d}" for i in range(1, len(population) + 1)]
    return pd.DataFrame({"sample": sample_id, "population": population, "super_population": population})
