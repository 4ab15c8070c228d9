# R^2 and error on the test rows, per outcome, method and population.


rule evaluate_trial:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
        weights=f"{TRIAL}/weights.npz",
        seconds=f"{TRIAL}/fit_seconds.tsv",
        populations=populations_file(),
    output:
        metrics=f"{TRIAL}/metrics.tsv",
        population_metrics=f"{TRIAL}/population_metrics.tsv",
    log:
        f"{LOGS}/evaluate_trial/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        populations=lambda wildcards, input: flags(populations=list(input.populations)),
        options=flags(count=SETTINGS["outcomes"]["count"]),
        code=code_digest("evaluation", "io", "steps/evaluate.py"),
    shell:
        "python -m dpgrs evaluate-trial {input.panel} {input.outcomes} {input.weights} {input.seconds}"
        " --trial {wildcards.trial} --metrics {output.metrics} --population-metrics {output.population_metrics}"
        " {params.populations} {params.options} 2> {log}"


rule collect_metrics:
    input:
        tables=expand(f"{TRIAL}/metrics.tsv", trial=TRIALS),
    output:
        table=f"{RESULTS}/metrics.tsv",
    log:
        f"{LOGS}/collect_metrics.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("steps/collect.py"),
    shell:
        "python -m dpgrs collect-tables {input.tables} --output {output.table} 2> {log}"


use rule collect_metrics as collect_population_metrics with:
    input:
        tables=expand(f"{TRIAL}/population_metrics.tsv", trial=TRIALS),
    output:
        table=f"{PRIVATE}/population_metrics.tsv",
    log:
        f"{LOGS}/collect_population_metrics.log",
