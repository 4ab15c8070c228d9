"""How files of a study were made: noted as they are made, and compared with the settings of a release.

Snakemake makes anew what other settings made, unless it is told not to. A release does not rely on that. A
note holds all settings that were read on the way to a file, digests of the file and of what it was made from,
the code of the steps, and marks of the user's own files (`dpgrs.study.input_files`). It is removed before a
step starts, and written after the file. Notes are as private as the files: all lie in the private folder.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.json_files import read_json, write_json
from dpgrs.io.sealed_zarr import fingerprint
from dpgrs.privacy.private_folders import PRIVATE
from dpgrs.study.code import PACKAGE
from dpgrs.study.input_files import (
    FILE,
    LISTS,
    changed_file,
    files_of_settings,
    keys_of_absent,
    keys_of_others,
    named_tables,
    require_unchanged,
)
from dpgrs.study.verbs import code_read, module_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

NOTES, RESULTS, PUBLIC = "made", "results", "public"
# Files that others are made from. Tables and counts for readers have no provenance.
MADE = (
    *("*.zarr", "*.npz", "*.vcf.gz"),
    *("people.txt", "sites.tsv", "pca_loadings.tsv", "settings.json", "audit.json"),
)
# Steps that charge compare it, and nothing is made from it.
AUDIT = "audit.json"
# Parts of a replicate are temporary, and their number changes no byte: notes on their sources suffice.
SHARDS = "shards"
SITES, PEOPLE = "sites.tsv", "people.txt"
CONTENT, UNKNOWN, CODE = "content of ", "note of ", "code of "
CONTENT_OF_PRIVATE = f"{CONTENT}{PRIVATE}/"
CONTENT_OF_PEOPLE = f"{CONTENT_OF_PRIVATE}{PEOPLE}"
ITSELF = "itself"  # the digest of the file that a note is of
# For these steps the version that is raised by hand counts, as in their rules: an update draws nothing anew.
DRAWING = "draw", "measure-release"
# Whether sums are of all rows at once or of shards changes no note.
SUMMING = ("compute-statistics", "add-statistics")
# For people of the public reference these are not the study's, and empty.
UNDECLARED = ("people", "public.genotypes", "public.outcomes")
ANEW = "Remove it, and run the study again; a replay costs nothing."
BACK = " With `cohort.in_turn` bring genotype files that were removed back first, and remove their stores."
ALL_ANEW = "Run the study again with `--forceall`; a replay costs nothing."


def settings_along(
    settings: "StudyConfig | None",
    files: Iterable[Path],
    *,
    output: Path,
    marks: dict[str, str] = MappingProxyType({}),
    verb: str | None = None,
) -> dict[str, list[str]]:
    """Add up the settings that files were made by, and the settings of the step that reads them.

    Files that no step of the study wrote have no provenance. A private output may be made from public files,
    whose settings are compared by themselves. `marks` are of the user's own files, from
    `dpgrs.study.input_files.content_marks`; the code of the step `verb` is noted if it is given. The result
    has every value of a setting as JSON by its dotted key, and every digest of a file and of code. A file of
    the user's that changed since the study read it first is refused.
    """
    verbs = SUMMING if verb in SUMMING else [verb] * bool(verb)
    code = {CODE + step: _code_mark(step, settings) for step in verbs}
    values_by_key = {key: {value} for key, value in (own_settings(settings) | marks | code).items()}
    is_of_public = _is_public(output)
    for path in (path for path in files if _is_made(path) and path.name != AUDIT):
        names, digest, is_alike = _location(path)[1].parts, _digest(path), _is_public(path) == is_of_public
        if SHARDS not in names:
            values_by_key.setdefault(CONTENT + _name(path), set()).add(digest)
        noted = _note_as_it_is(path, digest)
        if noted is None:
            values_by_key[UNKNOWN + _name(path)] = {"none"}
        for key, values in (noted or {}).items():
            if is_alike or key.startswith((CONTENT, UNKNOWN, CODE, FILE)):
                values_by_key.setdefault(key, set()).update(values)
    for key in marks:
        if len(values_by_key[key]) > 1:
            raise changed_file(key)
    return {key: sorted(values) for key, values in sorted(values_by_key.items())}


def note(path: Path, settings_by_key: dict[str, list[str]] | None) -> None:
    """Note how a file of a study was made, as from `settings_along`; files elsewhere have no notes.

    None removes an older note while the file is being made.
    """
    note_path = note_of(path)
    if note_path is None:
        return
    if settings_by_key is None:
        note_path.unlink(missing_ok=True)
        return
    note_path.parent.mkdir(parents=True, exist_ok=True)
    # No charged or published file is made from other files, such as tables with times.
    write_json(note_path, settings_by_key | ({ITSELF: [_digest(path)]} if _is_read(path) else {}))


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Refuse to make a file of a study that another process makes: a note is of the file that its step wrote.

    Where the file system has no locks, nothing is refused.
    """
    lock = note_of(path).with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        is_busy = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_busy = True
        except OSError:
            pass
        # The other process has removed its lock meanwhile.
        if is_busy or not os.fstat(descriptor).st_nlink:
            raise DpgrsError(
                "two-processes",
                f"`{path}` must be made by one process at a time, got another that makes it. Wait for it, "
                "run one study at a time in a folder, and run it again.",
            )
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def require_made_by(settings: "StudyConfig", files: Sequence[Path]) -> None:
    """Refuse to charge for files, or to export them, that other settings made, or not from each other.

    The settings are of the study or of the step; `files` are as in `settings_along`. Errors name the
    file and the settings without values; a file of the user's that has changed is refused, too.
    """
    study_settings, contents, marks, of_public, unchosen = own_settings(settings), {}, {}, {}, []
    anew = ANEW + BACK * (study_settings.get("cohort.in_turn") == "true")
    sites = [CONTENT + _name(path) for path in files if _is_public(path) and path.name == SITES]
    for path in files:
        digest = _digest(path)
        noted = _note_as_it_is(path, digest)
        if noted is None:
            raise DpgrsError(
                "note-missing",
                f"`{path}` must have a note of how it was made, as it is now, got none. {ANEW}",
            )
        for key in [key for key in noted if key.startswith(FILE)]:
            marks.setdefault(key, set()).update(noted.pop(key))
            of_public |= {key: path} if _is_public(path) else {}
        if lacking := [key for key in noted if key.startswith(UNKNOWN)]:
            raise DpgrsError(
                "notes-of-inputs-missing",
                f"`{path}` must be made from files with notes, got none: {', '.join(lacking)}. {ALL_ANEW}",
            )
        if _is_public(path) and (private := [key for key in noted if key.startswith(CONTENT_OF_PRIVATE)]):
            raise DpgrsError(
                "made-from-private-file",
                f"`{path}` must be made from public files, got {private[0].removeprefix(CONTENT)}. {ANEW}",
            )
        if not _is_public(path) and (lacking := [key for key in sites if key not in noted]):
            raise DpgrsError(
                "made-without-public-sites",
                f"`{path}` must be made by the public sites, got no {', '.join(lacking)}. {ANEW}",
            )
        if other_keys := _other_settings(path, noted, study_settings):
            raise DpgrsError(
                "made-by-other-settings",
                f"`{path}` must be made by the settings of the release, got others of "
                f"{', '.join(other_keys)}. {anew}",
            )
        if older := [key for key, values in noted.items() if key.startswith(CODE) and _is_older(key, values)]:
            raise DpgrsError(
                "made-by-another-version",
                f"`{path}` must be made by this version of the program, got another {', '.join(older)}. "
                f"{anew}",
            )
        if not _is_public(path) and CONTENT_OF_PEOPLE not in noted:
            unchosen.append(path)
        digests = {key: set(values) for key, values in noted.items() if key.startswith(CONTENT)}
        own_digest = {CONTENT + _name(path): {digest}} if path.exists() else {}
        for key, values in (digests | own_digest).items():
            if len(contents.setdefault(key, values) | values) > 1:
                raise DpgrsError(
                    "made-from-several-files",
                    f"`{path}` and what else is read must be made from one {key.removeprefix(CONTENT)}, got "
                    f"several. {ANEW}",
                )
    if files:
        study = study_of(files[0])
        absent = keys_of_absent(settings, study=study)
        require_unchanged({key: noted for key, noted in marks.items() if key not in absent}, study=study)
        if unchosen and named_tables(settings, LISTS):
            raise DpgrsError(
                "made-of-other-people",
                f"`{unchosen[0]}` must be made of the people whom the lists of `people` leave in the study, "
                f"got others: `{PRIVATE}/{PEOPLE}` was not read. {ALL_ANEW}",
            )
        if other_tables := sorted(of_public.keys() & keys_of_others(settings, study=study)):
            raise DpgrsError(
                "made-from-other-tables",
                f"`{of_public[other_tables[0]]}` must be made from the tables of `evaluation`, got "
                f"`{other_tables[0].removeprefix(FILE)}`. {ALL_ANEW}",
            )
        must, may = files_of_settings(settings, study=study)
        # If metrics are not charged, fewer files are read.
        if sites and (lacking := [path for key, path in must.items() if key not in marks]):
            raise DpgrsError(
                "file-not-read-by-study",
                f"`{lacking[0]}` must be among the files that the study read, got another. {ALL_ANEW}",
            )
        if may is not None and (stray := [key.removeprefix(FILE) for key in marks if key not in may]):
            raise DpgrsError(
                "file-not-of-settings",
                f"The study must be made from the files that its settings name, got `{stray[0]}`. {ALL_ANEW}",
            )


