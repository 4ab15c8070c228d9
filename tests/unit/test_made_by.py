"""Notes of the settings that private files were made by, and what a release refuses by them."""

import json

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError
from dpgrs.io.files import write_text
from dpgrs.study.made_by import note, note_of, require_made_by, settings_along
from dpgrs.study.requests import reads_of_draw
from dpgrs.study.settings import resolve
from dpgrs.study.step_settings import Settings
from dpgrs.study.verbs import settings_read

RELEASE = Settings({"mode": "release", "outcomes": {"network": None, "count": [3]}})


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private" / "results" / "small" / "private"
    (folder / "trial1").mkdir(parents=True)
    return folder


def test_note__is_of_private_files_alone(private, tmp_path):
    assert note_of(private / "trial1" / "outcomes.zarr") == private / "made" / "trial1" / "outcomes.zarr.json"
    public = private.parent / "public" / "panel.zarr"
    assert note_of(public) is None
    note(public, {"mode": ['"release"']})
    assert list(tmp_path.rglob("*.json")) == []


def test_settings_along__add_up_from_file_to_file(private):
    panel, outcomes = private / "panel.zarr", private / "trial1" / "outcomes.zarr"
    note(panel, settings_along(Settings({"seed": 1, "panel": {"size": [5], "maf": 0.1}}), []))
    note(outcomes, settings_along(Settings({"seed": 1, "panel": {"maf": 0.2}}), [panel]))
    assert settings_along(None, [outcomes]) == {
        "panel.maf": ["0.1", "0.2"],
        "panel.size": ["[5]"],
        "seed": ["1"],
    }
    note(outcomes, None)
    assert settings_along(None, [outcomes]) == {}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"mode": ['"benchmark"']}, "got others of mode"),
        ({"mode": ['"benchmark"', '"release"']}, "got others of mode"),
        ({"panel.maf": ["0.1", "0.2"]}, r"got others of panel\.maf"),
        ({"outcomes.network.width": ["3"]}, r"got others of outcomes\.network\.width"),
        ({"outcomes": ["null"]}, "got others of outcomes"),
        (None, "must have a note of the settings that it was made by, got none"),
    ],
)
def test_require_made_by__raise_on_other_settings_or_none(private, made, words):
    statistics = private / "trial1" / "statistics.npz"
    note(statistics, made)
    with pytest.raises(DpgrsError, match=words):
        require_made_by(RELEASE, [statistics])


def test_require_made_by__takes_what_its_own_settings_made(private, tmp_path):
    statistics = private / "trial1" / "statistics.npz"
    note(statistics, {"mode": ['"release"'], "outcomes.count": ["[3]"], "panel.maf": ["0.1"]})
    require_made_by(RELEASE, [statistics, tmp_path / "public" / "sites.tsv"])


def test_require_made_by__raise_on_other_public_sites(private, tmp_path):
    sites, statistics = tmp_path / "sites.tsv", private / "trial1" / "statistics.npz"
    write_text(sites, "1\t100\n")
    note(statistics, settings_along(RELEASE, [sites]))
    require_made_by(RELEASE, [statistics, sites])
    write_text(sites, "1\t200\n")
    with pytest.raises(DpgrsError, match=r"got others of content of sites\.tsv"):
        require_made_by(RELEASE, [statistics, sites])


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_draw__charges_for_nothing_that_a_benchmark_made(private, mode):
    """It is refused before anything is read: of the files there are but the notes."""
    config = resolve({"mode": "benchmark", "methods": ["reusecov-gauss"]}) | {"mode": "release"}
    settings = settings_read(config, "draw", reads_of_draw(config, "reusecov-statistics"))
    trial = private / "trial1"
    for name in ("outcomes.zarr", "statistics.npz"):
        note(trial / name, {"mode": [json.dumps(mode)]})
    places = [str(trial / "outcomes.zarr"), "--statistics", str(trial / "statistics.npz")]
    made = ["--output", str(trial / "drawn.npz"), "--events", str(trial / "events.json")]
    what = ["--mechanism", "reusecov-statistics"]
    found = CliRunner().invoke(main, ["draw", "--settings", settings, *places, *what, *made])
    assert found.exit_code != 0
    assert ("got others of mode" in found.output) == (mode == "benchmark")
