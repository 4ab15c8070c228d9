"""The genotype files that the settings of a study name, and how many people the public ones have."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.config.study import PATTERN_KEYS, SOURCES
from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import find_genotype_files, genotype_header, with_companions
from dpgrs.privacy.private_folders import PRIVATE

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig

COHORT_KEYS = ("cohort.source", *PATTERN_KEYS, "cohort.sums", "cohort.chromosomes", "cohort.in_turn")
# Of files that are yet to be fetched, or cannot be read: more than public sets of whole genomes have.
PEOPLE_UNKNOWN = 5_000
UNREADABLE = (DpgrsError, OSError, ValueError)


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


def n_reference_people(config: "StudyConfig") -> int:
    """Return the people in the files of the public reference; 0 if there is none."""
    cohort, pattern = config.cohort, config.public.reference
    if cohort.source == "simulate":
        return cohort.simulation.reference_people
    if not pattern:
        return 0
    with suppress(*UNREADABLE):
        return len(genotype_header(reference_files_of(pattern, cohort.chromosomes[0])).samples)
    return PEOPLE_UNKNOWN


def n_chosen_reference_people(config: "StudyConfig") -> int:
    """Return how many of them are taken, at most: by the lines of a list of whom to keep."""
    return min(n_reference_people(config), n_lines(config.public.keep))


def n_lines(path: Path | str | None, most: int = 10_000_000) -> int:
    """Return the lines of a list, which are at least its people; `most` if there is no list."""
    with suppress(*UNREADABLE, TypeError), Path(path).open("rb") as file:
        return sum(1 for _ in islice(file, most)) or most
    return most
