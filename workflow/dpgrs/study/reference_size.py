"""How many people the public reference of a study has, as far as that is known before any job."""

from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import genotype_header
from dpgrs.study.cohort_files import reference_files_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Of files that are yet to be fetched, or cannot be read: more than public sets of whole genomes have.
PEOPLE_UNKNOWN = 5_000
UNREADABLE = (DpgrsError, OSError, ValueError)


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
