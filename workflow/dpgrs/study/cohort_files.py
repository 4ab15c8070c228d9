"""The genotype files that the settings of a study name."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.config.paths import PATTERN_KEYS, SOURCES
from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import find_genotype_files, with_companions
from dpgrs.privacy.private_folders import PRIVATE

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig

COHORT_KEYS = ("cohort.source", *PATTERN_KEYS, "cohort.sums", "cohort.chromosomes", "cohort.in_turn")


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


def is_absent(cohort: "Cohort", chromosome: str) -> bool:
    """Return whether genotype files of a chromosome may be absent, and any is."""
    if not (cohort.in_turn and has_genotype_files(cohort) and cohort_pattern(cohort)[1]):
        return False
    with suppress(DpgrsError):  # the checks name the fault of the path
        return not all(path.exists() for path in with_companions(cohort_files(cohort, chromosome)))
    return False


def stored_chromosomes(config: "StudyConfig") -> dict[str, Path]:
    """Return the stores that stand for absent genotype files, by chromosome.

    A store has a note of how it was made from when it was whole.
    """
    private = Path("results", config.study, PRIVATE)
    folder = "store" if config.cohort.copies.people is None else "source"
    names = {chromosome: f"{folder}/{chromosome}.zarr" for chromosome in config.cohort.chromosomes}
    return {
        chromosome: private / name
        for chromosome, name in names.items()
        if is_absent(config.cohort, chromosome) and (private / "made" / f"{name}.json").exists()
    }


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
