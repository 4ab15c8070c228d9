"""Files that were made otherwise than the settings say are made anew for a release, or nothing is charged."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from dpgrs.io.replicates import Statistics
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.simulation.cohorts import simulate_cohort
from release_studies import SHORT_RELEASE, make_key, make_ledger
from study_runs import SNAKEFILE, command, on_console, run

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A release up to its statistics."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPGRS_STUDY_KEY", "set again by make_key")
        make_key(folder)
        make_ledger(folder / "ledger.jsonl")
        options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 5}
        simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
        run(folder, SHORT_RELEASE, "--until", "compute_statistics")
        yield folder


@pytest.fixture
def attacked(begun, tmp_path):
    return Path(shutil.copytree(begun, tmp_path / "study"))


def with_share(share):
    return SHORT_RELEASE | {"outcomes": SHORT_RELEASE["outcomes"] | {"test_share": share}}


# Of settings that the draw reads itself, and that earlier steps alone read.
OTHERS = {
    "outcomes.test_share": with_share(0.3),
    "variants.maf": SHORT_RELEASE | {"variants": SHORT_RELEASE["variants"] | {"maf": 0.2}},
}
BY_TIME = ("--rerun-triggers", "mtime")
DRAW = ("--until", "draw")


def jobs(folder, settings, *arguments):
    """Return the names of the jobs of data that would run."""
    plan = run(folder, settings, "--dry-run", *arguments, "--until", "make_outcomes").stdout
    return {
        name for name in ("ingest_chromosome", "make_variants", "make_outcomes") if f"rule {name}:" in plan
    }


def require_uncharged(folder, found, message):
    """Fail if a run was not refused with a message, or something was charged or drawn."""
    assert found.returncode in (1, 2)
    assert re.search(message, found.stdout), found.stdout
    assert "Traceback (most recent call last)" not in found.stdout
    for ledger in folder.rglob("ledger.jsonl"):
        assert Ledger(ledger).read().requests == {}
    assert not list(folder.rglob("reusecov-statistics.npz"))


def test_release__data_of_other_settings_are_made_anew(begun):
    assert jobs(begun, SHORT_RELEASE) == set()
    assert jobs(begun, with_share(0.3)) == {"make_outcomes"}
    (begun / "remove.txt").write_text("sim0001\n")
    os.utime(begun / "remove.txt", (0, 0))
    fewer = SHORT_RELEASE | {"people": {"remove": "remove.txt"}}
    assert jobs(begun, fewer, *BY_TIME) == {"ingest_chromosome", "make_variants", "make_outcomes"}
    told = run(begun, with_share(0.3), "--dry-run", *BY_TIME, "--until", "make_outcomes").stdout
    name = "results/release/private/replicate1/outcomes.zarr"
    assert (
        f"{name} was made by other settings (outcomes.test_share): unless it is made anew, nothing is" in told
    )


@pytest.mark.parametrize("key", OTHERS)
def test_release__nothing_is_charged_for_data_of_other_settings_without_their_trigger(attacked, key):
    found = run(attacked, OTHERS[key], *BY_TIME, *DRAW, check=False)
    require_uncharged(attacked, found, rf"must be made by the settings of the release, got others of {key}\.")


def test_release__overrides_between_runs_are_other_settings(attacked):
    changed = ["--config", 'variants={"size": 20, "maf": 0.2}']
    found = run(attacked, SHORT_RELEASE, *BY_TIME, *changed, *DRAW, check=False)
    require_uncharged(attacked, found, r"got others of variants\.maf\.")
    # And the same by default are made anew.
    assert "make_variants" in jobs(attacked, SHORT_RELEASE, *changed)


def test_release__no_code_of_the_working_folder_runs(attacked):
    """Such as another version, where somebody runs a study in the folder `workflow` of an older clone."""
    for name in ("dpgrs", "numpy"):
        (attacked / name).mkdir()
        (attacked / name / "__init__.py").write_text("raise SystemExit('code of the working folder')")
    forced = ("--forcerun", "make_outcomes", "--until", "make_outcomes")
    assert "rule make_outcomes:" in run(attacked, SHORT_RELEASE, *forced, is_warm=False).stdout


def test_release__without_snakemakes_records_the_notes_count(attacked):
    shutil.rmtree(attacked / ".snakemake")
    found = run(attacked, OTHERS["variants.maf"], *DRAW, check=False)
    require_uncharged(attacked, found, r"got others of variants\.maf\.")
    assert run(attacked, SHORT_RELEASE, "--until", "draw").returncode == 0
    assert len(Ledger(attacked / "ledger.jsonl").read().requests) == 2


def test_release__without_notes_nothing_is_charged(attacked):
    # Without the stamps of the user's files all would be made anew.
    made = attacked / "results" / "release" / "private" / "made"
    for path in made.rglob("*.json"):
        if "inputs" not in path.parts:
            path.unlink()
    found = run(attacked, SHORT_RELEASE, *BY_TIME, *DRAW, check=False)
    require_uncharged(attacked, found, "must have a note of how it was made, as it is now, got none")


@pytest.mark.parametrize("mode", ["remote", "subprocess"])
def test_release__nothing_is_charged_by_a_job_of_no_run(attacked, mode):
    """Its settings were never checked: here the cohort takes the place of the public reference."""
    settings = SHORT_RELEASE | {"public": {"reference": "cohort/{chrom}.vcf.gz", "origin": "a cohort"}}
    found = run(attacked, settings, "--mode", mode, *DRAW, check=False)
    require_uncharged(attacked, found, "A job of `release` must have the settings that a run has checked")


def test_release__nothing_is_charged_for_people_of_another_simulation(tmp_path, monkeypatch):
    """All but the simulation itself is made anew, by settings of more people."""
    monkeypatch.setenv("DPGRS_STUDY_KEY", "set again by make_key")
    make_key(tmp_path)
    make_ledger(tmp_path / "ledger.jsonl")
    simulation = {"people": 60, "length": 100_000, "reference_people": 60}
    cohort = {"chromosomes": ["21"], "rows": "people", "simulation": simulation}
    settings = {name: value for name, value in SHORT_RELEASE.items() if name != "public"}
    run(tmp_path, settings | {"cohort": cohort}, "--until", "simulate_cohort")
    changed = settings | {"cohort": cohort | {"simulation": simulation | {"people": 90}}}
    found = run(tmp_path, changed, *BY_TIME, *DRAW, check=False)
    require_uncharged(tmp_path, found, r"got others of cohort\.simulation\.people\.")


# Files of another study that take the place of this one's.
FOREIGN = {
    "replicate1/statistics.npz": "must have a note of how it was made, as it is now, got none",
    "replicate1/outcomes.zarr": "must have a note of how it was made, as it is now, got none",
    "variants.zarr": r"must be made from files with notes, got none: note of private/variants\.zarr",
    # All but the stamps of the user's files, with all notes: those on public files, too.
    ".": r"public/sites\.tsv` must have a note of how it was made, as it is now, got none",
}


@pytest.fixture(scope="module")
def other_people(begun, tmp_path_factory):
    """A release of the same settings on other people."""
    folder = tmp_path_factory.mktemp("other")
    options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 6}
    simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
    for path in begun.glob("ledger.jsonl*"):
        shutil.copy(path, folder)
    run(folder, SHORT_RELEASE, "--until", "compute_statistics")
    return folder


@pytest.mark.parametrize("name", FOREIGN)
def test_release__nothing_is_charged_for_data_of_others(attacked, other_people, name):
    """Their files have the times and records of this study's."""
    folders = (attacked, other_people)
    ours, theirs = (folder / "results" / "release" / "private" / name for folder in folders)
    times = {path.relative_to(ours): path.stat().st_mtime_ns for path in (ours, *ours.rglob("*"))}
    stamps = {path: path.read_bytes() for path in ours.glob("made/inputs/*.json")}
    shutil.rmtree(ours) if ours.is_dir() else ours.unlink()
    (shutil.copytree if theirs.is_dir() else shutil.copy)(theirs, ours)
    for stamp, content in stamps.items():
        stamp.write_bytes(content)
    # Nothing of this study reads the variant set any more, unless it is summed again.
    forced = ["--forcerun", "compute_statistics"] if name == "variants.zarr" else []
    for path in (*ours.rglob("*"), ours):
        when = times.get(path.relative_to(ours), times[Path()])
        os.utime(path, ns=(when, when))
    found = run(attacked, SHORT_RELEASE, *BY_TIME, *forced, *DRAW, check=False)
    require_uncharged(attacked, found, FOREIGN[name])


