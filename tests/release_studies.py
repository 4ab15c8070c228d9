"""What a release needs beside its data: a study key, a ledger, and settings that a curator would write."""

import os

import pysam

from dpgrs.privacy.ledger import start_ledger
from dpgrs.privacy.ledger_entries import Account
from dpgrs.privacy.study_key import VARIABLE, create_study_key

CURATION = {
    "curator": "a university",
    "intended_use": "research",
    "data_use_terms": "none",
    "license": "CC0-1.0",
    "region": "Norway",
    "publication_date": "2026-11-21",
    "preprocessing": "simulated",
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


def without_person(source, target, sample):
    """Write a VCF again without one of its people."""
    with pysam.VariantFile(str(source)) as file:
        file.subset_samples([name for name in file.header.samples if name != sample])
        with pysam.VariantFile(str(target), "wz", header=file.header) as smaller:
            for record in file:
                smaller.write(record)
