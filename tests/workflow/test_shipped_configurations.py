"""Every configuration that is shipped gives a valid plan of jobs."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from dpgrs.io.files import file_digest
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.study.settings import resolve
from release_studies import APPROVAL, CURATION, make_key, make_ledger
from study_runs import REPOSITORY, SNAKEFILE, SNAKEMAKE, on_console, run
from vcf_files import record, vcf_text, write_gzip

# Not of a study.
EXPERIMENTS = REPOSITORY / "config" / "experiments" / "experiments.yaml"
SHIPPED = sorted({*(REPOSITORY / "config").glob("**/*.yaml")} - {EXPERIMENTS})
# Holds places that users fill in.
DBGAP = REPOSITORY / "config" / "dbgap.yaml"
# Of files that a command writes first: test_table_study.py runs one, test_biobank_experiment.py checks two.
MNIST = REPOSITORY / "config" / "mnist.yaml"
BIOBANK = [REPOSITORY / "config" / "experiments" / f"biobank{name}.yaml" for name in ("", "_genome")]


@pytest.mark.parametrize(
    "config", [path for path in SHIPPED if path not in (DBGAP, MNIST, *BIOBANK)], ids=lambda path: path.name
)
def test_shipped_configuration__dry_run(config, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = resolve(yaml.safe_load(config.read_text()))
    arguments = ["--configfile", config, "--dry-run", "--printshellcmds"]
    if settings.mode == "release":
        monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
        make_key(tmp_path)
        make_ledger(settings.privacy.ledger)
    plan = run(tmp_path, {}, *arguments).stdout
    assert f"results/{settings.study}/metrics.tsv" in plan
    assert "compute-statistics" in plan
    assert "rules that are not present" not in plan
    # Without a network: what would be fetched is named, and nothing else is asked for.
    cohort = settings.cohort
    for chromosome in cohort.chromosomes if cohort.fetch.vcf else []:
        url, path = (text.replace("{chrom}", chromosome) for text in (cohort.fetch.vcf, cohort.vcf))
        assert f"Fetching {path} from {url}" in plan


def test_dbgap_configuration__says_what_is_to_be_filled_in(tmp_path):
    process = run(tmp_path, {}, "--configfile", DBGAP, "--dry-run", check=False)
    assert process.returncode == 2
    lines = [line for line in process.stdout.splitlines() if line.startswith("`")]
    raw = yaml.safe_load(DBGAP.read_text())
    empty = {
        f"{section}.{name}"
        for section, part in raw.items()
        if isinstance(part, dict)
        for name, value in part.items()
        if value is None
    }
    # A source comes with its origin, and only one of two is needed.
    named = set(re.findall(r"`([\w.]+)`", " ".join(lines)))
    assert empty - named == {"public.origin"}
    assert all("got null" in line or "got neither" in line or VARIABLE in line for line in lines)


def test_dbgap_configuration__filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    make_key(tmp_path)
    make_ledger(tmp_path / "ledger.jsonl", accession="phs000688", consent="c1")
    samples = [f"S{number:02}" for number in range(20)]
    for name, people in (("cohort", samples), ("reference", ["R1", "R2"])):
        calls = " ".join(["0|1"] * len(people))
        write_gzip(tmp_path / f"{name}.vcf.gz", vcf_text(record(1, calls), samples=people, contigs=("22",)))
    (tmp_path / "consent.tsv").write_text("SAMPLE_ID\tCONSENT\n" + "".join(f"{s}\t1\n" for s in samples))
    (tmp_path / "outcomes.tsv").write_text("IID\theight\n" + "".join(f"{s}\t0\n" for s in samples))
    settings = yaml.safe_load(DBGAP.read_text())
    filled = {
        "dataset": {"consent": "c1", "version": "v1.p1", **APPROVAL},
        "cohort": {"vcf": "cohort.vcf.gz"},
        "people": {"consent": {"file": "consent.tsv", "column": "CONSENT", "allow": [1]}},
        "outcomes": {"file": "outcomes.tsv"},
        "public": {"reference": "reference.vcf.gz", "origin": "made up"},
        "privacy": {"ledger": "ledger.jsonl"},
        "release": CURATION,
    }
    settings |= {name: settings[name] | part for name, part in filled.items()}
    plan = run(tmp_path, settings, "--dry-run", "--printshellcmds").stdout
    assert re.search("dpgrs choose-people .*--output results/dbgap/private/people.txt", plan)
    assert "--people results/dbgap/private/people.txt" in plan
    assert "--counts results" not in plan


@pytest.mark.parametrize("protection", ["label", "feature"])
def test_documented_release__with_a_public_side(protection, tmp_path, monkeypatch):
    """The example of docs/how-to/release.md over `config/release.yaml`; under `feature` as it says there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    make_key(tmp_path)
    page = (REPOSITORY / "docs" / "how-to" / "release.md").read_text()
    (text,) = re.findall("```yaml\n(study: label\n.*?)```", page, re.DOTALL)
    if protection == "feature":
        text = (
            text.replace("label", "feature")
            .replace("  genotypes:", "  # ")
            .replace("# outcomes:", "outcomes:")
        )
    settings = yaml.safe_load(text)
    assert settings["privacy"]["protection"] == protection
    make_ledger(Path(settings["privacy"]["ledger"]).expanduser(), protection=protection)
    samples = [f"S{number:02}" for number in range(20)]
    for folder, people in (("genotypes", samples), ("reference", ["R1", "R2"])):
        (tmp_path / folder).mkdir()
        calls = vcf_text(record(1, " ".join(["0|1"] * len(people))), samples=people, contigs=("22",))
        write_gzip(tmp_path / folder / "chr22.vcf.gz", calls)
    (tmp_path / "outcomes.tsv").write_text("IID\theight\n" + "".join(f"{one}\t0\n" for one in samples))
    if protection == "label":
        settings["public"]["genotypes"]["sha256"] = [file_digest(tmp_path / "genotypes" / "chr22.vcf.gz")]
    else:
        settings["public"]["outcomes"]["sha256"] = file_digest(tmp_path / "outcomes.tsv")
    shipped = REPOSITORY / "config" / "release.yaml"
    plan = run(tmp_path, settings, "--configfile", shipped, tmp_path / "study.yaml", "--dry-run").stdout
    assert f"results/{protection}/release" in plan
    assert "A whole run would be charged: epsilon 2; so far epsilon 0 of 4 is spent" in plan