def require_public(files: Iterable[Path | None]) -> None:
    """Refuse private files of a study, also behind links, if nothing is charged for their content."""
    for path in filter(None, files):
        if any(
            location and location[0].name == PRIVATE
            for location in map(_location, (path, Path(path).resolve()))
        ):
            raise DpgrsError(
                "not-a-public-file",
                f"`{path}` must be a public file, as nothing is charged for what it tells, got a "
                "private one. Name the one in the study's folder `public`.",
            )


def require_reference_apart(output: Path, *, is_reference: bool) -> None:
    """Refuse people of the public reference among the study's files, and the study's people among public
    ones."""
    if is_reference != _is_public(output):
        raise UsageError(
            "reference-flag-wrong",
            f"`--is-reference` must be given if and only if the output is a public file of the study, got "
            f"`{output}`. The study's people have other checks than the public reference.",
        )


def require_folder_of(study: Path | None) -> None:
    """Refuse a step in another working folder than the study's: relative paths would name other files."""
    if study is not None and study.parents[1].resolve() != Path.cwd().resolve():
        raise UsageError(
            "wrong-working-folder",
            f"The step must run in the folder that holds `{RESULTS}` of its study, {study.parents[1]}, got "
            f"{Path.cwd()}. Change to that folder.",
        )


