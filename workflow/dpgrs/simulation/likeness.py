"""How alike a store of copies is to its source: what should stay, and how near they come to single people."""

from dataclasses import dataclass

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.genotypes.counts import bit_counts
from dpgrs.genotypes.diversity import as_calls, linkage_decay, pairwise_fst
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.tables.populations import populations_of
from dpgrs.public_random import generator

# So few take seconds, whatever the stores.
MOST_VARIANTS, MOST_PEOPLE, MOST_COMPARED = 2000, 2000, 500
DECAY_VARIANTS, COMMON = 400, 0.05
EDGES = np.array([0, 1, 5, 20, 100, 500]) * 1000


@dataclass(frozen=True)
class Measured:
    """One thing that was measured of both.

    Attributes
    ----------
    name : str
    source, copies : float, NaN where it cannot be.
    """

    name: str
    source: float
    copies: float


def compare_stores(source, copies, *, populations=(None, None), seed=1):
    """Measure a store and copies of it by the same variants.

    Parameters
    ----------
    source, copies : paths of two stores with the same variants.
    populations : pair of paths of tables of populations, or of None, which leaves F_ST out.
    seed : int, public: which variants and people are looked at where there are many.

    Returns
    -------
    list of Measured: the frequency, mean r^2 by distance less what chance adds, F_ST by pairs of populations,
    and of haplotypes the distance to the nearest one of the source, as a share of the variants; of a source
    haplotype it is another one.

    Raises
    ------
    DpgrsError
        If the variants differ, or a population is in one alone.
    """
    stores = [HaplotypeStore.open(path) for path in (source, copies)]
    if not stores[0].variants.equals(stores[1].variants):
        raise DpgrsError(
            f"`{copies}` must have the variants of `{source}`, got others. Compare copies of it."
        )
    draws = generator(seed, "likeness")
    rows = _some(draws, stores[0].n_variants, MOST_VARIANTS)
    alleles = [_alleles(store, rows, _some(draws, store.n_samples, MOST_PEOPLE)) for store in stores]
    frequencies = [found.mean(axis=1) for found, _ in alleles]
    measured = [
        Measured("mean frequency", *(float(one.mean()) for one in frequencies)),
        Measured("largest difference of a frequency", 0.0, float(np.abs(np.subtract(*frequencies)).max())),
    ]
    is_common = np.minimum(frequencies[0], 1 - frequencies[0]) >= COMMON
    near = np.flatnonzero(is_common)[:DECAY_VARIANTS]
    position = stores[0].variants["position"].to_numpy()[rows]
    decays = [_decay(found[near], position[near]) for found, _ in alleles]
    for low, high, *both in zip(EDGES[:-1], EDGES[1:], *decays, strict=True):
        measured.append(Measured(f"mean r^2, {low // 1000} to {high // 1000} kb", *both))
    if all(populations):
        measured += _differences(stores, alleles, populations)
    return measured + _nearest(*(found for found, _ in alleles), draws)


def _some(draws, n, most):
    """Return which of n are looked at, in their order."""
    return np.arange(n) if n <= most else np.sort(draws.choice(n, most, replace=False))


def _alleles(store, rows, people):
    """Return (n_rows, 2 n_people) uint8 of 0 and 1, unknown ones as 0, and who they are of."""
    haplotypes = np.stack([2 * people, 2 * people + 1], axis=1).ravel()
    return unpack(store.haplotypes(rows), store.n_haplotypes)[:, haplotypes], people


def _decay(alleles, position):
    counts = (alleles[:, ::2] + alleles[:, 1::2]).astype(np.int8)
    sums, n_pairs = linkage_decay(counts, position, edges=EDGES)
    with np.errstate(invalid="ignore"):
        return sums / n_pairs - 1 / counts.shape[1]


def _differences(stores, alleles, populations):
    """Return F_ST of each pair of populations."""
    labels = [
        populations_of(table, store.sample_id)[people]
        for store, table, (_, people) in zip(stores, populations, alleles, strict=True)
    ]
    names = sorted({*labels[0]})
    if {*labels[1]} != {*names}:
        raise DpgrsError("Both tables must name the same populations, got others. Correct one.")
    fst = [
        pairwise_fst(as_calls(found, np.zeros_like(found)), [np.flatnonzero(own == name) for name in names])
        for (found, _), own in zip(alleles, labels, strict=True)
    ]
    return [
        Measured(f"F_ST of {names[i]} and {names[j]}", *(float(one[i, j]) for one in fst))
        for i, j in zip(*np.triu_indices(len(names), k=1), strict=True)
    ]


def _nearest(source, copies, draws):
    """Return how far haplotypes are from the nearest of the source: the median, and the share at none."""
    known, found = pack(source.T), []
    for own in (source, copies):
        compared, distances = _some(draws, own.shape[1], MOST_COMPARED), []
        for number, one in zip(compared, pack(own.T[compared]), strict=True):
            to_all = bit_counts(one ^ known)
            # A haplotype of the source is no neighbour of its own.
            distances.append(np.delete(to_all, number).min() if own is source else to_all.min())
        found.append(np.array(distances) / len(own))
    return [
        Measured("distance to the nearest of the source, median", *(float(np.median(one)) for one in found)),
        Measured("share equal to one of the source", *(float((one == 0).mean()) for one in found)),
    ]
