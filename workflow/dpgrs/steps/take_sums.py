"""Sums of several sites, in place of genotypes and outcomes."""

from pathlib import Path

from dpgrs.io.files import written_digest
from dpgrs.study.site_sums import SiteSums, require_same_terms, terms_of

READS = (
    "mode",
    "seed",
    "dataset",
    "cohort",
    "people",
    "panel",
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
    """Prepare the sums of several sites for the draws of a release.

    Parameters
    ----------
    settings : Settings
    sums : from `dpgrs site combine`.
    sites : the public sites.
    of_outcomes : whether to take the outcomes, of nobody, rather than the statistics.
    output : statistics of all rows, or outcomes: their names and public terms.

    Raises
    ------
    DpgrsError
        If the sums are of other terms than the study, or of other public sites.
    """
    found, terms = SiteSums.load(sums), terms_of(settings.as_dict(), site_digest=written_digest(sites))
    require_same_terms(found, terms, path=sums, others="the study")
    (found.outcomes if of_outcomes else found.statistics).save(output)