OF_OTHERS = r"must be made by the settings of the release, got others of variants\.maf\."
# Refused before notes are read.
A_DATABASE = "must hold Snakemake's records as files in a release, got a database"
DRAWN = "results/release/private/replicate1/drawn/reusecov-statistics.npz"
WITHOUT_WORDS = ("--touch", "--drop-metadata", "--ignore-incomplete", "--trust-io-cache", "--nolock")
HIDING = dict.fromkeys((*WITHOUT_WORDS, "--keep-incomplete"), ()) | {
    "--allowed-rules": ("draw", "--", DRAWN),
    "--batch": ("all=1/2",),
    "--consider-ancient": ("make_outcomes=variant_set",),
    "--persistence-backend": ("db",),
    "--shared-fs-usage": ("none",),
    "--shadow-prefix": ("shadows",),
}


@pytest.mark.parametrize("flag", HIDING)
def test_release__what_hides_other_settings_leads_to_no_charge(attacked, flag):
    found = run(attacked, OTHERS["variants.maf"], *BY_TIME, *DRAW, flag, *HIDING[flag], check=False)
    if flag == "--touch":
        # Nothing was drawn yet.
        found = run(attacked, OTHERS["variants.maf"], *BY_TIME, *DRAW, check=False)
    require_uncharged(attacked, found, A_DATABASE if flag == "--persistence-backend" else OF_OTHERS)


