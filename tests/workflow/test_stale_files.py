"""Files that were made by other settings are made anew for a release, or it is refused before any job."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dpgrs.io.trials import Statistics
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.simulation.cohorts import simulate_cohort
from release_studies import SHORT_RELEASE, make_key, make_ledger
from study_runs import SNAKEFILE, command, environment, run

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A release up to its outcomes."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPGRS_STUDY_KEY", "set again by make_key")
        make_key(folder)
        make_ledger(folder / "ledger.jsonl")
        options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 5}
        simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
        run(folder, SHORT_RELEASE, "--until", "make_outcomes")
        yield folder


def with_share(share):
    return SHORT_RELEASE | {"outcomes": SHORT_RELEASE["outcomes"] | {"test_share": share}}


def jobs(folder, settings):
    """Return the names of the jobs of data that would run by the times of files alone."""
    plan = run(folder, settings, "--dry-run", "--rerun-triggers", "mtime", "--until", "make_outcomes").stdout
    return {name for name in ("ingest_chromosome", "make_panel", "make_outcomes") if f"rule {name}:" in plan}


def test_release__data_of_other_settings_are_made_anew_whatever_the_triggers(begun):
    assert jobs(begun, SHORT_RELEASE) == set()
    assert jobs(begun, with_share(0.3)) == {"make_outcomes"}
    (begun / "remove.txt").write_text("sim0001\n")
    os.utime(begun / "remove.txt", (0, 0))
    fewer = SHORT_RELEASE | {"people": {"remove": "remove.txt"}}
    assert jobs(begun, fewer) == {"ingest_chromosome", "make_panel", "make_outcomes"}


def test_release__data_without_a_record_are_refused(begun, tmp_path):
    folder = Path(shutil.copytree(begun, tmp_path / "study"))
    assert run(folder, SHORT_RELEASE, "--dry-run").returncode == 0
    shutil.rmtree(folder / ".snakemake")
    found = run(folder, SHORT_RELEASE, "--dry-run", check=False)
    assert found.returncode == 2
    assert "Snakemake must have a record of `results/release/p" in found.stdout
    assert "Traceback" not in found.stdout
    for name in ("private", "public"):
        shutil.rmtree(folder / "results" / "release" / name)
    assert run(folder, SHORT_RELEASE, "--dry-run").returncode == 0


HIDING = {
    "--touch": [],
    "--drop-metadata": [],
    "--ignore-incomplete": [],
    "--trust-io-cache": [],
    "--allowed-rules": ["make_outcomes", "--", "results/release/private/trial1/outcomes.zarr"],
    "--batch": ["all=1/2"],
    "--consider-ancient": ["make_outcomes=panel"],
}


@pytest.mark.parametrize("flag", HIDING)
def test_release__what_would_hide_other_settings_is_refused(begun, flag):
    """Also where all is forced, so that Snakemake asks for no trigger; `--batch` takes no force."""
    arguments = ["--until", "make_outcomes", *["--forceall"] * (flag != "--batch"), flag, *HIDING[flag]]
    found = run(begun, with_share(0.3), *arguments, check=False)
    assert found.returncode == 1
    assert f"`{flag}` must be left out in a release" in found.stdout
    assert jobs(begun, with_share(0.3)) == {"make_outcomes"}


IMPORTER = """
{before}
module dpgrs:
    snakefile: {snakefile!r}
    config: config
{prefix}

