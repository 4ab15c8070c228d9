"""What stands beside a file of the effects of single variants: its metadata, and counts in people."""

import hashlib
from typing import Any

import yaml

from dpgrs.types import Rows

NOTES = (
    "Differentially private: effects hold noise, which is in the standard errors; sample sizes hold noise "
    "unless they are public; allele frequencies are those of public people. See privacy_statement.json."
)
# Of effects along directions of LD with equal shares of the noise (`dpgrs.linalg.truncated_ld`).
TRUNCATED_LD = "truncated linkage disequilibrium of effects"
OF_DIRECTIONS = (
    " Effects are along the leading directions of the linkage disequilibrium of public people, adjusted for "
    "their components of ancestry. Errors are correlated in proportion to this truncated linkage "
    "disequilibrium, whose eigenvectors are in the file with SHA-256 {digest}. The column n is the effective "
    "number of people, noise included; standard_error is sqrt(noise_scale / n) over the standard deviation "
    "of the number of alleles. Supported: LDpred-inf with these eigenvectors, and LD score regression of z^2 "
    "on n * ld_score / noise_scale. Not supported: PRS-CS and other methods with full linkage "
    "disequilibrium, fine mapping, Mendelian randomisation, looking up single variants."
)
# Beside an outcome whose noisy number of known rows was raised to the smallest one that is released.
FLOOR_NOTE = (
    " The sample size is a floor, not a count: the noisy number was below 3 standard deviations of its noise."
)


def case_counts_of(statement: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return numbers of cases and controls in people, by outcome; empty without any."""
    of_person = 2 if statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 1
    counts = {}
    for entry in statement.get("case_counts", ()):
        cases, n_known = round(entry["cases"] / of_person), round(entry["known"] / of_person)
        counts[entry["outcome"]] = {"cases": cases, "controls": n_known - cases}
    return counts


def notes_of(statement: dict[str, Any]) -> str:
    """Return what the metadata of every file of effects of a release says of these."""
    digests = [public["value"] for public in statement["public_inputs"] if public["name"] == TRUNCATED_LD]
    return NOTES + "".join(OF_DIRECTIONS.format(digest=digest) for digest in digests)


def metadata(
    name: str,
    content: bytes,
    *,
    outcome: str,
    n_people: int,
    genome_build: str,
    published: str,
    counts: dict[str, int] | None = None,
    is_floor: bool = False,
    notes: str = NOTES,
) -> str:
    """Return the metadata of a file of GWAS-SSF, the text of a YAML file.

    `published` is a date, ``YYYY-MM-DD``; `counts` are ``cases`` and ``controls`` in people, None if they are
    not counted. With `is_floor` the number of people is the smallest one that is released, whatever was
    drawn. `notes` are those of `notes_of`.
    """
    samples = {"sample_size": n_people}
    if counts is not None:
        samples |= {"case_control_study": True}
        samples |= {"case_count": counts["cases"], "control_count": counts["controls"]}
    fields = {
        "author_notes": notes + FLOOR_NOTE * is_floor,
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
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
