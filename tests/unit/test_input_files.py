"""Lists and tables that change under an older time: nothing is charged for what was made from them before."""

import importlib
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.config.study import PATHS, PATTERN_KEYS
from dpgrs.io.files import files_below, folder_digest
from dpgrs.io.json_files import read_json
from dpgrs.io.sealed_zarr import fingerprint
from dpgrs.study.input_files import (
    ABSENT,
    BY_TIME,
    IDENTITY_TABLES,
    LARGE,
    TABLES,
    changed_file,
    content_mark,
    content_marks,
    file_key,
    file_versions,
    require_unchanged,
    stamp_input,
    stamps_of,
)
from dpgrs.study.made_by import note, note_of, require_made_by
from dpgrs.study.requests import reads_of_draw
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import settings_read
from plink_sets import write_bed
from refused import refused

LISTED = "listed.tsv"
CHOOSE_PEOPLE = ("choose-people", "cohort.vcf")
CHOOSE_SITES = ("choose-sites", "--qc", "qc.tsv")
MAKE_OUTCOMES = ("make-outcomes", "--replicate", "1", "variants.zarr")
INGEST = ("ingest-chromosome", "--chromosome", "1")
MAKE_COVARIATES = ("make-covariates", "variants.zarr")
# The verb that reads the file of each setting, and its arguments. Without `LISTED` settings name the file.
READ_BY = {
    "cohort.sums": ("take-sums", LISTED, "--sites", "sites.tsv"),
    "cohort.table": ("make-table-variants", LISTED, "--ranges", "ranges.tsv"),
    "cohort.ranges": ("make-table-variants", "table.tsv", "--ranges", LISTED),
    "people.keep": CHOOSE_PEOPLE,
    "people.remove": CHOOSE_PEOPLE,
    "people.consent.file": CHOOSE_PEOPLE,
    "people.related": CHOOSE_PEOPLE,
    "outcomes.file": (*MAKE_OUTCOMES, "--table", LISTED),
    "outcomes.scales": (*MAKE_OUTCOMES, "--scales", LISTED),
    "outcomes.loadings": (*MAKE_OUTCOMES, "--loadings", LISTED),
    "covariates.file": (*MAKE_COVARIATES, "--table", LISTED),
    "covariates.scales": (*MAKE_COVARIATES, "--scales", LISTED),
    "evaluation.outcomes": (*MAKE_OUTCOMES, "--table", LISTED),
    "evaluation.covariates": (*MAKE_COVARIATES, "--table", LISTED),
    "public.sites": CHOOSE_SITES,
    "public.frequencies": CHOOSE_SITES,
    "public.keep": CHOOSE_PEOPLE,
    "public.effects": ("match-effects", LISTED),
}
# Of benchmarks, or words about a release: nothing that is charged follows from them.
UNCHARGED = {"cohort.populations", "cohort.copies.map", "outcomes.traits"}


