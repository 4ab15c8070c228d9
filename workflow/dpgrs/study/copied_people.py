"""People of a study who are copies of those of its genotype files."""

from dpgrs.types import Rows


def n_copies(config):
    """Return how many people are made by copying; None where a study is about people themselves."""
    return config.cohort.copies.people


def needs_phase(cohort):
    """Tell whether it must be known of which haplotype an allele is: these are rows, or are copied.

    Parameters
    ----------
    cohort : Cohort, that section of the settings.
    """
    return cohort.rows == Rows.HAPLOTYPES or cohort.copies.people is not None


def map_files(config, chromosome):
    """Return the path of the genetic map of a chromosome as a list of no or one file."""
    pattern = config.cohort.copies.map
    return [pattern.replace("{chrom}", chromosome)] if pattern else []
