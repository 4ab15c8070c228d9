"""Memory and run time that jobs of a planned study request, and methods too large for this machine."""

from typing import TYPE_CHECKING, Any

from dpgrs.study.job_limits import LONGEST_JOB, jobs_asked
from dpgrs.study.shape import PlannedShape, ReferenceShape
from dpgrs.study.variant_terms import most_variants

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig


def planned_jobs(
    config: "StudyConfig",
    people: int,  # assumed
) -> list[dict[str, Any]]:
    """Return `step`, `mem_mb` and `minutes` that each step of a study requests, in the order of the data.

    A job uses a third of them or more.
    """
    shapes = PlannedShape(config, people), ReferenceShape(config)
    memory, minutes = (jobs_asked(config, *shapes, resource=name) for name in ("mem_mb", "runtime"))
    return [{"step": step, "mem_mb": memory[step], "minutes": minutes[step]} for step in memory]


def methods_too_large(
    config: "StudyConfig",
    people: int,  # assumed
    memory_mb: int | None,  # of this machine; None if unknown
) -> dict[str, str]:
    """Return methods that take fewer columns than a study has, or too much memory or time, and why."""
    reasons, size = {}, max(config.variants.size)
    for name in config.methods:
        jobs = planned_jobs(config.changed(methods=[name]), people)
        largest = max(jobs, key=lambda job: job["mem_mb"])
        longest = max(jobs, key=lambda job: job["minutes"])
        if size > most_variants(name):
            reasons[name] = f"takes at most {most_variants(name):,} variants"
        elif memory_mb is not None and largest["mem_mb"] > memory_mb:
            reasons[name] = (
                f"`{largest['step']}` asks for {gigabytes(largest['mem_mb'])} of memory, of "
                f"{gigabytes(memory_mb)} here"
            )
        elif longest["minutes"] > LONGEST_JOB:
            reasons[name] = f"`{longest['step']}` asks for {longest['minutes'] / 1440:,.0f} days"
    return reasons


def gigabytes(megabytes: float) -> str:
    """Return a size in words."""
    return f"{megabytes / 1000:,.1f} GB"
