"""Notes of the settings that private files were made by, and what a release refuses by them."""

import errno
import fcntl
import hashlib
import json
import os
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.config.study import StudyConfig
from dpgrs.errors import DpgrsError
from dpgrs.study.made_by import (
    made_otherwise,
    note,
    note_of,
    only_writer,
    own_settings,
    require_made_by,
    settings_along,
)
from dpgrs.study.requests import reads_of_draw
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import read_verb, settings_read
from refused import refused

RELEASE = StudyConfig.of({"mode": "release", "outcomes": {"network": None, "count": [3]}})


@pytest.fixture
def private(tmp_path, monkeypatch):
    """The private folder of a study in the working folder."""
    folder = tmp_path / "private" / "results" / "small" / "private"
    (folder / "replicate1").mkdir(parents=True)
    monkeypatch.chdir(folder.parents[2])
    return folder


def made(path, content="", *, settings=None, of=()):
    """Write a file and its note; return its path."""
    found = settings_along(settings, of, output=path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    note(path, found)
    return path


def test_note__is_of_files_of_a_study_alone(private, tmp_path):
    notes = private / "made"
    assert note_of(private / "replicate1" / "outcomes.zarr") == notes / "replicate1" / "outcomes.zarr.json"
    assert note_of(private.parent / "public" / "variants.zarr") == notes / "public" / "variants.zarr.json"
    for elsewhere in (tmp_path / "private" / "x.npz", private.parent / "report" / "index.html"):
        assert note_of(elsewhere) is None
        note(elsewhere, {"mode": ['"release"']})
    assert list(tmp_path.rglob("*.json")) == []


def test_settings_along__add_up_from_file_to_file(private):
    variant_set = made(
        private / "variants.zarr",
        "P",
        settings=StudyConfig.of({"seed": 1, "variants": {"size": [5], "maf": 0.1}}),
    )
    settings = StudyConfig.of({"seed": 1, "variants": {"maf": 0.2}})
    outcomes = made(private / "replicate1" / "outcomes.zarr", settings=settings, of=[variant_set])
    found = settings_along(None, [outcomes], output=private / "next.npz")
    contents = {key: found.pop(key) for key in list(found) if key.startswith("content of ")}
    assert found == {"variants.maf": ["0.1", "0.2"], "variants.size": ["[5]"], "seed": ["1"]}
    assert contents["content of private/variants.zarr"] == [hashlib.sha256(b"P").hexdigest()]
    assert list(contents) == [
        "content of private/replicate1/outcomes.zarr",
        "content of private/variants.zarr",
    ]
    note(outcomes, None)
    found = settings_along(None, [outcomes], output=private / "next.npz")
    name = "private/replicate1/outcomes.zarr"
    assert list(found) == [f"content of {name}", f"note of {name}"]


def test_settings_along__of_public_files_are_not_those_of_private_ones(private):
    """People of the reference have lists of their own."""
    public = private.parent / "public"
    store = made(public / "store" / "21.zarr", settings=StudyConfig.of({"people": {"keep": None}, "seed": 1}))
    sites = made(public / "sites.tsv", settings=StudyConfig.of({"variants": {"maf": 0.1}}), of=[store])
    assert {"people.keep", "seed", "variants.maf"} <= set(
        settings_along(None, [sites], output=public / "ld.npz")
    )
    found = settings_along(None, [sites], output=private / "variants.zarr")
    assert list(found) == ["content of public/sites.tsv", "content of public/store/21.zarr"]


def test_settings_along__shards_tell_by_what_they_are_made_of(private):
    outcomes = made(private / "replicate1" / "outcomes.zarr", "Y")
    found = [
        settings_along(
            None,
            [made(private / "replicate1" / "shards" / name, name, of=[outcomes])],
            output=private / "replicate1" / "statistics.npz",
        )
        for name in ("1_of_1.npz", "1_of_2.npz")
    ]
    assert list(found[0]) == ["content of private/replicate1/outcomes.zarr"]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("made_by", "words"),
    [
        ({"mode": ['"benchmark"']}, "got others of mode"),
        ({"mode": ['"benchmark"', '"release"']}, "got others of mode"),
        ({"variants.maf": ["0.1", "0.2"]}, r"got others of variants\.maf"),
        ({"outcomes.network.width": ["3"]}, r"got others of outcomes\.network\.width"),
        ({"outcomes": ["null"]}, "got others of outcomes"),
        (None, "must have a note of how it was made, as it is now, got none"),
    ],
)
def test_require_made_by__raise_on_other_settings_or_none(private, made_by, words):
    statistics = private / "replicate1" / "statistics.npz"
    note(statistics, made_by)
    with pytest.raises(DpgrsError, match=words):
        require_made_by(RELEASE, [statistics])


