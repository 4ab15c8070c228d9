"""Sums of several centres, in place of genotypes and outcomes."""

from pathlib import Path

from dpgrs.io.files import written_digest
from dpgrs.study.centre_sums import CentreSums, require_same_terms, terms_of

READS = (
    "mode",
    "seed",
    "dataset",
    "cohort",
    "people",
    "variants",
    "outcomes",
    "covariates",
    "methods",
    "privacy",
    "screening",
    "public",
    "release.genome_build",
    "release.preprocessing",
)


def take_sums(settings, sums: Path, *, sites: Path, of_outcomes: bool = False, output: Path):
    """Prepare the sums of several centres for the draws of a release.

    Parameters
    ----------
    settings : Settings
    sums : sums from `dpgrs centre combine`.
    sites : the public sites.
    of_outcomes : write the names and public terms of the outcomes rather than the statistics.
    output : the statistics of all rows to write; with `--of-outcomes` the outcomes.

    Raises
    ------
    DpgrsError
        If the sums are of other terms than the study, or of other public sites.
    """
    found, terms = CentreSums.load(sums), terms_of(settings, site_digest=written_digest(sites))
    require_same_terms(found, terms, path=sums, others="the study")
    (found.outcomes if of_outcomes else found.statistics).save(output)
