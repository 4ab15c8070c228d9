"""The private pass over a chromosome: exact sums of people's rows along the directions of a public map.

A person has the row z = [sqrt(q_f) f ; T_b (x_b - a_b) - M_b f], which is shrunk to the norm R_c of the
chromosome, and S is the sum of z y' (docs/proofs/genome.md). M_b is T_b B_b, rounded to the grid of T. The
shrinking is a factor on y, so that only X'W and F'W are summed over people, and the map acts on these sums.
People come in slabs, each with all variants of the chromosome: a genotype is read once. Where rows of all
chromosomes are clipped jointly, it is read twice: once for norms, once for sums.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD, WORD_BITS
from dpgrs.genotypes.dosages import LARGEST_DOSAGE, STEPS_PER_ALLELE
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.genome_map import (
    DOSAGE_STEP,
    EXACT,
    EXACT_SINGLE,
    MAP_STEP,
    ChromosomeMap,
    GenomeMap,
    LdBlock,
)
from dpgrs.linalg.norms import budget_groups
from dpgrs.linalg.outcome_grid import LARGEST_OUTCOME, long_rows
from dpgrs.threads import map_in_threads

STEP_BITS = 12  # of `DOSAGE_STEP`
STEPS_PER_ONE = 2**STEP_BITS
WEIGHT_STEP = 2.0**-18  # of outcomes times the factor of a person
VARIANT_STEP = DOSAGE_STEP * WEIGHT_STEP  # of X'W and F'W
SUM_STEP = 2.0**-30  # of S, to which it is rounded down
LOW_BITS = 24  # of S below that, where it is exact: its unit is 2^-54
ROW_STEP = MAP_STEP * DOSAGE_STEP  # of z, whose norm is compared in this unit
# More than makes up for the roundings of a squared norm of so many directions, its root and the factor.
FACTOR_BELOW_ONE, MOST_DIRECTIONS = 1 - 1e-9, 10**6
LARGEST_AXIS = 2**17  # in units of `DOSAGE_STEP`: 32 standard deviations
LARGEST_ENTRY = 2**15 + LARGEST_DOSAGE  # of a centred genotype: any int16 less a centre
MOST_AXES, MOST_BLOCK_VARIANTS = 32, 2**14
LARGEST_NORM, LARGEST_PRODUCT = 16.0, 2.0**62
LARGEST_TOTAL = 2.0**28  # people times the norm of outcomes: |F'W| and |X'W| stay below 2^63
TILE_PEOPLE, VARIANTS_AT_ONCE = 512, 2048  # genotypes of a tile and a block stay in the L2 cache
MATRIX_LIMB, SUM_LIMB, SUM_LIMBS = 20, 19, 4  # 2^14 products of such limbs are below 2^53
NO_ENTRIES = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class ChromosomeSums:
    """What people's genotypes, axes and shrunk outcomes add up to, exactly: private."""

    contig: str
    variants: np.ndarray  # (n_outcomes, n_variants) int64, X'W of centred genotypes, in `VARIANT_STEP`
    axes: np.ndarray  # (n_outcomes, n_axes) int64, F'W, in `VARIANT_STEP`
    made_with: str  # digest of all public terms; sums of others are not mixed with these
    is_clipped_jointly: bool = False  # whether people's rows of all chromosomes were shrunk together

    def arrays(self) -> dict[str, Any]:
        """Return the sums as arrays and text by name: `ChromosomeSums(**arrays)` makes them again."""
        return vars(self).copy()

    def of_outcomes(self, outcomes: slice) -> "ChromosomeSums":
        """Return the sums of some outcomes."""
        return replace(self, variants=self.variants[outcomes], axes=self.axes[outcomes])

    def direction_sums(self, chromosome: ChromosomeMap) -> np.ndarray:
        """Return S of the chromosome's directions, rounded down.

        The result is (n_outcomes, n_directions) int64 in units of `SUM_STEP`.
        """
        return exact_sums(self, chromosome)[0]


