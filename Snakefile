from snakemake.utils import min_version

min_version("9.27")


configfile: workflow.current_basedir.join("config/config.yaml").get_path_or_uri(secret_free=False)


report: "workflow/report/workflow.rst"


# Settings, paths and helpers; checks the whole configuration before any job.
include: "workflow/rules/common.smk"
# The way of the data.
include: "workflow/rules/fetch.smk"
include: "workflow/rules/ingest.smk"
include: "workflow/rules/outcomes.smk"
include: "workflow/rules/covariates.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/screening.smk"
include: f"workflow/rules/{'noise_of_chosen' if RELEASES_FROM_ROWS else 'noise'}.smk"
include: "workflow/rules/regression.smk"
# Measured on the cohort's own rows in a benchmark; bundled from released numbers in a release.
include: f"workflow/rules/{'release' if IS_RELEASE else 'evaluation'}.smk"
include: "workflow/rules/report.smk"


import atexit
import contextlib

from dpgrs.run_summary import (
    describe_ahead,
    describe_failure,
    describe_success,
    ledger_requests,
)
from snakemake.logging import logger

WORKING_FOLDER = Path.cwd()
# Whether a handler has said what was charged; where Snakemake itself fails, as on a full disk, it calls none.
SAID = set()
# Requests of the ledger before the run; what is there afterwards and not here was charged.
EARLIER = ledger_requests(SETTINGS) if workflow.is_main_process else set()


def say_without_handlers():
    """Say what no handler did: what was or would be charged, and what is there where nothing was to be done."""
    if workflow.scheduler is None:
        return  # nothing was started
    lines = []
    # Snakemake has left the folder of --directory by then.
    with contextlib.chdir(WORKING_FOLDER):
        if workflow.dryrun:
            lines = describe_ahead(SETTINGS)
        elif not SAID and any(workflow.dag.needrun_jobs()):
            lines = describe_failure(SETTINGS, earlier=EARLIER)
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
        logger.info(line)


onerror:
    SAID.add("failure")
    for line in describe_failure(SETTINGS, earlier=EARLIER):
        logger.error(line)


rule all:
    default_target: True
    input:
        f"{RESULTS}/metrics.tsv",
        f"{RESULTS}/report/index.html",
        PROVENANCE_FILE,
        RESULTS_OF_MODE,
