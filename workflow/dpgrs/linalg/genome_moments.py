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
from threading import Lock
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
# Weights of squares and of products of two directions before the draw: their noise is about as 1 to
# sqrt(1/2), which hides a person best.
SQUARE_WEIGHT, PRODUCT_WEIGHT = 5, 7


@dataclass(frozen=True, eq=False)
class ChromosomeMoments:
    """The second moments of a chromosome's blocks, exactly: private."""

    contig: str
    # (n_moments,) int64 in `MOMENT_STEP`: of block after block the upper triangle, row by row.
    entries: np.ndarray
    made_with: str  # digest of all public terms, as of `ChromosomeSums`
    norm: float  # D_c, the norm of shrunken rows: it follows from shares, which are not in that digest

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


def moments_by_chromosome(genome: GenomeMap) -> list[int]:
    """Return the numbers of second moments of the chromosomes of a map, in order."""
    return [
        sum(math.comb(block.n_directions + 1, 2) for block in chromosome.blocks)
        for chromosome in genome.chromosomes
    ]


def n_moments(genome: GenomeMap) -> int:
    """Return the number of second moments of a map."""
    return sum(moments_by_chromosome(genome))


class MomentSums:
    """The second moments of a chromosome's blocks, while people are added slab by slab."""

    def __init__(
        self,
        chromosome: ChromosomeMap,
        *,
        is_counted: np.ndarray,  # (n_people,) bool, whose rows are summed
        made_with: str,  # digest of the map and all other public terms
        n_threads: int = 1,
    ) -> None:
        """Start from nobody; it raises UsageError for a map or so many people that sums are not exact."""
        require_exact(chromosome)
        norm = moment_norm(chromosome)
        if norm > LARGEST_MOMENT_NORM or len(is_counted) * norm > LARGEST_TOTAL:
            raise UsageError(
                "moment-norm-too-large",
                f"The norm of second moments must be at most {LARGEST_MOMENT_NORM:g}, and people times the "
                f"norm at most {LARGEST_TOTAL:.0f}, so that the moments of chromosome {chromosome.contig} "
                "are exact. Leave out `privacy.ld_share`.",
            )
        sizes = [block.n_directions for block in chromosome.blocks]
        self._totals = [np.zeros((size, size), np.int64) for size in sizes]
        self._rows, self._is_counted, self._norm = RowNorms(chromosome), is_counted, norm
        self._label, self._n_threads, self._lock = (chromosome.contig, made_with), n_threads, Lock()

    def add(self, slab: GenotypeSlab, axes: np.ndarray, people: slice) -> None:
        """Add the people of a slab, whose places are given; axes are (n_axes, n_people) int64, clipped.

        The moments are the same for any slabs and number of threads.
        """
        self._rows.prepare(slab)
        of_tile = partial(self._add_tile, slab, axes.astype(np.float64), self._is_counted[people])
        map_in_threads(of_tile, range(0, slab.n_people, TILE_PEOPLE), n_threads=self._n_threads)

    def _add_tile(self, slab: GenotypeSlab, axes: np.ndarray, counted: np.ndarray, first: int) -> None:
        """Add u u' of the counted people of a tile, exactly: all its sums are integers below 2^53."""
        tile = slice(first, min(first + TILE_PEOPLE, slab.n_people))
        shrunk = shrunk_rows(list(self._rows.tile_entries(slab, tile, axes[:, tile])), norm=self._norm)
        for total, u in zip(self._totals, shrunk, strict=True):
            products = ((u * counted[tile]) @ u.T).astype(np.int64)
            with self._lock:
                total += products

    def moments(self) -> ChromosomeMoments:
        """Return the moments of all people who were added."""
        triangles = [total[np.triu_indices(len(total))] for total in self._totals]
        entries = np.concatenate(triangles)
        contig, made_with = self._label
        return ChromosomeMoments(contig, entries, made_with, self._norm)


def chromosome_moments(
    slabs: Iterable[GenotypeSlab],  # of all people, in order
    chromosome: ChromosomeMap,
    *,
    axes: np.ndarray,  # (n_axes, n_people) int64, f in units of `DOSAGE_STEP`, clipped here
    is_counted: np.ndarray,
    made_with: str,
    n_threads: int = 1,
) -> ChromosomeMoments:
    """Sum products of two entries of a block over people, whose rows are shrunk to the norm.

    Other parameters are as in `MomentSums`. It raises UsageError as that does, and for slabs that are not of
    all people.
    """
    sums = MomentSums(chromosome, is_counted=is_counted, made_with=made_with, n_threads=n_threads)
    axes = np.clip(axes, -LARGEST_AXIS, LARGEST_AXIS)
    for slab, people in placed_slabs(slabs, chromosome, axes, len(is_counted)):
        sums.add(slab, axes[:, people], people)
        del slab
    return sums.moments()


def shrunk_rows(blocks: Sequence[tuple[np.ndarray, np.ndarray]], *, norm: float) -> list[np.ndarray]:
    """Return u of the blocks of some people, (n_directions, n_people) float64 each, in `ENTRY_STEP`.

    `blocks` are of `RowNorms.tile_entries`. Entries are rounded towards 0.
    """
    fourths = sum(squares * squares for _, squares in blocks)
    length, limit = np.sqrt(fourths), norm / ROW_STEP**2
    ratios = np.ones_like(length)
    np.divide(limit, length, out=ratios, where=length > limit)
    factors = np.sqrt(ratios) * FACTOR_BELOW_ONE * (ROW_STEP / ENTRY_STEP)
    return [np.trunc(z * factors) for z, _ in blocks]


def moment_weights(genome: GenomeMap) -> np.ndarray:
    """Return the weights of all moments of a map in what is drawn, (n_moments,) int64."""
    weights = [np.zeros(0, np.int64)]
    for chromosome in genome.chromosomes:
        for block in chromosome.blocks:
            rows, columns = np.triu_indices(block.n_directions)
            weights.append(np.where(rows == columns, SQUARE_WEIGHT, PRODUCT_WEIGHT))
    return np.concatenate(weights)
