"""The end of a study: what was derived from single people goes, what is public or accounts for it stays."""

from pathlib import Path

from dpgrs.config.paths import PATHS
from dpgrs.errors import UsageError
from dpgrs.io.files import digest_file, remove
from dpgrs.io.json_files import read_json

# Records of what was asked for; all else in the private folder is derived from people, or may tell of them.
RECORDS = ("settings.json", "provenance.json")
KEPT = frozenset({*RECORDS, *(digest_file(name).name for name in RECORDS)})


def list_derived(study):
    """List what a study derived from single people, and the user's own files, which closing it leaves alone.

    Parameters
    ----------
    study : folder of the study, ``results/<name>``.

    Returns
    -------
    derived : list of Path, files and folders in its private folder.
    own : list of str, paths of private inputs in its settings.

    Raises
    ------
    UsageError
        If the folder is no study's.
    DpgrsError
        If its settings cannot be read: which files are the user's own is not known then.
    """
    private = Path(study) / "private"
    records = [path for path in (private / "settings.json", Path(study) / "settings.json") if path.is_file()]
    if not records or private.is_symlink():
        raise UsageError(
            f"`{study}` must be the folder of a study, with settings.json and private/, got another. Name it."
        )
    fix = f"Restore it from a copy, or remove what is in {private} by hand."
    settings = read_json(records[0], fix=fix)
    derived = sorted(path for path in private.iterdir() if path.name not in KEPT) if private.is_dir() else []
    private_keys = (key for key in PATHS if not key.startswith(("public.", "privacy.", "evaluation.")))
    return derived, list(dict.fromkeys(path for key in private_keys if (path := _value(settings, key))))


def close_out(study):
    """Remove what a study derived from single people.

    Its bundle, statement, report and public files stay, and so do settings and provenance; the ledger lies
    elsewhere. A forced run of the study would make all of it again.

    Parameters
    ----------
    study : folder of the study; errors as in `list_derived`.
    """
    for path in list_derived(study)[0]:
        if path.is_symlink():
            path.unlink()
        else:
            remove(path)


def _value(settings, key):
    for name in key.split("."):
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings
