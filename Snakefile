from snakemake.utils import min_version

min_version("9.27")


configfile: f"{workflow.basedir}/config/config.yaml"


report: "workflow/report/workflow.rst"


# Settings, paths and helpers; checks the whole configuration before any job.
include: "workflow/rules/common.smk"
# The way of the data.
include: "workflow/rules/ingest.smk"
include: "workflow/rules/outcomes.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/regression.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/report.smk"


onstart:
    make_private_folder()


rule all:
    default_target: True
    input:
        f"{RESULTS}/metrics.tsv",
        f"{RESULTS}/report",
        f"{RESULTS}/figures/r2_by_method.svg",
        f"{RESULTS}/provenance.json",
