"""Genotypes of a store in slabs of people, each with all variants of a map: each genotype is read once."""

from collections.abc import Iterator

import numpy as np

from dpgrs.genotypes.bits import PEOPLE_OF_WORD
from dpgrs.genotypes.dosages import missing_people
from dpgrs.genotypes.slabs import GenotypeSlab
from dpgrs.io.haplotype_store import CHUNK_PEOPLE, HaplotypeStore

SLAB_BYTES = 3 * 2**28  # of a chunk of people at the variants of a long chromosome, at most
_FILLED_TOGETHER = 2**10  # variants whose missing dosages are filled together


def people_slabs(
    store: HaplotypeStore,
    rows: np.ndarray,  # (n_variants,) int64 in ascending order, of the store
    centre: np.ndarray,  # (n_variants,) int64 in units of `DOSAGE_STEP`, which missing dosages become
) -> Iterator[GenotypeSlab]:
    """Yield the genotypes of all people, in order, in slabs of at most `SLAB_BYTES`.

    A slab has the people of a chunk on disk if these fit, and else a part of them, so that chunks are read
    several times.
    """
    people_of_slab = CHUNK_PEOPLE
    while people_of_slab > PEOPLE_OF_WORD and _slab_bytes(store, len(rows), people_of_slab) > SLAB_BYTES:
        people_of_slab //= 2
    for first in range(0, store.n_samples, people_of_slab):
        yield _slab(store, rows, centre, slice(first, min(first + people_of_slab, store.n_samples)))


def _slab(store: HaplotypeStore, rows: np.ndarray, centre: np.ndarray, people: slice) -> GenotypeSlab:
    words = slice(people.start // PEOPLE_OF_WORD, -(-people.stop // PEOPLE_OF_WORD))
    n_people, missing = people.stop - people.start, store.missing(rows, words)
    if not store.has_dosages:
        is_complete = missing is None or not missing.any()
        return GenotypeSlab(store.haplotypes(rows, words), n_people, None if is_complete else missing)
    dosages = store.dosages(rows, people)
    if missing is not None:
        for start in range(0, len(rows), _FILLED_TOGETHER):
            block = slice(start, start + _FILLED_TOGETHER)
            is_missing = missing_people(missing[block], n_samples=n_people)
            np.copyto(dosages[block], centre[block, np.newaxis], where=is_missing, casting="unsafe")
    return GenotypeSlab(dosages, n_people)


def _slab_bytes(store: HaplotypeStore, n_variants: int, n_people: int) -> float:
    bytes_of_person = (2 if store.has_dosages else 0.25) + (0.25 if store.has_missing else 0)
    return n_variants * min(n_people, store.n_samples) * bytes_of_person
