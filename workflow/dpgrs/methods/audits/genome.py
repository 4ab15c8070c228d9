"""Audit cases of a genome's sums and second moments: a row longer than the norms of each of two chromosomes.

Rows of sums are clipped on each chromosome, or on both jointly. Everyone else has outcomes of 0. The map has
two blocks a chromosome and an axis. One of the person's genotypes is missing on each chromosome.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, ChromosomeMap, GenomeMap, LdBlock, score_rows
from dpgrs.linalg.genome_moments import (
    ChromosomeMoments,
    chromosome_moments,
    moment_weights,
)
from dpgrs.linalg.genome_sums import (
    ChromosomeSums,
    chromosome_scores,
    chromosome_sums,
    joint_factors,
    less_scores,
    row_squares,
)
from dpgrs.linalg.outcome_grid import LARGEST_BOUND
from dpgrs.methods.audits.cohorts import request_outcomes
from dpgrs.methods.audits.rows import ADDED, GDP, PAPER, PERSON, REPLACED, normal_case, request_terms
from dpgrs.methods.audits.sums import tight_norms
from dpgrs.methods.genome_moments import joint_moment_norm, private_genome_moments
from dpgrs.methods.genome_sums import GenomeRequest, private_genome_sums, public_digest
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource

N_OTHERS, N_VARIANTS = 10, 4
FREQUENCY = 0.05  # of every variant
NORMS, NORM = (0.375, 0.5), 0.625  # of the chromosomes, and of both
MEMBER = np.array([2, 1, -1, 2])  # numbers of alleles, -1 where missing
OTHER_MEMBER = np.array([0, 2, 2, -1])
AXIS = 1.5  # of the member, in standard deviations
OUTCOMES = (1, -1)
MOMENT_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class ExactGenome:
    """The input of the mechanism: the sums of both chromosomes."""

    n_rows: int
    sums: tuple[ChromosomeSums, ...]


@dataclass(frozen=True, eq=False)
class ExactMoments:
    """The input of the draw of second moments: those of both chromosomes."""

    n_rows: int
    moments: tuple[ChromosomeMoments, ...]


def genome_cases() -> "list[AuditCase]":
    """Return the cases of sums and of second moments of a genome, of calls and of dosages."""
    return [
        _case(**ADDED, **GDP, has_dosages=False),
        _case(**ADDED, **PAPER, has_dosages=True, is_clipped_jointly=True),
        _case(**REPLACED, **GDP, has_dosages=True),
        _case(**REPLACED, **PAPER, has_dosages=False, is_clipped_jointly=True, has_scores=True),
        *moment_cases(),
    ]


def _case(
    *, has_dosages: bool, is_clipped_jointly: bool = False, has_scores: bool = False, **fields: Any
) -> "AuditCase":
    genome = _genome(is_clipped_jointly)
    genome = _with_score(genome) if has_scores else genome
    sizes = {"n_variants": genome.n_variants, "n_directions": genome.n_directions}
    norms = tight_norms(NORM, n_shared=len(OUTCOMES))
    fields = request_terms(((), OUTCOMES), **fields) | sizes | norms | {"coding": Coding.FREQUENCY}
    request = GenomeRequest(**PERSON, **fields)
    is_added = request.has_private_count
    other_outcomes = [None] if is_added else [np.negative(OUTCOMES)]
    build = partial(_exact, genome=genome, request=request, has_dosages=has_dosages)
    pair = tuple(build(outcomes) for outcomes in (OUTCOMES, *other_outcomes))
    run = partial(_run, genome=genome, request=request)
    return normal_case(private_genome_sums, request, pair=pair, run=run, mu=request.budget["cross"])


def _run(
    exact: ExactGenome, noise: "NoiseSource", *, genome: GenomeMap, request: GenomeRequest
) -> list[np.ndarray]:
    made_with = exact.sums[0].made_with
    noisy, _ = private_genome_sums(exact.sums, genome, request=request, noise=noise, made_with=made_with)
    return [noisy]


def _genome(is_clipped_jointly: bool) -> GenomeMap:
    """Return the map; entries of T differ, so that none of S repeats another."""
    n_directions, half = 3, N_VARIANTS // 2
    chromosomes = []
    for number, norm in enumerate(NORMS):
        entries = np.arange(1, 2 * n_directions * half + 1).reshape(2, n_directions, half)
        matrices = entries * (-1) ** np.arange(half) * 2**18 << number
        empty, shares = np.empty((0, 0)), np.ones(n_directions)
        blocks = tuple(
            LdBlock(half * b, half * (b + 1), matrices[b], shares, shares, empty, empty, np.ones(half), 0.5)
            for b in range(2)
        )
        centre = np.full(N_VARIANTS, round(2 * FREQUENCY * STEPS_PER_ALLELE))
        gains = np.array([round(0.1 / MAP_STEP)] if number == 0 else [], dtype=np.int64)
        effects, nothing = np.full((N_VARIANTS, 1), 100), np.zeros(0, dtype=np.int64)
        axes = {"axis_effects": effects, "axis_gains": gains, "pruned": nothing}
        loadings = np.zeros((0, 1), dtype=np.int64)
        chromosomes.append(
            ChromosomeMap(str(number + 1), centre, blocks, row_norm=norm, axis_loadings=loadings, **axes)
        )
    shares = np.ones(1)
    return GenomeMap(
        tuple(chromosomes), 500, 1.0, 1.5, shares, shares, is_clipped_jointly, np.ones(len(NORMS))
    )


def _with_score(genome: GenomeMap) -> GenomeMap:
    """Return the map with a public score that is subtracted from the first outcome."""
    weights = np.arange(1, N_VARIANTS + 1)[np.newaxis] * 2**20
    chromosomes = tuple(replace(chromosome, score_weights=weights) for chromosome in genome.chromosomes)
    return replace(genome, chromosomes=chromosomes, scored=("first",), residual_variances=(0.5,))


def _exact(
    outcomes: Sequence[int] | None, *, genome: GenomeMap, request: GenomeRequest, has_dosages: bool
) -> ExactGenome:
    """Return the sums of ten people, and of the member with these outcomes, or nobody."""
    members = [] if outcomes is None else [MEMBER]
    counts = np.array([*_counts_of_others(), *members]).T
    n_people = counts.shape[1]
    Y = np.zeros((len(OUTCOMES), n_people))
    Y[:, N_OTHERS:] = np.reshape(outcomes if members else (), (len(OUTCOMES), -1)) * LARGEST_BOUND
    axes = np.zeros((1, n_people), dtype=np.int64)
    axes[:, N_OTHERS:] = round(AXIS / DOSAGE_STEP)
    slabs = [_slab(counts, chromosome, has_dosages=has_dosages) for chromosome in genome.chromosomes]
    if genome.scored:
        by_chromosome = zip(slabs, genome.chromosomes, strict=True)
        scores = sum(
            chromosome_scores([slab], chromosome, n_people=n_people) for slab, chromosome in by_chromosome
        )
        Y = less_scores(Y, scores, score_rows(genome.scored, ["first", *map(str, range(1, len(Y)))]))
    factors = None
    if genome.is_clipped_jointly:
        by_chromosome = zip(slabs, genome.chromosomes, strict=True)
        squares = [row_squares([slab], chromosome, axes=axes) for slab, chromosome in by_chromosome]
        factors = joint_factors(squares, genome)
    options = {
        "axes": axes,
        "outcome_norm": request.outcome_norm,
        "n_shared": request.n_outcomes,
        "made_with": public_digest(genome.digest, n=n_people),
        "factors": factors,
    }
    sums = tuple(
        chromosome_sums([slab], chromosome, request_outcomes(Y, request), **options)
        for slab, chromosome in zip(slabs, genome.chromosomes, strict=True)
    )
    return ExactGenome(n_people, sums)


def _slab(counts: np.ndarray, chromosome: ChromosomeMap, *, has_dosages: bool) -> GenotypeSlab:
    """Return (n_variants, n_people) numbers of alleles, -1 where missing, as a slab."""
    if has_dosages:
        steps = np.where(counts < 0, chromosome.centre[:, np.newaxis], counts * STEPS_PER_ALLELE)
        return GenotypeSlab(steps.astype(np.int16), counts.shape[1])
    alleles = np.stack([counts >= 2, counts >= 1], axis=-1).reshape(len(counts), -1)
    missing = np.repeat(counts < 0, 2, axis=1)
    return GenotypeSlab(pack(alleles), counts.shape[1], pack(missing))


def moment_cases() -> "list[AuditCase]":
    """Return the cases of second moments, of people with one entry a block of two chromosomes."""
    return [
        _moment_case(**ADDED, **GDP, has_dosages=False),
        _moment_case(**ADDED, **PAPER, has_dosages=True),
        _moment_case(**REPLACED, **GDP, has_dosages=True),
        _moment_case(**REPLACED, **PAPER, has_dosages=False),
    ]


def _moment_case(*, has_dosages: bool, **fields: Any) -> "AuditCase":
    genome = _moment_genome()
    sizes = {"n_variants": genome.n_variants, "n_directions": genome.n_directions}
    norms = tight_norms(NORM, n_shared=len(OUTCOMES)) | {"moment_norm": joint_moment_norm(genome)}
    fields = request_terms(((), OUTCOMES), **fields) | sizes | norms | {"coding": Coding.FREQUENCY}
    request = GenomeRequest(**PERSON, **fields, ld_share=MOMENT_SHARE)
    rows = [[MEMBER], [] if request.has_private_count else [OTHER_MEMBER]]
    pair = tuple(_exact_moments(members, genome, has_dosages=has_dosages) for members in rows)
    run = partial(_run_moments, genome=genome, request=request)
    return normal_case(private_genome_moments, request, pair=pair, run=run, mu=request.budget["moments"])


def _run_moments(
    exact: ExactMoments, noise: "NoiseSource", *, genome: GenomeMap, request: GenomeRequest
) -> list[np.ndarray]:
    options = {"request": request, "noise": noise, "made_with": exact.moments[0].made_with}
    noisy, _ = private_genome_moments(exact.moments, genome, **options)
    # The scale of the draw, where all noise has the same size.
    return [noisy * moment_weights(genome)]


def _moment_genome() -> GenomeMap:
    """Return a map along whose first directions the member has entries, and the other one along the second.

    No axes are in it, whose effects would be on both.
    """
    centre = round(2 * FREQUENCY * STEPS_PER_ALLELE)
    (a, b, _, _), (c, d, _, _) = (
        np.where(calls < 0, 0, calls * STEPS_PER_ALLELE - centre) for calls in (MEMBER, OTHER_MEMBER)
    )
    matrices = np.array([[[d, -c], [b, -a]], [[0, 1 << 13], [1 << 13, 0]]]) << 9
    shares, nothing, empty = np.full(2, 0.04), np.zeros(0, dtype=np.int64), np.empty((0, 0))
    blocks = tuple(
        LdBlock(2 * number, 2 * number + 2, matrix, shares, shares, empty, empty, np.ones(2), 0.5)
        for number, matrix in enumerate(matrices)
    )
    no_axes = np.zeros((N_VARIANTS, 0), dtype=np.int64)
    chromosomes = tuple(
        ChromosomeMap(
            contig, np.full(N_VARIANTS, centre), blocks, no_axes, nothing, norm, nothing, no_axes[:0]
        )
        for contig, norm in zip("12", NORMS, strict=True)
    )
    no_shares = np.zeros(0)
    return GenomeMap(chromosomes, 500, 1.0, 1.5, no_shares, no_shares, False, np.ones(len(NORMS)))


def _exact_moments(members: Sequence[np.ndarray], genome: GenomeMap, *, has_dosages: bool) -> ExactMoments:
    """Return the moments of ten people, and of these members."""
    counts = np.array([*_counts_of_others(), *members]).T
    n_people = counts.shape[1]
    options = {
        "axes": np.zeros((0, n_people), dtype=np.int64),
        "is_counted": np.ones(n_people, dtype=bool),
        "made_with": public_digest(genome.digest, n=n_people),
    }
    moments = tuple(
        chromosome_moments([_slab(counts, chromosome, has_dosages=has_dosages)], chromosome, **options)
        for chromosome in genome.chromosomes
    )
    return ExactMoments(n_people, moments)


def _counts_of_others() -> np.ndarray:
    return (np.arange(N_OTHERS)[:, np.newaxis] + np.arange(N_VARIANTS)) % 3
