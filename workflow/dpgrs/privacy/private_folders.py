"""Where the study key and ledgers may lie, and which folders are closed to all other users of a machine."""

import json
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError

# A folder that holds one of these is shared, published or committed as a whole.
PROJECT_MARKS = (".git", "Snakefile", "workflow/Snakefile")
# What the workflow keeps of people lies below a folder of this name, and Snakemake's records in the other.
PRIVATE, PUBLIC, RECORDS = "private", "public", Path(".snakemake")
OPEN_TO_OTHERS = 0o077


def require_private_place(path, *, name):
    """Refuse a path inside a repository or a results folder, also where a link leads into one.

    Parameters
    ----------
    path : the file, which need not be there.
    name : str, what it is, for the error.

    Returns
    -------
    pathlib.Path, absolute, without links.

    Raises
    ------
    UsageError
        If a folder above it is named ``results`` or holds one of `PROJECT_MARKS`.
    """
    try:
        path = Path(path).expanduser().resolve()
    except RuntimeError:
        raise UsageError(f"{name} must be a path with a known home, got {path}. Write it in full.") from None
    for folder in path.parents:
        if folder.name == "results" or any((folder / mark).exists() for mark in PROJECT_MARKS):
            raise UsageError(
                f"{name} must lie outside repositories and results, got {path} in {folder}. "
                "Choose a private folder, such as one in your home."
            )
    return path


def close_folder(path):
    """Make a folder that its owner alone can enter, or close one that is there.

    Parameters
    ----------
    path : the folder.

    Raises
    ------
    UsageError
        If it cannot be closed, as where it belongs to somebody else or the file system knows no modes.
    """
    path = Path(path)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise UsageError(f"`{path}` must be a folder that can be closed: {error.strerror}. {_MOVE}") from None
    if _is_open(path):
        raise UsageError(f"`{path}` must be a folder that can be closed, got one that stays open. {_MOVE}")


def require_closed(*files, records=RECORDS):
    """Refuse to go on where others could read what a release is made of, or confirm a guess of it.

    Called by the steps that charge, before anything else: whoever runs them, and however.

    Parameters
    ----------
    *files : private files that a step reads or writes. Each must lie in a closed folder: the nearest one
        above it that is named ``private``, which a workflow makes, or else its own.
    records : folder of Snakemake's records, which must be closed, be readable, and hold digests of public
        files only; need not be there.

    Raises
    ------
    DpgrsError
        With what is open and how to close it.
    """
    folders = {_private_folder(Path(file).resolve()) for file in files}
    for folder in (*sorted(folders), *([records] if records.exists() else [])):
        if _is_open(folder):
            raise DpgrsError(
                f"`{folder}` must be closed to other users before anything is charged, got mode "
                f"{folder.stat().st_mode & 0o777:o}. Close it with `chmod 700`."
            )
    require_no_digests(records)


def require_no_digests(records=RECORDS):
    """Refuse to go on where Snakemake's records hold digests of files that are not public, or may do.

    Parameters
    ----------
    records : folder of Snakemake's records; need not be there.

    Raises
    ------
    DpgrsError
    """
    if databases := sorted(records.glob("*.db*")):
        raise DpgrsError(
            f"`{records}` must hold Snakemake's records as files in a release, got a database. "
            f"Remove `{databases[0].name}` there, and run without `--persistence-backend`."
        )
    kept = [path for path in (records / "metadata").rglob("*") if path.is_file()]
    if any(_may_have_digest(path) for path in kept):
        raise DpgrsError(
            f"`{records / 'metadata'}` must hold no digests but of public files in a release: one could "
            "confirm a guess of a private file. Remove that folder, and run the study again with "
            "`--max-checksum-file-size 0`."
        )


_MOVE = "Run the study where you may."


def _private_folder(path):
    return next((folder for folder in path.parents if folder.name == PRIVATE), path.parent)


def _is_open(folder):
    return bool(folder.stat().st_mode & OPEN_TO_OTHERS)


def _may_have_digest(path):
    """Tell whether a record of Snakemake's has a digest of a file that is not public, or is unreadable."""
    try:
        digests = json.loads(path.read_bytes()).get("input_checksums") or {}
        return not all(_is_public(name) for name in digests)
    except FileNotFoundError:
        return False  # of another job, which began anew meanwhile
    except (ValueError, AttributeError, TypeError):
        return True  # half a record, of a run that was killed, or another form


def _is_public(name):
    """Tell whether a file lies in the public folder of a study, wherever a link or ``..`` leads."""
    folder = Path.cwd() / "results"
    parts = Path(name).resolve().parts
    top = folder.resolve().parts
    return parts[: len(top)] == top and parts[len(top) + 1 : len(top) + 2] == (PUBLIC,)
