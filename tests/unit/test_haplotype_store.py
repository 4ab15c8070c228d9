import hashlib

import numpy as np
import pandas as pd
import pytest
import zarr

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.io.haplotype_store import KIND, HaplotypeStore, rows_per_chunk
from dpgrs.io.sealed_zarr import fingerprint
from dpgrs.io.store_writer import StoreWriter
from flips import after_flips
from refused import refused

SAMPLES = np.array(["zoë", "b", "a-long-name"])


def variants(n_variants, *, contig="1"):
    """Return a table of variants with alleles of many lengths."""
    return pd.DataFrame(
        {
            "contig": contig,
            "position": np.arange(1, n_variants + 1) * 10,
            "id": [f"rs{i}" for i in range(n_variants)],
            "ref": ["A" * (1 + 100 * (i % 3)) for i in range(n_variants)],
            "alt": "C",
        }
    )


def random_bits(n_variants, seed):
    return pack(np.random.Generator(np.random.PCG64(seed)).integers(0, 2, (n_variants, 6)))


def write(path, *parts, **attributes):
    with StoreWriter.create(path, sample_id=SAMPLES) as writer:
        for part in parts:
            writer.append(*part)
        writer.attributes.update(attributes)
    return HaplotypeStore.open(path)


def digest(folder):
    """Return one digest over the names and bytes of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = b"".join(str(path.relative_to(folder)).encode() + path.read_bytes() for path in files)
    return hashlib.sha256(whole).hexdigest()


def test_store__round_trip(tmp_path):
    tables = variants(5), variants(4, contig="chr2")
    bits = random_bits(5, 1), random_bits(4, 2)
    store = write(
        tmp_path / "a.zarr", *zip(tables, bits, strict=True), source={"file": "x.vcf.gz"}, fill="none"
    )
    assert (store.n_variants, store.n_samples, store.n_haplotypes) == (9, 3, 6)
    assert store.sample_id.tolist() == SAMPLES.tolist()
    assert store.sample_id.dtype.kind == "U"
    pd.testing.assert_frame_equal(store.variants, pd.concat(tables, ignore_index=True))
    np.testing.assert_array_equal(store.haplotypes(), np.concatenate(bits))
    assert store.haplotypes().dtype == np.uint64
    assert store.missing() is None
    assert store.attributes["source"] == {"file": "x.vcf.gz"}
    assert store.attributes["format_version"] == KIND.version


@pytest.mark.parametrize(
    "selection", [slice(2, 6), slice(None, None, 3), np.array([7, 0, 3]), np.array([], dtype=int)]
)
def test_haplotypes__selection(tmp_path, selection):
    bits = random_bits(9, 1)
    store = write(tmp_path / "a.zarr", (variants(9), bits, bits & np.uint64(5)))
    np.testing.assert_array_equal(store.haplotypes(selection), bits[selection])
    np.testing.assert_array_equal(store.missing(selection), bits[selection] & np.uint64(5))


def test_missing__only_in_the_middle(tmp_path):
    empty, some = np.zeros((4, 1), dtype=np.uint64), np.array([[0], [3], [0], [32]], dtype=np.uint64)
    parts = [
        (variants(4), random_bits(4, seed), plane) for seed, plane in enumerate([empty, some, None, empty])
    ]
    store = write(tmp_path / "a.zarr", *parts)
    np.testing.assert_array_equal(store.missing(), np.concatenate([empty, some, empty, empty]))


def test_chunks__cover_all_variants(tmp_path, monkeypatch):
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    store = write(tmp_path / "a.zarr", (variants(10), random_bits(10, 3)))
    assert list(store.chunks()) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    whole = np.concatenate([store.haplotypes(chunk) for chunk in store.chunks()])
    np.testing.assert_array_equal(whole, store.haplotypes())


def test_append__any_batches_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("dpgrs.io.haplotype_store.CHUNK_VARIANTS", 4)
    table, bits = variants(11), random_bits(11, 4)
    folders = []
    for step in (1, 3, 4, 11):
        folders.append(tmp_path / f"{step}.zarr")
        parts = [slice(start, start + step) for start in range(0, 11, step)]
        write(folders[-1], *((table[part], bits[part], bits[part]) for part in parts))
    assert len({digest(folder) for folder in folders}) == 1


@pytest.mark.parametrize("n_samples", [1, 2504, 500_000, 100_000_000])
def test_rows_per_chunk__bounded(n_samples):
    rows = rows_per_chunk(n_samples)
    assert 1 <= rows <= 10_000
    # Some 65,000 people are in a chunk at most.
    assert rows == 1 or rows * min(n_samples, 2**16) / 4 <= 2**22
    assert rows == 1 or rows * n_samples / 4 <= 2**24
    with_dosages = rows_per_chunk(n_samples, has_dosages=True)
    assert 1 <= with_dosages <= rows
    assert with_dosages == 1 or with_dosages * n_samples * 2 <= 2**24


def test_create__failure_leaves_nothing(tmp_path):
    wrong = random_bits(2, 1)  # fewer rows than the table has
    with pytest.raises(AssertionError):
        write(tmp_path / "a.zarr", (variants(3), random_bits(3, 1)), (variants(3), wrong))
    assert list(tmp_path.iterdir()) == []


def test_create__raise_on_an_older_store(tmp_path):
    write(tmp_path / "a.zarr", (variants(3), random_bits(3, 1)))
    with refused("folder-not-empty", error=UsageError):
        write(tmp_path / "a.zarr", (variants(2), random_bits(2, 1)))
    assert HaplotypeStore.open(tmp_path / "a.zarr").n_variants == 3


def test_open__raise_on_absent(tmp_path):
    with refused("not-a-store"):
        HaplotypeStore.open(tmp_path / "a.zarr")


@pytest.mark.parametrize("name", [".zgroup", ".zattrs", "haplotypes/.zarray", "sample_id/.zarray"])
@pytest.mark.parametrize("is_there", [True, False])
def test_open__raise_on_records_that_are_damaged_or_missing(tmp_path, name, is_there):
    write(tmp_path / "a.zarr", (variants(3), random_bits(3, 1)))
    record = tmp_path / "a.zarr" / name
    if is_there:
        record.write_bytes(record.read_bytes()[:-9])
    else:
        record.unlink()
    with pytest.raises(DpgrsError, match=r"dpgrs ingest-chromosome$"):
        HaplotypeStore.open(tmp_path / "a.zarr")


def test_open__raise_on_other_group(tmp_path):
    zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    with refused("store-of-another-kind"):
        HaplotypeStore.open(tmp_path / "a.zarr")


def test_open__raise_on_unknown_version(tmp_path):
    write(tmp_path / "a.zarr", (variants(3), random_bits(3, 1)))
    zarr.open_group(tmp_path / "a.zarr", mode="r+", zarr_format=2).attrs["format_version"] = 99
    with refused("store-format-version", KIND.version, "got 99"):
        HaplotypeStore.open(tmp_path / "a.zarr")


def test_open__raise_on_a_lost_part_but_not_on_one_of_zeros(tmp_path):
    n = rows_per_chunk(3) + 1
    ones, nothing = np.ones((n - 1, 1), dtype=np.uint64), np.zeros((1, 1), dtype=np.uint64)
    write(tmp_path / "a.zarr", (variants(n), np.vstack([ones, nothing])))
    # Snakemake leaves a file of its own in the folders that it makes.
    (tmp_path / "a.zarr" / ".snakemake_timestamp").touch()
    assert HaplotypeStore.open(tmp_path / "a.zarr").haplotypes()[-1] == 0
    (tmp_path / "a.zarr" / "haplotypes" / "0.0").unlink()
    with refused("store-damaged"):
        HaplotypeStore.open(tmp_path / "a.zarr")


def shard(monkeypatch):
    """Give stores of dosages shards of two chunks of two variants of three people."""
    monkeypatch.setattr("dpgrs.io.haplotype_store._DOSAGE_BYTES", 12)
    monkeypatch.setattr("dpgrs.io.store_writer._SHARD_ROWS", 4)


def test_store__with_shards_says_the_same(tmp_path, monkeypatch):
    bits, steps = random_bits(9, 1), np.random.default_rng(1).integers(0, 2**13, (9, 3), dtype=np.uint16)
    missing = bits.copy()
    missing[:5] = 0
    stores = []
    for name in ("chunks", "shards", "in_parts"):
        with StoreWriter.create(tmp_path / name, sample_id=SAMPLES, has_dosages=True) as writer:
            for rows in (slice(3), slice(3, 9)) if name == "in_parts" else (slice(9),):
                writer.append(variants(9)[rows], bits[rows], missing[rows], steps[rows])
        stores.append(HaplotypeStore.open(tmp_path / name))
        shard(monkeypatch)
    versions = [store.attributes.pop("format_version") for store in stores]
    assert versions == [2, 3, 3]
    assert digest(tmp_path / "shards") == digest(tmp_path / "in_parts")
    assert stores[1].attributes["n_chunks"] | {"dosages": 3, "missing": 2} == stores[1].attributes["n_chunks"]
    for store in stores:
        store.attributes = {"n_chunks": dict.fromkeys(store.attributes["n_chunks"])}
    assert contents(stores[0]) == contents(stores[1])
    assert stores[1].dosages(np.array([1, 6]), slice(1, 3)).tolist() == steps[[1, 6], 1:].tolist()
    assert [chunk.stop for chunk in stores[1].chunks()] == [2, 4, 6, 8, 9]
    (tmp_path / "shards/dosages/c/1/0").unlink()
    with refused("store-damaged"):
        HaplotypeStore.open(tmp_path / "shards")


def test_fingerprint__of_shards(tmp_path, monkeypatch):
    shard(monkeypatch)
    for name, step in (("a", 1), ("b", 1), ("c", 2)):
        with StoreWriter.create(tmp_path / name, sample_id=SAMPLES, has_dosages=True) as writer:
            writer.append(variants(5), random_bits(5, 1), None, np.full((5, 3), step, dtype=np.uint16))
    first, same, other = (fingerprint(tmp_path / name) for name in "abc")
    assert first == same != other


def contents(store):
    """Return all that a store says, as one text."""
    planes = [store.haplotypes(), store.missing()] + [store.dosages()] * store.has_dosages
    return repr([store.sample_id.tolist(), store.variants.to_csv(), store.attributes]) + "".join(
        repr(None if plane is None else plane.tolist()) for plane in planes
    )


@pytest.mark.parametrize("is_sharded", [False, True])
def test_store__a_flipped_bit_anywhere_is_seen(tmp_path, monkeypatch, is_sharded):
    if is_sharded:
        shard(monkeypatch)
    path, bits = tmp_path / "a.zarr", random_bits(4, 1)
    with StoreWriter.create(path, sample_id=SAMPLES, has_dosages=True) as writer:
        writer.append(variants(4), bits, bits & np.uint64(5), np.ones((4, 3), dtype=np.uint16))
        writer.attributes.update(source={"file": "x.vcf.gz"}, options={"maf": 0.1})
    found = []
    for file in [file for file in path.rglob("*") if file.is_file()]:
        # Heads, sums at the end, and what lies between.
        found += after_flips(
            file, lambda: contents(HaplotypeStore.open(path)), places=lambda n: (0, n // 2, n - 6, n - 1)
        )
    assert len(found) > 80
    assert {type(one) for one in found} == {DpgrsError}
    assert not any("\n" in str(one) for one in found)
    part = path / "haplotypes" / ("c/0/0" if is_sharded else "0.0")
    for n_bytes in (part.stat().st_size - 1, 5, 0):
        part.write_bytes(part.read_bytes()[:n_bytes])
        with refused("store-damaged"):
            contents(HaplotypeStore.open(path))


@pytest.mark.parametrize(
    "rows",
    [[3, 4, 5], [0, 1, 3, 4, 9, 10, 40, 49], [0, 2, 20, 21, 22, 49], [0, 49], [7], [], [5, 2, 9], [4, 4, 5]],
)
def test_haplotypes__by_numbers_are_the_same_as_of_all(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("dpgrs.io.haplotype_store._ROWS_TOGETHER", 4)
    bits, rows = random_bits(50, 3), np.array(rows, dtype=np.int64)
    store = write(tmp_path / "a.zarr", (variants(50), bits))
    np.testing.assert_array_equal(store.haplotypes(rows), bits[rows])
    np.testing.assert_array_equal(store.haplotypes(rows, slice(0, 1)), bits[rows, :1])
    is_taken = np.isin(np.arange(50), rows)
    np.testing.assert_array_equal(store.haplotypes(is_taken), bits[is_taken])
