"""What the existence of a release reveals: the checks of private data that its data set passed."""

from collections.abc import Mapping
from enum import StrEnum

from dpgrs.types import Protection, Rows, TableCheck

# Public inputs that say which checks a release has.
CHECKED_FILES, CHECKS, LEAST_SHARE = "files that the checks read", "checks of tables", "least share of people"
NO_CHECKS, NO_FILES = "none", "none: the cohort is simulated"
DOSAGES_INPUT = ("genotypes", "imputed dosages")
# The curator's statement on PLINK and BGEN files (docs/proofs/fixed_sites.md).
FIXED_SITES_INPUT = ("sites of the genotype files", "a fixed public list, each person's genotypes apart")
# Thresholds of the checks of tables; `dpgrs.io.tables.phenotypes` refuses by these.
FEWEST_VALUES = 10
LARGEST_MEAN, SMALLEST_SD, LARGEST_SD = 0.5, 0.6, 2.5
# Limits of the program: more people would not fit into memory, more values not on a disk.
MOST_PEOPLE, MOST_VALUES = 5_000_000, 5_000_000_000


class CheckedFile(StrEnum):
    """A kind of private file that checks read, or what it is compared with."""

    GENOTYPES = "genotypes"
    OUTCOMES = "table of outcomes"
    COVARIATES = "table of covariates"
    PEOPLE = "lists of people"
    REFERENCE = "public reference"
    CENTRES = "sums of centres"


class Condition(StrEnum):
    """A check of private data; a step of a release may refuse data that fail it."""

    FORM = "form"
    CALLS = "calls"
    SAME_PEOPLE = "same people"
    ALLELES = "alleles"
    PUBLIC_SITES = "public sites"
    REFERENCE = "reference"
    LISTS = "lists"
    PUBLISHED = "published"
    SHARED_PEOPLE = "shared people"
    VALUES = "values"
    SCALE = "scale"
    BINARY = "binary"
    CENTRES = "centres"
    SIZE = "size"
    SAME_DATA = "same data"
    RESOURCES = "resources"


TABLES = (CheckedFile.OUTCOMES, CheckedFile.COVARIATES)
OF_GENOTYPES = (Condition.CALLS, Condition.SAME_PEOPLE, Condition.ALLELES, Condition.PUBLIC_SITES)
ONE_RECORD = "Each public site had exactly one record."
TWO_ALLELES = "Each public site had exactly one record, of no other alleles than its two."
SOME_RECORD = "Each public site had a record, or REF was its more frequent allele in public data."
PUBLISHED = {
    Protection.FEATURE: (
        "The table of outcomes was the published one, and its people were the people with genotypes."
    ),
    Protection.LABEL: "The genotype files were the published ones.",
}
SENTENCES = {
    Condition.FORM: (
        "All private files were whole and in a form that dpgrs reads: ids were unique, and values were "
        "finite numbers or missing."
    ),
    Condition.CALLS: "Each genotype call had a ploidy that dpgrs reads{phase}.",
    Condition.SAME_PEOPLE: "All genotype files held the same people, at least 2, in the same order.",
    Condition.ALLELES: "{alleles} agreed with the stated build.",
    Condition.PUBLIC_SITES: "{sites}",
    Condition.REFERENCE: "No sample id of the cohort was in the public reference.",
    Condition.LISTS: (
        "Each list of people shared ids with the genotypes, and the lists left at least 2 people."
    ),
    Condition.PUBLISHED: "{published}",
    Condition.SHARED_PEOPLE: (
        "At least {share} of the people with genotypes were in the {tables}, and at least {share} of the "
        "people of each table had genotypes."
    ),
    Condition.VALUES: (
        "Each {columns} was known for at least {share} of the people with genotypes, and for at least "
        f"{FEWEST_VALUES} people."
    ),
    Condition.SCALE: (
        f"Each outcome that was known for {FEWEST_VALUES} people or more had, by its public centre and "
        f"scale, a mean from -{LARGEST_MEAN} to {LARGEST_MEAN} and a standard deviation from {SMALLEST_SD} "
        f"to {LARGEST_SD}."
    ),
    Condition.BINARY: "Each column with a public prevalence held only 0, 1 and missing values.",
    Condition.CENTRES: (
        "The data of each centre passed these checks there, and all centres used the same public terms."
    ),
    Condition.SIZE: (
        f"No table held more than {MOST_PEOPLE:,} people or {MOST_VALUES:,} values, and all sums were exact "
        "in 64-bit integers."
    ),
    Condition.SAME_DATA: (
        "The exact statistics were the same as when the same request was first made under this label."
    ),
    Condition.RESOURCES: "Memory, disk space and time sufficed, and the ledger allowed the release.",
}


def conditions(inputs: Mapping[str, str], *, protection: str, rows: str) -> dict[Condition, str]:
    """Say in words which checks the data set of a release passed, with all thresholds: a sentence a check.

    `inputs` are the public inputs of the release, name to value.
    """
    files = set(inputs.get(CHECKED_FILES, NO_FILES).split(", "))
    checks = set(inputs.get(CHECKS, NO_CHECKS).split(", "))
    genotypes, covariates = CheckedFile.GENOTYPES in files, CheckedFile.COVARIATES in files
    outcomes = CheckedFile.OUTCOMES in files
    tables = outcomes or covariates
    is_fixed, has_dosages = (inputs.get(name) == value for name, value in (FIXED_SITES_INPUT, DOSAGES_INPUT))
    is_there = {
        Condition.FORM: NO_FILES not in files,
        **dict.fromkeys(OF_GENOTYPES, genotypes),
        Condition.REFERENCE: genotypes and CheckedFile.REFERENCE in files,
        Condition.LISTS: CheckedFile.PEOPLE in files,
        Condition.PUBLISHED: protection in PUBLISHED,
        Condition.SHARED_PEOPLE: tables and TableCheck.PEOPLE in checks,
        Condition.VALUES: tables and TableCheck.VALUES in checks,
        Condition.SCALE: outcomes and TableCheck.SCALE in checks,
        Condition.BINARY: tables and TableCheck.BINARY in checks,
        Condition.CENTRES: CheckedFile.CENTRES in files,
        Condition.SIZE: NO_FILES not in files,
    }
    words = {
        "share": inputs.get(LEAST_SHARE, "0"),
        "columns": " and ".join(["outcome"] * outcomes + ["covariate"] * covariates),
        "tables": " and in the ".join(file for file in CheckedFile if file in files and file in TABLES),
        "phase": " and was phased" * (rows == Rows.HAPLOTYPES),
        "alleles": "Positions" if is_fixed else "REF alleles were alleles of the genome, and positions",
        "sites": TWO_ALLELES if is_fixed else ONE_RECORD if has_dosages else SOME_RECORD,
        "published": PUBLISHED.get(protection),
    }
    return {name: text.format(**words) for name, text in SENTENCES.items() if is_there.get(name, True)}


def conditions_of(statement: Mapping) -> list[str]:
    """Return the sentences for a statement, as far as it has guarantee and public inputs."""
    inputs = {public["name"]: public["value"] for public in statement["public_inputs"]}
    guarantee = statement["guarantee"]
    options = {name: guarantee[name] for name in ("protection", "rows")}
    return list(conditions(inputs, **options).values())
