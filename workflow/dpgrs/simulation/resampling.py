"""Many people from few: haplotypes as mosaics of those of a store, by the copying model of Li and Stephens.

A copy follows one haplotype of its own population, goes over to another by chance between variants, the
farther they lie apart the more likely, and now and then has another allele. So frequencies, linkage
disequilibrium and differences of populations stay near those of the source. Stretches of it are copied letter
by letter: copies are derived data, as private as the source is.

Li and Stephens (2003), Genetics 165, 2213-2233.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import WORD_BITS, word_count
from dpgrs.io.files import file_digest
from dpgrs.io.haplotype_store import HaplotypeStore, StoreWriter, rows_per_batch
from dpgrs.io.tables.genetic_maps import read_map
from dpgrs.io.tables.populations import populations_of
from dpgrs.public_random import generator
from dpgrs.simulation._copying_kernels import copy_variants
from dpgrs.threads import map_in_threads

# What is drawn from one stream: number of cores and size of batches change nothing.
HAPLOTYPES, VARIANTS = 2**13, 2**8
ONE_POPULATION = "all"
# Morgans a base, where no map is given.
PER_BASE = 1e-8


@dataclass(frozen=True)
class CopyingModel:
    """How copies go over from one haplotype to another.

    Attributes
    ----------
    effective_size : float > 0, N_e: between variants d Morgans apart a copy goes over at the rate 4 N_e d / K
        where its population has K haplotypes.
    mutation : float in [0, 1), chance of another allele at a variant; None is that of Li and Stephens,
        theta / (2 (theta + K)) with theta = 1 / (1 + 1/2 + ... + 1/(K - 1)).
    """

    effective_size: float = 10_000
    mutation: float | None = None

    def __post_init__(self):
        if not self.effective_size > 0:
            raise UsageError(f"`effective_size` must be above 0, got {self.effective_size}. Try 10000.")
        if self.mutation is not None and not 0 <= self.mutation < 1:
            raise UsageError(f"`mutation` must be in [0, 1), got {self.mutation}. Try 1e-5, or leave it out.")

    def flip_rate(self, n_haplotypes):
        """Return the chance of another allele."""
        if self.mutation is not None:
            return self.mutation
        theta = 1 / max(1.0, (1 / np.arange(1, n_haplotypes)).sum())
        return theta / (2 * (theta + n_haplotypes))


@dataclass(frozen=True)
class Population:
    """Haplotypes that the copies of one population follow, and which copies these are.

    Attributes
    ----------
    members : (K,) uint64, of the source.
    copies : slice of the copies.
    """

    members: np.ndarray
    copies: slice


def resample_store(
    source, output, *, people, seed, populations=None, genetic_map=None, model=None, n_threads=2, tell=None
):
    """Write a store of copies, and say of which populations they are.

    Parameters
    ----------
    source : path of a store of phased haplotypes.
    output : path of the new store; none is left behind on an error.
    people : int >= 1, how many; populations have the same shares as in the source.
    seed : int, public. Same arguments, same bytes.
    populations : path of a table of the source's samples; None takes them for one population.
    genetic_map : path of a genetic map, as of `read_map`; None is 1 cM a megabase.
    model : CopyingModel
    n_threads : int; they change no byte.
    tell : function that is called with the number of variants after each batch.

    Returns
    -------
    data frame of sample and population.

    Raises
    ------
    UsageError
        With fewer people than populations, or arguments out of range.
    DpgrsError
        If the source has dosages, or a file is not what it should be.
    """
    store, model = HaplotypeStore.open(source), model or CopyingModel()
    if store.has_dosages:
        raise DpgrsError(
            f"`{source}` must hold phased haplotypes, got dosages of people. Ingest its calls, `field: GT`."
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
            made = mosaic.copy(np.stack(planes), first, n_threads=n_threads)
            writer.append(store.variants.iloc[rows], *made)
            if tell is not None:
                tell(rows.stop - rows.start)
        terms = {"seed": seed, "people": people, **asdict(model)}
        terms["map"] = None if genetic_map is None else file_digest(genetic_map)
        writer.attributes.update(derived_attributes(store, "resampled", terms))
    return table


def mosaic_start(stream, groups):
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
    """Copies along a chromosome.

    Attributes
    ----------
    stream : tuple, a public seed and the key of what is drawn by it.
    groups : list of Population, by their copies.
    rates : (n_variants,) float64, the rate of going over before a variant, times the number of haplotypes.
    flip_rate : float, chance of another allele.
    copied : (n_copies,) uint64, which haplotype each follows, up to the variants that were copied.
    """

    stream: tuple
    groups: list
    rates: np.ndarray
    flip_rate: float
    copied: np.ndarray

    def copy(self, planes, start, *, n_threads):
        """Copy the next variants.

        Parameters
        ----------
        planes : (n_planes, n_variants, n_words) uint64, bits of the source and perhaps of what is missing.
        start : int, the number of the first, a multiple of `VARIANTS`.
        n_threads : int

        Returns
        -------
        (n_planes, n_variants, n_words of the copies) uint64
        """
        n_copies = len(self.copied)
        made = np.zeros((*planes.shape[:2], word_count(n_copies)), dtype=np.uint64)

        def fill(block):
            words = slice(block.start // WORD_BITS, word_count(block.stop))
            for at in range(0, planes.shape[1], VARIANTS):
                part = slice(at, at + VARIANTS)
                draws = generator(*self.stream, block.start, start + at)
                switches = self._switches(draws, block, self.rates[start:][: planes.shape[1]][part])
                own = made[:, part, words]
                copy_variants(planes[:, part], self.copied[block], *switches, own)
                self._flip(draws, own, block)

        blocks = [slice(at, min(at + HAPLOTYPES, n_copies)) for at in range(0, n_copies, HAPLOTYPES)]
        map_in_threads(fill, blocks, n_threads=n_threads)
        return made

    def _switches(self, draws, block, rates):
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

    def _flip(self, draws, made, block):
        """Give some copies the other allele, where it is known."""
        n_copies = block.stop - block.start
        counts = draws.poisson(n_copies * self.flip_rate, made.shape[1])
        variant = np.repeat(np.arange(made.shape[1]), counts)
        word, bit = np.divmod(draws.integers(n_copies, size=counts.sum()), WORD_BITS)
        np.bitwise_xor.at(made[0], (variant, word), np.uint64(1) << bit.astype(np.uint64))
        for missing in made[1:]:
            made[0] &= ~missing


def population_groups(store, people, populations, *, prefix):
    """Share new people among the populations of a store.

    Parameters
    ----------
    store : HaplotypeStore
    people : int >= 1, how many.
    populations : path of a table of the store's samples, or None for one population.
    prefix : str, how their names begin.

    Returns
    -------
    data frame of sample and population of the new people, and a list of Population.

    Raises
    ------
    UsageError
        With fewer people than populations.
    """
    labels = np.full(store.n_samples, ONE_POPULATION)
    if populations is not None:
        labels = np.asarray(populations_of(populations, store.sample_id), dtype=str)
    number, names = pd.factorize(labels)  # in the order in which they appear
    if people < len(names):
        raise UsageError(
            f"`people` must be at least {len(names)}, one of each population, got {people}. Give more."
        )
    # Shares are those of the source, each at least one person, the last ones rounded.
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


def _morgans(store, genetic_map):
    """Return where the variants of a store lie."""
    position = store.variants["position"].to_numpy(dtype=float)
    if genetic_map is None:
        return position * PER_BASE
    at, morgans = read_map(genetic_map)
    return np.interp(position, at, morgans)


def derived_attributes(store, how, terms):
    """Describe derived data: no file that its digests could be declared public by is their source.

    Parameters
    ----------
    store : HaplotypeStore, the source.
    how : str, what was done to it.
    terms : dict of JSON values, by what terms.

    Returns
    -------
    dict, attributes of the new store.
    """
    terms = terms | {"source": store.attributes["source"]}
    digest = hashlib.sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()
    named = {"file": f"{store.path.name}, {how}", "sha256": digest}
    own = {name: store.attributes[name] for name in ("options", "counts") if name in store.attributes}
    return own | {"source": named, "derived": terms}
