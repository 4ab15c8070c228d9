"""Which jobs of a study would ask for more memory or run time than one may, known before any job."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from dpgrs.methods.mechanisms import mechanisms_of
from dpgrs.study.array_sizes import MB
from dpgrs.study.cohort_files import has_genotype_files
from dpgrs.study.resources import resources_of
from dpgrs.study.shape import ReferenceShape, Shape
from dpgrs.study.table_cohort import is_table
from dpgrs.study.variant_terms import takes_ld

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# The memory limit of a container or of a job of a cluster, in bytes, or `max`.
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")
# The run time of a job in minutes, 30 days, unless `--resources runtime=N` states another limit.
LONGEST_JOB = 30 * 24 * 60
# Verbs that read the people of the public reference instead of the cohort's.
OF_REFERENCE = ("measure-ld",)


def machine_memory_mb() -> int | None:
    """Return the memory of this machine, or of its control group, in MB; None if it is not known."""
    try:
        n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    limit = CONTROL_GROUP.read_text().strip() if CONTROL_GROUP.is_file() else ""
    return min(n_bytes, int(limit) if limit.isdecimal() else n_bytes) // MB


def jobs_above(config: "StudyConfig", limit: int, *, resource: str = "mem_mb") -> dict[str, int]:
    """Return the jobs that would ask for more than a limit, as in `jobs_asked`."""
    amounts = jobs_asked(config, Shape(config), ReferenceShape(config), resource=resource)
    return {verb: amount for verb, amount in amounts.items() if amount > limit}


def jobs_asked(
    config: "StudyConfig", shape: Shape, reference: Shape, *, resource: str = "mem_mb"
) -> dict[str, int]:
    """Return requests of jobs, by verb in the order of the data; shapes are of the cohort and the reference.

    The jobs are those that every study of its kind has, at their first attempt. The resource is `mem_mb` in
    MB or `runtime` in minutes.
    """
    is_release = config.mode == "release"
    draws = [mechanism.name for mechanism in mechanisms_of(config.methods, is_release=is_release)]
    attempt = {"attempt": 1} | ({"threads": 1} if resource == "mem_mb" else {})
    return {
        verb: max(
            resources_of(verb, reference if verb in OF_REFERENCE else shape)[resource](
                SimpleNamespace(mechanism=name), **attempt
            )
            for name in (draws if verb == "draw" else [None])
        )
        for verb in _verbs(config, shape, is_release=is_release)
        if draws or verb != "draw"
    }


def _verbs(config: "StudyConfig", shape: Shape, *, is_release: bool) -> Iterator[str]:
    """Yield the verbs of all jobs that depend on people, variants or outcomes and that a study surely has."""
    if has_genotype_files(config.cohort) and not config.cohort.sums:
        yield "ingest-chromosome"
    yield "make-table-variants" if is_table(config) else "make-variants"
    if takes_ld(config.methods):
        yield "measure-ld"
    yield "make-outcomes"
    if shape.takes_sums:
        yield "compute-statistics"
    if shape.takes_map:
        yield from ("measure-people", "sum-genome")
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
