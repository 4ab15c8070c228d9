"""Manifests: the lists of files and checksums that publishers give with their data."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dpgrs.errors import DpgrsError

ALGORITHMS = {32: "md5", 64: "sha256"}

_DIGEST = r"(?P<digest>[0-9a-fA-F]{64}|[0-9a-fA-F]{32})"
_DIGEST_FIRST = re.compile(rf"{_DIGEST}\s+\*?(?P<name>\S.*)")
_NAME_FIRST = re.compile(rf"(?P<name>\S.*?)\s+{_DIGEST}")
_TREE_COLUMNS = 5


@dataclass(frozen=True)
class Entry:
    """The line of a manifest about one file."""

    name: str  # path as listed, without a leading `./` or `/`
    digest: str  # hexadecimal digits in lower case, of MD5 or SHA-256 by their number
    size: int | None = None  # bytes, if the manifest has them

    @property
    def algorithm(self) -> str:
        """The name of the digest in `hashlib`."""
        return ALGORITHMS[len(self.digest)]

    def digest_of(self, path: Path | str) -> str:
        """Return the digest of a file's bytes by this entry's algorithm."""
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, self.algorithm).hexdigest()


def read_entries(manifest: Path | str, urls: Sequence[str]) -> dict[str, Entry]:
    """Return the entries of a manifest by URL, without the URLs that it does not list.

    A line has one of three forms: checksum and name, as ``md5sum`` and ``sha256sum`` write them; name and
    checksum; or path, ``file``, bytes, time and MD5 between tabs, as in ``current.tree``. The entry of a URL
    is the longest whose name the path of the URL ends with. A manifest without any checksum, and one with two
    lines that contradict each other, are refused.
    """
    paths = {url: unquote(urlsplit(url).path) for url in urls}
    names = [path.rpartition("/")[2] for path in paths.values()]
    matches: dict[str, list[Entry]] = {url: [] for url in urls}
    n_entries = 0
    with Path(manifest).open(encoding="utf-8-sig", errors="replace") as file:
        for line in file:
            # A whole site has a million lines.
            if n_entries and not any(name in line for name in names):
                continue
            entry = _read_line(line)
            n_entries += entry is not None
            for url, path in paths.items():
                if entry and path.endswith(f"/{entry.name}"):
                    matches[url].append(entry)
    if not n_entries:
        raise DpgrsError(
            "manifest-empty",
            f"`{manifest}` must list files with their MD5 or SHA-256, got none. Name the manifest itself.",
        )
    return {url: _longest(entries, manifest) for url, entries in matches.items() if entries}


def _read_line(line: str) -> Entry | None:
    """Return the entry of a line; None for a line without a file and a checksum."""
    line = line.strip()
    columns = line.split("\t")
    # A directory has no checksum, which leaves it a column short.
    if len(columns) == _TREE_COLUMNS and columns[1] == "file" and columns[2].isdecimal():
        name, digest, size = columns[0], columns[-1], int(columns[2])
        return _entry(name, digest, size) if re.fullmatch(_DIGEST, digest) else None
    match = _DIGEST_FIRST.fullmatch(line) or _NAME_FIRST.fullmatch(line)
    return _entry(match["name"], match["digest"]) if match and not line.startswith("#") else None


def _entry(name: str, digest: str, size: int | None = None) -> Entry:
    return Entry(name.removeprefix("./").lstrip("/"), digest.lower(), size)


def _longest(entries: list[Entry], manifest: Path | str) -> Entry:
    length = max(len(entry.name) for entry in entries)
    first, *duplicates = dict.fromkeys(entry for entry in entries if len(entry.name) == length)
    if duplicates:
        raise DpgrsError(
            "checksum-ambiguous",
            f"`{manifest}` must list `{first.name}` with one checksum, got {1 + len(duplicates)}. "
            "Ask its publisher which one is right.",
        )
    return first
