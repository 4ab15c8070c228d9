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
        # Of a benchmark others take it, too.
        files=lambda wildcards, input: flags(
            covariates=list(input.covariates),
            without_gram=not any(mechanism_named(name).draws_gram for name in DRAWS),
        ),
        settings=settings_of("compute-statistics"),
        code=code_read("compute-statistics"),
    shell:
        "python -m dpgrs compute-statistics --settings {params.settings:q} {input.panel} {input.outcomes}"
        " --output {output.statistics} {params.files} 2> {log}"
