"""Exact statistics of shards of people, added."""

from dataclasses import replace
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import Statistics
from dpgrs.study.exact_statistics import added


def add_statistics(shards: list[Path], *, output: Path) -> None:
    """Add exact statistics of people who are in one shard each; the sums do not depend on the shards.

    Raises DpgrsError if they are of other columns or terms than each other, or not of everybody once. Raises
    UsageError if they are of more rows than can be summed exactly.

    Parameters
    ----------
    shards : statistics of all shards of a replicate, in their order.
    output : the statistics of all rows to write.
    """
    totals = added(map(Statistics.load, shards))
    first, last, n_people = totals.people or (None,) * 3
    if totals.people is None or (first, last) != (0, n_people):
        raise DpgrsError(
            "shards-incomplete",
            "Statistics that are added must be of all shards, in their order, got others. Compute all of "
            "them again: dpgrs compute-statistics --shard --shards",
        )
    replace(totals, people=None).save(output)
