"""Exact integer statistics of the training rows."""

from dataclasses import replace
from pathlib import Path

from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.panel import Panel
from dpgrs.io.panel_parts import shard_of
from dpgrs.study.exact_statistics import exact_statistics

READS = (
    "mode",
    "outcomes.bound",
    "outcomes.count",
    "privacy.bounds",
    "privacy.genotype_clip",
    "privacy.outcome_clip",
    "privacy.outcome_budget",
)


def compute_statistics(
    settings,
    panel: Path,
    outcomes: Path,
    *,
    covariates: Path | None = None,
    without_gram: bool = False,
    shard: int = 1,
    shards: int = 1,
    output: Path,
):
    """Sum X'X and X'Y over the training rows, once for all methods and budgets.

    Parameters
    ----------
    settings : Settings. Under `tight` bounds rows are clipped besides, by the frequencies of the panel:
        public ones in a release, in a benchmark the cohort's own as a stand-in. What is clipped is counted
        in a benchmark alone, as such numbers are exact.
    panel : the panel.
    outcomes : outcomes and split of a trial.
    covariates : further columns of X, for `tight` bounds alone.
    without_gram : whether X'X is left out, where nothing is drawn from it.
    shard : of which people, from 1.
    shards : parts that people are cut into, whose statistics `dpgrs add-statistics` adds.
    output : the statistics.

    Raises
    ------
    UsageError
        With covariates, dosages or components of outcomes under other bounds, or a shard that there is none
        of.
    DpgrsError
        If the files are not of the same people. No number is told.
    """
    panel, outcomes, covariates = Panel.open(panel), Outcomes.load(outcomes), Covariates.load(covariates)
    people = shard_of(panel.n_samples, shard=shard, n_shards=shards)
    options = {"without_gram": without_gram, "people": people}
    found = exact_statistics(settings, panel, outcomes, covariates, **options)
    if shards > 1:
        found = replace(found, people=(people.start, people.stop, panel.n_samples))
    found.save(output)
