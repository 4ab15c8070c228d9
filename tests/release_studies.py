"""What a release needs beside its data: a study key, a ledger, and settings that a curator would write."""

import fcntl
import os
import shutil
from contextlib import contextmanager

import pysam
import pytest

from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import start_ledger
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.simulation.cohorts import simulate_cohort
from ledger_requests import create_fixed_key, reason_for
from study_runs import KILL_AT, run

CURATION = {
    "curator": "a university",
    "intended_use": "research",
    "data_use_terms": "none",
    "license": "CC0-1.0",
    "region": "Norway",
    "publication_date": "2026-11-21",
    "preprocessing": "simulated",
    "genome_build": "GRCh38",
    "audit_draws": 0,
}
# What a release of dbGaP data needs beside it.
APPROVAL = {
    "data_use": "GRU",
    "sensitive": False,
    "approved_by": "a data access committee",
    "dar_id": "12345",
    "approval_date": "2026-01-31",
    "acknowledgement": "The data were given by a study = of tests.",
}
# A release of a few seconds on VCFs, as of a real cohort.
RELEASE = {
    "study": "release",
    "mode": "release",
    "dataset": {"accession": "demo", "consent": "open", "version": "1"},
    "cohort": {
        "source": "vcf",
        "vcf": "cohort/{chrom}.vcf.gz",
        "chromosomes": ["21", "22"],
        "rows": "people",
    },
    "public": {"reference": "reference/{chrom}.vcf.gz", "origin": "a simulated reference"},
    "variants": {"size": 20},
    "outcomes": {"count": 3},
    "privacy": {"epsilon": 2, "ledger": "ledger.jsonl"},
    "release": CURATION,
}
# The same of one chromosome, for what does not hang on how many there are.
SHORT_RELEASE = RELEASE | {"cohort": RELEASE["cohort"] | {"chromosomes": ["21"]}}


def make_key(folder):
    """Make the fixed study key and name it in the environment, also to the jobs of a workflow."""
    os.environ[VARIABLE] = str(folder / "key" / "study.key")
    create_fixed_key()


def make_ledger(
    path,
    *,
    accession="demo",
    consent="open",
    epsilon="4",
    pure_epsilon="0",
    unit="person",
    protection="full",
    neighbours=None,
):
    """Begin a ledger with one account: by default under add-remove for full protection, else replace-one."""
    neighbours = neighbours or ("add-remove" if protection == "full" else "replace-one")
    account = Account(protection, unit, neighbours)
    budget = {"epsilon": epsilon, "pure_epsilon": pure_epsilon, "delta": "1e-6"}
    start_ledger(
        path,
        accession=accession,
        consent=consent,
        account=account,
        **budget,
        **reason_for(account, **budget),
    )
    return path


@contextmanager
def released_site(
    folder,
    settings,
    *,
    people,
    length=100_000,
    reference_people=60,
    prepare=None,
    is_measured=False,
    **budget,
):
    """Give a folder with a cohort, a public reference, a key and a ledger, in which one release was made.

    `prepare` is called with the folder before the release, whose jobs, if so asked, Snakemake can measure.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "set again by make_key")
        make_key(folder)
        make_ledger(folder / "ledger.jsonl", **budget)
        chromosomes = settings["cohort"]["chromosomes"]
        options = {"chromosomes": chromosomes, "people": people, "length": length, "seed": 5}
        options["reference_people"] = reference_people
        simulate_cohort(folder / "cohort", reference=folder / "reference", **options)
        if prepare is not None:
            prepare(folder)
        run(folder, settings, is_warm=not is_measured)
        yield folder


@contextmanager
def shared_site(factory, settings, **options):
    """Give a copy of a folder as of `released_site`, which is made once for all workers of pytest.

    `factory` is pytest's `tmp_path_factory`; `study` names a folder that no others share.
    """
    root = factory.getbasetemp()
    made = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / f"shared-{settings['study']}"
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with released_site(factory.mktemp("site"), settings, **options) as folder:
                folder.rename(made)
    copy = shutil.copytree(made, factory.mktemp("site") / "copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(copy / "key" / "study.key"))
        yield copy


def copied_site(site, folder):
    """Copy a folder of a release without its results, for a test to spoil."""
    shutil.copytree(site, folder, ignore=shutil.ignore_patterns("results", ".snakemake"))
    return folder


def drawn_file(folder, study="release"):
    """Return the path of what a study drew."""
    return folder / "results" / study / "private" / "replicate1" / "drawn" / "reusecov-statistics.npz"


def bundle(folder, study):
    """Return the files of a bundle as a dict of relative path to content."""
    root = folder / "results" / study / "release"
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def leave_out(folder, sample, *, chromosomes):
    """Take a person out of a cohort's VCFs."""
    for chromosome in chromosomes:
        source, smaller = folder / "cohort" / f"{chromosome}.vcf.gz", folder / "smaller.vcf.gz"
        with pysam.VariantFile(str(source)) as file:
            file.subset_samples([name for name in file.header.samples if name != sample])
            with pysam.VariantFile(str(smaller), "wz", header=file.header) as target:
                for record in file:
                    target.write(record)
        smaller.replace(source)
        source.with_name(f"{source.name}.tbi").unlink()


def run_and_kill(folder, settings, place):
    """Run a study whose first job that calls the function `place` kills itself there with SIGKILL."""
    assert run(folder, settings, check=False, variables={KILL_AT: place}).returncode == 1
