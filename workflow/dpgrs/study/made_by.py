"""By which settings private files were made: noted as they are made, and held against those of a release.

Snakemake makes anew what other settings made, unless its options hide it. What is charged rests on no such
option: a note holds all settings that a file hangs on, its own and those of what it was made from.
"""

import json
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.io.files import digest_file, written_digest
from dpgrs.io.json_files import read_json, write_json
from dpgrs.privacy.private_folders import PRIVATE
from dpgrs.study.step_settings import Settings

NOTES, RESULTS = "made", "results"
PUBLIC_TABLES = ("sites.tsv", "pca_loadings.tsv")
ANEW = "Remove it, and run the study again; a replay costs nothing."


def settings_along(settings, files):
    """Add up the settings that files were made by, and those of the step that reads them.

    Parameters
    ----------
    settings : Settings of the step, or None.
    files : list of Path, what the step takes. What has no note tells nothing; of public tables that a rule
        wrote the content tells.

    Returns
    -------
    dict of str to list of str: every value of a setting, by its dotted key, as JSON.
    """
    found = {key: {value} for key, value in own_settings(settings).items()}
    for key, value in _contents(files).items():
        found.setdefault(key, set()).add(value)
    for place in filter(None, map(note_of, files)):
        for key, values in (read_json(place) if place.exists() else {}).items():
            found.setdefault(key, set()).update(values)
    return {key: sorted(values) for key, values in sorted(found.items())}


def note(path, found):
    """Note by which settings a private file was made; elsewhere nothing is noted.

    Parameters
    ----------
    path : Path of the file.
    found : dict as from `settings_along`, or None while it is being made, so that an older note goes.
    """
    place = note_of(path)
    if place is None:
        return
    if found is None:
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    write_json(place, found)


def require_made_by(settings, files):
    """Refuse to charge for files that other settings made.

    Parameters
    ----------
    settings : Settings of the step that charges.
    files : list of Path, as in `settings_along`, what it rests on.

    Raises
    ------
    DpgrsError
        Naming the file and the settings, without values.
    """
    own = own_settings(settings) | _contents(files)
    for path, place in zip(files, map(note_of, files), strict=True):
        if place is None:
            continue
        if not place.exists():
            raise DpgrsError(
                f"`{path}` must have a note of the settings that it was made by, got none. {ANEW}"
            )
        if others := [key for key, values in read_json(place).items() if _is_other(key, values, own)]:
            raise DpgrsError(
                f"`{path}` must be made by the settings of the release, got others of "
                f"{', '.join(others)}. {ANEW}"
            )


def note_of(path):
    """Return where the note on a file lies: of one in a study's private folder in its `NOTES`; else None."""
    path = Path(path).absolute()
    for folder in path.parents:
        if folder.name == PRIVATE and folder.parent.parent.name == RESULTS:
            return folder / NOTES / f"{path.relative_to(folder)}.json"
    return None


def own_settings(settings):
    """Return every value that a step reads as JSON, by its dotted key."""
    return dict(_leaves(settings.as_dict(), "")) if settings else {}


def _is_other(key, values, own):
    """Tell whether a setting had another value, or was no section where it is one, or the other way round."""
    if key in own:
        return values != [own[key]]
    return len(values) > 1 or any(key.startswith(f"{one}.") or one.startswith(f"{key}.") for one in own)


def _leaves(section, place):
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", json.dumps(value, sort_keys=True, default=Settings.as_dict)


def _contents(files):
    """Return the digests of public tables that were written here."""
    return {
        f"content of {path.name}": written_digest(path)
        for path in files
        if path.name in PUBLIC_TABLES and digest_file(path).exists()
    }
