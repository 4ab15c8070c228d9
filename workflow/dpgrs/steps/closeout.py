"""The end of a study: files derived from single people go; public files and accounts of them stay."""

from pathlib import Path
from typing import Any

from dpgrs.config.study import PATHS
from dpgrs.errors import UsageError
from dpgrs.io.files import digest_file, remove
from dpgrs.io.json_files import read_json

# Records of the settings; all else in the private folder is derived from people, or may describe them.
RECORDS = ("settings.json", "provenance.json")
KEPT = frozenset({*RECORDS, *(digest_file(name).name for name in RECORDS)})


def list_derived(
    study: Path | str,  # folder of the study, results/NAME
) -> tuple[list[Path], list[str]]:
    """Return files and folders that a study derived from single people, and paths of the user's own inputs.

    The first are in its private folder; closing the study leaves the second as they are. A folder of no study
    is a UsageError. Settings that cannot be read are a DpgrsError, as they name the user's own files.
    """
    private = Path(study) / "private"
    records = [path for path in (private / "settings.json", Path(study) / "settings.json") if path.is_file()]
    if not records or private.is_symlink():
        raise UsageError(
            "not-a-study-folder",
            f"`{study}` must be the folder of a study, with settings.json and private/, got another. "
            "Name it.",
        )
    fix = f"Restore it from a copy, or remove the files in {private} by hand."
    settings = read_json(records[0], fix=fix)
    derived = sorted(path for path in private.iterdir() if path.name not in KEPT) if private.is_dir() else []
    private_keys = (key for key in PATHS if not key.startswith(("public.", "privacy.", "evaluation.")))
    return derived, list(dict.fromkeys(path for key in private_keys if (path := _setting(settings, key))))


def close_out(
    study: Path | str,  # folder of the study; errors as of `list_derived`
) -> None:
    """Remove what a study derived from single people.

    Its bundle, statement, report and public files stay, and so do settings and provenance; the ledger lies
    elsewhere. A forced run of the study would make all of it again.
    """
    for path in list_derived(study)[0]:
        if path.is_symlink():
            path.unlink()
        else:
            remove(path)


def _setting(settings: Any, key: str) -> Any:
    for name in key.split("."):
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings
