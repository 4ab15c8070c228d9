"""The user's own files that a study reads: their content when a step read them, and their content now.

Snakemake compares times. A file that was replaced under an older time, as by `cp -p`, `rsync -a` or from a
backup, looks unchanged to it.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.config.study import PATHS, PATTERN_KEYS
from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest, files_below, folder_digest, write_closed
from dpgrs.study.identity import READS_OF_IDENTITY

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Lists and tables. Steps get genotypes by their options; scoring is not charged for.
TABLES = tuple(
    key
    for key in PATHS
    if key not in (*PATTERN_KEYS, "public.reference", "privacy.ledger") and not key.startswith("score.")
)
IDENTITY_TABLES = tuple(key for key in TABLES if key.startswith(READS_OF_IDENTITY))
# Lists of the people of a study, from which `choose-people` makes one.
LISTS = tuple(key for key in TABLES if key.startswith("people."))
# Tables that are read only where a section has this source.
OF_SOURCE = {"outcomes.file": "file", "cohort.table": "table", "cohort.ranges": "table"}
# Tables of the study's people, and of the people of the public reference.
OF_STUDY = ("outcomes.file", "covariates.file")
OF_REFERENCE = ("evaluation.outcomes", "evaluation.covariates")
FILE = "file "
LARGE = 2**24  # bytes of genotypes, from which on their size and time are compared
BY_TIME, ABSENT = "size and time ", "absent or unreadable"
STAMPS = "made/inputs"


def content_mark(path: Path | str, *, is_genotypes: bool = False) -> str:
    """Return the SHA-256 of a file or folder, as text; for large genotypes a mark of sizes and times."""
    path = Path(path)
    try:
        files = [path] if path.is_file() else files_below(path)
        listing = [(entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in files]
        if is_genotypes and sum(size for _, size, _ in listing) >= LARGE:
            return BY_TIME + hashlib.sha256(json.dumps(listing).encode()).hexdigest()
        if path.is_dir():
            return folder_digest(path)
        return file_digest(path) if files else ABSENT
    except OSError:
        return ABSENT


def named_tables(settings: "StudyConfig | None", keys: Sequence[str] = TABLES) -> list[str]:
    """List the paths of the lists and tables that settings name by these keys."""
    paths, values = [], settings.as_dict() if settings else {}
    for key in keys:
        value = _value(values, key)
        paths += value if isinstance(value, list) else [value] if value else []
    return paths


def files_of_settings(settings: "StudyConfig", *, study: Path) -> tuple[dict[str, Any], set[str] | None]:
    """Return the user's own files that settings name: those that must have been read, and the keys of all.

    The first is the path by its key in notes, without absent tables. The second is None for a part of the
    settings, which does not lead to genotypes. `study` is the study's folder, absolute. Absent genotypes of
    the cohort are refused.
    """
    values = settings.as_dict()
    # A step that is run by hand has a part.
    is_whole = "replicates" in values
    unused = [key for key, source in OF_SOURCE.items() if _value(values, _source(key)) != source]
    used = [key for key in OF_SOURCE if key not in unused]
    with contextlib.chdir(study.parents[1]):
        named = named_tables(settings, (*IDENTITY_TABLES, "cohort.sums", *used))
        must = [path for path in named if Path(path).exists()]
        may = named_tables(settings, [key for key in TABLES if key not in unused])
        if is_whole:
            genotypes, public_files = _genotypes(settings)
            must, may = must + genotypes, may + public_files
        must = {file_key(path, study): path for path in must}
        return must, must.keys() | {file_key(path, study) for path in may} if is_whole else None


def keys_of_others(settings: "StudyConfig", *, study: Path) -> set[str]:
    """Return the keys in notes of tables that are only of the study's people, not of the reference's.

    Measures on the public reference depend on none of them.
    """
    with contextlib.chdir(study.parents[1]):
        of_study, of_reference = (
            {file_key(path, study) for path in named_tables(settings, keys)}
            for keys in (OF_STUDY, OF_REFERENCE)
        )
    return of_study - of_reference if of_reference else set()


def keys_of_absent(settings: "StudyConfig", *, study: Path) -> set[str]:
    """Return the keys in notes of absent genotype files, for which stores stand."""
    if not _value(settings.as_dict(), "cohort.in_turn"):
        return set()
    from dpgrs.study.cohort_files import cohort_files, stored_chromosomes  # brings numba

    with contextlib.chdir(study.parents[1]):
        files = [cohort_files(settings.cohort, chromosome) for chromosome in stored_chromosomes(settings)]
        paths = [path for of_chromosome in files for path in _with_companions(of_chromosome)]
        return {file_key(path, study) for path in paths if not path.exists()}


def _genotypes(settings: "StudyConfig") -> tuple[list[Path], list[Path | str]]:
    """Return a study's genotype files, and the files of the public reference and genetic maps."""
    from dpgrs.study.cohort_files import cohort_files, has_genotype_files, reference_files_of  # brings numba
    from dpgrs.study.people_terms import map_files

    pattern, cohort, reference, maps = settings.public.reference, [], [], []
    for chromosome in settings.cohort.chromosomes:
        if has_genotype_files(settings.cohort):
            cohort += cohort_files(settings.cohort, chromosome)
        # Where a table lists the sites, it need not be there.
        with contextlib.suppress(DpgrsError):
            reference += reference_files_of(pattern, chromosome) if pattern else []
        maps += map_files(settings, chromosome)
    return _with_companions(cohort), [*_with_companions(reference), *maps]