@pytest.fixture
def private(tmp_path, monkeypatch):
    """The private folder of a study, in the working folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "small" / "private"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def write_old(path, text, *, year=2020):
    """Write a file with a time that is long past."""
    path.write_text(text)
    seconds = (year - 1970) * 31_557_600
    os.utime(path, (seconds, seconds))


def with_setting(key, value):
    """Return the resolved settings of a release with one key given."""
    if key == "public.effects":
        value = [value]
    for name in reversed(key.split(".")):
        value = {name: value}
    return resolve({"methods": ["reusecov-gauss"]} | value).changed(mode="release")


def run_verb(monkeypatch, config, verb, *arguments, output, step=lambda: None):
    """Run a verb whose step writes one line, after `step` was called."""
    own = verb.replace("-", "_")

    def write(*_, output, **__):
        step()
        output.write_text("made\n")

    monkeypatch.setattr(importlib.import_module(f"dpgrs.steps.{own}"), own, write)
    given = [verb, "--settings", settings_read(config, verb), "--output", str(output)]
    return CliRunner().invoke(main, [*given, *arguments])


def charge(private, config, *files):
    """Ask for a draw from files of the study; return what the console says."""
    note(private / "outcomes.zarr", {"mode": ['"release"']})
    settings = settings_read(config, "draw", reads_of_draw(config, "reusecov-statistics"))
    outputs = ["--output", str(private / "drawn.npz"), "--events", str(private / "events.json")]
    what = ["--mechanism", "reusecov-statistics", "--statistics", str(private / "statistics.npz")]
    found = CliRunner().invoke(
        main, ["draw", "--settings", settings, str(private / "outcomes.zarr"), *what, *outputs, *files]
    )
    assert found.exit_code != 0
    return found.output


def test_tables__are_all_settings_of_files_but_genotypes():
    genotypes = {*PATTERN_KEYS, "public.reference", *(key for key in PATHS if key.startswith("score."))}
    assert set(TABLES) == {*PATHS} - genotypes - {"privacy.ledger"}
    assert READ_BY.keys() | UNCHARGED == set(TABLES)
    assert set(IDENTITY_TABLES) > {"people.consent.file", "outcomes.scales", "covariates.file"}


@pytest.mark.parametrize("key", READ_BY)
def test_draw__is_not_charged_after_a_list_has_changed(private, monkeypatch, key):
    listed, statistics = private.parents[2] / LISTED, private / "statistics.npz"
    write_old(listed, "a\t1\n")
    config = with_setting(key, LISTED)
    found = run_verb(monkeypatch, config, *READ_BY[key], output=statistics)
    assert found.exit_code == 0, found.output
    assert "must be as it was when the study read it" not in charge(private, config)
    write_old(listed, "a\t0\n", year=2019)
    assert "`listed.tsv` must be as it was when the study read it, got a file" in charge(private, config)
    listed.unlink()
    assert "`listed.tsv` must be as it was when the study read it, got a file" in charge(private, config)


def test_draw__is_not_charged_without_the_loadings_of_its_components(private):
    """Only the bundle would miss them, and a draw with them would be another request."""
    sites = ("--sites", str(private.parent / "public" / "sites.tsv"))
    said = "`--loadings` must be given for `covariates.pcs`"
    assert said in charge(private, with_setting("covariates.pcs", 2), *sites)
    assert said not in charge(private, with_setting("covariates.pcs", 0), *sites)


@pytest.mark.parametrize("key", IDENTITY_TABLES)
def test_require_made_by__raise_on_a_list_that_was_not_read(private, key):
    """The ledger's identity of a request names it, and other settings made the files."""
    sites = private.parent / "public" / "sites.tsv"
    sites.parent.mkdir()
    sites.write_text("sites\n")
    note(sites, {})
    (private.parents[2] / "listed.tsv").write_text("a\t1\n")
    config = with_setting(key, "listed.tsv")
    with refused("file-not-read-by-study", "`listed.tsv`"):
        require_made_by(config, [sites])


# What a study says of its data, and of which file it was made: none is simulated.
OTHER_FILES = {
    "genotypes": ({"cohort": {"source": "vcf", "vcf": "{chrom}.vcf.gz"}}, "earlier.vcf.gz", "21.vcf.gz"),
    "simulated genotypes": ({"cohort": {"source": "vcf", "vcf": "{chrom}.vcf.gz"}}, None, "21.vcf.gz"),
    "a table of .bim": ({"cohort": {"source": "plink", "plink": "set"}}, "set.bed", "set.bim"),
    "outcomes": ({"outcomes": {"source": "file", "file": "y.tsv"}}, "earlier.tsv", "y.tsv"),
    "simulated outcomes": ({"outcomes": {"source": "file", "file": "y.tsv"}}, None, "y.tsv"),
    "sums": ({"cohort": {"sums": "sums.npz"}}, None, "sums.npz"),
}


@pytest.mark.parametrize("case", OTHER_FILES)
def test_require_made_by__raise_where_the_files_of_the_settings_were_not_read(private, case):
    """Which file a step gets is no setting of it: all notes are of the release's settings."""
    config, earlier, lacking = OTHER_FILES[case]
    sites = released_sites(private, [earlier] if earlier else [], files=["21.vcf.gz", "y.tsv", "sums.npz"])
    with refused("file-not-read-by-study", lacking):
        require_made_by(of_chromosome_21(config), [sites])


