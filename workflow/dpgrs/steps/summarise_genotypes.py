"""The genotypes of a benchmark's cohort, summed up for its report, which describes single people."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS
from dpgrs.genotypes.diversity import (
    as_calls,
    heterozygosity,
    linkage_decay,
    pairwise_fst,
    person_heterozygosity,
    principal_components,
)
from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.io.genotype_summary import CALL_EDGES, GenotypeSummary
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.selection import thin, usable_variants
from dpgrs.io.tables.tables import populations_of
from dpgrs.io.variant_filters import VariantFilters, missing_shares
from dpgrs.io.variant_set_writer import chosen_alleles, fill_missing
from dpgrs.public_random import uniforms
from dpgrs.study.variant_terms import filters_of
from dpgrs.types import Rows

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.study import StudyConfig

# These numbers take seconds, whatever the cohort, and show enough.
MOST_VARIANTS, MOST_PEOPLE, MOST_POPULATIONS, FEWEST_MEMBERS = 2000, 2000, 8, 10
CALL_ROWS = 1000  # variants of which each person's missing alleles are spread out in memory at a time
# Principal components of linked variants would show regions of the genome, not people.
UNLINKED = LinkageLimit(r2=0.2, window=250, rows=Rows.PEOPLE)
DECAY_CHROMOSOMES, DECAY_VARIANTS, DECAY_REACH, FEWEST_PAIRS = 3, 400, 500_000, 20
EDGES = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200, 500]) * 1000.0


READS = ("seed", "variants")


def summarise_genotypes(
    settings: "StudyConfig", stores: list[Path], *, populations: Path | None = None, output: Path
) -> None:
    """Measure call rates, heterozygosity, F_ST, components and the decay of linkage, for the report.

    The seed decides which people and variants are used where there are many.

    Parameters
    ----------
    stores : haplotype stores, one per chromosome, in genome order.
    populations : table of sample and population.
    output : the summary to write.
    """
    seed = settings.seed
    stores = [HaplotypeStore.open(store) for store in stores]
    usable, _ = usable_variants(stores, filters=VariantFilters(**filters_of(settings.variants)))
    people = _some(stores[0].sample_id, MOST_PEOPLE, seed)
    rank, _ = thin(usable, stores, size=MOST_VARIANTS, seed=seed, linkage=UNLINKED)
    calls, counts = _genotypes(stores, usable[rank >= 0], people)
    population = np.empty(0, dtype=str)
    if populations:
        population = populations_of(populations, stores[0].sample_id)[people]
    names, sizes = _largest(population)
    members = [np.flatnonzero(population == name) for name in names]
    shares = [heterozygosity(calls.take(indices, axis=1)) for indices in members]
    components, explained = principal_components(counts)
    variant_calls, person_calls = _call_rates(stores, people)
    decay, n_pairs = _decay(stores, usable, people, seed=seed)
    GenotypeSummary(
        n_variants=len(counts),
        n_known=stores[0].n_samples,
        variant_calls=variant_calls,
        person_calls=person_calls,
        population=population,
        heterozygosity=person_heterozygosity(calls),
        components=components,
        explained=explained,
        names=names,
        sizes=sizes,
        observed=np.array([observed for observed, _ in shares]),
        expected=np.array([expected for _, expected in shares]),
        fst=pairwise_fst(calls, members),
        edges=EDGES,
        decay=decay,
        n_pairs=n_pairs,
    ).save(output)


def _call_rates(
    stores: Sequence[HaplotypeStore],
    people: np.ndarray,  # (n_people,) int64, indices
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many variants, of all, and how many people have call rates in each bin of `CALL_EDGES`."""
    haplotypes = np.stack([2 * people, 2 * people + 1], axis=1).ravel()
    unknown = np.zeros((len(people), 2), dtype=np.int64)
    for store in stores:
        for chunk in store.chunks():
            missing = store.missing(chunk)
            for start in range(0, 0 if missing is None else len(missing), CALL_ROWS):
                bits = _bits(missing[start : start + CALL_ROWS], haplotypes)
                unknown += bits.sum(axis=0, dtype=np.int64).reshape(-1, 2)
    n_alleles = 2 * sum(store.n_variants for store in stores)
    variants = np.concatenate([1 - missing_shares(store) for store in stores])
    return _binned(variants), _binned(1 - unknown.sum(axis=1) / n_alleles)