use rule * from dpgrs {rules}
{after}
"""
# A module's own words, and what is said of them: by any of these, files of other settings would pass.
MODULES = {
    "prefix": (
        {"prefix": '    prefix: "other"'},
        2,
        "`prefix` and `replace_prefix` of the module must be left",
    ),
    "replace_prefix": (
        {"prefix": '    replace_prefix: {"results/release/private/": "closed/"}'},
        2,
        "`prefix` and `replace_prefix` of the module must be left",
    ),
    "inputflags": ({"before": "inputflags: ancient"}, 2, "`inputflags` and `outputflags` must be left out"),
    "inputflags-after": (
        {"after": "inputflags: ancient"},
        1,
        "`inputflags` and `outputflags` must be left out",
    ),
    "exclude": ({"rules": "exclude compute_statistics as *"}, 2, "A release must be imported whole"),
    "with": (
        {"after": "use rule draw from dpgrs with:\n    threads: 2"},
        2,
        "A release must be imported whole",
    ),
    "twice": (
        {
            "before": "module other:\n    snakefile: {snakefile!r}\n    config: config\n"
            "use rule * from other as other_*",
            "after": "ruleorder: other_make_outcomes > make_outcomes",
        },
        1,
        "A release must be imported once",
    ),
    # Of several releases that are read every one is looked at.
    "twice, and another": (
        {
            "before": "module other:\n    snakefile: {snakefile!r}\n    config: config\n"
            "use rule * from other as other_*",
            "after": "module another:\n    snakefile: {snakefile!r}\n"
            "    config: config | {{'study': 'another'}}\nuse rule * from another as another_*\n"
            "ruleorder: other_make_outcomes > make_outcomes",
        },
        1,
        "A release must be imported once",
    ),
    "workdir, and another": (
        {
            "after": "workdir: 'elsewhere'\nmodule another:\n    snakefile: {snakefile!r}\n"
            "    config: config | {{'study': 'another'}}\nuse rule * from another as another_*",
        },
        1,
        "`workdir` must be left out in a release",
    ),
    "workdir": ({"after": 'workdir: "elsewhere"'}, 1, "`workdir` must be left out in a release"),
}


@pytest.mark.parametrize("case", MODULES)
def test_release__as_a_module_it_is_whole_and_where_it_was_checked(begun, case):
    words, code, message = MODULES[case]
    text = {"before": "", "prefix": "", "rules": "", "after": ""} | words | {"snakefile": str(SNAKEFILE)}
    for place in ("before", "after"):
        text[place] = text[place].format(**text)
    (begun / "importer.smk").write_text(IMPORTER.format(**text))
    (begun / "elsewhere").mkdir(exist_ok=True)
    for name in ("cohort", "reference"):
        shutil.copytree(begun / name, begun / "elsewhere" / name, dirs_exist_ok=True)
    for path in begun.glob("ledger.jsonl*"):
        shutil.copy(path, begun / "elsewhere")
    known = command(begun, SHORT_RELEASE, "--snakefile", begun / "importer.smk", "--dry-run")
    # By --directory the importer's own folder would be left aside.
    at = known.index("--directory")
    arguments = [*known[:at], *known[at + 2 :]]
    found = subprocess.run(arguments, cwd=begun, env=environment(), capture_output=True, text=True)
    assert found.returncode == code
    assert message in found.stdout + found.stderr
    assert "Traceback (most recent call last)" not in found.stderr


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
JOBS = ("choose_people", "ingest_chromosome", "make_panel", "make_outcomes", "make_covariates")
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
    assert Statistics.load(private / "trial1" / "statistics.npz").n_rows == 58
    write_lists(copied, withdrawn=PEOPLE[10:15])
    run(copied, OF_LISTS)
    assert Statistics.load(private / "trial1" / "statistics.npz").n_rows == 53
    assert not {*PEOPLE[10:15]} & {*(private / "people.txt").read_text().split()}
    assert len(Ledger(copied / "ledger.jsonl").read().requests) == 2
    assert "Nothing to be done" in run(copied, OF_LISTS).stdout


def test_benchmark__a_list_that_changes_under_an_older_time_is_read_again(begun, tmp_path):
    shutil.copytree(begun / "cohort", tmp_path / "cohort")
    (tmp_path / "remove.txt").write_text("sim0001\n")
    cohort = {"source": "vcf", "vcf": "cohort/21.vcf.gz", "chromosomes": ["21"]}
    settings = {"study": "open", "cohort": cohort, "people": {"remove": "remove.txt"}, "panel": {"size": 20}}
    chosen = tmp_path / "results" / "open" / "private" / "people.txt"
    run(tmp_path, settings, "--until", "choose_people")
    assert "sim0002" in chosen.read_text()
    (tmp_path / "remove.txt").write_text("sim0002\n")
    os.utime(tmp_path / "remove.txt", (LONG_PAST, LONG_PAST))
    run(tmp_path, settings, "--until", "choose_people")
    assert "sim0002" not in chosen.read_text()
    assert "rule choose_people:" not in run(tmp_path, settings, "--until", "choose_people").stdout
