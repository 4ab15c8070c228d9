"""Zarr groups that are read as they were written, or not at all.

Every chunk on disk ends in its CRC-32C, which is checked before anything is unpacked, and the group's
attributes hold a digest of all metadata and the number of chunks of each array.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import files_below

_DIGEST = "digest"  # the attribute with the digest of all metadata
CHECKSUM = 4  # bytes at the end of a chunk
SHARDED = "zarr.json"  # the metadata of an array with shards, which only format 3 of zarr has


class Kind(NamedTuple):
    """The kind of a group."""

    format: str  # as in its attributes
    version: int  # of the format that is written
    name: str  # for messages, such as `haplotype store`
    verb: str  # the command that makes one
    versions: tuple[int, ...] = ()  # others that are read

    def damaged(self, path: Path | str) -> DpgrsError:
        """Return the error that parts of a group are not what was written."""
        return DpgrsError(
            "store-damaged",
            f"`{path}` must be a whole {self.name}, but parts are missing or damaged. Remove it, and make "
            f"it again: {self.verb}",
        )


def open_sealed(path: Path | str, kind: Kind) -> tuple[Any, dict[str, Any]]:
    """Open a group for reading, a zarr.Group, with its attributes.

    A folder without such a group, a damaged one, and one of another format version are refused.
    """
    import zarr

    path = Path(path)
    attributes = _read_attributes(path, kind)
    if attributes.get("format") != kind.format:
        raise DpgrsError(
            "store-of-another-kind", f"`{path}` is a Zarr group, but no {kind.name}. Make one: {kind.verb}"
        )
    version = attributes.get("format_version")
    if version not in (kind.version, *kind.versions):
        raise DpgrsError(
            "store-format-version",
            f"`{path}` must have format version {kind.version}, got {version}. Remove it, and make it again: "
            f"{kind.verb}",
        )
    # Before Zarr sees any of it.
    if attributes.get(_DIGEST) != _metadata_digest(path, attributes):
        raise kind.damaged(path)
    group = zarr.open_group(path, mode="r", zarr_format=2)
    # Zarr reads a part that is not there as zeros.
    if _count_chunks(path, group, attributes["n_chunks"]) != attributes["n_chunks"]:
        raise kind.damaged(path)
    return group, attributes


def read_sealed(array: Any, selection: Any, damaged: DpgrsError) -> np.ndarray:
    """Read a selection, as `get_orthogonal_selection` takes it, of a zarr.Array of a group that was opened.

    A chunk that is not what was written raises `damaged`.
    """
    try:
        return array.get_orthogonal_selection(selection)
    # What the codec raises at a wrong sum, and at a chunk too short to have one.
    except (RuntimeError, ValueError):
        raise damaged from None


def seal(path: Path, group: Any, kind: Kind, attributes: Mapping[str, Any]) -> None:
    """Write the attributes of a zarr.Group with all its arrays, with which it is whole."""
    names = sorted(entry.name for entry in path.iterdir() if _metadata_of(entry))
    n_chunks = _count_chunks(path, group, names)
    attributes = {"format": kind.format, "format_version": kind.version, "n_chunks": n_chunks, **attributes}
    # At once: each key by itself would be a file written anew.
    group.update_attributes(attributes | {_DIGEST: _metadata_digest(path, attributes)})


def fingerprint(path: Path | str) -> str:
    """Return a digest of a group as it lies on disk, in hexadecimal, by the checksums of its chunks."""
    combined, path = hashlib.sha256(), Path(path)
    for file_path in files_below(path):
        # Snakemake's own mark in a folder holds nothing.
        if file_path.name == ".snakemake_timestamp":
            continue
        size, is_chunk = (
            file_path.stat().st_size,
            (file_path.parent / ".zarray").exists() and file_path.name[0] != ".",
        )
        with file_path.open("rb") as file:
            if file_path.parents[1].name == "c" and (file_path.parents[2] / SHARDED).exists():
                combined.update(_checksums_of_shard(file, file_path.parents[2]))
                file.seek(0, os.SEEK_END)
            elif is_chunk:
                file.seek(-min(size, CHECKSUM), os.SEEK_END)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        combined.update(f"{file_path.relative_to(path)} {size} {digest}\n".encode())
    return combined.hexdigest()


def checked(packing: dict[str, Any] | None, *, is_text: bool = False) -> dict[str, Any]:
    """Return how chunks are written, as keywords: packed, if by anything, then with a checksum at the end."""
    import numcodecs

    filters = [] if packing is None else [numcodecs.get_codec(packing)]
    if is_text:
        filters = [numcodecs.VLenUTF8(), *filters]
    return {"filters": filters or None, "compressors": numcodecs.get_codec({"id": "crc32c"})}


def _read_attributes(path: Path, kind: Kind) -> dict[str, Any]:
    """Return the attributes of a group, {} if it has none."""
    try:
        attributes = json.loads((path / ".zattrs").read_bytes()) if (path / ".zgroup").is_file() else None
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise kind.damaged(path) from None
    if attributes is None:
        raise DpgrsError("not-a-store", f"`{path}` is no {kind.name}. Make it: {kind.verb}")
    if not isinstance(attributes, dict):
        raise kind.damaged(path)
    return attributes


def _metadata_digest(path: Path, attributes: Mapping[str, Any]) -> str | None:
    """Return a digest over attributes and all other metadata of a group; None if some is missing."""
    attributes = {name: value for name, value in attributes.items() if name != _DIGEST}
    combined = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    try:
        arrays = sorted(attributes["n_chunks"])
        names = [(array, _metadata_of(path / array) or [".zarray"]) for array in arrays]
        for name in (".zgroup", *(f"{array}/{file}" for array, files in names for file in files)):
            combined.update(hashlib.sha256((path / name).read_bytes()).digest())
    # Attributes that are damaged may name anything, or nothing.
    except (OSError, LookupError, TypeError, ValueError):
        return None
    return combined.hexdigest()


def create_sharded(
    folder: Path, packing: dict[str, Any], *, dtype: str, **options: Any
) -> tuple[Any, list[Any]]:
    """Create an array with shards; return it, and the codecs of numcodecs that pack its chunks."""
    import numcodecs
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    names = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
    blosc = BloscCodec(
        typesize=np.dtype(dtype).itemsize,
        cname=packing["cname"],
        clevel=packing["clevel"],
        shuffle=names[packing["shuffle"]],
    )
    packers = {"filters": None, "compressors": [blosc, Crc32cCodec()]}
    array = zarr.create_array(folder, dtype=dtype, zarr_format=3, **packers, **options)
    return array, [numcodecs.get_codec(packing), numcodecs.get_codec({"id": "crc32c"})]


def open_array(path: Path, group: Any, name: str) -> Any:
    """Return a zarr.Array of a group for reading; one with shards has format 3, which groups do not see."""
    import zarr

    if (path / name / SHARDED).exists():
        return zarr.open_array(path / name, mode="r", zarr_format=3)
    return group[name]


def _metadata_of(folder: Path) -> list[str]:
    """Return the names of the files with the metadata of an array, none if there is no array."""
    if (folder / SHARDED).exists():
        return [SHARDED]
    return [".zarray", ".zattrs"] if (folder / ".zarray").exists() else []


def _count_chunks(path: Path, group: Any, names: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks or shards of arrays on disk; those of only zeros are not written."""
    n_chunks = {}
    for name in names:
        if (path / name / SHARDED).exists():
            # An empty file would be read as zeros.
            n_chunks[name] = sum(file.stat().st_size > 0 for file in (path / name / "c").glob("*/*"))
        else:
            n_chunks[name] = group[name].nchunks_initialized
    return n_chunks


def _checksums_of_shard(file: BinaryIO, array: Path) -> bytes:
    """Return the index of a shard and the checksums of its chunks."""
    metadata = json.loads((array / SHARDED).read_bytes())
    shard, chunk = metadata["chunk_grid"]["configuration"], metadata["codecs"][0]["configuration"]
    n_chunks = math.prod(shard["chunk_shape"]) // math.prod(chunk["chunk_shape"])
    file.seek(-16 * n_chunks - CHECKSUM, os.SEEK_END)
    index = file.read()
    checksums = [index]
    for offset, size in np.frombuffer(index, "<u8", 2 * n_chunks).reshape(-1, 2).tolist():
        if size < 2**63:
            file.seek(offset + size - CHECKSUM)
            checksums.append(file.read(CHECKSUM))
    return b"".join(checksums)
