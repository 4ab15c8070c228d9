import atexit
import contextlib

from dpgrs.study.run_summary import (
    describe_ahead,
    describe_failure,
    describe_success,
    ledger_requests,
)
from dpgrs.study.slurm_logs import describe_ended_by_slurm, slurm_logs

WORKING_FOLDER = Path.cwd()
# Whether a handler has said what was charged; where Snakemake itself fails, as on a full disk, it calls none.
SAID = set()
# Requests of the ledger before the run; what is there afterwards and not here was charged.
EARLIER = ledger_requests(SETTINGS) if workflow.is_main_process else set()
# Of the executor for SLURM, which tells no reasons itself.
SLURM_LOGS = SNAKEMAKE_RECORDS / "slurm_logs"
EARLIER_LOGS = slurm_logs(SLURM_LOGS) if workflow.is_main_process else set()


def say_without_handlers():
    """Say what no handler did: what was or would be charged, and what is there where nothing was to be done."""
    if (scheduler := workflow.scheduler) is None:
        return  # nothing was started
    lines = []
    # Snakemake has left the folder of --directory by then.
    with contextlib.chdir(WORKING_FOLDER):
        if scheduler.dryrun:
            lines = describe_ahead(SETTINGS)
        elif not SAID and (
            scheduler.remaining_jobs or scheduler.running or scheduler.failed
        ):
            lines = describe_failure(SETTINGS, results=RESULTS, earlier=EARLIER)
        elif not SAID:
            lines = describe_success(SETTINGS, results=RESULTS, earlier=EARLIER)
    for line in lines:
        print(line, file=sys.stderr)


if workflow.is_main_process:
    atexit.register(say_without_handlers)


# Handlers print, and do nothing else: --no-hooks leaves them out, and so does who imports this as a module.
onsuccess:
    SAID.add("success")
    for line in describe_success(SETTINGS, results=RESULTS, earlier=EARLIER):
        print(line, file=sys.stderr)


onerror:
    SAID.add("failure")
    for line in describe_ended_by_slurm(SLURM_LOGS, earlier=EARLIER_LOGS):
        print(line, file=sys.stderr)
    for line in describe_failure(SETTINGS, results=RESULTS, earlier=EARLIER):
        print(line, file=sys.stderr)
