"""Slabs of people of a store: all of them once, whatever their size, and sums over them."""

import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from zarr.storage import LocalStore

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import hard_calls
from dpgrs.io import haplotype_store
from dpgrs.io import people_slabs as slabs_of_store
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.people_slabs import people_slabs
from dpgrs.io.store_writer import StoreWriter
from dpgrs.linalg.genome_sums import chromosome_sums
from dpgrs.linalg.outcome_grid import grid_outcomes
from genome_maps import random_chromosome

N_PEOPLE, N_STORED = 150, 20
ROWS = np.array([1, 4, 5, 6, 9, 12, 19])


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def write(path, rng, *, has_dosages=False, missing=0.1):
    names = [f"p{i}" for i in range(N_PEOPLE)]
    table = pd.DataFrame(
        {"contig": "1", "position": np.arange(1, N_STORED + 1), "id": ".", "ref": "A", "alt": "C"}
    )
    steps = rng.integers(0, 8193, (N_STORED, N_PEOPLE)).astype(np.uint16)
    is_missing = rng.random(steps.shape) < missing
    planes = (
        pack(hard_calls(steps) * ~np.repeat(is_missing, 2, axis=1)),
        pack(np.repeat(is_missing, 2, axis=1)),
    )
    with StoreWriter.create(path, sample_id=names, has_dosages=has_dosages) as writer:
        writer.append(
            table, *planes, np.where(is_missing, 0, steps).astype(np.uint16) if has_dosages else None
        )
        writer.attributes.update(source={}, fill="none")
    return HaplotypeStore.open(path), steps, is_missing


@pytest.mark.parametrize(
    ("has_dosages", "missing", "bytes_of_person"),
    [(False, 0, 0.25), (False, 0.1, 0.5), (True, 0, 2), (True, 0.1, 2.25)],
)
def test_slabs__are_as_large_as_their_bytes_allow(
    tmp_path, rng, monkeypatch, has_dosages, missing, bytes_of_person
):
    """Also of a store with fewer people than a chunk."""
    store, steps, _ = write(tmp_path / "a.zarr", rng, has_dosages=has_dosages, missing=missing)
    centre = np.zeros(7, dtype=np.int64)
    monkeypatch.setattr(slabs_of_store, "CHUNK_PEOPLE", 256)
    sizes = {N_PEOPLE: [N_PEOPLE], 128: [128, 22], 64: [64, 64, 22], 32: [32] * 4 + [22]}
    for n_people, smaller in pairwise(sizes):
        for too_few, expected in ((0, n_people), (1, smaller)):
            n_bytes = 7 * n_people * bytes_of_person - too_few
            monkeypatch.setattr(slabs_of_store, "SLAB_BYTES", n_bytes)
            slabs = list(people_slabs(store, ROWS, centre))
            assert [slab.n_people for slab in slabs] == sizes[expected]
            if has_dosages and not missing:
                dosages = np.concatenate([slab.genotypes for slab in slabs], axis=1)
                np.testing.assert_array_equal(dosages, steps[ROWS])


@pytest.mark.parametrize("has_dosages", [False, True])
def test_slabs__are_in_memory_one_at_a_time(tmp_path, rng, monkeypatch, has_dosages):
    """Nothing of a slab is left when the next one is read, if its reader lets it go."""
    monkeypatch.setattr(slabs_of_store, "CHUNK_PEOPLE", 64)
    store, _, _ = write(tmp_path / "a.zarr", rng, has_dosages=has_dosages)
    arrays, read = [], store._read

    def noted(name, *selection):
        if name == "missing":
            assert not any(array() is not None for array in arrays)
        array = read(name, *selection)
        arrays.append(weakref.ref(array))
        return array

    monkeypatch.setattr(store, "_read", noted)
    for slab in people_slabs(store, ROWS, np.zeros(7, dtype=np.int64)):
        del slab
    assert len(arrays) == 6


