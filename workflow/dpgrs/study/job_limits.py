"""Which jobs of a study would ask for more memory or run time than one may, known before any job."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from dpgrs.methods.mechanisms import mechanisms_of
from dpgrs.study.array_sizes import MB
from dpgrs.study.resources import resources_of
from dpgrs.study.shape import Shape
from dpgrs.study.table_cohort import is_table

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Of a container or a job of a cluster, in bytes, or `max`.
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")
# The run time of a job in minutes, 30 days, unless `--resources runtime=N` states another limit.
LONGEST_JOB = 30 * 24 * 60


def machine_memory_mb() -> int | None:
    """Return the memory of this machine, or of its control group, in MB; None if it is not known."""
    try:
        n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    limit = CONTROL_GROUP.read_text().strip() if CONTROL_GROUP.is_file() else ""
    return min(n_bytes, int(limit) if limit.isdecimal() else n_bytes) // MB


def jobs_above(config: "StudyConfig", limit: int, *, resource: str = "mem_mb") -> dict[str, int]:
    """Return what jobs would ask for above a limit, by verb in the order of the data.

    The jobs are those that every study of its kind has, at their first attempt. The resource is `mem_mb` in
    MB or `runtime` in minutes.
    """
    shape, is_release = Shape(config), config.mode == "release"
    draws = [one.name for one in mechanisms_of(config.methods, is_release=is_release)]
    attempt = {"attempt": 1} | ({"threads": 1} if resource == "mem_mb" else {})
    asked = {
        verb: max(
            resources_of(verb, shape)[resource](SimpleNamespace(mechanism=name), **attempt)
            for name in (draws if verb == "draw" else [None])
        )
        for verb in _verbs(config, shape, is_release=is_release)
    }
    return {verb: amount for verb, amount in asked.items() if amount > limit}


def _verbs(config: "StudyConfig", shape: Shape, *, is_release: bool) -> Iterator[str]:
    """Yield the verbs of all jobs that depend on people, variants or outcomes and that a study surely has."""
    yield "make-table-variants" if is_table(config) else "make-variants"
    yield "make-outcomes"
    if shape.takes_sums:
        yield "compute-statistics"
    if shape.is_screened and not is_release:
        yield "choose-exactly"
    yield from ("draw", "fit-weights")
    if is_release:
        yield from ["measure-release"] * (config.evaluation.metrics == "charged")
        yield from ("write-release", "render-release-report")
        return
    yield "evaluate-replicate"
    yield from ["attack-replicate"] * shape.takes_sums
    yield from ("collect-tables", "render-report")