def made_otherwise(current_settings: Mapping[str, str], *, private: Path) -> dict[Path, list[str]]:
    """Map the files of a study that other settings made, as their notes say, to the keys of these settings.

    The settings to compare with are as from `own_settings`, all or some.
    """
    keys_by_file = {}
    folder = Path(private, NOTES)
    for note_path in sorted(folder.rglob("*.json")):
        name = note_path.relative_to(folder).with_suffix("")
        top = private if name.parts[0] != PUBLIC else Path(private).with_name(PUBLIC)
        path = Path(top, *name.parts[name.parts[0] == PUBLIC :])
        if path.exists() and (other_keys := _other_settings(path, _read(path), current_settings)):
            keys_by_file[path] = other_keys
    return keys_by_file


def note_of(path: Path | str) -> Path | None:
    """Return the path of the note on a file of a study, in `NOTES` of its private folder; None for other
    files."""
    location = _location(path)
    if location is None:
        return None
    folder, name = location
    return folder.with_name(PRIVATE) / NOTES / (f"{PUBLIC}/" * (folder.name == PUBLIC) + f"{name}.json")


def study_of(path: Path | str) -> Path | None:
    """Return the folder of the study that a file lies in; None for other files."""
    location = _location(path)
    return location and location[0].parent


def own_settings(settings: "StudyConfig | None") -> dict[str, str]:
    """Return every value that a step reads as JSON, by its dotted key."""
    return dict(_leaves(settings.as_dict(), "")) if settings else {}