@pytest.mark.parametrize("source", ["simulate", "file"])
def test_require_made_by__raise_on_files_that_the_settings_do_not_name(private, source):
    """Such as a table of outcomes that are simulated now, and what somebody else's rule has given."""
    read = "y.tsv" if source == "simulate" else "earlier.tsv"
    sites = released_sites(private, ["21.vcf.gz", "y.tsv", read], files=[])
    config = {"outcomes": {"source": source, "file": "y.tsv"}}
    config = of_chromosome_21({"cohort": {"source": "vcf", "vcf": "{chrom}.vcf.gz"}} | config)
    with refused("file-not-of-settings", read):
        require_made_by(config, [sites])


def test_require_made_by__takes_the_files_of_the_settings(private, tmp_path, monkeypatch):
    """By paths from the folder of `results` on, wherever it is asked."""
    read = ["21.vcf.gz", "y.tsv", "set.bed", "set.bim", "set.fam"]
    sites = released_sites(private, read, files=[])
    config = {"cohort": {"source": "vcf", "vcf": "./{chrom}.vcf.gz"}, "public": {"reference": "set.bed"}}
    config = of_chromosome_21(config | {"outcomes": {"source": "file", "file": "y.tsv"}})
    for folder in (tmp_path, tmp_path / "results"):
        monkeypatch.chdir(folder)
        require_made_by(config, [sites])


@pytest.mark.parametrize("read", ["y.tsv", "z.tsv"])
def test_require_made_by__people_of_the_reference_have_tables_of_their_own(private, read):
    """Which of two tables that the settings name a step got is no setting of it."""
    released_sites(private, ["y.tsv", "z.tsv"], files=["21.vcf.gz"])
    outcomes, root = private.parent / "public" / "outcomes.zarr", private.parents[2]
    outcomes.mkdir()
    note(outcomes, {f"file {name}": [content_mark(root / name)] for name in ("21.vcf.gz", read)})
    drawn = private / "drawn.npz"
    drawn.write_text("drawn\n")
    note(drawn, {f"file {name}": [content_mark(root / name)] for name in ("21.vcf.gz", "y.tsv")})
    config = {"outcomes": {"source": "file", "file": "y.tsv"}, "evaluation": {"outcomes": "z.tsv"}}
    config = of_chromosome_21(config | {"cohort": {"source": "vcf", "vcf": "{chrom}.vcf.gz"}})
    if read == "z.tsv":
        require_made_by(config, [drawn, outcomes])
        return
    with refused("made-from-other-tables", "outcomes.zarr", "`evaluation`"):
        require_made_by(config, [drawn, outcomes])


def test_content_marks__of_people_of_the_reference_leave_out_tables_of_the_study(private, monkeypatch):
    """The settings of their step name it; when it changes, nothing of theirs is made anew."""
    monkeypatch.chdir(private.parents[2])
    Path("x.tsv").write_text("sample\tage\n")
    config, study = with_setting("covariates.file", "x.tsv"), private.parent.absolute()
    assert content_marks(config, [], study=study).keys() == {"file x.tsv"}
    assert content_marks(config, [], study=study, is_reference=True) == {}
    both = content_marks(config, [Path("x.tsv")], study=study, is_reference=True)
    assert both.keys() == {"file x.tsv"}


def of_chromosome_21(config):
    """Return the settings of a release of one chromosome."""
    return resolve(config).changed(mode="release", cohort={"chromosomes": ["21"]})


def released_sites(private, read, *, files):
    """Write the sites of a study that has read files, and their note."""
    root, sites = private.parents[2], private.parent / "public" / "sites.tsv"
    write_bed(root / "set")
    for name in {*read, *files} - {"set.bed", "set.bim", "set.fam"}:
        (root / name).write_text(f"{name}\n")
    sites.parent.mkdir()
    sites.write_text("sites\n")
    note(sites, {f"file {name}": [content_mark(root / name)] for name in read})
    return sites


@pytest.mark.parametrize("name", ["set.bed", "set.bim", "set.fam"])
def test_draw__is_not_charged_after_genotypes_have_changed(private, monkeypatch, name):
    folder = private.parents[2]
    write_bed(folder / "set")
    config = with_setting("cohort.plink", "set")
    found = run_verb(monkeypatch, config, "ingest-chromosome", "set.bed", output=private / "statistics.npz")
    assert found.exit_code == 0, found.output
    assert "must be as it was" not in charge(private, config)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(folder / name, (0, 0))
    assert f"`{name}` must be as it was when the study read it" in charge(private, config)


