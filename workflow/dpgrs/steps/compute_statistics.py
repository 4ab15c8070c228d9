"""Exact integer statistics of the training rows."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_parts import shard_of
from dpgrs.study.exact_statistics import exact_statistics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = (
    "mode",
    "outcomes.bound",
    "outcomes.count",
    # Not read: whether there are covariates, for the note.
    "covariates.file",
    "covariates.pcs",
    "privacy.bounds",
    "privacy.genotype_clip",
    "privacy.outcome_clip",
    "privacy.outcome_budget",
)


def compute_statistics(
    settings: "StudyConfig",
    variant_set: Path,
    outcomes: Path,
    *,
    covariates: Path | None = None,
    without_gram: bool = False,
    shard: int = 1,
    shards: int = 1,
    output: Path,
) -> None:
    """Sum X'X and X'Y over the training rows, once for all methods and budgets.

    Under `tight` bounds rows are clipped besides, by the frequencies of the variant set: public ones in a
    release, in a benchmark the cohort's own as a stand-in. Only a benchmark counts clipped rows, as such
    numbers are exact. Raises UsageError with covariates, dosages or components of outcomes under other
    bounds, or for a shard that does not exist. Raises DpgrsError, without a number, if the files are not of
    the same people.

    Parameters
    ----------
    variant_set : store of the study's variants.
    outcomes : outcomes and split of a replicate.
    covariates : covariates as further columns of X; they need `privacy.bounds: tight`.
    without_gram : leave out X'X, which a study needs only if noise is drawn on it.
    shard : number of the group of people to sum over, from 1.
    shards : number of groups that people are divided into; `dpgrs add-statistics` adds their statistics.
    output : the statistics to write.
    """
    variant_set, outcomes, covariates = (
        VariantSet.open(variant_set),
        Outcomes.load(outcomes),
        Covariates.load(covariates),
    )
    people = shard_of(variant_set.n_samples, shard=shard, n_shards=shards)
    options = {"without_gram": without_gram, "people": people}
    sums = exact_statistics(settings, variant_set, outcomes, covariates, **options)
    if shards > 1:
        sums = replace(sums, people=(people.start, people.stop, variant_set.n_samples))
    sums.save(output)