def _value(values: Any, key: str) -> Any:
    for name in key.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _source(key: str) -> str:
    return f"{key.partition('.')[0]}.source"


def content_marks(
    settings: "StudyConfig | None",
    files: Iterable[Path],
    *,
    study: Path,
    genotypes: Sequence[Path | str] = (),
    is_reference: bool = False,
) -> dict[str, str]:
    """Return the marks of the user's own files that a step reads, by `FILE` and the path.

    Lists and tables that the settings of the step name count as read, except tables of the study's
    people if the step reads the public reference. Tables beside `genotypes`, the given files that hold
    genotypes, also count.
    Files in the study's folder, an absolute path, have notes and are left out.
    """
    companions = _with_companions(genotypes) if genotypes else []
    large = {Path(path) for path in genotypes}
    keys = [key for key in TABLES if not (is_reference and key in OF_STUDY)]
    paths = {Path(path) for path in (*named_tables(settings, keys), *files, *companions)}
    return {
        file_key(path, study): content_mark(path, is_genotypes=path in large)
        for path in sorted(paths)
        if path.exists() and not {study, study.resolve()} & {*_opened(path).absolute().parents}
    }


def file_key(path: Path | str, study: Path) -> str:
    """Return the key of a file in notes: a relative path is relative to the folder that holds `results`."""
    opened, folder = _opened(path), study.parents[1]
    if Path(path).is_absolute():
        return FILE + str(opened)
    return FILE + os.path.relpath(opened, folder.resolve() if opened.is_absolute() else folder)


def _opened(path: Path | str) -> Path:
    """Return the path of the opened file without `..`, which after a link leads out of the link's target."""
    path = Path(path)
    return path.parent.resolve() / path.name if ".." in path.parts else path


def require_unchanged(marks: Mapping[str, Collection[str]], *, study: Path) -> None:
    """Refuse files that do not hold what they held when the study read them, by the marks in notes.

    A folder with a file that cannot be read has no digest, and is refused, too.
    """
    for key, noted in marks.items():
        name = key.removeprefix(FILE)
        is_genotypes = any(mark.startswith(BY_TIME) for mark in noted)
        if ABSENT in noted or {*noted} != {content_mark(study.parents[1] / name, is_genotypes=is_genotypes)}:
            raise changed_file(key)