def test_require_made_by__raise_on_what_lies_in_no_study(tmp_path):
    with refused("note-missing"):
        require_made_by(RELEASE, [tmp_path / "closed" / "statistics.npz"])


def test_require_made_by__takes_what_its_own_settings_made(private):
    sites = made(private.parent / "public" / "sites.tsv", settings=StudyConfig.of({"people": {"keep": None}}))
    settings = StudyConfig.of({"mode": "release", "outcomes": {"count": [3]}, "variants": {"maf": 0.1}})
    people = made(private / "people.txt", settings=settings)
    statistics = made(private / "replicate1" / "statistics.npz", settings=settings, of=[sites, people])
    own = StudyConfig.of({"mode": "release", "outcomes": {"count": [3]}, "people": {"keep": "list.txt"}})
    require_made_by(own, [statistics, sites])


@pytest.mark.parametrize("key", ["keep", "remove", "related", "consent"])
def test_require_made_by__raise_on_people_whom_no_list_has_chosen(private, key):
    """As of a chromosome that was ingested by hand, without `--people`."""
    value = {"file": "list.tsv"} if key == "consent" else "list.tsv"
    settings = StudyConfig.of({"mode": "release", "people": {key: value}})
    statistics = made(private / "replicate1" / "statistics.npz", settings=settings)
    with refused("made-of-other-people", "`people`"):
        require_made_by(settings, [statistics])


def test_require_made_by__raise_on_public_files_of_other_settings(private):
    settings = StudyConfig.of({"public": {"reference": "cohort.vcf.gz"}})
    sites = made(private.parent / "public" / "sites.tsv", settings=settings)
    own = StudyConfig.of({"mode": "release", "public": {"reference": "published.vcf.gz"}})
    with refused("made-by-other-settings", "sites.tsv", "public.reference"):
        require_made_by(own, [sites])


@pytest.mark.parametrize("changed", ["outcomes", "sites"])
def test_require_made_by__raise_on_files_that_were_not_made_from_each_other(private, changed):
    """A scale of outcomes is a table, which no setting tells of."""
    sites = made(private.parent / "public" / "sites.tsv", "1\t100\n")
    outcomes = made(private / "replicate1" / "outcomes.zarr", "Y", of=[sites])
    statistics = made(private / "replicate1" / "statistics.npz", "YX", of=[outcomes, sites])
    require_made_by(RELEASE, [outcomes, statistics, sites])
    if changed == "outcomes":
        made(outcomes, "2 Y", of=[sites])
    else:
        made(sites, "1\t200\n")
    with refused("made-from-several-files"):
        require_made_by(RELEASE, [outcomes, statistics, sites])


def test_require_made_by__raise_on_files_on_the_way_without_a_note(private):
    variant_set = private / "variants.zarr"
    variant_set.write_text("P")
    outcomes = made(private / "replicate1" / "outcomes.zarr", "Y", of=[variant_set])
    with refused("notes-of-inputs-missing", "private/variants.zarr", "`--forceall`"):
        require_made_by(RELEASE, [made(private / "replicate1" / "statistics.npz", "YX", of=[outcomes])])


def test_require_made_by__raise_on_a_variant_set_of_no_public_sites(private):
    """Its own people have chosen it."""
    sites = made(private.parent / "public" / "sites.tsv", "1\t100\n")
    variant_set = made(private / "variants.zarr", "P")
    with refused("made-without-public-sites", "variants.zarr"):
        require_made_by(RELEASE, [variant_set, sites])


def test_settings_along__what_is_there_to_be_read_alone_tells_nothing(private):
    """Such as counts, which the step itself may write."""
    variant_set = made(private / "variants.zarr", "P")
    counts = private / "qc.tsv"
    counts.write_text("21\t5\n")
    found = settings_along(
        None, [variant_set, counts, private / "absent.npz"], output=private / "outcomes.zarr"
    )
    assert list(found) == ["content of private/variants.zarr"]


def test_settings_along__a_study_may_be_named_as_parts_of_it_are(tmp_path):
    variant_set = made(tmp_path / "results" / "shards" / "private" / "variants.zarr", "P")
    assert list(settings_along(None, [variant_set], output=variant_set)) == [
        "content of private/variants.zarr"
    ]