@pytest.mark.parametrize("name", ["genotypes", "genotypes through a link", "outcomes"])
def test_release__nothing_is_charged_for_data_of_other_files(attacked, name):
    """Whose path is told by nothing but the inputs of a job."""
    if name == "genotypes":
        options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 6}
        simulate_cohort(attacked / "later", **options)
        file, raw = "later/21.vcf.gz", {"vcf": "later/{chrom}.vcf.gz"}
        settings = {"cohort": SHORT_RELEASE["cohort"] | raw}
    elif name == "genotypes through a link":
        # Without `link/..` it would be the path of those that were read.
        (attacked / "elsewhere" / "within").mkdir(parents=True)
        shutil.copytree(attacked / "cohort", attacked / "elsewhere" / "cohort")
        (attacked / "link").symlink_to("elsewhere/within")
        file, raw = "link/../cohort/21.vcf.gz", {"vcf": "link/../cohort/{chrom}.vcf.gz"}
        settings = {"cohort": SHORT_RELEASE["cohort"] | raw}
    else:
        ids = "".join(f"{person}" + f"\t{number % 3 - 1}" * 3 + "\n" for number, person in enumerate(PEOPLE))
        (attacked / "table.tsv").write_text(f"sample\ta\tb\tc\n{ids}")
        file, raw = "table.tsv", {"source": "file", "file": "table.tsv"}
        settings = {"outcomes": SHORT_RELEASE["outcomes"] | raw}
    hidden = ("--allowed-rules", *HIDING["--allowed-rules"])
    found = run(attacked, SHORT_RELEASE | settings, *BY_TIME, *DRAW, *hidden, check=False)
    require_uncharged(attacked, found, f"`{file}` must be among the files that the study read, got another")


def test_release__nothing_is_charged_for_sums_without_the_covariates_of_the_settings(attacked):
    """No file that was summed tells of them."""
    settings, hidden = SHORT_RELEASE | {"covariates": {"pcs": 2}}, HIDING["--allowed-rules"]
    run(attacked, settings, *BY_TIME, "--until", "make_loadings")
    found = run(attacked, settings, *BY_TIME, *DRAW, "--allowed-rules", *hidden, check=False)
    require_uncharged(attacked, found, r"got others of covariates\.pcs\.")


