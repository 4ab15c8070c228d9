"""The lines of SLURM on jobs that it ended: Snakemake reports only that these failed."""

import re
from pathlib import Path

# Words of SLURM's daemons in the log of a job, the first that fits: what happened, and the way out.
REASONS = {
    r"exceeded (?:job )?memory limit|oom[-_]kill event": (
        "more memory was taken than asked for",
        "`--retries 2` tries twice more, each time with half as much again, and "
        "`--set-resources RULE:mem_mb=NUMBER` asks for more at once",
    ),
    r"DUE TO TIME LIMIT": (
        "more time was taken than asked for",
        "`--retries 2` tries twice more, each time with half as much again, and "
        "`--set-resources RULE:runtime=MINUTES` asks for more at once",
    ),
    r"DUE TO NODE FAILURE": ("the node failed", "Run again: only what was cut off is repeated"),
    r"DUE TO PREEMPTION": ("others needed the node", "Run again: only what was cut off is repeated"),
    r"CANCELLED AT": ("cancelled", "Run again: only what was cut off is repeated"),
}
OF_SLURM = re.compile(r"(?:slurmstepd|srun)[^:]*: error: (.*)")


def slurm_logs(folder: Path | str) -> set[Path]:
    """Return the logs of jobs below the folder of the executor for SLURM; empty if it is absent."""
    return set(Path(folder).rglob("*.log"))


def describe_ended_by_slurm(folder: Path | str, *, earlier: set[Path]) -> list[str]:
    """Say which jobs SLURM ended, and why: a line for each folder and reason, with the numbers of the jobs.

    Folders of SLURM's logs name the rule or the group, and wildcards of a rule. `earlier` is from
    `slurm_logs`, before the run.
    """
    jobs_by_reason = {}
    for path in sorted(slurm_logs(folder) - earlier, key=lambda path: (len(path.name), path.name)):
        text = " ".join(OF_SLURM.findall(path.read_text(errors="replace")))
        matching = (words for pattern, words in REASONS.items() if re.search(pattern, text, re.IGNORECASE))
        if words := next(matching, None):
            jobs_by_reason.setdefault((path.parent.relative_to(folder).as_posix(), words), []).append(
                path.stem
            )
    return [
        f"SLURM ended {', '.join(jobs)} ({name}): {reason}. {way_out}."
        for (name, (reason, way_out)), jobs in jobs_by_reason.items()
    ]