def draw_of(private, settings, *options, mode="release"):
    """Run a draw of a release from files of which there are but the notes, by a mode; return its result."""
    replicate = private / "replicate1"
    for name in ("outcomes.zarr", "statistics.npz"):
        note(replicate / name, {"mode": [json.dumps(mode)]})
    what = [str(replicate / "outcomes.zarr"), "--mechanism", "reusecov-statistics"]
    what += ["--statistics", str(replicate / "statistics.npz"), "--output", str(replicate / "drawn.npz")]
    what += ["--events", str(replicate / "events.json"), *options]
    read = settings_read(settings, "draw", reads_of_draw(settings, "reusecov-statistics"))
    return CliRunner().invoke(main, ["draw", "--settings", read, *what])


def settings_of_release():
    """Settings that no check has seen."""
    return resolve({"mode": "benchmark", "methods": ["reusecov-gauss"]}).changed(mode="release")


@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_draw__charges_for_nothing_that_a_benchmark_made(private, mode):
    """It is refused before anything is read."""
    found = draw_of(private, settings_of_release(), mode=mode)
    assert found.exit_code != 0
    assert ("got others of mode" in found.output) == (mode == "benchmark")


@pytest.mark.parametrize(
    "name", ["effects.npz", "ld.npz", "variants.zarr", "replicate1/outcomes.zarr", "covariates.npz"]
)
def test_draw__charges_for_nothing_that_a_later_step_would_refuse(private, name):
    path = private.parent / "public" / name
    for mode in ("benchmark", "release"):
        note(path, {"mode": [json.dumps(mode)]})
        found = draw_of(private, settings_of_release(), "--public-files", str(path))
        assert found.exit_code != 0
        assert (f"{name}` must be made by the settings" in found.output) == (mode == "benchmark")
    found = draw_of(private, settings_of_release(), "--public-files", str(private / name))
    assert "must be a public file" in found.output


@pytest.mark.parametrize("verb", ["draw", "measure-release"])
def test_verbs_of_a_release__charge_for_all_public_files_that_they_take(verb):
    found = read_verb(verb)
    public = {"sites", "loadings", "ld", "effects", "audit"} & {one.name for one in found.parameters}
    assert {"sites", "ld", "audit"} <= public <= set(found.rests_on)
    assert found.charges


def test_require_made_by__raise_on_a_file_that_is_not_the_one_of_its_note(private):
    """Half-written, edited, or of another study, whatever its time."""
    statistics = made(private / "replicate1" / "statistics.npz", "YX", settings=RELEASE)
    require_made_by(RELEASE, [statistics])
    for content in ("Y", "", "other"):
        statistics.write_text(content)
        with refused("note-missing", "statistics.npz"):
            require_made_by(RELEASE, [statistics])
    statistics.write_text("YX")
    require_made_by(RELEASE, [statistics])


def test_require_made_by__raise_on_a_file_on_the_way_that_was_replaced(private):
    """The shard of another study has a note, and this is no note on it."""
    shard = made(private / "replicate1" / "shards" / "1_of_2.npz", "S", settings=RELEASE)
    shard.write_text("other")
    statistics = made(private / "replicate1" / "statistics.npz", "YX", settings=RELEASE, of=[shard])
    with refused("notes-of-inputs-missing", "private/replicate1/shards/1_of_2"):
        require_made_by(RELEASE, [statistics])


def test_require_made_by__raise_on_files_of_other_code(private, monkeypatch):
    """Also of a step far back on the way."""
    variant_set = private / "variants.zarr"
    found = settings_along(None, [], output=variant_set, verb="make-variants")
    variant_set.write_text("P")
    note(variant_set, found)
    statistics = made(private / "replicate1" / "statistics.npz", "YX", of=[variant_set])
    require_made_by(RELEASE, [statistics])
    monkeypatch.setattr("dpgrs.study.made_by.code_read", lambda verb: "of another version")
    with refused("made-by-another-version", "make-variants"):
        require_made_by(RELEASE, [statistics])