DIGESTS = [("--max-checksum-file-size", "1000000"), ("--workflow-profile", "none", "--show-failed-logs")]


@pytest.mark.parametrize("arguments", DIGESTS, ids=lambda arguments: arguments[0])
def test_release__nothing_is_charged_where_snakemake_keeps_digests(attacked, arguments):
    """Until they are removed: then all that was made counts."""
    found = run(attacked, SHORT_RELEASE, "--forcerun", "ingest_chromosome", *arguments, *DRAW, check=False)
    require_uncharged(attacked, found, "metadata` must hold no digests but of public files in a release")
    shutil.rmtree(attacked / ".snakemake" / "metadata")
    plan = run(attacked, SHORT_RELEASE, *DRAW).stdout
    assert "rule compute_statistics:" not in plan
    assert len(Ledger(attacked / "ledger.jsonl").read().requests) == 2


def test_release__nothing_is_published_where_snakemake_keeps_digests(attacked):
    """Of what the draw itself has read."""
    found = run(attacked, SHORT_RELEASE, *DIGESTS[0], check=False)
    assert found.returncode == 1
    assert "metadata` must hold no digests but of public files in a release" in found.stdout
    bundle = attacked / "results" / "release" / "release"
    assert not bundle.exists()
    shutil.rmtree(attacked / ".snakemake" / "metadata")
    assert "Replayed" in run(attacked, SHORT_RELEASE).stdout
    assert bundle.exists()


def test_release__nothing_is_published_of_other_settings(attacked):
    """What is measured and published is held against the settings, as what is charged is."""
    run(attacked, SHORT_RELEASE, "--until", "measure_release")
    settings = SHORT_RELEASE | {"regression": {"lambda_from": "evidence"}}
    message = "must be made by the settings of the release, got others of regression.lambda_from"
    for forced in ("write_release", "measure_release"):
        found = run(attacked, settings, *BY_TIME, "--forcerun", forced, check=False)
        assert found.returncode == 1
        assert message in found.stdout
    assert not (attacked / "results" / "release" / "release").exists()


def test_release__an_earlier_bundle_is_said_to_be_of_other_settings(attacked):
    """Where only times are compared it is left as it is, and the run ends well."""
    of_others = "The bundle is of other settings or files"
    assert of_others not in run(attacked, SHORT_RELEASE).stdout
    bundle = attacked / "results" / "release" / "release" / "SHA256SUMS"
    before = bundle.read_bytes()
    for arguments in ((), ("--touch",)):
        told = run(attacked, OTHERS["variants.maf"], *BY_TIME, *arguments).stdout
        assert told.count(of_others) == 1
        assert bundle.read_bytes() == before
    assert len(Ledger(attacked / "ledger.jsonl").read().requests) == 2


def test_release__an_earlier_bundle_is_said_to_be_of_other_people(attacked):
    """Only a path tells whose genotypes. After `--touch` no later run has a job, and none is a replay."""
    run(attacked, SHORT_RELEASE)
    simulate_cohort(attacked / "later", chromosomes=["21"], people=60, length=100_000, seed=6)
    others = SHORT_RELEASE | {"cohort": SHORT_RELEASE["cohort"] | {"vcf": "later/{chrom}.vcf.gz"}}
    for arguments in (("--touch",), ()):
        told = run(attacked, others, *arguments).stdout
        assert told.count("The bundle is of other settings or files") == 1
        assert "Nothing was charged;" in told
    assert "Replayed: nothing was charged;" in run(attacked, SHORT_RELEASE).stdout