def test_content_mark__of_large_genotypes_is_size_and_time(tmp_path):
    path = tmp_path / "cohort.vcf"
    with path.open("wb") as file:
        file.truncate(LARGE)
    mark = content_mark(path, is_genotypes=True)
    assert mark.startswith(BY_TIME)
    assert len(content_mark(path)) == 64
    with path.open("r+b") as file:
        file.truncate(LARGE + 1)
    assert content_mark(path, is_genotypes=True) != mark
    longer = content_mark(path, is_genotypes=True)
    os.utime(path, (0, 0))
    assert content_mark(path, is_genotypes=True) != longer
    assert content_mark(tmp_path / "none") == ABSENT


def test_ingest__raise_on_a_list_that_changes_meanwhile(private, monkeypatch):
    folder, store = private.parents[2], private / "store.zarr"
    write_old(folder / "keep.txt", "a\n")
    (folder / "cohort.vcf").write_text("##\n")
    config = with_setting("people.keep", "keep.txt")
    found = run_verb(
        monkeypatch,
        config,
        *INGEST,
        "cohort.vcf",
        output=store,
        step=lambda: write_old(folder / "keep.txt", "b\n"),
    )
    assert "`keep.txt` must be as it was when the study read it" in found.output
    assert found.exit_code == 1
    assert not note_of(store).exists()


def test_sum__raise_on_outcomes_that_another_run_replaces_meanwhile(private, monkeypatch):
    """As without Snakemake's lock; the note would be of outcomes that come back later, by these settings."""
    variant_set, outcomes = private / "variants.zarr", private / "outcomes.zarr"
    for path in (variant_set, outcomes):
        path.write_text("of this run\n")
        note(path, {"mode": ['"release"']})

    def replace_outcomes():
        outcomes.write_text("of another run\n")
        note(outcomes, {"mode": ['"benchmark"']})

    config, statistics = resolve({}).changed(mode="release"), private / "statistics.npz"
    what = ("compute-statistics", str(variant_set), str(outcomes))
    found = run_verb(monkeypatch, config, *what, output=statistics, step=replace_outcomes)
    assert "statistics.npz` is made from must stay as it is meanwhile, got other files" in found.output
    assert found.exit_code == 1
    assert not note_of(statistics).exists()


def same_again(path):
    """Put a file with the same content and times in the place of a file."""
    stat, copy = path.stat(), path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    copy.replace(path)


