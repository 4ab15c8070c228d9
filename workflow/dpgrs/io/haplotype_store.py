"""The haplotype store: a Zarr group of bit-packed haplotypes, its arrays named as in VCF Zarr.

What is read is what was written, or an error: `dpgrs.io.sealed_zarr`.
"""

from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.files import replacing
from dpgrs.io.sealed_zarr import Kind, checked, open_sealed, read_sealed, seal

KIND = Kind("dpgrs haplotype store", 2, "haplotype store", "dpgrs ingest-chromosome")

_CHUNK_BYTES = 2**22
CHUNK_PEOPLE = 2**16  # who reads these reads little of others
_CHUNK_WORDS = word_count(2 * CHUNK_PEOPLE)
_DOSAGE_BYTES = 2**24  # of all people; two batches of them are in memory at a time
_CHUNK_VARIANTS = 10_000
_BITS_CODEC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0}
_DOSAGES_CODEC = {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2}
_SITES_CODEC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
_CHUNK_SAMPLES = 4096
_CHUNKS_PER_BATCH = 2  # a chunk of the site columns is small, and each is a file to write


def rows_per_chunk(n_samples, *, has_dosages=False):
    """Return how many variants of `n_samples` people make a chunk: about four mebibytes of bits, or less.

    Of dosages it is at most sixteen.
    """
    n_rows = _CHUNK_BYTES // (8 * min(word_count(2 * n_samples), _CHUNK_WORDS))
    if has_dosages:
        n_rows = min(n_rows, _DOSAGE_BYTES // (2 * n_samples))
    return int(np.clip(n_rows, 1, _CHUNK_VARIANTS))


def rows_per_batch(n_samples, *, has_dosages=False):
    """Return how many variants are best appended at a time: some chunks of bits, one of the site columns."""
    return _CHUNKS_PER_BATCH * rows_per_chunk(n_samples, has_dosages=has_dosages)


class HaplotypeStore:
    """Bit-packed haplotypes on disk, read in slices.

    Attributes
    ----------
    path : pathlib.Path
    attributes : dict, where the haplotypes came from and what was counted on the way.
    n_variants, n_samples, n_haplotypes : int
    sample_id : (n_samples,) str
    variants : data frame of n_variants rows: contig, position (1-based), id, ref, alt.
    """

    def __init__(self, path, group):
        self.path = path
        self._group = group
        self.attributes = dict(group.attrs)
        self.n_variants = group["haplotypes"].shape[0]
        self.n_samples = group["sample_id"].shape[0]
        self.n_haplotypes = 2 * self.n_samples

    @classmethod
    def open(cls, path):
        """Open a store for reading.

        Raises
        ------
        DpgrsError
            No store at `path`, a damaged one, or one of another format version.
        """
        group, _ = open_sealed(path, KIND)
        return cls(Path(path), group)

    def _read(self, name, selection=slice(None), columns=slice(None)):
        """Read rows, of a plane some columns; a `DpgrsError` where a chunk is not what was written."""
        array = self._group[name]
        selection = (selection, *[columns] * (array.ndim - 1))
        return read_sealed(array, selection, KIND.damaged(self.path))

    @cached_property
    def sample_id(self):
        return np.array(self._read("sample_id").tolist(), dtype=str)

    @cached_property
    def variants(self):
        import pandas as pd  # takes 0.2 s, which a writer does without

        contig = self._read("contig_id")[self._read("variant_contig")]
        ref, alt = self._read("variant_allele").T
        columns = {"contig": contig, "id": self._read("variant_id"), "ref": ref, "alt": alt}
        table = pd.DataFrame({name: pd.array(values, dtype="str") for name, values in columns.items()})
        table.insert(1, "position", self._read("variant_position").astype(np.int64))
        return table

    def haplotypes(self, selection=slice(None), words=slice(None)):
        """Return (n_selected, n_words) uint64; `selection` is a slice or an array of variant indices."""
        return self._read("haplotypes", selection, words)

    def missing(self, selection=slice(None)):
        """Return (n_selected, n_words) uint64, bit 1 where an allele is unknown; None where all are known."""
        if "missing" not in self._group:
            return None
        return self._read("missing", selection)

    @property
    def source_files(self):
        """The files that it was made from, a list of dicts of ``file``, a name, and ``sha256``."""
        source = self.attributes["source"]
        return source if isinstance(source, list) else [source]

    @property
    def has_dosages(self):
        """Whether the store holds dosages of people beside their nearest calls."""
        return "dosages" in self._group

    def dosages(self, selection=slice(None), people=slice(None)):
        """Return (n_selected, n_samples) uint16 in units of `DOSAGE_STEP`, 0 where missing."""
        return self._read("dosages", selection, people)

    def chunks(self):
        """Yield the slices of variants that lie together on disk."""
        step = self._group["haplotypes"].chunks[0]
        for start in range(0, self.n_variants, step):
            yield slice(start, min(start + step, self.n_variants))


class StoreWriter:
    """Appends variants to a new store; made by `StoreWriter.create`.

    Attributes
    ----------
    attributes : dict of JSON values, written at the end.
    n_variants : int, variants written so far.
    """

    def __init__(self, path, *, sample_id, has_dosages):
        self._path = path
        self._sample_id = np.asarray(sample_id, dtype=str)
        self._has_dosages = has_dosages
        self._group = None
        self._chunk = rows_per_chunk(len(sample_id), has_dosages=has_dosages)
        self._n_samples, self._n_words = len(sample_id), word_count(2 * len(sample_id))
        self._contigs = {}
        self.attributes = {}
        self.n_variants = 0

    @classmethod
    @contextmanager
    def create(cls, path, *, sample_id, has_dosages=False):
        """Give a writer whose store takes the name `path` if the block succeeds, and vanishes if it fails.

        Parameters
        ----------
        path : the store's folder; new, or empty.
        sample_id : (n_samples,) str
        has_dosages : bool, whether dosages come with every batch.
        """
        with replacing(path) as temporary:
            writer = cls(temporary, sample_id=sample_id, has_dosages=has_dosages)
            yield writer
            writer._finish()

    def append(self, variants, haplotypes, missing=None, dosages=None):
        """Append variants.

        Parameters
        ----------
        variants : data frame, or dict of n_variants values each: contig, position, id, ref, alt.
        haplotypes : (n_variants, n_words) uint64
        missing : (n_variants, n_words) uint64, or None where all alleles are known.
        dosages : (n_variants, n_samples) uint16 in a store that has them, otherwise None.
        """
        n_variants = len(variants["contig"])
        assert haplotypes.shape == (n_variants, self._n_words)
        assert (dosages is not None) == self._has_dosages
        for name in dict.fromkeys(variants["contig"]):
            self._contigs.setdefault(name, len(self._contigs))
        numbers = [self._contigs[name] for name in variants["contig"]]
        self._begin()
        self._group["haplotypes"].append(haplotypes)
        self._group["variant_contig"].append(np.array(numbers, dtype=np.int32))
        self._group["variant_position"].append(np.asarray(variants["position"], dtype=np.int32))
        self._group["variant_id"].append(np.asarray(variants["id"], dtype=object))
        alleles = [np.asarray(variants[name], dtype=object) for name in ("ref", "alt")]
        self._group["variant_allele"].append(np.column_stack(alleles))
        if dosages is not None:
            self._group["dosages"].append(dosages)
        if missing is not None and missing.any():
            self._write_missing(missing)
        self.n_variants += n_variants

    def add_variant_array(self, name, values):
        """Add an array with one number per variant."""
        assert len(values) == self.n_variants
        self._begin()
        self._put(name, values, ["variants"])

    def _begin(self):
        """Make the group with the first variants: while zarr is imported for it, the next ones are read."""
        if self._group is not None:
            return
        import zarr

        self._group = zarr.create_group(self._path, zarr_format=2)
        self._put("sample_id", self._sample_id, ["samples"])
        self._create_plane("haplotypes")
        if self._has_dosages:
            self._create_dosages()
        self._create("variant_contig", "int32", ["variants"])
        self._create("variant_position", "int32", ["variants"])
        self._create("variant_id", "str", ["variants"])
        self._create("variant_allele", "str", ["variants", "alleles"], [2])

    def _write_missing(self, missing):
        """Write a part of the missing plane; parts never written read as zero and take no room."""
        if "missing" not in self._group:
            self._create_plane("missing")
        end = self.n_variants + len(missing)
        self._group["missing"].resize((end, self._n_words))
        self._group["missing"][self.n_variants : end] = missing

    def _create_plane(self, name):
        """Create an array of bits. LZ4 without shuffling packs them fast, and better than with."""
        self._group.create_array(
            name,
            shape=(0, self._n_words),
            chunks=(self._chunk, min(self._n_words, _CHUNK_WORDS)),
            dtype="uint64",
            **checked(_BITS_CODEC),
            attributes={"_ARRAY_DIMENSIONS": ["variants", "words"]},
        )

    def _create_dosages(self):
        """Create the array of dosages. Most lie near 0, 1 or 2, so that sorted bits pack best."""
        self._group.create_array(
            "dosages",
            shape=(0, self._n_samples),
            chunks=(self._chunk, min(self._n_samples, _CHUNK_SAMPLES)),
            dtype="uint16",
            **checked(_DOSAGES_CODEC),
            attributes={"_ARRAY_DIMENSIONS": ["variants", "samples"], "step": DOSAGE_STEP},
        )

    def _create(self, name, dtype, dimensions, trailing=()):
        self._group.create_array(
            name,
            shape=(0, *trailing),
            chunks=(_CHUNKS_PER_BATCH * self._chunk, *trailing),
            dtype=dtype,
            **checked(_SITES_CODEC, is_text=dtype == "str"),
            attributes={"_ARRAY_DIMENSIONS": dimensions},
        )

    def _put(self, name, values, dimensions):
        dtype = "str" if values.dtype.kind == "U" else values.dtype
        array = self._group.create_array(
            name,
            shape=values.shape,
            chunks=(max(1, len(values)),),
            dtype=dtype,
            **checked(_SITES_CODEC, is_text=dtype == "str"),
            attributes={"_ARRAY_DIMENSIONS": dimensions},
        )
        array[:] = values.astype(object) if dtype == "str" else values

    def _finish(self):
        self._begin()
        if "missing" in self._group:
            self._group["missing"].resize((self.n_variants, self._n_words))
        self._put("contig_id", np.array(list(self._contigs), dtype=str), ["contigs"])
        seal(self._path, self._group, KIND, self.attributes)