def _binned(
    rates: np.ndarray,  # (n,) float64
) -> np.ndarray:
    bins = np.searchsorted(CALL_EDGES, rates, side="right")
    return np.bincount(bins, minlength=len(CALL_EDGES) + 1)


def _some(
    sample_id: np.ndarray,  # (n_samples,) str
    most: int,
    seed: int,
) -> np.ndarray:
    """Return the indices of at most so many people, who stay the same when others join."""
    order = np.argsort(uniforms(seed, list(sample_id), "quality"), kind="stable")
    return np.sort(order[:most])


def _largest(
    population: np.ndarray,  # (n_people,) str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the names and sizes of the largest populations, by name."""
    names, sizes = np.unique(population, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:MOST_POPULATIONS]
    shown = np.sort(largest[sizes[largest] >= FEWEST_MEMBERS])
    return names[shown], sizes[shown]


def _genotypes(
    stores: Sequence[HaplotypeStore],
    variants: "pd.DataFrame",
    people: np.ndarray,  # (n_people,) int64, indices
) -> tuple[Any, np.ndarray]:
    """Return scikit-allel's calls of some people at variants, and ALT counts with missing alleles filled."""
    calls, counts = [], []
    haplotype_columns = np.stack([2 * people, 2 * people + 1], axis=1).ravel()
    for number, store in enumerate(stores):
        store_variants = variants[variants["store"] == number]
        haplotypes, missing = chosen_alleles(store, store_variants["row"].to_numpy())
        filled = fill_missing(haplotypes, missing, store_variants["frequency"].to_numpy())
        alleles, unknown, filled = (
            _bits(words, haplotype_columns) for words in (haplotypes, missing, filled)
        )
        calls.append(as_calls(alleles, unknown))
        counts.append(filled.reshape(len(store_variants), len(people), 2).sum(axis=2, dtype=np.int8))
    return calls[0].concatenate(calls[1:], axis=0) if len(calls) > 1 else calls[0], np.concatenate(counts)


def _bits(
    words: np.ndarray,  # (n, n_words) uint64
    columns: np.ndarray,  # (n_columns,) int64
) -> np.ndarray:
    """Return some bits of (n, n_words) words, which `unpack` would give for a million people at once."""
    shifts = (columns % WORD_BITS).astype(np.uint64)
    return ((words[:, columns // WORD_BITS] >> shifts) & np.uint64(1)).astype(np.uint8)


def _decay(
    stores: Sequence[HaplotypeStore], usable: "pd.DataFrame", people: np.ndarray, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean r^2 by distance, and how many pairs that is, around the middle of a few chromosomes."""
    sums, n_pairs = np.zeros(len(EDGES) - 1), np.zeros(len(EDGES) - 1, dtype=np.int64)
    for number in range(min(len(stores), DECAY_CHROMOSOMES)):
        store_variants = usable[usable["store"] == number]
        if not len(store_variants):
            continue
        away = (store_variants["position"] - store_variants["position"].iloc[len(store_variants) // 2]).abs()
        near = store_variants[away <= DECAY_REACH / 2]
        rank, _ = thin(near, stores, size=DECAY_VARIANTS, seed=seed)
        chosen = near[rank >= 0]
        _, counts = _genotypes(stores, chosen, people)
        store_decay = linkage_decay(counts, chosen["position"].to_numpy(), edges=EDGES)
        sums, n_pairs = sums + store_decay[0], n_pairs + store_decay[1]
    is_enough = n_pairs >= FEWEST_PAIRS
    return np.divide(sums, n_pairs, out=np.full(len(sums), np.nan), where=is_enough), n_pairs