@pytest.mark.parametrize("n_bytes", [10**9, 7 * 64 // 2, 1])
def test_slabs__of_calls_are_those_of_the_store(tmp_path, rng, n_bytes, monkeypatch):
    monkeypatch.setattr(slabs_of_store, "CHUNK_PEOPLE", 128)
    monkeypatch.setattr(slabs_of_store, "SLAB_BYTES", n_bytes)
    store, _, _ = write(tmp_path / "a.zarr", rng)
    slabs = list(people_slabs(store, ROWS, np.zeros(7, dtype=np.int64)))
    genotypes = np.concatenate([slab.genotypes for slab in slabs], axis=1)
    np.testing.assert_array_equal(genotypes, store.haplotypes(ROWS))
    missing = np.concatenate([slab.missing for slab in slabs], axis=1)
    np.testing.assert_array_equal(missing, store.missing(ROWS))


@pytest.mark.parametrize("n_bytes", [10**9, 7 * 64 * 9 // 4, 1])
def test_slabs__of_dosages_have_centres_where_these_are_missing(tmp_path, rng, n_bytes, monkeypatch):
    monkeypatch.setattr(slabs_of_store, "CHUNK_PEOPLE", 128)
    monkeypatch.setattr(slabs_of_store, "SLAB_BYTES", n_bytes)
    monkeypatch.setattr(slabs_of_store, "_FILLED_TOGETHER", 3)
    store, steps, is_missing = write(tmp_path / "a.zarr", rng, has_dosages=True)
    centre = rng.integers(0, 8193, 7)
    slabs = list(people_slabs(store, ROWS, centre))
    dosages = np.concatenate([slab.genotypes for slab in slabs], axis=1)
    expected = np.where(is_missing[ROWS], centre[:, np.newaxis], steps[ROWS])
    np.testing.assert_array_equal(dosages, expected)
    assert all(slab.missing is None for slab in slabs)


def test_slabs__without_missing_alleles_have_no_plane_of_them(tmp_path, rng):
    store, _, _ = write(tmp_path / "a.zarr", rng, missing=0)
    assert [slab.missing for slab in people_slabs(store, ROWS, np.zeros(7, dtype=np.int64))] == [None]
    # Nor have people of whom other people's are missing.
    store, _, is_missing = write(tmp_path / "b.zarr", rng, missing=1 / 300)
    first = np.flatnonzero(is_missing.any(axis=1))[:1]
    assert next(people_slabs(store, first, np.zeros(1, dtype=np.int64))).missing is not None


@pytest.mark.parametrize("has_dosages", [False, True])
def test_slabs__read_each_chunk_once(tmp_path, rng, monkeypatch, has_dosages):
    for name, n in {"CHUNK_PEOPLE": 32, "FILE_PEOPLE": 64, "FILE_WORDS": 2}.items():
        monkeypatch.setattr(haplotype_store, name, n)
    monkeypatch.setattr("dpgrs.io.store_writer._DOSAGE_PEOPLE", 32)
    store, _, _ = write(tmp_path / "a.zarr", rng, has_dosages=has_dosages)
    planes = ["missing", "dosages" if has_dosages else "haplotypes"]
    assert [store.attributes["n_chunks"][name] for name in planes] == [3, 3]
    folders = [tmp_path / "a.zarr" / name / "c" for name in planes]
    n_stored = sum(file.stat().st_size for folder in folders for file in folder.rglob("*/*"))
    n_read, get = 0, LocalStore.get

    async def counted_get(self, key, **options):
        nonlocal n_read
        content = await get(self, key, **options)
        n_read += len(content) if "c/" in key else 0
        return content

    monkeypatch.setattr(LocalStore, "get", counted_get)
    monkeypatch.setattr(slabs_of_store, "CHUNK_PEOPLE", 32)
    slabs = list(people_slabs(store, np.arange(N_STORED), np.zeros(N_STORED, dtype=np.int64)))
    assert [slab.n_people for slab in slabs] == [32] * 4 + [22]
    # The index of two chunks, 36 bytes, is read with each.
    assert n_stored <= n_read <= n_stored + 2 * 5 * 36
    genotypes = np.concatenate([slab.genotypes for slab in slabs], axis=1)
    np.testing.assert_array_equal(genotypes, store.dosages() if has_dosages else store.haplotypes())


def test_slabs__sums_over_them_do_not_depend_on_their_size(tmp_path, rng, monkeypatch):
    store, _, _ = write(tmp_path / "a.zarr", rng)
    chromosome = random_chromosome(rng, sizes=(4, 3))
    axes = rng.integers(-9000, 9000, (2, N_PEOPLE))
    Y = grid_outcomes(rng.standard_normal((2, N_PEOPLE)), bound=3.0, row_norm=1.0)
    options = {"axes": axes, "outcome_norm": 1.0, "n_shared": 2, "made_with": ""}
    expected = chromosome_sums(people_slabs(store, ROWS, chromosome.centre), chromosome, Y, **options)
    monkeypatch.setattr(slabs_of_store, "SLAB_BYTES", 1)
    sums = chromosome_sums(people_slabs(store, ROWS, chromosome.centre), chromosome, Y, **options)
    np.testing.assert_equal(vars(sums), vars(expected))
