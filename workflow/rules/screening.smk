# Variants chosen for each outcome, and fits of the chosen ones. A release chooses and sums in one step, noise_of_chosen.smk.


rule screen_variants:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
    output:
        choices=f"{TRIAL}/choices.npz",
        events=f"{TRIAL}/choice_events.json",
    log:
        f"{LOGS}/screen_variants/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        options=flags(
            method=SCREENED_USED,
            size=SETTINGS["panel"]["size"],
            count=SETTINGS["outcomes"]["count"],
            outcome_bound=SETTINGS["outcomes"]["bound"],
            **SCREENING_OPTIONS,
            scaling=SETTINGS["screening"]["scaling"],
            **PRIVACY_OPTIONS,
            seed=SEED,
        ),
        code=code_digest("steps/screening.py"),
    shell:
        "python -m dpgrs screen-variants {input.panel} {input.outcomes} --trial {wildcards.trial}"
        " --output {output.choices} --events {output.events} {params.options} 2> {log}"


rule fit_screened:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
        choices=f"{TRIAL}/choices.npz",
    output:
        weights=f"{TRIAL}/screened.npz",
    log:
        f"{LOGS}/fit_screened/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        options=flags(
            method=SCREENED_USED,
            heritability=SETTINGS["regression"]["heritability"],
            rows_per_coefficient=SETTINGS["regression"]["rows_per_coefficient"],
            count_share=SETTINGS["screening"]["count_share"],
            seed=SEED,
        ),
        code=code_digest("steps/screening.py"),
    shell:
        "python -m dpgrs fit-screened {input.panel} {input.outcomes} {input.choices} --trial {wildcards.trial}"
        " --output {output.weights} {params.options} 2> {log}"