def test_release__an_earlier_bundle_is_said_to_be_of_other_words_or_perhaps_of_other_files(attacked):
    """Nothing that is drawn depends on the words, and what a bundle was made from may be removed."""
    traits = attacked / "traits.tsv"
    traits.write_text("outcome\treported_trait\nsimulated_0001\theight\n")
    described = SHORT_RELEASE | {"outcomes": SHORT_RELEASE["outcomes"] | {"traits": "traits.tsv"}}
    assert "The bundle is" not in run(attacked, described).stdout
    root = attacked / "results" / "release"
    traits.write_text("outcome\treported_trait\nsimulated_0001\tweight\n")
    for settings in (described, SHORT_RELEASE):
        told = run(attacked, settings, "--touch").stdout
        assert "The bundle is of other settings or files" in told
        assert "Replayed" not in told
    traits.write_text("outcome\treported_trait\nsimulated_0001\theight\n")
    (root / "private" / "replicate1" / "accuracy.npz").unlink()
    told = run(attacked, described, "--touch").stdout
    assert "Whether it is of its files is not known, as what it was made from was removed" in told
    assert "Nothing was charged" in told
    (root / "release" / "SHA256SUMS").unlink()
    told = run(attacked, described, "--until", "compute_statistics").stdout
    assert "`results/release/release` is not whole, as it lacks SHA256SUMS" in told
    assert "Bundle:" not in told
    assert len(Ledger(attacked / "ledger.jsonl").read().requests) == 2


def test_release__a_file_of_a_bundle_that_was_cut_short_is_told_of_and_written_again(attacked):
    run(attacked, SHORT_RELEASE)
    score = next((attacked / "results" / "release" / "release" / "scores").iterdir())
    whole = score.read_bytes()
    score.write_bytes(whole[:-9])
    told = run(attacked, SHORT_RELEASE).stdout
    assert "`results/release/release` is not as it was written: SHA256SUMS lists other digests" in told
    assert "Replayed" not in told
    told = run(attacked, SHORT_RELEASE, "--forcerun", "write_release").stdout
    assert "is not as it was written" not in told
    assert "Replayed: nothing was charged" in told
    assert score.read_bytes() == whole


def test_release__a_copy_of_a_study_publishes_no_bundle_of_the_first(attacked):
    """Of the copy Snakemake has no records, so that its files stay those of the first study."""
    run(attacked, SHORT_RELEASE)
    root = attacked / "results"
    shutil.copytree(root / "release", root / "copy", ignore=shutil.ignore_patterns("release"))
    lower = {"privacy": SHORT_RELEASE["privacy"] | {"epsilon": 1}}
    found = run(attacked, SHORT_RELEASE | {"study": "copy"} | lower, check=False)
    assert found.returncode == 1
    assert "must be made by the settings of the release, got others of privacy.epsilon" in found.stdout
    assert not (root / "copy" / "release").exists()


def test_release__a_bundle_has_the_title_of_its_settings(attacked):
    """By `--touch` the earlier `settings.json` counts as new: a release was charged, and had no bundle."""
    retitled = SHORT_RELEASE | {"release": SHORT_RELEASE["release"] | {"title": "another"}}
    record = "results/release/private/settings.json"
    run(attacked, SHORT_RELEASE, record)
    run(attacked, retitled, record, "--touch")
    run(attacked, retitled)
    statement = attacked / "results" / "release" / "release" / "privacy_statement.json"
    assert json.loads(statement.read_text())["curation"]["title"] == "another"
    # Another title draws nothing again.
    again = run(attacked, SHORT_RELEASE).stdout
    assert "rule write_release:" in again
    assert "rule draw:" not in again
    assert json.loads(statement.read_text())["curation"]["title"] != "another"
    assert len(Ledger(attacked / "ledger.jsonl").read().requests) == 2


