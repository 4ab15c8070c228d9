"""The genotype files that the settings of a study name."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.config.paths import PATTERN_KEYS, SOURCES
from dpgrs.io.genotype_files import find_genotype_files, with_companions

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort

COHORT_KEYS = ("cohort.source", *PATTERN_KEYS, "cohort.sums", "cohort.chromosomes")


def has_genotype_files(cohort: "Cohort") -> bool:
    """Return whether a cohort is read from genotype files: no simulation, no table, no sums of centres."""
    return cohort.source in SOURCES and cohort.sums is None


def cohort_pattern(cohort: "Cohort") -> tuple[str, str | None]:
    """Return the dotted key of the section `cohort` that names its genotype files, and its value.

    The source of the cohort is one of `SOURCES`.
    """
    return f"cohort.{cohort.source}", getattr(cohort, cohort.source)


def cohort_files(cohort: "Cohort", chromosome: str) -> list[Path]:
    """Return the genotype files of a chromosome of a cohort; a pattern that matches none is refused."""
    pattern = cohort_pattern(cohort)[1]
    return find_genotype_files(pattern, chromosome, is_prefix=cohort.source == "plink")


def reference_files_of(pattern: str, chromosome: str) -> list[Path]:
    """Return the genotype files of a chromosome of the public reference; a pattern that matches none is
    refused.

    The ending of a file tells whether it is PLINK's.
    """
    return find_genotype_files(pattern, chromosome)


def tables_of(paths: Iterable[Path | str]) -> list[Path]:
    """Return the tables that lie beside PLINK's genotype files and belong to them."""
    paths = [Path(path) for path in paths]
    return [path for path in with_companions(paths) if path not in paths]