def write_again(path):
    """Write the same content into a file, and set its time back."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=times)


CHARGES = {
    "draw": ("--mechanism", "reusecov-statistics", "--statistics", "{}/statistics.npz", "{}/outcomes"),
    "measure-release": ("{}/drawn.npz", "{}/outcomes", "{}/statistics.npz", "--accuracy", "{}/accuracy.npz"),
}
SCALES = "../../../scales.tsv"  # which the step reads by itself


@pytest.mark.parametrize("verb", CHARGES)
@pytest.mark.parametrize("change", [same_again, write_again, Path.unlink, None])
@pytest.mark.parametrize("name", ["statistics.npz", "outcomes/0", SCALES])
def test_charge__raise_on_what_another_run_replaces_after_its_note_was_compared(
    private, monkeypatch, verb, change, name
):
    """Also where the file of the note is back: the step may have read another one meanwhile."""
    (private / "outcomes").mkdir()
    for path in ("statistics.npz", "drawn.npz", "outcomes/0", SCALES):
        (private / path).write_text("of this run\n")
    reached = []

    def step(*_, before_charge, output, **__):
        if change is not None:
            change(private / name)
        before_charge()
        reached.append(output)

    own = verb.replace("-", "_")
    monkeypatch.setattr(importlib.import_module(f"dpgrs.steps.{own}"), own, step)
    monkeypatch.setattr("dpgrs.study.made_by.require_made_by", lambda *_: None)
    monkeypatch.setattr("dpgrs.study.input_files.require_unchanged", lambda *_, **__: None)
    folder = private.parents[2]
    monkeypatch.chdir(folder)
    outcomes = {"source": "file", "file": "table.tsv", "scales": "scales.tsv"}
    config = resolve(
        {"methods": ["reusecov-gauss"], "outcomes": outcomes, "evaluation": {"metrics": "charged"}}
    )
    settings = settings_read(config.changed(mode="release"), verb)
    files = [place.format(private.relative_to(folder)) for place in CHARGES[verb]]
    made = ["--output", "made.txt", "--events", "events.json"]
    found = CliRunner().invoke(main, [verb, "--settings", settings, *files, *made])
    assert (found.exit_code, bool(reached)) == ((0, True) if change is None else (1, False)), found.output
    if change is not None:
        named = "scales.tsv" if name == SCALES else private.relative_to(folder) / name.partition("/")[0]
        assert f"`{named}` must stay as it is until it is charged for, published or exported" in found.output


def test_ingest__raise_on_a_list_that_changed_since_people_were_chosen(private, monkeypatch):
    folder, people = private.parents[2], private / "people.txt"
    write_old(folder / "keep.txt", "a\n")
    (folder / "cohort.vcf").write_text("##\n")
    config = with_setting("people.keep", "keep.txt")
    assert run_verb(monkeypatch, config, *CHOOSE_PEOPLE, output=people).exit_code == 0
    write_old(folder / "keep.txt", "b\n")
    arguments = ["cohort.vcf", "--people", str(people)]
    found = run_verb(monkeypatch, config, *INGEST, *arguments, output=private / "store.zarr")
    assert "`keep.txt` must be as it was when the study read it" in found.output
    assert not (private / "store.zarr").exists()


def test_notes__of_the_users_files_hold_digests(private, monkeypatch):
    folder = private.parents[2]
    (folder / "keep.txt").write_text("a\n")
    (folder / "cohort.vcf").write_text("##\n")
    config = with_setting("people.keep", str(folder / "keep.txt"))
    run_verb(monkeypatch, config, *CHOOSE_PEOPLE, output=private / "people.txt")
    noted = read_json(note_of(private / "people.txt"))
    assert noted[f"file {folder / 'keep.txt'}"] == [content_mark(folder / "keep.txt")]
    assert noted["file cohort.vcf"] == [content_mark(folder / "cohort.vcf")]


def test_file_key__of_a_path_through_a_link_and_back_is_of_the_file_that_is_opened(private):
    """Not of the one that the path without `LINK/..` would name."""
    folder, study = private.parents[2], private.parent
    (folder / "elsewhere" / "within").mkdir(parents=True)
    (folder / "link").symlink_to("elsewhere/within")
    assert file_key("keep.txt", study) == "file keep.txt"
    assert file_key("link/keep.txt", study) == "file link/keep.txt"
    assert file_key("link/../keep.txt", study) == "file elsewhere/keep.txt"
    assert file_key("elsewhere/../keep.txt", study) == "file keep.txt"
    assert file_key("../keep.txt", study) == "file ../keep.txt"
    assert file_key(f"{folder}/link/../keep.txt", study) == f"file {folder}/elsewhere/keep.txt"


def test_content_marks__of_a_path_through_the_study_and_back(private):
    """Which is a file of the user's, and has a stamp."""
    folder, path = private.parents[2], "results/small/../../keep.txt"
    (folder / "keep.txt").write_text("a\n")
    marks = content_marks(None, [Path(path)], study=private.parent)
    assert marks == {"file keep.txt": content_mark(folder / "keep.txt")}
    assert len(stamps_of([path], private="results/small/private")) == 1


def test_stamp_input__is_new_when_content_is(tmp_path):
    listed = tmp_path / "keep.txt"
    write_old(listed, "a\n")

    def stamp(*, writes=True):
        return Path(stamp_input(listed, private=tmp_path / "private", writes=writes))

    path = stamp()
    assert json.loads(path.read_text()) == [str(listed), content_mark(listed)]
    assert path.stat().st_mode & 0o777 == 0o600
    os.utime(path, (1, 1))
    assert (stamp(), path.stat().st_mtime) == (path, 1)
    write_old(listed, "b\n", year=2019)
    assert (stamp(writes=False), path.stat().st_mtime) == (path, 1)
    assert stamp() == path
    assert path.stat().st_mtime > listed.stat().st_mtime + 1
    to_come = path.stat().st_mtime + 10**6
    os.utime(path, (to_come, to_come))
    assert stamp() == path
    assert listed.stat().st_mtime < path.stat().st_mtime < to_come


