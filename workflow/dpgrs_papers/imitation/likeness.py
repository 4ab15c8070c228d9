"""How alike a store of copies is to its source: what should stay, and how near they come to single people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import bit_counts, pack, unpack
from dpgrs.genotypes.diversity import as_calls, linkage_decay, pairwise_fst
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.tables.tables import populations_of
from dpgrs.public_random import generator

# These limits keep a comparison to seconds, whatever the size of the stores.
MOST_VARIANTS, MOST_PEOPLE, MOST_COMPARED = 2000, 2000, 500
DECAY_VARIANTS, COMMON = 400, 0.05
EDGES = np.array([0, 1, 5, 20, 100, 500]) * 1000


@dataclass(frozen=True)
class Measured:
    """One quantity that was measured in both stores."""

    name: str
    source: float  # NaN if it cannot be measured
    copies: float  # likewise


def compare_stores(
    source: Path | str,
    copies: Path | str,
    *,
    populations: tuple[Path | str | None, Path | str | None] = (None, None),
    seed: int = 1,
) -> list[Measured]:
    """Measure a store and copies of it by the same variants.

    Paths of tables of populations add F_ST; None leaves it out. The public seed decides which variants and
    people are compared if there are many. Measured are the frequency, mean r^2 by distance less its
    expectation by chance, F_ST by pairs of populations, and of haplotypes the distance to the nearest one of
    the source, as a share of the variants; of a source haplotype it is another one. Other variants, and a
    population that only one store has, are refused.
    """
    stores = [HaplotypeStore.open(path) for path in (source, copies)]
    if not stores[0].variants.equals(stores[1].variants):
        raise DpgrsError(
            "variants-differ",
            f"`{copies}` must have the variants of `{source}`, got others. Compare copies of it.",
        )
    draws = generator(seed, "likeness")
    rows = _some(draws, stores[0].n_variants, MOST_VARIANTS)
    alleles = [_alleles(store, rows, _some(draws, store.n_samples, MOST_PEOPLE)) for store in stores]
    frequencies = [store_alleles.mean(axis=1) for store_alleles, _ in alleles]
    measured = [
        Measured("mean frequency", *(float(frequency.mean()) for frequency in frequencies)),
        Measured("largest difference of a frequency", 0.0, float(np.abs(np.subtract(*frequencies)).max())),
    ]
    is_common = np.minimum(frequencies[0], 1 - frequencies[0]) >= COMMON
    near = np.flatnonzero(is_common)[:DECAY_VARIANTS]
    position = stores[0].variants["position"].to_numpy()[rows]
    decays = [_decay(store_alleles[near], position[near]) for store_alleles, _ in alleles]
    for low, high, *both in zip(EDGES[:-1], EDGES[1:], *decays, strict=True):
        measured.append(Measured(f"mean r^2, {low // 1000} to {high // 1000} kb", *both))
    if all(populations):
        measured += _differences(stores, alleles, populations)
    return measured + _nearest(*(store_alleles for store_alleles, _ in alleles), draws)


def _some(draws: Any, n: int, most: int) -> np.ndarray:
    """Return which of n are compared, in their order."""
    return np.arange(n) if n <= most else np.sort(draws.choice(n, most, replace=False))


def _alleles(store: HaplotypeStore, rows: np.ndarray, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_rows, 2 n_people) uint8 of 0 and 1, unknown ones as 0, and their people."""
    haplotypes = np.stack([2 * people, 2 * people + 1], axis=1).ravel()
    return unpack(store.haplotypes(rows), store.n_haplotypes)[:, haplotypes], people


def _decay(alleles: np.ndarray, position: np.ndarray) -> np.ndarray:
    counts = (alleles[:, ::2] + alleles[:, 1::2]).astype(np.int8)
    sums, n_pairs = linkage_decay(counts, position, edges=EDGES)
    with np.errstate(invalid="ignore"):
        return sums / n_pairs - 1 / counts.shape[1]


def _differences(
    stores: Sequence[HaplotypeStore],
    alleles: Sequence[tuple[np.ndarray, np.ndarray]],
    populations: Sequence[Path | str],
) -> list[Measured]:
    """Return F_ST of each pair of populations."""
    labels = [
        populations_of(table, store.sample_id)[people]
        for store, table, (_, people) in zip(stores, populations, alleles, strict=True)
    ]
    names = sorted({*labels[0]})
    if {*labels[1]} != {*names}:
        raise DpgrsError(
            "populations-differ", "Both tables must name the same populations, got others. Correct one."
        )
    fst = [
        pairwise_fst(
            as_calls(store_alleles, np.zeros_like(store_alleles)),
            [np.flatnonzero(store_labels == name) for name in names],
        )
        for (store_alleles, _), store_labels in zip(alleles, labels, strict=True)
    ]
    return [
        Measured(f"F_ST of {names[i]} and {names[j]}", *(float(matrix[i, j]) for matrix in fst))
        for i, j in zip(*np.triu_indices(len(names), k=1), strict=True)
    ]


def _nearest(source: np.ndarray, copies: np.ndarray, draws: Any) -> list[Measured]:
    """Return the distance of haplotypes to the nearest of the source: the median, and the share at 0."""
    source_bits, nearest = pack(source.T), []
    for haplotypes in (source, copies):
        compared, distances = _some(draws, haplotypes.shape[1], MOST_COMPARED), []
        for number, haplotype in zip(compared, pack(haplotypes.T[compared]), strict=True):
            to_all = bit_counts(haplotype ^ source_bits)
            # A haplotype of the source is not its own neighbour.
            distances.append(np.delete(to_all, number).min() if haplotypes is source else to_all.min())
        nearest.append(np.array(distances) / len(haplotypes))
    return [
        Measured(
            "distance to the nearest of the source, median",
            *(float(np.median(distances)) for distances in nearest),
        ),
        Measured(
            "share equal to one of the source", *(float((distances == 0).mean()) for distances in nearest)
        ),
    ]