def _location(path: Path | str) -> tuple[Path, Path] | None:
    """Return the private or public folder of a study that a path lies in, and its name there."""
    path = Path(path).absolute()
    for folder in path.parents:
        if folder.name in (PRIVATE, PUBLIC) and folder.parent.parent.name == RESULTS:
            return folder, path.relative_to(folder)
    return None


def _is_made(path: Path) -> bool:
    """Return whether a file is one of a study, exists, and is a source of other files."""
    return _location(path) is not None and path.exists() and _is_read(path)


def _is_read(path: Path) -> bool:
    return any(fnmatch(path.name, kind) for kind in MADE)


def _name(path: Path) -> str:
    folder, name = _location(path)
    return f"{folder.name}/{name}"


def _is_public(path: Path) -> bool:
    location = _location(path)
    return location is not None and location[0].name == PUBLIC


def _is_undeclared(key: str) -> bool:
    return any(f"{key}.".startswith(f"{undeclared}.") for undeclared in UNDECLARED)


def _read(path: Path) -> dict[str, list[str]]:
    return {key: values for key, values in read_json(note_of(path)).items() if key != ITSELF}


def _note_as_it_is(path: Path, digest: str | None) -> dict[str, list[str]] | None:
    """Return the note on a file; None if there is none, or the file has changed since."""
    note_path = note_of(path)
    if note_path is None or not note_path.exists() or read_json(note_path).get(ITSELF) != [digest]:
        return None
    return _read(path)


def _other_settings(path: Path, noted: Mapping[str, list[str]], expected: Mapping[str, str]) -> list[str]:
    """Return the keys of settings that have other values in a note."""
    if _is_public(path):
        expected = {key: value for key, value in expected.items() if not _is_undeclared(key)}
    return [key for key, values in noted.items() if _is_other(key, values, expected)]


def _code_mark(verb: str, settings: "StudyConfig | None") -> str:
    """Return the mark of a step's code: a digest, or the version of mechanisms if a release draws."""
    draws = verb == "draw" or (verb == "measure-release" and settings.evaluation.metrics == "charged")
    return _mechanisms_mark() if draws and settings.mode == "release" else code_read(verb)


def _mechanisms_mark() -> str:
    from dpgrs.privacy.accounting.events import MECHANISM_VERSION  # brings scipy, which takes 0.1 s

    return f"version of mechanisms {MECHANISM_VERSION}"


def _is_older(key: str, values: Sequence[str]) -> bool:
    """Return whether a step had other code than it has now."""
    verb = key.removeprefix(CODE)
    now = {_mechanisms_mark()} if verb in DRAWING else set()
    # An update may have removed the step.
    is_there = (PACKAGE / module_of(verb)).is_file()
    return len(values) > 1 or not {*values} <= now | ({code_read(verb)} if is_there else set())


def _is_other(key: str, values: Sequence[str], expected: Mapping[str, str]) -> bool:
    """Return whether a setting had another value, or was a section then or now but not both."""
    if key in expected:
        return values != [expected[key]]
    return len(values) > 1 or any(
        key.startswith(f"{expected_key}.") or expected_key.startswith(f"{key}.") for expected_key in expected
    )


def _leaves(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", json.dumps(value, sort_keys=True)


def _digest(path: Path) -> str | None:
    """Return a digest of a file or store; None for an absent one, which its step will report."""
    if path.is_dir():
        return fingerprint(path)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