def file_versions(paths: Iterable[Path]) -> dict[Path, tuple[int, ...]]:
    """Return the inode and the times of change of files and of all files of folders, by their paths.

    No program sets the time of an inode's change back, so two equal versions are of one content.
    """
    every = [file for path in paths for file in (path, *path.rglob("*"), *files_below(path))]
    stats = {path: path.stat() for path in every if path.exists()}
    return {
        path: (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in stats.items()
    }


def require_same_versions(versions: Mapping[Path, tuple[int, ...]], paths: Iterable[Path]) -> None:
    """Refuse to charge, publish or export if a file was replaced or written since its note was compared.

    The versions, from `file_versions`, are of the time before the notes were compared.
    """
    for path in paths:
        now = file_versions([path])
        if now != {file: versions.get(file) for file in now} or (path in versions) != path.exists():
            raise DpgrsError(
                "file-written-meanwhile",
                f"`{path}` must stay as it is until it is charged for, published or exported, got a file "
                "written meanwhile. Nothing of that was done. Run one study at a time in a folder, and "
                "run it again.",
            )


def changed_file(key: str) -> DpgrsError:
    """Return the error that a file of the user's has changed."""
    return DpgrsError(
        "input-file-changed",
        f"`{key.removeprefix(FILE)}` must be as it was when the study read it, got a file that has changed. "
        "Run the study again: it reads the file anew. If the ledger was charged for the earlier one, put "
        "that back first: other data are refused under this `dataset.version`. With `cohort.in_turn` "
        "genotype files that were removed must be back for that. After `--touch`, or if the clock was set "
        "back meanwhile, add `--forceall`.",
    )


def stamps_of(
    paths: Iterable[Path | str], *, private: Path | str, is_genotypes: bool = False, writes: bool = True
) -> list[str]:
    """Return the stamps of the user's own files among the inputs of a rule; each file is read once in a run.

    Files that the study makes need no stamp. Other arguments are as in `stamp_input`. Tables beside genotypes
    have stamps of their own.
    """
    study, every = Path(private).parent, [Path(path) for path in paths]
    user_files = [path for path in every if ".." in path.parts or study not in path.parents]
    tables = [path for path in _with_companions(user_files) if path not in user_files] if is_genotypes else []
    options = {"private": private, "writes": writes}
    return [
        *(_stamp_once(path, is_genotypes=is_genotypes, **options) for path in user_files),
        *(_stamp_once(path, **options) for path in tables),
    ]


def stamp_input(
    path: Path | str, *, private: Path | str, is_genotypes: bool = False, writes: bool = True
) -> str:
    """Return the path of a small file that is written whenever the content of the user's file is new.

    Rules take it as an input, so that Snakemake runs them again. It lies in the private folder of the study.
    Jobs do not write it, and only name it.
    """
    name = hashlib.sha256(f"{path} {is_genotypes}".encode()).hexdigest()[:16]
    stamp = Path(private, STAMPS, f"{name}.json")
    if writes:
        _write_stamp(stamp, str(path), content_mark(path, is_genotypes=is_genotypes))
    return str(stamp)


_stamp_once = cache(stamp_input)


def _with_companions(genotypes: Sequence[Path | str]) -> list[Path]:
    from dpgrs.io.genotype_files import with_companions  # brings numba

    return with_companions(genotypes)


def _write_stamp(stamp: Path, path: str, mark: str) -> None:
    """Write a stamp if the mark is new."""
    content = json.dumps([path, mark]).encode()
    earlier = stamp.read_bytes() if stamp.is_file() else None
    if content == earlier:
        # After the clock was set back, a file dated in the future would be newer than all files made of it.
        if stamp.stat().st_mtime > (now := time.time()):
            os.utime(stamp, (now, now))
        return
    # A file that a rule has made since is newer than all files that were made of it before.
    made_since = stamp.stat().st_mtime_ns if earlier == json.dumps([path, ABSENT]).encode() else None
    stamp.parent.mkdir(parents=True, exist_ok=True)
    write_closed(stamp, content)
    if made_since is not None:
        os.utime(stamp, ns=(made_since, made_since))
