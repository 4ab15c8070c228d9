# Sums over the training rows as exact integers.


rule compute_statistics:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
        covariates=COVARIATES,
    output:
        statistics=f"{TRIAL}/statistics.npz",
    log:
        f"{LOGS}/compute_statistics/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        files=lambda wildcards, input: flags(covariates=list(input.covariates)),
        options=flags(
            outcome_bound=SETTINGS["outcomes"]["bound"],
            count=SETTINGS["outcomes"]["count"],
            bounds=SETTINGS["privacy"]["bounds"],
            genotype_clip=SETTINGS["privacy"]["genotype_clip"],
            outcome_clip=SETTINGS["privacy"]["outcome_clip"],
            outcome_budget=SETTINGS["privacy"]["outcome_budget"],
            # Exact numbers about people.
            count_clips=not IS_RELEASE,
        ),
        code=code_digest(
            "regression/statistics.py",
            "regression/clipped_statistics.py",
            "regression/covariates.py",
            "regression/requests.py",
            "regression/_kernels.py",
            "io",
            "steps/statistics.py",
        ),
    shell:
        "python -m dpgrs compute-statistics {input.panel} {input.outcomes} --output {output.statistics}"
        " {params.files} {params.options} 2> {log}"
