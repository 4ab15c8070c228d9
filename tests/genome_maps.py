"""Public maps of small genomes, people for them, and their sums in Python's integers."""

import itertools
from fractions import Fraction

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.genome_map import DOSAGE_STEP, MAP_STEP, ChromosomeMap, GenomeMap, LdBlock
from dpgrs.linalg.genome_sums import FACTOR_BELOW_ONE, LARGEST_AXIS, SUM_STEP, WEIGHT_STEP

CALLS = (0, STEPS_PER_ALLELE, 2 * STEPS_PER_ALLELE)
MISSING = None


def block_of(matrix, first):
    """Return the block of a T in units of `MAP_STEP`; what only fits need is empty."""
    matrix, nothing = np.asarray(matrix, dtype=np.int64), np.empty((0, 0))
    shares = (matrix * MAP_STEP).astype(float).std(axis=1) + 1e-3
    return LdBlock(
        first,
        first + matrix.shape[1],
        matrix,
        shares,
        shares,
        nothing,
        nothing,
        np.ones(matrix.shape[1]),
        0.5,
    )


def chromosome_of_blocks(matrices, *, centre, effects=None, gains=(), row_norm=1.0, contig="1"):
    """Return a ChromosomeMap of blocks with these T, (n_directions, n_variants) in units of `MAP_STEP`."""
    firsts = itertools.accumulate((np.shape(matrix)[1] for matrix in matrices), initial=0)
    blocks = tuple(block_of(matrix, first) for matrix, first in zip(matrices, firsts, strict=False))
    effects = np.zeros((len(centre), 0)) if effects is None else effects
    nothing = np.zeros((0, np.shape(effects)[1]), dtype=np.int64)
    return ChromosomeMap(
        contig,
        np.asarray(centre, dtype=np.int64),
        blocks,
        np.asarray(effects, dtype=np.int64),
        np.asarray(gains, dtype=np.int64),
        row_norm,
        np.zeros(0, dtype=np.int64),
        nothing,
    )


def random_chromosome(rng, *, sizes=(7, 5), n_directions=3, n_axes=2, row_norm=0.5, carries=True, contig="1"):
    """Return a map of random blocks, about as long as its norm."""
    n_variants = sum(sizes)
    scale = row_norm / np.sqrt(n_directions * n_variants) / MAP_STEP
    matrices = [np.rint(rng.standard_normal((n_directions, size)) * scale) for size in sizes]
    return chromosome_of_blocks(
        matrices,
        centre=rng.integers(0, 2 * STEPS_PER_ALLELE + 1, n_variants),
        effects=rng.integers(-300, 300, (n_variants, n_axes)),
        gains=rng.integers(0, 2**21, n_axes) if carries else (),
        row_norm=row_norm,
        contig=contig,
    )


def genome_of(chromosomes, *, clip=1.0, is_clipped_jointly=False):
    """Return a GenomeMap of these chromosomes."""
    n_axes = chromosomes[0].axis_effects.shape[1]
    shares, attenuations = np.ones(n_axes), np.ones(len(chromosomes))
    return GenomeMap(tuple(chromosomes), 500, 1.0, clip, shares, shares, is_clipped_jointly, attenuations)


def slab_of(rows):
    """Return a slab of calls of people: (n_people, n_variants) numbers of alleles, None where missing."""
    missing = np.array([[call is MISSING for call in row] for row in rows]).T
    counts = np.array([[call or 0 for call in row] for row in rows]).T
    alleles = np.stack([counts >= 2, counts >= 1], axis=-1).reshape(len(counts), -1)
    unknown = np.stack([missing, missing], axis=-1).reshape(len(counts), -1)
    return GenotypeSlab(pack(alleles), len(rows), pack(unknown) if missing.any() else None)


def dosage_slab_of(rows, chromosome):
    """Return a slab of dosages of people: (n_people, n_variants) in steps, None where missing."""
    filled = [
        [
            int(centre) if call is MISSING else call
            for call, centre in zip(row, chromosome.centre, strict=True)
        ]
        for row in rows
    ]
    return GenotypeSlab(np.array(filled, dtype=np.int16).T.copy(), len(rows))


def exact_row(steps, f, chromosome):
    """Return z of a person in units of 2^-36 as Python integers: dosages in steps, None where missing."""
    f = [max(-LARGEST_AXIS, min(LARGEST_AXIS, int(axis))) for axis in f]
    x = [
        0 if call is MISSING else int(call) - int(a) for call, a in zip(steps, chromosome.centre, strict=True)
    ]
    z = [int(gain) * axis for gain, axis in zip(chromosome.axis_gains, f, strict=False)]
    for block in chromosome.blocks:
        effects = chromosome.axis_effects[block.first : block.stop].tolist()
        for row in block.matrix.tolist():
            of_axes = [
                (sum(t * b for t, b in zip(row, column, strict=True)) + 2**11) // 2**12
                for column in zip(*effects, strict=True)
            ]
            entry = sum(t * g for t, g in zip(row, x[block.first : block.stop], strict=True))
            z.append(entry - sum(m * axis for m, axis in zip(of_axes, f, strict=True)))
    return z


def exact_weights(z, y, chromosome):
    """Return W of a person in units of `WEIGHT_STEP`, by the norm of z to 60 digits."""
    square = Fraction(sum(entry**2 for entry in z)) * Fraction(MAP_STEP * DOSAGE_STEP) ** 2
    factor = Fraction(1)
    if square > Fraction(chromosome.row_norm) ** 2:
        digits = 10**60
        root = Fraction(_integer_root(int(square * digits**2)), digits)
        factor = Fraction(chromosome.row_norm) / root
    factor *= Fraction(FACTOR_BELOW_ONE)
    times = Fraction(OUTCOME_STEP) / Fraction(WEIGHT_STEP)
    return [int(abs(int(value)) * times * factor) * (1 if value >= 0 else -1) for value in y]


def exact_sums_of(people, chromosome):
    """Return S of people, (steps, f, y) each, as lists of Python integers in units of 2^-54: [outcome][k]."""
    n_outcomes = len(people[0][2])
    total = [[0] * chromosome.n_directions for _ in range(n_outcomes)]
    for steps, f, y in people:
        z = exact_row(steps, f, chromosome)
        for sums, weight in zip(total, exact_weights(z, y, chromosome), strict=True):
            for k, entry in enumerate(z):
                sums[k] += entry * weight
    return total


def rounded_down(total):
    """Return sums in units of 2^-54 as int64 in units of `SUM_STEP`, rounded down."""
    shift = round(-np.log2(2.0**-54 / SUM_STEP))
    return np.array([[entry >> shift for entry in sums] for sums in total], dtype=np.int64)


def _integer_root(square):
    root = int(square) and 1 << (square.bit_length() + 1) // 2
    while root and (better := (root + square // root) // 2) < root:
        root = better
    return root
