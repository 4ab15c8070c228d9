import inspect
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError
from dpgrs.privacy import private_folders
from dpgrs.privacy.private_folders import close_folder, require_closed
from dpgrs.steps.draw import draw
from dpgrs.steps.measure_release import measure_release
from refused import refused

EXACT = "results/a/private/replicate1/statistics.npz"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder in which a release is about to be charged, as the workflow leaves it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("results/a/private", ".snakemake"):
        close_folder(folder)
    Path(EXACT).parent.mkdir()
    Path(".snakemake/metadata").mkdir()
    return tmp_path


def note(name="record", *, log="results/a/private/logs/draw/1.log", checksums):
    path = Path(".snakemake/metadata", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"rule": "draw", "log": log and [log], "input_checksums": checksums}))
    return path


def digests(*names):
    return dict.fromkeys(names, f"sha256:{'0' * 64}")


def test_close_folder__of_the_user_alone_whatever_was_there(tmp_path):
    for folder in (tmp_path / "new" / "private", tmp_path):
        tmp_path.chmod(0o755)
        close_folder(folder)
        assert folder.stat().st_mode & 0o777 == 0o700


def test_close_folder__raise_where_it_stays_open_or_is_no_folder(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    with refused("folder-not-closable", "file", error=UsageError):
        close_folder(file)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    tmp_path_mode = tmp_path / "open"
    tmp_path_mode.mkdir(mode=0o755)
    with refused("folder-stays-open", "open", error=UsageError):
        close_folder(tmp_path_mode)


def test_require_closed__the_workflows_folders_pass(site):
    note(checksums={})
    # Of public files a guess confirms nothing, and records of other versions have no such key.
    note("@long/other", checksums=digests("results/b/public/sites.tsv"))
    Path(".snakemake/metadata/older").write_text('{"rule": "draw"}')
    require_closed(EXACT)


@pytest.mark.parametrize("folder", ["results/a/private", ".snakemake"])
@pytest.mark.parametrize("mode", [0o750, 0o705, 0o711])
def test_require_closed__raise_on_an_open_folder(site, folder, mode):
    Path(folder).chmod(mode)
    with refused("folder-not-closed", folder, f"{mode:o}"):
        require_closed(EXACT)


def test_require_closed__a_link_out_of_the_private_folder_leads_to_a_closed_one(site):
    away = site / "away"
    away.mkdir(mode=0o755)
    Path("results/a/private/replicate2").symlink_to(away)
    with refused("folder-not-closed", "away"):
        require_closed("results/a/private/replicate2/statistics.npz")
    away.chmod(0o700)
    require_closed("results/a/private/replicate2/statistics.npz")


@pytest.mark.parametrize(
    "record",
    [
        {"checksums": digests(EXACT)},
        # Of a table of the user's that a job of this study has read.
        {"checksums": digests("phenotypes.tsv")},
        {"checksums": digests(EXACT), "log": None},
        {"checksums": digests(EXACT), "name": "@a-long-name/in-parts"},
        {"checksums": digests(EXACT), "log": "results/b/logs/x.log"},
        # Of a benchmark in the same folder.
        {"checksums": digests("results/b/private/replicate1/x.npz")},
        {"checksums": digests("results/a/public/../private/replicate1/x.npz")},
        {"checksums": digests("public/phenotypes.tsv")},
        # As Snakemake 9.0 writes them.
        {"checksums": {EXACT: "0" * 64}},
        {"checksums": [EXACT]},
    ],
)
def test_require_closed__raise_on_digests_in_snakemakes_records(site, record):
    note(**record)
    with refused("records-with-digests", "metadata"):
        require_closed(EXACT)


@pytest.mark.parametrize("content", ["", '{"rule": ', "[]", "null", "\xff\xfe{}"])
def test_require_closed__raise_on_a_record_that_cannot_be_read(site, content, monkeypatch):
    monkeypatch.setattr(private_folders, "REREAD_AFTER", (0, 0))
    note(checksums={}).write_text(content, encoding="latin-1")
    with refused("records-with-digests"):
        require_closed(EXACT)


@pytest.mark.parametrize("checksums", [{}, digests(EXACT)])
def test_require_closed__a_record_that_snakemake_is_writing_is_read_again(site, checksums, monkeypatch):
    path = note(checksums=checksums)
    whole = path.read_text()
    path.write_text(whole[:5])
    monkeypatch.setattr(private_folders.time, "sleep", lambda _: path.write_text(whole))
    with refused("records-with-digests") if checksums else nullcontext():
        require_closed(EXACT)


def test_require_closed__a_link_in_a_public_folder_makes_nothing_public(site):
    Path(EXACT).touch()
    Path("results/a/public").mkdir()
    Path("results/a/public/x.npz").symlink_to(Path(EXACT).absolute())
    note(checksums=digests("results/a/public/x.npz"))
    with refused("records-with-digests"):
        require_closed(EXACT)


@pytest.mark.parametrize("name", ["metadata.db", "metadata.db-wal"])
def test_require_closed__raise_on_a_database(site, name):
    Path(".snakemake", name).touch()
    with refused("records-in-database", name):
        require_closed(EXACT)


def test_require_closed__without_snakemake_the_files_own_folder_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o700)
    require_closed("statistics.npz")
    tmp_path.chmod(0o755)
    with refused("folder-not-closed"):
        require_closed("statistics.npz")


PRIVATE_FILES = {
    draw: ("statistics", "variant_set", "outcomes", "output", "events"),
    measure_release: ("drawn", "weights", "outcomes", "variant_set", "accuracy", "events"),
}


@pytest.mark.parametrize(
    ("step", "name"), [(step, name) for step, names in PRIVATE_FILES.items() for name in names]
)
def test_require_closed__is_asked_for_every_private_file_of_a_step_that_charges(site, step, name):
    """Before anything is read: of the other files there is not even one."""
    (site / "open").mkdir(mode=0o755)
    settings = StudyConfig.of({"mode": "release", "evaluation": {"metrics": "charged"}})
    known = {"settings": settings, "mechanism": "adassp-statistics", "method": ["adassp"], "chromosomes": []}
    places = {one: known.get(one, "results/a/private/x") for one in inspect.signature(step).parameters}
    with refused("folder-not-closed", "open"):
        step(**places | {name: "open/x"})
