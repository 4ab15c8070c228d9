"""Zarr groups that are read as they were written, or not at all.

Every chunk on disk ends in its CRC-32C, which is checked before anything is unpacked, and the group's
attributes hold a digest of all metadata and the number of chunks of each array.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import files_below

_DIGEST = "digest"  # the attribute with the digest of all metadata
CHECKSUM = 4  # bytes at the end of a chunk


class Kind(NamedTuple):
    """The kind of a group."""

    format: str  # as in its attributes
    version: int  # of the format
    name: str  # for messages, such as `haplotype store`
    verb: str  # the command that makes one

    def damaged(self, path: Path | str) -> DpgrsError:
        """Return the error that parts of a group are not what was written."""
        return DpgrsError(
            f"`{path}` must be a whole {self.name}, but parts are missing or damaged. Remove it, and make "
            f"it again: {self.verb}"
        )


def open_sealed(path: Path | str, kind: Kind) -> tuple[Any, dict[str, Any]]:
    """Open a group for reading, a zarr.Group, with its attributes.

    A folder without such a group, a damaged one, and one of another format version are refused.
    """
    import zarr

    path = Path(path)
    attributes = _read_attributes(path, kind)
    if attributes.get("format") != kind.format:
        raise DpgrsError(f"`{path}` is a Zarr group, but no {kind.name}. Make one: {kind.verb}")
    version = attributes.get("format_version")
    if version != kind.version:
        raise DpgrsError(
            f"`{path}` must have format version {kind.version}, got {version}. Remove it, and make it again: "
            f"{kind.verb}"
        )
    # Before Zarr sees any of it.
    if attributes.get(_DIGEST) != _metadata_digest(path, attributes):
        raise kind.damaged(path)
    group = zarr.open_group(path, mode="r", zarr_format=2)
    # Zarr reads a part that is not there as zeros.
    if _count_chunks(group, attributes["n_chunks"]) != attributes["n_chunks"]:
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
    n_chunks = _count_chunks(group, sorted(group.array_keys()))
    attributes = {"format": kind.format, "format_version": kind.version, "n_chunks": n_chunks, **attributes}
    # At once: each key by itself would be a file written anew.
    group.update_attributes(attributes | {_DIGEST: _metadata_digest(path, attributes)})


def fingerprint(path: Path | str) -> str:
    """Return a digest of a group as it lies on disk, in hexadecimal, by the checksums of its chunks."""
    combined, path = hashlib.sha256(), Path(path)
    for part in files_below(path):
        # Snakemake's own mark in a folder holds nothing.
        if part.name == ".snakemake_timestamp":
            continue
        size, is_chunk = part.stat().st_size, (part.parent / ".zarray").exists() and part.name[0] != "."
        with part.open("rb") as file:
            if is_chunk:
                file.seek(-min(size, CHECKSUM), os.SEEK_END)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        combined.update(f"{part.relative_to(path)} {size} {digest}\n".encode())
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
        raise DpgrsError(f"`{path}` is no {kind.name}. Make it: {kind.verb}")
    if not isinstance(attributes, dict):
        raise kind.damaged(path)
    return attributes


def _metadata_digest(path: Path, attributes: Mapping[str, Any]) -> str | None:
    """Return a digest over attributes and all other metadata of a group; None if some is missing."""
    attributes = {name: value for name, value in attributes.items() if name != _DIGEST}
    combined = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    try:
        arrays = sorted(attributes["n_chunks"])
        for name in (".zgroup", *(f"{array}/{name}" for array in arrays for name in (".zarray", ".zattrs"))):
            combined.update(hashlib.sha256((path / name).read_bytes()).digest())
    # Attributes that are damaged may name anything, or nothing.
    except (OSError, LookupError, TypeError, ValueError):
        return None
    return combined.hexdigest()


def _count_chunks(group: Any, names: Iterable[str]) -> dict[str, int]:
    """Return the number of chunks of arrays on disk, by name; chunks of only zeros are not written."""
    return {name: group[name].nchunks_initialized for name in names}
