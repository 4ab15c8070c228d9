"""Where the study key and ledgers may lie, and which folders are closed to all other users of a machine."""

import json
import os
import time
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError

# A folder that holds one of these is shared, published or committed as a whole.
PROJECT_MARKS = (".git", "Snakefile", "workflow/Snakefile")
# Names of the folders of private and of public files of the workflow, and of Snakemake's records.
PRIVATE, PUBLIC, RECORDS = "private", "public", Path(".snakemake")
OPEN_TO_OTHERS = 0o077
REREAD_AFTER = (0.1, 0.4, 1.5)  # seconds between readings of a record that is half written


def require_private_place(
    path: str | os.PathLike[str],  # of the file, which need not be there
    *,
    name: str,  # of the file, for the error
) -> Path:
    """Return a path, absolute and without links, of a file outside repositories and results folders.

    One is refused if a folder above it is named ``results`` or holds one of `PROJECT_MARKS`, also if a link
    leads into one.
    """
    try:
        absolute = Path(path).expanduser().resolve()
    except RuntimeError:
        raise UsageError(
            "path-without-home", f"{name} must be a path with a known home, got {path}. Write it in full."
        ) from None
    for folder in absolute.parents:
        if folder.name == "results" or any((folder / mark).exists() for mark in PROJECT_MARKS):
            raise UsageError(
                "path-not-private",
                f"{name} must lie outside repositories and results, got {absolute} in {folder}. "
                "Choose a private folder, such as one in your home.",
            )
    return absolute


def close_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder that only its owner can enter, or close one that is there.

    One is refused that cannot be closed, as it belongs to somebody else or the file system knows no modes.
    """
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise UsageError(
            "folder-not-closable",
            f"`{folder}` must be a folder that can be closed: {error.strerror}. {_MOVE}",
        ) from None
    if _is_open(folder):
        raise UsageError(
            "folder-stays-open",
            f"`{folder}` must be a folder that can be closed, got one that stays open. {_MOVE}",
        )


def require_closed(
    # Private files that a step reads or writes. Each must lie in a closed folder: the nearest one above it
    # that is named ``private``, which a workflow makes, or else its own.
    *files: str | os.PathLike[str],
    # Snakemake's records, which must be closed, be readable, and hold digests only of public files; need not
    # be there.
    records: Path = RECORDS,
) -> None:
    """Refuse to go on if others could read the data of a release, or confirm a guess of them.

    The steps that charge call it before anything else, for every person who runs them, and however. The error
    names the open folder and how to close it.
    """
    folders = {_private_folder(Path(file).resolve()) for file in files}
    for folder in (*sorted(folders), *([records] if records.exists() else [])):
        if _is_open(folder):
            raise DpgrsError(
                "folder-not-closed",
                f"`{folder}` must be closed to other users before anything is charged, got mode "
                f"{folder.stat().st_mode & 0o777:o}. Close it with `chmod 700`.",
            )
    require_no_digests(records)


def require_no_digests(
    records: Path = RECORDS,  # of Snakemake; need not be there
) -> None:
    """Refuse to go on if Snakemake's records hold digests of files that are not public, or may do."""
    if databases := sorted(records.glob("*.db*")):
        raise DpgrsError(
            "records-in-database",
            f"`{records}` must hold Snakemake's records as files in a release, got a database. "
            f"Remove `{databases[0].name}` there, and run without `--persistence-backend`.",
        )
    record_files = [path for path in (records / "metadata").rglob("*") if path.is_file()]
    if any(_may_have_digest(path) for path in record_files):
        raise DpgrsError(
            "records-with-digests",
            f"`{records / 'metadata'}` must hold no digests but of public files in a release: one could "
            "confirm a guess of a private file. Remove that folder, and run the study again with "
            "`--max-checksum-file-size 0`.",
        )


_MOVE = "Run the study where you may."


def _private_folder(path: Path) -> Path:
    return next((folder for folder in path.parents if folder.name == PRIVATE), path.parent)


def _is_open(folder: Path) -> bool:
    return bool(folder.stat().st_mode & OPEN_TO_OTHERS)


def _may_have_digest(path: Path) -> bool:
    """Tell whether a record of Snakemake's has a digest of a file that is not public, or is unreadable."""
    for seconds in REREAD_AFTER:
        try:
            digests = json.loads(path.read_bytes()).get("input_checksums") or {}
            return not all(_is_public(name) for name in digests)
        except FileNotFoundError:
            return False  # of another job, which began anew meanwhile
        except (ValueError, AttributeError, TypeError):
            time.sleep(seconds)  # half a record: Snakemake may be writing it, of a job that ended
    return True  # of a run that was killed, or of another form


def _is_public(name: str) -> bool:
    """Tell whether a file lies in the public folder of a study, wherever a link or ``..`` leads."""
    folder = Path.cwd() / "results"
    steps = Path(name).resolve().parts
    top = folder.resolve().parts
    return steps[: len(top)] == top and steps[len(top) + 1 : len(top) + 2] == (PUBLIC,)
