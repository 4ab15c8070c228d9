"""Many people from few: mosaics of the haplotypes of a store, by the copying model of Li and Stephens.

A copy follows one haplotype of its own population, goes over to another by chance between variants, the
farther they lie apart the more likely, and now and then has another allele. Therefore frequencies, linkage
disequilibrium and differences of populations stay near the source's. Stretches of it are copied letter
by letter: copies are derived data, as private as the source is.

Li and Stephens (2003), Genetics 165, 2213-2233.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import WORD_BITS, word_count
from dpgrs.io.files import file_digest
from dpgrs.io.haplotype_store import HaplotypeStore, rows_per_batch
from dpgrs.io.store_writer import StoreWriter
from dpgrs.io.tables.genetic_maps import read_map
from dpgrs.io.tables.tables import populations_of
from dpgrs.public_random import generator
from dpgrs.simulation._copying_kernels import copy_variants
from dpgrs.threads import map_in_threads

# The haplotypes and variants that one random stream serves: cores and batch sizes change nothing.
HAPLOTYPES, VARIANTS = 2**13, 2**8
ONE_POPULATION = "all"
# Morgans a base, where no map is given.
PER_BASE = 1e-8


@dataclass(frozen=True)
class CopyingModel:
    """How copies go over from one haplotype to another."""

    # N_e > 0: between variants d Morgans apart a copy goes over at the rate 4 N_e d / K in a population of K
    # haplotypes.
    effective_size: float = 10_000
    # Chance of another allele at a variant, in [0, 1); None is that of Li and Stephens, theta / (2 (theta +
    # K)) with theta = 1 / (1 + 1/2 + ... + 1/(K - 1)).
    mutation: float | None = None

    def __post_init__(self) -> None:
        if not self.effective_size > 0:
            raise UsageError(
                "effective-size-not-positive",
                f"`effective_size` must be above 0, got {self.effective_size}. Try 10000.",
            )
        if self.mutation is not None and not 0 <= self.mutation < 1:
            raise UsageError(
                "mutation-out-of-range",
                f"`mutation` must be in [0, 1), got {self.mutation}. Try 1e-5, or leave it out.",
            )

    def flip_rate(self, n_haplotypes: int) -> float:
        """Return the chance of another allele."""
        if self.mutation is not None:
            return self.mutation
        theta = 1 / max(1.0, (1 / np.arange(1, n_haplotypes)).sum())
        return theta / (2 * (theta + n_haplotypes))


@dataclass(frozen=True)
class Population:
    """Haplotypes that the copies of one population follow, and which copies these are."""

    members: np.ndarray  # (K,) uint64, of the source
    copies: slice  # of the copies


def resample_store(
    source: Path | str,
    output: Path | str,
    *,
    people: int,
    seed: int,
    populations: Path | str | None = None,
    genetic_map: Path | str | None = None,
    model: CopyingModel | None = None,
    n_threads: int = 2,
    tell: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Write a store of copies, and return the sample and population of each.

    `source` is a store of phased haplotypes; no output is left behind on an error. Populations have the same
    shares as in the source; their table is of the source's samples, None takes them for one population. The
    seed is public: same arguments, same bytes, for any number of threads. A genetic map is as of `read_map`;
    None is 1 cM a megabase. `tell` is called with the number of variants after each batch. A source with
    dosages, and fewer people than populations, are refused.
    """
    store, model = HaplotypeStore.open(source), model or CopyingModel()
    if store.has_dosages:
        raise DpgrsError(
            "dosages-not-haplotypes",
            f"`{source}` must hold phased haplotypes, got dosages of people. Ingest its calls, `field: GT`.",
        )
    table, groups = population_groups(store, people, populations, prefix="res")
    # From one variant to the next; the first is where copies begin.
    morgans = _morgans(store, genetic_map)
    rates = 4 * model.effective_size * np.diff(morgans, prepend=morgans[:1])
    # Chromosomes are copied apart, by draws of their own.
    stream = (seed, "resample", *dict.fromkeys(store.variants["contig"]))
    start = mosaic_start(stream, groups)
    mosaic = Mosaic(stream, groups, rates, model.flip_rate(store.n_haplotypes), start)
    step = max(VARIANTS, rows_per_batch(people) // VARIANTS * VARIANTS)
    with StoreWriter.create(output, sample_id=table["sample"].to_numpy(dtype=str)) as writer:
        for first in range(0, store.n_variants, step):
            rows = slice(first, min(first + step, store.n_variants))
            planes = [plane for plane in (store.haplotypes(rows), store.missing(rows)) if plane is not None]
            new_planes = mosaic.copy(np.stack(planes), first, n_threads=n_threads)
            writer.append(store.variants.iloc[rows], *new_planes)
            if tell is not None:
                tell(rows.stop - rows.start)
        derivation = {"seed": seed, "people": people, **asdict(model)}
        derivation["map"] = None if genetic_map is None else file_digest(genetic_map)
        writer.attributes.update(derived_attributes(store, "resampled", derivation))
    return table


def mosaic_start(stream: tuple[Any, ...], groups: list[Population]) -> np.ndarray:
    """Draw which haplotype each copy follows at first: (n_copies,) uint64."""
    return np.concatenate(
        [
            generator(*stream, "first", group.copies.start).choice(
                group.members, group.copies.stop - group.copies.start
            )
            for group in groups
        ]
    )


@dataclass(frozen=True)
class Mosaic:
    """Copies along a chromosome."""

    stream: tuple[Any, ...]  # a public seed, and the key of its draws
    groups: list[Population]  # by their copies
    # (n_variants,) float64, the rate of going over before a variant, times the number of haplotypes.
    rates: np.ndarray
    flip_rate: float  # chance of another allele
    # (n_copies,) uint64, which haplotype each follows, up to the variants that were copied.
    copied: np.ndarray

    def copy(self, planes: np.ndarray, start: int, *, n_threads: int) -> np.ndarray:
        """Copy the next variants, (n_planes, n_variants, n_words) uint64: bits of the source, perhaps of
        missing ones.

        `start` is the number of the first variant, a multiple of `VARIANTS`. The result has the words of the
        copies.
        """
        n_copies = len(self.copied)
        copies = np.zeros((*planes.shape[:2], word_count(n_copies)), dtype=np.uint64)

        def fill(block: slice) -> None:
            words = slice(block.start // WORD_BITS, word_count(block.stop))
            for at in range(0, planes.shape[1], VARIANTS):
                batch = slice(at, at + VARIANTS)
                draws = generator(*self.stream, block.start, start + at)
                switches = self._switches(draws, block, self.rates[start:][: planes.shape[1]][batch])
                copied_words = copies[:, batch, words]
                copy_variants(planes[:, batch], self.copied[block], *switches, copied_words)
                self._flip(draws, copied_words, block)

        blocks = [slice(at, min(at + HAPLOTYPES, n_copies)) for at in range(0, n_copies, HAPLOTYPES)]
        map_in_threads(fill, blocks, n_threads=n_threads)
        return copies

    def _switches(
        self, draws: Any, block: slice, rates: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw when copies of a block go over, each by a Poisson process of its own, and to which."""
        variant, at, to = [], [], []
        for group in self.groups:
            first, stop = max(group.copies.start, block.start), min(group.copies.stop, block.stop)
            counts = draws.poisson(max(stop - first, 0) * rates / len(group.members))
            variant.append(np.repeat(np.arange(len(rates)), counts))
            at.append(first - block.start + draws.integers(max(stop - first, 1), size=counts.sum()))
            to.append(draws.choice(group.members, counts.sum()))
        variant = np.concatenate(variant)
        order = np.argsort(variant, kind="stable")
        ends = np.searchsorted(variant[order], np.arange(len(rates) + 1))
        return ends, np.concatenate(at).astype(np.int64)[order], np.concatenate(to)[order]

    def _flip(self, draws: Any, copies: np.ndarray, block: slice) -> None:
        """Give some copies the other allele, where it is known."""
        n_copies = block.stop - block.start
        counts = draws.poisson(n_copies * self.flip_rate, copies.shape[1])
        variant = np.repeat(np.arange(copies.shape[1]), counts)
        word, bit = np.divmod(draws.integers(n_copies, size=counts.sum()), WORD_BITS)
        np.bitwise_xor.at(copies[0], (variant, word), np.uint64(1) << bit.astype(np.uint64))
        for missing in copies[1:]:
            copies[0] &= ~missing


def population_groups(
    store: HaplotypeStore, people: int, populations: Path | str | None, *, prefix: str
) -> tuple[pd.DataFrame, list[Population]]:
    """Share new people among the populations of a store; return their samples and populations, and groups.

    The table of populations is of the store's samples; None takes them for one population. Names of the new
    people begin with the prefix. Fewer people than populations are refused.
    """
    labels = np.full(store.n_samples, ONE_POPULATION)
    if populations is not None:
        labels = np.asarray(populations_of(populations, store.sample_id), dtype=str)
    number, names = pd.factorize(labels)  # in the order in which they appear
    if people < len(names):
        raise UsageError(
            "people-fewer-than-populations",
            f"`people` must be at least {len(names)}, one of each population, got {people}. Give more.",
        )
    # Populations have their shares in the source, each at least one person, the last ones rounded.
    shares = np.cumsum(np.bincount(number)) / store.n_samples
    ends = np.maximum(np.rint(shares * people).astype(int), np.arange(1, len(names) + 1))
    ends = np.minimum(ends, people - np.arange(len(names) - 1, -1, -1))
    groups, start = [], 0
    for i, end in enumerate(ends.tolist()):
        of = np.flatnonzero(number == i).astype(np.uint64)
        members = np.sort(np.concatenate([2 * of, 2 * of + np.uint64(1)]))
        groups.append(Population(members, slice(2 * start, 2 * end)))
        start = end
    width = max(4, len(str(people)))
    sample = [f"{prefix}{i:0{width}d}" for i in range(1, people + 1)]
    return pd.DataFrame({"sample": sample, "population": np.repeat(names, np.diff(ends, prepend=0))}), groups


def _morgans(store: HaplotypeStore, genetic_map: Path | str | None) -> np.ndarray:
    """Return the genetic positions of the variants of a store, in Morgans."""
    position = store.variants["position"].to_numpy(dtype=float)
    if genetic_map is None:
        return position * PER_BASE
    at, morgans = read_map(genetic_map)
    return np.interp(position, at, morgans)


def derived_attributes(store: HaplotypeStore, how: str, derivation: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a store of derived data, whose source is no file that could be declared public.

    `how` says what was done to the source, `terms` are JSON values by what terms.
    """
    derivation = derivation | {"source": store.attributes["source"]}
    digest = hashlib.sha256(json.dumps(derivation, sort_keys=True).encode()).hexdigest()
    new_source = {"file": f"{store.path.name}, {how}", "sha256": digest}
    source_attributes = {
        name: store.attributes[name] for name in ("options", "counts") if name in store.attributes
    }
    return source_attributes | {"source": new_source, "derived": derivation}