@pytest.mark.parametrize("folder", ["elsewhere", "clone"])
def test_snakefile_at_the_top__plans_the_jobs_of_the_workflow(folder, tmp_path):
    top = ["--snakefile", REPOSITORY / "Snakefile", "--directory", tmp_path]
    if folder == "clone":
        # As in a clone: Snakemake finds the file, its settings and its profile by itself.
        for name in ("Snakefile", "config", "workflow", "profiles", "envs"):
            (tmp_path / name).symlink_to(REPOSITORY / name)
        top = []
    plans = [
        on_console(
            [SNAKEMAKE, *arguments, "--cores", "2", "--dry-run"], is_warm=folder != "clone", folder=tmp_path
        )
        for arguments in (top, ["--snakefile", SNAKEFILE, "--directory", tmp_path])
    ]
    assert [plan.returncode for plan in plans] == [0, 0]
    found, expected = (plan.stdout for plan in plans)
    # Without the profile a change of code would draw noise again.
    assert "profiles/default for setting default command line arguments" in found
    jobs = [re.search(r"(?ms)^job +count\n.*?^total +\d+$", text)[0] for text in (found, expected)]
    counted, wanted = ({tuple(line.split()) for line in text.splitlines()} for text in jobs)
    assert (counted - wanted, wanted - counted) == ({("study", "1")}, {("all", "1")})


def test_results__of_studies_are_ignored_by_git():
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a clone of git")
    asked = ["results/README.md", "results/demo", "results/demo/metrics.tsv", "elsewhere/results/demo"]
    ignored = subprocess.run(
        ["git", "-C", REPOSITORY, "check-ignore", *asked], stdout=subprocess.PIPE, text=True, check=True
    )
    assert ignored.stdout.splitlines() == asked[1:]


def test_demo_configuration__holds_a_name_alone():
    # Snakemake lays this file under every other one: whatever stood here would leak into all studies.
    assert yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text()) == {"study": "demo"}
