"""What writes a haplotype store: variants are appended, and a finished store takes its name at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io import haplotype_store as layout
from dpgrs.io.chunk_writer import ChunkWriter, ShardWriter, codecs_of, write_only_chunk
from dpgrs.io.files import replacing
from dpgrs.io.haplotype_store import KIND, rows_per_chunk
from dpgrs.io.sealed_zarr import (
    checked,
    create_sharded,
    seal,
)

_BITS_CODEC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0}
_DOSAGES_CODEC = {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2}
_SITES_CODEC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
_DOSAGE_PEOPLE = 2**12  # of a chunk of dosages, which are eight times as large
_SHARD_ROWS, _SHARDED_VERSION = 2**10, 3
_CALL_ROWS = 2**8  # of a file of many people's calls, about


class StoreWriter:
    """Appends variants to a new store; made by `StoreWriter.create`."""

    def __init__(self, path: Path, *, sample_id: Sequence[str] | np.ndarray, has_dosages: bool) -> None:
        self._path = path
        self._sample_id = np.asarray(sample_id, dtype=object)
        self._has_dosages = has_dosages
        self._group: Any = None  # a zarr.Group, from the first variants on
        self._chunk = rows_per_chunk(len(sample_id), has_dosages=has_dosages)
        self._n_samples, self._n_words = len(sample_id), word_count(2 * len(sample_id))
        self._contigs = {}
        # Chunks of a shard that follow each other; a shard is a file.
        n_of_file = _SHARD_ROWS // self._chunk if has_dosages else round(_CALL_ROWS / self._chunk)
        self._n_of_shard = max(n_of_file, 1)
        self._is_sharded = self._n_of_shard > 1 or len(sample_id) > layout.CHUNK_PEOPLE
        self._planes: dict[str, tuple[Any, ChunkWriter]] = {}  # arrays by name
        self._sites: list[dict[str, np.ndarray]] = []  # of the last variants, which are not yet written
        self._n_waiting = 0  # of these
        self.attributes: dict[str, Any] = {}  # JSON values, written at the end
        self.n_variants = 0  # written so far

    @classmethod
    @contextmanager
    def create(
        cls, path: Path | str, *, sample_id: Sequence[str] | np.ndarray, has_dosages: bool = False
    ) -> Iterator[Self]:
        """Give a writer whose store takes the name `path` if the block succeeds, and vanishes if it fails.

        The folder must be new or empty. With `has_dosages`, dosages come with every batch.
        """
        with replacing(path) as temporary:
            writer = cls(temporary, sample_id=sample_id, has_dosages=has_dosages)
            yield writer
            writer._finish()

    def append(
        self,
        variants: Any,
        haplotypes: np.ndarray,
        missing: np.ndarray | None = None,
        dosages: np.ndarray | None = None,
    ) -> None:
        """Append variants: a data frame or a dict of columns (contig, position, id, ref, alt), and planes.

        Planes are (n_variants, n_words) uint64; `missing` is None if all alleles are known. Dosages,
        (n_variants, n_samples) uint16, are needed in a store that has them.
        """
        n_variants = len(variants["contig"])
        assert haplotypes.shape == (n_variants, self._n_words)
        assert (dosages is not None) == self._has_dosages
        for name in dict.fromkeys(variants["contig"]):
            self._contigs.setdefault(name, len(self._contigs))
        numbers = [self._contigs[name] for name in variants["contig"]]
        self._begin()
        self._planes["haplotypes"][1].append(haplotypes)
        if dosages is not None:
            self._planes["dosages"][1].append(dosages)
        self._append_missing(missing, n_variants)
        alleles = [np.asarray(variants[name], dtype=object) for name in ("ref", "alt")]
        self._sites.append(
            {
                "variant_contig": np.array(numbers, dtype=np.int32),
                "variant_position": np.asarray(variants["position"], dtype=np.int32),
                "variant_id": np.asarray(variants["id"], dtype=object),
                "variant_allele": np.column_stack(alleles),
            }
        )
        self._n_waiting += n_variants
        self.n_variants += n_variants
        if self._n_waiting >= layout.CHUNK_VARIANTS and self.n_variants % self._chunk_of_sites == 0:
            self._write_sites()

    def add_variant_array(self, name: str, values: np.ndarray) -> None:
        """Add an array with one number per variant."""
        assert len(values) == self.n_variants
        self._begin()
        self._put(name, values, ["variants"])

    def _begin(self) -> None:
        """Make the group with the first variants: while zarr is imported for it, the next ones are read."""
        if self._group is not None:
            return
        import zarr

        self._group = zarr.create_group(self._path, zarr_format=2)
        self._chunk_of_sites = max(layout.CHUNKS_PER_BATCH, self._n_of_shard) * self._chunk
        self._put("sample_id", self._sample_id, ["samples"])
        self._create_plane("haplotypes")
        if self._has_dosages:
            self._create_dosages()
        self._create("variant_contig", "int32", ["variants"])
        self._create("variant_position", "int32", ["variants"])
        self._create("variant_id", "str", ["variants"])
        self._create("variant_allele", "str", ["variants", "alleles"], [2])

    def _append_missing(self, missing: np.ndarray | None, n_variants: int) -> None:
        """Append rows of the missing plane, which begins with the first missing allele."""
        if missing is None:
            missing = np.broadcast_to(np.uint64(0), (n_variants, self._n_words))
        elif "missing" not in self._planes and missing.any():
            self._create_plane("missing")
        if "missing" in self._planes:
            self._planes["missing"][1].append(missing)

    def _write_sites(self) -> None:
        """Write the columns of variants that are not yet written, some chunks together."""
        for name in self._sites[0]:
            self._group[name].append(np.concatenate([sites[name] for sites in self._sites]))
        self._sites, self._n_waiting = [], 0

    def _create_plane(self, name: str) -> None:
        """Create an array of bits. LZ4 without shuffling packs them fast, and better than with."""
        array_options = {"dtype": "uint64", "attributes": {"_ARRAY_DIMENSIONS": ["variants", "words"]}}
        self._create_rows(
            name,
            self._n_words,
            (word_count(2 * layout.CHUNK_PEOPLE), layout.FILE_WORDS),
            _BITS_CODEC,
            array_options,
        )

    def _create_dosages(self) -> None:
        """Create the array of dosages. Most lie near 0, 1 or 2, so that sorted bits pack best."""
        attributes = {"_ARRAY_DIMENSIONS": ["variants", "samples"], "step": DOSAGE_STEP}
        array_options = {"dtype": "uint16", "attributes": attributes}
        self._create_rows(
            "dosages", self._n_samples, (_DOSAGE_PEOPLE, layout.FILE_PEOPLE), _DOSAGES_CODEC, array_options
        )

    def _create_rows(
        self,
        name: str,
        n_columns: int,
        most: tuple[int, int],  # columns of a chunk and of a file
        packing: dict[str, Any],
        array_options: dict[str, Any],
    ) -> None:
        """Create an array with a row for each variant."""
        n_chunk = min(n_columns, most[0])
        array_options |= {"shape": (0, n_columns), "chunks": (self._chunk, n_chunk)}
        first_row = self.n_variants
        if not self._is_sharded:
            array = self._group.create_array(name, **array_options, **checked(packing))
            writer = ChunkWriter(self._path / name, array, codecs=codecs_of(array), first_row=first_row)
        else:
            n_beside = min(most[1] // n_chunk, -(-n_columns // n_chunk))
            shards = self._n_of_shard * self._chunk, n_beside * n_chunk
            array, codecs = create_sharded(self._path / name, packing, shards=shards, **array_options)
            writer = ShardWriter(self._path / name, array, codecs=codecs, first_row=first_row)
        self._planes[name] = array, writer

    def _create(self, name: str, dtype: str, dimensions: list[str], trailing: Sequence[int] = ()) -> None:
        self._group.create_array(
            name,
            shape=(0, *trailing),
            chunks=(self._chunk_of_sites, *trailing),
            dtype=dtype,
            **checked(_SITES_CODEC, is_text=dtype == "str"),
            attributes={"_ARRAY_DIMENSIONS": dimensions},
        )

    def _put(self, name: str, values: np.ndarray, dimensions: list[str]) -> None:
        dtype = "str" if values.dtype.kind in "UO" else values.dtype
        array = self._group.create_array(
            name,
            shape=values.shape,
            chunks=(max(1, len(values)),),
            dtype=dtype,
            **checked(_SITES_CODEC, is_text=dtype == "str"),
            attributes={"_ARRAY_DIMENSIONS": dimensions},
        )
        write_only_chunk(self._path / name, array, values.astype(object) if dtype == "str" else values)

    def _finish(self) -> None:
        self._begin()
        for array, writer in self._planes.values():
            writer.finish()
            array.resize((self.n_variants, array.shape[1]))
        if self._sites:
            self._write_sites()
        self._put("contig_id", np.array(list(self._contigs), dtype=str), ["contigs"])
        kind = KIND._replace(version=_SHARDED_VERSION) if self._is_sharded else KIND
        seal(self._path, self._group, kind, self.attributes)
