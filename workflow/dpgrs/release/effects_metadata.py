"""What stands beside a file of the effects of single variants: its metadata, and counts in people."""

import hashlib

import yaml

from dpgrs.types import Rows

NOTES = (
    "Differentially private: effects hold noise, which is in the standard errors; sample sizes hold noise "
    "unless they are public; allele frequencies are those of public people. See privacy_statement.json."
)
# Beside an outcome whose noisy number of known rows was raised to the smallest one that is released.
FLOOR_NOTE = (
    " The sample size is a floor, not a count: the noisy number was below 3 standard deviations of its noise."
)


def case_counts_of(statement):
    """Return numbers of cases and controls in people, a dict of an outcome to a dict; empty without any."""
    of_person = 2 if statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 1
    found = {}
    for one in statement.get("case_counts", ()):
        cases, known = round(one["cases"] / of_person), round(one["known"] / of_person)
        found[one["outcome"]] = {"cases": cases, "controls": known - cases}
    return found


def metadata(name, content, *, outcome, n_people, genome_build, published, counts=None, is_floor=False):
    """Return what goes with a file of GWAS-SSF, the text of a YAML file.

    Parameters
    ----------
    name : str, of the file.
    content : bytes
    outcome : str
    n_people : int
    genome_build : str
    published : str, ``YYYY-MM-DD``.
    counts : dict of ``cases`` and ``controls``, in people; None where they are not counted.
    is_floor : bool, whether `n_people` is the smallest number that is released, whatever was drawn.
    """
    samples = {"sample_size": n_people}
    if counts is not None:
        samples |= {"case_control_study": True}
        samples |= {"case_count": counts["cases"], "control_count": counts["controls"]}
    told = {
        "author_notes": NOTES + FLOOR_NOTE * is_floor,
        "date_metadata_last_modified": published,
        "trait_description": [outcome],
        "genome_assembly": genome_build,
        "coordinate_system": "1-based",
        "samples": [samples],
        "data_file_name": name,
        "file_type": "GWAS-SSF v1.0",
        "data_file_md5sum": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "analysis_software": "dpgrs",
        "is_harmonised": False,
        "is_sorted": True,
    }
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True)
