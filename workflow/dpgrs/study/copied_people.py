"""People of a study who are copies of the people in its genotype files."""

from typing import TYPE_CHECKING

from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig


def n_copies(config: "StudyConfig") -> int | None:
    """Return how many people are made by copying; None if a study is about the people themselves."""
    return config.cohort.copies.people


def needs_phase(cohort: "Cohort") -> bool:
    """Return whether the haplotype of an allele must be known: haplotypes are rows, or are copied."""
    return cohort.rows == Rows.HAPLOTYPES or cohort.copies.people is not None


def map_files(config: "StudyConfig", chromosome: str) -> list[str]:
    """Return the path of the genetic map of a chromosome as a list of no or one file."""
    pattern = config.cohort.copies.map
    return [pattern.replace("{chrom}", chromosome)] if pattern else []
