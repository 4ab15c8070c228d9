"""Many people from few: a generator is trained on the haplotypes of a store, window by window.

A window is some variants that follow each other on a chromosome. Its generator gets random numbers, a
population, and alleles of the last common variants before: in training from the source, later from the made
haplotypes. Linkage across a seam is therefore learned as far back as these reach. An allele is 1 if its
generator gives more than a threshold of variant and population, which keeps the frequency of the source.

No stretch is copied, yet all is learned from people, without noise: the output is as private as the source.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator

from dpgrs.errors import DpgrsError, require_domains
from dpgrs.genotypes.bits import WORD_BITS, bit_counts, pack, unpack, word_count
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.store_writer import StoreWriter
from dpgrs.public_random import generator
from dpgrs.simulation.resampling import Population, derived_attributes, population_groups
from dpgrs.threads import map_in_threads
from dpgrs_papers.imitation.adversaries import N_LATENT, STRETCH, Layers, library, log_odds, train

# Haplotypes from one stream, a multiple of `WORD_BITS`: the number of cores changes nothing.
HAPLOTYPES = 2**13
# Variants whose rarer allele is at least so frequent are given to the next windows.
COMMON = 0.05
# The fewest outputs that set a threshold.
CALIBRATION = 2**14


@dataclass(frozen=True)
class ImitationModel:
    """Windows, and how long their generators are trained."""

    window: int = 256  # variants of a window
    overlap: int = 64  # common variants before a window that its generator is given
    steps: int = 2000  # of training, a multiple of `STRETCH`

    def __post_init__(self) -> None:
        require_domains(
            self,
            ("window", "at least 1", self.window >= 1),
            ("overlap", "at least 0", self.overlap >= 0),
            ("steps", f"a positive multiple of {STRETCH}", self.steps > 0 and self.steps % STRETCH == 0),
        )


def imitate_store(
    source: Path | str,
    output: Path | str,
    *,
    people: int,
    seed: int,
    populations: Path | str | None = None,
    model: ImitationModel | None = None,
    n_threads: int = 2,
    tell: Callable | None = None,
) -> pd.DataFrame:
    """Write a store of people that a generator made, and return the table of their populations.

    The source holds phased haplotypes, all of whose alleles are known. Populations, a path of a table of its
    samples, keep their shares; None takes one population. No file is left behind on an error. The same
    arguments, machine and versions of libraries give the same bytes, on any number of threads. `tell` is
    called with the number of variants after each window.
    """
    store, model = HaplotypeStore.open(source), model or ImitationModel()
    if store.has_dosages or store.has_missing:
        raise DpgrsError(
            "dosages-not-haplotypes",
            f"`{source}` must hold phased haplotypes without unknown alleles, got dosages or unknown ones. "
            "Leave such variants out, or use `dpgrs store resample`.",
        )
    table, groups = population_groups(store, people, populations, prefix="gan")
    windows = windows_of(store.variants["contig"], _common(store), model)
    library()
    imitation = Imitation((seed, "imitate"), store, groups, model)
    before = np.zeros((2 * people, 0), dtype=np.uint8)
    with StoreWriter.create(output, sample_id=table["sample"].to_numpy(dtype=str)) as writer:
        for first in range(0, len(windows), n_threads):
            together = windows[first : first + n_threads]
            for window, trained in zip(
                together, map_in_threads(imitation.train, together, n_threads=n_threads), strict=True
            ):
                packed = imitation.make(window, trained, before, n_threads=n_threads)
                writer.append(store.variants.iloc[window.rows], packed)
                common = unpack(packed[window.common - window.rows.start], 2 * people).T
                before = np.concatenate([window.condition_alleles(before), common], axis=1)
                if tell is not None:
                    tell(window.rows.stop - window.rows.start)
        origin = {"seed": seed, "people": people, **asdict(model), "versions": library().versions}
        writer.attributes.update(derived_attributes(store, "imitated", origin))
    return table


@dataclass(frozen=True)
class Window:
    """Variants that are made together."""

    contig: str
    rows: slice  # of the variants
    before: np.ndarray  # (n_given,) int, the last common variants before them on the contig
    common: np.ndarray  # (n_common,) int, its own common variants

    def condition_alleles(self, before: np.ndarray) -> np.ndarray:
        """Return the alleles of the condition, of those of all common variants before."""
        return before[:, before.shape[1] - len(self.before) :]


def windows_of(contigs: Sequence[str], is_common: np.ndarray, model: ImitationModel) -> list[Window]:
    """Cut variants into windows, none of which has variants of two contigs; each contig's stand together."""
    contigs, common = np.asarray(contigs, dtype=str), np.flatnonzero(is_common)
    edges = [0, *(np.flatnonzero(contigs[1:] != contigs[:-1]) + 1).tolist(), len(contigs)]
    windows = []
    for first, stop in pairwise(edges):
        for start in range(first, stop, model.window):
            end = min(start + model.window, stop)
            low, mid, high = np.searchsorted(common, [first, start, end])
            before = common[max(low, mid - model.overlap) : mid]
            windows.append(Window(str(contigs[first]), slice(start, end), before, common[mid:high]))
    return windows


