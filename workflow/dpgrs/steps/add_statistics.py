"""Exact statistics of shards of people, added."""

from pathlib import Path

from dpgrs.io.trials import Statistics
from dpgrs.study.exact_statistics import added


def add_statistics(shards: list[Path], *, output: Path):
    """Add exact statistics of people who are in one shard each; the sums do not depend on the shards.

    Parameters
    ----------
    shards : statistics of all shards of a trial.
    output : the statistics of all rows.

    Raises
    ------
    DpgrsError
        If they are of other columns or terms than each other.
    UsageError
        If they are of more rows than can be summed exactly.
    """
    added(map(Statistics.load, shards)).save(output)
