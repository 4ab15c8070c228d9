"""What Snakemake has no record of: such files it takes as they are, by whatever settings they were made."""

import json
import os
from base64 import urlsafe_b64decode
from fnmatch import fnmatch
from pathlib import Path

from dpgrs.errors import UsageError
from dpgrs.study.made_by import MADE

SAME = 1.0  # seconds: what file systems and copies of them round


def require_records(folders, *, records):
    """Refuse what a release would be made of if Snakemake does not know how it was made.

    It makes files anew whose settings have changed since. Without records it cannot tell: data of a
    benchmark, which take sites and moments of the private cohort, of another protection or of other people
    would pass for the release's own.

    Parameters
    ----------
    folders : paths of the study's data, which need not be there.
    records : path of Snakemake's own folder.

    Raises
    ------
    UsageError
        Naming one of the files.
    """
    # A job that was killed left a mark, by which it runs again.
    killed = {name for name, _ in _named(Path(records, "incomplete"))}
    known = _ends(Path(records, "metadata"))
    for path in _made(folders):
        if path not in killed and abs(known.get(path, 0) - _changed(path)) > SAME:
            raise UsageError(
                f"Snakemake must have a record of `{path}` as it is in a release, got none: nobody knows by "
                f"which settings it was made. Bring `{records}` back, or remove `{path}`; a replay costs "
                "nothing."
            )


def _made(folders):
    """Yield the paths of files and stores, as rules name them."""
    for folder in folders:
        for place, stores, files in os.walk(folder, followlinks=True):
            found = [name for name in (*stores, *files) if not name.startswith(".")]
            yield from (f"{place}/{name}" for name in found if any(fnmatch(name, kind) for kind in MADE))
            stores[:] = [name for name in found if name in stores and not name.endswith(".zarr")]


def _changed(path):
    """Return when a file or store was changed, as Snakemake notes it."""
    stamp = Path(path, ".snakemake_timestamp")
    return (stamp if stamp.exists() else Path(path)).stat().st_mtime


def _ends(folder):
    """Return when outputs were changed by the records of them, a dict of float by path."""
    found = {}
    for name, record in _named(folder):
        try:
            found[name] = float(json.loads(record.read_bytes())["endtime"])
        except (ValueError, KeyError, TypeError):
            continue  # half a record, which Snakemake takes for none
    return found


def _named(folder):
    """Yield the outputs that there are records of, and these: names are paths in base64, cut."""
    for path in folder.rglob("*"):
        if path.is_file():
            parts = path.relative_to(folder).parts
            text = "".join(part.removeprefix("@") for part in parts)
            try:
                yield urlsafe_b64decode(text).decode(), path
            except ValueError:
                continue  # no record of an output