def test_stamp_input__of_a_file_that_a_rule_makes_is_older(tmp_path):
    """So that what was made from it in the same run is not made again in the next."""
    made = tmp_path / "made.vcf"
    path = Path(stamp_input(made, private=tmp_path / "private"))
    os.utime(path, (1, 1))
    made.write_text("##\n")
    stamp_input(made, private=tmp_path / "private")
    assert path.stat().st_mtime == 1
    assert json.loads(path.read_text()) == [str(made), content_mark(made)]


def test_require_made_by__raise_on_effects_of_fewer_files_than_the_settings_name(private, monkeypatch):
    output = private.with_name("public") / "effects.npz"
    output.parent.mkdir()
    write_old(Path(LISTED), "effects")
    write_old(Path("other.tsv"), "effects")
    one = with_setting("public.effects", LISTED)
    assert run_verb(monkeypatch, one, "match-effects", LISTED, output=output).exit_code == 0
    require_made_by(one, [output])
    with refused("made-by-other-settings", "public.effects"):
        require_made_by(one.changed(public={"effects": [LISTED, "other.tsv"]}), [output])


def test_marks__are_also_of_folders_that_a_link_in_a_store_leads_to(tmp_path):
    store, elsewhere = tmp_path / "genotypes.zarr", tmp_path / "elsewhere"
    for folder in (store, elsewhere):
        folder.mkdir()
    (store / "calls").symlink_to(elsewhere)
    seen = []
    for text in ("first", "other"):
        (elsewhere / "0").write_text(text)
        large = [content_mark(store, is_genotypes=True)]
        seen.append([fingerprint(store), folder_digest(store), file_versions([store]), *large])
    assert all(first != other for first, other in zip(*seen, strict=True))


def test_marks__are_of_folders_with_links_to_folders_on_the_way(tmp_path):
    """Two links to themselves would be followed in every order."""
    store, other = tmp_path / "genotypes.zarr", tmp_path / "other"
    for folder in (store, other):
        folder.mkdir()
    (other / "back").symlink_to(store)
    for name, target in {"self": ".", "again": ".", "other": other}.items():
        (store / name).symlink_to(target)
    for folder in (store, other):
        (folder / "0").write_text("calls")
    assert files_below(store) == [store / "0", store / "other" / "0"]


def test_require_unchanged__raise_on_a_folder_that_cannot_be_read_as_a_whole(tmp_path, monkeypatch):
    folder, study = tmp_path / "a.vcz", tmp_path / "results" / "s"
    folder.mkdir()
    (folder / "0.0").write_text("calls")

    def unreadable(path):
        raise PermissionError

    marks = content_marks(None, [], study=study, genotypes=[folder])
    require_unchanged({key: [mark] for key, mark in marks.items()}, study=study)
    monkeypatch.setattr("dpgrs.io.files.file_digest", unreadable)
    marks = content_marks(None, [], study=study, genotypes=[folder])
    with refused("input-file-changed"):
        require_unchanged({key: [mark] for key, mark in marks.items()}, study=study)


@pytest.mark.parametrize("name", ["sites", "loadings", "ld", "effects"])
def test_draw__and_what_follows_refuse_private_files_for_public_ones(private, name):
    """A bundle holds them, or says what follows from them, at no cost."""
    config, path = with_setting("cohort.plink", "set"), private / "public.npz"
    path.write_text("of the cohort\n")
    settings = private / "settings.json"
    settings.write_text(json.dumps(config.as_dict()))
    sites = path if name == "sites" else private.with_name("public") / "sites.tsv"
    rest = [str(private / "drawn.npz")] * 3
    option = [] if name == "sites" else [f"--{name}", str(path)]
    output = ["--output", str(private.with_name("release"))]
    found = CliRunner().invoke(main, ["write-release", str(settings), str(sites), *rest, *option, *output])
    assert f"`{path}` must be a public file, as nothing is charged" in found.output
    if name not in ("sites", "effects"):
        assert "must be a public file" in charge(private, config, f"--{name}", str(path))


def test_changed_file__says_that_what_was_charged_needs_the_earlier_file():
    """With the new one the ledger refuses other data under one label."""
    said = str(changed_file("file y.tsv"))
    assert "`y.tsv` must be as it was" in said
    assert "If the ledger was charged for the earlier one, put that back first" in said
