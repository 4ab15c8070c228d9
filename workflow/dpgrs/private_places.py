"""Where the study key and ledgers may lie: outside of what is shared, published or removed as a whole."""

from pathlib import Path

from dpgrs.errors import UsageError

# A folder that holds one of these is shared, published or committed as a whole.
PROJECT_MARKS = (".git", "Snakefile")


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
    path = Path(path).expanduser().resolve()
    for folder in path.parents:
        if folder.name == "results" or any((folder / mark).exists() for mark in PROJECT_MARKS):
            raise UsageError(
                f"{name} must lie outside repositories and results, got {path} in {folder}. "
                "Choose a private folder, such as one in your home."
            )
    return path
