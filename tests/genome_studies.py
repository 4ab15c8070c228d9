"""A public map of a few variants, made without LAPACK, and the sums of a small study along it."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.linalg.genome_map import (
    DOSAGE_STEP,
    MAP_STEP,
    ChromosomeMap,
    GenomeMap,
    LdBlock,
    chromosome_arrays,
)
from dpgrs.methods.genome_sums import map_terms
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.study.genome_maps import map_label, people_digest, stored_maps
from dpgrs.study.genome_people import (
    contig_moments,
    contig_sums,
    measured_people,
    moments_item,
    sums_item,
)
from dpgrs.study.requests import requests_of
from variant_sets import variants_in_memory

N_PANEL, PLANNED = 500, 250
# Of two chromosomes that are alike, and people on both.
FREQUENCY = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
D, N = 2 * len(FREQUENCY), 70
FREQUENCIES = np.tile(FREQUENCY, 2)
CONTIGS = ("1", "2")


def map_of_variants(frequency, *, clip, size=2, n_axes=0, contigs=("1",), is_clipped_jointly=False):
    """Return the map of independent variants, a direction each, in blocks of `size`; every contig alike.

    Axes of ancestry, if there are any, are the first variants.
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    deviations, d = np.sqrt(2 * frequency * (1 - frequency)), len(frequency)
    n_directions = d * len(contigs) + n_axes
    share, chromosomes = 1 / n_directions, []
    for contig in contigs:
        blocks = tuple(_block(first, min(first + size, d), deviations, share) for first in range(0, d, size))
        has_axes = n_axes and contig == contigs[0]
        gains = [round(np.sqrt(share) / MAP_STEP)] * n_axes if has_axes else []
        pruned = np.arange(n_axes if has_axes else 0)
        loadings = np.diag(np.rint(1 / deviations[:n_axes] / MAP_STEP)) if has_axes else np.zeros((0, n_axes))
        effects = np.zeros((d, n_axes)) + (np.arange(d)[:, np.newaxis] - d // 2) * 16
        chromosomes.append(
            ChromosomeMap(
                contig,
                np.rint(2 * frequency / DOSAGE_STEP).astype(np.int64),
                blocks,
                effects.astype(np.int64),
                np.array(gains, dtype=np.int64),
                float(np.sqrt(share * (d + len(gains)))),
                pruned,
                loadings.astype(np.int64),
            )
        )
    shares = np.full(n_axes, share)
    terms = (1.0, clip, shares, np.full(n_axes, 0.01), is_clipped_jointly, np.full(len(contigs), 0.9))
    return GenomeMap(tuple(chromosomes), N_PANEL, *terms)


def with_scores(genome, names):
    """Return a map with a public score for each of these outcomes."""
    parts = [
        replace(
            part, score_weights=np.add.outer(np.arange(len(names)), np.arange(part.n_variants) - 1) * 2**22
        )
        for part in genome.chromosomes
    ]
    return replace(genome, chromosomes=tuple(parts), scored=names, residual_variances=(0.75,) * len(names))


def _block(first, stop, deviations, share):
    own, n = deviations[first:stop], stop - first
    matrix = np.diag(np.rint(np.sqrt(share) / own / MAP_STEP)).astype(np.int64)
    shares, unit = np.full(n, share), np.eye(n)
    return LdBlock(first, stop, matrix, shares, np.full(n, 0.1), unit, unit, own, 0.1 * n)


def items_of_map(genome, terms, **options):
    """Yield the label and the arrays of each chromosome of a map for a request, as its file has them."""
    label = map_label(genome, terms, **options)
    label["people"] = people_digest([f"P{number}" for number in range(genome.n_panel)])
    for chromosome in genome.chromosomes:
        arrays = dict(chromosome_arrays(chromosome, chromosome.blocks))
        yield label | {"contig": chromosome.contig}, arrays


def write_map(study, config, *, count):
    """Write a map of the variants of a `step_studies.Study`, and return its path."""
    config = config.changed(outcomes={"count": [count]})
    ((request, _),) = requests_of(config, rows=study.rows, counts=[count])
    genome = map_of_variants(study.variant_set.frequency, clip=1.25)
    if scored := config.public.subtract:
        genome = with_scores(genome, scored)
    path = study.root / "map.npz"
    save_labelled(path, items_of_map(genome, map_terms(request), planned_rows=PLANNED, n_summed=count))
    return path


def sum_along_map(study, config, *, count):
    """Sum a `step_studies.Study` along a map of its variants; return the files of a draw by name."""
    path, sums = write_map(study, config, count=count), study.root / "chromosome.npz"
    (stored,) = stored_maps(path)
    options = {"measured": measured_people(study.variant_set, stored)}
    outcomes, bound = Outcomes.load(study.drawn_outcomes), config.outcomes.bound
    moments = contig_moments(outcomes, stored, "1")
    options |= {"outcome_bound": bound, "moments": moments}
    items = [sums_item(contig_sums(study.variant_set, outcomes, stored, "1", **options))]
    items += [] if config.privacy.ld_share is None else [moments_item(moments.moments())]
    save_labelled(sums, items)
    return {"ld": path, "chromosomes": [sums]}


def request_of(**changed):
    terms = {"rows": "people", "n_variants": D, "n_outcomes": 2, "outcome_bound": 3.0}
    return PrivacyRequest(**terms | {"epsilon": 2.0, "delta": 1e-6} | changed)


def people_of(alleles, frequency=FREQUENCIES, **changed):
    """Return a variant set of two chromosomes: (n_variants, 2 n_people) alleles, or dosages in steps."""
    table = pd.DataFrame({"contig": np.repeat(CONTIGS, len(frequency) // 2)})
    table["position"] = np.arange(len(table)) * 1000
    known = {"variants": table, "frequency": frequency, "of_size": lambda size: np.arange(size)}
    return variants_in_memory(pack(alleles), n_haplotypes=alleles.shape[1], **known | changed)
