from snakemake.utils import min_version

min_version("9.27")


configfile: workflow.current_basedir.join("config/config.yaml").get_path_or_uri(secret_free=False)


report: "workflow/report/workflow.rst"


# Settings, paths and helpers; checks the whole configuration before any job.
include: "workflow/rules/common.smk"
# The way of the data.
include: "workflow/rules/fetch.smk"


if IS_TABLE:

    include: "workflow/rules/table.smk"

else:

    include: "workflow/rules/ingest.smk"
    include: "workflow/rules/public.smk"


include: "workflow/rules/outcomes.smk"
include: "workflow/rules/covariates.smk"
include: f"workflow/rules/{'sums' if HAS_SUMS else 'statistics'}.smk"


# One site of several draws nothing.
if not IS_PART:

    include: "workflow/rules/screening.smk"
    include: "workflow/rules/draw.smk"
    include: "workflow/rules/regression.smk"
    # Measured on the cohort's own rows in a benchmark; bundled from released numbers in a release.
    include: f"workflow/rules/{'release' if IS_RELEASE else 'evaluation'}.smk"


include: "workflow/rules/report.smk"
# Afterwards, and only if asked for: scores of other people.
include: "workflow/rules/score.smk"
# Before and after the jobs: what was or would be charged, and what is there.
include: "workflow/rules/summary.smk"


rule all:
    default_target: True
    input:
        (
            SUMS_OF_SITE
            if IS_PART
            else [
                f"{RESULTS}/metrics.tsv",
                f"{RESULTS}/report/index.html",
                f"{RESULTS}/figures",
                PROVENANCE_FILE,
                *RESULTS_OF_MODE,
            ]
        ),
