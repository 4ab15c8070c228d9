"""Second moments of people's rows within the LD blocks of a genome: what a fit takes for the cohort's LD.

A person's entries z_b of a block, as in `dpgrs.linalg.genome_sums`, are shrunk to u_b with
sum_b |u_b|^4 <= D_c^2 over the blocks of a chromosome, and the moments of a block are the sum of u_b u_b'
(docs/proofs/genome_moments.md). Axes of ancestry are not among them. D_c follows from the map's shares, which
are the mean squares of entries in the panel.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.linalg.genome_map import ChromosomeMap, GenomeMap
from dpgrs.linalg.genome_sums import (
    FACTOR_BELOW_ONE,
    LARGEST_AXIS,
    ROW_STEP,
    TILE_PEOPLE,
    RowNorms,
    placed_slabs,
    require_exact,
)
from dpgrs.threads import map_in_threads

ENTRY_STEP = 2.0**-18  # of u
MOMENT_STEP = ENTRY_STEP**2
# D_c over the root of the mean of sum_b |z_b|^4 for normal rows: rows of a cohort that is like the panel are
# hardly ever shrunk.
SLACK = 1.5
LARGEST_MOMENT_NORM = 16.0  # products of a tile are below 2^53
LARGEST_TOTAL = 2.0**24  # people times D_c: weighted moments stay below 2^63
# Of squares and of products of two directions in what is drawn: their noise is about as 1 to sqrt(1/2), at
# which it hides a person best.
SQUARE_WEIGHT, PRODUCT_WEIGHT = 5, 7


@dataclass(frozen=True, eq=False)
class ChromosomeMoments:
    """The second moments of a chromosome's blocks, exactly: private."""

    contig: str
    # (n_moments,) int64 in `MOMENT_STEP`: of block after block the upper triangle, row by row.
    entries: np.ndarray
    made_with: str  # digest of all public terms, as of `ChromosomeSums`
    norm: float  # D_c, by which rows were shrunk: it follows from shares, which are not in that digest

    def arrays(self) -> dict[str, Any]:
        """Return the moments as an array and text by name: `ChromosomeMoments(**arrays)` makes them again."""
        return vars(self).copy()


def moment_norm(chromosome: ChromosomeMap) -> float:
    """Return D_c, the root of the bound on the sum of |u_b|^4."""
    square = 0.0
    for block in chromosome.blocks:
        total = math.fsum(block.shares)
        square += total * total + 2 * math.fsum(block.shares * block.shares)
    return SLACK * math.sqrt(square)


def n_moments(genome: GenomeMap) -> int:
    """Return the number of second moments of a map."""
    sizes = (block.n_directions for chromosome in genome.chromosomes for block in chromosome.blocks)
    return sum(size * (size + 1) // 2 for size in sizes)


def chromosome_moments(
    slabs: Iterable[GenotypeSlab],  # of all people, in order
    chromosome: ChromosomeMap,
    *,
    axes: np.ndarray,  # (n_axes, n_people) int64, f in units of `DOSAGE_STEP`, clipped here
    is_counted: np.ndarray,  # (n_people,) bool, whose rows are summed
    made_with: str,  # digest of the map and all other public terms
    n_threads: int = 1,
) -> ChromosomeMoments:
    """Sum products of two entries of a block over people, whose rows are shrunk to the norm.

    Moments are the same for any slabs and number of threads. It raises UsageError for a map or so many people
    that they would not be exact, and for slabs that are not of all people.
    """
    require_exact(chromosome)
    norm = moment_norm(chromosome)
    if norm > LARGEST_MOMENT_NORM or len(is_counted) * norm > LARGEST_TOTAL:
        raise UsageError(
            f"The norm of second moments must be at most {LARGEST_MOMENT_NORM:g}, and people times the norm "
            f"at most {LARGEST_TOTAL:.0f}, so that the moments of chromosome {chromosome.contig} are exact. "
            "Release sums only."
        )
    axes = np.clip(axes, -LARGEST_AXIS, LARGEST_AXIS)
    totals = [np.zeros((block.n_directions, block.n_directions), np.int64) for block in chromosome.blocks]
    rows = RowNorms(chromosome)
    for slab, people in placed_slabs(slabs, chromosome, axes, len(is_counted)):
        rows.prepare(slab)
        of_slab, counted = axes[:, people].astype(np.float64), is_counted[people]
        of_tile = partial(_tile_moments, rows, slab, of_slab, counted, norm)
        for products in map_in_threads(of_tile, range(0, slab.n_people, TILE_PEOPLE), n_threads=n_threads):
            for total, product in zip(totals, products, strict=True):
                total += product
        del slab, of_tile
    parts = [total[np.triu_indices(len(total))] for total in totals]
    entries = np.concatenate([*parts, np.zeros(0, np.int64)])
    return ChromosomeMoments(chromosome.contig, entries, made_with, norm)


def shrunk_rows(blocks: Sequence[tuple[np.ndarray, np.ndarray]], *, norm: float) -> list[np.ndarray]:
    """Return u of the blocks of some people, (n_directions, n_people) float64 each, in `ENTRY_STEP`.

    `blocks` are of `RowNorms.tile_entries`. Entries are rounded towards 0.
    """
    fourths = np.zeros_like(blocks[0][1]) if blocks else np.zeros(0)
    for _, squares in blocks:
        fourths += squares * squares
    length, limit = np.sqrt(fourths), norm / ROW_STEP**2
    ratios = np.ones_like(length)
    np.divide(limit, length, out=ratios, where=length > limit)
    factors = np.sqrt(ratios) * FACTOR_BELOW_ONE * (ROW_STEP / ENTRY_STEP)
    return [np.trunc(z * factors) for z, _ in blocks]


def _tile_moments(
    rows: RowNorms, slab: GenotypeSlab, axes: np.ndarray, counted: np.ndarray, norm: float, first: int
) -> list[np.ndarray]:
    """Return u u' of the counted people of a tile by block, exactly: all its sums are integers below 2^53."""
    tile = slice(first, min(first + TILE_PEOPLE, slab.n_people))
    shrunk = shrunk_rows(list(rows.tile_entries(slab, tile, axes[:, tile])), norm=norm)
    return [((u * counted[tile]) @ u.T).astype(np.int64) for u in shrunk]


def moment_weights(genome: GenomeMap) -> np.ndarray:
    """Return the weights of all moments of a map in what is drawn, (n_moments,) int64."""
    parts = [np.zeros(0, np.int64)]
    for chromosome in genome.chromosomes:
        for block in chromosome.blocks:
            rows, columns = np.triu_indices(block.n_directions)
            parts.append(np.where(rows == columns, SQUARE_WEIGHT, PRODUCT_WEIGHT))
    return np.concatenate(parts)
