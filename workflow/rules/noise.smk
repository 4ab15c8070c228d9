# Noise on the exact statistics. Charged metrics (release.smk) draw some too.

# Named where a release's method has a mechanism of its own: methods that share one share its draws too.
DRAWN_FOR = [name for name in SETTINGS["methods"] if METHODS[name].draws_itself]


# A mechanism: no retries, and no digest of the code among its parameters. It runs again only when the exact
# statistics, the request or the hand-raised version of the mechanism change; in a release that is a replay.
rule add_noise:
    input:
        statistics=f"{TRIAL}/statistics.npz",
        outcomes=f"{TRIAL}/outcomes.npz",
        sites=SITES,
        audit=AUDIT,
        loadings=LOADINGS if IS_RELEASE else [],
    output:
        noisy=f"{TRIAL}/noisy_statistics.npz",
        events=f"{TRIAL}/events.json",
    log:
        f"{LOGS}/add_noise/{{trial}}.log",
    retries: 0
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        mechanism_version=MECHANISM_VERSION,
        verb="release-statistics" if IS_RELEASE else "add-noise",
        # Snakemake never compares what is made from input files, so this holds their paths alone.
        source=lambda wildcards, input: (
            flags(sites=list(input.sites), loadings=list(input.loadings))
            if IS_RELEASE
            else flags(trial=wildcards.trial)
        ),
        options=flags(
            **(
                {"method": DRAWN_FOR, **LEDGER_OPTIONS}
                if IS_RELEASE
                else {"seed": SEED}
            ),
            size=SETTINGS["panel"]["size"],
            count=SETTINGS["outcomes"]["count"],
            **PRIVACY_OPTIONS,
        ),
    shell:
        "python -m dpgrs {params.verb} {input.statistics} {input.outcomes} --output {output.noisy} --events {output.events}"
        " {params.source} {params.options} 2> {log}"