IMPORTER = """
{before}
module dpgrs:
    snakefile: {snakefile!r}
    config: config
{prefix}

use rule * from dpgrs {rules}
{after}
"""
OTHER = "module other:\n    snakefile: {snakefile!r}\n    config: config | {{'variants': {{'size': 20}}}}\n"
OTHER_VARIANTS = "use rule make_variants from other as other_*"
ORDER = "ruleorder: other_make_variants > make_variants"
TWICE = "must be imported with one configuration, got two of `release`"
# Words of an importer by which files of other settings, or of other places, would pass; and what is said.
MODULES = {
    "prefix": ({"prefix": '    prefix: "other"'}, "Missing input|must have a note|must be closed"),
    "replace_prefix": (
        {"prefix": '    replace_prefix: {"results/release/private/": "closed/"}'},
        "Missing input|must have a note|must be closed",
    ),
    "inputflags": ({"before": "inputflags: ancient"}, OF_OTHERS),
    "inputflags-after": ({"after": "inputflags: ancient"}, OF_OTHERS),
    "exclude": ({"rules": "exclude compute_statistics as *"}, OF_OTHERS),
    "with": ({"after": "use rule draw from dpgrs with:\n    threads: 2"}, OF_OTHERS),
    # The variant set is made by the settings of the other.
    "twice": ({"before": OTHER + OTHER_VARIANTS, "after": ORDER}, TWICE),
    "twice-after": ({"after": OTHER + f"{OTHER_VARIANTS}\n{ORDER}"}, TWICE),
    "twice, whole": ({"before": OTHER + OTHER_VARIANTS.replace("make_variants", "*")}, TWICE),
    "workdir": (
        {"after": 'workdir: "elsewhere"'},
        r"Missing input files for rule write_release:\n(.*\n)*.*private/made/settings/\w+\.json",
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_release__as_a_module_nothing_is_charged_for_data_of_other_settings(attacked, case):
    words, message = MODULES[case]
    text = {"before": "", "prefix": "", "rules": "", "after": ""} | words | {"snakefile": str(SNAKEFILE)}
    for place in ("before", "after"):
        text[place] = text[place].format(**text)
    (attacked / "importer.smk").write_text(IMPORTER.format(**text))
    (attacked / "elsewhere").mkdir()
    for name in ("cohort", "reference"):
        shutil.copytree(attacked / name, attacked / "elsewhere" / name)
    for path in attacked.glob("ledger.jsonl*"):
        shutil.copy(path, attacked / "elsewhere")
    known = command(attacked, OTHERS["variants.maf"], "--snakefile", attacked / "importer.smk", *BY_TIME)
    # By --directory the importer's own folder would be left aside.
    at = known.index("--directory")
    arguments = [*known[:at], *known[at + 2 :], "--max-checksum-file-size", "0", "--show-failed-logs", *DRAW]
    if case.startswith("twice-") or case == "twice":
        arguments += ["--forcerun", "other_make_variants"]
    found = on_console(arguments, is_warm=True, folder=attacked)
    require_uncharged(attacked, found, message)


def test_release__outcomes_of_a_table_in_place_of_simulated_ones_are_read(begun):
    """The rule has an output more, without a record, and the table is older than what was simulated."""
    ids = "".join(f"sim{number:04d}\t{number % 3 - 1}\n" for number in range(1, 61))
    (begun / "table.tsv").write_text(f"sample\theight\n{ids}")
    os.utime(begun / "table.tsv", (0, 0))
    settings = SHORT_RELEASE | {"outcomes": {"source": "file", "file": "table.tsv", "count": None}}
    assert jobs(begun, settings) == {"make_outcomes"}


PEOPLE = [f"sim{number:04d}" for number in range(1, 61)]
OF_LISTS = SHORT_RELEASE | {
    "people": {
        "keep": "keep.txt",
        "remove": "remove.txt",
        "related": "related.txt",
        "consent": {"file": "consent.tsv", "column": "consent", "allow": ["1"]},
    },
    "outcomes": {"source": "file", "file": "table.tsv", "scales": "scales.tsv", "count": None},
    "covariates": {"file": "covariates.tsv", "scales": "covariate_scales.tsv"},
}
# A file of each kind, and the jobs that it makes run again.
JOBS = ("choose_people", "ingest_chromosome", "make_variants", "make_outcomes", "make_covariates")
RERUN = {
    "remove.txt": JOBS,
    "cohort/21.vcf.gz": JOBS,
    "scales.tsv": ("make_outcomes",),
    "covariates.tsv": ("make_covariates",),
}
LONG_PAST = 1_577_836_800  # seconds, at the start of 2020


def write_lists(folder, *, withdrawn=()):
    """Write the lists and tables of `OF_LISTS`, with a time that is long past."""
    codes = "".join(f"{person}\t{0 if person in withdrawn else 1}\n" for person in PEOPLE)
    values = "".join(f"{person}\t{number % 7 / 3 - 1}\n" for number, person in enumerate(PEOPLE))
    texts = {
        "keep.txt": "".join(f"{person}\n" for person in PEOPLE),
        "remove.txt": f"{PEOPLE[0]}\n",
        "related.txt": f"{PEOPLE[1]}\n",
        "consent.tsv": f"sample\tconsent\n{codes}",
        "table.tsv": f"sample\theight\n{values}",
        "scales.tsv": "outcome\tcentre\tscale\torigin\nheight\t0\t1\ta register\n",
        "covariates.tsv": f"sample\tage\n{values}",
        "covariate_scales.tsv": "covariate\tcentre\tscale\torigin\nage\t0\t1\ta register\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (LONG_PAST, LONG_PAST))


@pytest.fixture(scope="module")
def summed(tmp_path_factory):
    """A release of many lists and tables up to its statistics."""
    folder = tmp_path_factory.mktemp("summed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPGRS_STUDY_KEY", "set again by make_key")
        make_key(folder)
        make_ledger(folder / "ledger.jsonl")
        options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 5}
        simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
        write_lists(folder)
        run(folder, OF_LISTS, "--until", "compute_statistics")
        yield folder


@pytest.fixture
def copied(summed, tmp_path):
    return Path(shutil.copytree(summed, tmp_path / "study"))


def test_release__all_files_of_the_user_have_stamps(summed):
    stamps = (summed / "results/release/private/made/inputs").glob("*.json")
    listed = {path.name for path in summed.glob("*.t[sx][tv]")}
    genotypes = {"cohort/21.vcf.gz", "reference/21.vcf.gz"}
    assert {json.loads(path.read_text())[0] for path in stamps} == listed | genotypes
    assert len(listed) == 8


@pytest.mark.parametrize("name", RERUN)
def test_release__a_file_that_changes_under_an_older_time_is_read_again(copied, name):
    content = (copied / name).read_bytes()
    (copied / name).write_bytes(content + (b"\n" if name.endswith("v") else content[-28:]))
    os.utime(copied / name, (LONG_PAST, LONG_PAST))
    plan = run(copied, OF_LISTS, "--dry-run", "--until", "compute_statistics").stdout
    assert {job for job in JOBS if f"rule {job}:" in plan} == {*RERUN[name]}
    assert "rule compute_statistics:" in plan


def test_release__nobody_who_withdrew_is_summed_or_charged_for(copied):
    private = copied / "results" / "release" / "private"
    assert Statistics.load(private / "replicate1" / "statistics.npz").n_rows == 58
    write_lists(copied, withdrawn=PEOPLE[10:15])
    run(copied, OF_LISTS)
    assert Statistics.load(private / "replicate1" / "statistics.npz").n_rows == 53
    assert not {*PEOPLE[10:15]} & {*(private / "people.txt").read_text().split()}
    assert len(Ledger(copied / "ledger.jsonl").read().requests) == 2
    assert "Nothing to be done" in run(copied, OF_LISTS).stdout


def test_benchmark__a_list_that_changes_under_an_older_time_is_read_again(begun, tmp_path):
    shutil.copytree(begun / "cohort", tmp_path / "cohort")
    (tmp_path / "remove.txt").write_text("sim0001\n")
    cohort = {"source": "vcf", "vcf": "cohort/21.vcf.gz", "chromosomes": ["21"]}
    people, variants = {"remove": "remove.txt"}, {"size": 20}
    settings = {"study": "open", "cohort": cohort, "people": people, "variants": variants}
    chosen = tmp_path / "results" / "open" / "private" / "people.txt"
    run(tmp_path, settings, "--until", "choose_people")
    assert "sim0002" in chosen.read_text()
    (tmp_path / "remove.txt").write_text("sim0002\n")
    os.utime(tmp_path / "remove.txt", (LONG_PAST, LONG_PAST))
    run(tmp_path, settings, "--until", "choose_people")
    assert "sim0002" not in chosen.read_text()
    assert "rule choose_people:" not in run(tmp_path, settings, "--until", "choose_people").stdout