@pytest.mark.parametrize(
    ("verb", "metrics", "is_refused"),
    [
        ("draw", None, False),
        ("measure-release", "charged", False),
        ("measure-release", "public", True),
        ("fit-weights", None, True),
    ],
)
def test_require_made_by__of_what_draws_the_version_of_mechanisms_counts(
    private, monkeypatch, verb, metrics, is_refused
):
    """An update of the code must draw nothing anew."""
    path = private / "replicate1" / "drawn" / "x.npz"
    settings = StudyConfig.of({"mode": "release", "evaluation": {"metrics": metrics}})
    found = settings_along(settings, [], output=path, verb=verb)
    path.parent.mkdir()
    path.write_text("X")
    note(path, found)
    monkeypatch.setattr("dpgrs.study.made_by.code_read", lambda verb: "of another version")
    if is_refused:
        with refused("made-by-another-version", verb):
            require_made_by(settings, [path])
    else:
        require_made_by(settings, [path])
    monkeypatch.setattr("dpgrs.privacy.accounting.events.MECHANISM_VERSION", 0)
    with refused("made-by-another-version", verb):
        require_made_by(settings, [path])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"seed": 1}, "got others of seed"),
        ({"mode": "benchmark"}, "got others of mode"),
        ({"release": {"audit_draws": 101}}, r"got others of release\.audit_draws"),
        ("code", "got another code of audit"),
        ("content", "must have a note of how it was made, as it is now"),
    ],
)
def test_audit__is_published_with_the_code_and_the_settings_that_made_it(
    private, monkeypatch, changed, words
):
    path = private.parent / "public" / "audit.json"
    what = ["--mechanism", "private_count", "--of-releases", "--draws", "100", "--output", str(path)]
    monkeypatch.setattr("dpgrs.steps.audit.run_audit", lambda *_, **__: {"is_within_claim": True})
    assert CliRunner().invoke(main, ["--quiet", "audit", *what]).exit_code == 0
    settings = {"mode": "release", "seed": 0, "release": {"audit_draws": 100}}
    if changed == "code":
        monkeypatch.setattr("dpgrs.study.made_by.code_read", lambda verb: "of another version")
    elif changed == "content":
        path.write_text("[]")
    else:
        settings |= changed
    with nullcontext() if words is None else pytest.raises(DpgrsError, match=words):
        require_made_by(StudyConfig.of(settings), [path])
    assert "audit" in read_verb("write-release").rests_on


def test_audit__that_fails_has_no_note(private, monkeypatch):
    path = private.parent / "public" / "audit.json"
    note(path, {})
    monkeypatch.setattr("dpgrs.steps.audit.run_audit", lambda *_, **__: {"is_within_claim": False})
    monkeypatch.setattr("dpgrs.steps.audit.require_within_claims", fail)
    what = ["--mechanism", "private_count", "--of-releases", "--output", str(path)]
    assert CliRunner().invoke(main, ["--quiet", "audit", *what]).exit_code == 1
    assert path.exists()
    assert not note_of(path).exists()


def fail(findings):
    raise DpgrsError("audit-failed", "An audit failed.")


def test_only_writer__raise_where_another_process_makes_the_file(private):
    path = private / "statistics.npz"
    with only_writer(path):
        with refused("two-processes"), only_writer(path):
            pass
        with only_writer(private / "panel.zarr"):
            assert len([*note_of(path).parent.glob("*.lock")]) == 2
    assert [*note_of(path).parent.glob("*.lock")] == []
    with only_writer(path):
        pass


def test_only_writer__raise_on_a_lock_that_is_removed_meanwhile(private, monkeypatch):
    """Its file is no longer there: a third process would lock another one."""
    path, flock = private / "statistics.npz", fcntl.flock

    def locked_late(descriptor, kind):
        note_of(path).with_suffix(".lock").unlink()
        flock(descriptor, kind)

    monkeypatch.setattr("dpgrs.study.made_by.fcntl.flock", locked_late)
    with refused("two-processes"), only_writer(path):
        pass


def test_only_writer__takes_a_file_system_without_locks(private, monkeypatch):
    def no_locks(descriptor, kind):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr("dpgrs.study.made_by.fcntl.flock", no_locks)
    with only_writer(private / "statistics.npz"):
        pass


def test_verbs__two_processes_make_no_file_at_once(private, monkeypatch):
    """As without Snakemake's lock: the note of the first would be of the file of the second."""
    path, said = private / "people.txt", []

    def step(*_, output, **__):
        if not said:
            said.append(None)
            said[0] = run_choose(path)
        output.write_text("made\n")

    monkeypatch.setattr("dpgrs.steps.choose_people.choose_people", step)
    monkeypatch.chdir(private.parents[2])
    (private.parents[2] / "cohort.vcf").write_text("##\n")
    assert run_choose(path).exit_code == 0
    assert said[0].exit_code == 1
    assert "people.txt` must be made by one process at a time" in said[0].output
    assert note_of(path).exists()