def exact_sums(sums: ChromosomeSums, chromosome: ChromosomeMap) -> tuple[np.ndarray, np.ndarray]:
    """Return S in two parts, high 2^24 + low in units of 2^-54, with 0 <= low < 2^24.

    Both are (n_outcomes, n_directions) int64.
    """
    shape = len(sums.variants), chromosome.n_directions
    high, low = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    n_axes = len(chromosome.axis_gains)
    if n_axes:
        _add_products(np.diag(chromosome.axis_gains), sums.axes, high[:, :n_axes], low[:, :n_axes])
    for block, entries in zip(chromosome.blocks, chromosome.entries(), strict=True):
        targets, matrix = (high[:, entries], low[:, entries]), block.matrix
        _add_products(matrix, sums.variants[:, block.columns], *targets)
        _add_products(-_axis_map(matrix, chromosome.axis_effects[block.columns]), sums.axes, *targets)
    return high + (low >> LOW_BITS), low & (2**LOW_BITS - 1)


def _add_products(
    matrix: np.ndarray,  # (n_directions, n_entries) int64
    sums: np.ndarray,  # (n_outcomes, n_entries) int64
    high: np.ndarray,  # (n_outcomes, n_directions) int64, in place
    low: np.ndarray,
) -> None:
    """Add sums matrix', exactly, by products of limbs in float64.

    `high` may leave int64 on the way: modulo 2^64 it is right in the end.
    """
    n_matrix_limbs = -(-int(np.abs(matrix).max(initial=1)).bit_length() // MATRIX_LIMB)
    matrix_limbs = list(_limbs(matrix, MATRIX_LIMB, n_matrix_limbs))
    for i, sum_limb in enumerate(_limbs(sums, SUM_LIMB, SUM_LIMBS)):
        for j, matrix_limb in enumerate(matrix_limbs):
            products = (sum_limb @ matrix_limb.T).astype(np.int64)
            shift = SUM_LIMB * i + MATRIX_LIMB * j - LOW_BITS
            if shift < 0:
                high += products >> -shift
                low += (products & (2**-shift - 1)) << (LOW_BITS + shift)
            elif shift < WORD_BITS:
                high += products << shift


def _limbs(values: np.ndarray, n_bits: int, n_limbs: int) -> Iterator[np.ndarray]:
    """Yield the digits of integers to the base 2^n_bits as float64, lowest first; the last has the sign."""
    for number in range(n_limbs):
        digits = values >> n_bits * number
        yield (digits if number == n_limbs - 1 else digits & (2**n_bits - 1)).astype(np.float64)


def _axis_map(matrix: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return M_b, T_b B_b rounded: (n_directions, n_axes) int64 in units of `MAP_STEP`."""
    return matrix @ effects + STEPS_PER_ONE // 2 >> STEP_BITS


def require_exact(chromosome: ChromosomeMap) -> None:
    """Raise a UsageError unless all sums along a public map are exact for any people."""
    if not (_is_whole(chromosome) and _is_bounded(chromosome)):
        raise UsageError(
            "genome-map-not-exact",
            f"The map of chromosome {chromosome.contig} must have blocks of all its variants, in order, of "
            f"at most {MOST_BLOCK_VARIANTS} each, at most {MOST_AXES} axes and {MOST_DIRECTIONS} directions, "
            "centres from 0 to 2 and entries so small that all sums are exact, got another. Split the "
            "blocks, or make the map again.",
        )


def _is_whole(chromosome: ChromosomeMap) -> bool:
    n_variants, n_axes = chromosome.axis_effects.shape
    bounds = [(block.first, block.stop) for block in chromosome.blocks]
    stops = [0, *(stop for _, stop in bounds)]
    is_whole = [first for first, _ in bounds] == stops[:-1] and stops[-1] == n_variants
    return is_whole and chromosome.centre.shape == (n_variants,) and len(chromosome.axis_gains) in (0, n_axes)


def _is_bounded(chromosome: ChromosomeMap) -> bool:
    effects, centre = chromosome.axis_effects, chromosome.centre
    sizes = [block.stop - block.first for block in chromosome.blocks]
    is_bounded = max(sizes, default=0) <= MOST_BLOCK_VARIANTS and effects.shape[1] <= MOST_AXES
    is_bounded &= chromosome.n_directions <= MOST_DIRECTIONS and 0 <= chromosome.row_norm <= LARGEST_NORM
    # Where no direction has a share, R_c is 0.
    is_bounded &= chromosome.row_norm > 0 or chromosome.n_directions == 0
    is_bounded &= bool(((centre >= 0) & (centre <= LARGEST_DOSAGE)).all())
    is_bounded &= np.abs(chromosome.axis_gains.astype(np.float64)).max(initial=0) * LARGEST_AXIS <= EXACT
    for block in chromosome.blocks:
        matrix = block.matrix
        if matrix.shape != (block.n_directions, block.stop - block.first):
            return False
        T, B = (np.abs(array.astype(np.float64)) for array in (matrix, effects[block.columns]))
        of_axes = T @ B
        is_bounded &= of_axes.max(initial=0) <= LARGEST_PRODUCT
        largest = T.sum(axis=1) * LARGEST_ENTRY + (of_axes / STEPS_PER_ONE + 1).sum(axis=1) * LARGEST_AXIS
        is_bounded &= largest.max(initial=0) <= EXACT / 2
    return bool(is_bounded)


def chromosome_sums(
    slabs: Iterable[GenotypeSlab],  # of all people, in order
    chromosome: ChromosomeMap,
    Y: np.ndarray,  # (n_outcomes, n_people) int64 in units of `OUTCOME_STEP`; 0 where missing
    *,
    axes: np.ndarray,  # (n_axes, n_people) int64, f in units of `DOSAGE_STEP`, clipped here
    outcome_norm: float,  # public, C: no column of Y is longer, over the outcomes of a budget
    n_shared: int,  # outcomes that share a budget
    made_with: str,  # digest of the map and all other public terms
    # (n_people,) float64 of `joint_factors`, where rows are clipped jointly; None clips them here.
    factors: np.ndarray | None = None,
    # Takes each slab with the clipped axes and the places of its people, so that genotypes are read once.
    add_people: Callable[[GenotypeSlab, np.ndarray, slice], None] | None = None,
    n_threads: int = 1,
) -> ChromosomeSums:
    """Sum genotypes and axes, weighted by the outcomes of people whose rows are shrunk to the norm.

    Who is not in the chromosome's files, or not in the study, has outcomes of 0. Sums are the same for any
    slabs and number of threads. It raises UsageError for a map or outcomes with which they would not be
    exact, for outcomes beyond the norm, and for slabs that are not of all people.
    """
    require_exact(chromosome)
    n_outcomes, n_people = Y.shape
    is_small = n_people * outcome_norm <= LARGEST_TOTAL and np.abs(Y).max(initial=0) <= LARGEST_OUTCOME
    groups = budget_groups(n_outcomes, n_shared=n_shared)
    if not is_small or any(
        long_rows(Y[group], norm=outcome_norm, step=OUTCOME_STEP)[0].any() for group in groups
    ):
        raise UsageError(
            "genome-sums-not-exact",
            "Outcomes must be clipped at their norm and on their grid, and people times the norm at most "
            f"{LARGEST_TOTAL:.0f}, so that sums of a genome are exact. Clip them, or lower the norm.",
        )
    if factors is not None and factors.shape != (n_people,):
        raise _not_of_all_people(chromosome)
    axes = np.clip(axes, -LARGEST_AXIS, LARGEST_AXIS)
    of_variants = np.zeros((n_outcomes, chromosome.n_variants), dtype=np.int64)
    of_axes = np.zeros((n_outcomes, len(axes)), dtype=np.int64)
    norms = RowNorms(chromosome)
    for slab, people in placed_slabs(slabs, chromosome, axes, n_people):
        shrunk = (
            norms.factors(slab, axes[:, people], n_threads=n_threads) if factors is None else factors[people]
        )
        W = outcome_weights(Y[:, people], shrunk)
        of_axes += W @ axes[:, people].T
        of_variants += _variant_sums(slab, W, chromosome.centre, n_threads=n_threads)
        if add_people is not None:
            add_people(slab, axes[:, people], people)
        del slab
    return ChromosomeSums(chromosome.contig, of_variants, of_axes, made_with, factors is not None)


def row_squares(
    slabs: Iterable[GenotypeSlab], chromosome: ChromosomeMap, *, axes: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """Return the squared norms of people's rows on a chromosome, (n_people,) float64 in `ROW_STEP` squared.

    Parameters as in `chromosome_sums`. They are private.
    """
    require_exact(chromosome)
    axes, squares = np.clip(axes, -LARGEST_AXIS, LARGEST_AXIS), np.zeros(axes.shape[1])
    norms = RowNorms(chromosome)
    for slab, people in placed_slabs(slabs, chromosome, axes, len(squares)):
        squares[people] = norms.squares(slab, axes[:, people], n_threads=n_threads)
        del slab
    return squares


def require_exact_scores(weights: Sequence[np.ndarray]) -> None:
    """Raise a UsageError unless public scores along these weights are exact for any people.

    The weights are `ChromosomeMap.score_weights` of all chromosomes. Every partial sum is an integer below
    2^52.
    """
    totals = sum(np.abs(of_chromosome.astype(np.float64)).sum(axis=1) for of_chromosome in weights)
    if totals.max(initial=0) * LARGEST_ENTRY > EXACT / 2:
        raise UsageError(
            "score-weights-too-large",
            "Weights of a public score must add up to so little that scores are exact, got larger ones. Give "
            "effects per copy of an allele in standard deviations of the outcome, or leave it out of "
            "`public.subtract`.",
        )


def chromosome_scores(
    slabs: Iterable[GenotypeSlab], chromosome: ChromosomeMap, *, n_people: int, n_threads: int = 1
) -> np.ndarray:
    """Return what a chromosome adds to people's public scores, (n_scores, n_people) int64 in `ROW_STEP`.

    Slabs are of all people, in order. Missing genotypes are their centres, and add 0. Scores are the same for
    any slabs and number of threads. They are private.
    """
    rows = _score_map(chromosome)
    require_exact(rows)
    scores = np.zeros((len(chromosome.score_weights), n_people), dtype=np.int64)
    norms, no_axes = RowNorms(rows), np.zeros((0, n_people), dtype=np.int64)
    for slab, people in placed_slabs(slabs, rows, no_axes, n_people):
        norms.prepare(slab)
        of_slab = scores[:, people]

        def add(first: int, slab: GenotypeSlab = slab, of_slab: np.ndarray = of_slab) -> None:
            tile = slice(first, min(first + TILE_PEOPLE, slab.n_people))
            for entries, _ in norms.tile_entries(slab, tile, np.zeros((0, tile.stop - tile.start))):
                of_slab[:, tile] += entries.astype(np.int64)

        map_in_threads(add, range(0, slab.n_people, TILE_PEOPLE), n_threads=n_threads)
        del slab
    return scores


def less_scores(
    values: np.ndarray,  # (n_outcomes, n_people) float64, NaN where missing
    scores: np.ndarray,  # (n_scores, n_people) int64 in `ROW_STEP`
    rows: Sequence[int],  # for each outcome the row of its score, -1 without one
) -> np.ndarray:
    """Return outcomes less their public scores, before any clip: each of one person.

    It raises UsageError for scores of another number of people.
    """
    if scores.shape[1] != values.shape[1]:
        # Numbers of people are private.
        raise UsageError(
            "people-of-scores-differ",
            "Public scores and outcomes must be of the same people, got others. Measure them again: dpgrs "
            "measure-people",
        )
    residuals = np.array(values, dtype=np.float64)
    for outcome, row in enumerate(rows):
        if row >= 0:
            residuals[outcome] -= scores[row] * ROW_STEP
    return residuals


def _score_map(chromosome: ChromosomeMap) -> ChromosomeMap:
    """Return a map whose entries are the parts of public scores in each block, without axes."""
    weights = chromosome.score_weights
    of_scores, none = np.ones(len(weights)), np.zeros(0, dtype=np.int64)
    blocks = [
        LdBlock(first, stop, weights[:, first:stop], of_scores, of_scores, NO_ENTRIES, NO_ENTRIES, sd, 0.0)
        for first, stop, sd in ((block.first, block.stop, block.deviations) for block in chromosome.blocks)
    ]
    no_axes = np.zeros((chromosome.n_variants, 0), dtype=np.int64)
    fields = (no_axes, none, 1.0, none, no_axes[:0])
    return ChromosomeMap(chromosome.contig, chromosome.centre, tuple(blocks), *fields)


def joint_factors(squares: Sequence[np.ndarray], genome: GenomeMap) -> np.ndarray:
    """Return what shrinks people's rows of all chromosomes together to the norm of the genome.

    `squares` are of `row_squares`, for each chromosome in the order of the map. The result is (n_people,)
    float64.
    """
    if len(squares) != len(genome.chromosomes) or genome.n_directions > MOST_DIRECTIONS:
        raise UsageError(
            "genome-incomplete",
            f"Rows are shrunk together by their norms on all of {len(genome.chromosomes)} chromosomes, of at "
            f"most {MOST_DIRECTIONS} directions, got others. Measure all chromosomes of the map.",
        )
    total = np.zeros_like(squares[0])
    for chromosome_squares in squares:
        total += chromosome_squares
    square = sum(Fraction(chromosome.row_norm) ** 2 for chromosome in genome.chromosomes)
    norm = math.sqrt(square)
    return shrinking_factors(total, norm=norm if Fraction(norm) ** 2 <= square else math.nextafter(norm, 0))


def shrinking_factors(squares: np.ndarray, *, norm: float) -> np.ndarray:
    """Return what shrinks rows to a norm, a little less than 1 for the others.

    The squares are (n_people,) float64 in `ROW_STEP` squared; the result is (n_people,) float64.
    """
    length, limit = np.sqrt(squares), norm / ROW_STEP
    factors = np.ones_like(length)
    np.divide(limit, length, out=factors, where=length > limit)
    return factors * FACTOR_BELOW_ONE


def placed_slabs(
    slabs: Iterable[GenotypeSlab], chromosome: ChromosomeMap, axes: np.ndarray, n_people: int
) -> Iterator[tuple[GenotypeSlab, slice]]:
    """Yield slabs with their people; raise UsageError unless these are all, each once.

    A slab is let go of before the next one is read, if its user does so, too.
    """
    done = 0
    if axes.shape != (chromosome.axis_effects.shape[1], n_people):
        raise _not_of_all_people(chromosome)
    for slab in slabs:
        people = slice(done, done + slab.n_people)
        done += slab.n_people
        if done > n_people or len(slab.genotypes) != chromosome.n_variants:
            raise _not_of_all_people(chromosome)
        yield slab, people
        del slab  # before the next one is read
    if done != n_people:
        raise _not_of_all_people(chromosome)


def _not_of_all_people(chromosome: ChromosomeMap) -> UsageError:
    # Numbers of people are private.
    return UsageError(
        "people-of-chromosome-differ",
        f"Slabs, axes and outcomes of chromosome {chromosome.contig} must be of the same people, and of the "
        "variants of the map, got others. Read all from the same stores.",
    )


def outcome_weights(Y: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return W, (n_outcomes, n_people) int64 in `WEIGHT_STEP`: factors times Y, rounded towards 0."""
    return np.trunc(Y * (OUTCOME_STEP / WEIGHT_STEP) * factors).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _BlockRows:
    """T of a block as rows of people need it: z = factors (matrix x) - offsets - axis_map f."""

    block: LdBlock
    centre: np.ndarray  # (n_variants,) int64
    matrix: np.ndarray  # (n_directions, n_variants) float32 or float64
    factors: np.ndarray  # (n_directions,) float64
    units: np.ndarray  # (n_directions,) int64, by what T is larger than the matrix
    offsets: np.ndarray  # (n_directions,) float64, T a
    axis_map: np.ndarray  # (n_directions, n_axes) float64, M

    def columns(self) -> np.ndarray:
        """Return T of each variant, (n_variants, n_directions) float64."""
        return np.multiply(self.matrix.T, self.units, dtype=np.float64, order="C")


class RowNorms:
    """The norms of people's rows of a chromosome: exact entries, whose squares are added in one order."""

    def __init__(self, chromosome: ChromosomeMap) -> None:
        self._chromosome = chromosome
        self._rows: dict[bool, list[_BlockRows]] = {}

    def factors(self, slab: GenotypeSlab, axes: np.ndarray, *, n_threads: int = 1) -> np.ndarray:
        """Return what shrinks each person's row to the norm, a little less than 1 for the others.

        The axes are (n_axes, n_people) int64, clipped; the result is (n_people,) float64.
        """
        squares = self.squares(slab, axes, n_threads=n_threads)
        return shrinking_factors(squares, norm=self._chromosome.row_norm)

    def squares(self, slab: GenotypeSlab, axes: np.ndarray, *, n_threads: int = 1) -> np.ndarray:
        """Return the squared norm of each person's row, (n_people,) float64 in `ROW_STEP` squared."""
        self.prepare(slab)
        squares = np.zeros(slab.n_people)

        def add(first: int) -> None:
            tile = slice(first, min(first + TILE_PEOPLE, slab.n_people))
            self._add_squares(slab, tile, axes[:, tile].astype(np.float64), squares[tile])

        map_in_threads(add, range(0, slab.n_people, TILE_PEOPLE), n_threads=n_threads)
        return squares

    def prepare(self, slab: GenotypeSlab) -> None:
        """Prepare the map for such slabs, before threads share it."""
        self._prepared(has_dosages=slab.has_dosages)

    def tile_entries(
        self, slab: GenotypeSlab, tile: slice, axes: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the entries of the rows of a tile of people block by block, and the squares of their norms.

        The axes are (n_axes, n_people) float64, clipped. The entries are (n_directions, n_people) float64,
        exact in `ROW_STEP`, without the entries of the axes; the squares (n_people,) float64.
        """
        from dpgrs.linalg._genome_kernels import add_row_squares  # brings numba, which takes 0.3 s

        n_people = tile.stop - tile.start
        for products, factors, offsets, of_missing, of_axes in self._block_products(slab, tile, axes):
            squares = np.zeros(n_people)
            add_row_squares(products, factors, offsets, of_missing, of_axes, squares)
            z = products[:, :n_people] * factors[:, np.newaxis] - offsets[:, np.newaxis]
            if len(of_missing):
                z += of_missing[:n_people].T
            if len(of_axes):
                z -= of_axes
            yield z, squares

    def _add_squares(self, slab: GenotypeSlab, tile: slice, axes: np.ndarray, squares: np.ndarray) -> None:
        """Add the squares of the people of a tile, axes first, then block after block."""
        from dpgrs.linalg._genome_kernels import add_row_squares  # brings numba, which takes 0.3 s

        for gain, axis in zip(self._chromosome.axis_gains, axes, strict=False):
            squares += (axis * gain) ** 2
        for products in self._block_products(slab, tile, axes):
            add_row_squares(*products, squares)

    def _block_products(
        self, slab: GenotypeSlab, tile: slice, axes: np.ndarray
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield what `add_row_squares` makes the entries of a tile's people of, block by block."""
        n_columns = PEOPLE_OF_WORD * -(-(tile.stop - tile.start) // PEOPLE_OF_WORD)
        rows = self._prepared(has_dosages=slab.has_dosages)
        n_variants = max((block_rows.matrix.shape[1] for block_rows in rows), default=0)
        dtypes = {block_rows.matrix.dtype for block_rows in rows}
        tiles = {dtype: np.empty((n_variants, n_columns), dtype) for dtype in dtypes}
        for block_rows in rows:
            genotypes = tiles[block_rows.matrix.dtype][: block_rows.matrix.shape[1]]
            of_missing = _write_tile(slab, tile, block_rows, genotypes)
            of_axes = block_rows.axis_map @ axes if len(axes) else NO_ENTRIES
            yield block_rows.matrix @ genotypes, block_rows.factors, block_rows.offsets, of_missing, of_axes

    def _prepared(self, *, has_dosages: bool) -> list[_BlockRows]:
        """Return the blocks for slabs with dosages, or of calls; they are prepared once."""
        if has_dosages not in self._rows:
            prepare = partial(_block_rows, chromosome=self._chromosome, has_dosages=has_dosages)
            self._rows[has_dosages] = [prepare(block) for block in self._chromosome.blocks]
        return self._rows[has_dosages]


def _block_rows(block: LdBlock, *, chromosome: ChromosomeMap, has_dosages: bool) -> _BlockRows:
    """Prepare a block; numbers of alleles are multiplied in float32 where that is exact."""
    T, centre = block.matrix, chromosome.centre[block.first : block.stop]
    # The power of two that divides a row, at most 2^62.
    common = np.bitwise_or.reduce(T, axis=1) | 2**62
    units = common & -common
    short = T // units[:, np.newaxis]
    is_single = not has_dosages and 2 * np.abs(short).sum(axis=1).max(initial=0) < EXACT_SINGLE
    units = units if is_single else np.ones_like(units)
    return _BlockRows(
        block,
        centre,
        short.astype(np.float32) if is_single else T.astype(np.float64),
        units * float(1 if has_dosages else STEPS_PER_ALLELE),
        units,
        (T @ centre).astype(np.float64),
        _axis_map(T, chromosome.axis_effects[block.columns]).astype(np.float64),
    )


def _write_tile(slab: GenotypeSlab, tile: slice, block_rows: _BlockRows, out: np.ndarray) -> np.ndarray:
    """Write the genotypes of a tile of people at a block's variants, and return what the missing ones add.

    `out` is (n_variants, n_columns); the result (n_columns, n_directions) float64, or no rows.
    """
    from dpgrs.linalg._genome_kernels import count_alleles, drop_missing

    variants, n_people = block_rows.block.columns, tile.stop - tile.start
    if slab.has_dosages:
        out[:, :n_people] = slab.genotypes[variants, tile].view(np.int16)
        out[:, n_people:] = 0
        return NO_ENTRIES
    words = slice(tile.start // PEOPLE_OF_WORD, -(-tile.stop // PEOPLE_OF_WORD))
    genotypes = slab.genotypes[variants, words]
    count_alleles(genotypes, out)
    if slab.missing is None or not slab.missing[variants, words].any():
        return NO_ENTRIES
    sums = np.zeros((out.shape[1], len(block_rows.matrix)))
    drop_missing(
        genotypes, slab.missing[variants, words], block_rows.centre, block_rows.columns(), True, sums
    )
    return sums


def _variant_sums(slab: GenotypeSlab, W: np.ndarray, centre: np.ndarray, *, n_threads: int) -> np.ndarray:
    """Sum W times centred genotypes: (n_outcomes, n_variants) int64 in `VARIANT_STEP`."""
    from dpgrs.linalg._genome_kernels import add_dosage_sums, drop_missing
    from dpgrs.linalg._kernels import table_sums

    sums = -centre * W.sum(axis=1, keepdims=True)
    of_alleles = None if slab.has_dosages else np.repeat(W, 2, axis=1)
    # People's words end with nobody's bits.
    of_people = np.pad(W.T, [(0, -slab.n_people % PEOPLE_OF_WORD), (0, 0)])

    def add(first: int) -> None:
        variants = slice(first, first + VARIANTS_AT_ONCE)
        genotypes = slab.genotypes[variants]
        if slab.has_dosages:
            add_dosage_sums(genotypes.view(np.int16), W, sums[:, variants])
            return
        sums[:, variants] += STEPS_PER_ALLELE * table_sums(genotypes, of_alleles)
        if slab.missing is not None:
            off = np.zeros((len(genotypes), len(W)), dtype=np.int64)
            drop_missing(genotypes, slab.missing[variants], centre[variants], of_people, False, off)
            sums[:, variants] += off.T

    map_in_threads(add, range(0, len(slab.genotypes), VARIANTS_AT_ONCE), n_threads=n_threads)
    return sums
