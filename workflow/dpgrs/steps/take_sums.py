"""Sums of several centres, instead of genotypes and outcomes."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io.files import written_digest
from dpgrs.study.centre_sums import CentreSums, require_same_terms, terms_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

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


def take_sums(
    settings: "StudyConfig", sums: Path, *, sites: Path, of_outcomes: bool = False, output: Path
) -> None:
    """Prepare the sums of several centres for the draws of a release.

    Raises DpgrsError if the sums are of other terms than the study, or of other public sites.

    Parameters
    ----------
    sums : sums from `dpgrs centre combine`.
    sites : the public sites.
    of_outcomes : write the names and public terms of the outcomes rather than the statistics.
    output : the statistics of all rows to write; with `--of-outcomes` the outcomes.
    """
    centre_sums, study_terms = CentreSums.load(sums), terms_of(settings, site_digest=written_digest(sites))
    require_same_terms(centre_sums, study_terms, path=sums, first_path="the study")
    (centre_sums.outcomes if of_outcomes else centre_sums.statistics).save(output)
