"""Axes of ancestry: principal components of a reference panel, of variants that are hardly in LD."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.linalg.genome_map import MAP_STEP, genome_axes
from dpgrs.linalg.ld_estimation import (
    best_number,
    most_components,
    nearest_number,
    principal_axes,
    wide_axes,
)

if TYPE_CHECKING:
    from dpgrs.linalg.genome_prior import ReferenceChromosome

# Pruned variants of a panel whose centred dosages are in memory together.
PRUNED_TOGETHER = 2**10


def axis_loadings(chromosomes: "Sequence[ReferenceChromosome]", n_axes: int | None) -> list[np.ndarray]:
    """Return each chromosome's (n_pruned, n_axes) int64 loadings, in units of `MAP_STEP`."""
    pruned_rows, deviations = [], []
    for chromosome in chromosomes:
        pruned = chromosome.pruned
        cuts = np.searchsorted(pruned, chromosome.bounds)
        centre, deviation = 2 * chromosome.frequency[pruned], chromosome.deviations[pruned]
        pruned_rows.append(_PrunedRows(chromosome.dosages[:, pruned], centre, deviation, cuts))
        deviations.append(deviation)

    def blocks() -> Iterator[np.ndarray]:
        return chain.from_iterable(rows.blocks() for rows in pruned_rows)

    axes = _principal_axes(blocks, n_axes)
    # Scores of a panel along an axis of length 1 have the mean square |axis|^2.
    loadings = (axes / np.square(axes).sum(axis=1, keepdims=True)).T
    chromosome_loadings = np.split(loadings, np.cumsum([len(deviation) for deviation in deviations])[:-1])
    return [
        np.rint(axis_loadings / deviation[:, np.newaxis] / MAP_STEP).astype(np.int64)
        for axis_loadings, deviation in zip(chromosome_loadings, deviations, strict=True)
    ]


def panel_axes(chromosomes: "Sequence[ReferenceChromosome]", loadings: Sequence[np.ndarray]) -> np.ndarray:
    """Return the axes of a panel's people by `axis_loadings`, (n_panel, n_axes) int64 in `DOSAGE_STEP`."""
    parts = [
        A[first : first + PRUNED_TOGETHER]
        for A in loadings
        for first in range(0, len(A) or 1, PRUNED_TOGETHER)
    ]
    return genome_axes(parts, chain.from_iterable(map(_pruned_parts, chromosomes)))


def _pruned_parts(chromosome: "ReferenceChromosome") -> Iterator[np.ndarray]:
    """Yield centred dosages of some pruned variants at a time, at least once."""
    for first in range(0, len(chromosome.pruned) or 1, PRUNED_TOGETHER):
        yield chromosome.centred(chromosome.pruned[first : first + PRUNED_TOGETHER])


@dataclass(frozen=True, eq=False)
class _PrunedRows:
    """The dosages of a chromosome's pruned variants, in the type that they were read in."""

    dosages: np.ndarray  # (n_panel, n_pruned)
    centre: np.ndarray  # (n_pruned,) float64
    deviation: np.ndarray  # (n_pruned,) float64
    cuts: np.ndarray  # (n_blocks + 1,) int64, of LD blocks

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the standardised dosages of each LD block, (n_panel, n_block) float64."""
        for first, stop in pairwise(self.cuts.tolist()):
            columns = slice(first, stop)
            yield (self.dosages[:, columns] - self.centre[columns]) / self.deviation[columns]


def _principal_axes(blocks: Callable[[], Iterator[np.ndarray]], n_axes: int | None) -> np.ndarray:
    """Return the principal axes of rows of LD blocks, times the roots of their variances.

    The result is (n_axes, n_variants) float64. Of many variants the products of rows are decomposed.
    """
    sizes, products = [], 0.0
    for rows in blocks():
        sizes.append(rows.shape[1])
        products = products + rows @ rows.T
    n_rows, bounds = len(products), np.cumsum([0, *sizes])
    if bounds[-1] <= n_rows:
        X = np.concatenate(list(blocks()), axis=1)
        columns = [slice(*cut) for cut in pairwise(bounds.tolist())]
        if n_axes is None:
            n_axes = 0 if len(sizes) == 1 or not X.size else best_number(X, columns, rows_per_person=1)
        return principal_axes(X, n_axes)
    if n_axes is None:
        is_even = np.arange(n_rows) % 2 == 0
        most = most_components(is_even.sum(), bounds[-1])
        n_axes = 0
        if len(sizes) > 1 and most > 0:
            half = wide_axes(products[np.ix_(is_even, is_even)], (rows[is_even] for rows in blocks()), most)
            others = (rows[~is_even] for rows in blocks())
            n_axes = nearest_number(zip(others, np.split(half, bounds[1:-1], axis=1), strict=True))
    return wide_axes(products, blocks(), n_axes) if n_axes else np.empty((0, bounds[-1]))
