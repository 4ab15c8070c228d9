"""What a release needs beside its data: a study key, a ledger, and settings that a curator would write."""

import os
import shutil
import signal
from contextlib import contextmanager

import pysam

from dpgrs.privacy.ledger import start_ledger
from dpgrs.privacy.ledger_entries import Account
from dpgrs.privacy.study_key import VARIABLE, create_study_key
from dpgrs.simulation.cohorts import simulate_cohort
from study_runs import run

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
    "panel": {"size": 20},
    "outcomes": {"count": 3},
    "privacy": {"epsilon": 2, "ledger": "ledger.jsonl"},
    "release": CURATION,
}


def make_key(folder):
    """Make a study key and name it in the environment, also to the jobs of a workflow."""
    os.environ[VARIABLE] = str(folder / "key" / "study.key")
    create_study_key()


def make_ledger(path, *, accession="demo", consent="open", epsilon="4", unit="person"):
    """Begin a ledger with one account, for full protection under add-remove."""
    account = Account("full", unit, "add-remove")
    start_ledger(path, accession=accession, consent=consent, account=account, epsilon=epsilon, delta="1e-6")
    return path


@contextmanager
def released_site(folder, settings, *, people, epsilon="4"):
    """Give a folder with a cohort, a public reference, a key and a ledger, in which one release was made."""
    earlier = os.environ.get(VARIABLE)
    try:
        make_key(folder)
        make_ledger(folder / "ledger.jsonl", epsilon=epsilon)
        chromosomes = settings["cohort"]["chromosomes"]
        options = {"chromosomes": chromosomes, "people": people, "length": 100_000, "seed": 5}
        simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
        run(folder, settings)
        yield folder
    finally:
        os.environ.pop(VARIABLE, None)
        if earlier is not None:
            os.environ[VARIABLE] = earlier


def copied_site(site, folder):
    """Copy a folder of a release without its results, for a test to spoil."""
    shutil.copytree(site, folder, ignore=shutil.ignore_patterns("results", ".snakemake"))
    return folder


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
    # Python runs sitecustomize at its start, in the job's process as well.
    customize = folder / "sitecustomize.py"
    customize.write_text(KILLER.format(place=place, signal=int(signal.SIGKILL)))
    assert run(folder, settings, check=False, python_path=folder).returncode == 1
    customize.unlink()


KILLER = """
import importlib.abc, importlib.util, os, sys

module, _, name = "{place}".rpartition(".")
owner = None
if module.rpartition(".")[2][0].isupper():
    module, _, owner = module.rpartition(".")

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname != module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def exec_module(made):
            execute(made)
            patched = getattr(made, owner) if owner else made
            setattr(patched, name, lambda *_, **__: os.kill(os.getpid(), {signal}))

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Finder())
"""
