# Weights from statistics alone; no genotype is read here.


rule fit_weights:
    input:
        statistics=[] if IS_RELEASE else [f"{TRIAL}/statistics.npz"],
        noisy=f"{TRIAL}/noisy_statistics.npz",
    output:
        weights=f"{TRIAL}/weights.npz",
        seconds=f"{TRIAL}/fit_seconds.tsv",
    log:
        f"{LOGS}/fit_weights/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        statistics=lambda wildcards, input: flags(statistics=list(input.statistics)),
        options=flags(
            method=SETTINGS["methods"], penalty=SETTINGS["regression"]["lambda"]
        ),
        code=code_digest("regression", "io", "steps/fit.py"),
    shell:
        "python -m dpgrs fit-weights {input.noisy} {params.statistics} --output {output.weights}"
        " --seconds {output.seconds} {params.options} 2> {log}"
