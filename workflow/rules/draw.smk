# Noise: drawn here alone, but for that of charged metrics (release.smk).


# Of a release no retries, and no digest of the code among its parameters: it runs again only when its files, the
# request or the hand-raised version of the mechanisms change, and that is a replay.
rule draw:
    input:
        unpack(files_of_draw),
        outcomes=lambda wildcards: (
            OUTCOMES if wildcards.mechanism == REGRESSION else DRAWN_OUTCOMES
        ),
        sites=SITES,
        audit=AUDIT,
        loadings=LOADINGS if IS_RELEASE else [],
        # Not read: public files of later steps. Nothing, a regression on covariates included, is charged before
        # they can be made, and where other settings made them.
        public=(
            [
                *EFFECTS,
                *LD,
                *dict.fromkeys(PANEL + PUBLIC_VARIANTS),
                *PUBLIC_OUTCOMES,
                *PUBLIC_COVARIATES,
            ]
            if IS_RELEASE
            else []
        ),
    output:
        drawn=in_place(DRAWN),
        events=in_place(f"{REPLICATE}/drawn/{{mechanism}}.json"),
        # How long it took to draw from people is told of benchmarks alone.
        seconds=[] if IS_RELEASE else [f"{REPLICATE}/drawn/{{mechanism}}.tsv"],
    log:
        f"{LOGS}/draw/{{replicate}}.{{mechanism}}.log",
    benchmark:
        f"{BENCHMARKS}/draw/{{replicate}}.{{mechanism}}.tsv"
    wildcard_constraints:
        mechanism="|".join(DRAWS) or "no mechanism",
    retries: 0
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    # Of choices on many variants, people and outcomes more are of use: --set-threads draw=8
    threads: 1
    resources:
        **resources_of("draw", SHAPE),
    params:
        version=MECHANISM_VERSION if IS_RELEASE else code_read("draw"),
        # Snakemake never compares what is made from input files, so this holds their paths alone.
        files=lambda wildcards, input: flags(
            **{
                name: (
                    list(input[name])
                    if name in ("chromosomes", "sites", "loadings", "audit")
                    else input[name]
                )
                for name in (
                    "statistics",
                    "variant_set",
                    "choices",
                    "ld",
                    "chromosomes",
                    "covariates",
                    "sites",
                    "loadings",
                    "audit",
                )
                if name in input.keys()
            }
        ),
        options=lambda wildcards, input, output: flags(
            method=mechanism_named(wildcards.mechanism).drawn_for(SETTINGS.methods),
            public_files=[path for path in input.public if path != input.get("ld")],
            seconds=list(output.seconds),
        ),
        settings=lambda wildcards: settings_read(
            SETTINGS, "draw", reads_of_draw(SETTINGS, wildcards.mechanism)
        ),
    shell:
        "python -m dpgrs draw --settings {params.settings:q} {input.outcomes} --mechanism {wildcards.mechanism}"
        " {params.options} {params.files} --replicate {wildcards.replicate} --threads {threads} --output {output.drawn} --events {output.events}"
        " 2> {log}"


if ADJUSTS:

    # A rule of its own: if a run ends at a rule, Snakemake starts no job of it that depends on another one.
    use rule draw as draw_regression with:
        benchmark:
            f"{BENCHMARKS}/draw/{{replicate}}.{{mechanism}}.tsv"
        wildcard_constraints:
            mechanism=REGRESSION,
