# Weights: of baselines, which draw noise of their own, and of all other methods from statistics alone.


rule fit_baselines:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
        statistics=f"{TRIAL}/statistics.npz",
    output:
        weights=f"{TRIAL}/baselines.npz",
    log:
        f"{LOGS}/fit_baselines/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        options=flags(
            method=BASELINES_USED,
            size=SETTINGS["panel"]["size"],
            count=SETTINGS["outcomes"]["count"],
            penalty=SETTINGS["regression"]["lambda"],
            sketch_share=SETTINGS["regression"]["sketch_share"],
            tukey_count_share=SETTINGS["screening"]["count_share"],
            rows_per_coefficient=SETTINGS["regression"]["rows_per_coefficient"],
            seed=SEED,
            **PRIVACY_OPTIONS,
        ),
        code=code_digest("steps/baselines.py"),
    shell:
        "python -m dpgrs fit-baselines {input.panel} {input.outcomes} {input.statistics} --trial {wildcards.trial}"
        " --output {output.weights} {params.options} 2> {log}"


rule fit_weights:
    input:
        statistics=[] if IS_RELEASE else [f"{TRIAL}/statistics.npz"],
        noisy=f"{TRIAL}/noisy_statistics.npz",
        # Feature protection takes outcomes as public, and fits may use them.
        outcomes=(
            [f"{TRIAL}/outcomes.npz"]
            if "feature" in SETTINGS["privacy"]["protection"]
            else []
        ),
        drawn=[
            *([f"{TRIAL}/baselines.npz"] if BASELINES_USED else []),
            *([f"{TRIAL}/screened.npz"] if SCREENED_USED else []),
        ],
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
        files=lambda wildcards, input: flags(
            statistics=list(input.statistics),
            outcomes=list(input.outcomes),
            drawn=list(input.drawn),
        ),
        settings=settings_of("fit-weights"),
        code=code_read("fit-weights"),
    shell:
        "python -m dpgrs fit-weights --settings {params.settings:q} {input.noisy} {params.files} --output {output.weights}"
        " --seconds {output.seconds} 2> {log}"
