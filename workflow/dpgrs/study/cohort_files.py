"""The genotype files that the settings of a study name."""

from pathlib import Path

from dpgrs.config.paths import PATTERN_KEYS, SOURCES
from dpgrs.io.genotype_files import find_genotype_files, with_companions

COHORT_KEYS = ("cohort.source", *PATTERN_KEYS, "cohort.sums", "cohort.chromosomes")


def has_genotype_files(cohort):
    """Tell whether a cohort is read from genotype files: no simulation, no table, no sums of centres."""
    return cohort.source in SOURCES and cohort.sums is None


def cohort_pattern(cohort):
    """Return the key of the section `cohort` that names its genotype files, and its value.

    Parameters
    ----------
    cohort : Cohort, whose source is one of `SOURCES`.

    Returns
    -------
    key : str, dotted path.
    pattern : str or None
    """
    return f"cohort.{cohort.source}", getattr(cohort, cohort.source)


def cohort_files(cohort, chromosome):
    """Return the genotype files of a chromosome of a cohort, as pathlib.Path.

    Raises
    ------
    DpgrsError
        If a pattern or prefix matches none.
    """
    pattern = cohort_pattern(cohort)[1]
    return find_genotype_files(pattern, chromosome, is_prefix=cohort.source == "plink")


def reference_files_of(pattern, chromosome):
    """Return the genotype files of a chromosome of the public reference; PLINK's are told by their ending.

    Raises
    ------
    DpgrsError
        If a pattern matches none.
    """
    return find_genotype_files(pattern, chromosome)


def tables_of(paths):
    """Return the tables that belong to PLINK's genotype files, which lie beside them."""
    paths = [Path(path) for path in paths]
    return [path for path in with_companions(paths) if path not in paths]