def run_choose(path, *options):
    settings = settings_read(resolve({}), "choose-people")
    return CliRunner().invoke(
        main, ["choose-people", "--settings", settings, "cohort.vcf", "--output", str(path), *options]
    )


@pytest.mark.parametrize(("place", "options"), [("private", ["--is-reference"]), ("public", [])])
def test_verbs__raise_on_the_reference_among_the_people_of_the_study(private, place, options):
    """Of the reference hard calls are read, and its tables have fewer checks."""
    (private.parents[2] / "cohort.vcf").write_text("##\n")
    found = run_choose(private.with_name(place) / "people.txt", *options)
    assert found.exit_code == 2
    assert "`--is-reference` must be given if and only if the output is a public file" in found.output


@pytest.mark.parametrize("verb", ["draw", "measure-release", "write-release"])
def test_verbs_of_a_release__raise_in_another_folder(private, monkeypatch, verb):
    """There relative paths of settings name other tables, and other records of Snakemake are read."""
    config = resolve({"mode": "benchmark", "methods": ["reusecov-gauss"]}).changed(mode="release")
    (private / "settings.json").write_text(json.dumps(config.as_dict()))
    path, output = str(private / "x"), ["--output", str(private / "y")]
    places = {
        "draw": [path, "--mechanism", "reusecov-statistics", "--events", path, *output],
        "measure-release": [path, path, path, "--accuracy", path, "--events", path, *output],
        "write-release": [str(private.with_name("public") / "sites.tsv"), path, path, path, *output],
    }
    given = settings_read(config, verb) if verb != "write-release" else str(private / "settings.json")
    options = [given] if verb == "write-release" else ["--settings", given]
    monkeypatch.chdir(private)
    found = CliRunner().invoke(main, [verb, *options, *places[verb]])
    assert found.exit_code == 2
    assert "The step must run in the folder that holds `results` of its study" in found.output


def test_made_otherwise__finds_files_of_other_settings(private):
    statistics = made(
        private / "replicate1" / "statistics.npz", settings=StudyConfig.of({"mode": "benchmark"})
    )
    made(private / "variants.zarr", settings=RELEASE)
    sites = made(
        private.parent / "public" / "sites.tsv", settings=StudyConfig.of({"outcomes": {"count": [4]}})
    )
    # Lists of people of the reference are none of the study's.
    made(private.parent / "public" / "people.txt", settings=StudyConfig.of({"people": {"keep": 1}}))
    own = own_settings(StudyConfig.of(RELEASE.as_dict() | {"people": {"keep": None}}))
    assert made_otherwise(own, private=private) == {sites: ["outcomes.count"], statistics: ["mode"]}
    assert made_otherwise({"mode": own["mode"]}, private=private) == {statistics: ["mode"]}
    statistics.unlink()
    assert list(made_otherwise(own_settings(RELEASE), private=private)) == [sites]


def test_verbs_of_a_release__rest_on_all_that_others_of_them_write():
    """What is measured or published is held against its notes, and every file of these has one."""
    assert read_verb("measure-release").writes == ("output", "accuracy")
    assert {"drawn", "weights"} <= set(read_verb("measure-release").rests_on)
    found = read_verb("write-release")
    assert {"drawn", "weights", "accuracy"} <= set(found.rests_on)
    assert found.writes == ("output",)
    for name in ("draw", "measure-release", "write-release"):
        verb = read_verb(name)
        assert {*verb.rests_on, *verb.writes} <= {one.name for one in verb.parameters}
        assert not {*verb.rests_on} & {*verb.writes}
        assert verb.charges


def test_require_made_by__raise_on_a_public_file_that_private_ones_made(private):
    """As outcomes of the cohort that were written to the folder of the public reference."""
    public = private.parent / "public"
    store = made(public / "variants.zarr", "calls")
    require_made_by(StudyConfig.of({}), [made(public / "replicate1" / "outcomes.zarr", "values", of=[store])])
    cohort = made(private / "variants.zarr", "calls")
    outcomes = made(public / "replicate1" / "outcomes.zarr", "values", of=[cohort])
    with refused("made-from-private-file", "private/variants.zarr"):
        require_made_by(StudyConfig.of({}), [outcomes])
