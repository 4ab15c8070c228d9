# A release from rows: variants chosen for each outcome and what follows from them, in one; or all variants.


# A mechanism, as add_noise is: no retries, and no digest of the code among its parameters.
rule release_chosen:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{TRIAL}/outcomes.npz",
        sites=SITES,
        audit=AUDIT,
    output:
        noisy=f"{TRIAL}/noisy_statistics.npz",
        events=f"{TRIAL}/events.json",
    log:
        f"{LOGS}/release_chosen/{{trial}}.log",
    retries: 0
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        mechanism_version=MECHANISM_VERSION,
        # Snakemake never compares what is made from input files, so this holds their paths alone.
        source=lambda wildcards, input: flags(sites=list(input.sites)),
        options=flags(
            method=SETTINGS["methods"],
            **LEDGER_OPTIONS,
            size=SETTINGS["panel"]["size"],
            count=SETTINGS["outcomes"]["count"],
            outcome_bound=SETTINGS["outcomes"]["bound"],
            **SCREENING_OPTIONS,
            **PRIVACY_OPTIONS,
        ),
    shell:
        "python -m dpgrs release-chosen {input.panel} {input.outcomes} --output {output.noisy} --events {output.events}"
        " {params.source} {params.options} 2> {log}"
