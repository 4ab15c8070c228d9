"""The seals of a bundle: whether its files have the digests that its two lists of them name."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest

STATEMENT, SUMS = "privacy_statement.json", "SHA256SUMS"


def require_seals(path: Path, files: Iterable[Path]) -> None:
    """Refuse a bundle, or files in one, that were changed after they were sealed.

    The path is a bundle, a scoring file, or a folder of scoring files; `files` are those that are read, and
    other files of a bundle are checked with it. Only digests are compared: `dpgrs release verify` also checks
    the contents of files. A changed or missing file, and one that a list lacks, are refused. Files outside
    bundles have no seals.
    """
    path = path.absolute()
    folder = next(
        (parent for parent in islice((path, *path.parents), 3) if (parent / STATEMENT).is_file()), None
    )
    if folder is None:
        return
    lists = {SUMS: _sums_of(folder), STATEMENT: _digests_of(folder)}
    names = {file.absolute().relative_to(folder).as_posix() for file in files} | {STATEMENT}
    if path == folder:
        names |= set().union(*lists.values())
    for name in sorted(names - {SUMS}):
        digest = _digest_of(folder / name)
        # A statement does not list itself.
        required_lists = [SUMS] if name == STATEMENT else [SUMS, STATEMENT]
        wrong = [
            listing for listing in required_lists if digest is None or lists[listing].get(name) != digest
        ]
        if wrong:
            got = "no file" if digest is None else "another"
            raise DpgrsError(
                f"`{folder / name}` must have the digest that {wrong[0]} lists, got {got}: the bundle was "
                f"changed after it was sealed. Get it again, and check it: dpgrs release verify {folder}"
            )


def _sums_of(folder: Path) -> dict[str, str]:
    """Return the digests in a bundle's list of sums, by name."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        raise DpgrsError(
            f"`{folder / SUMS}` must list the digests of a bundle's files, got none. Get the bundle again."
        ) from None


def _digests_of(folder: Path) -> dict[str, str]:
    """Return the digests in a bundle's statement, by name."""
    try:
        return dict(json.loads((folder / STATEMENT).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DpgrsError(
            f"`{folder / STATEMENT}` must be the statement of a release, which lists its files, got another "
            f"file. Check the bundle: dpgrs release verify {folder}"
        ) from None


def _digest_of(path: Path) -> str | None:
    try:
        return file_digest(path)
    except OSError:
        return None