@dataclass(frozen=True)
class Imitation:
    """Generators of a store's windows."""

    stream: tuple  # a public seed, and the key of its draws
    store: HaplotypeStore
    groups: list[Population]
    model: ImitationModel

    def train(self, window: Window) -> tuple[Layers, np.ndarray]:
        """Train a window's generator; return layers, and thresholds (n_populations, n_variants) float32."""
        draws = generator(*self.stream, window.contig, window.rows.start, "train")
        alleles = self._alleles(window.rows)
        padding = ((0, 0), (0, self.model.window - alleles.shape[1]))
        population = np.zeros(self.store.n_haplotypes, dtype=np.intp)
        for number, group in enumerate(self.groups):
            population[group.members.astype(np.intp)] = number
        conditions = self._conditions(self._alleles(window.before), population)
        # Windows are padded, so that one program fits all.
        layers = train(
            np.pad(alleles, padding).astype(np.float32), conditions, steps=self.model.steps, draws=draws
        )
        repeats = -(-CALIBRATION // len(alleles))
        odds = np.concatenate([self._log_odds(draws, layers, conditions) for _ in range(repeats)])
        odds, population_of_odds = odds[:, : alleles.shape[1]], np.tile(population, repeats)
        return layers, np.stack(
            [
                thresholds(odds[population_of_odds == number], alleles[population == number].mean(axis=0))
                for number in range(len(self.groups))
            ]
        )

    def make(
        self, window: Window, trained: tuple[Layers, np.ndarray], before: np.ndarray, *, n_threads: int
    ) -> np.ndarray:
        """Make a window of the new haplotypes, (n_variants, n_words) uint64, by its trained generator.

        Alleles before it are (n_new, n_common) uint8, of all common variants up to this window.
        """
        layers, least = trained
        n_new, before = len(before), window.condition_alleles(before)
        population = np.repeat(
            np.arange(len(self.groups)), [group.copies.stop - group.copies.start for group in self.groups]
        )
        packed = np.zeros((least.shape[1], word_count(n_new)), dtype=np.uint64)

        def fill(start: int) -> None:
            block = slice(start, min(start + HAPLOTYPES, n_new))
            draws = generator(*self.stream, window.contig, window.rows.start, start)
            populations = population[block]
            odds = self._log_odds(draws, layers, self._conditions(before[block], populations))
            words = slice(start // WORD_BITS, word_count(block.stop))
            packed[:, words] = pack((odds[:, : least.shape[1]] >= least[populations]).T)

        map_in_threads(fill, range(0, n_new, HAPLOTYPES), n_threads=n_threads)
        return packed

    def _alleles(self, rows: slice | np.ndarray) -> np.ndarray:
        return unpack(self.store.haplotypes(rows), self.store.n_haplotypes).T

    def _conditions(self, before: np.ndarray, population: np.ndarray) -> np.ndarray:
        """Return (n_haplotypes, overlap + n_populations) float32."""
        n_haplotypes, n_given = before.shape
        conditions = np.zeros((n_haplotypes, self.model.overlap + len(self.groups)), dtype=np.float32)
        conditions[:, self.model.overlap - n_given : self.model.overlap] = before
        conditions[np.arange(n_haplotypes), self.model.overlap + population] = 1
        return conditions

    def _log_odds(self, draws: Generator, layers: Layers, conditions: np.ndarray) -> np.ndarray:
        latent = draws.standard_normal((len(conditions), N_LATENT), dtype=np.float32)
        return log_odds(layers, latent, conditions)


def _common(store: HaplotypeStore) -> np.ndarray:
    """Return which variants are common: (n_variants,) bool."""
    allele_counts = np.concatenate([bit_counts(store.haplotypes(rows)) for rows in store.chunks()])
    frequency = allele_counts / store.n_haplotypes
    return np.minimum(frequency, 1 - frequency) >= COMMON


def thresholds(odds: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return the outputs from which on an allele is 1, so that frequencies are kept.

    They are (n_variants,) float32, infinite where no allele is to be 1; odds are (n_outputs, n_variants).

    Examples
    --------
    >>> thresholds(np.array([[3.0], [1.0], [2.0]]), np.array([2 / 3])).tolist()
    [2.0]
    """
    ordered = np.concatenate([np.sort(odds, axis=0), np.full((1, odds.shape[1]), np.inf, dtype=odds.dtype)])
    least = np.rint((1 - frequency) * len(odds)).astype(np.intp)
    # If everybody has an allele, so does a new person whose output is below all others.
    return np.where(frequency == 1, -np.inf, np.take_along_axis(ordered, least[None], axis=0)[0])
