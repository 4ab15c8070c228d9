"""Many people from few: haplotypes by a generator that is trained on those of a store, window by window.

A window is some variants that follow each other on a chromosome. Its generator is given random numbers, a
population, and alleles of the last common variants before: in training those of the source, later those that
were made. So linkage across a seam is learned as far back as these reach. An allele is 1 where its generator
gives more than a threshold of variant and population, by which the frequency of the source is kept.

No stretch is copied, yet all is learned from people, without noise: what is made is as private as the source.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from dpgrs.errors import DpgrsError, require_domains
from dpgrs.genotypes.bits import WORD_BITS, bit_counts, pack, unpack, word_count
from dpgrs.io.haplotype_store import HaplotypeStore, StoreWriter
from dpgrs.public_random import generator
from dpgrs.simulation.resampling import derived_attributes, population_groups
from dpgrs.threads import map_in_threads
from dpgrs_papers.imitation.adversaries import N_LATENT, STRETCH, library, log_odds, train

# Of what is made from one stream, a multiple of `WORD_BITS`: number of cores changes nothing.
HAPLOTYPES = 2**13
# Variants whose rarer allele is at least so frequent are given to the next windows.
COMMON = 0.05
# Outputs by which thresholds are set, at least.
CALIBRATION = 2**14


@dataclass(frozen=True)
class ImitationModel:
    """Windows, and how long their generators are trained.

    Attributes
    ----------
    window : int >= 1, variants of a window.
    overlap : int >= 0, common variants before a window that its generator is given.
    steps : int, a positive multiple of 100, of training.
    """

    window: int = 256
    overlap: int = 64
    steps: int = 2000

    def __post_init__(self):
        require_domains(
            self,
            ("window", "at least 1", self.window >= 1),
            ("overlap", "at least 0", self.overlap >= 0),
            ("steps", f"a positive multiple of {STRETCH}", self.steps > 0 and self.steps % STRETCH == 0),
        )


def imitate_store(source, output, *, people, seed, populations=None, model=None, n_threads=2, tell=None):
    """Write a store of people that a generator made, and say of which populations they are.

    Parameters
    ----------
    source : path of a store of phased haplotypes, all of whose alleles are known.
    output : path of the new store; none is left behind on an error.
    people : int >= 1, how many; populations have the same shares as in the source.
    seed : int, public. Same arguments, machine and versions of libraries, same bytes.
    populations : path of a table of the source's samples; None takes them for one population.
    model : ImitationModel
    n_threads : int; they change no byte.
    tell : function that is called with the number of variants after each window.

    Returns
    -------
    data frame of sample and population.

    Raises
    ------
    UsageError
        With fewer people than populations, or arguments out of range.
    DpgrsError
        If the source has dosages or unknown alleles, a file is not what it should be, or the libraries of the
        extra `gan` are not installed.
    """
    store, model = HaplotypeStore.open(source), model or ImitationModel()
    if store.has_dosages or store.missing(slice(0, 0)) is not None:
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
                made = imitation.make(window, trained, before, n_threads=n_threads)
                writer.append(store.variants.iloc[window.rows], made)
                common = unpack(made[window.common - window.rows.start], 2 * people).T
                before = np.concatenate([window.given(before), common], axis=1)
                if tell is not None:
                    tell(window.rows.stop - window.rows.start)
        terms = {"seed": seed, "people": people, **asdict(model), "versions": library().versions}
        writer.attributes.update(derived_attributes(store, "imitated", terms))
    return table


@dataclass(frozen=True)
class Window:
    """Variants that are made together.

    Attributes
    ----------
    contig : str
    rows : slice of the variants.
    before : (n_given,) int, common variants before them on the same contig, the last ones.
    common : (n_common,) int, those of its own.
    """

    contig: str
    rows: slice
    before: np.ndarray
    common: np.ndarray

    def given(self, before):
        """Return of the alleles of all common variants so far those that are given: (n_new, n_given)."""
        return before[:, before.shape[1] - len(self.before) :]


def windows_of(contigs, is_common, model):
    """Cut variants into windows, none of which has variants of two contigs.

    Parameters
    ----------
    contigs : (n_variants,) of str, each contig's together.
    is_common : (n_variants,) bool, which ones later windows may be given.
    model : ImitationModel

    Returns
    -------
    list of Window
    """
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
    """Generators of a store's windows.

    Attributes
    ----------
    stream : tuple, a public seed and the key of what is drawn by it.
    store : HaplotypeStore
    groups : list of Population
    model : ImitationModel
    """

    stream: tuple
    store: HaplotypeStore
    groups: list
    model: ImitationModel

    def train(self, window):
        """Train a window's generator.

        Returns
        -------
        layers of the generator, and thresholds (n_populations, n_variants) float32.
        """
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

    def make(self, window, trained, before, *, n_threads):
        """Make a window of the new haplotypes.

        Parameters
        ----------
        window : Window
        trained : what `train` returned.
        before : (n_new, at least n_given) uint8, alleles of common variants that were made before it.
        n_threads : int

        Returns
        -------
        (n_variants, n_words) uint64
        """
        layers, least = trained
        n_new, before = len(before), window.given(before)
        population = np.repeat(
            np.arange(len(self.groups)), [group.copies.stop - group.copies.start for group in self.groups]
        )
        made = np.zeros((least.shape[1], word_count(n_new)), dtype=np.uint64)

        def fill(start):
            block = slice(start, min(start + HAPLOTYPES, n_new))
            draws = generator(*self.stream, window.contig, window.rows.start, start)
            own = population[block]
            odds = self._log_odds(draws, layers, self._conditions(before[block], own))
            words = slice(start // WORD_BITS, word_count(block.stop))
            made[:, words] = pack((odds[:, : least.shape[1]] >= least[own]).T)

        map_in_threads(fill, range(0, n_new, HAPLOTYPES), n_threads=n_threads)
        return made

    def _alleles(self, rows):
        return unpack(self.store.haplotypes(rows), self.store.n_haplotypes).T

    def _conditions(self, before, population):
        """Return (n_haplotypes, overlap + n_populations) float32."""
        n_haplotypes, n_given = before.shape
        conditions = np.zeros((n_haplotypes, self.model.overlap + len(self.groups)), dtype=np.float32)
        conditions[:, self.model.overlap - n_given : self.model.overlap] = before
        conditions[np.arange(n_haplotypes), self.model.overlap + population] = 1
        return conditions

    def _log_odds(self, draws, layers, conditions):
        latent = draws.standard_normal((len(conditions), N_LATENT), dtype=np.float32)
        return log_odds(layers, latent, conditions)


def _common(store):
    """Return which variants are common: (n_variants,) bool."""
    ones = np.concatenate([bit_counts(store.haplotypes(rows)) for rows in store.chunks()])
    frequency = ones / store.n_haplotypes
    return np.minimum(frequency, 1 - frequency) >= COMMON


def thresholds(odds, frequency):
    """Return the outputs from which on an allele is 1, so that frequencies are kept.

    Parameters
    ----------
    odds : (n_outputs, n_variants) float32
    frequency : (n_variants,) in [0, 1].

    Returns
    -------
    (n_variants,) float32, infinite where no allele is to be 1.

    Examples
    --------
    >>> thresholds(np.array([[3.0], [1.0], [2.0]]), np.array([2 / 3])).tolist()
    [2.0]
    """
    ordered = np.concatenate([np.sort(odds, axis=0), np.full((1, odds.shape[1]), np.inf, dtype=odds.dtype)])
    least = np.rint((1 - frequency) * len(odds)).astype(np.intp)
    # Whoever is beyond all outputs that were seen has the allele, too, where everybody has it.
    return np.where(frequency == 1, -np.inf, np.take_along_axis(ordered, least[None], axis=0)[0])
