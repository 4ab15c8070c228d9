"""Zarr groups that are read as they were written, or not at all.

Every chunk on disk ends in its CRC-32C, which is checked before anything is unpacked, and the group's
attributes hold a digest of all metadata and the number of chunks of each array.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from dpgrs.errors import DpgrsError

_DIGEST = "digest"  # the attribute with that of all metadata
CHECKSUM = 4  # bytes at the end of a chunk


class Kind(NamedTuple):
    """What a group is.

    Attributes
    ----------
    format : str, as in its attributes.
    version : int, of the format.
    name : str, for messages, such as ``haplotype store``.
    verb : str, what makes one.
    """

    format: str
    version: int
    name: str
    verb: str

    def damaged(self, path):
        """Return the error that parts of a group are not what was written."""
        return DpgrsError(
            f"`{path}` must be a whole {self.name}, but parts are missing or damaged. Remove it, and make "
            f"it again: {self.verb}"
        )


def open_sealed(path, kind):
    """Open a group for reading.

    Parameters
    ----------
    path : the group's folder.
    kind : Kind

    Returns
    -------
    group : zarr.Group
    attributes : dict

    Raises
    ------
    DpgrsError
        No such group at `path`, a damaged one, or one of another format version.
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


def read_sealed(array, selection, damaged):
    """Read a part of an array of a group that was opened.

    Parameters
    ----------
    array : zarr.Array
    selection : as `get_orthogonal_selection` takes it.
    damaged : the error to raise where a chunk is not what was written.
    """
    try:
        return array.get_orthogonal_selection(selection)
    # What the codec raises at a wrong sum, and at a chunk too short to have one.
    except (RuntimeError, ValueError):
        raise damaged from None


def seal(path, group, kind, attributes):
    """Write the attributes of a group, with which it is whole.

    Parameters
    ----------
    path : the group's folder.
    group : zarr.Group, with all its arrays.
    kind : Kind
    attributes : dict of JSON values.
    """
    own = {"format": kind.format, "format_version": kind.version}
    own["n_chunks"] = _count_chunks(group, sorted(group.array_keys()))
    attributes = own | attributes
    # At once: each key by itself would be a file written anew.
    group.update_attributes(attributes | {_DIGEST: _metadata_digest(path, attributes)})


def fingerprint(path):
    """Return a digest of a group as it lies on disk, in hexadecimal: of chunks by their checksums.

    Parameters
    ----------
    path : the group's folder.
    """
    found, path = hashlib.sha256(), Path(path)
    for place in sorted(one for one in path.rglob("*") if one.is_file()):
        # Snakemake's own mark in a folder holds nothing.
        if place.name == ".snakemake_timestamp":
            continue
        size, is_chunk = place.stat().st_size, (place.parent / ".zarray").exists() and place.name[0] != "."
        with place.open("rb") as file:
            if is_chunk:
                file.seek(-min(size, CHECKSUM), os.SEEK_END)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.update(f"{place.relative_to(path)} {size} {digest}\n".encode())
    return found.hexdigest()


def checked(packing, *, is_text=False):
    """Return how chunks are written, as keywords: packed, if by anything, then with a checksum at the end."""
    import numcodecs

    filters = [] if packing is None else [numcodecs.get_codec(packing)]
    if is_text:
        filters = [numcodecs.VLenUTF8(), *filters]
    return {"filters": filters or None, "compressors": numcodecs.get_codec({"id": "crc32c"})}


def _read_attributes(path, kind):
    """Return the attributes of a group, a dict; {} of a group without any."""
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


def _metadata_digest(path, attributes):
    """Return a digest over attributes and all other metadata of a group; None where some is not there."""
    attributes = {name: value for name, value in attributes.items() if name != _DIGEST}
    found = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    try:
        arrays = sorted(attributes["n_chunks"])
        for name in (".zgroup", *(f"{array}/{name}" for array in arrays for name in (".zarray", ".zattrs"))):
            found.update(hashlib.sha256((path / name).read_bytes()).digest())
    # Attributes that are damaged may name anything, or nothing.
    except (OSError, LookupError, TypeError, ValueError):
        return None
    return found.hexdigest()


def _count_chunks(group, names):
    """Return how many chunks of arrays are on disk, by name; those of zeros alone are not written."""
    return {name: group[name].nchunks_initialized for name in names}
